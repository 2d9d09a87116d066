/* checkpoint.c: the state of a run in a file, so exact that a resumed run ends with the bytes of an unbroken one. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/context.h"
#include "core/error.h"
#include "io/safetensors.h"
#include "train/config.h"
#include "train/training.h"

/* Version 2 had no digest. */
static const char FORMAT[] = "comp-checkpoint-3", WITHOUT_DIGEST[] = "comp-checkpoint-2";

enum { ARRAYS = 8 };

/* The vectors of a t, in the order of the file, and how many there are: the average and the ratios of populations only
 * when there are any. Without a best model its places hold the current one. */
static int list_vectors(float *vectors[ARRAYS], size_t sizes[ARRAYS], const char *names[ARRAYS],
                        const comp__training *t) {
  size_t params = t->model->network.params.size, buffers = t->model->network.buffers.size;
  float *all[ARRAYS] = {t->state.params, t->state.buffers, t->optimiser.m, t->optimiser.v,
                        t->best_params,  t->best_buffers,  t->average,     NULL};
  size_t all_sizes[ARRAYS] = {params, buffers, params, params, params, buffers, params, 0};
  static const char *const all_names[ARRAYS] = {"params",      "buffers",      "m",       "v",
                                                "best_params", "best_buffers", "average", "ratios"};
  int count = 0;
  if (t->shared) all[ARRAYS - 1] = comp__shared_ratios(&all_sizes[ARRAYS - 1], t->shared);
  for (int i = 0; i < ARRAYS; i++) {
    if (!all[i]) continue;
    vectors[count] = all[i];
    sizes[count] = all_sizes[i];
    names[count++] = all_names[i];
  }
  return count;
}

/* Hexadecimal floats: no digit is lost. */
static comp_status numbers_to_text(char *text, size_t size, const comp__training *t) {
  const comp__training_numbers *n = &t->now;
  return comp__print(text, size,
                     "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                     " %d %a %a %a %a %a %a %a %a %a %" PRIu64 " %a",
                     n->step, n->epoch, n->batch, n->since_best, n->since_cut, t->optimiser.steps, t->has_best,
                     n->gamma, n->rate_factor, n->best_loss, n->first_loss, n->sums.total, n->sums.likelihood,
                     n->sums.kl, n->sums.penalty, n->samples, n->averaged, n->sums.target);
}

static bool numbers_from_text(comp__training *t, const char *text) {
  comp__training_numbers *n = &t->now;
  int best = 0;
  int found = sscanf(text,
                     "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                     " %d %la %la %la %la %la %la %la %la %la %" SCNu64 " %la",
                     &n->step, &n->epoch, &n->batch, &n->since_best, &n->since_cut, &t->optimiser.steps, &best,
                     &n->gamma, &n->rate_factor, &n->best_loss, &n->first_loss, &n->sums.total, &n->sums.likelihood,
                     &n->sums.kl, &n->sums.penalty, &n->samples, &n->averaged, &n->sums.target);
  t->has_best = best != 0;
  return found >= 17 && /* before there were targets */ isfinite(n->gamma) && n->epoch <= t->epochs &&
         n->batch <= comp__loader_batches(t->loader);
}

comp_status comp__checkpoint_save(const comp__training *t) {
  float *vectors[ARRAYS];
  size_t sizes[ARRAYS];
  const char *names[ARRAYS];
  if (!comp__training_writes(t)) return COMP_OK;
  char numbers[512], *history;
  comp_status status = numbers_to_text(numbers, sizeof numbers, t);
  if (status != COMP_OK) return comp__error_context(status, "checkpoint");
  history = json_dumps(t->history, JSON_COMPACT | JSON_REAL_PRECISION(17));
  if (!history) return comp__error(COMP_ERR_MEMORY, "out of memory");
  const int count = list_vectors(vectors, sizes, names, t);
  comp__array arrays[ARRAYS];
  for (int i = 0; i < count; i++) arrays[i] = (comp__array){names[i], vectors[i], 1, sizes[i]};
  const comp__text texts[] = {{"format", FORMAT},
                              {"identity", t->identity},
                              {"numbers", numbers},
                              {"history", history},
                              {"kernel", t->model->kernel}};
  status = comp__safetensors_write(t->options->checkpoint, arrays, (size_t)count, texts, sizeof texts / sizeof *texts);
  free(history);
  if (status != COMP_OK) return comp__error_context(status, "checkpoint");
  return COMP_OK;
}

/* The configuration, up to the last space, and behind it the digest of the data. NULL: damaged. */
static json_t *config_of(const char *identity, const char **digest) {
  *digest = identity ? strrchr(identity, ' ') : NULL;
  return *digest ? json_loadb(identity, (size_t)(*digest - identity), 0, NULL) : NULL;
}

/* Runs go on in as many shards as they began with, and those of 0.1 as they began altogether: what the recipes of today
 * do otherwise is as it was recorded. */
