/* optimiser.c: Adam. */
#include "train/optimiser.h"

#include <math.h>
#include <stdatomic.h>

#include "core/threads.h"
#include "nn/kernels.h"

enum { CHUNK = 16384 };

static double square_sum(void *arg, size_t begin, size_t end) {
  const float *g = arg;
  double lanes[8] = {0}, sum = 0.0;
  size_t i = begin;
  for (; i + 8 <= end; i += 8)
    for (size_t l = 0; l < 8; l++) lanes[l] += (double)g[i + l] * (double)g[i + l];
  for (; i < end; i++) sum += (double)g[i] * (double)g[i];
  for (size_t l = 0; l < 8; l++) sum += lanes[l];
  return sum;
}

typedef struct adam_job {
  const comp__kernels *kernels;
  comp__adam adam;
  comp__optimiser *optimiser;
  const comp__state *state;
  atomic_bool finite;
} adam_job;

static void adam_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  adam_job *job = arg;
  const comp__state *s = job->state;
  bool finite = job->kernels->adam(&job->adam, s->params + begin, s->half ? s->half + begin : NULL,
                                   job->optimiser->m + begin, job->optimiser->v + begin, s->grads + begin, end - begin);
  if (!finite) atomic_store(&job->finite, false);
}

/* What gradients are multiplied by so that their norm is at most `clip`: a pass over them of its own. */
static comp_status clip_scale(float *out, comp_context *context, const comp__state *state, size_t n, double clip) {
  double squares;
  *out = 1.0f;
  if (!(clip > 0.0)) return COMP_OK;
  comp_status status = comp__parallel_sum(&squares, context, n, CHUNK, square_sum, state->grads);
  if (status == COMP_OK && sqrt(squares) > clip) *out = (float)(clip / sqrt(squares));
  return status;
}

comp_status comp__optimiser_step(bool *finite, comp_context *context, comp__optimiser *optimiser,
                                 const comp__state *state, size_t n, double rate, double decay, double clip) {
  const double b1 = 0.9, b2 = 0.999, epsilon = 1e-8;
  float scale;
  comp_status status = clip_scale(&scale, context, state, n, clip);
  if (status != COMP_OK) return status;
  double t = (double)++optimiser->steps, root = sqrt(1.0 - pow(b2, t));
  adam_job job = {.kernels = comp__kernels_get(),
                  .adam = {.rate = (float)(rate * root / (1.0 - pow(b1, t))),
                           .beta1 = (float)b1,
                           .beta2 = (float)b2,
                           .epsilon = (float)(epsilon * root),
                           .decay = (float)(rate * decay),
                           .grad_scale = scale},
                  .optimiser = optimiser,
                  .state = state,
                  .finite = true};
  comp__parallel_for(context, n, CHUNK, adam_chunk, &job);
  *finite = atomic_load(&job.finite);
  return COMP_OK;
}
