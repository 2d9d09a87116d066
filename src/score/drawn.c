/* drawn.c: a sample of the samples: drawn without replacement, in the order of the data. */
#include "score/drawn.h"

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/rng.h"
#include "metrics/score.h"

/* rows [count]: `count` of n rows, ascending. */
static comp_status draw(size_t *rows, size_t count, size_t n, uint64_t seed) {
  size_t *order = NULL, at = 0;
  uint8_t *taken = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&order, n, sizeof *order));
  COMP__TRY(comp__calloc(&taken, n, sizeof *taken));
  comp__rng_permutation(order, n, comp__rng_at(seed, COMP__RNG_METRICS, UINT64_MAX, 0));
  for (size_t i = 0; i < count; i++) taken[order[i]] = 1;
  for (size_t i = 0; i < n; i++)
    if (taken[i]) rows[at++] = i;
done:
  comp__free(order);
  comp__free(taken);
  return status;
}

comp_status comp__scores_draw(comp_dataset **out, comp_context *context, const comp_dataset *d,
                              const comp__scores_options *o) {
  const size_t count = o->max_samples;
  comp_dataset part = *d; /* without what is not needed */
  size_t *rows = NULL;
  bool needs_x;
  comp_status status;
  *out = NULL;
  if (count == 0 || d->samples <= count) return COMP_OK;
  COMP__TRY(comp__score_needs_x(&needs_x, &o->score));
  if (!needs_x) part.x = NULL;
  part.slots[COMP_SLOT_LAYERS] = (comp__slot){0};
  part.raw = NULL;
  COMP__TRY(comp__alloc(&rows, count, sizeof *rows));
  COMP__TRY(draw(rows, count, d->samples, o->score.seed));
  COMP__TRY(comp_dataset_select(out, context, &part, rows, count, NULL, 0));
  comp__info(context, "embeddings are scored on %zu of %zu samples, drawn at random", count, d->samples);
done:
  comp__free(rows);
  return status;
}
