/*
 * test_pipeline.c: a whole run through the library: on data in memory and on the same data in a file; what is repeated
 * and what is not; that a run that fails leaves the folder as it was; and that all tell the same findings.
 */
#include "testing.h"

#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/job.h"

static char folder[64];
static comp_context *context;
static comp_dataset *cells;
static char messages[1 << 16];

static void keep_message(void *user, comp_log_level level, const char *message) {
  (void)user, (void)level;
  size_t used = strlen(messages);
  snprintf(messages + used, sizeof messages - used, "%s\n", message);
}

static char *path_of(char *buffer, size_t size, const char *name) {
  snprintf(buffer, size, "%s/%s", folder, name);
  return buffer;
}

static int start(void **state) {
  (void)state;
  comp_options *how, *simulate;
  snprintf(folder, sizeof folder, "/tmp/comp-pipeline-XXXXXX");
  if (!mkdtemp(folder)) return -1;
  assert_ok(comp_options_new(&how, "context"));
  assert_ok(comp_options_set_int(how, "threads", 2));
  assert_ok(comp_options_set(how, "log-level", "info"));
  assert_ok(comp_context_new(&context, how));
  comp_options_free(how);
  comp_context_on_log(context, keep_message, NULL);
  assert_ok(comp_options_new(&simulate, "simulate"));
  assert_ok(comp_options_set_int(simulate, "cells", 150));
  assert_ok(comp_options_set_int(simulate, "genes", 30));
  assert_ok(comp_options_set_int(simulate, "labels", 2));
  assert_ok(comp_simulate(&cells, context, simulate));
  comp_options_free(simulate);
  return 0;
}

static int end(void **state) {
  (void)state;
  char command[128];
  comp_dataset_free(cells);
  comp_context_free(context);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* Options of a run that is soon done, for a folder of that name. They should be freed via comp_options_free(). */
static comp_options *quick(const char *out) {
  static const char *const values[][2] = {{"condition", "condition"},
                                          {"label", "label"},
                                          {"hidden", "8"},
                                          {"latent", "2"},
                                          {"epochs", "2"},
                                          {"batch", "32"},
                                          {"no-umap", "true"},
                                          {"no-diagnose", "true"}};
  char path[128];
  comp_options *options;
  assert_ok(comp_options_new(&options, "run"));
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    assert_ok(comp_options_set(options, values[i][0], values[i][1]));
  assert_ok(comp_options_set(options, "output", path_of(path, sizeof path, out)));
  return options;
}

/* How many steps were done, and how many were found as they were. */
static void count_steps(size_t *done, size_t *found) {
  *done = *found = 0;
  for (const char *at = messages; (at = strstr(at, "$ comp ")); at++) {
    const char *note = strstr(at, "# as before"), *line = strchr(at, '\n');
    ++*(note && note < line ? found : done);
  }
}

static comp_run_result *run(const comp_options *options, size_t *done, size_t *found) {
  comp_run_result *result = NULL;
  messages[0] = '\0';
  assert_ok(comp_run_dataset(&result, context, cells, options));
  count_steps(done, found);
  return result;
}

static bool is_there(const char *out, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s/%s", folder, out, name);
  return access(path, F_OK) == 0;
}

/* The whole file, with a 0 at its end. It should be freed via free(). */
static char *read_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  struct stat info;
  assert_non_null(file);
  assert_int_equal(fstat(fileno(file), &info), 0);
  char *text = calloc((size_t)info.st_size + 1, 1);
  assert_int_equal(fread(text, 1, (size_t)info.st_size, file), (size_t)info.st_size);
  fclose(file);
  *size = (size_t)info.st_size;
  return text;
}

static char *read_text(const char *path) {
  size_t size;
  return read_bytes(path, &size);
}

static void assert_same_file(const char *name, const char *other) {
  char path[128];
  size_t size, other_size;
  char *a = read_bytes(path_of(path, sizeof path, name), &size);
  char *b = read_bytes(path_of(path, sizeof path, other), &other_size);
  assert_int_equal(size, other_size);
  assert_memory_equal(a, b, size);
  free(a);
  free(b);
}

