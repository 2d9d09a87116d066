/* setup.c: comp__train(): makes a model and a run, and decides what the options leave open. */
#include "train/setup.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/context.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/file.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/table.h"
#include "core/threads.h"
#include "model/penalty.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"
#include "train/config.h"
#include "train/precision.h"
#include "train/ranks.h"
#include "train/scale.h"
#include "train/survey.h"

/* More conditions than this are taken for a mistake: a column of numbers, or of names. */
enum { MOST_LEVELS = 256 };

/* A condition with fewer samples is warned of, and the first of them are named. So many different numbers are more
 * likely a measurement than doses or days. */
enum { FEW_SAMPLES = 10, SMALL_NAMED = 5, MANY_NUMBERS = 20 };

/* One warning of all conditions with few samples, whatever their number. */
static void warn_of_small(comp_context *context, const char *name, bool numbers, const comp_groups *groups) {
  char list[256] = "";
  size_t small = 0, used = 0;
  for (size_t k = 0; k < groups->n_levels; k++) {
    if (groups->counts[k] >= FEW_SAMPLES) continue;
    if (small++ < SMALL_NAMED && used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s' (%zu)", small > 1 ? ", " : "",
                               groups->levels[k], groups->counts[k]);
  }
  if (small > SMALL_NAMED && used < sizeof list)
    snprintf(list + used, sizeof list - used, " and %zu more", small - SMALL_NAMED);
  if (small == 0) return;
  if (numbers && groups->n_levels >= MANY_NUMBERS)
    comp__warn(context,
               "column '%s' holds %zu different numbers, %zu of them in fewer than %d samples: it is probably a "
               "measurement, not a condition. Choose a column of groups, or put the numbers into a few groups",
               name, groups->n_levels, small, FEW_SAMPLES);
  else
    comp__warn(context, "%zu of %zu conditions have fewer than %d samples: %s. Do not trust what the model says of %s",
               small, groups->n_levels, FEW_SAMPLES, list, small == 1 ? "it" : "them");
}

static comp_status read_condition(comp_groups *out, comp_context *context, const comp_dataset *dataset,
                                  const char *name) {
  size_t column;
  comp_status status = comp_table_require(&column, comp_dataset_obs(dataset), name);
  if (status != COMP_OK) return comp__error_context(status, "condition");
  status = comp_table_groups(out, comp_dataset_obs(dataset), column);
  if (status != COMP_OK) return status;
  if (out->n_levels < 2) {
    status = comp__error(COMP_ERR_DATA, "column '%s' has %s value%s%s%s; a model needs two or more conditions", name,
                         out->n_levels ? "only one" : "no", out->n_levels ? ", '" : "s",
                         out->n_levels ? out->levels[0] : "", out->n_levels ? "'" : "");
    comp_groups_release(out);
    return status;
  }
  size_t missing = 0;
  for (size_t i = 0; i < out->rows; i++) missing += out->codes[i] < 0;
  if (missing > 0)
    comp__warn(context, "%zu sample%s no value in '%s' and %s left out", missing, missing == 1 ? " has" : "s have",
               name, missing == 1 ? "is" : "are");
  if (out->n_levels > MOST_LEVELS) {
    status = comp__error(COMP_ERR_DATA,
                         "column '%s' has %zu different values, and a condition has %d at most. Choose a column of "
                         "groups, such as the batch or the treatment",
                         name, out->n_levels, (int)MOST_LEVELS);
    comp_groups_release(out);
    return status;
  }
  warn_of_small(context, name, comp_table_column_kind(comp_dataset_obs(dataset), column) == COMP_COLUMN_NUMBER, out);
  return COMP_OK;
}

/* Whether two columns part the samples that have both in the same way, and in more than one part. */
static bool same_parts(const comp_groups *a, const comp_groups *b) {
  int32_t of_a[MOST_LEVELS], of_b[MOST_LEVELS];
  size_t parts = 0;
  assert(a->n_levels <= MOST_LEVELS && b->n_levels <= MOST_LEVELS);
  memset(of_a, -1, sizeof of_a);
  memset(of_b, -1, sizeof of_b);
  for (size_t i = 0; i < a->rows; i++) {
    const int32_t x = a->codes[i], y = b->codes[i];
    if (x < 0 || y < 0) continue;
    if ((of_a[x] >= 0 && of_a[x] != y) || (of_b[y] >= 0 && of_b[y] != x)) return false;
    parts += of_a[x] < 0;
    of_a[x] = y;
    of_b[y] = x;
  }
  return parts > 1;
}

