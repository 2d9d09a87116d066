/*
 * test_memory.c: everything that a binding to another language does, on the caller's own arrays and without any file:
 * train with a function that hears of each epoch, embed, predict, score, lay out, correct with another method, and keep
 * the model as bytes.
 */
#include "testing.h"

#include <unistd.h>

#include "core/rng.h"

enum { SAMPLES = 240, FEATURES = 12 };

/* The caller's memory. It starts in the middle of a vector, as slices of arrays do. */
static float room[SAMPLES * FEATURES + 1], before[SAMPLES * FEATURES];
static float *const values = room + 1;
static int32_t conditions[SAMPLES], labels[SAMPLES];

static int fill(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++) {
    comp__rng rng = comp__rng_at(1, COMP__RNG_TEST, 0, i);
    conditions[i] = (int32_t)(i % 2);
    labels[i] = (int32_t)(i / 2 % 3);
    for (size_t g = 0; g < FEATURES; g++) {
      double v = (double)((size_t)labels[i] == g % 3) * 2.0 + 0.5 * conditions[i] + 0.3 * comp__rng_normal(rng, g);
      values[i * FEATURES + g] = v > 0.4 ? (float)v : 0.0f;
    }
  }
  memcpy(before, values, sizeof before);
  return 0;
}

static int released;

static void count_release(void *user) {
  (void)user;
  released++;
}

static void add_columns(comp_dataset *d) {
  assert_ok(
      comp_table_add_categorical(comp_dataset_obs(d), "condition", conditions, (const char *[]){"ctrl", "stim"}, 2));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "label", labels, (const char *[]){"B", "NK", "T"}, 3));
}

static comp_dataset *wrapped(comp_context *context) {
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(
      comp_matrix_wrap_dense(&x, context, values, COMP_FLOAT32, SAMPLES, FEATURES, FEATURES, count_release, NULL));
  assert_true(comp_matrix_is_borrowed(x));
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  add_columns(d);
  return d;
}

static comp_options *options_of(const char *kind, const char *name, const char *value) {
  comp_options *options;
  assert_ok(comp_options_new(&options, kind));
  assert_ok(comp_options_set(options, name, value));
  return options;
}

static comp_options *small_options(void) {
  static const char small[] =
      "{\"hidden\": [16, 12], \"latent\": 3, \"batch\": 32, \"epochs\": 4, \"precision\": \"f32\"}";
  comp_options *options = options_of("train", "condition", "condition");
  assert_ok(comp_options_from_json(options, small));
  return options;
}

static comp_model *trained(comp_context *context, const comp_dataset *d) {
  comp_options *options = small_options();
  comp_model *model;
  assert_ok(comp_train(&model, context, d, options));
  comp_options_free(options);
  return model;
}

static void assert_same_model(const comp_model *a, const comp_model *b) {
  void *x, *y;
  size_t n, m;
  assert_ok(comp_model_to_memory(&x, &n, a));
  assert_ok(comp_model_to_memory(&y, &m, b));
  assert_int_equal(n, m);
  assert_memory_equal(x, y, n);
  comp_free(x), comp_free(y);
}

/* Borrowed or owned, dense or sparse, at any number of threads: what is computed is the same. */
static void borrowed_data_trains_as_owned_data(void **state) {
  (void)state;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset *d = wrapped(context), *own, *sparse, *sparse_own;
    comp_matrix *csr, *view;
    assert_ok(comp_dataset_select(&own, context, d, NULL, 0, NULL, 0));
    assert_false(comp_matrix_is_borrowed(comp_dataset_x(own)));
    assert_ok(comp_matrix_to_csr(&csr, context, comp_dataset_x(d)));
    assert_ok(comp_matrix_wrap_csr(&view, context, comp_matrix_const_values(csr), COMP_FLOAT32,
                                   comp_matrix_const_indices(csr), COMP_INT32, comp_matrix_const_indptr(csr),
                                   COMP_INT64, SAMPLES, FEATURES, comp_matrix_nnz(csr), count_release, NULL));
    assert_ok(comp_dataset_new(&sparse, view, NULL, NULL));
    add_columns(sparse);
    assert_ok(comp_dataset_select(&sparse_own, context, sparse, NULL, 0, NULL, 0));
    released = 0;
    comp_model *a = trained(context, d), *b = trained(context, own);
    comp_model *c = trained(context, sparse), *e = trained(context, sparse_own);
    assert_same_model(a, b);
    assert_same_model(c, e);
    comp_model_free(a), comp_model_free(b), comp_model_free(c), comp_model_free(e);
    assert_int_equal(released, 0);
    comp_dataset_free(d), comp_dataset_free(sparse);
    assert_int_equal(released, 2);
    comp_dataset_free(own), comp_dataset_free(sparse_own);
    comp_matrix_free(csr);
    comp_context_free(context);
  }
  assert_memory_equal(values, before, sizeof before);
}

