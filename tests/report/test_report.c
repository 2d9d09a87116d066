/* test_report.c: what the page is made from, that its data cannot break out of it, and that it is written whole. (What
 * it looks like and does is tested in a browser: web/test.) */
#include "report/options.h"
#include "report/report_testing.h"

#include <jansson.h>
#include <zlib.h>

#include "core/alloc.h"
#include "prep/record.h"
#include "report/gather.h"
#include "report/noun.h"

/* The page's data, parsed as the page itself does. It should be released via json_decref(). */
static json_t *page_data(const char *path) {
  size_t size;
  char *text = read_text(path, &size);
  const char *mark = "<script type=\"application/json\" id=\"comp-data\">";
  char *start = strstr(text, mark);
  if (!start) fail_msg("no data in the page");
  start += strlen(mark);
  char *end = strstr(start, "</script>");
  assert_non_null(end);
  json_error_t problem;
  json_t *data = json_loadb(start, (size_t)(end - start), 0, &problem);
  if (!data) fail_msg("the data is not JSON: %s", problem.text);
  free(text);
  return data;
}

static json_t *report_of(comp_dataset *d, comp_context *context, const comp__report_options *options) {
  assert_ok(comp__report_write(context, d, NULL, scratch("report.html"), options));
  return page_data(scratch("report.html"));
}

static comp__report_options usual(void) {
  comp__report_options options = comp__report_defaults();
  options.condition = "condition";
  options.label = "label";
  return options;
}

/* The finding with this id; NULL: there is none. */
static json_t *finding(json_t *data, const char *id) {
  size_t i;
  json_t *item;
  json_array_foreach(json_object_get(data, "findings"), i, item) {
    if (strcmp(json_string_value(json_object_get(item, "id")), id) == 0) return item;
  }
  return NULL;
}

/* Its level; "" without one. */
static const char *level(json_t *data, const char *id) {
  const char *name = json_string_value(json_object_get(finding(data, id), "level"));
  return name ? name : "";
}

/* Whether a text is in one of the findings. */
static bool says(json_t *data, const char *text) {
  size_t i;
  json_t *item;
  json_array_foreach(json_object_get(data, "findings"), i, item) {
    if (strstr(json_string_value(json_object_get(item, "text")), text)) return true;
  }
  return false;
}

static json_t *scored(comp_dataset *d, comp_context *context, const char *scores) {
  static char path[256];
  write_text(scratch("scores.json"), scores);
  snprintf(path, sizeof path, "%s", scratch("scores.json"));
  const char *files[] = {path};
  comp__report_options options = usual();
  options.scores = files;
  options.n_scores = 1;
  return report_of(d, context, &options);
}