comp_status comp__target_differs(const comp_groups *target, const comp_groups *conditions, const char *target_name,
                                 const char *condition_name) {
  if (!same_parts(target, conditions)) return COMP_OK;
  return comp__error(COMP_ERR_DATA,
                     "target: column '%s' says of each sample what the condition '%s' says: z cannot predict the one "
                     "and hide the other",
                     target_name, condition_name);
}

/* What makes a column unfit for a target. `known` samples have a condition and a value of it, of `values` kinds. */
static comp_status check_target(const comp_groups *target, const comp_groups *conditions, const comp__train_options *o,
                                size_t known, size_t values) {
  if (target->n_levels > MOST_LEVELS)
    return comp__error(COMP_ERR_DATA,
                       "target: column '%s' has %zu different values, and a target has %d at most. Put numbers into a "
                       "few groups",
                       o->target, target->n_levels, (int)MOST_LEVELS);
  if (values < 2)
    return comp__error(COMP_ERR_DATA,
                       "target: column '%s' has %s among the %zu samples that have a condition; there must be two or "
                       "more to predict",
                       o->target, known ? "one value only" : "no value", conditions->rows);
  return comp__target_differs(target, conditions, o->target, o->condition);
}

/* Leaves the samples out that are marked in a column: as if they had no condition. */
static comp_status leave_unseen(comp_groups *conditions, comp_context *context, const comp_dataset *dataset,
                                const char *column) {
  bool *marked = NULL;
  size_t left = 0;
  comp_status status;
  if (!column) return COMP_OK;
  COMP__TRY(comp__alloc(&marked, conditions->rows, sizeof *marked));
  status = comp__table_marks(marked, comp_dataset_obs(dataset), column);
  if (status != COMP_OK) {
    status = comp__error_context(status, "unseen");
    goto done;
  }
  for (size_t i = 0; i < conditions->rows; i++) {
    if (!marked[i] || conditions->codes[i] < 0) continue;
    conditions->counts[conditions->codes[i]]--;
    conditions->codes[i] = -1;
    left++;
  }
  for (size_t k = 0; k < conditions->n_levels; k++)
    if (conditions->counts[k] == 0)
      COMP__FAIL(COMP_ERR_DATA, "unseen: column '%s' marks all samples of condition '%s': none is left to train on",
                 column, conditions->levels[k]);
  comp__info(context, "%zu samples are marked in '%s': they are left out of training", left, column);
done:
  comp__free(marked);
  return status;
}

bool comp__target_is_held(uint64_t seed, double share, size_t row) {
  return share > 0 && comp__rng_uniform(comp__rng_at(seed, COMP__RNG_SPLIT, 1, row), 0) < share;
}

static comp_status read_target(comp_groups *out, comp_context *context, const comp_dataset *dataset,
                               const comp_groups *conditions, const comp__train_options *o) {
  size_t column, known = 0, samples = 0, values = 0;
  bool seen[MOST_LEVELS] = {0};
  comp_status status = COMP_OK;
  if (!o->target) return COMP_OK;
  status = comp_table_require(&column, comp_dataset_obs(dataset), o->target);
  if (status != COMP_OK) return comp__error_context(status, "target");
  COMP__TRY(comp_table_groups(out, comp_dataset_obs(dataset), column));
  for (size_t i = 0; i < out->rows; i++) {
    const int32_t value = out->codes[i];
    if (comp__target_is_held(o->seed, o->target_hold, i)) {
      out->codes[i] = -1;
      continue;
    }
    if (conditions->codes[i] < 0) continue;
    samples++;
    if (value < 0) continue;
    known++;
    if (value >= MOST_LEVELS || seen[value]) continue;
    seen[value] = true;
    values++;
  }
  COMP__TRY(check_target(out, conditions, o, known, values));
  if (known < samples)
    comp__info(context, "%zu of %zu samples have no value in '%s': they are trained on without it", samples - known,
               samples, o->target);
done:
  if (status != COMP_OK) comp_groups_release(out);
  return status;
}

