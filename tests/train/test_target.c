/*
 * test_target.c: training with a target that z must predict: what it changes, the same bytes at any number of threads
 * and after interruptions, models that come back from their files, and targets that cannot be.
 */
#include "testing.h"

#include <unistd.h>

#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "task/options.h"
#include "train/loader.h"
#include "training.h"

enum { SAMPLES = 240, FEATURES = 12 };

static char folder[] = "/tmp/comp-test-target-XXXXXX";

static int enter(void **state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state) {
  (void)state;
  remove("run.checkpoint");
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

/* Three features vary much, and say nothing of y; the sign of the sum of the last two is y. Every ninth sample has no
 * value of y. */
static comp_dataset *make_data(comp_context *context, bool sparse) {
  static const char *const levels[] = {"a", "b"}, *const classes[] = {"no", "yes"};
  comp_matrix *x, *csr;
  comp_dataset *d;
  int32_t codes[SAMPLES], y[SAMPLES];
  assert_ok(comp_matrix_new_dense(&x, SAMPLES, FEATURES));
  for (size_t i = 0; i < SAMPLES; i++) {
    const comp__rng rng = comp__rng_at(4, COMP__RNG_TEST, 0, i);
    float *row = x->values + i * FEATURES;
    codes[i] = i % 3 == 0;
    for (size_t g = 0; g < FEATURES; g++) row[g] = (float)((g < 3 ? 3.0 : 0.5) * comp__rng_normal(rng, g));
    y[i] = i % 9 == 4 ? -1 : row[FEATURES - 2] + row[FEATURES - 1] > 0.0f;
  }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, 2));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "y", y, classes, 2));
  return d;
}

static comp__train_options options_of(double weight) {
  comp__train_options o = test_train_options("comp", 16, 12);
  o.batch = 48;
  o.epochs = 40;
  o.target = weight > 0 ? "y" : NULL;
  o.model.target_weight = weight;
  return o;
}

static void *model_bytes(size_t *size, comp_context *context, const comp_dataset *d, const comp__train_options *o) {
  comp_model *model;
  void *bytes;
  assert_ok(comp__train(&model, context, d, o));
  assert_ok(comp_model_to_memory(&bytes, size, model));
  comp_model_free(model);
  return bytes;
}

/* How often the sign of the best of the latent dimensions is y. */
static double found_in_z(comp_context *context, const comp_dataset *d, const comp__train_options *o) {
  comp_model *model;
  comp_matrix *z;
  comp_groups y;
  size_t column;
  double best = 0;
  assert_ok(comp__train(&model, context, d, o));
  assert_ok(comp_embed(&z, NULL, context, model, d, NULL));
  assert_ok(comp_table_require(&column, comp_dataset_obs(d), "y"));
  assert_ok(comp_table_groups(&y, comp_dataset_obs(d), column));
  for (size_t k = 0; k < z->cols; k++) {
    double right = 0, known = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
      if (y.codes[i] < 0) continue;
      known++;
      right += (z->values[i * z->cols + k] > 0) == (y.codes[i] == 1);
    }
    best = fmax(best, fmax(right, known - right) / known);
  }
  comp_groups_release(&y);
  comp_matrix_free(z);
  comp_model_free(model);
  return best;
}

/* In two dimensions there is no room for y beside three features that vary more, unless it is asked for. */
static void targets_are_kept(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(context, false);
  comp__train_options without = options_of(0), with = options_of(300);
  without.model.latent = with.model.latent = 2;
  const double before = found_in_z(context, d, &without), after = found_in_z(context, d, &with);
  if (!(before < 0.7 && after > 0.85)) fail_msg("y is found at %.3f without a target, at %.3f with it", before, after);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void same_bytes_at_any_thread_count(void **state) {
  (void)state;
  for (int sparse = 0; sparse < 2; sparse++) {
    void *first = NULL;
    size_t n = 0;
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      comp_dataset *d = make_data(context, sparse);
      comp__train_options o = options_of(20);
      size_t size;
      o.epochs = 5;
      void *bytes = model_bytes(&size, context, d, &o);
      if (t == 0) {
        first = bytes;
        n = size;
      } else {
        assert_int_equal(size, n);
        assert_memory_equal(bytes, first, n);
        comp_free(bytes);
      }
      comp_dataset_free(d);
      comp_context_free(context);
    }
    comp_free(first);
  }
}

typedef struct stopper {
  comp_context *context;
  int left;
} stopper;

static void on_progress(void *user, const comp_progress *progress) {
  stopper *s = user;
  (void)progress;
  if (--s->left == 0) comp_context_interrupt(s->context);
}

