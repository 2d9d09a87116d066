/* loop.c: steps, epochs, validation: a run from its start, or its checkpoint, to its end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"
#include "train/schedule.h"
#include "train/setup.h"

/* How fast gamma follows the penalty towards its target, in log gamma a step at a relative error of 1. */
static const double GAMMA_SPEED = 0.01;

static void add_losses(comp__losses *sums, const comp__losses *losses, double weight) {
  sums->total += weight * losses->total;
  sums->likelihood += weight * losses->likelihood;
  sums->kl += weight * losses->kl;
  sums->penalty += weight * losses->penalty;
}

static comp__losses mean_losses(const comp__losses *sums, double samples) {
  comp__losses mean = {0};
  if (samples > 0) add_losses(&mean, sums, 1.0 / samples);
  return mean;
}

static json_t *losses_to_json(const comp__losses *losses) {
  return json_pack("{s:f, s:f, s:f, s:f}", "total", losses->total, "likelihood", losses->likelihood, "kl", losses->kl,
                   "penalty", losses->penalty);
}

/* Dual ascent: the multiplier rises while the constraint penalty <= target is broken, and falls while there is slack.
 */
static void adjust_gamma(comp__run *run, double penalty) {
  double target = run->options->kl_target;
  if (!(target > 0.0)) return;
  double error = fmax(-1.0, fmin(1.0, penalty / target - 1.0));
  run->now.gamma = fmax(1e-4, fmin(1e6, run->now.gamma * exp(GAMMA_SPEED * error)));
}

/* Coarse alignment first, fine at last: the blur of a step falls from the first value to the last by a constant
 * factor a step. */
static double blur_now(const comp__run *run) {
  const comp__train_options *o = run->options;
  if (!(o->blur_from > 0.0) || run->total_steps < 2) return o->blur_from;
  const double done = fmin(1.0, (double)run->now.step / (double)(run->total_steps - 1));
  return o->blur_from * pow(o->blur_to / o->blur_from, done);
}

static comp_status diverged(const comp__run *run, const comp__losses *losses, bool finite_gradient) {
  const char *part = !isfinite(losses->likelihood) ? "the likelihood is not a finite number"
                     : !isfinite(losses->kl)       ? "the KL divergence is not a finite number"
                     : !isfinite(losses->penalty)  ? "the penalty is not a finite number"
                     : !finite_gradient            ? "the gradient is not a finite number"
                                                   : "the loss has grown a thousandfold";
  char kept[96] = "no epoch was completed: there is no model";
  if (run->has_best)
    snprintf(kept, sizeof kept, "the model has the weights of epoch %llu, the best",
             (unsigned long long)(run->now.epoch - run->now.since_best));
  return comp__error(COMP_ERR_NUMERIC,
                     "training diverged at step %llu (epoch %llu): %s; try a smaller learning rate "
                     "than %g, shorter gradients (clip: 10), or look for very large values in the data; %s",
                     (unsigned long long)run->now.step + 1, (unsigned long long)run->now.epoch + 1, part,
                     run->options->rate, kept);
}

static void average_values(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const comp__run *run = arg;
  const float share = 1.0f / (float)run->now.averaged;
  for (size_t i = begin; i < end; i++) run->average[i] += share * (run->state.params[i] - run->average[i]);
}

/* The last quarter of the steps goes into the average: a running mean, so that a checkpoint can hold it. */
static void add_to_average(comp__run *run) {
  if (!run->average || run->now.step < run->total_steps - run->total_steps / 4) return;
  run->now.averaged++;
  comp__parallel_for(run->context, run->model->network.params.size, 1 << 16, average_values, run);
}