static comp_status describe(comp_model *model, const comp_dataset *dataset, const comp_groups *groups,
                            const comp_groups *target, const comp__train_options *options, uint64_t digest) {
  comp_status status;
  char trained_on[64], kernel[32];
  snprintf(trained_on, sizeof trained_on, "%zu %016llx", groups->rows, (unsigned long long)digest);
  COMP__TRY(comp__strdup(&model->trained_on, trained_on));
  for (size_t k = 0; k < groups->n_levels; k++)
    COMP__TRY(comp__strings_append(&model->levels, groups->levels[k], strlen(groups->levels[k])));
  for (size_t k = 0; k < target->n_levels; k++)
    COMP__TRY(comp__strings_append(&model->classes, target->levels[k], strlen(target->levels[k])));
  COMP__TRY(comp__strdup(&model->target, options->target));
  for (size_t g = 0; g < comp_dataset_feature_count(dataset); g++) {
    const char *name = comp_dataset_var_name(dataset, g);
    COMP__TRY(comp__strings_append(&model->features, name, strlen(name)));
  }
  comp__matmul_name(kernel, sizeof kernel, comp__precision_find(options->precision)->bf16);
  COMP__TRY(comp__strdup(&model->kernel, kernel));
  COMP__TRY(comp__strdup(&model->condition, options->condition));
  COMP__TRY(comp__strdup(&model->record, comp_dataset_record(dataset)));
  COMP__TRY(comp__config_write(&model->config, options));
done:
  return status;
}

bool comp__losses_compare(const comp__train_options *options) {
  return !(options->kl_target > 0) && options->blur_from == options->blur_to;
}

bool comp__self_is_open(const comp__train_options *o) {
  return strcmp(o->preset, "protect") == 0 && !o->model.include_self && !o->self_out_asked;
}

/* Without a row's own posterior in its mixture, the penalty has no lower bound: a row that is near one of another
 * condition, and far from all of its own, lowers it by the square of that distance. Where there are few samples, the
 * network learns single rows, and such pairs run away: of 4,400 rows of a simulated table the penalty fell to -1,000,
 * with large batches, too. That of samples held out falls with it, so that the weights of such an epoch were kept as
 * the best. The recipe was measured on 30,000 rows. With a target the penalty of 400 rows fell to -72 .. -571, and the
 * target was predicted worse than with the own posterior. */
static void keep_self(comp__train_options *o, comp_context *context, size_t samples) {
  enum { FEWEST = 20000 };
  if (!comp__self_is_open(o) || samples >= FEWEST) return;
  o->model.include_self = true;
  comp__info(context,
             "a row's own posterior is part of its mixture: with fewer than %d samples (%zu) the penalty would have no "
             "lower bound (--leave-self-out leaves it out)",
             (int)FEWEST, samples);
}

static size_t count_samples(const comp_groups *conditions) {
  size_t samples = 0;
  for (size_t k = 0; k < conditions->n_levels; k++) samples += conditions->counts[k];
  return samples;
}

/* Decides what the options leave open. */
static void resolve(comp__train_options *o, comp_context *context, size_t batches) {
  const comp__precision *precision = comp__precision_find(o->precision);
  const comp__penalty *penalty = comp__penalty_find(o->model.penalty);
  if (precision->choose) o->precision = precision->choose(context, o);
  o->steps = comp__scale_steps(o, batches);
  o->epochs = (o->steps + batches - 1) / batches;
  if (o->model.gamma == 0 || !penalty || !penalty->needs_posteriors) o->blur_from = o->blur_to = 0.0; /* no mixtures */
  if (comp__losses_compare(o)) return;
  if (o->kl_target > 0 && o->select == COMP_SELECT_BEST) {
    comp__info(context, "the last weights are kept: losses with different gammas cannot be compared");
    o->select = COMP_SELECT_LAST;
  }
  if (o->blur_from != o->blur_to && (o->select == COMP_SELECT_BEST || o->patience > 0)) {
    comp__info(context, "all epochs are run%s: losses with different blurs cannot be compared",
               o->select == COMP_SELECT_AVERAGE ? "" : " and the last weights kept");
    if (o->select == COMP_SELECT_BEST) o->select = COMP_SELECT_LAST;
    o->patience = 0;
  }
}

