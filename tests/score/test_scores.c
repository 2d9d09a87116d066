/* test_scores.c: all scores as one result: what is measured, the document, what is refused, and the same bytes at any
 * number of threads. The numbers themselves are tested in tests/metrics. */
#include "testing.h"

#include <jansson.h>

#include "core/rng.h"

enum { N = 240, D = 4 };

/* Two conditions and two labels; the label shifts all columns, the condition the first. Layer "moved" holds the data
 * with that shift added: a perfect prediction of "b" from "a". */
static comp_dataset *make_data(void) {
  comp_matrix *x, *z, *moved;
  comp_dataset *d;
  const char *condition[N], *label[N], *sex[N];
  assert_ok(comp_matrix_new_dense(&x, N, D));
  assert_ok(comp_matrix_new_dense(&z, N, 2));
  assert_ok(comp_matrix_new_dense(&moved, N, D));
  for (size_t i = 0; i < N; i++) {
    float *row = comp_matrix_values(x) + i * D;
    comp__rng_fill_normal(row, D, comp__rng_at(7, COMP__RNG_TEST, 0, i), 0);
    condition[i] = i % 2 ? "b" : "a";
    label[i] = i / 2 % 2 ? "p" : "q";
    sex[i] = i / 4 % 2 ? "f" : "m";
    for (size_t j = 0; j < D; j++) row[j] += i / 2 % 2 ? 4.0f : 0.0f;
    row[0] += i % 2 ? 2.0f : 0.0f;
    for (size_t j = 0; j < D; j++) comp_matrix_values(moved)[i * D + j] = row[j] + (j == 0 && i % 2 == 0 ? 2.0f : 0.0f);
    comp_matrix_values(z)[2 * i] = row[1];
    comp_matrix_values(z)[2 * i + 1] = row[2];
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "condition", condition));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "label", label));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "sex", sex));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_comp", z));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "moved", moved));
  return d;
}

/* Options "name=value", up to NULL; lists of several items name the option again. */
static comp_options *options_of(const char *const *settings) {
  comp_options *options;
  assert_ok(comp_options_new(&options, "score"));
  assert_ok(comp_options_set(options, "condition", "condition"));
  assert_ok(comp_options_set_int(options, "k", 20));
  for (; *settings; settings++) {
    char name[64];
    size_t length = strcspn(*settings, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, *settings);
    const comp_option *row = comp_options_find(options, name);
    assert_non_null(row);
    if (comp_option_get_type(row) == COMP_OPTION_TEXTS)
      assert_ok(comp_options_add(options, name, *settings + length + 1));
    else
      assert_ok(comp_options_set(options, name, *settings + length + 1));
  }
  return options;
}
#define OPTIONS(...) options_of((const char *const[]){__VA_ARGS__, NULL})

static const char *const everything[] = {"label=label",
                                         "predict=condition",
                                         "predict=sex",
                                         "fairness=true",
                                         "train-on=a",
                                         "test-on=b",
                                         "counterfactual=moved",
                                         "from=a",
                                         "to=b",
                                         "folds=3",
                                         "classifiers=logistic",
                                         "metrics=paper",
                                         "classifier=logistic",
                                         NULL};

static void everything_in_one_call(void **state) {
  (void)state;
  char *first = NULL;
  comp_dataset *d = make_data();
  const int threads[] = {1, 2, 7};
  for (int t = 0; t < 3; t++) {
    comp_context *context = test_context(threads[t]);
    comp_options *options = options_of(everything);
    comp_scores *scores;
    assert_ok(comp_scores_run(&scores, context, d, options));
    comp_options_free(options); /* the result does not need them */
    const comp_score *score = comp_scores_embeddings(scores);
    assert_int_equal(comp_score_embedding_count(score), 1);
    assert_string_equal(comp_score_embedding_name(score, 0), "X_comp");
    assert_int_equal(comp_score_metric_count(score), 4);
    assert_int_equal(comp_scores_prediction_count(scores), 2);
    const comp_score_prediction *condition = comp_scores_prediction_at(scores, 0),
                                *sex = comp_scores_prediction_at(scores, 1);
    assert_string_equal(condition->column, "condition");
    assert_null(condition->fairness);
    assert_string_equal(sex->column, "sex");
    assert_int_equal(sex->fairness->n_groups, 2);
    assert_null(comp_scores_prediction_at(scores, 2));
    assert_true(comp_scores_transfer(scores, 0)->accuracy > 0.95);
    assert_null(comp_scores_transfer(scores, 1));
    assert_int_equal(comp_scores_change_count(scores), 1);
    const comp_counterfactual_score *change = comp_scores_change_at(scores, 0);
    assert_string_equal(comp_counterfactual_score_from(change), "a");
    assert_string_equal(comp_counterfactual_score_layer(change), "moved");
    assert_int_equal(comp_counterfactual_score_label_count(change), 2);
    if (!first) first = strdup(comp_scores_json(scores));
    assert_string_equal(comp_scores_json(scores), first);
    comp_scores_free(scores);
    comp_context_free(context);
  }
  free(first);
  comp_dataset_free(d);
}

