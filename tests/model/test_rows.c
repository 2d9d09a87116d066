/*
 * test_rows.c: a new penalty and a new likelihood are one file and one row each. tests/model/rows has two such files,
 * and tables with a row more than the library's; src/model/penalty.c and likelihood.c are compiled a second time with
 * them. Everything else is the library as it is: it must list, check, differentiate, train, save, load and use them.
 */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"
#include "gradients.h"
#include "model/likelihood.h"
#include "model/penalty.h"
#include "training.h"

enum { FEATURES = 8, CONDITIONS = 3 };

static void make_counts(float *values, size_t rows) {
  for (size_t i = 0; i < rows; i++)
    for (size_t g = 0; g < FEATURES; g++) {
      const uint64_t u = comp__rng_below(comp__rng_at(1, COMP__RNG_TEST, 0, i), g, 9);
      values[i * FEATURES + g] = (float)u + (float)(4 * (i % CONDITIONS)) * (float)(g % 2);
    }
}

static comp_dataset *make_data(size_t rows) {
  static const char *const levels[CONDITIONS] = {"a", "b", "d"};
  comp_matrix *x;
  comp_dataset *d;
  int32_t *codes = malloc(rows * sizeof *codes);
  assert_ok(comp_matrix_new_dense(&x, rows, FEATURES));
  make_counts(x->values, rows);
  for (size_t i = 0; i < rows; i++) codes[i] = (int32_t)(i % CONDITIONS);
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, CONDITIONS));
  free(codes);
  return d;
}

static comp__train_options more_options(void) {
  comp__train_options o = test_train_options("comp", 12, 8);
  o.model.penalty = COMP_PENALTY_MEANS;
  o.model.likelihood = COMP_LIKELIHOOD_POISSON;
  o.batch = 30;
  o.epochs = 6;
  return o;
}

/* ---- options ---- */

/* The index of a choice of the option; fails when it is not there. */
static size_t index_of(const comp_option *option, const char *choice) {
  const char *name;
  for (size_t i = 0; (name = comp_option_choice(option, i)); i++)
    if (strcmp(name, choice) == 0) return i;
  fail_msg("'%s' is no choice of %s", choice, comp_option_name(option));
  return 0;
}

static void options_list_them(void **state) {
  (void)state;
  comp_options *o;
  assert_ok(comp_options_new(&o, "train"));
  const comp_option *penalty = comp_options_find(o, "penalty"), *likelihood = comp_options_find(o, "likelihood");
  assert_string_equal(comp_option_choice_help(penalty, index_of(penalty, "means")), comp__penalty_means.help);
  assert_string_equal(comp_option_choice_help(likelihood, index_of(likelihood, "poisson")),
                      comp__likelihood_poisson.help);
  char *text;
  assert_ok(comp_options_describe(&text));
  assert_non_null(strstr(text, comp__penalty_means.help));
  assert_non_null(strstr(text, comp__likelihood_poisson.help));
  free(text);

  assert_ok(comp_options_set(o, "condition", "c"));
  assert_ok(comp_options_set(o, "penalty", "means"));
  assert_ok(comp_options_set(o, "likelihood", "poisson"));
  assert_ok(comp_options_check(o));
  assert_error(comp_options_set(o, "likelihood", "poison"), COMP_ERR_ARGUMENT, "did you mean 'poisson'?");
  assert_ok(comp_options_set(o, "blur", "1"));
  assert_error(comp_options_check(o), COMP_ERR_ARGUMENT, "blur: this model's penalty is not comp or comp-p0");
  comp_options_free(o);
}

/* ---- gradients ---- */

static void gradients_are_right(void **state) {
  (void)state;
  for (int variant = 0; variant < 8; variant++) {
    comp__model_options o = gradient_options();
    if (variant & 1) o.likelihood = COMP_LIKELIHOOD_POISSON;
    o.penalty = COMP_PENALTY_MEANS;
    o.place = variant & 2 ? COMP_PLACE_HIDDEN : COMP_PLACE_Z;
    o.learn_scale = variant & 4;
    check_gradients(&o, 3, 0, variant & 1 ? "poisson, means" : "gaussian, means");
  }
}

/* ---- from data to a model in use ---- */

/* Keeps the losses of the first and of the last epoch. */
typedef struct course {
  double first, last;
} course;

static bool follow(void *user, const comp_epoch *epoch) {
  course *c = user;
  if (epoch->epoch == 1) c->first = epoch->train.total;
  c->last = epoch->train.total;
  return true;
}

static void assert_same_matrix(const comp_matrix *a, const comp_matrix *b) {
  assert_int_equal(a->rows * a->cols, b->rows * b->cols);
  assert_memory_equal(a->values, b->values, a->rows * a->cols * sizeof(float));
}

static void models_are_trained_and_kept(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  course c = {0};
  comp_context_on_epoch(context, follow, &c);
  comp_dataset *d = make_data(120);
  const comp__train_options o = more_options();
  comp_model *model, *again;
  assert_ok(comp__train(&model, context, d, &o));
  assert_true(c.last < c.first);
  assert_non_null(strstr(comp_model_config(model), "\"penalty\":\"means\""));
  assert_non_null(strstr(comp_model_config(model), "\"likelihood\":\"poisson\""));
  void *bytes;
  size_t size;
  assert_ok(comp_model_to_memory(&bytes, &size, model));
  assert_ok(comp_model_from_memory(&again, bytes, size));
  assert_int_equal(comp__model_get_options(again)->likelihood, COMP_LIKELIHOOD_POISSON);
  assert_true(comp__model_follows(again, &o));
  comp_matrix *a, *b;
  assert_ok(comp_embed(&a, NULL, context, model, d, NULL));
  assert_ok(comp_embed(&b, NULL, context, again, d, NULL));
  assert_same_matrix(a, b);
  comp_matrix_free(a), comp_matrix_free(b);
  comp_free(bytes);
  comp_model_free(model), comp_model_free(again);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* What is no count is refused, in the words of the row. */
static void data_are_counts(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_data(60);
  comp_matrix *x = comp_dataset_x(d);
  const comp__train_options o = more_options();
  comp_model *model;
  x->values[7] = 0.5f;
  assert_error(comp__train(&model, context, d, &o), COMP_ERR_DATA, "the Poisson distribution needs counts");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(options_list_them),
      cmocka_unit_test(gradients_are_right),
      cmocka_unit_test(models_are_trained_and_kept),
      cmocka_unit_test(data_are_counts),
  };
  return cmocka_run_group_tests_name("model/rows", tests, NULL, NULL);
}
