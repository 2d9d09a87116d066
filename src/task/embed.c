/* embed.c: embeddings. */
#include "comp/task.h"

#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/threads.h"
#include "task/coder.h"
#include "task/options.h"
#include "train/precision.h"

typedef struct draw_job {
  float *z;
  const float *scale;
  size_t latent;
  uint64_t seed;
} draw_job;

static void draw_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const draw_job *job = arg;
  float eps[COMP_MAX_LATENT];
  for (size_t i = begin; i < end; i++) {
    comp__rng_fill_normal(eps, job->latent, comp__rng_at(job->seed, COMP__RNG_POSTERIOR, 0, i), 0);
    for (size_t d = 0; d < job->latent; d++) job->z[i * job->latent + d] += job->scale[i * job->latent + d] * eps[d];
  }
}

static comp_status check_precision(comp_precision precision) {
  if (comp__precision_find(precision)) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "precision: there is none of number %d", (int)precision);
}

static comp_status encode(comp_matrix **out, comp_matrix **scales, comp_context *context, const comp__aligned *aligned,
                          const comp__embed_options *o) {
  size_t latent = aligned->model->network.options.latent;
  comp__coder *coder = NULL;
  comp_matrix *z = NULL, *scale = NULL;
  comp_status status;
  COMP__TRY(comp__coder_new(&coder, context, aligned->model, o->precision));
  COMP__TRY(comp__matrix_new_dense_raw(&z, aligned->samples, latent));
  if (scales || o->sample) COMP__TRY(comp__matrix_new_dense_raw(&scale, aligned->samples, latent));
  COMP__TRY(comp__encode(context, coder, aligned, z->values, scale ? scale->values : NULL));
  if (o->sample) {
    draw_job job = {z->values, scale->values, latent, o->seed};
    comp__parallel_for(context, aligned->samples, COMP__BLOCK_ROWS, draw_rows, &job);
  }
  *out = z;
  z = NULL;
  if (scales) {
    *scales = scale;
    scale = NULL;
  }
done:
  comp__coder_free(coder);
  comp_matrix_free(z);
  comp_matrix_free(scale);
  return status;
}

comp_status comp__embed(comp_matrix **out, comp_matrix **scales, comp_context *context, const comp_model *model,
                        const comp_dataset *dataset, const comp__embed_options *options) {
  *out = NULL;
  if (scales) *scales = NULL;
  comp__aligned aligned = {0};
  comp_status status;
  COMP__TRY(check_precision(options->precision));
  COMP__TRY(comp__align(&aligned, context, model, dataset,
                        comp__encoder_needs_condition(model) ? COMP__CONDITIONS_ALL : COMP__CONDITIONS_NONE));
  COMP__TRY(encode(out, scales, context, &aligned, options));
done:
  comp__aligned_release(&aligned);
  return status;
}

comp_status comp_embed(comp_matrix **out, comp_matrix **scales, comp_context *context, const comp_model *model,
                       const comp_dataset *dataset, const comp_options *options) {
  COMP__NEED_OUT(out, context, model, dataset);
  comp__embed_options plain;
  *out = NULL;
  if (scales) *scales = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__embed_kind, options);
  return status == COMP_OK ? comp__embed(out, scales, context, model, dataset, &plain) : status;
}
