/* unshared.c: see unshared.h. */
#include "diagnose/unshared.h"

#include "core/alloc.h"
#include "core/error.h"
#include "neighbors/overlap.h"

comp_status comp__unshared_find(comp__unshared *out, comp_context *context, const comp__latent *l, const size_t *counts,
                                const int32_t *labels, size_t n_labels) {
  const comp__crowd crowd = {.n = l->n, .conditions = l->conditions, .codes = l->codes, .counts = counts};
  float *ratios = NULL;
  comp_status status;
  *out = (comp__unshared){0};
  COMP__TRY(comp__calloc(&out->alone, l->conditions, sizeof *out->alone));
  if (labels) COMP__TRY(comp__calloc(&out->by_label, n_labels * l->conditions, sizeof *out->by_label));
  COMP__TRY(comp__calloc(&out->is, l->n, sizeof *out->is));
  COMP__TRY(comp__alloc(&ratios, l->n, sizeof *ratios));
  COMP__TRY(comp__overlap_all(ratios, context, &crowd, l->mean, l->dims));
  for (size_t i = 0; i < l->n; i++) {
    if (ratios[i] < COMP__UNSHARED) continue;
    out->is[i] = true;
    out->count++;
    out->alone[l->codes[i]]++;
    if (labels && labels[i] >= 0) out->by_label[(size_t)labels[i] * l->conditions + (size_t)l->codes[i]]++;
  }
done:
  comp__free(ratios);
  if (status != COMP_OK) comp__unshared_release(out);
  return status;
}

void comp__unshared_release(comp__unshared *unshared) {
  comp__free(unshared->alone);
  comp__free(unshared->by_label);
  comp__free(unshared->is);
  *unshared = (comp__unshared){0};
}