static comp_status new_run(comp__training *t, uint64_t digest) {
  comp_status status;
  size_t params = t->model->network.params.size, buffers = t->model->network.buffers.size, size;
  bool bf16 = comp__precision_find(t->options->precision)->bf16;
  t->state.params = t->model->params;
  t->state.buffers = t->model->buffers;
  COMP__TRY(comp__calloc(&t->state.grads, params, sizeof(float)));
  if (bf16) COMP__TRY(comp__alloc(&t->state.half, params, sizeof(uint16_t)));
  COMP__TRY(comp__calloc(&t->optimiser.m, params, sizeof(float)));
  COMP__TRY(comp__calloc(&t->optimiser.v, params, sizeof(float)));
  COMP__TRY(comp__calloc(&t->best_params, params, sizeof(float)));
  COMP__TRY(comp__calloc(&t->best_buffers, buffers, sizeof(float)));
  if (t->options->select == COMP_SELECT_AVERAGE) COMP__TRY(comp__calloc(&t->average, params, sizeof(float)));
  COMP__TRY(comp__work_new(&t->work, &t->model->network, comp__loader_largest_batch(t->loader), bf16, true));
  COMP__TRY(comp__ranks_cut(t));
  size = strlen(t->model->config) + 64;
  COMP__TRY(comp__alloc(&t->identity, size, 1));
  snprintf(t->identity, size, "%s %016llx", t->model->config, (unsigned long long)digest);
  t->history = json_array();
  if (!t->history) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  t->epochs = t->options->epochs;
  t->total_steps = t->options->steps;
  t->now.gamma = t->options->model.gamma;
  t->now.rate_factor = 1.0;
  t->now.best_loss = INFINITY;
  if (t->options->resume) {
    bool found;
    COMP__TRY(comp__checkpoint_load(&found, t));
    if (found)
      comp__info(t->context, "going on after %llu steps", (unsigned long long)t->now.step);
    else
      comp__info(t->context, "there is no checkpoint yet: training starts from the beginning");
  }
  if (bf16) comp__f32_to_bf16(t->state.half, t->state.params, params);
  if (t->options->checkpoint && comp__training_writes(t)) comp__output_sweep_of(t->options->checkpoint);
  t->started = t->last_checkpoint = comp__seconds();
  COMP__TRY(comp__ranks_compare(t, digest));
  COMP__TRY(comp__log_open(t));
done:
  return status;
}

static void release_run(comp__training *t) {
  comp__free(t->state.grads);
  comp__free(t->state.half);
  comp__free(t->optimiser.m);
  comp__free(t->optimiser.v);
  comp__free(t->best_params);
  comp__free(t->best_buffers);
  comp__free(t->average);
  comp__shared_free(t->shared);
  comp__shards_free(t->shards);
  comp__members_release(&t->members);
  comp__work_free(t->work);
  if (t->joined)
    comp__comm_close(t->comm);
  else if (t->comm)
    comp__comm_give(t->context, t->comm);
  comp__loader_free(t->loader);
  comp__free(t->identity);
  json_decref(t->history);
  if (t->log) fclose(t->log);
}

