/* test_row.c: a new metric is a function and a row. The table is compiled here once more with one row added, which
 * takes the place of the library's own; the metric is then in the options, the scores, the document, the terminal and
 * the page. docs/developer.md ("A metric") says the same in words. */
#include "testing.h"

#include <jansson.h>
#include <unistd.h>

#include "cli/scores.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "metrics/score.h"

/* The mean distance of samples from the origin. */
static comp_status spread(comp__score_cell *out, comp__scoring *s) {
  double sum = 0.0;
  for (size_t i = 0; i < s->all.n; i++) {
    double square = 0.0;
    for (size_t j = 0; j < s->all.dims; j++) {
      double value = (double)s->all.matrix->values[i * s->all.dims + j];
      square += value * value;
    }
    sum += sqrt(square);
  }
  out->value = sum / (double)s->all.n;
  return COMP_OK;
}

#define COMP__ONE_MORE_METRIC                                                                                          \
  {{"spread", "Spread of samples", NULL, "other", "mean distance of samples from the origin",                          \
    "How far samples are from the origin, on average.", LOWER, 0, INFINITY, false},                                    \
   .run = spread},

#include "metrics/table.c"

enum { N = 60, D = 3 };

static comp_dataset *make_data(double *expected) {
  comp_matrix *x, *z;
  comp_dataset *d;
  const char *condition[N];
  *expected = 0.0;
  assert_ok(comp_matrix_new_dense(&x, N, D));
  assert_ok(comp_matrix_new_dense(&z, N, D));
  for (size_t i = 0; i < N; i++) {
    float *row = comp_matrix_values(z) + i * D;
    comp__rng_fill_normal(row, D, comp__rng_at(3, COMP__RNG_TEST, 0, i), 0);
    condition[i] = i % 2 ? "b" : "a";
    *expected += sqrt((double)row[0] * row[0] + (double)row[1] * row[1] + (double)row[2] * row[2]) / N;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "condition", condition));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_comp", z));
  return d;
}

/* What cli_scores_print() writes to stdout. It should be freed via free(). */
static char *printed(const comp_scores *scores, const comp_options *options) {
  char *text = calloc(1, 65536);
  FILE *file = tmpfile();
  fflush(stdout);
  int out = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  cli_scores_print(scores, options, false, true);
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  close(out);
  rewind(file);
  assert_true(fread(text, 1, 65535, file) > 0);
  fclose(file);
  return text;
}

/* What the page holds of the metric; the caller owns it. */
static json_t *on_page(comp_context *context, comp_dataset *d, const char *json) {
  char folder[] = "/tmp/comp-row-XXXXXX", path[64], page[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/scores.json", folder);
  snprintf(page, sizeof page, "%s/page.html", folder);
  FILE *file = fopen(path, "w");
  fputs(json, file);
  fclose(file);
  comp_options *options;
  assert_ok(comp_options_new(&options, "report"));
  assert_ok(comp_options_set(options, "condition", "condition"));
  assert_ok(comp_options_set(options, "scores", path));
  assert_ok(comp_report_write(context, d, NULL, page, options));
  comp_options_free(options);
  size_t size = 0;
  char *text = NULL;
  file = fopen(page, "r");
  assert_true(getdelim(&text, &size, '\0', file) > 0);
  fclose(file);
  unlink(path);
  unlink(page);
  rmdir(folder);
  const char *at = strstr(text, "\"scores\":");
  assert_non_null(at);
  json_t *list = json_loads(at + strlen("\"scores\":"), JSON_DISABLE_EOF_CHECK, NULL), *item, *found = NULL;
  size_t i;
  json_array_foreach(list, i, item) {
    if (strcmp(json_string_value(json_object_get(item, "name")), "spread") == 0) found = json_incref(item);
  }
  json_decref(list);
  free(text);
  return found;
}

static void one_row_is_a_metric(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  double expected;
  comp_dataset *d = make_data(&expected);
  comp_options *options;
  comp_scores *scores;
  assert_ok(comp_options_new(&options, "score"));
  assert_ok(comp_options_set(options, "condition", "condition"));
  assert_ok(comp_options_set(options, "metrics", "spread"));
  assert_ok(comp_scores_run(&scores, context, d, options));

  const comp_score *score = comp_scores_embeddings(scores);
  assert_int_equal(comp_score_metric_count(score), 1);
  assert_string_equal(comp_score_metric_at(score, 0)->title, "Spread of samples");
  assert_near(comp_score_value(score, 0, 0), expected, 1e-6);

  json_t *root = json_loads(comp_scores_json(scores), 0, NULL);
  json_t *info = json_array_get(json_object_get(root, "metrics"), 0);
  assert_string_equal(json_string_value(json_object_get(info, "name")), "spread");
  assert_string_equal(json_string_value(json_object_get(info, "better")), "lower");
  json_decref(root);

  char *text = printed(scores, options);
  assert_non_null(strstr(text, "Other\n  spread "));
  assert_non_null(strstr(text, "\u2193\n    mean distance of samples from the origin\n"));
  free(text);

  json_t *shown = on_page(context, d, comp_scores_json(scores));
  assert_string_equal(json_string_value(json_object_get(shown, "title")), "Spread of samples");
  assert_string_equal(json_string_value(json_object_get(shown, "summary")),
                      "How far samples are from the origin, on average.");
  assert_string_equal(json_string_value(json_object_get(shown, "better")), "lower");
  assert_near(json_number_value(json_object_get(shown, "value")), expected, 1e-6);
  json_decref(shown);
  comp_scores_free(scores);

  assert_ok(comp_options_set(options, "metrics", "spred"));
  assert_error(comp_scores_run(&scores, context, d, options), COMP_ERR_ARGUMENT, "did you mean 'spread'?");
  comp_options_free(options);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void rows_are_complete(void **state) {
  (void)state;
  const comp_score_metric *row;
  for (size_t i = 0; (row = comp_score_known_at(i)); i++) {
    assert_ptr_equal(comp_score_known_find(row->name), row);
    assert_non_null(row->title);
    assert_non_null(row->summary);
    assert_non_null(comp_score_family_title(row->family));
    assert_true(row->better != COMP_BETTER_UNKNOWN && row->min < row->max);
  }
  for (size_t i = 0; (row = comp_counterfactual_measure_at(i)); i++) {
    assert_ptr_equal(comp_score_known_find(row->name), row);
    assert_non_null(row->title);
    assert_non_null(row->help);
  }
  assert_string_equal(comp_score_known_find("m-kBET")->name, "m_kbet");
  assert_null(comp_score_known_find("silhouette"));
  assert_null(comp_score_known_find(""));
  comp_better better;
  for (int b = COMP_BETTER_LOWER; b <= COMP_BETTER_ZERO; b++) {
    assert_ok(comp_better_parse(&better, comp_better_name((comp_better)b)));
    assert_int_equal(better, b);
  }
  assert_error(comp_better_parse(&better, "less"), COMP_ERR_ARGUMENT, "lower, higher, zero");
  for (int p = 0; p < COMP_PREDICTORS; p++) {
    comp_predictor predictor;
    assert_ok(comp_predictor_parse(&predictor, comp_predictor_name((comp_predictor)p)));
    assert_int_equal(predictor, p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_row_is_a_metric), cmocka_unit_test(rows_are_complete)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
