/* loop.c: epochs and validation: a training from its start, or its checkpoint, to its end. step.c has the single step.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"
#include "train/ranks.h"
#include "train/schedule.h"
#include "train/setup.h"
#include "train/step.h"

static comp__losses mean_losses(const comp__losses *sums, double samples) {
  comp__losses mean = {0};
  if (samples > 0) comp__losses_add(&mean, sums, 1.0 / samples);
  return mean;
}

static json_t *losses_to_json(const comp__losses *losses, bool target) {
  json_t *object = json_pack("{s:f, s:f, s:f, s:f}", "total", losses->total, "likelihood", losses->likelihood, "kl",
                             losses->kl, "penalty", losses->penalty);
  if (object && target) json_object_set_new(object, "target", json_real(losses->target));
  return object;
}

/* The losses of one validation batch. */
typedef struct held_losses {
  comp__losses losses;
  double rows;
} held_losses;

static comp_status validate_batch(held_losses *out, comp__training *t, size_t b) {
  comp__batch batch;
  comp_status status = comp__loader_validation_batch(&batch, t->context, t->loader, b);
  if (status == COMP_OK) status = comp__training_weigh(&batch, t);
  if (status == COMP_OK)
    status = comp__network_evaluate(&out->losses, t->context, &t->model->network, &t->state, &batch, t->work,
                                    (comp__pull){t->now.gamma, comp__blur_now(t)}, t->options->seed, UINT64_MAX);
  out->rows = (double)batch.rows;
  return status;
}

/* Ranks share the batches out; the means are made of all in order, on each rank. */
static comp_status validate(comp__losses *out, comp__training *t) {
  const size_t n = comp__loader_validation_batches(t->loader), ranks = comp__comm_ranks(t->comm);
  const size_t rank = comp__comm_rank(t->comm);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__losses sums = {0};
  double samples = 0;
  held_losses *held = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&held, n, sizeof *held));
  for (size_t r = 0; r <= ranks; r++) begin[r] = comp__comm_cut(n, r, ranks);
  for (size_t b = begin[rank]; b < begin[rank + 1]; b++) COMP__TRY(validate_batch(&held[b], t, b));
  COMP__TRY(comp__comm_gather(t->comm, t->context, held, begin, sizeof *held));
  for (size_t b = 0; b < n; b++) {
    comp__losses_add(&sums, &held[b].losses, held[b].rows);
    samples += held[b].rows;
  }
  *out = mean_losses(&sums, samples);
done:
  comp__free(held);
  return status;
}

static void keep_best(comp__training *t) {
  memcpy(t->best_params, t->state.params, t->model->network.params.size * sizeof(float));
  memcpy(t->best_buffers, t->state.buffers, t->model->network.buffers.size * sizeof(float));
  t->has_best = true;
}

static comp_status write_log(comp__training *t, json_t *entry) {
  if (!t->log) return COMP_OK;
  json_t *line = json_copy(entry);
  json_object_set_new(line, "seconds", json_real(comp__seconds() - t->started));
  char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(line);
  bool good = text && fprintf(t->log, "%s\n", text) > 0 && fflush(t->log) == 0;
  free(text);
  return good ? COMP_OK : comp__error_errno("cannot write '%s'", t->options->log);
}

/* Whether this is the first epoch that ends after the warm-up. What came before it is no candidate: the rate has only
 * just risen, and on little data a few steps on the way up can have a lower loss than any that follow, because the
 * penalty has not aligned anything yet. */
static bool leaves_warmup(const comp__training *t) {
  const uint64_t warm = comp__schedule_warmup(t->options, t->total_steps), batches = comp__loader_batches(t->loader);
  return t->now.step > warm && t->now.step <= warm + batches;
}