static comp_status keep_history(comp__training *t) {
  char *text = json_dumps(t->history, JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status = comp__strdup(&t->model->history, text);
  free(text);
  return status;
}

/* Whether a failed run leaves something worth keeping. */
static bool keep_model(const comp__training *t, comp_status status) {
  return status == COMP_OK || (status == COMP_ERR_INTERRUPTED && t->now.step > 0) ||
         (status == COMP_ERR_NUMERIC && t->has_best);
}

/* Samples and features, wherever X is. */
typedef struct source {
  const comp_matrix *x;
  comp__stream *stream;
  comp_dataset *read; /* that has x; NULL: it is the caller's */
  size_t samples, features;
} source;

/* A file that cannot be read in parts is read whole by each rank. */
static comp_status read_whole(source *out, comp_context *context, const comp__train_options *o) {
  comp_options *read = NULL;
  comp_status status;
  COMP__TRY(comp_options_new(&read, "read"));
  COMP__TRY(comp_options_set(read, "layer", o->stream_layer));
  COMP__TRY(comp_options_set(read, "skip-slots", "true"));
  COMP__TRY(comp_dataset_read(&out->read, context, o->stream, read));
  out->x = comp_dataset_x(out->read);
done:
  comp_options_free(read);
  return status;
}

static comp_status open_stream(source *out, comp_context *context, const comp__train_options *o) {
  comp__read_options read = {0};
  read.layer = o->stream_layer;
  const bool kept = o->memory == 0;
  comp_status status = comp__stream_open(&out->stream, context, o->stream, &read, o->memory, o->seed);
  if (status == COMP_ERR_UNAVAILABLE && kept) return read_whole(out, context, o);
  return status;
}

static comp_status open_source(source *out, comp_context *context, const comp_dataset *dataset,
                               const comp__train_options *o) {
  size_t rows, cols;
  *out = (source){.x = comp_dataset_x(dataset),
                  .samples = comp_dataset_sample_count(dataset),
                  .features = comp_dataset_feature_count(dataset)};
  if (out->samples < 2 || out->features < 1 || (!out->x && !o->stream))
    return comp__error(COMP_ERR_DATA, "the data has %zu samples and %zu features: nothing to train on", out->samples,
                       out->features);
  if (out->x) return COMP_OK;
  comp_status status = open_stream(out, context, o);
  if (status != COMP_OK) return status;
  rows = out->stream ? comp__stream_rows(out->stream) : comp_matrix_rows(out->x);
  cols = out->stream ? comp__stream_cols(out->stream) : comp_matrix_cols(out->x);
  if (rows == out->samples && cols == out->features) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "'%s' is not the file of this data set", o->stream);
}

static void close_source(source *s) {
  comp__stream_close(s->stream);
  comp_dataset_free(s->read);
}

/* A failed run's model is handed out when it is worth keeping; the failure is still reported. */
static comp_status hand_out(comp_model **out, comp__training *t, comp_status status) {
  char message[1024];
  if (!keep_model(t, status)) return status;
  snprintf(message, sizeof message, "%s", comp_error_message());
  comp_status kept = keep_history(t);
  if (kept != COMP_OK) return kept;
  *out = t->model;
  t->model = NULL;
  return status == COMP_OK ? COMP_OK : comp__error(status, "%s", message);
}

/* Below this share of a condition, nothing is said of samples without counterpart. */
static const double FEW = 0.01;

static void tell_unshared(const comp__training *t, const comp_groups *groups) {
  for (size_t k = 0; t->shared && k < groups->n_levels; k++) {
    const double share = comp__shared_alone(t->shared, k);
    if (share < FEW) continue;
    comp__info(t->context,
               "%.0f %% of the samples of '%s' belong to populations that the other conditions lack, or that are at "
               "least 10 times rarer there: these were not pulled towards other populations (--align all pulls all)",
               100.0 * share, groups->levels[k]);
  }
}

/* How large all of it is. */
static void tell_size(const comp__training *t, const source *data, size_t conditions) {
  char length[96];
  const size_t batches = comp__loader_batches(t->loader);
  if (t->total_steps == t->epochs * batches)
    snprintf(length, sizeof length, "%zu epochs of %zu steps", t->epochs, batches);
  else
    snprintf(length, sizeof length, "%llu steps (%.2f epochs; --epochs N makes more)",
             (unsigned long long)t->total_steps, (double)t->total_steps / (double)batches);
  comp__info(t->context, "%s: %zu samples (%zu to train on), %zu features, %zu conditions, %zu parameters, %s",
             t->options->model_name, data->samples, comp__loader_training_samples(t->loader), data->features,
             conditions, t->model->network.params.size, length);
}

/* What z must predict beside all else. */
static void tell_target(const comp__training *t, const comp_groups *target, const comp_groups *conditions) {
  size_t known = 0;
  if (!t->options->target) return;
  for (size_t i = 0; i < target->rows; i++) known += target->codes[i] >= 0 && conditions->codes[i] >= 0;
  comp__info(t->context, "target: z is trained to predict '%s' (%zu values, of %zu samples; weight %g)",
             t->options->target, target->n_levels, known, t->options->model.target_weight);
}

/* The loss of the target in an epoch, of samples held out where there are any; NaN: not known. */
static double target_loss(const json_t *epoch) {
  const json_t *held = json_object_get(epoch, "validation");
  const json_t *loss = json_object_get(held ? held : json_object_get(epoch, "train"), "target");
  return json_is_number(loss) ? json_number_value(loss) : (double)NAN;
}