/* The result has what the folder has. */
static void test_result(void **state) {
  (void)state;
  size_t done, found;
  comp_options *options = quick("first");
  comp_run_result *result = run(options, &done, &found);
  static const char *const files[] = {"data.h5ad", "model.safetensors", "scores.json", "report.html", "run.json"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) assert_true(is_there("first", files[i]));
  assert_false(is_there("first", ".unfinished"));
  assert_true(done >= 9);
  assert_int_equal(found, 0);
  char path[128];
  assert_string_equal(comp_run_result_folder(result), path_of(path, sizeof path, "first"));
  assert_string_equal(comp_run_result_page(result), path_of(path, sizeof path, "first/report.html"));
  char *written = read_text(path_of(path, sizeof path, "first/run.json"));
  assert_string_equal(comp_run_result_record(result), written);
  json_t *record = json_loads(written, 0, NULL), *input = json_object_get(record, "input");
  assert_string_equal(json_string_value(json_object_get(input, "path")), "data in memory");
  assert_int_equal(strlen(json_string_value(json_object_get(input, "sha256"))), 64);
  assert_non_null(strstr(comp_run_result_scores(result), "\"embeddings\""));
  json_decref(record);
  free(written);
  comp_run_result_free(result);
  comp_options_free(options);
}

/* The findings of the result are those of the page. */
static void test_findings(void **state) {
  (void)state;
  static const char mark[] = "<script type=\"application/json\" id=\"comp-data\">";
  size_t done, found;
  comp_options *options = quick("findings");
  assert_ok(comp_options_set(options, "no-diagnose", NULL));
  comp_run_result *result = run(options, &done, &found);
  char *page = read_text(comp_run_result_page(result)), *data = strstr(page, mark);
  assert_non_null(data);
  data += strlen(mark);
  *strstr(data, "</script>") = '\0';
  json_t *root = json_loads(data, 0, NULL), *shown = json_object_get(root, "findings");
  const comp_verdict *verdict = comp_run_result_verdict(result);
  assert_true(comp_verdict_finding_count(verdict) > 5);
  assert_int_equal(json_array_size(shown), comp_verdict_finding_count(verdict));
  for (size_t i = 0; i < comp_verdict_finding_count(verdict); i++) {
    const comp_finding *f = comp_verdict_finding_at(verdict, i);
    json_t *there = json_array_get(shown, i);
    assert_string_equal(json_string_value(json_object_get(there, "id")), f->id);
    assert_string_equal(json_string_value(json_object_get(there, "level")), comp_finding_level_name(f->level));
    assert_string_equal(json_string_value(json_object_get(there, "text")), f->text);
  }
  json_decref(root);
  free(page);
  comp_run_result_free(result);
  comp_options_free(options);
}

/* The same once more: nothing is done. Other options: only what depends on them. Other data: all of it. */
static void test_repeated(void **state) {
  (void)state;
  size_t done, found, all;
  comp_options *options = quick("repeated");
  comp_run_result_free(run(options, &all, &found));
  comp_run_result *again = run(options, &done, &found);
  assert_non_null(strstr(messages, "nothing to do"));
  assert_int_equal(done + found, 0);
  assert_true(comp_verdict_finding_count(comp_run_result_verdict(again)) > 5);
  comp_run_result_free(again);
  assert_ok(comp_options_set_int(options, "k", 7));
  comp_run_result_free(run(options, &done, &found));
  assert_int_equal(done + found, all);
  assert_true(found >= 6 && done < found);
  comp_matrix *x = comp_dataset_x(cells);
  comp_matrix_values(x)[0] += 1;
  comp_run_result_free(run(options, &done, &found));
  comp_matrix_values(x)[0] -= 1;
  assert_int_equal(found, 0);
  assert_int_equal(done, all);
  comp_options_free(options);
}