/* The page has the findings of src/verdict (tests/verdict), made from all that it was given. */
static void findings_come_from_all_documents(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  json_t *data = scored(d, context, "{\"kBET\": 0.35, \"m-kBET\": 0.08}");
  assert_string_equal(level(data, "mixing"), "caution");
  assert_string_equal(level(data, "labels-lost"), "note");
  assert_string_equal(level(data, "few-samples"), "caution"); /* of the data */
  assert_string_equal(level(data, "predictions"), "ok");      /* of its layers */
  assert_true(says(data, "Predicted effect of ctrl \u2192 stim"));
  json_decref(data);
  /* Scores of predictions that were given count, and not what the page computes. */
  data = scored(d, context,
                "{\"embeddings\": [], \"counterfactual\": {\"from\": \"a\", \"to\": \"b\", \"labels\": [], \"mean\": "
                "{\"prediction\": {\"r_change_all\": 0.1}}}}");
  assert_string_equal(level(data, "predictions"), "problem");
  assert_true(says(data, "Predicted effect of a \u2192 b"));
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void data_gets_its_findings(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  sample_shape shape = SMALL_SHAPE;
  comp__report_options options = usual();
  comp_dataset *d = sample_dataset(context, &shape); /* 360 samples, 60 a group */
  json_t *data = report_of(d, context, &options);
  assert_true(says(data, "only 360 samples"));
  assert_false(says(data, "one condition only"));
  assert_false(says(data, "fewer than 50"));
  json_decref(data);
  options.label = NULL;
  data = report_of(d, context, &options);
  assert_true(says(data, "No labels were named"));
  json_decref(data);
  comp_dataset_free(d);

  shape.hole = true;
  shape.per_group = 100;
  options = usual();
  d = sample_dataset(context, &shape);
  data = report_of(d, context, &options);
  assert_true(says(data, "1 of 3 labels is in one condition only: type3 (ctrl)"));
  assert_false(says(data, "only 600 samples"));
  json_decref(data);
  comp_dataset_free(d);

  shape.per_group = 20;
  d = sample_dataset(context, &shape);
  data = report_of(d, context, &options);
  assert_true(says(data, "fewer than 50 samples: type1 in ctrl (20)"));
  json_decref(data);
  /* Predictions that are worse than none. */
  float *v = comp_matrix_values(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counterfactual_stim"));
  for (size_t i = 0; i < comp_dataset_sample_count(d) * shape.genes; i++) v[i] = 9.0f - v[i];
  data = report_of(d, context, &options);
  assert_true(says(data, "predicting no change has a smaller error"));
  assert_true(says(data, "agrees little with the real one"));
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void own_scores_are_all_read(void **state) {
  (void)state;
  comp__scores scores = {0};
  write_text(
      scratch("own.json"),
      "{\"condition\": \"c\", \"metrics\": [{\"name\": \"kbet_label\", \"better\": \"higher\", \"summary\": "
      "\"words\"}], "
      "\"embeddings\": [{\"name\": \"X_a\", \"scores\": {\"kbet_label\": {\"value\": null, \"note\": \"why\", "
      "\"parts\": "
      "[{\"label\": "
      "\"L\", \"condition\": null, \"value\": 0.25, \"left_out\": null}, {\"label\": null, \"condition\": \"k\", "
      "\"value\": 1, "
      "\"left_out\": null}]}}}], \"counterfactual\": {\"labels\": [{\"label\": \"L\", \"prediction\": {\"r_de\": "
      "0.75}}], \"mean\": "
      "{\"no_change\": {\"r_de\": 0.5, \"rmse_pair\": null}}}, \"predict\": [{\"embedding\": \"X_a\", \"column\": "
      "\"c\", "
      "\"majority\": 0.5, \"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": 0.625}]}], \"transfer\": "
      "[{\"embedding\": "
      "\"X_a\", \"train_on\": \"p\", \"test_on\": \"q\", \"classifier\": \"forest\", \"accuracy\": 0.125, "
      "\"majority\": 0.1}]}");
  assert_ok(comp__scores_read(&scores, scratch("own.json")));
  const struct {
    const char *name, *label, *method;
    double value;
    comp_better better;
  } expected[] = {{"kbet_label", NULL, "X_a", NAN, COMP_BETTER_HIGHER},
                  {"kbet_label", "L", "X_a", 0.25, COMP_BETTER_HIGHER},
                  {"r_de", NULL, "no change", 0.5, COMP_BETTER_HIGHER},
                  {"r_de", "L", "prediction", 0.75, COMP_BETTER_HIGHER},
                  {"accuracy of c (forest)", NULL, "X_a", 0.625, COMP_BETTER_LOWER},
                  {"label transfer p \u2192 q (forest)", NULL, "X_a", 0.125, COMP_BETTER_HIGHER}};
  assert_int_equal(scores.count, sizeof expected / sizeof *expected);
  for (size_t i = 0; i < scores.count; i++) {
    const comp__read_score *s = &scores.items[i];
    assert_string_equal(s->name, expected[i].name);
    assert_string_equal(s->method, expected[i].method);
    assert_string_equal(s->label ? s->label : "", expected[i].label ? expected[i].label : "");
    assert_int_equal(s->better, expected[i].better);
    if (isnan(expected[i].value))
      assert_true(isnan(s->value));
    else
      assert_true(s->value == expected[i].value);
  }
  assert_string_equal(scores.items[0].summary, "words"); /* the library itself has no help for this metric */
  assert_string_equal(scores.items[0].note, "why");
  comp__scores_release(&scores);
}