/* Embeddings and classifiers see a sample, the same at any number of threads; changes of condition all of the data. */
static void a_sample_of_the_samples(void **state) {
  (void)state;
  char *first = NULL;
  double all = 0;
  comp_dataset *d = make_data();
  const int threads[] = {1, 2, 7};
  for (int t = -1; t < 3; t++) { /* first without a sample */
    comp_context *context = test_context(t < 0 ? 2 : threads[t]);
    comp_options *options = options_of(everything);
    comp_scores *scores;
    assert_ok(comp_options_set_int(options, "max-samples", t < 0 ? N : N / 2));
    assert_ok(comp_scores_run(&scores, context, d, options));
    const comp_counterfactual_score *change = comp_scores_change_at(scores, 0);
    const comp_counterfactual_label *label = comp_counterfactual_score_label_at(change, 0);
    json_t *root = json_loads(comp_scores_json(scores), 0, NULL);
    if (t < 0) {
      all = (double)label->n_from;
      assert_int_equal(comp_score_sample_count(comp_scores_embeddings(scores)), N);
      assert_null(json_object_get(root, "drawn_from"));
    } else {
      assert_int_equal(comp_score_sample_count(comp_scores_embeddings(scores)), N / 2);
      assert_int_equal(comp_scores_prediction_at(scores, 0)->result->samples, N / 2);
      assert_int_equal(json_integer_value(json_object_get(root, "drawn_from")), N);
      assert_true((double)label->n_from == all);
      if (!first) first = strdup(comp_scores_json(scores));
      assert_string_equal(comp_scores_json(scores), first);
    }
    json_decref(root);
    comp_scores_free(scores);
    comp_options_free(options);
    comp_context_free(context);
  }
  free(first);
  comp_dataset_free(d);
}