/* One sample whose target is another makes it another run. */
static void change_target(comp_dataset *d) {
  static const char *const classes[] = {"no", "yes"};
  comp_groups y;
  size_t column;
  assert_ok(comp_table_require(&column, comp_dataset_obs(d), "y"));
  assert_ok(comp_table_groups(&y, comp_dataset_obs(d), column));
  y.codes[0] = !y.codes[0];
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "y", y.codes, classes, 2));
  comp_groups_release(&y);
}

static void resumed_runs_end_with_the_same_bytes(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, false);
  comp__train_options o = options_of(20);
  size_t n, size;
  void *whole = model_bytes(&n, context, d, &o), *bytes;
  comp_model *model = NULL;
  o.checkpoint = "run.checkpoint";
  o.resume = true;
  for (int at = 2; access("run.checkpoint", F_OK) != 0; at++) { /* before the first step nothing is there to save */
    stopper s = {test_context(2), at};
    comp_context_on_progress(s.context, on_progress, &s);
    assert_int_equal(comp__train(&model, s.context, d, &o), COMP_ERR_INTERRUPTED);
    comp_context_free(s.context);
    comp_model_free(model);
  }
  bytes = model_bytes(&size, context, d, &o);
  assert_int_equal(size, n);
  assert_memory_equal(bytes, whole, n);
  comp_free(bytes);
  assert_ok(comp__train(&model, context, d, &o)); /* finished already */
  comp_model_free(model);
  change_target(d);
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "belongs to a run with other data or options");
  comp_free(whole);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void files_bring_the_target_back(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, false);
  comp__train_options o = options_of(20), other = options_of(0);
  size_t size, again_size;
  void *bytes = model_bytes(&size, context, d, &o), *again;
  comp_model *model;
  comp_matrix *z;
  assert_ok(comp_model_from_memory(&model, bytes, size));
  assert_string_equal(model->target, "y");
  assert_int_equal(model->classes.count, 2);
  assert_string_equal(comp__strings_get(&model->classes, 1), "yes");
  assert_true(comp__model_follows(model, &o));
  assert_false(comp__model_follows(model, &other));
  o.model.target_weight = 21;
  assert_false(comp__model_follows(model, &o));
  assert_ok(comp_model_to_memory(&again, &again_size, model));
  assert_int_equal(size, again_size);
  assert_memory_equal(bytes, again, size);
  /* New data needs no target. */
  size_t column;
  assert_ok(comp_table_require(&column, comp_dataset_obs(d), "y"));
  comp_table_remove(comp_dataset_obs(d), column);
  assert_ok(comp_embed(&z, NULL, context, model, d, NULL));
  comp_matrix_free(z);
  comp_model_free(model);
  /* A list of classes that was cut short. */
  char *at = memmem(bytes, size, "[\\\"no\\\",\\\"yes\\\"]", strlen("[\\\"no\\\",\\\"yes\\\"]"));
  assert_non_null(at);
  memcpy(at, "[\\\"no\\\"]        ", strlen("[\\\"no\\\",\\\"yes\\\"]"));
  assert_true(comp_model_from_memory(&model, bytes, size) == COMP_ERR_FORMAT);
  comp_free(bytes), comp_free(again);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Every batch, those of the samples held out and shards have the classes of their samples. */
