/* stray.c: see stray.h. */
#include "diagnose/stray.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/sort.h"
#include "neighbors/options.h"

enum {
  STEP_STRAY = 6000002,
  NEAREST = 5,      /* a pair, or four, that left together are still far from the 5th nearest */
  REFERENCES = 500, /* samples whose distances give the median */
  CANDIDATES = 200,
  FEWEST = 10, /* so many may be stray in any data, and 1 in 50 of more */
  SHARE = 50,
  BLOCK = 256
};

#define FAR_CENTRE  3.0   /* times the median distance from the centre */
#define FAR_NEAREST 6.0   /* times the median distance to the 5th nearest */
#define FAR_ERROR   100.0 /* times the median squared error */

/* out[n]: how far each sample is from the median of every dimension. `spare` has room for n values. */
static void from_centre(double *out, double *spare, const comp__latent *l) {
  memset(out, 0, l->n * sizeof *out);
  for (size_t d = 0; d < l->dims; d++) {
    for (size_t i = 0; i < l->n; i++) spare[i] = (double)l->mean[i * l->dims + d];
    const double centre = comp__median_doubles(spare, l->n);
    for (size_t i = 0; i < l->n; i++) out[i] += pow((double)l->mean[i * l->dims + d] - centre, 2);
  }
  for (size_t i = 0; i < l->n; i++) out[i] = sqrt(out[i]);
}

/* The CANDIDATES samples farthest from the centre, of those that are far at all, in `rows`; returns how many. Sorts
 * `spare`. */
static size_t candidates(size_t *rows, const double *distance, double *spare, size_t n) {
  memcpy(spare, distance, n * sizeof *spare);
  double limit = FAR_CENTRE * comp__median_doubles(spare, n);
  if (n > CANDIDATES) limit = fmax(limit, spare[n - CANDIDATES - 1]);
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (distance[i] > limit && limit > 0) rows[count++] = i;
  return count;
}

/* out[n]: the distance of some samples to their NEAREST-th nearest other one. */
static comp_status to_nearest(double *out, comp_context *context, const comp__latent *l, const comp_matrix *all,
                              const size_t *rows, size_t n) {
  comp_status status;
  comp_matrix *queries = NULL;
  comp_neighbors *found = NULL;
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = NEAREST + 1; /* a query finds itself */
  COMP__TRY(comp__latent_rows(&queries, l, rows, n, false, 0));
  COMP__TRY(comp__neighbors_query(&found, context, all, queries, &options));
  for (size_t i = 0; i < n; i++) out[i] = (double)comp_neighbors_distances(found)[i * options.k + NEAREST];
done:
  comp_matrix_free(queries);
  comp_neighbors_free(found);
  return status;
}

static comp_status add(comp__strays *out, const comp_dataset *dataset, size_t row, double distance) {
  comp__stray *s = &out->items[out->count];
  *s = (comp__stray){.row = row, .distance = distance, .error = NAN};
  comp_status status = comp__strdup(&s->name, comp_dataset_obs_name(dataset, row));
  if (status == COMP_OK) out->count++;
  return status;
}

/* Adds the samples whose z is far from all others. `out` has room for CANDIDATES of them. */
static comp_status find_far(comp__strays *out, comp_context *context, const comp__latent *l,
                            const comp_dataset *dataset, const size_t *order) {
  comp_status status = COMP_OK;
  comp_matrix *all = NULL;
  double *distance = NULL, *spare = NULL;
  size_t *rows = NULL, n = l->n < REFERENCES ? l->n : REFERENCES;
  COMP__TRY(comp__alloc(&distance, l->n, sizeof *distance));
  COMP__TRY(comp__alloc(&spare, l->n, sizeof *spare));
  COMP__TRY(comp__alloc(&rows, l->n, sizeof *rows));
  from_centre(distance, spare, l);
  const size_t count = candidates(rows, distance, spare, l->n);
  if (count == 0) goto done;
  COMP__TRY(comp__matrix_new_dense_raw(&all, l->n, l->dims));
  memcpy(comp_matrix_values(all), l->mean, l->n * l->dims * sizeof *l->mean);
  COMP__TRY(to_nearest(spare, context, l, all, order, n));
  const double typical = comp__median_doubles(spare, n);
  COMP__TRY(to_nearest(spare, context, l, all, rows, count));
  for (size_t i = 0; i < count; i++)
    if (spare[i] > FAR_NEAREST * typical) COMP__TRY(add(out, dataset, rows[i], typical > 0 ? spare[i] / typical : 0));
done:
  comp_matrix_free(all);
  comp__free(distance);
  comp__free(spare);
  comp__free(rows);
  return status;
}

