/*
 * test_task.c: encoder and decoder over blocks against the network itself, data that must be fitted to a model, and
 * model files with every byte of their header changed. (tests/oracle/test_task.py compares with PyTorch.)
 */
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "task/coder.h"
#include "task/options.h"
#include "train/loader.h"
#include "training.h"

static char folder[] = "/tmp/comp-test-task-XXXXXX";

static int enter(void **state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state) {
  (void)state;
  const char *names[] = {"a.comp", "b.comp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove(names[i]);
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static const char *const LEVELS[] = {"a", "b", "c"};

/* n samples of whole numbers, conditions a, b, c in turn. */
static comp_dataset *make_data(comp_context *context, size_t n, size_t features, bool sparse) {
  comp_matrix *x, *csr;
  comp_dataset *d;
  int32_t *codes = malloc(n * sizeof *codes);
  assert_ok(comp_matrix_new_dense(&x, n, features));
  for (size_t i = 0; i < n; i++) {
    codes[i] = (int32_t)(i * 7 % 3);
    for (size_t g = 0; g < features; g++) {
      uint64_t r = comp__rng_below(comp__rng_at(1, COMP__RNG_TEST, 0, i), g, 12);
      x->values[i * features + g] = r > 8 ? (float)(r - 8) + (float)((i + g) % 2) : 0.0f;
    }
  }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, LEVELS, 3));
  free(codes);
  return d;
}

static comp_model *make_model(comp_context *context, const comp_dataset *d, const char *name, bool nb, bool learned) {
  comp__train_options o = test_train_options(name, 11, 7);
  comp_model *model;
  o.model.likelihood = nb ? COMP_LIKELIHOOD_NB : COMP_LIKELIHOOD_GAUSSIAN;
  o.model.learn_scale = learned;
  o.batch = 64;
  o.epochs = 2;
  assert_ok(comp__train(&model, context, d, &o));
  return model;
}

/* One batch of all rows through the network, as training gathers it: no blocks. */
static void encode_at_once(float *mean, float *scale, comp_context *context, const comp_model *m,
                           const comp_dataset *d) {
  size_t n = comp_dataset_sample_count(d), *rows = malloc(n * sizeof *rows), start[4], at = 0, latent = 3;
  for (size_t k = 0; k < 3; k++) {
    start[k] = at;
    for (size_t i = 0; i < n; i++)
      if (i * 7 % 3 == k) rows[at++] = i;
  }
  start[3] = n;
  comp__gather gather = {.counts = m->network.likelihood->counts, .library_target = m->library_target};
  comp__batch batch;
  comp__work *work;
  comp__state state = {.params = m->params, .buffers = m->buffers};
  float *a = malloc(n * latent * sizeof *a), *b = malloc(n * latent * sizeof *b);
  assert_ok(comp__gather_rows(&batch, context, &gather, comp_dataset_x(d), rows, n, start, false));
  assert_ok(comp__work_new(&work, &m->network, n, false, false));
  assert_ok(comp__network_encode(context, &m->network, &state, &batch, work, a, b));
  for (size_t r = 0; r < n; r++) {
    memcpy(mean + rows[r] * latent, a + r * latent, latent * sizeof *a);
    memcpy(scale + rows[r] * latent, b + r * latent, latent * sizeof *b);
  }
  comp__work_free(work);
  comp__gather_release(&gather);
  free(a), free(b), free(rows);
}