static void batches_have_their_classes(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, false);
  int32_t codes[SAMPLES], target[SAMPLES];
  comp__loader *loader;
  comp__batch batch;
  const comp__batch *shards;
  for (size_t i = 0; i < SAMPLES; i++) codes[i] = i % 3 == 0, target[i] = (int32_t)(i * 7 % 5) - 1;
  const comp__loader_options o = {.x = comp_dataset_x(d),
                                  .samples = SAMPLES,
                                  .codes = codes,
                                  .conditions = 2,
                                  .target = target,
                                  .batch = 40,
                                  .validation = 0.2};
  assert_ok(comp__loader_new(&loader, context, &o));
  assert_ok(comp__loader_cut(loader, 4, 2, 2));
  comp__loader_begin_epoch(loader, 3);
  for (size_t b = 0; b < comp__loader_batches(loader); b++) {
    assert_ok(comp__loader_batch(&batch, context, loader, b));
    for (size_t i = 0; i < batch.rows; i++) assert_int_equal(batch.target[i], target[batch.ids[i]]);
    assert_ok(comp__loader_shards(&batch, &shards, context, loader, b));
    for (size_t s = 0; s < 2; s++)
      for (size_t i = 0; i < shards[s].rows; i++) assert_int_equal(shards[s].target[i], target[shards[s].ids[i]]);
  }
  for (size_t b = 0; b < comp__loader_validation_batches(loader); b++) {
    assert_ok(comp__loader_validation_batch(&batch, context, loader, b));
    for (size_t i = 0; i < batch.rows; i++) assert_int_equal(batch.target[i], target[batch.ids[i]]);
  }
  comp__loader_free(loader);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void bad_targets_are_named(void **state) {
  (void)state;
  static const char *const one[] = {"only"}, *const two[] = {"u", "v"};
  comp_context *context = test_context(1);
  comp_dataset *d = make_data(context, false);
  comp_table *obs = comp_dataset_obs(d);
  comp__train_options o = options_of(20);
  comp_model *model = NULL;
  int32_t same[SAMPLES], constant[SAMPLES], none[SAMPLES];
  double numbers[SAMPLES];
  for (size_t i = 0; i < SAMPLES; i++) {
    same[i] = i % 3 != 0;
    constant[i] = i % 2 ? 0 : -1;
    none[i] = -1;
    numbers[i] = i % 4 == 0 ? NAN : (double)(i % 2);
  }
  assert_ok(comp_table_add_categorical(obs, "same", same, two, 2));
  assert_ok(comp_table_add_categorical(obs, "constant", constant, one, 1));
  assert_ok(comp_table_add_categorical(obs, "none", none, one, 1));
  assert_ok(comp_table_add_numbers(obs, "numbers", numbers, false));
  o.target = "yy";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "target: ");
  o.target = "c";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_ARGUMENT, "target: 'c' is the condition");
  o.target = "same";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "says of each sample what the condition 'c' says");
  o.target = "constant";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "has one value only");
  o.target = "none";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "has no value");
  assert_null(model);
  o.target = "numbers"; /* those that are missing are left out */
  o.epochs = 1;
  assert_ok(comp__train(&model, context, d, &o));
  assert_int_equal(model->classes.count, 2);
  comp_model_free(model);
  comp_dataset_free(d);
  /* More values than any target has. */
  comp_matrix *x;
  double values[600];
  assert_ok(comp_matrix_new_dense(&x, 600, 3));
  for (size_t i = 0; i < 600; i++) {
    values[i] = (double)(i / 2);
    for (size_t g = 0; g < 3; g++) x->values[i * 3 + g] = (float)((i + g) % 7);
  }
  int32_t codes[600];
  for (size_t i = 0; i < 600; i++) codes[i] = i % 2;
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, two, 2));
  assert_ok(comp_table_add_numbers(comp_dataset_obs(d), "y", values, false));
  o.target = "y";
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "has 300 different values");
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Of a target that is pure chance, the model learns what it is shown by heart, and nothing of what is held. */
static void held_targets_are_not_seen(void **state) {
  (void)state;
  static const char *const classes[] = {"no", "yes"};
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(context, false);
  int32_t luck[SAMPLES];
  comp__train_options o = options_of(300);
  comp_model *model;
  comp_matrix *z;
  double right[2] = {0}, n[2] = {0};
  for (size_t i = 0; i < SAMPLES; i++) luck[i] = comp__rng_uniform(comp__rng_at(8, COMP__RNG_TEST, 0, i), 0) < 0.5;
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "y", luck, classes, 2));
  o.target_hold = 0.4;
  o.epochs = 150;
  o.model.hidden[0] = o.model.hidden[1] = 64;
  assert_ok(comp__train(&model, context, d, &o));
  assert_ok(comp_embed(&z, NULL, context, model, d, NULL));
  const float *weight = model->params + model->network.target.weight,
              *bias = model->params + model->network.target.bias;
  for (size_t i = 0; i < SAMPLES; i++) {
    double logits[2] = {(double)bias[0], (double)bias[1]};
    for (size_t k = 0; k < z->cols; k++)
      for (int c = 0; c < 2; c++) logits[c] += (double)z->values[i * z->cols + k] * (double)weight[k * 2 + (size_t)c];
    const bool held = comp__target_is_held(o.seed, o.target_hold, i);
    n[held]++;
    right[held] += (logits[1] > logits[0]) == (luck[i] == 1);
  }
  assert_true(n[1] > 0.3 * SAMPLES && n[1] < 0.5 * SAMPLES);
  if (!(right[0] / n[0] > 0.85 && right[1] / n[1] < 0.65))
    fail_msg("right in %.3f of the targets that were seen, %.3f of the others", right[0] / n[0], right[1] / n[1]);
  comp_matrix_free(z);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Samples that are marked train nothing: the weights are those of data where they have no condition. */