/* A folder whose record lacks a step that this run makes is not complete. */
static void test_lacking(void **state) {
  (void)state;
  size_t done, found, steps;
  char path[128];
  comp_options *options = quick("lacking");
  comp_run_result_free(run(options, &done, &found));
  json_t *record = json_load_file(path_of(path, sizeof path, "lacking/run.json"), 0, NULL);
  steps = json_array_size(json_object_get(record, "steps"));
  assert_int_equal(steps, done);
  json_array_remove(json_object_get(record, "steps"), steps - 1);
  json_object_del(json_object_get(record, "files"), "report.html");
  assert_int_equal(json_dump_file(record, path, 0), 0);
  json_decref(record);
  comp_run_result_free(run(options, &done, &found));
  assert_int_equal(done, 1);
  assert_int_equal(found, steps - 1);
  comp_options_free(options);
}

static bool stop(void *user, const comp_epoch *epoch) {
  (void)user, (void)epoch;
  comp_context_interrupt(context);
  return true;
}

/* A step that fails leaves the folder as it was; the same call goes on from there. So does one that was interrupted. */
static void test_failure(void **state) {
  (void)state;
  size_t done, found;
  char path[128], obstacle[128];
  comp_run_result *result = NULL;
  comp_options *options = quick("failure");
  comp_run_result_free(run(options, &done, &found));
  char *before = read_text(path_of(path, sizeof path, "failure/run.json"));
  assert_ok(comp_options_set_int(options, "epochs", 3));
  assert_int_equal(mkdir(path_of(obstacle, sizeof obstacle, "failure/.unfinished"), 0777), 0);
  assert_int_equal(mkdir(path_of(obstacle, sizeof obstacle, "failure/.unfinished/scores.json"), 0777), 0);
  assert_int_not_equal(comp_run_dataset(&result, context, cells, options), COMP_OK);
  assert_null(result);
  char *after = read_text(path);
  assert_string_equal(before, after);
  free(after);
  assert_int_equal(rmdir(obstacle), 0);
  comp_run_result_free(run(options, &done, &found));
  assert_non_null(strstr(messages, "going on where the last run stopped"));
  assert_true(found >= 5);
  assert_false(is_there("failure", ".unfinished"));
  free(before);
  comp_options_free(options);
}

static void test_interrupted(void **state) {
  (void)state;
  size_t done, found;
  comp_run_result *result = NULL;
  comp_options *options = quick("interrupted");
  comp_context_on_epoch(context, stop, NULL);
  comp_status status = comp_run_dataset(&result, context, cells, options);
  comp_context_on_epoch(context, NULL, NULL);
  comp_context_reset(context);
  assert_int_equal(status, COMP_ERR_INTERRUPTED);
  assert_true(is_there("interrupted", ".unfinished/data.h5ad"));
  comp_run_result_free(run(options, &done, &found));
  assert_int_equal(found, 1);
  assert_false(is_there("interrupted", ".unfinished"));
  comp_options_free(options);
}

/* The same data from a file: the same model and scores. */
static void test_file(void **state) {
  (void)state;
  size_t done, found;
  char path[128];
  comp_run_result *result;
  comp_options *memory = quick("memory"), *file = quick("file");
  assert_ok(comp_dataset_write(context, cells, path_of(path, sizeof path, "cells.h5ad"), NULL));
  assert_ok(comp_options_set(file, "input", path));
  assert_ok(comp_run(&result, context, file));
  comp_run_result *other = run(memory, &done, &found);
  assert_string_equal(comp_run_result_scores(result), comp_run_result_scores(other));
  assert_same_file("memory/model.safetensors", "file/model.safetensors");
  comp_run_result_free(result);
  comp_run_result_free(other);
  comp_options_free(memory);
  comp_options_free(file);
}