static void follow_validation(comp__training *t, double loss) {
  comp__training_numbers *now = &t->now;
  const size_t cut_after = comp__schedule_find(t->options->schedule)->cut_after;
  if (leaves_warmup(t)) now->best_loss = INFINITY;
  now->since_best++;
  now->since_cut++;
  if (loss < now->best_loss) {
    now->best_loss = loss;
    now->since_best = now->since_cut = 0;
    keep_best(t); /* also when the last weights are wanted: it is what a divergence leaves */
  }
  if (cut_after > 0 && now->since_cut >= cut_after) {
    now->rate_factor *= 0.5;
    now->since_cut = 0;
  }
}

/* A loss that is a thousand times what it was at the first step is no training any more, though still a number. */
static bool exploded(const comp__training *t, const comp__losses *training) {
  double scale = fabs(t->now.first_loss) + (double)t->model->network.features;
  return training->total > 1000.0 * scale;
}

static comp_losses public_losses(const comp__losses *l) {
  return (comp_losses){l->total, l->likelihood, l->kl, l->penalty};
}

/* After the epoch's losses were followed, and before it is counted. `held` is NULL when no samples are held out. */
static void tell_epoch(comp__training *t, const comp__losses *training, const comp__losses *held, double rate) {
  const comp__training_numbers *now = &t->now;
  const comp_epoch epoch = {
      .epoch = now->epoch + 1,
      .epochs = t->epochs,
      .steps = now->step,
      .total_steps = t->total_steps,
      .train = public_losses(training),
      .validation = held ? public_losses(held) : (comp_losses){NAN, NAN, NAN, NAN},
      .best = now->since_best == 0,
      .gamma = now->gamma,
      .rate = rate,
      .blur = comp__blur_now(t),
      .seconds = comp__seconds() - t->started,
  };
  t->stopped = !comp__report_epoch(t->context, &epoch);
}

static comp_status end_epoch(comp__training *t) {
  comp__training_numbers *now = &t->now;
  comp__losses training = mean_losses(&now->sums, now->samples), held = training;
  const bool validated = comp__loader_validation_batches(t->loader) > 0, target = t->options->target;
  if (validated) {
    comp_status status = validate(&held, t);
    if (status != COMP_OK) return status;
  }
  if (!isfinite(held.total) || exploded(t, &training)) return comp__diverged(t, &held, true);
  double rate = comp__schedule_rate(t->options, now->step, t->total_steps) * now->rate_factor;
  follow_validation(t, held.total);
  json_t *entry =
      json_pack("{s:I, s:I, s:f, s:f, s:o}", "epoch", (json_int_t)now->epoch + 1, "steps", (json_int_t)now->step,
                "rate", rate, "gamma", now->gamma, "train", losses_to_json(&training, target));
  if (entry && t->options->blur_from > 0) json_object_set_new(entry, "blur", json_real(comp__blur_now(t)));
  if (entry && validated) json_object_set_new(entry, "validation", losses_to_json(&held, target));
  if (entry && now->since_best == 0) json_object_set_new(entry, "best", json_true());
  if (!entry || json_array_append(t->history, entry) != 0) {
    json_decref(entry);
    return comp__error(COMP_ERR_MEMORY, "out of memory");
  }
  comp_status status = write_log(t, entry);
  json_decref(entry);
  if (status != COMP_OK) return status;
  tell_epoch(t, &training, validated ? &held : NULL, rate);
  now->sums = (comp__losses){0};
  now->samples = 0;
  now->batch = 0;
  now->epoch++;
  return COMP_OK;
}

static void report(comp__training *t) {
  char note[128];
  comp__losses mean = mean_losses(&t->now.sums, t->now.samples);
  snprintf(note, sizeof note, "epoch %llu: loss %.4g, likelihood %.4g, penalty %.3g",
           (unsigned long long)t->now.epoch + 1, mean.total, mean.likelihood, mean.penalty);
  comp__progress_update(t->context, t->now.step, note);
}

/* A crash in the first minutes must not cost more than this, in seconds. */
static const double FIRST_CHECKPOINT = 30.0;