static void assert_finite(const comp_matrix *m, size_t rows, size_t cols) {
  assert_int_equal(comp_matrix_rows(m), rows);
  assert_int_equal(comp_matrix_cols(m), cols);
  for (size_t i = 0; i < rows * cols; i++) assert_true(isfinite(comp_matrix_const_values(m)[i]));
}

static void score_embedding(comp_context *context, const comp_dataset *d) {
  comp_options *options;
  comp_scores *scores;
  assert_ok(comp_options_new(&options, "score"));
  assert_ok(comp_options_set(options, "condition", "condition"));
  assert_ok(comp_options_set(options, "label", "label"));
  assert_ok(comp_options_set(options, "use", "X_comp"));
  assert_ok(comp_options_set_int(options, "k", 10));
  assert_ok(comp_scores_run(&scores, context, d, options));
  comp_options_free(options);
  assert_true(comp_score_metric_count(comp_scores_embeddings(scores)) > 0);
  assert_true(isfinite(comp_score_value(comp_scores_embeddings(scores), 0, 0)));
  comp_scores_free(scores);
}

static void every_task_runs_without_files(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = wrapped(context), *results, *embedded, *aligned;
  comp_model *model = trained(context, d);
  comp_matrix *z, *scales, *layout, *decoded;
  assert_ok(comp_embed(&z, &scales, context, model, d, NULL));
  assert_finite(z, SAMPLES, 3);
  assert_finite(scales, SAMPLES, 3);
  assert_ok(comp_decode(&decoded, context, model, z, "ctrl"));
  assert_finite(decoded, SAMPLES, FEATURES);

  comp_options *predict = options_of("counterfactual", "to", "stim");
  comp_prediction prediction;
  assert_ok(comp_options_set(predict, "from", "ctrl"));
  assert_ok(comp_counterfactual(&prediction, context, model, d, predict));
  assert_finite(prediction.values, SAMPLES, FEATURES);
  assert_int_equal(prediction.n_predicted, SAMPLES / 2);
  comp_prediction_release(&prediction);
  assert_ok(comp_options_set(predict, "from", NULL)); /* correction: all samples as if they were of one condition */
  assert_ok(comp_counterfactual(&prediction, context, model, d, predict));
  assert_int_equal(prediction.n_predicted, SAMPLES);
  comp_prediction_release(&prediction);
  comp_options_free(predict);

  comp_options *umap = options_of("umap", "epochs", "20"), *baseline = options_of("baseline", "condition", "condition");
  assert_ok(comp_umap_run(&layout, NULL, context, z, umap));
  assert_finite(layout, SAMPLES, 2);
  assert_ok(comp_options_set_int(baseline, "components", 5));
  assert_ok(comp_baseline_run(&results, context, d, "harmony", NULL, baseline));
  comp_options_free(umap), comp_options_free(baseline);
  assert_finite(comp_dataset_matrix(results, COMP_SLOT_OBSM, "X_harmony"), SAMPLES, 5);
  assert_ok(comp_model_align(&aligned, context, model, d));
  assert_finite(comp_dataset_x(aligned), SAMPLES, FEATURES);

  assert_ok(comp_dataset_new_without_x(&embedded, SAMPLES, 0, NULL, NULL)); /* an embedding alone can be scored */
  add_columns(embedded);
  assert_ok(comp_dataset_set_matrix(embedded, COMP_SLOT_OBSM, "X_comp", z));
  score_embedding(context, embedded);
  comp_dataset_free(embedded), comp_dataset_free(results), comp_dataset_free(aligned);
  comp_matrix_free(scales), comp_matrix_free(decoded), comp_matrix_free(layout);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
  assert_memory_equal(values, before, sizeof before);
}