/* The document holds what the handle holds. */
static void the_document(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = make_data();
  comp_options *options = options_of(everything);
  comp_scores *scores;
  assert_ok(comp_scores_run(&scores, context, d, options));
  json_t *root = json_loads(comp_scores_json(scores), JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  assert_string_equal(json_string_value(json_object_get(root, "condition")), "condition");
  assert_true(json_is_array(json_object_get(root, "findings")));
  assert_true(json_is_object(json_object_get(root, "design")));
  const comp_score *score = comp_scores_embeddings(scores);
  json_t *values = json_object_get(json_array_get(json_object_get(root, "embeddings"), 0), "scores");
  assert_int_equal(json_object_size(values), comp_score_metric_count(score));
  for (size_t m = 0; m < comp_score_metric_count(score); m++) {
    json_t *one = json_object_get(values, comp_score_metric_at(score, m)->name);
    assert_true(json_number_value(json_object_get(one, "value")) == comp_score_value(score, m, 0));
    assert_int_equal(json_array_size(json_object_get(one, "parts")), comp_score_part_count(score, m, 0));
  }
  json_t *predict = json_array_get(json_object_get(root, "predict"), 1);
  json_t *result = json_array_get(json_object_get(predict, "classifiers"), 0);
  assert_true(json_number_value(json_object_get(result, "accuracy")) ==
              comp_scores_prediction_at(scores, 1)->result->scores[0].accuracy);
  assert_int_equal(json_array_size(json_object_get(root, "fairness")), 1);
  assert_int_equal(json_array_size(json_object_get(root, "transfer")), 1);
  assert_string_equal(json_string_value(json_object_get(json_object_get(root, "counterfactual"), "to")), "b");
  json_decref(root);
  comp_scores_free(scores);
  comp_options_free(options);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Predictions alone: no embedding is scored unless it is asked for. */
static void changes_alone(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data();
  comp_options *options = OPTIONS("counterfactual=moved", "from=a", "to=b");
  comp_scores *scores;
  bool needs_x;
  assert_ok(comp_scores_needs_x(&needs_x, options));
  assert_true(needs_x);
  assert_ok(comp_scores_run(&scores, context, d, options));
  assert_null(comp_scores_embeddings(scores));
  assert_int_equal(comp_scores_prediction_count(scores), 0);
  assert_null(strstr(comp_scores_json(scores), "\"embeddings\""));
  comp_scores_free(scores);
  assert_ok(comp_options_set(options, "use", "X_comp"));
  assert_ok(comp_scores_run(&scores, context, d, options));
  assert_non_null(comp_scores_embeddings(scores));
  comp_scores_free(scores);
  comp_options_free(options);
  options = OPTIONS("use=X_comp");
  assert_ok(comp_scores_needs_x(&needs_x, options));
  assert_false(needs_x);
  comp_options_free(options);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void refuse(comp_context *context, const comp_dataset *d, comp_options *options, comp_status status,
                   const char *message) {
  comp_scores *scores;
  assert_error(comp_scores_run(&scores, context, d, options), status, message);
  assert_null(scores);
  comp_options_free(options);
}

static void what_does_not_fit(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_data();
  const comp_status argument = COMP_ERR_ARGUMENT, data = COMP_ERR_DATA;
  refuse(context, d, OPTIONS("label=condition"), argument, "label: 'condition' is the condition");
  refuse(context, d, OPTIONS("min-label=20"), argument, "min-label: it goes with small-labels shrink");
  refuse(context, d, OPTIONS("train-on=a"), argument, "train-on: it needs test-on");
  refuse(context, d, OPTIONS("test-on=a"), argument, "test-on: it needs train-on");
  refuse(context, d, OPTIONS("train-on=a", "test-on=b"), argument, "train-on: it needs label");
  refuse(context, d, OPTIONS("label=label", "train-on=a", "test-on=a"), argument, "also the condition to train on");
  refuse(context, d, OPTIONS("fairness=true"), argument, "fairness: it goes with predict");
  refuse(context, d, OPTIONS("classifiers=forest"), argument, "classifiers: they go with predict");
  refuse(context, d, OPTIONS("predict=sex", "classifiers=forrest"), argument, "there is no classifier 'forrest'");
  refuse(context, d, OPTIONS("from=a"), argument, "from: it goes with counterfactual");
  refuse(context, d, OPTIONS("counterfactual=moved", "from=a"), argument, "counterfactual: it needs from and to");
  refuse(context, d, OPTIONS("counterfactual=moved", "from=a", "to=a"), argument, "the same condition, 'a'");
  refuse(context, d, OPTIONS("metrics=kbet,"), argument, "metrics: a name is empty");
  refuse(context, d, OPTIONS("use=,X"), argument, "use: a name is empty");
  refuse(context, d, OPTIONS("predict=sx"), data, "did you mean 'sex'?");
  refuse(context, d, OPTIONS("label=label", "train-on=a", "test-on=B"), data, "no sample has 'B'");
  refuse(context, d, OPTIONS("counterfactual=movd", "from=a", "to=b"), data, "did you mean 'moved'?");
  refuse(context, d, OPTIONS("counterfactual=moved", "from=a", "to=c"), data, "has no value 'c'");
  refuse(context, d, OPTIONS("counterfactual=moved", "from=a", "to=b", "pair=who"), data, "pair: there is no column");
  comp_options *other;
  assert_ok(comp_options_new(&other, "classify"));
  refuse(context, d, other, argument, "options of kind 'classify' were given in place of kind 'score'");
  refuse(context, d, NULL, argument, "condition: a column of obs is needed");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_in_one_call), cmocka_unit_test(a_sample_of_the_samples),
      cmocka_unit_test(the_document),           cmocka_unit_test(changes_alone),
      cmocka_unit_test(what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