static bool time_for_checkpoint(const comp__training *t, bool epoch_ended) {
  const comp__train_options *o = t->options;
  if (!o->checkpoint) return false;
  if (epoch_ended && o->checkpoint_epochs > 0 && t->now.epoch % o->checkpoint_epochs == 0) return true;
  const double period = 60.0 * o->checkpoint_minutes, since = comp__seconds() - t->last_checkpoint;
  const bool first = t->last_checkpoint == t->started;
  return o->checkpoint_minutes > 0 && since >= (first && period > FIRST_CHECKPOINT ? FIRST_CHECKPOINT : period);
}

static comp_status maybe_checkpoint(comp__training *t, bool epoch_ended) {
  if (!time_for_checkpoint(t, epoch_ended)) return COMP_OK;
  t->last_checkpoint = comp__seconds();
  return comp__checkpoint_save(t);
}

/* Whether an epoch's end is also the run's. */
static bool finished(const comp__training *t) {
  if (t->now.epoch >= t->epochs) return true;
  if (t->now.step <= comp__schedule_warmup(t->options, t->total_steps)) return false;
  return t->options->patience > 0 && t->now.since_best >= t->options->patience;
}

static bool out_of_time(const comp__training *t) {
  return t->options->max_seconds > 0 && comp__seconds() - t->started >= t->options->max_seconds;
}

/* Steps until the end, an interruption or a failure. */
static comp_status run_steps(comp__training *t) {
  comp_status status = COMP_OK;
  comp__loader_begin_epoch(t->loader, t->now.epoch);
  while (status == COMP_OK && !finished(t)) {
    status = comp__training_step(t);
    /* The last epoch of large data may be a part of one. */
    bool ended =
        status == COMP_OK && (t->now.batch == comp__loader_batches(t->loader) || t->now.step == t->total_steps);
    if (status == COMP_OK) report(t);
    if (ended) {
      status = end_epoch(t);
      comp__loader_begin_epoch(t->loader, t->now.epoch);
    }
    if (status == COMP_OK) status = maybe_checkpoint(t, ended);
    if (status == COMP_OK) status = comp__check_interrupt(t->context);
    if (out_of_time(t)) t->stopped = true;
    if (status == COMP_OK) status = comp__ranks_agree(t, ended);
    if (status == COMP_OK && t->stopped) {
      comp__info(t->context, "%s after %llu steps", out_of_time(t) ? "the time is up" : "stopped by the caller",
                 (unsigned long long)t->now.step);
      return t->options->checkpoint ? comp__checkpoint_save(t) : COMP_OK;
    }
  }
  return status;
}

/* Where the time went, for those who asked for details. */
static void tell_phases(const comp__training *t, const comp__traffic *before, uint64_t first) {
  const double *seconds = comp__work_seconds(t->work);
  double total = 0;
  for (int p = 0; p < COMP__PHASES; p++) total += seconds[p];
  for (int p = 0; p < COMP__PHASES; p++)
    comp__debug(t->context, "  %-18s %8.3f s  %4.1f %%", comp__phase_name((comp__phase)p), seconds[p],
                total > 0 ? 100 * seconds[p] / total : 0);
  if (t->now.step > 0) comp__debug(t->context, "  %.3f ms a step", 1e3 * total / (double)t->now.step);
  const comp__traffic all = comp__comm_traffic(t->comm);
  const double steps = (double)(t->now.step - first);
  if (t->comm && steps > 0)
    comp__debug(t->context, "  %.6g MB in %.4g calls a step from other ranks; %.3f s in exchanges",
                (all.bytes - before->bytes) / 1e6 / steps, (double)(all.calls - before->calls) / steps,
                all.seconds - before->seconds);
}

/* The averaged weights become the model's, with running statistics that are means over an epoch's batches: those of the
 * single steps belong to none of the layers before. */