static void models_are_kept_in_memory(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = wrapped(context);
  comp_model *model = trained(context, d), *again;
  char path[] = "/tmp/comp-test-memory-XXXXXX", *bytes;
  void *memory;
  size_t size;
  assert_ok(comp_model_to_memory(&memory, &size, model));
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_ok(comp_model_save(model, path));
  close(fd);
  FILE *file = fopen(path, "rb"); /* it was replaced when the model was saved */
  bytes = malloc(size + 1);
  assert_int_equal(fread(bytes, 1, size + 1, file), size);
  fclose(file), remove(path);
  assert_memory_equal(bytes, memory, size);
  assert_ok(comp_model_from_memory(&again, memory, size));
  assert_same_model(model, again);
  assert_non_null(comp_model_digest(again));
  comp_model_free(again);

  for (size_t cut = 0; cut < size; cut += size / 7 + 1) {
    assert_int_equal(comp_model_from_memory(&again, memory, cut), COMP_ERR_FORMAT);
    assert_null(again);
  }
  assert_error(comp_model_from_memory(&again, memory, 3), COMP_ERR_FORMAT, "too short");
  bytes[size - 1] ^= 1;
  assert_error(comp_model_from_memory(&again, bytes, size), COMP_ERR_FORMAT, "model in memory");
  free(bytes);
  comp_free(memory);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void tensors_can_be_read(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = wrapped(context);
  comp_model *model = trained(context, d);
  const size_t n = comp_model_tensor_count(model);
  const float *tensor;
  size_t rows, cols;
  bool input = false;
  for (size_t i = 0; i < n; i++) {
    assert_ok(comp_model_tensor(&tensor, &rows, &cols, model, i));
    assert_non_null(comp_model_tensor_name(model, i));
    for (size_t k = 0; k < rows * cols; k++) assert_true(isfinite(tensor[k]));
    input = input || (rows * cols >= FEATURES * 16 && strstr(comp_model_tensor_name(model, i), "encoder"));
    for (size_t j = 0; j < i; j++)
      assert_string_not_equal(comp_model_tensor_name(model, i), comp_model_tensor_name(model, j));
  }
  assert_true(input);
  assert_string_equal(comp_model_tensor_name(model, n - 1), "feature_means");
  assert_int_equal(cols, FEATURES); /* the means are those of the data: an independent sum */
  for (size_t g = 0; g < FEATURES; g++) {
    double sum = 0;
    for (size_t i = 0; i < SAMPLES; i++) sum += values[i * FEATURES + g];
    assert_near(tensor[g], sum / SAMPLES, 1e-5);
  }
  assert_error(comp_model_tensor(&tensor, &rows, &cols, model, n), COMP_ERR_ARGUMENT, "there is no tensor");
  assert_null(tensor);
  assert_null(comp_model_tensor_name(model, n));
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

typedef struct listener {
  comp_context *context;
  comp_epoch epochs[8];
  size_t count, stop_after, interrupt_after;
} listener;

static bool hear(void *user, const comp_epoch *epoch) {
  listener *l = user;
  l->epochs[l->count++] = *epoch;
  if (l->count == l->interrupt_after) comp_context_interrupt(l->context);
  return l->count != l->stop_after;
}

static void epochs_come_with_numbers(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = wrapped(context);
  listener l = {.context = context};
  comp_context_on_epoch(context, hear, &l);
  comp_model *model = trained(context, d);
  assert_int_equal(l.count, 4);
  comp_options *o = small_options();
  double beta;
  assert_ok(comp_options_get_real(&beta, o, "beta"));
  double best = INFINITY;
  for (size_t e = 0; e < 4; e++) {
    const comp_epoch *epoch = &l.epochs[e];
    assert_int_equal(epoch->epoch, e + 1);
    assert_int_equal(epoch->epochs, 4);
    assert_int_equal(epoch->steps * 4, epoch->total_steps * (e + 1));
    assert_near(epoch->train.total,
                epoch->train.likelihood + beta * epoch->train.kl + epoch->gamma * epoch->train.penalty, 1e-4);
    assert_true(isfinite(epoch->validation.total));
    assert_true(epoch->best == (epoch->validation.total < best));
    best = fmin(best, epoch->validation.total);
    assert_true(epoch->rate >= 0 && epoch->blur > 0.24 && epoch->blur <= 2 && epoch->seconds >= (e ? l.epochs[e - 1].seconds : 0));
    char number[64]; /* the history holds the same loss */
    snprintf(number, sizeof number, "\"total\":%.9g", epoch->validation.total);
    assert_non_null(strstr(comp_model_history(model), number));
  }
  comp_model_free(model);

  assert_ok(comp_options_set_real(o, "validation", 0));
  l.count = 0;
  assert_ok(comp_train(&model, context, d, o));
  comp_options_free(o);
  assert_true(isnan(l.epochs[0].validation.total) && isfinite(l.epochs[0].train.total));
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void epochs_can_end_a_run(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = wrapped(context);
  comp_options *o = small_options();
  listener l = {.context = context, .stop_after = 2};
  comp_model *model, *whole = trained(context, d), *again;
  comp_context_on_epoch(context, hear, &l);
  assert_ok(comp_train(&model, context, d, o));
  assert_int_equal(l.count, 2);
  assert_false(comp_model_finished(model));
  comp_model_free(model);

  l = (listener){.context = context, .interrupt_after = 1};
  assert_error(comp_train(&model, context, d, o), COMP_ERR_INTERRUPTED, "interrupted");
  assert_non_null(model); /* what was reached so far */
  comp_model_free(model);
  assert_int_equal(comp_train(&model, context, d, o), COMP_ERR_INTERRUPTED); /* and so it stays, until it is reset */
  comp_model_free(model);
  comp_context_reset(context);
  l = (listener){.context = context};
  assert_ok(comp_train(&again, context, d, o));
  assert_int_equal(l.count, 4);
  assert_same_model(whole, again);
  comp_model_free(whole), comp_model_free(again);
  comp_options_free(o);
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(borrowed_data_trains_as_owned_data), cmocka_unit_test(every_task_runs_without_files),
      cmocka_unit_test(models_are_kept_in_memory),          cmocka_unit_test(tensors_can_be_read),
      cmocka_unit_test(epochs_come_with_numbers),           cmocka_unit_test(epochs_can_end_a_run),
  };
  return cmocka_run_group_tests_name("task/memory", tests, fill, NULL);
}