/* out[n]: squared errors of the reconstructions of some samples. */
static comp_status errors_of(double *out, comp_context *context, const comp__latent *l, const size_t *rows, size_t n) {
  comp_status status = COMP_OK;
  float *decoded = NULL, *seen = NULL;
  COMP__TRY(comp__alloc(&decoded, BLOCK, l->features * sizeof *decoded));
  COMP__TRY(comp__alloc(&seen, l->features, sizeof *seen));
  for (size_t begin = 0; begin < n; begin += BLOCK) {
    const size_t block = n - begin < BLOCK ? n - begin : BLOCK;
    COMP__TRY(comp__latent_decode(decoded, context, l, rows + begin, block, -1));
    for (size_t i = 0; i < block; i++) {
      comp__latent_observed(seen, l, rows[begin + i]);
      out[begin + i] = 0;
      for (size_t g = 0; g < l->features; g++)
        out[begin + i] += pow((double)seen[g] - (double)decoded[i * l->features + g], 2);
    }
    COMP__TRY(comp__check_interrupt(context));
  }
done:
  comp__free(decoded);
  comp__free(seen);
  return status;
}

/* Adds what is reconstructed badly, and says of the samples that are there already how they are reconstructed. */
static comp_status find_odd(comp__strays *out, comp_context *context, const comp__latent *l,
                            const comp_dataset *dataset, const size_t *order, size_t n) {
  comp_status status;
  double *errors = NULL, *spare = NULL;
  const size_t far = out->count;
  COMP__TRY(comp__alloc(&errors, n, sizeof *errors));
  COMP__TRY(comp__alloc(&spare, n, sizeof *spare));
  COMP__TRY(errors_of(errors, context, l, order, n));
  memcpy(spare, errors, n * sizeof *spare);
  const double typical = comp__median_doubles(spare, n);
  for (size_t i = 0; i < far && typical > 0; i++) {
    COMP__TRY(errors_of(&out->items[i].error, context, l, &out->items[i].row, 1));
    out->items[i].error /= typical;
  }
  for (size_t i = 0; i < n && out->count < 2 * (size_t)CANDIDATES; i++)
    if (typical > 0 && errors[i] > FAR_ERROR * typical && !comp__is_stray(out, order[i])) {
      COMP__TRY(add(out, dataset, order[i], NAN));
      out->items[out->count - 1].error = errors[i] / typical;
    }
done:
  comp__free(errors);
  comp__free(spare);
  return status;
}

static int by_row(const void *a, const void *b) {
  const comp__stray *x = a, *y = b;
  return (x->row > y->row) - (x->row < y->row);
}

comp_status comp__strays_find(comp__strays *out, comp_context *context, const comp__latent *latent,
                              const comp_dataset *dataset, size_t rows, uint64_t seed) {
  comp_status status;
  size_t *order = NULL;
  const size_t n = latent->n, most = n / SHARE > FEWEST ? n / SHARE : FEWEST;
  *out = (comp__strays){0};
  if (n < 2 * (NEAREST + 1)) return COMP_OK;
  COMP__TRY(comp__random_order(&order, n, seed, STEP_STRAY));
  COMP__TRY(comp__calloc(&out->items, 2 * (size_t)CANDIDATES, sizeof *out->items));
  COMP__TRY(find_far(out, context, latent, dataset, order));
  COMP__TRY(find_odd(out, context, latent, dataset, order, n < rows ? n : rows));
  if (out->count > most || 4 * out->count > n) comp__strays_release(out);
  if (out->count > 1) qsort(out->items, out->count, sizeof *out->items, by_row);
done:
  comp__free(order);
  if (status != COMP_OK) comp__strays_release(out);
  return status;
}

void comp__strays_release(comp__strays *strays) {
  for (size_t i = 0; i < strays->count; i++) comp__free(strays->items[i].name);
  comp__free(strays->items);
  *strays = (comp__strays){0};
}

bool comp__is_stray(const comp__strays *strays, size_t row) {
  for (size_t i = 0; i < strays->count; i++)
    if (strays->items[i].row == row) return true;
  return false;
}