static comp_status one_step(comp__run *run) {
  const comp__train_options *o = run->options;
  comp__batch batch;
  comp__losses losses;
  bool finite = true;
  double *seconds = comp__work_seconds(run->work), began = comp__seconds();
  comp_status status = comp__loader_batch(&batch, run->context, run->loader, run->now.batch);
  if (status != COMP_OK) return status;
  double gathered = comp__seconds();
  seconds[COMP__PHASE_GATHER] += gathered - began;
  status = comp__network_step(&losses, run->context, &run->model->network, &run->state, &batch, run->work,
                              (comp__pull){run->now.gamma, blur_now(run)}, o->seed, run->now.step);
  if (status != COMP_OK) return status;
  if (!isfinite(losses.total)) return diverged(run, &losses, finite);
  if (run->now.step == 0) run->now.first_loss = losses.total;
  double computed = comp__seconds();
  double rate = comp__schedule_rate(o, run->now.step, run->total_steps) * run->now.rate_factor;
  status = comp__optimiser_step(&finite, run->context, &run->optimiser, &run->state, run->model->network.params.size,
                                rate, o->weight_decay, o->clip);
  if (status != COMP_OK) return status;
  if (!finite) return diverged(run, &losses, finite);
  seconds[COMP__PHASE_ADAM] += comp__seconds() - computed;
  add_losses(&run->now.sums, &losses, (double)batch.rows);
  run->now.samples += (double)batch.rows;
  adjust_gamma(run, losses.penalty);
  run->now.step++;
  run->now.batch++;
  add_to_average(run);
  return COMP_OK;
}

static comp_status validate(comp__losses *out, comp__run *run) {
  comp__losses sums = {0};
  double samples = 0;
  for (size_t b = 0; b < comp__loader_validation_batches(run->loader); b++) {
    comp__batch batch;
    comp__losses losses;
    comp_status status = comp__loader_validation_batch(&batch, run->context, run->loader, b);
    if (status == COMP_OK)
      status = comp__network_evaluate(&losses, run->context, &run->model->network, &run->state, &batch, run->work,
                                      (comp__pull){run->now.gamma, blur_now(run)}, run->options->seed, UINT64_MAX);
    if (status != COMP_OK) return status;
    add_losses(&sums, &losses, (double)batch.rows);
    samples += (double)batch.rows;
  }
  *out = mean_losses(&sums, samples);
  return COMP_OK;
}

static void keep_best(comp__run *run) {
  memcpy(run->best_params, run->state.params, run->model->network.params.size * sizeof(float));
  memcpy(run->best_buffers, run->state.buffers, run->model->network.buffers.size * sizeof(float));
  run->has_best = true;
}

static comp_status write_log(comp__run *run, json_t *entry) {
  if (!run->log) return COMP_OK;
  json_t *line = json_copy(entry);
  json_object_set_new(line, "seconds", json_real(comp__seconds() - run->started));
  char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(line);
  bool good = text && fprintf(run->log, "%s\n", text) > 0 && fflush(run->log) == 0;
  free(text);
  return good ? COMP_OK : comp__error_errno("cannot write '%s'", run->options->log);
}

static void follow_validation(comp__run *run, double loss) {
  comp__run_numbers *now = &run->now;
  const size_t cut_after = comp__schedule_find(run->options->schedule)->cut_after;
  now->since_best++;
  now->since_cut++;
  if (loss < now->best_loss) {
    now->best_loss = loss;
    now->since_best = now->since_cut = 0;
    keep_best(run); /* also when the last weights are wanted: it is what a divergence leaves */
  }
  if (cut_after > 0 && now->since_cut >= cut_after) {
    now->rate_factor *= 0.5;
    now->since_cut = 0;
  }
}

/* A loss that is a thousand times what it was at the first step is no training any more, though still a number. */
static bool exploded(const comp__run *run, const comp__losses *training) {
  double scale = fabs(run->now.first_loss) + (double)run->model->network.features;
  return training->total > 1000.0 * scale;
}

static comp_losses public_losses(const comp__losses *l) {
  return (comp_losses){l->total, l->likelihood, l->kl, l->penalty};
}

/* After the epoch's losses were followed, and before it is counted. `held` is NULL when no samples are held out. */
static void tell_epoch(comp__run *run, const comp__losses *training, const comp__losses *held, double rate) {
  const comp__run_numbers *now = &run->now;
  const comp_epoch epoch = {
      .epoch = now->epoch + 1,
      .epochs = run->epochs,
      .steps = now->step,
      .total_steps = run->total_steps,
      .train = public_losses(training),
      .validation = held ? public_losses(held) : (comp_losses){NAN, NAN, NAN, NAN},
      .best = now->since_best == 0,
      .gamma = now->gamma,
      .rate = rate,
      .blur = blur_now(run),
      .seconds = comp__seconds() - run->started,
  };
  run->stopped = !comp__report_epoch(run->context, &epoch);
}