static void unseen_samples_are_left_out(void **state) {
  (void)state;
  comp_context *context;
  comp_model *marked, *without;
  int8_t marks[SAMPLES], all[SAMPLES];
  int32_t codes[SAMPLES];
  static const char *const levels[] = {"a", "b"};
  assert_ok(comp_context_new(&context, NULL));
  comp_dataset *d = make_data(context, false);
  for (size_t i = 0; i < SAMPLES; i++) {
    marks[i] = i % 4 == 1;
    all[i] = i % 3 == 0; /* one condition */
    codes[i] = marks[i] ? -1 : i % 3 == 0;
  }
  assert_ok(comp_table_add_bools(comp_dataset_obs(d), "held", marks));
  assert_ok(comp_table_add_bools(comp_dataset_obs(d), "all", all));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c2", codes, levels, 2));
  comp__train_options o = options_of(10.0);
  o.epochs = 4;
  o.condition = "c2";
  assert_ok(comp__train(&without, context, d, &o));
  o.condition = "c";
  o.unseen = "held";
  assert_ok(comp__train(&marked, context, d, &o));
  assert_int_equal(marked->network.params.size, without->network.params.size);
  assert_memory_equal(marked->params, without->params, marked->network.params.size * sizeof(float));
  assert_non_null(strstr(comp_model_config(marked), "\"unseen\":\"held\""));
  assert_null(strstr(comp_model_config(without), "unseen"));
  comp_model_free(marked);
  comp_model_free(without);
  o.unseen = "nowhere";
  assert_error(comp__train(&marked, context, d, &o), COMP_ERR_DATA, "unseen: there is no column 'nowhere'");
  o.unseen = "all";
  assert_error(comp__train(&marked, context, d, &o), COMP_ERR_DATA, "marks all samples of condition 'b'");
  comp_dataset_free(d);
  comp_context_free(context);
}

/* The penalty of few samples would have no lower bound without a row's own posterior in its mixture. */
static void few_samples_keep_self(void **state) {
  (void)state;
  comp_context *context;
  comp_options *t;
  assert_ok(comp_context_new(&context, NULL));
  comp_dataset *d = make_data(context, false);
  const struct {
    const char *option, *value;
    bool self;
  } cases[] = {{"seed", "1", true}, {"leave-self-out", "true", false}, {"target", "y", true}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    comp_model *model;
    assert_ok(comp_options_new(&t, "train"));
    assert_ok(comp_options_set(t, "condition", "c"));
    assert_ok(comp_options_set(t, "preset", "protect"));
    assert_ok(comp_options_set(t, "hidden", "8"));
    assert_ok(comp_options_set(t, "epochs", "2"));
    assert_ok(comp_options_set(t, cases[k].option, cases[k].value));
    assert_ok(comp_train(&model, context, d, t));
    const char *found = strstr(comp_model_config(model), "\"include_self\":");
    assert_non_null(found);
    assert_true((strncmp(found, "\"include_self\":true", 19) == 0) == cases[k].self);
    assert_true(comp_model_trained_with(model, t));
    comp_model_free(model);
    comp_options_free(t);
  }
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Weights without a target would have no effect; with one, the preset protect is another. */
static void options_go_together(void **state) {
  (void)state;
  comp_options *t;
  double weight, plain;
  assert_ok(comp_options_new(&t, "train"));
  assert_ok(comp_options_set(t, "condition", "c"));
  assert_ok(comp_options_set(t, "preset", "protect"));
  assert_ok(comp_options_get_real(&plain, t, "scale"));
  assert_ok(comp_options_set(t, "target-weight", "3"));
  assert_error(comp_options_check(t), COMP_ERR_ARGUMENT, "target-weight: no target is given");
  assert_ok(comp_options_set(t, "target", "c"));
  assert_error(comp_options_check(t), COMP_ERR_ARGUMENT, "is the condition");
  assert_ok(comp_options_set(t, "target", "y"));
  assert_ok(comp_options_check(t));
  assert_ok(comp_options_get_real(&weight, t, "scale"));
  assert_true(weight < plain);
  assert_ok(comp_options_set(t, "target-weight", "0")); /* nothing is asked of z */
  assert_ok(comp_options_get_real(&weight, t, "scale"));
  assert_true(weight == plain);
  comp_options_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets_are_kept),
      cmocka_unit_test(same_bytes_at_any_thread_count),
      cmocka_unit_test(resumed_runs_end_with_the_same_bytes),
      cmocka_unit_test(files_bring_the_target_back),
      cmocka_unit_test(batches_have_their_classes),
      cmocka_unit_test(bad_targets_are_named),
      cmocka_unit_test(held_targets_are_not_seen),
      cmocka_unit_test(unseen_samples_are_left_out),
      cmocka_unit_test(few_samples_keep_self),
      cmocka_unit_test(options_go_together),
  };
  return cmocka_run_group_tests_name("train/target", tests, enter, leave);
}
