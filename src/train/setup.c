/* setup.c: comp_train(): checks the data, makes a model and a run, and fills in what the model must know besides its
 * weights. */
#include "train/setup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

/* Steps that the default recipe aims for, and the bounds of its epochs. */
enum { AIM_STEPS = 2500, LEAST_EPOCHS = 15, MOST_EPOCHS = 400 };

/* Values beyond this are no expression data; their squares would not fit in f32 sums. */
static const float LARGEST_VALUE = 1e6f;

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
  if (missing > 0) comp__warn(context, "%zu samples have no value in '%s' and are left out", missing, name);
  for (size_t k = 0; k < out->n_levels; k++)
    if (out->counts[k] < 10)
      comp__warn(context, "condition '%s' has only %zu sample%s: do not trust what the model says of it",
                 out->levels[k], out->counts[k], out->counts[k] == 1 ? "" : "s");
  return COMP_OK;
}

typedef struct range_job {
  const float *values;
  float *low, *high; /* a chunk each */
} range_job;

enum { VALUE_CHUNK = 1 << 16 };

static void find_range(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const range_job *job = arg;
  float low = job->values[begin], high = low;
  for (size_t i = begin; i < end; i++) {
    low = job->values[i] < low ? job->values[i] : low;
    high = job->values[i] > high ? job->values[i] : high;
  }
  job->low[begin / VALUE_CHUNK] = low;
  job->high[begin / VALUE_CHUNK] = high;
}

static comp_status check_values(comp_context *context, const comp_matrix *x, comp_likelihood likelihood) {
  size_t row, col, n = comp_matrix_nnz(x), chunks = n / VALUE_CHUNK + 1;
  if (comp__matrix_find_nonfinite(&row, &col, context, x))
    return comp__error(COMP_ERR_DATA, "X holds a value that is not a finite number: sample %zu, feature %zu", row, col);
  range_job job = {x->values, NULL, NULL};
  comp_status status;
  float low = 0.0f, high = 0.0f;
  COMP__TRY(comp__alloc(&job.low, chunks, sizeof(float)));
  COMP__TRY(comp__alloc(&job.high, chunks, sizeof(float)));
  comp__parallel_for(context, n, VALUE_CHUNK, find_range, &job);
  for (size_t c = 0; c * VALUE_CHUNK < n; c++) {
    low = fminf(low, job.low[c]);
    high = fmaxf(high, job.high[c]);
  }
  if (fmaxf(high, -low) > LARGEST_VALUE)
    COMP__FAIL(COMP_ERR_DATA,
               "X holds values as large as %g; prepare the data first (comp prep: normalise, log, or standardise)",
               (double)fmaxf(high, -low));
  if (likelihood == COMP_LIKELIHOOD_NB) {
    if (low < 0.0f) COMP__FAIL(COMP_ERR_DATA, "X holds negative values: the negative binomial is for counts");
    for (size_t i = 0; i < n; i++)
      if (x->values[i] != floorf(x->values[i]))
        COMP__FAIL(COMP_ERR_DATA, "X holds %g, which is not a whole number: the negative binomial is for counts",
                   (double)x->values[i]);
  }
done:
  comp__free(job.low);
  comp__free(job.high);
  return status;
}

/* Means of all features, and for counts the median library size. */
static comp_status measure_features(comp_model *model, const comp_matrix *x) {
  double *sums = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&sums, x->cols, sizeof *sums));
  for (size_t i = 0; i < x->rows; i++) {
    if (x->kind == COMP_DENSE)
      for (size_t g = 0; g < x->cols; g++) sums[g] += x->values[i * x->cols + g];
    else
      for (int64_t k = x->indptr[i]; k < x->indptr[i + 1]; k++) sums[x->indices[k]] += x->values[k];
  }
  for (size_t g = 0; g < x->cols; g++) model->feature_means[g] = (float)(sums[g] / (double)x->rows);
done:
  comp__free(sums);
  return status;
}

static int compare_floats(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static comp_status median_library(float *out, const comp_matrix *x) {
  float *totals;
  comp_status status = comp__alloc(&totals, x->rows, sizeof *totals);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < x->rows; i++) {
    double total = 0;
    size_t begin = x->kind == COMP_CSR ? (size_t)x->indptr[i] : i * x->cols;
    size_t end = x->kind == COMP_CSR ? (size_t)x->indptr[i + 1] : (i + 1) * x->cols;
    for (size_t k = begin; k < end; k++) total += x->values[k];
    totals[i] = (float)total;
  }
  qsort(totals, x->rows, sizeof *totals, compare_floats);
  *out = fmaxf(1.0f, totals[x->rows / 2]);
  comp__free(totals);
  return COMP_OK;
}