static void test_mistakes(void **state) {
  (void)state;
  comp_run_result *result;
  comp_options *options = quick("mistakes"), *wrong;
  assert_error(comp_run(&result, context, NULL), COMP_ERR_ARGUMENT, "needs an input");
  assert_error(comp_run(&result, context, options), COMP_ERR_ARGUMENT, "input");
  assert_ok(comp_options_new(&wrong, "train"));
  assert_error(comp_run(&result, context, wrong), COMP_ERR_ARGUMENT, "kind 'train'");
  assert_ok(comp_options_set(options, "target", "label"));
  assert_error(comp_run_dataset(&result, context, cells, options), COMP_ERR_ARGUMENT, "--protect");
  assert_ok(comp_options_set(options, "target", NULL));
  assert_ok(comp_options_set(options, "compare", "harmony,harmony"));
  assert_error(comp_run_dataset(&result, context, cells, options), COMP_ERR_ARGUMENT, "named twice");
  assert_ok(comp_options_set(options, "compare", NULL));
  assert_ok(comp_options_set(options, "label", "lable"));
  assert_error(comp_run_dataset(&result, context, cells, options), COMP_ERR_DATA, "did you mean 'label'");
  assert_ok(comp_options_set(options, "label", NULL));
  assert_ok(comp_options_set(options, "as", "table"));
  assert_error(comp_run_dataset(&result, context, cells, options), COMP_ERR_DATA, "not a text table");
  assert_null(result);
  assert_false(is_there("mistakes", ""));
  comp_options_free(options);
  comp_options_free(wrong);
}

/* Adds a copy of X as a layer, each value increased. */
static void add_layer(comp_dataset *d, const char *name, float more) {
  comp_matrix *copy;
  assert_ok(comp_matrix_select(&copy, context, comp_dataset_x(d), NULL, 0, NULL, 0));
  for (size_t k = 0; k < comp_matrix_nnz(copy); k++) comp_matrix_values(copy)[k] += more;
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, name, copy));
}

/* Layers of the user's keep their values under another name, and all genes are in raw. */
static void nothing_of_the_users_is_lost(void **state) {
  (void)state;
  static const char *const kept[] = {"counts_input", "corrected_input", "mine", "counts", "corrected"};
  char path[256];
  comp_options *options = quick("kept"), *read;
  comp_dataset *d, *back;
  comp_run_result *result = NULL;
  assert_ok(comp_dataset_select(&d, context, cells, NULL, 0, NULL, 0));
  add_layer(d, "counts", 1.0f);
  add_layer(d, "corrected", 2.0f);
  add_layer(d, "mine", 3.0f);
  assert_ok(comp_options_set(options, "hvg", "auto:20"));
  messages[0] = '\0';
  assert_ok(comp_run_dataset(&result, context, d, options));
  comp_run_result_free(result);
  assert_non_null(strstr(messages, "it is kept as 'corrected_input'"));
  assert_non_null(strstr(messages, "--hvg auto:20 --keep-raw"));
  assert_ok(comp_dataset_read(&back, context, path_of(path, sizeof path, "kept/data.h5ad"), NULL));
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    assert_non_null(comp_dataset_matrix(back, COMP_SLOT_LAYERS, kept[i]));
  assert_true(comp_dataset_feature_count(back) < 30);
  comp_dataset_free(back);
  assert_ok(comp_options_new(&read, "read"));
  assert_ok(comp_options_set_bool(read, "raw", true));
  assert_ok(comp_dataset_read(&back, context, path, read));
  assert_int_equal(comp_dataset_feature_count(back), 30);
  comp_dataset_free(back);
  comp_options_free(read);
  comp_options_free(options);
  comp_dataset_free(d);
}

/* What the user says the values are counts; what cannot be is an error. */
static void values_are_what_the_user_says(void **state) {
  (void)state;
  comp_options *options = quick("said");
  size_t done, found;
  comp_dataset *below;
  comp_run_result *result = NULL;
  assert_ok(comp_options_set(options, "values", "log"));
  comp_run_result_free(run(options, &done, &found));
  assert_non_null(strstr(messages, "which --values log says are so: taken as they are"));
  assert_null(strstr(messages, "--normalize-total"));
  assert_ok(comp_dataset_select(&below, context, cells, NULL, 0, NULL, 0));
  comp_matrix_values(comp_dataset_x(below))[0] = -3.0f;
  assert_error(comp_run_dataset(&result, context, below, options), COMP_ERR_DATA,
               "--values log: some values are negative (1, the lowest -3)");
  assert_ok(comp_options_set(options, "values", "auto"));
  assert_error(comp_run_dataset(&result, context, below, options), COMP_ERR_DATA, "from before a background");
  comp_dataset_free(below);
  comp_options_free(options);
}