static void blocks_give_what_one_batch_gives(void **state) {
  (void)state;
  enum { N = 2 * COMP__BLOCK_ROWS + 77 };
  for (size_t m = 0; m < comp_model_kind_count(); m++)
    for (int kind = 0; kind < 4; kind++) {
      comp_matrix *first = NULL, *first_scale = NULL;
      bool sparse = kind & 1, nb = kind & 2;
      for (int t = 0; t < TEST_THREADS_COUNT; t++) {
        comp_context *context = test_context(TEST_THREADS[t]);
        comp_dataset *d = make_data(context, N, 20, sparse);
        comp_model *model = make_model(context, d, comp_model_kind_name(m), nb, sparse);
        comp__embed_options options = comp__embed_defaults();
        comp_matrix *z, *scale;
        assert_ok(comp__embed(&z, &scale, context, model, d, &options));
        if (t == 0) {
          float *mean = malloc(N * 3 * sizeof *mean), *sd = malloc(N * 3 * sizeof *sd);
          encode_at_once(mean, sd, context, model, d);
          for (size_t i = 0; i < N * 3; i++) {
            assert_near(z->values[i], mean[i], 1e-5);
            assert_near(scale->values[i], sd[i], 1e-5);
          }
          free(mean), free(sd);
          first = z;
          first_scale = scale;
        } else {
          assert_memory_equal(z->values, first->values, N * 3 * sizeof(float));
          assert_memory_equal(scale->values, first_scale->values, N * 3 * sizeof(float));
          comp_matrix_free(z), comp_matrix_free(scale);
        }
        comp_model_free(model);
        comp_dataset_free(d);
        comp_context_free(context);
      }
      comp_matrix_free(first), comp_matrix_free(first_scale);
    }
}

