/* counterparts.c: see counterparts.h. */
#include "map/counterparts.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "model/penalty.h"
#include "neighbors/overlap.h"
#include "train/directions.h"

/* As in train/shared.c. */
enum { ROUNDS = 3 };
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

/* Both sides below each other, and where each condition begins. */
typedef struct stacked {
  float *rows, *scratch;
  size_t *start, conditions, n;
} stacked;

static void release(stacked *s) {
  comp__free(s->rows);
  comp__free(s->scratch);
  comp__free(s->start);
}

static comp_status stack(stacked *out, const comp__sampled *reference, const comp__sampled *query) {
  const size_t features = reference->features;
  comp_status status;
  *out = (stacked){.n = reference->n + query->n};
  COMP__TRY(comp__alloc(&out->rows, out->n * features, sizeof *out->rows));
  COMP__TRY(comp__alloc(&out->scratch, out->n * features, sizeof *out->scratch));
  COMP__TRY(comp__calloc(&out->start, reference->levels + 2, sizeof *out->start));
  memcpy(out->rows, reference->input, reference->n * features * sizeof *out->rows);
  memcpy(out->rows + reference->n * features, query->input, query->n * features * sizeof *out->rows);
  for (size_t k = 0; k < reference->levels; k++)
    if (reference->start[k + 1] > reference->start[k]) out->start[++out->conditions] = reference->start[k + 1];
  out->start[++out->conditions] = out->n;
done:
  return status;
}

comp_status comp__counterparts_in_data(float *out, comp_context *context, const comp__sampled *reference,
                                       const comp__sampled *query) {
  const size_t n = reference->n + query->n;
  comp__directions d = {0};
  stacked s = {0};
  float *weight = NULL, *fresh = NULL, *sum = NULL, *coordinates = NULL;
  comp_status status = COMP_OK;
  memset(out, 0, n * sizeof *out);
  if (reference->n < FEWEST || query->n < FEWEST) return COMP_OK;
  COMP__TRY(stack(&s, reference, query));
  COMP__TRY(comp__alloc(&weight, n, sizeof *weight));
  COMP__TRY(comp__alloc(&fresh, n, sizeof *fresh));
  COMP__TRY(comp__calloc(&sum, n, sizeof *sum));
  COMP__TRY(comp__alloc(&coordinates, n * 64, sizeof *coordinates));
  for (size_t i = 0; i < n; i++) weight[i] = 1.0f;
  for (int round = 0; round < ROUNDS; round++) {
    COMP__TRY(comp__directions_find(&d, context, s.rows, weight, s.start, s.conditions, reference->features));
    for (size_t k = 0; k < s.conditions; k++)
      COMP__TRY(comp__directions_project(coordinates + s.start[k] * d.count, context, &d,
                                         s.rows + s.start[k] * reference->features, s.start[k + 1] - s.start[k], k,
                                         s.scratch));
    COMP__TRY(comp__counterparts_in_z(fresh, context, coordinates, reference->n, query->n, d.count));
    for (size_t i = 0; i < n; i++) {
      sum[i] += fresh[i];
      out[i] = round > 0 ? fmaxf(out[i], fresh[i]) : fresh[i];
      weight[i] = fmaxf(0.01f, fminf(1.0f, expf(-sum[i] / (float)(round + 1))));
    }
  }
done:
  release(&s);
  comp__directions_release(&d);
  comp__free(weight);
  comp__free(fresh);
  comp__free(sum);
  comp__free(coordinates);
  return status;
}