/* A layer of the data set in a folder; the data set should be freed via comp_dataset_free(). */
static const comp_matrix *read_layer(comp_dataset **out, const char *name, const char *layer) {
  char path[128], file[64];
  snprintf(file, sizeof file, "%s/data.h5ad", name);
  assert_ok(comp_dataset_read(out, context, path_of(path, sizeof path, file), NULL));
  const comp_matrix *matrix = comp_dataset_matrix(*out, COMP_SLOT_LAYERS, layer);
  assert_non_null(matrix);
  return matrix;
}

static size_t count_negative(const comp_matrix *matrix) {
  const float *values = comp_matrix_const_values(matrix);
  size_t n = 0;
  for (size_t i = 0; i < comp_matrix_nnz(matrix); i++) n += values[i] < 0;
  return n;
}

/* Corrected values are samples as if of the reference: of that condition they are what they were. Of counts no value is
 * below 0, unless that is asked for. */
static void corrected_values(void **state) {
  (void)state;
  const struct {
    const char *reference, *clip, *said;
  } cases[] = {{NULL, NULL, "as if 'condition' were 'control', a control by its name (--reference VALUE"},
               {"treated", NULL, "as if 'condition' were 'treated'; values below 0 become 0"},
               {"treated", "no", "as if 'condition' were 'treated'\n"}};
  size_t negative[3], done, found;
  for (int k = 0; k < 3; k++) {
    comp_options *options = quick("corrected");
    comp_dataset *d;
    if (cases[k].reference) assert_ok(comp_options_set(options, "reference", cases[k].reference));
    if (cases[k].clip) assert_ok(comp_options_set(options, "clip-values", cases[k].clip));
    comp_run_result_free(run(options, &done, &found));
    comp_options_free(options);
    assert_non_null(strstr(messages, cases[k].said));
    const comp_matrix *corrected = read_layer(&d, "corrected", "corrected"), *x = comp_dataset_x(d);
    negative[k] = count_negative(corrected);
    size_t column = comp_table_find(comp_dataset_obs(d), "condition"), same = 0, other = 0;
    const size_t cols = comp_matrix_cols(x);
    comp_matrix *dense;
    assert_ok(comp_matrix_to_dense(&dense, context, x));
    for (size_t i = 0; i < comp_matrix_rows(x); i++) {
      char text[64];
      const char *wanted = cases[k].reference ? cases[k].reference : "control";
      bool own = strcmp(comp_table_format(comp_dataset_obs(d), column, i, text, sizeof text), wanted) == 0;
      bool kept = memcmp(comp_matrix_const_values(dense) + i * cols, comp_matrix_const_values(corrected) + i * cols,
                         cols * sizeof(float)) == 0;
      if (own && !kept) fail_msg("row %zu is of '%s' and was changed", i, wanted);
      same += own;
      other += !own && !kept;
    }
    assert_true(same > 0 && other > 0);
    comp_matrix_free(dense);
    comp_dataset_free(d);
  }
  assert_int_equal(negative[0], 0);
  assert_int_equal(negative[1], 0);
  assert_true(negative[2] > 0);
  comp_options *options = quick("corrected");
  comp_run_result *result;
  assert_ok(comp_options_set(options, "reference", "contrl"));
  assert_error(comp_run_dataset(&result, context, cells, options), COMP_ERR_DATA, "did you mean 'control'?");
  comp_options_free(options);
}

/* The conditions that a run predicted: the layers of its data set. */
static size_t count_predictions(const char *name) {
  char path[128], file[64];
  comp_dataset *d;
  size_t n = 0;
  snprintf(file, sizeof file, "%s/data.h5ad", name);
  assert_ok(comp_dataset_read(&d, context, path_of(path, sizeof path, file), NULL));
  for (size_t i = 0; i < comp_dataset_matrix_count(d, COMP_SLOT_LAYERS); i++)
    n += strncmp(comp_dataset_matrix_name(d, COMP_SLOT_LAYERS, i), "counterfactual_", 15) == 0;
  comp_dataset_free(d);
  return n;
}