/* comp__decode() row by row equals comp__decode() of all rows, whatever the conditions. */
static void rows_are_decoded_under_their_own_condition(void **state) {
  (void)state;
  enum { N = 300 };
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(context, N, 20, true);
  comp_model *model = make_model(context, d, "comp", false, false);
  comp__coder *coder;
  float z[N * 3], *out = malloc(N * 20 * sizeof *out), one[20];
  int32_t codes[N];
  comp__rng_fill_normal(z, N * 3, comp__rng_at(2, COMP__RNG_TEST, 0, 0), 0);
  for (int i = 0; i < N; i++) codes[i] = i * 5 % 3;
  assert_ok(comp__coder_new(&coder, context, model, COMP_PRECISION_F32));
  assert_ok(comp__decode(context, coder, out, z, codes, 0, NULL, N));
  for (size_t i = 0; i < N; i++) {
    assert_ok(comp__decode(context, coder, one, z + i * 3, NULL, codes[i], NULL, 1));
    for (size_t g = 0; g < 20; g++) assert_near(out[i * 20 + g], one[g], 1e-5);
  }
  codes[7] = 3;
  assert_error(comp__decode(context, coder, out, z, codes, 0, NULL, N), COMP_ERR_ARGUMENT, "does not exist");
  comp__coder_free(coder);
  free(out);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static int compare_floats(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The numbers of draws are small enough to make them again here: mean, spread and quantiles by sorting. */
static void draws_are_summarised(void **state) {
  (void)state;
  enum { N = 40, G = 20 };
  static const size_t numbers[] = {2, 3, 5, 20, 300};
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(context, N, G, true);
  comp_model *model = make_model(context, d, "comp", true, true);
  comp_matrix *mean, *scale;
  comp__embed_options embed = comp__embed_defaults();
  comp__coder *coder;
  assert_ok(comp__embed(&mean, &scale, context, model, d, &embed));
  assert_ok(comp__coder_new(&coder, context, model, COMP_PRECISION_F32));
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    size_t n = numbers[k], sample = 17;
    comp__counterfactual_options o = comp__counterfactual_defaults();
    comp_prediction p;
    o.to = "b";
    o.samples = n;
    o.seed = 9;
    o.interval = 0.7;
    assert_ok(comp__counterfactual(&p, context, model, d, &o));
    assert_int_equal(p.n_predicted, N);
    float *z = malloc(n * 3 * sizeof *z), *out = malloc(n * G * sizeof *out), *library = malloc(n * sizeof *library);
    float *column = malloc(n * sizeof *column), total = 0;
    comp_matrix *dense;
    assert_ok(comp_matrix_to_dense(&dense, context, comp_dataset_x(d)));
    for (size_t g = 0; g < G; g++) total += dense->values[sample * G + g];
    comp_matrix_free(dense);
    for (size_t s = 0; s < n; s++) {
      comp__rng_fill_normal(z + s * 3, 3, comp__rng_at(9, COMP__RNG_POSTERIOR, s, sample), 0);
      for (size_t l = 0; l < 3; l++)
        z[s * 3 + l] = mean->values[sample * 3 + l] + scale->values[sample * 3 + l] * z[s * 3 + l];
      library[s] = total;
    }
    assert_ok(comp__decode(context, coder, out, z, NULL, 1, library, n));
    for (size_t g = 0; g < G; g++) {
      double sum = 0, squares = 0;
      for (size_t s = 0; s < n; s++) sum += column[s] = out[s * G + g];
      for (size_t s = 0; s < n; s++) squares += pow(column[s] - sum / (double)n, 2);
      qsort(column, n, sizeof *column, compare_floats);
      double low = 0.15 * (double)(n - 1), high = 0.85 * (double)(n - 1);
      size_t i = (size_t)low, j = (size_t)high;
      assert_near(p.values->values[sample * G + g], sum / (double)n, 1e-5);
      assert_near(p.sd->values[sample * G + g], sqrt(squares / (double)(n - 1)), 1e-5);
      double next_low = i + 1 < n ? column[i + 1] : column[i], next_high = j + 1 < n ? column[j + 1] : column[j];
      assert_near(p.lower->values[sample * G + g], column[i] + (low - (double)i) * (next_low - column[i]), 1e-5);
      assert_near(p.upper->values[sample * G + g], column[j] + (high - (double)j) * (next_high - column[j]), 1e-5);
    }
    free(z), free(out), free(library), free(column);
    comp_prediction_release(&p);
  }
  comp__coder_free(coder);
  comp_matrix_free(mean), comp_matrix_free(scale);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static char *file_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

/* What a model file gives, if it loads at all: errors, or finite numbers. */
static bool use_model(comp_context *context, const comp_dataset *d, const char *path) {
  comp_model *model;
  comp_prediction p;
  comp_matrix *z;
  comp__embed_options embed = comp__embed_defaults();
  comp__counterfactual_options o = comp__counterfactual_defaults();
  o.to = "b";
  o.samples = 2;
  if (comp_model_load(&model, path) != COMP_OK) {
    assert_string_not_equal(comp_error_message(), "");
    return false;
  }
  if (comp__embed(&z, NULL, context, model, d, &embed) == COMP_OK) {
    for (size_t i = 0; i < comp_matrix_nnz(z); i++) assert_true(isfinite(z->values[i]));
    comp_matrix_free(z);
  } else
    assert_null(z);
  if (comp__counterfactual(&p, context, model, d, &o) == COMP_OK) {
    for (size_t i = 0; i < comp_matrix_nnz(p.upper); i++) assert_true(isfinite(p.upper->values[i]));
    comp_prediction_release(&p);
  } else
    assert_null(p.values);
  comp_model_free(model);
  return true;
}

static void damaged_model_files(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, 12, 4, true);
  comp_model *model = make_model(context, d, "comp", false, true);
  size_t size;
  assert_ok(comp_dataset_set_record(d, "{\"prep\":{\"version\":1,\"steps\":[{\"step\":\"log1p\"}]}}"));
  assert_ok(comp_model_save(model, "a.comp"));
  assert_true(use_model(context, d, "a.comp"));
  char *bytes = file_bytes("a.comp", &size);
  uint64_t header;
  memcpy(&header, bytes, 8);
  for (size_t i = 0; i < size; i += i < 8 + header ? 1 : 5)
    for (int bit = 0; bit < 8; bit += 3) {
      bytes[i] = (char)(bytes[i] ^ (1 << bit));
      write_file("b.comp", bytes, size);
      if (use_model(context, d, "b.comp")) fail_msg("bit %d of byte %zu of %zu does not count", bit, i, size);
      bytes[i] = (char)(bytes[i] ^ (1 << bit));
    }
  for (size_t cut = 0; cut < size; cut += cut < 16 || cut + 16 > size ? 1 : 37) {
    write_file("b.comp", bytes, cut);
    assert_false(use_model(context, d, "b.comp"));
  }
  char *longer = calloc(size + 1, 1);
  memcpy(longer, bytes, size);
  write_file("b.comp", longer, size + 1);
  assert_false(use_model(context, d, "b.comp"));
  free(longer);
  free(bytes);
  /* Weights that are finite, but lead beyond: an error, never NaN. */
  comp__embed_options embed = comp__embed_defaults();
  comp_matrix *z;
  for (size_t i = 0; i < model->network.params.size; i++) model->params[i] = 3e38f;
  assert_ok(comp_model_save(model, "b.comp"));
  comp_model_free(model);
  assert_ok(comp_model_load(&model, "b.comp"));
  assert_error(comp__embed(&z, NULL, context, model, d, &embed), COMP_ERR_NUMERIC, "not finite");
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void bad_requests(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, 30, 6, false), *other;
  comp_model *model = make_model(context, d, "comp", false, false), *vae = make_model(context, d, "vae", false, false);
  comp__counterfactual_options o = comp__counterfactual_defaults();
  comp__embed_options embed = comp__embed_defaults();
  comp_prediction p;
  comp_matrix *x, *z;
  assert_error(comp__counterfactual(&p, context, model, d, &o), COMP_ERR_ARGUMENT, "to:");
  o.to = "B";
  assert_error(comp__counterfactual(&p, context, model, d, &o), COMP_ERR_ARGUMENT, "did you mean 'b'?");
  o.to = "b";
  o.from = "zebra";
  assert_error(comp__counterfactual(&p, context, model, d, &o), COMP_ERR_ARGUMENT, "it knows 'a', 'b', 'c'");
  o.from = NULL;
  o.samples = 1;
  assert_error(comp__counterfactual(&p, context, model, d, &o), COMP_ERR_ARGUMENT, "samples:");
  o.samples = 2;
  o.interval = NAN;
  assert_error(comp__counterfactual(&p, context, model, d, &o), COMP_ERR_ARGUMENT, "interval:");
  embed.precision = (comp_precision)9;
  assert_error(comp__embed(&z, NULL, context, model, d, &embed), COMP_ERR_ARGUMENT, "precision:");
  embed.precision = COMP_PRECISION_F32;
  comp_dataset_x(d)->values[8] = NAN;
  assert_error(comp__embed(&z, NULL, context, model, d, &embed), COMP_ERR_DATA, "sample '1' (row 2), feature '2'");
  comp_dataset_x(d)->values[8] = 0;
  /* Other names; no conditions, which only some models need; samples without a condition. */
  static const char *const names[] = {"0", "q", "r", "s", "t", "u"};
  assert_ok(comp_matrix_new_dense(&x, 5, 6));
  assert_ok(comp_dataset_new(&other, x, NULL, names));
  assert_error(comp__embed(&z, NULL, context, model, other, &embed), COMP_ERR_DATA, "there is no column 'c'");
  assert_error(comp__embed(&z, NULL, context, vae, other, &embed), COMP_ERR_DATA, "only 1 of the model's 6 features");
  comp_dataset_free(other);
  assert_ok(comp_matrix_new_dense(&x, 5, 6));
  assert_ok(comp_dataset_new(&other, x, NULL, NULL));
  assert_ok(comp__embed(&z, NULL, context, vae, other, &embed));
  comp_matrix_free(z);
  assert_ok(comp_table_add_categorical(comp_dataset_obs(other), "c", (int32_t[]){0, 1, -1, 0, 0}, LEVELS, 3));
  assert_error(comp__embed(&z, NULL, context, model, other, &embed), COMP_ERR_DATA, "1 of 5 samples have no value");
  o.interval = 0.9;
  o.from = "a";
  assert_ok(comp__counterfactual(&p, context, model, other, &o));
  assert_int_equal(p.n_predicted, 3);
  assert_int_equal(p.predicted[2], 0);
  comp_prediction_release(&p);
  o.from = "c";
  assert_error(comp__counterfactual(&p, context, model, other, &o), COMP_ERR_DATA, "no sample has the value 'c'");
  comp_dataset_free(other);
  comp_model_free(model), comp_model_free(vae);
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_give_what_one_batch_gives),
      cmocka_unit_test(rows_are_decoded_under_their_own_condition),
      cmocka_unit_test(draws_are_summarised),
      cmocka_unit_test(damaged_model_files),
      cmocka_unit_test(bad_requests),
  };
  return cmocka_run_group_tests_name("task", tests, enter, leave);
}