static comp_status use_average(comp__training *t) {
  const size_t n = t->model->network.params.size, batches = comp__loader_batches(t->loader);
  memcpy(t->state.params, t->average, n * sizeof(float));
  if (t->state.half) comp__f32_to_bf16(t->state.half, t->state.params, n);
  comp__loader_begin_epoch(t->loader, t->now.epoch);
  comp_status status = COMP_OK;
  for (size_t b = 0; status == COMP_OK && b < batches; b++) {
    comp__batch batch;
    status = comp__loader_batch(&batch, t->context, t->loader, b);
    if (status == COMP_OK)
      status = comp__network_statistics(t->context, &t->model->network, &t->state, &batch, t->work,
                                        1.0f / (float)(b + 1), t->options->seed, UINT64_MAX - 1);
  }
  if (status != COMP_OK || comp__loader_validation_batches(t->loader) == 0) return status;
  comp__losses losses;
  status = validate(&losses, t);
  if (status != COMP_OK) return status;
  char best[64] = "";
  if (comp__losses_compare(t->options))
    snprintf(best, sizeof best, "; the best of an epoch was %.6g", t->now.best_loss);
  comp__info(t->context, "average of the weights of %llu steps: validation loss %.6g%s",
             (unsigned long long)t->now.averaged, losses.total, best);
  return COMP_OK;
}

/* The chosen weights become the model's. After a failure the best so far is all that is left. */
static comp_status choose_weights(comp__training *t, comp_status ended) {
  if (ended == COMP_OK && t->now.averaged > 0) return use_average(t);
  if (ended == COMP_OK && t->average)
    comp__warn(t->context, "the run ended before its last quarter: there is no average, the last weights are kept");
  bool best = t->has_best && (ended == COMP_ERR_NUMERIC || t->options->select == COMP_SELECT_BEST);
  if (!best) return COMP_OK;
  memcpy(t->state.params, t->best_params, t->model->network.params.size * sizeof(float));
  memcpy(t->state.buffers, t->best_buffers, t->model->network.buffers.size * sizeof(float));
  return COMP_OK;
}

/* Data that could not be read ends a run between two steps: nothing of it needs to be lost. The failure stays the
 * thread's message. */
static void keep_state(comp__training *t) {
  char message[1024];
  snprintf(message, sizeof message, "%s", comp_error_message());
  if (comp__checkpoint_save(t) == COMP_OK)
    (void)comp__error(COMP_ERR_IO, "%s (the state after %llu steps is in %s)", message, (unsigned long long)t->now.step,
                      t->options->checkpoint);
  else
    (void)comp__error(COMP_ERR_IO, "%s", message);
}

comp_status comp__training_finish(comp__training *t) {
  char task[64];
  snprintf(task, sizeof task, "training %s", t->options->model_name);
  comp__progress_begin(t->context, task, "steps", t->total_steps);
  comp__progress_update(t->context, t->now.step, NULL);
  const comp__traffic before = comp__comm_traffic(t->comm);
  const uint64_t first = t->now.step;
  comp_status status = run_steps(t);
  comp__progress_end(t->context);
  tell_phases(t, &before, first);
  if (status == COMP_ERR_IO && t->options->stream && t->now.step > 0 && t->options->checkpoint) keep_state(t);
  if (status == COMP_ERR_INTERRUPTED && t->options->checkpoint) {
    char reason[1024];
    snprintf(reason, sizeof reason, "%s", comp_error_message());
    comp_status saved = comp__checkpoint_save(t);
    if (saved != COMP_OK) return saved;
    comp__info(t->context, "stopped after %llu steps; the state is in %s", (unsigned long long)t->now.step,
               t->options->checkpoint);
    status = comp__error(COMP_ERR_INTERRUPTED, "%s", reason);
  }
  t->model->finished = status == COMP_OK && finished(t);
  comp_status chosen = choose_weights(t, status);
  return status == COMP_OK ? chosen : status;
}