/* A 64-bit digest of the matrix and the conditions: tells a checkpoint of other data. */
static uint64_t digest_bytes(uint64_t digest, const void *data, size_t size) {
  const unsigned char *p = data;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
    digest ^= digest >> 29;
  }
  for (; size > 0; size--, p++) digest = (digest ^ *p) * 0x100000001b3u;
  return digest;
}

static uint64_t digest_data(const comp_matrix *x, const comp_groups *groups) {
  uint64_t digest = digest_bytes(1, (size_t[]){x->rows, x->cols}, 2 * sizeof(size_t));
  digest = digest_bytes(digest, x->values, comp_matrix_nnz(x) * sizeof(float));
  if (x->kind == COMP_CSR) digest = digest_bytes(digest, x->indices, comp_matrix_nnz(x) * sizeof(int32_t));
  return digest_bytes(digest, groups->codes, groups->rows * sizeof *groups->codes);
}

static comp_status describe(comp_model *model, const comp_dataset *dataset, const comp_groups *groups,
                            const comp_train_options *options) {
  comp_status status;
  for (size_t k = 0; k < groups->n_levels; k++)
    COMP__TRY(comp__strings_append(&model->levels, groups->levels[k], strlen(groups->levels[k])));
  for (size_t g = 0; g < comp_dataset_features(dataset); g++) {
    const char *name = comp_dataset_var_name(dataset, g);
    COMP__TRY(comp__strings_append(&model->features, name, strlen(name)));
  }
  COMP__TRY(comp__strdup(&model->condition, options->condition));
  COMP__TRY(comp__strdup(&model->record, comp_dataset_record(dataset)));
  COMP__TRY(comp__config_write(&model->config, options));
  COMP__TRY(measure_features(model, comp_dataset_x(dataset)));
done:
  return status;
}

static bool wide_layers(const comp_model_options *o) {
  for (size_t l = 0; l < o->n_hidden; l++)
    if (o->hidden[l] < 128) return false;
  return true;
}

/* auto: bf16 pays where the CPU has it and the products are large. */
static bool choose_bf16(comp_context *context, const comp_train_options *o) {
  if (o->precision != COMP_PRECISION_AUTO) return o->precision == COMP_PRECISION_BF16;
  bool bf16 = comp__matmul_has_bf16() && wide_layers(&o->model);
  comp__info(context, "precision %s%s", bf16 ? "bf16" : "f32",
             bf16                      ? " (this CPU multiplies it in hardware)"
             : comp__matmul_has_bf16() ? " (the layers are narrow)"
                                       : " (this CPU does not multiply bf16 in hardware)");
  return bf16;
}

static size_t choose_epochs(const comp_train_options *o, size_t batches) {
  if (o->epochs > 0) return o->epochs;
  size_t epochs = (AIM_STEPS + batches - 1) / batches;
  return epochs < LEAST_EPOCHS ? LEAST_EPOCHS : epochs > MOST_EPOCHS ? MOST_EPOCHS : epochs;
}

/* Decides what the options leave open. */
static void resolve(comp_train_options *o, comp_context *context, size_t batches) {
  o->precision = choose_bf16(context, o) ? COMP_PRECISION_BF16 : COMP_PRECISION_F32;
  o->epochs = choose_epochs(o, batches);
  if (o->kl_target > 0 && o->select == COMP_SELECT_BEST) {
    comp__info(context, "the last weights are kept: losses with different gammas cannot be compared");
    o->select = COMP_SELECT_LAST;
  }
}

static comp_status open_log(comp__run *run) {
  const comp_train_options *o = run->options;
  if (!o->log) return COMP_OK;
  run->log = fopen(o->log, run->now.step > 0 ? "a" : "w");
  return run->log ? COMP_OK : comp__error_errno("cannot write '%s'", o->log);
}

static comp_status new_run(comp__run *run, uint64_t digest) {
  comp_status status;
  size_t params = run->model->network.params.size, buffers = run->model->network.buffers.size, size;
  bool bf16 = run->options->precision == COMP_PRECISION_BF16;
  run->state.params = run->model->params;
  run->state.buffers = run->model->buffers;
  COMP__TRY(comp__calloc(&run->state.grads, params, sizeof(float)));
  if (bf16) COMP__TRY(comp__alloc(&run->state.half, params, sizeof(uint16_t)));
  COMP__TRY(comp__calloc(&run->optimiser.m, params, sizeof(float)));
  COMP__TRY(comp__calloc(&run->optimiser.v, params, sizeof(float)));
  COMP__TRY(comp__calloc(&run->best_params, params, sizeof(float)));
  COMP__TRY(comp__calloc(&run->best_buffers, buffers, sizeof(float)));
  COMP__TRY(comp__work_new(&run->work, &run->model->network, comp__loader_largest_batch(run->loader), bf16, true));
  size = strlen(run->model->config) + 64;
  COMP__TRY(comp__alloc(&run->identity, size, 1));
  snprintf(run->identity, size, "%s %016llx", run->model->config, (unsigned long long)digest);
  run->history = json_array();
  if (!run->history) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  run->epochs = run->options->epochs;
  run->total_steps = (uint64_t)run->epochs * comp__loader_batches(run->loader);
  run->now.gamma = run->options->model.gamma;
  run->now.rate_factor = 1.0;
  run->now.best_loss = INFINITY;
  comp__layout_initialise(&run->model->network.params, run->state.params, run->options->seed);
  comp__layout_initialise(&run->model->network.buffers, run->state.buffers, run->options->seed);
  if (run->options->resume) {
    bool found;
    COMP__TRY(comp__checkpoint_load(&found, run));
    comp__info(run->context, found ? "going on after %llu steps" : "there is no checkpoint yet: starting anew%.0llu",
               (unsigned long long)run->now.step);
  }
  if (bf16) comp__f32_to_bf16(run->state.half, run->state.params, params);
  run->started = run->last_checkpoint = comp__seconds();
  COMP__TRY(open_log(run));
done:
  return status;
}

