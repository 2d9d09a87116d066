/* test_stream.c: data from disk: every row once an epoch, in an order of its own, with the right values; the same model
 * at any number of threads and after a stop. */
#include "testing.h"

#include <unistd.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "io/options.h"
#include "model/trained.h"
#include "train/loader.h"
#include "train/options.h"

enum { ROWS = 1003, COLS = 7 };

static char folder[] = "/tmp/comp-test-stream-XXXXXX";

static int enter(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
  comp_context *context = test_context(1);
  comp_matrix *dense, *csr;
  comp_dataset *d;
  int32_t codes[ROWS];
  static const char *const levels[] = {"a", "b"};
  assert_ok(comp_matrix_new_dense(&dense, ROWS, COLS));
  for (size_t i = 0; i < ROWS; i++) {
    codes[i] = (int32_t)(i % 3 == 0);
    dense->values[i * COLS] = (float)(i + 1); /* tells rows apart */
    for (size_t g = 1; g < COLS; g++) {
      double u = comp__rng_uniform(comp__rng_at(1, COMP__RNG_TEST, 0, i), g);
      dense->values[i * COLS + g] = u > 0.5 ? (float)u : 0.0f;
    }
  }
  assert_ok(comp_matrix_to_csr(&csr, context, dense));
  for (int sparse = 0; sparse < 2; sparse++) {
    comp__write_options write = comp__write_defaults();
    assert_ok(comp_dataset_new(&d, sparse ? csr : dense, NULL, NULL));
    assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, 2));
    assert_ok(comp__dataset_write(context, d, sparse ? "sparse.h5ad" : "dense.h5ad", &write));
    comp_dataset_free(d);
  }
  comp_context_free(context);
  return 0;
}

static int leave(void **state) {
  (void)state;
  const char *names[] = {"sparse.h5ad", "dense.h5ad", "a.comp", "b.comp", "run.checkpoint"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove(names[i]);
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static float first_value(const comp_matrix *x, size_t row) {
  return x->kind == COMP_CSR ? x->values[x->indptr[row]] : x->values[row * x->cols];
}

static void windows_hold_every_row_once(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  for (int sparse = 0; sparse < 2; sparse++) {
    comp__stream *stream;
    assert_ok(comp__stream_open(&stream, context, sparse ? "sparse.h5ad" : "dense.h5ad", &read, 20000, 5));
    assert_true(comp__stream_windows(stream) > 2);
    size_t order[2][ROWS];
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
      char seen[ROWS] = {0};
      size_t at = 0;
      for (size_t w = 0; w < comp__stream_windows(stream); w++) {
        const comp_matrix *x;
        const size_t *ids;
        assert_ok(comp__stream_window(&x, &ids, context, stream, epoch, w));
        assert_true(comp_matrix_rows(x) <= comp__stream_window_rows(stream, w));
        for (size_t i = 0; i < comp_matrix_rows(x); i++) {
          assert_true(first_value(x, i) == (float)(ids[i] + 1));
          assert_int_equal(seen[ids[i]]++, 0);
          order[epoch][at++] = ids[i];
        }
      }
      assert_int_equal(at, ROWS);
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    comp__stream_close(stream);
  }
  comp_context_free(context);
}

static void batches_hold_every_training_row_once(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  comp__stream *stream;
  comp__loader *loader;
  int32_t codes[ROWS];
  for (size_t i = 0; i < ROWS; i++) codes[i] = (int32_t)(i % 3 == 0);
  assert_ok(comp__stream_open(&stream, context, "sparse.h5ad", &read, 20000, 5));
  comp__loader_options options = {
      .stream = stream, .samples = ROWS, .codes = codes, .conditions = 2, .batch = 50, .validation = 0.1};
  assert_ok(comp__loader_new(&loader, context, &options));
  int seen[ROWS] = {0};
  size_t total = 0;
  comp__batch batch;
  for (size_t b = 0; b < comp__loader_batches(loader); b++) {
    assert_ok(comp__loader_batch(&batch, context, loader, b));
    assert_true(batch.rows <= comp__loader_largest_batch(loader));
    for (size_t i = 0; i < batch.rows; i++) {
      assert_true(first_value(batch.x, i) == (float)(batch.ids[i] + 1));
      seen[batch.ids[i]]++;
    }
    total += batch.rows;
  }
  assert_int_equal(total, comp__loader_training_samples(loader));
  for (size_t b = 0; b < comp__loader_validation_batches(loader); b++) {
    assert_ok(comp__loader_validation_batch(&batch, context, loader, b));
    for (size_t i = 0; i < batch.rows; i++) {
      assert_true(first_value(batch.x, i) == (float)(batch.ids[i] + 1));
      seen[batch.ids[i]]++;
    }
  }
  for (size_t i = 0; i < ROWS; i++) assert_int_equal(seen[i], 1);
  comp__loader_free(loader);
  comp__stream_close(stream);
  comp_context_free(context);
}

/* The centres of a model of data that is read as a whole. */
static void centres_in_memory(float *out, const comp__train_options *options) {
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  comp__train_options o = *options;
  comp_dataset *d;
  comp_model *model;
  o.stream = NULL;
  o.memory = 0;
  assert_ok(comp__dataset_read(&d, context, "sparse.h5ad", &read));
  assert_ok(comp__train(&model, context, d, &o));
  memcpy(out, model->buffers + model->network.centre, 2 * COLS * sizeof *out);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void a_model_from_disk(void **state) {
  (void)state;
  comp__read_options read = {0};
  read.skip_x = true;
  comp__train_options o;
  assert_ok(comp__train_options_init(&o, "comp", "default"));
  o.condition = "c";
  o.model.latent = 2;
  o.model.n_hidden = 1;
  o.model.hidden[0] = 8;
  o.epochs = 3;
  o.batch = 64;
  o.rate = 1e-3;
  o.model.centred = true; /* more passes over the file */
  o.stream = "sparse.h5ad";
  o.memory = (size_t)16 << 20;
  float expected[2 * COLS];
  centres_in_memory(expected, &o);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset *d;
    comp_model *model;
    assert_ok(comp__dataset_read(&d, context, "sparse.h5ad", &read));
    assert_null(comp_dataset_x(d));
    assert_ok(comp__train(&model, context, d, &o));
    assert_ok(comp_model_save(model, t == 0 ? "a.comp" : "b.comp"));
    const float *centres = model->buffers + model->network.centre;
    assert_memory_equal(centres, expected, sizeof expected);
    if (t > 0) {
      comp_model *first;
      assert_ok(comp_model_load(&first, "a.comp"));
      assert_memory_equal(first->params, model->params, model->network.params.size * sizeof(float));
      comp_model_free(first);
    }
    comp_model_free(model);
    o.stream = "dense.h5ad"; /* the same numbers in another form, but this data set's file is the one that is read */
    assert_ok(comp__train(&model, context, d, &o));
    comp_model_free(model);
    o.stream = "missing.h5ad";
    assert_int_not_equal(comp__train(&model, context, d, &o), COMP_OK);
    assert_null(model);
    o.stream = "sparse.h5ad";
    comp_dataset_free(d);
    comp_context_free(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_hold_every_row_once),
      cmocka_unit_test(batches_hold_every_training_row_once),
      cmocka_unit_test(a_model_from_disk),
  };
  return cmocka_run_group_tests_name("train/stream", tests, enter, leave);
}