static void tell_target_end(const comp__training *t) {
  const size_t epochs = json_array_size(t->history);
  if (!t->options->target || epochs < 2) return;
  comp__info(t->context, "target: '%s' is predicted with a cross-entropy of %.3g, %.3g after the first epoch%s",
             t->options->target, target_loss(json_array_get(t->history, epochs - 1)),
             target_loss(json_array_get(t->history, 0)),
             json_object_get(json_array_get(t->history, 0), "validation") ? " (samples held out)" : "");
}

static comp_status train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                         const comp__train_options *asked, const comp_groups *groups, const comp_groups *target) {
  comp__train_options options = *asked; /* with everything chosen that was left open: what the model remembers */
  comp__training t = {.context = context, .options = &options};
  source data = {0};
  comp__counterparts counterparts = {0};
  uint64_t digest;
  comp_status status;
  COMP__TRY(open_source(&data, context, dataset, asked));
  comp__checkpoint_recipe(&options);
  options.model.classes = target->n_levels;
  keep_self(&options, context, count_samples(groups));
  comp__scale_follow(&options, count_samples(groups));
  COMP__TRY(comp__ranks_join(&t, &options));
  COMP__TRY(comp__ranks_compare_start(&t, groups, data.stream));
  COMP__TRY(comp__model_new(&t.model, &options.model, data.features, groups->n_levels));
  comp__layout_initialise(&t.model->network.params, t.model->params, options.seed);
  comp__layout_initialise(&t.model->network.buffers, t.model->buffers, options.seed);
  COMP__TRY(comp__survey(t.model, &digest, context, data.x, data.stream, data.samples, groups));
  if (target->codes) digest = comp__mix(digest, target->codes, target->rows * sizeof *target->codes);
  if (options.model.centred || options.align == COMP_ALIGN_SHARED) {
    COMP__TRY(comp__members_take(&t.members, context, t.model, data.x, data.stream, groups));
    COMP__TRY(comp__counterparts_find(&counterparts, context, &t.members));
  }
  if (options.model.centred)
    memcpy(t.model->buffers + t.model->network.centre, counterparts.centre,
           groups->n_levels * data.features * sizeof *counterparts.centre);
  comp__loader_options loader = {.x = data.x,
                                 .stream = data.stream,
                                 .samples = data.samples,
                                 .codes = groups->codes,
                                 .conditions = groups->n_levels,
                                 .target = target->codes,
                                 .seed = options.seed,
                                 .batch = options.batch,
                                 .validation = options.validation,
                                 .counts = t.model->network.likelihood->counts,
                                 .library_target = t.model->library_target};
  COMP__TRY(comp__loader_new(&t.loader, context, &loader));
  resolve(&options, context, comp__loader_batches(t.loader));
  COMP__TRY(describe(t.model, dataset, groups, target, &options, digest));
  if (options.align == COMP_ALIGN_SHARED)
    COMP__TRY(comp__shared_new(&t.shared, context, t.model, &t.members, &counterparts, data.x, data.stream, groups));
  COMP__TRY(new_run(&t, digest));
  tell_size(&t, &data, groups->n_levels);
  tell_target(&t, target, groups);
  status = comp__training_finish(&t);
  if (status == COMP_OK) tell_target_end(&t);
  if (status == COMP_OK) tell_unshared(&t, groups);
  status = hand_out(out, &t, status);
done:
  comp__counterparts_release(&counterparts);
  comp_model_free(t.model);
  release_run(&t);
  close_source(&data);
  return status;
}

comp_status comp__train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                        const comp__train_options *options) {
  *out = NULL;
  comp_groups groups = {0}, target = {0};
  comp_status status;
  COMP__TRY(comp__options_check(&comp__train_kind, options));
  COMP__TRY(read_condition(&groups, context, dataset, options->condition));
  COMP__TRY(leave_unseen(&groups, context, dataset, options->unseen));
  COMP__TRY(read_target(&target, context, dataset, &groups, options));
  COMP__TRY(train(out, context, dataset, options, &groups, &target));
done:
  comp_groups_release(&target);
  comp_groups_release(&groups);
  return status;
}

comp_status comp_train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                       const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset);
  comp__train_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__train_kind, options);
  return status == COMP_OK ? comp__train(out, context, dataset, &plain) : status;
}