static size_t count_lines(const char *word) {
  size_t n = 0;
  for (const char *at = messages; (at = strstr(at, word)); at++) n++;
  return n;
}

/* Of many conditions only some are predicted, unless all are asked for; what is not scored is said in one line. */
static void predictions_of_many_conditions(void **state) {
  (void)state;
  comp_options *simulate, *options;
  comp_dataset *two = cells;
  size_t done, found;
  assert_ok(comp_options_new(&simulate, "simulate"));
  assert_ok(comp_options_set_int(simulate, "cells", 480));
  assert_ok(comp_options_set_int(simulate, "genes", 20));
  assert_ok(comp_options_set_int(simulate, "labels", 2));
  assert_ok(comp_options_set_int(simulate, "conditions", 12));
  assert_ok(comp_simulate(&cells, context, simulate));
  comp_options_free(simulate);
  options = quick("many");
  comp_run_result *result = run(options, &done, &found);
  assert_int_equal(count_predictions("many"), 8);
  assert_non_null(strstr(messages, "predictions are made for 8 of 12 conditions"));
  assert_non_null(strstr(messages, "--all-counterfactuals"));
  assert_true(count_lines("not scored") <= 2);
  assert_non_null(strstr(comp_verdict_json(comp_run_result_verdict(result)), "predictions-some"));
  comp_run_result_free(result);
  assert_ok(comp_options_set(options, "all-counterfactuals", "true"));
  comp_run_result_free(run(options, &done, &found));
  assert_int_equal(count_predictions("many"), 12);
  comp_options_free(options);
  options = quick("many");
  assert_ok(comp_options_set(options, "no-counterfactual", "true"));
  comp_run_result_free(run(options, &done, &found));
  assert_int_equal(count_predictions("many"), 0);
  assert_false(is_there("many", "figures/counterfactual.svg"));
  comp_options_free(options);
  comp_dataset_free(cells);
  cells = two;
}

/* Of the data as it was, as many samples are laid out as the page draws; of the embedding all. */
static void maps_of_many_samples(void **state) {
  (void)state;
  static const struct {
    size_t samples;
    comp__step_id step;
    const char *laid_out;
  } cases[] = {
      {100000, COMP__STEP_MAP_BEFORE, "0"}, {100001, COMP__STEP_MAP_BEFORE, "100000"}, {100001, COMP__STEP_MAP, "0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    comp__job *job = calloc(1, sizeof *job);
    comp__plan plan = {.step = &comp__steps[cases[i].step]};
    comp_matrix *x;
    char text[32];
    assert_non_null(job);
    assert_ok(comp_matrix_new_dense(&x, cases[i].samples, 1));
    assert_ok(comp_dataset_new(&job->dataset, x, NULL, NULL));
    comp__words_start(&plan.words, "umap");
    assert_ok(comp__map_plan(&plan, job));
    assert_string_equal(comp_options_get(plan.options, "max-samples", text, sizeof text), cases[i].laid_out);
    comp_options_free(plan.options);
    comp__words_release(&plan.words);
    comp_dataset_free(job->dataset);
    free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_result),
                                     cmocka_unit_test(test_findings),
                                     cmocka_unit_test(test_repeated),
                                     cmocka_unit_test(test_lacking),
                                     cmocka_unit_test(test_failure),
                                     cmocka_unit_test(test_interrupted),
                                     cmocka_unit_test(test_file),
                                     cmocka_unit_test(test_mistakes),
                                     cmocka_unit_test(nothing_of_the_users_is_lost),
                                     cmocka_unit_test(values_are_what_the_user_says),
                                     cmocka_unit_test(corrected_values),
                                     cmocka_unit_test(predictions_of_many_conditions),
                                     cmocka_unit_test(maps_of_many_samples)};
  return cmocka_run_group_tests(tests, start, end);
}