static void a_diagnosis_is_taken_over(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  comp__report_options options = usual();
  char path[256];
  snprintf(path, sizeof path, "%s", scratch("diagnose.json"));
  options.diagnose = path;
  write_text(path,
             "{\"findings\": [\"latents look Gaussian\", 3, {\"id\": \"a\", \"level\": \"problem\", \"question\": \"Is "
             "it?\", \"text\": \"It is not.\", \"advice\": \"Look.\"}]}");
  json_t *data = report_of(d, context, &options);
  assert_true(says(data, "latents look Gaussian"));
  assert_string_equal(level(data, "a"), "problem");
  json_decref(data);
  write_text(path, "not json");
  assert_error(comp__report_write(context, d, NULL, scratch("report.html"), &options), COMP_ERR_FORMAT,
               "diagnose.json: line 1");
  comp_dataset_free(d);
  comp_context_free(context);
}

/* Scores as comp score --json writes them: 'condition' predicted by three classifiers from X_comp (and from X_pca at
 * 0.8), each with an accuracy and a balanced accuracy; with a target, and gaps, when `fair`. */
static const char *classified_scores(char *out, size_t size, const double accuracy[3], const double balanced[3],
                                     bool fair) {
  static const char *const kinds[] = {"logistic", "forest", "boosted"};
  char lists[2][600] = {"", ""};
  for (int k = 0; k < 3; k++) {
    size_t used = strlen(lists[0]);
    snprintf(lists[0] + used, sizeof lists[0] - used,
             "%s{\"classifier\": \"%s\", \"accuracy\": %g, \"deviation\": 0.01, \"balanced_accuracy\": %g}",
             k ? ", " : "", kinds[k], accuracy[k], balanced[k]);
    used = strlen(lists[1]);
    snprintf(lists[1] + used, sizeof lists[1] - used,
             "%s{\"classifier\": \"%s\", \"accuracy\": 0.8, \"deviation\": 0.01, \"balanced_accuracy\": 0.8}",
             k ? ", " : "", kinds[k]);
  }
  int length = snprintf(
      out, size,
      "{\"condition\": \"condition\", \"embeddings\": [], \"predict\": [{\"embedding\": \"X_pca\", \"column\": "
      "\"condition\", \"samples\": 10000, \"levels\": 2, \"folds\": 5, \"majority\": 0.6, \"classifiers\": [%s]}, "
      "{\"embedding\": \"X_comp\", \"column\": \"condition\", \"samples\": 10000, \"levels\": 2, \"folds\": 5, "
      "\"majority\": 0.6, \"classifiers\": [%s]}",
      lists[1], lists[0]);
  if (fair)
    length += snprintf(
        out + length, size - (size_t)length,
        ", {\"embedding\": \"X_comp\", \"column\": \"label\", \"samples\": 10000, \"levels\": 3, \"folds\": 5, "
        "\"majority\": 0.4, \"classifiers\": [{\"classifier\": \"forest\", \"accuracy\": 0.75, "
        "\"balanced_accuracy\": 0.7}]}], \"fairness\": [{\"embedding\": \"X_comp\", \"column\": \"label\", "
        "\"classifier\": \"forest\", \"parity_gap\": 0.125, \"odds_gap\": 0.25, \"accuracy_gap\": 0.1, "
        "\"groups\": [{\"condition\": \"ctrl\", \"samples\": 5, \"accuracy\": 0.5}]}");
  snprintf(out + length, size - (size_t)length, "]}");
  return out;
}