static comp_status end_epoch(comp__run *run) {
  comp__run_numbers *now = &run->now;
  comp__losses training = mean_losses(&now->sums, now->samples), held = training;
  bool validated = comp__loader_validation_batches(run->loader) > 0;
  if (validated) {
    comp_status status = validate(&held, run);
    if (status != COMP_OK) return status;
  }
  if (!isfinite(held.total) || exploded(run, &training)) return diverged(run, &held, true);
  double rate = comp__schedule_rate(run->options, now->step, run->total_steps) * now->rate_factor;
  json_t *entry =
      json_pack("{s:I, s:I, s:f, s:f, s:o}", "epoch", (json_int_t)now->epoch + 1, "steps", (json_int_t)now->step,
                "rate", rate, "gamma", now->gamma, "train", losses_to_json(&training));
  if (entry && run->options->blur_from > 0) json_object_set_new(entry, "blur", json_real(blur_now(run)));
  if (entry && validated) json_object_set_new(entry, "validation", losses_to_json(&held));
  if (!entry || json_array_append(run->history, entry) != 0) {
    json_decref(entry);
    return comp__error(COMP_ERR_MEMORY, "out of memory");
  }
  comp_status status = write_log(run, entry);
  json_decref(entry);
  if (status != COMP_OK) return status;
  follow_validation(run, held.total);
  tell_epoch(run, &training, validated ? &held : NULL, rate);
  now->sums = (comp__losses){0};
  now->samples = 0;
  now->batch = 0;
  now->epoch++;
  return COMP_OK;
}

static void report(comp__run *run) {
  char note[128];
  comp__losses mean = mean_losses(&run->now.sums, run->now.samples);
  snprintf(note, sizeof note, "epoch %llu: loss %.4g, likelihood %.4g, penalty %.3g",
           (unsigned long long)run->now.epoch + 1, mean.total, mean.likelihood, mean.penalty);
  comp__progress_update(run->context, run->now.step, note);
}

static bool time_for_checkpoint(const comp__run *run, bool epoch_ended) {
  const comp__train_options *o = run->options;
  if (!o->checkpoint) return false;
  if (epoch_ended && o->checkpoint_epochs > 0 && run->now.epoch % o->checkpoint_epochs == 0) return true;
  return o->checkpoint_minutes > 0 && comp__seconds() - run->last_checkpoint >= 60.0 * o->checkpoint_minutes;
}

static comp_status maybe_checkpoint(comp__run *run, bool epoch_ended) {
  if (!time_for_checkpoint(run, epoch_ended)) return COMP_OK;
  run->last_checkpoint = comp__seconds();
  return comp__checkpoint_save(run);
}

/* Whether an epoch's end is also the run's. */
static bool finished(const comp__run *run) {
  if (run->now.epoch >= run->epochs) return true;
  return run->options->patience > 0 && run->now.since_best >= run->options->patience;
}

static bool out_of_time(const comp__run *run) {
  return run->options->max_seconds > 0 && comp__seconds() - run->started >= run->options->max_seconds;
}

/* Steps until the end, an interruption or a failure. */
static comp_status run_steps(comp__run *run) {
  comp_status status = COMP_OK;
  comp__loader_begin_epoch(run->loader, run->now.epoch);
  while (status == COMP_OK && !finished(run)) {
    status = one_step(run);
    bool ended = status == COMP_OK && run->now.batch == comp__loader_batches(run->loader);
    if (status == COMP_OK) report(run);
    if (ended) {
      status = end_epoch(run);
      comp__loader_begin_epoch(run->loader, run->now.epoch);
    }
    if (status == COMP_OK) status = maybe_checkpoint(run, ended);
    if (status == COMP_OK) status = comp__check_interrupt(run->context);
    if (status == COMP_OK && (run->stopped || out_of_time(run))) {
      comp__info(run->context, "%s after %llu steps", run->stopped ? "stopped by the caller" : "the time is up",
                 (unsigned long long)run->now.step);
      return run->options->checkpoint ? comp__checkpoint_save(run) : COMP_OK;
    }
  }
  return status;
}

