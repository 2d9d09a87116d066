/* counterparts.c: see counterparts.h. */
#include "map/counterparts.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/matrix.h"
#include "model/penalty.h"
#include "neighbors/overlap.h"
#include "train/counterparts.h"

/* As in train/shared.c. */
static const float SLACK = 0.5f, LEAST = 0.0025f;

/* Below so many samples on one side nothing can be said of populations. */
enum { FEWEST = 16 };

float comp__counterpart_weight(float ratio) {
  return ratio > SLACK ? fmaxf(LEAST, expf(-COMP__WEIGHT_STEEPNESS * (ratio - SLACK))) : 1.0f;
}

float comp__counterpart_share(float ratio) {
  return ratio > SLACK ? expf(SLACK - ratio) : 1.0f;
}

comp_status comp__counterparts_in_z(float *out, comp_context *context, const float *z, size_t n_reference,
                                    size_t n_query, size_t dims) {
  const size_t start[] = {0, n_reference, n_reference + n_query};
  memset(out, 0, start[2] * sizeof *out);
  if (n_reference < FEWEST || n_query < FEWEST) return COMP_OK;
  return comp__overlap_ratios(out, context, z, start, 2, dims);
}

static void release(comp__members *m) {
  comp_matrix_free(m->x);
  comp__free(m->start);
  comp__free(m->rows);
  comp__free(m->cut);
  comp__gather_release(&m->gather);
}

/* Both sides below each other, as the encoder reads them; the query is a condition more. */
static comp_status stack(comp__members *out, const comp__sampled *reference, const comp__sampled *query) {
  const size_t features = reference->features, n = reference->n + query->n;
  comp_status status;
  *out = (comp__members){.samples = n, .n = n, .features = features};
  COMP__TRY(comp__matrix_new_dense_raw(&out->x, n, features));
  COMP__TRY(comp__calloc(&out->start, reference->levels + 2, sizeof *out->start));
  COMP__TRY(comp__calloc(&out->cut, reference->levels + 2, sizeof *out->cut));
  COMP__TRY(comp__alloc(&out->rows, n, sizeof *out->rows));
  memcpy(out->x->values, reference->input, reference->n * features * sizeof(float));
  memcpy(out->x->values + reference->n * features, query->input, query->n * features * sizeof(float));
  for (size_t i = 0; i < n; i++) out->rows[i] = i;
  for (size_t k = 0; k < reference->levels; k++)
    if (reference->start[k + 1] > reference->start[k]) out->start[++out->conditions] = reference->start[k + 1];
  out->start[++out->conditions] = n;
done:
  return status;
}

comp_status comp__counterparts_in_data(float *out, comp_context *context, const comp__sampled *reference,
                                       const comp__sampled *query) {
  comp__members members = {0};
  comp__counterparts found = {0};
  comp_status status = COMP_OK;
  memset(out, 0, (reference->n + query->n) * sizeof *out);
  if (reference->n < FEWEST || query->n < FEWEST) return COMP_OK;
  COMP__TRY(stack(&members, reference, query));
  COMP__TRY(comp__counterparts_find(&found, context, &members));
  COMP__TRY(comp__counterparts_in_z(out, context, found.matched, reference->n, query->n, found.dims));
done:
  comp__counterparts_release(&found);
  release(&members);
  return status;
}