static void follow_record(comp__train_options *o, const json_t *config) {
  const json_t *training = json_object_get(config, "training");
  const json_int_t shards = json_integer_value(json_object_get(training, "shards"));
  /* It may have had other ranks. Of a damaged file, a number that no run has is left to comp__checkpoint_load(). */
  if (o->shards == 0 && shards > 0 && shards <= COMP__MOST_SHARDS && (shards & (shards - 1)) == 0)
    o->shards = (size_t)shards;
  /* Before the number of samples decided on the batch it was this one, and decided on the number of steps. */
  if (json_integer_value(json_object_get(training, "batch")) == 512) o->batch_asked = true;
  const char *select = json_string_value(json_object_get(training, "select"));
  if (!select || json_object_get(config, "bound")) return;
  o->model.bound = 0.0;
  o->align = COMP_ALIGN_ALL;
  o->patience = (size_t)json_integer_value(json_object_get(training, "patience"));
  o->select = strcmp(select, "last") == 0      ? COMP_SELECT_LAST
              : strcmp(select, "average") == 0 ? COMP_SELECT_AVERAGE
                                               : COMP_SELECT_BEST;
}

void comp__checkpoint_recipe(comp__train_options *options) {
  comp__safetensors *file = NULL;
  const char *digest;
  if (!options->resume || access(options->checkpoint, F_OK) != 0) return;
  if (comp__safetensors_read(&file, options->checkpoint) == COMP_OK) {
    json_t *config = config_of(comp__safetensors_text(file, "identity"), &digest);
    if (config) follow_record(options, config);
    json_decref(config);
    comp__safetensors_free(file);
  }
  comp__error_clear(); /* comp__checkpoint_load() tells of a file that cannot be read */
}

/* Versions write the options in another order, and some lack what came later: the values count, not the text. */
static bool same_run(const char *a, const char *b) {
  const char *a_digest, *b_digest;
  json_t *x = config_of(a, &a_digest), *y = config_of(b, &b_digest);
  bool same = x && y && strcmp(a_digest, b_digest) == 0;
  if (same) {
    comp__config_complete(x);
    comp__config_complete(y);
    same = json_equal(x, y);
  }
  json_decref(x);
  json_decref(y);
  return same;
}

static comp_status load(comp__training *t, const comp__safetensors *file) {
  float *vectors[ARRAYS];
  size_t sizes[ARRAYS];
  const char *names[ARRAYS], *format = comp__safetensors_text(file, "format"),
                             *identity = comp__safetensors_text(file, "identity");
  const char *numbers = comp__safetensors_text(file, "numbers"), *history = comp__safetensors_text(file, "history"),
             *kernel = comp__safetensors_text(file, "kernel");
  if (!format || (strcmp(format, FORMAT) != 0 && strcmp(format, WITHOUT_DIGEST) != 0))
    return comp__error(COMP_ERR_FORMAT, "it is not a checkpoint of this program");
  if (strcmp(format, FORMAT) == 0 && !comp__safetensors_digest(file))
    return comp__error(COMP_ERR_FORMAT, "it was changed or damaged since it was written: its digest is missing");
  if (!same_run(identity, t->identity))
    return comp__error(COMP_ERR_DATA,
                       "it belongs to a run with other data or options; remove it, or give the options of that run");
  const int count = list_vectors(vectors, sizes, names, t);
  for (int i = 0; i < count; i++) {
    comp_status status = comp__safetensors_array(vectors[i], file, names[i], 1, sizes[i]);
    if (status != COMP_OK) return status;
  }
  json_error_t error;
  json_t *list = history ? json_loads(history, 0, &error) : NULL;
  if (!numbers || !numbers_from_text(t, numbers) || !json_is_array(list)) {
    json_decref(list);
    return comp__error(COMP_ERR_FORMAT, "its numbers or history are damaged");
  }
  if (kernel && strcmp(kernel, t->model->kernel) != 0)
    comp__warn(t->context,
               "the checkpoint was made with other kernels (%s, here %s): results will differ in the last "
               "digits from those of an unbroken run",
               kernel, t->model->kernel);
  json_decref(t->history);
  t->history = list;
  return COMP_OK;
}

comp_status comp__checkpoint_load(bool *found, comp__training *t) {
  const char *path = t->options->checkpoint;
  *found = access(path, F_OK) == 0;
  if (!*found && errno != ENOENT) return comp__error_errno("cannot read the checkpoint '%s'", path);
  if (!*found) return COMP_OK;
  comp__safetensors *file;
  comp_status status = comp__safetensors_read(&file, path);
  if (status != COMP_OK) return status;
  status = load(t, file);
  if (status != COMP_OK) comp__error_context(status, "checkpoint '%s'", path);
  comp__safetensors_free(file);
  return status;
}
