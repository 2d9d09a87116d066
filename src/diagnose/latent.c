/* latent.c: see latent.h. */
#include "diagnose/latent.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "train/options.h"

enum { STEP_SAMPLE = 3000000 };

comp_status comp__latent_init(comp__latent *out, comp_context *context, const comp_model *model,
                              const comp_dataset *dataset) {
  comp_status status;
  *out = (comp__latent){0};
  COMP__TRY(comp__align(&out->aligned, context, model, dataset, COMP__CONDITIONS_ALL));
  COMP__TRY(comp__coder_new(&out->coder, context, model, COMP_PRECISION_F32));
  out->n = out->aligned.samples;
  out->dims = comp__model_get_options(model)->latent;
  out->features = comp_model_feature_count(model);
  out->conditions = comp_model_level_count(model);
  out->codes = out->aligned.codes;
  COMP__TRY(comp__alloc(&out->mean, out->n, out->dims * sizeof *out->mean));
  COMP__TRY(comp__alloc(&out->scale, out->n, out->dims * sizeof *out->scale));
  COMP__TRY(comp__encode(context, out->coder, &out->aligned, out->mean, out->scale));
done:
  if (status != COMP_OK) comp__latent_release(out);
  return status;
}

void comp__latent_release(comp__latent *latent) {
  comp__coder_free(latent->coder);
  comp__aligned_release(&latent->aligned);
  comp__free(latent->mean);
  comp__free(latent->scale);
  *latent = (comp__latent){0};
}

static bool counts(const comp__latent *latent) {
  return latent->aligned.model->network.likelihood->counts;
}

comp_status comp__latent_decode(float *out, comp_context *context, const comp__latent *latent, const size_t *samples,
                                size_t n, int32_t to) {
  comp_status status;
  float *z = NULL, *library = NULL;
  int32_t *codes = NULL;
  COMP__TRY(comp__alloc(&z, n, latent->dims * sizeof *z));
  COMP__TRY(comp__alloc(&codes, n, sizeof *codes));
  if (counts(latent)) COMP__TRY(comp__alloc(&library, n, sizeof *library));
  for (size_t i = 0; i < n; i++) {
    memcpy(z + i * latent->dims, latent->mean + samples[i] * latent->dims, latent->dims * sizeof *z);
    codes[i] = to < 0 ? latent->codes[samples[i]] : to;
    if (library) library[i] = latent->aligned.model->library_target;
  }
  COMP__TRY(comp__decode(context, latent->coder, out, z, codes, 0, library, n));
  if (library)
    for (size_t i = 0; i < n * latent->features; i++) out[i] = log1pf(fmaxf(out[i], 0));
done:
  comp__free(z);
  comp__free(codes);
  comp__free(library);
  return status;
}

void comp__latent_observed(float *out, const comp__latent *latent, size_t sample) {
  comp__aligned_row(out, &latent->aligned, sample);
  if (!counts(latent)) return;
  double total = 0;
  for (size_t g = 0; g < latent->features; g++) total += (double)out[g];
  float factor = latent->aligned.model->library_target / (float)fmax(total, 1);
  for (size_t g = 0; g < latent->features; g++) out[g] = log1pf(out[g] * factor);
}

comp_status comp__random_order(size_t **out, size_t n, uint64_t seed, uint64_t step) {
  comp_status status = comp__alloc(out, n, sizeof **out);
  if (status == COMP_OK) comp__rng_permutation(*out, n, comp__rng_at(seed, COMP__RNG_DIAGNOSE, step, 0));
  return status;
}

comp_status comp__latent_rows(comp_matrix **out, const comp__latent *latent, const size_t *samples, size_t n, bool draw,
                              uint64_t seed) {
  comp_status status = comp__matrix_new_dense_raw(out, n, latent->dims);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) {
    float *z = (*out)->values + i * latent->dims;
    const float *mean = latent->mean + samples[i] * latent->dims, *scale = latent->scale + samples[i] * latent->dims;
    if (draw)
      comp__rng_fill_normal(z, latent->dims, comp__rng_at(seed, COMP__RNG_DIAGNOSE, STEP_SAMPLE, samples[i]), 0);
    for (size_t d = 0; d < latent->dims; d++) z[d] = draw ? mean[d] + scale[d] * z[d] : mean[d];
  }
  return COMP_OK;
}
