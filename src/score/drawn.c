/* drawn.c: a sample of the samples: drawn without replacement, in the order of the data. */
#include "score/drawn.h"

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/rng.h"
#include "metrics/score.h"

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
  COMP__TRY(comp__alloc(&rows, d->samples, sizeof *rows));
  COMP__TRY(comp__rng_draw(rows, count, d->samples, comp__rng_at(o->score.seed, COMP__RNG_METRICS, UINT64_MAX, 0)));
  COMP__TRY(comp_dataset_select(out, context, &part, rows, count, NULL, 0));
  comp__info(context, "embeddings are scored on %zu of %zu samples, drawn at random", count, d->samples);
done:
  comp__free(rows);
  return status;
}