static void release_run(comp__run *run) {
  comp__free(run->state.grads);
  comp__free(run->state.half);
  comp__free(run->optimiser.m);
  comp__free(run->optimiser.v);
  comp__free(run->best_params);
  comp__free(run->best_buffers);
  comp__work_free(run->work);
  comp__loader_free(run->loader);
  comp__free(run->identity);
  json_decref(run->history);
  if (run->log) fclose(run->log);
}

static comp_status keep_history(comp__run *run) {
  char *text = json_dumps(run->history, JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status = comp__strdup(&run->model->history, text);
  free(text);
  return status;
}

/* Whether a failed run leaves something worth keeping. */
static bool keep_model(const comp__run *run, comp_status status) {
  return status == COMP_OK || (status == COMP_ERR_INTERRUPTED && run->now.step > 0) ||
         (status == COMP_ERR_NUMERIC && run->has_best);
}

static comp_status train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                         const comp_train_options *asked, const comp_groups *groups) {
  comp_matrix *x = comp_dataset_x(dataset);
  comp_train_options resolved = *asked; /* with everything chosen that was left open: what the model remembers */
  const comp_train_options *options = &resolved;
  comp__run run = {.context = context, .options = options};
  comp__loader_options loader = {.x = x,
                                 .codes = groups->codes,
                                 .conditions = groups->n_levels,
                                 .seed = options->seed,
                                 .batch = options->batch,
                                 .validation = options->validation,
                                 .counts = options->model.likelihood == COMP_LIKELIHOOD_NB};
  comp_status status;
  COMP__TRY(comp__model_new(&run.model, &options->model, x->cols, groups->n_levels));
  if (loader.counts) COMP__TRY(median_library(&run.model->library_target, x));
  loader.library_target = run.model->library_target;
  COMP__TRY(comp__loader_new(&run.loader, context, &loader));
  resolve(&resolved, context, comp__loader_batches(run.loader));
  COMP__TRY(describe(run.model, dataset, groups, options));
  COMP__TRY(new_run(&run, digest_data(x, groups)));
  comp__info(context,
             "%s: %zu samples (%zu to train on), %zu features, %zu conditions, %zu parameters, %zu epochs of %zu steps",
             options->model_name, x->rows, comp__loader_training_samples(run.loader), x->cols, groups->n_levels,
             run.model->network.params.size, run.epochs, comp__loader_batches(run.loader));
  status = comp__run_all(&run);
  if (keep_model(&run, status)) {
    char message[1024];
    snprintf(message, sizeof message, "%s", comp_error_message());
    comp_status kept = keep_history(&run);
    if (kept != COMP_OK)
      status = kept;
    else {
      *out = run.model;
      run.model = NULL;
      if (status != COMP_OK) comp__error(status, "%s", message);
    }
  }
done:
  comp_model_free(run.model);
  release_run(&run);
  return status;
}

comp_status comp_train(comp_model **out, comp_context *context, const comp_dataset *dataset,
                       const comp_train_options *options) {
  *out = NULL;
  comp_groups groups = {0};
  comp_status status;
  COMP__TRY(comp_train_options_check(options));
  if (!comp_dataset_x(dataset) || comp_dataset_samples(dataset) < 2 || comp_dataset_features(dataset) < 1)
    COMP__FAIL(COMP_ERR_DATA, "the data has %zu samples and %zu features: nothing to train on",
               comp_dataset_samples(dataset), comp_dataset_features(dataset));
  COMP__TRY(read_condition(&groups, context, dataset, options->condition));
  COMP__TRY(check_values(context, comp_dataset_x(dataset), options->model.likelihood));
  COMP__TRY(train(out, context, dataset, options, &groups));
done:
  comp_groups_release(&groups);
  return status;
}
