/* moves.c: see moves.h. */
#include "model/moves.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

size_t comp__anchor_size(const comp_model *model) {
  return COMP__ANCHOR_PLACE + 3 * model->network.options.latent;
}

comp_status comp__moves_add(comp_model *model, const float *anchors, size_t n) {
  const size_t size = comp__anchor_size(model);
  float *all = NULL;
  const comp_status status = comp__alloc(&all, (model->n_anchors + n) * size, sizeof *all);
  if (status != COMP_OK) return status;
  if (model->n_anchors > 0) memcpy(all, model->anchors, model->n_anchors * size * sizeof *all);
  memcpy(all + model->n_anchors * size, anchors, n * size * sizeof *all);
  comp__free(model->anchors);
  model->anchors = all;
  model->n_anchors += n;
  return COMP_OK;
}

/* The exponent of an anchor's weight at z. */
static float exponent(const float *anchor, const float *z, size_t latent) {
  float sum = 0.0f;
  for (size_t d = 0; d < latent; d++)
    sum += (z[d] - anchor[COMP__ANCHOR_PLACE + d]) * (z[d] - anchor[COMP__ANCHOR_PLACE + d]);
  return sum / (2.0f * anchor[COMP__ANCHOR_WIDTH] * anchor[COMP__ANCHOR_WIDTH]);
}

/* One round: n anchors, one behind the other. */
static void move_by(const float *anchors, size_t n, size_t latent, float *z) {
  const size_t size = COMP__ANCHOR_PLACE + 3 * latent;
  float least = INFINITY, total = 0.0f, move[COMP_MAX_LATENT] = {0};
  for (size_t a = 0; a < n; a++) least = fminf(least, exponent(anchors + a * size, z, latent));
  for (size_t a = 0; a < n; a++) {
    const float *anchor = anchors + a * size, *by = anchor + COMP__ANCHOR_PLACE + latent, *factor = by + latent;
    const float w = expf(least - exponent(anchor, z, latent)); /* the nearest anchor has 1 */
    total += w;
    for (size_t d = 0; d < latent; d++) move[d] += w * (by[d] + factor[d] * z[d]);
  }
  for (size_t d = 0; d < latent; d++) z[d] += move[d] / total;
}

void comp__moves_apply(const comp_model *model, size_t level, float *z, size_t n) {
  const size_t latent = model->network.options.latent, size = comp__anchor_size(model);
  const float *anchors = model->anchors;
  for (size_t first = 0, last; first < model->n_anchors; first = last) {
    const float *anchor = anchors + first * size;
    for (last = first + 1; last < model->n_anchors; last++)
      if (anchors[last * size + COMP__ANCHOR_LEVEL] != anchor[COMP__ANCHOR_LEVEL] ||
          anchors[last * size + COMP__ANCHOR_ROUND] != anchor[COMP__ANCHOR_ROUND])
        break;
    for (size_t i = 0; i < n && anchor[COMP__ANCHOR_LEVEL] == (float)level; i++)
      move_by(anchor, last - first, latent, z + i * latent);
  }
}

comp_status comp__moves_check(const comp_model *model) {
  const size_t size = comp__anchor_size(model), known = model->network.conditions - model->network.added;
  for (size_t a = 0; a < model->n_anchors; a++) {
    const float *anchor = model->anchors + a * size;
    const bool added = anchor[COMP__ANCHOR_LEVEL] >= (float)known &&
                       anchor[COMP__ANCHOR_LEVEL] < (float)model->network.conditions,
               later = a == 0 || anchor[COMP__ANCHOR_LEVEL] != anchor[-(ptrdiff_t)size + COMP__ANCHOR_LEVEL] ||
                       anchor[COMP__ANCHOR_ROUND] >= anchor[-(ptrdiff_t)size + COMP__ANCHOR_ROUND];
    if (!added || !later || !(anchor[COMP__ANCHOR_WIDTH] > 0.0f))
      return comp__error(COMP_ERR_FORMAT,
                         "anchor %zu belongs to no condition that was added, or to no round: the file "
                         "is damaged",
                         a);
  }
  return COMP_OK;
}