static void classifiers_have_a_section(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  char text[4096];
  for (int fair = 0; fair < 2; fair++) {
    const double accuracy[] = {0.6, 0.61, 0.58}, balanced[] = {0.5, 0.51, 0.49};
    json_t *data = scored(d, context, classified_scores(text, sizeof text, accuracy, balanced, fair));
    json_t *section = json_object_get(data, "classifiers");
    assert_int_equal(json_array_size(json_object_get(section, "predict")), fair ? 3 : 2);
    assert_int_equal(json_array_size(json_object_get(section, "fairness")), fair ? 1 : 0);
    assert_string_equal(level(data, "hidden"), "ok");
    assert_string_equal(level(data, "fairness"), fair ? "note" : "");
    /* They are not in the table of scores as well. */
    assert_int_equal(json_array_size(json_object_get(data, "scores")), 0);
    json_decref(data);
  }
  json_t *data = scored(d, context, "{\"kBET\": 0.1}");
  assert_true(json_is_null(json_object_get(data, "classifiers")));
  assert_null(finding(data, "hidden"));
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void changes_stay_apart(void **state) {
  (void)state;
  comp__scores scores = {0};
  write_text(scratch("changes.json"),
             "{\"embeddings\": [], \"counterfactual\": {\"from\": \"a\", \"to\": \"b\", \"labels\": [], \"mean\": "
             "{\"prediction\": {\"r_de\": 0.75}}}, \"more_counterfactuals\": [{\"from\": \"b\", \"to\": \"a\", "
             "\"labels\": [{\"label\": \"L\", \"prediction\": {\"r_de\": 0.25}}], \"mean\": {\"prediction\": "
             "{\"r_de\": 0.5}}}]}");
  assert_ok(comp__scores_read(&scores, scratch("changes.json")));
  assert_int_equal(scores.count, 3);
  assert_string_equal(scores.items[0].change, "a \u2192 b");
  assert_string_equal(scores.items[1].change, "b \u2192 a");
  assert_string_equal(scores.items[2].change, "b \u2192 a");
  assert_true(scores.items[1].value == 0.5);
  comp__scores_release(&scores);
}

static void features_of_a_table_are_no_genes(void **state) {
  (void)state;
  char *text = NULL;
  assert_ok(comp__noun_put(&text, "Genes, a gene's mean; oxygen, general, gene_a", "feature"));
  assert_string_equal(text, "Features, a feature's mean; oxygen, general, gene_a");
  comp__free(text);
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  json_t *data = scored(d, context, "{\"r_all\": 0.5}");
  json_t *score = json_array_get(json_object_get(data, "scores"), 0);
  assert_string_equal(json_string_value(json_object_get(score, "title")), "r of means, all genes");
  json_decref(data);
  assert_ok(comp__record_step(d, json_pack("{s:s}", "step", "tabular")));
  data = scored(d, context, "{\"r_all\": 0.5}");
  score = json_array_get(json_object_get(data, "scores"), 0);
  assert_string_equal(json_string_value(json_object_get(data, "noun")), "feature");
  assert_string_equal(json_string_value(json_object_get(score, "title")), "r of means, all features");
  assert_null(strstr(json_string_value(json_object_get(score, "summary")), "gene"));
  assert_false(says(data, " gene"));
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

static size_t occurrences(const char *text, const char *part) {
  size_t n = 0;
  for (const char *c = text; (c = strstr(c, part)); c += strlen(part)) n++;
  return n;
}

static void names_cannot_break_out(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  sample_shape shape = SMALL_SHAPE;
  comp__report_options options = usual();
  size_t size;
  comp_dataset *d = sample_dataset(context, &shape);
  comp_dataset_free(sample_dataset(context, &shape));
  json_decref(report_of(d, context, &options));
  char *text = read_text(scratch("report.html"), &size);
  size_t scripts = occurrences(text, "<script"), ends = occurrences(text, "</script");
  free(text);
  comp_dataset_free(d);
  const char *names[] = {"</script><script>alert(%zu)</script>", "<!--%zu", "quote \" and \\ %zu", "\xe2\x80\xa8 %zu"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    shape.label_format = names[k];
    d = sample_dataset(context, &shape);
    options.title = names[k];
    json_t *data = report_of(d, context, &options);
    text = read_text(scratch("report.html"), &size);
    assert_int_equal(occurrences(text, "<script"), scripts);
    assert_int_equal(occurrences(text, "</script"), ends);
    assert_int_equal(occurrences(text, "<!--"), 0);
    free(text);
    json_t *levels = json_object_get(json_array_get(json_object_get(data, "columns"), 1), "levels");
    if (k != 2) { /* what is valid text comes back as it was */
      char expected[400];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      snprintf(expected, sizeof expected, names[k], (size_t)1);
#pragma GCC diagnostic pop
      assert_string_equal(json_string_value(json_array_get(levels, 0)), expected);
    }
    json_decref(data);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

static size_t unpack(unsigned char *out, size_t room, const char *base64) {
  unsigned char packed[1 << 16];
  size_t n = 0;
  uint32_t bits = 0;
  int have = 0;
  for (const char *c = base64; *c && *c != '='; c++) {
    int digit = *c >= 'A' && *c <= 'Z'   ? *c - 'A'
                : *c >= 'a' && *c <= 'z' ? *c - 'a' + 26
                : *c >= '0' && *c <= '9' ? *c - '0' + 52
                : *c == '+'              ? 62
                                         : 63;
    bits = bits << 6 | (uint32_t)digit;
    have += 6;
    if (have >= 8) packed[n++] = (unsigned char)(bits >> (have -= 8));
  }
  uLongf size = room;
  assert_int_equal(uncompress(out, &size, packed, n), Z_OK);
  return size;
}

static void values_come_back(void **state) {
  (void)state;
  for (int sparse = 0; sparse < 2; sparse++) {
    comp_context *context = test_context(2);
    sample_shape shape = SMALL_SHAPE;
    shape.sparse = sparse;
    comp_dataset *d = sample_dataset(context, &shape);
    comp__report_options options = usual();
    json_t *data = report_of(d, context, &options);
    size_t n = comp_dataset_sample_count(d), size;
    static uint16_t numbers[4096];
    static unsigned char bytes[4096];
    json_t *columns = json_object_get(data, "columns"), *label = json_array_get(columns, 1), *depth = NULL;
    assert_int_equal(
        unpack((unsigned char *)numbers, sizeof numbers, json_string_value(json_object_get(label, "data"))), 2 * n);
    for (size_t i = 0; i < n; i++) assert_int_equal(numbers[i], i % shape.labels);
    for (size_t k = 0; k < json_array_size(columns); k++)
      if (strcmp(json_string_value(json_object_get(json_array_get(columns, k), "name")), "depth") == 0)
        depth = json_array_get(columns, k);
    unpack((unsigned char *)numbers, sizeof numbers, json_string_value(json_object_get(depth, "data")));
    double min = json_number_value(json_object_get(depth, "min")),
           max = json_number_value(json_object_get(depth, "max"));
    for (size_t i = 0; i < n; i++) {
      if (i % 17 == 3)
        assert_int_equal(numbers[i], 65535);
      else
        assert_true(fabs(min + (max - min) * numbers[i] / 65534 - (double)i * 0.5) < (max - min) / 65534);
    }
    /* A gene: the second in the list of packed blocks. */
    char *text = read_text(scratch("report.html"), &size);
    char *blocks = strstr(text, "id=\"comp-genes\">");
    assert_non_null(blocks);
    blocks += strlen("id=\"comp-genes\">");
    json_t *genes = json_object_get(data, "genes"), *ends = json_object_get(genes, "ends");
    size_t from = (size_t)json_integer_value(json_array_get(ends, 0)),
           to = (size_t)json_integer_value(json_array_get(ends, 1));
    blocks[to] = '\0';
    assert_int_equal(unpack(bytes, sizeof bytes, blocks + from), n);
    size_t gene = (size_t)atoi(json_string_value(json_array_get(json_object_get(genes, "names"), 1)));
    double top = json_number_value(json_array_get(json_object_get(genes, "maxs"), 1));
    assert_int_equal(json_array_size(ends), shape.genes);
    for (size_t i = 0; i < n; i++)
      assert_true(fabs(bytes[i] * top / 255 - (double)sample_value(i, gene, i / shape.labels % 2)) < top / 500);
    free(text);
    json_decref(data);
    comp_dataset_free(d);
    comp_context_free(context);
  }
}

/* What people read: names of embeddings, the design, the command; no folder of this machine. */
static void names_are_for_people(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  sample_shape shape = SMALL_SHAPE;
  comp_dataset *d = sample_dataset(context, &shape);
  write_text(
      scratch("named.json"),
      "{\"embeddings\": [{\"name\": \"X_pca\", \"scores\": {\"kbet\": {\"value\": 0.9, \"note\": \"no module. Looked "
      "for it in: /usr/lib\"}}}, {\"name\": \"X_comp\", \"scores\": {\"kbet\": {\"value\": 0.1}}}]}");
  char path[256];
  snprintf(path, sizeof path, "%s", scratch("named.json"));
  const char *files[] = {path};
  comp__report_options options = usual();
  options.scores = files;
  options.n_scores = 1;
  options.source = "/home/somebody/cells.h5ad";
  options.command = "comp run -i cells.h5ad";
  json_t *data = report_of(d, context, &options), *scores = json_object_get(data, "scores");
  assert_string_equal(json_string_value(json_object_get(json_array_get(scores, 0), "method")), "before");
  assert_string_equal(json_string_value(json_object_get(json_array_get(scores, 0), "note")), "no module.");
  assert_string_equal(json_string_value(json_object_get(json_array_get(scores, 1), "method")), "X_comp"); /* no model */
  assert_string_equal(json_string_value(json_object_get(json_object_get(data, "titles"), "X_pca")), "before");
  json_t *origin = json_object_get(data, "provenance"), *maps = json_object_get(data, "maps");
  assert_string_equal(json_string_value(json_object_get(origin, "source")), "cells.h5ad");
  assert_string_equal(json_string_value(json_object_get(origin, "command")), "comp run -i cells.h5ad");
  assert_string_equal(json_string_value(json_object_get(json_array_get(maps, 0), "role")), "before");
  assert_string_equal(json_string_value(json_object_get(json_array_get(maps, 1), "role")), "after");
  json_t *cross = json_array_get(json_object_get(json_object_get(data, "design"), "columns"), 0);
  assert_int_equal(json_array_size(json_object_get(cross, "values")), shape.labels);
  assert_true(says(data, "in the embedding"));
  assert_string_equal(comp_embedding_title("X_comp", "trvae"), "trvae");
  assert_string_equal(comp_embedding_title("X_comp", "comp"), "CoMP");
  assert_string_equal(comp_embedding_title("X_harmony", NULL), "harmony");
  assert_string_equal(comp_embedding_title("mine", NULL), "mine");
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* z and p of the page are those of the test, to three digits. */
static void tests_come_back(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  sample_shape shape = SMALL_SHAPE;
  comp_dataset *d = sample_dataset(context, &shape);
  comp__report_options options = usual();
  json_t *data = report_of(d, context, &options), *effects = json_object_get(data, "effects");
  json_t *change = json_array_get(json_object_get(effects, "changes"), 0);
  json_t *entry = json_array_get(json_object_get(change, "labels"), 0), *names = json_object_get(effects, "genes");
  static float values[4096];
  size_t genes = json_array_size(names);
  assert_int_equal(unpack((unsigned char *)values, sizeof values, json_string_value(json_object_get(entry, "tests"))),
                   2 * genes * sizeof *values);
  comp_options *o;
  comp_de *de;
  assert_ok(comp_options_new(&o, "de"));
  assert_ok(comp_options_set(o, "groupby", "condition"));
  assert_ok(comp_options_set(o, "label", "label"));
  assert_ok(comp_options_set(o, "target", json_string_value(json_object_get(change, "target"))));
  assert_ok(comp_options_set(o, "reference", json_string_value(json_object_get(change, "source"))));
  assert_ok(comp_de_run(&de, context, d, o));
  assert_string_equal(comp_de_label_name(de, 0), json_string_value(json_object_get(entry, "label")));
  for (size_t k = 0; k < genes; k++) {
    size_t gene = 0;
    while (strcmp(comp_dataset_var_name(d, gene), json_string_value(json_array_get(names, k))) != 0) gene++;
    double z = comp_de_scores(de, 0)[gene], p = comp_de_pvals_adj(de, 0)[gene];
    assert_true(fabs((double)values[k] - z) <= 1e-3 * fabs(z));
    assert_true(fabs((double)values[genes + k] - p) <= 1e-3 * p);
  }
  comp_de_free(de);
  comp_options_free(o);
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void threads_do_not_matter(void **state) {
  (void)state;
  char *first = NULL;
  size_t first_size = 0;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
    comp__report_options options = usual();
    options.max_samples = 200; /* thinned out: the same samples each time */
    size_t size;
    json_decref(report_of(d, context, &options));
    char *text = read_text(scratch("report.html"), &size);
    if (first) {
      assert_int_equal(size, first_size);
      assert_memory_equal(text, first, size);
      free(text);
    } else {
      first = text;
      first_size = size;
    }
    comp_dataset_free(d);
    comp_context_free(context);
  }
  free(first);
}

static void limits_hold(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  comp__report_options options = usual();
  options.max_samples = 100;
  options.max_gene_bytes = 2000;
  json_t *data = report_of(d, context, &options);
  assert_int_equal(json_integer_value(json_object_get(data, "shown")), 100);
  assert_int_equal(json_integer_value(json_object_get(data, "samples")), 360);
  json_t *ends = json_object_get(json_object_get(data, "genes"), "ends");
  size_t n = json_array_size(ends);
  assert_true(n > 0 && n < SMALL_SHAPE.genes);
  assert_true(json_integer_value(json_array_get(ends, n - 1)) <= 2000);
  json_decref(data);
  options.max_gene_bytes = 0;
  data = report_of(d, context, &options);
  assert_int_equal(json_array_size(json_object_get(json_object_get(data, "genes"), "names")), 0);
  json_decref(data);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void a_failure_leaves_the_earlier_page(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  comp__report_options options = usual();
  write_text(scratch("report.html"), "earlier");
  options.label = "lable";
  assert_error(comp__report_write(context, d, NULL, scratch("report.html"), &options), COMP_ERR_DATA,
               "did you mean 'label'");
  options = usual();
  options.after = "X_none";
  assert_error(comp__report_write(context, d, NULL, scratch("report.html"), &options), COMP_ERR_DATA, "obsm/X_none");
  const char *files[] = {"/nowhere/a.json"};
  options = usual();
  options.scores = files;
  options.n_scores = 1;
  assert_error(comp__report_write(context, d, NULL, scratch("report.html"), &options), COMP_ERR_IO, "/nowhere/a.json");
  size_t size;
  char *text = read_text(scratch("report.html"), &size);
  assert_string_equal(text, "earlier");
  free(text);
  options = usual();
  assert_error(comp__report_write(context, d, NULL, "/nowhere/a.html", &options), COMP_ERR_IO, "/nowhere");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(findings_come_from_all_documents),
      cmocka_unit_test(data_gets_its_findings),
      cmocka_unit_test(classifiers_have_a_section),
      cmocka_unit_test(changes_stay_apart),
      cmocka_unit_test(a_diagnosis_is_taken_over),
      cmocka_unit_test(own_scores_are_all_read),
      cmocka_unit_test(names_cannot_break_out),
      cmocka_unit_test(features_of_a_table_are_no_genes),
      cmocka_unit_test(values_come_back),
      cmocka_unit_test(names_are_for_people),
      cmocka_unit_test(tests_come_back),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(limits_hold),
      cmocka_unit_test(a_failure_leaves_the_earlier_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