/* Where the time went, for those who asked for details. */
static void tell_phases(const comp__run *run) {
  const double *seconds = comp__work_seconds(run->work);
  double total = 0;
  for (int p = 0; p < COMP__PHASES; p++) total += seconds[p];
  for (int p = 0; p < COMP__PHASES; p++)
    comp__debug(run->context, "  %-18s %8.3f s  %4.1f %%", comp__phase_name((comp__phase)p), seconds[p],
                total > 0 ? 100 * seconds[p] / total : 0);
  if (run->now.step > 0) comp__debug(run->context, "  %.3f ms a step", 1e3 * total / (double)run->now.step);
}

/* The averaged weights become the model's, with running statistics that are means over an epoch's batches: those of the
 * single steps belong to none of the layers before. */
static comp_status use_average(comp__run *run) {
  const size_t n = run->model->network.params.size, batches = comp__loader_batches(run->loader);
  memcpy(run->state.params, run->average, n * sizeof(float));
  if (run->state.half) comp__f32_to_bf16(run->state.half, run->state.params, n);
  comp__loader_begin_epoch(run->loader, run->now.epoch);
  comp_status status = COMP_OK;
  for (size_t b = 0; status == COMP_OK && b < batches; b++) {
    comp__batch batch;
    status = comp__loader_batch(&batch, run->context, run->loader, b);
    if (status == COMP_OK)
      status = comp__network_statistics(run->context, &run->model->network, &run->state, &batch, run->work,
                                        1.0f / (float)(b + 1), run->options->seed, UINT64_MAX - 1);
  }
  if (status != COMP_OK || comp__loader_validation_batches(run->loader) == 0) return status;
  comp__losses losses;
  status = validate(&losses, run);
  if (status != COMP_OK) return status;
  char best[64] = "";
  if (comp__losses_compare(run->options))
    snprintf(best, sizeof best, "; the best of an epoch was %.6g", run->now.best_loss);
  comp__info(run->context, "average of the weights of %llu steps: validation loss %.6g%s",
             (unsigned long long)run->now.averaged, losses.total, best);
  return COMP_OK;
}

/* The chosen weights become the model's. After a failure the best so far is all that is left. */
static comp_status choose_weights(comp__run *run, comp_status ended) {
  if (ended == COMP_OK && run->now.averaged > 0) return use_average(run);
  if (ended == COMP_OK && run->average)
    comp__warn(run->context, "the run ended before its last quarter: there is no average, the last weights are kept");
  bool best = run->has_best && (ended == COMP_ERR_NUMERIC || run->options->select == COMP_SELECT_BEST);
  if (!best) return COMP_OK;
  memcpy(run->state.params, run->best_params, run->model->network.params.size * sizeof(float));
  memcpy(run->state.buffers, run->best_buffers, run->model->network.buffers.size * sizeof(float));
  return COMP_OK;
}

comp_status comp__run_all(comp__run *run) {
  char task[64];
  snprintf(task, sizeof task, "training %s", run->options->model_name);
  comp__progress_begin(run->context, task, "steps", run->total_steps);
  comp__progress_update(run->context, run->now.step, NULL);
  comp_status status = run_steps(run);
  comp__progress_end(run->context);
  tell_phases(run);
  if (status == COMP_ERR_INTERRUPTED && run->options->checkpoint) {
    comp_status saved = comp__checkpoint_save(run);
    if (saved != COMP_OK) return saved;
    comp__info(run->context, "stopped after %llu steps; the state is in %s", (unsigned long long)run->now.step,
               run->options->checkpoint);
    comp__check_interrupt(run->context); /* sets the message again */
  }
  run->model->finished = status == COMP_OK && finished(run);
  comp_status chosen = choose_weights(run, status);
  return status == COMP_OK ? chosen : status;
}
