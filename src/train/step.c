/* step.c: one training step: a batch, the gradient, the optimiser, and what follows from the losses. */
#include "train/step.h"

#include <math.h>
#include <stdio.h>

#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "train/schedule.h"

/* How fast gamma follows the penalty towards its target, in log gamma a step at a relative error of 1. */
static const double GAMMA_SPEED = 0.01;

void comp__losses_add(comp__losses *sums, const comp__losses *losses, double weight) {
  sums->total += weight * losses->total;
  sums->likelihood += weight * losses->likelihood;
  sums->kl += weight * losses->kl;
  sums->penalty += weight * losses->penalty;
  sums->target += weight * losses->target;
}

/* Dual ascent: the multiplier rises while the constraint penalty <= target is broken, and falls while there is slack.
 */
static void adjust_gamma(comp__training *t, double penalty) {
  double target = t->options->kl_target;
  if (!(target > 0.0)) return;
  double error = fmax(-1.0, fmin(1.0, penalty / target - 1.0));
  t->now.gamma = fmax(1e-4, fmin(1e6, t->now.gamma * exp(GAMMA_SPEED * error)));
}

/* Coarse alignment first, fine at last: the blur of a step falls from the first value to the last by a constant
 * factor a step. */
double comp__blur_now(const comp__training *t) {
  const comp__train_options *o = t->options;
  if (!(o->blur_from > 0.0) || t->total_steps < 2) return o->blur_from;
  const double done = fmin(1.0, (double)t->now.step / (double)(t->total_steps - 1));
  return o->blur_from * pow(o->blur_to / o->blur_from, done);
}

comp_status comp__diverged(const comp__training *t, const comp__losses *losses, bool finite_gradient) {
  const char *part = !isfinite(losses->likelihood) ? "the likelihood is not a finite number"
                     : !isfinite(losses->kl)       ? "the KL divergence is not a finite number"
                     : !isfinite(losses->penalty)  ? "the penalty is not a finite number"
                     : !isfinite(losses->target)   ? "the prediction of the target is not a finite number"
                     : !finite_gradient            ? "the gradient is not a finite number"
                                                   : "the loss has grown a thousandfold";
  char kept[96] = "no epoch was completed: there is no model";
  if (t->has_best)
    snprintf(kept, sizeof kept, "the model has the weights of epoch %llu, the best",
             (unsigned long long)(t->now.epoch - t->now.since_best));
  return comp__error(COMP_ERR_NUMERIC,
                     "training diverged at step %llu (epoch %llu): %s; try a smaller learning rate "
                     "than %g, shorter gradients (clip: 10), or look for very large values in the data; %s",
                     (unsigned long long)t->now.step + 1, (unsigned long long)t->now.epoch + 1, part, t->options->rate,
                     kept);
}

static void average_values(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const comp__training *t = arg;
  const float share = 1.0f / (float)t->now.averaged;
  for (size_t i = begin; i < end; i++) t->average[i] += share * (t->state.params[i] - t->average[i]);
}

/* The last quarter of the steps goes into the average: a running mean, so that a checkpoint can hold it. */
static void add_to_average(comp__training *t) {
  if (!t->average || t->now.step < t->total_steps - t->total_steps / 4) return;
  t->now.averaged++;
  comp__parallel_for(t->context, t->model->network.params.size, 1 << 16, average_values, t);
}

/* Measures which samples other conditions share, when it is time to, and gives the batch its weights. */
static comp_status weigh(comp__batch *batch, comp__training *t) {
  if (!t->shared) return COMP_OK;
  if (comp__shared_is_due(t->now.step, t->total_steps)) {
    comp_status status = comp__shared_measure(t->shared, t->context, &t->model->network, &t->state, t->work,
                                              comp__loader_largest_batch(t->loader), t->now.step, t->total_steps);
    if (status != COMP_OK) return status;
  }
  return comp__training_weigh(batch, t);
}

comp_status comp__training_weigh(comp__batch *batch, comp__training *t) {
  if (!t->shared) return COMP_OK;
  batch->weight = comp__shared_weights(t->shared, batch);
  return batch->weight ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

/* The next batch, in one part or in shards. */
static comp_status load(comp__batch *batch, const comp__batch **shards, comp__training *t) {
  comp_status status = t->shards ? comp__loader_shards(batch, shards, t->context, t->loader, t->now.batch)
                                 : comp__loader_batch(batch, t->context, t->loader, t->now.batch);
  return status == COMP_OK ? weigh(batch, t) : status;
}

static comp_status compute(comp__losses *out, comp__training *t, const comp__batch *batch, const comp__batch *shards) {
  const comp__pull pull = {t->now.gamma, comp__blur_now(t)};
  const comp__network *network = &t->model->network;
  const uint64_t seed = t->options->seed;
  if (t->shards)
    return comp__shards_step(out, t->context, network, &t->state, batch, shards, t->shards, pull, seed, t->now.step);
  return comp__network_step(out, t->context, network, &t->state, batch, t->work, pull, seed, t->now.step);
}

comp_status comp__training_step(comp__training *t) {
  const comp__train_options *o = t->options;
  comp__batch batch;
  const comp__batch *shards = NULL;
  comp__losses losses;
  bool finite = true;
  double *seconds = comp__work_seconds(t->work), began = comp__seconds();
  comp_status status = load(&batch, &shards, t);
  if (status != COMP_OK) return status;
  double gathered = comp__seconds();
  seconds[COMP__PHASE_GATHER] += gathered - began;
  status = compute(&losses, t, &batch, shards);
  if (status != COMP_OK) return status;
  if (!isfinite(losses.total)) return comp__diverged(t, &losses, finite);
  if (t->now.step == 0) t->now.first_loss = losses.total;
  double computed = comp__seconds();
  double rate = comp__schedule_rate(o, t->now.step, t->total_steps) * t->now.rate_factor;
  status = comp__optimiser_step(&finite, t->context, &t->optimiser, &t->state, t->model->network.params.size, rate,
                                o->weight_decay, o->clip);
  if (status != COMP_OK) return status;
  if (!finite) return comp__diverged(t, &losses, finite);
  seconds[COMP__PHASE_ADAM] += comp__seconds() - computed;
  comp__losses_add(&t->now.sums, &losses, (double)batch.rows);
  t->now.samples += (double)batch.rows;
  adjust_gamma(t, losses.penalty);
  t->now.step++;
  t->now.batch++;
  add_to_average(t);
  return COMP_OK;
}
