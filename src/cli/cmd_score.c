/* cmd_score.c: `comp score`: how well embeddings mix conditions and keep labels apart. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/streams.h"
#include "cli/text.h"

typedef struct score_options {
  cli_input input;
  comp_score_options score;
  int64_t k, min_label, seed;
  const char *neighbours, *small_labels, *search;
  bool per_label;
  const char *json;
} score_options;

static const score_options defaults = {.input = CLI_INPUT_INIT,
                                       .score = COMP_SCORE_OPTIONS_INIT,
                                       .k = 100,
                                       .min_label = 150,
                                       .neighbours = "label",
                                       .small_labels = "leave-out",
                                       .search = "auto"};

static const char *const scopes[] = {"label", "global", NULL};
static const char *const small_choices[] = {"leave-out", "shrink", NULL};
static const char *const searches[] = {"auto", "exact", "approximate", NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(score_options, input),
    {"use", 'u', OPT_STRING, OPT_FIELD(score_options, score.embeddings), .metavar = "A,B,...",
     .help = "embeddings to score, by their names in obsm; X is the data itself", .unset = "X_comp, else all of obsm"},
    {"condition", 'c', OPT_STRING, .required = true, OPT_FIELD(score_options, score.condition), .metavar = "COL",
     .help = "the column that holds the condition or batch"},
    {"label", 'l', OPT_STRING, OPT_FIELD(score_options, score.label), .metavar = "COL",
     .help = "the column of labels that should be kept apart, such as cell types",
     .unset = "no metrics that need labels"},
    {"metrics", 'm', OPT_STRING, OPT_FIELD(score_options, score.metrics), .metavar = "A,B,...",
     .help = "names of metrics or families (paper, batch, bio, total, other); scib: batch, bio and total; all"},
    {"k", 'k', OPT_INT, OPT_FIELD(score_options, k), .metavar = "N", .min = 1, .max = 1e9,
     .help = "neighbours of the metrics of the paper"},
    {"alpha", 'a', OPT_REAL, OPT_FIELD(score_options, score.alpha), .metavar = "A", .min = 1e-300, .max = 0.999999,
     .help = "a neighbourhood fails kBET's test when its p is below this"},
    {"neighbours", .kind = OPT_CHOICE, OPT_FIELD(score_options, neighbours), .metavar = "WHERE", .choices = scopes,
     .help = "where m_kbet and s_label look for neighbours: within the label, or among all samples, of which those of "
             "other labels then do not count"},
    {"small-labels", .kind = OPT_CHOICE, OPT_FIELD(score_options, small_labels), .metavar = "HOW",
     .choices = small_choices,
     .help =
         "what m_kbet and s_label do with labels of fewer than 4 k samples: leave them out, or take k = samples / 4"},
    {"min-label", .kind = OPT_INT, OPT_FIELD(score_options, min_label), .metavar = "N", .min = 4, .max = 1e15,
     .help = "with --small-labels shrink, leave out labels with fewer samples than this"},
    {"before", .kind = OPT_STRING, OPT_FIELD(score_options, score.before), .metavar = "NAME",
     .help = "what pcr compares with: X, or a name in obsm"},
    {"search", .kind = OPT_CHOICE, OPT_FIELD(score_options, search), .metavar = "HOW", .choices = searches,
     .help = "how neighbours are found"},
    {"seed", .kind = OPT_INT, OPT_FIELD(score_options, seed), .metavar = "N", .max = 9e15,
     .help = "seed of the clusterings"},
    {"per-label", .kind = OPT_FLAG, OPT_FIELD(score_options, per_label),
     .help = "also print what each label and condition has"},
    {"json", .kind = OPT_FILE, OPT_FIELD(score_options, json), .metavar = "FILE",
     .help = "also write the result to this file, as JSON; '-' writes it to stdout in place of the table"},
    CLI_INPUT_ROWS(score_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp score -i cells.h5ad -c stim -l cell_type", "the paper's metrics of X_comp"},
    {"comp score -i cells.h5ad -u X_comp,X_pca -c batch -l cell_type -m all --json scores.json",
     "all metrics of two embeddings side by side"},
    {"comp score -i cells.h5ad -c stim -l cell_type --small-labels shrink --per-label",
     "labels of at least 150 cells, each by itself"},
    {NULL, NULL},
};

/* A result and how it was asked for. */
typedef struct result {
  const comp_score *score;
  const score_options *options;
  bool verbose;
} result;

/* ---------------------------------------------------------------------------------------------------------- table */

enum { NAME_WIDTH = 24, VALUE_WIDTH = 10 };

static const char *family_title(const char *family) {
  static const struct {
    const char *family, *title;
  } titles[] = {{"paper", "Mixing of conditions"},
                {"batch", "Mixing of conditions, after scib-metrics"},
                {"bio", "Labels kept apart, after scib-metrics"},
                {"total", "Totals, after scib-metrics"},
                {"other", "Other"}};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
    if (strcmp(titles[i].family, family) == 0) return titles[i].title;
  return family;
}

static const char *arrow(comp_better better) {
  return better == COMP_BETTER_LOWER ? "\u2193" : better == COMP_BETTER_HIGHER ? "\u2191" : "\u21920";
}

/* Text that fills a column from the left, whatever its characters take in bytes. */
static void put_name(const char *text, int width) {
  int length = (int)text_length(text);
  printf("%s%*s", text, length < width ? width - length : 1, "");
}

static int column_width(const result *r, size_t e) {
  int length = (int)text_length(comp_score_embedding(r->score, e)) + 2;
  return length > VALUE_WIDTH ? length : VALUE_WIDTH;
}

static void put_value(double value, int width) {
  if (isnan(value))
    printf("%*s", width, "-");
  else
    printf("%*.4f", width, value);
}

static void put_header(const result *r) {
  put_name("", NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embeddings(r->score); e++) {
    const char *name = comp_score_embedding(r->score, e);
    printf("%*s%s", column_width(r, e) - (int)text_length(name), "", name);
  }
  puts("  better");
}

/* The part of another embedding that has the same label and condition, or NULL. */
static const comp_score_part *find_part(const result *r, size_t m, size_t e, const comp_score_part *like) {
  for (size_t p = 0; p < comp_score_parts(r->score, m, e); p++) {
    const comp_score_part *part = comp_score_part_at(r->score, m, e, p);
    if (part->label == like->label && part->condition == like->condition) return part;
  }
  return NULL;
}

static void put_parts(const result *r, size_t m) {
  for (size_t p = 0; p < comp_score_parts(r->score, m, 0); p++) {
    const comp_score_part *first = comp_score_part_at(r->score, m, 0, p);
    char name[160];
    snprintf(name, sizeof name, "    %s%s%s", first->label ? first->label : "",
             first->label && first->condition ? ", " : "", first->condition ? first->condition : "");
    put_name(text_clean(name), NAME_WIDTH + 2);
    for (size_t e = 0; e < comp_score_embeddings(r->score); e++) {
      const comp_score_part *part = find_part(r, m, e, first);
      put_value(part ? part->value : NAN, column_width(r, e));
    }
    if (first->left_out)
      printf("  left out: %s, %zu samples\n", first->left_out, first->samples);
    else if (first->k)
      printf("  %zu samples, k = %zu\n", first->samples, first->k);
    else
      printf("  %zu samples\n", first->samples);
  }
}

static void put_metric(const result *r, size_t m) {
  const comp_score_metric *metric = comp_score_metric_at(r->score, m);
  char name[80];
  snprintf(name, sizeof name, "  %s", metric->name);
  put_name(name, NAME_WIDTH + 2);
  for (size_t e = 0; e < comp_score_embeddings(r->score); e++)
    put_value(comp_score_value(r->score, m, e), column_width(r, e));
  printf("  %s\n", arrow(metric->better));
  if (r->verbose) printf("    %s\n", metric->summary);
  if (r->options->per_label) put_parts(r, m);
}

static void print_table(const result *r) {
  const score_options *o = r->options;
  char count[32];
  printf("%s samples, condition '%s'", text_count(count, sizeof count, comp_score_samples(r->score)),
         o->score.condition);
  if (o->score.label) printf(", label '%s'", o->score.label);
  printf("; k = %lld, alpha = %g\n", (long long)o->k, o->score.alpha);
  put_header(r);
  const char *family = "";
  for (size_t m = 0; m < comp_score_metrics(r->score); m++) {
    const comp_score_metric *metric = comp_score_metric_at(r->score, m);
    if (strcmp(metric->family, family) != 0) puts(family_title(metric->family));
    family = metric->family;
    put_metric(r, m);
  }
  for (size_t m = 0; m < comp_score_metrics(r->score); m++)
    for (size_t e = 0; e < comp_score_embeddings(r->score); e++)
      if (comp_score_note(r->score, m, e))
        printf("No %s of %s: %s\n", comp_score_metric_at(r->score, m)->name, comp_score_embedding(r->score, e),
               comp_score_note(r->score, m, e));
}

/* ----------------------------------------------------------------------------------------------------------- JSON */

static void put_text(FILE *out, const char *before, const char *name, const char *value) {
  fprintf(out, "%s\"%s\": ", before, name);
  json_put_string(out, value);
}

static void put_number(FILE *out, const char *before, const char *name, double value) {
  fprintf(out, "%s\"%s\": ", before, name);
  json_put_number(out, value);
}

static void put_metric_info(FILE *out, const comp_score_metric *metric) {
  static const char *const better[] = {"lower", "higher", "zero"};
  put_text(out, "    {", "name", metric->name);
  put_text(out, ", ", "family", metric->family);
  put_text(out, ", ", "better", better[metric->better]);
  put_number(out, ", ", "min", metric->min);
  put_number(out, ", ", "max", metric->max);
  put_text(out, ", ", "summary", metric->summary);
  fputc('}', out);
}

static void put_json_part(FILE *out, const comp_score_part *part) {
  put_text(out, "{", "label", part->label);
  put_text(out, ", ", "condition", part->condition);
  fprintf(out, ", \"samples\": %zu, \"k\": %zu", part->samples, part->k);
  put_number(out, ", ", "value", part->value);
  put_text(out, ", ", "left_out", part->left_out);
  fputc('}', out);
}

static void put_json_score(FILE *out, const result *r, size_t m, size_t e) {
  fputs("      ", out);
  json_put_string(out, comp_score_metric_at(r->score, m)->name);
  put_number(out, ": {", "value", comp_score_value(r->score, m, e));
  put_text(out, ", ", "note", comp_score_note(r->score, m, e));
  fputs(", \"parts\": [", out);
  for (size_t p = 0; p < comp_score_parts(r->score, m, e); p++) {
    fputs(p ? ",\n        " : "\n        ", out);
    put_json_part(out, comp_score_part_at(r->score, m, e, p));
  }
  fputs("]}", out);
}

static void put_json(FILE *out, const result *r) {
  const score_options *o = r->options;
  put_text(out, "{\n  ", "condition", o->score.condition);
  put_text(out, ",\n  ", "label", o->score.label);
  fprintf(out, ",\n  \"samples\": %zu,\n  \"k\": %lld", comp_score_samples(r->score), (long long)o->k);
  put_number(out, ",\n  ", "alpha", o->score.alpha);
  put_text(out, ",\n  ", "neighbours", o->neighbours);
  put_text(out, ",\n  ", "small_labels", o->small_labels);
  fprintf(out, ",\n  \"min_label\": %lld", (long long)o->min_label);
  put_text(out, ",\n  ", "before", o->score.before);
  fputs(",\n  \"metrics\": [\n", out);
  for (size_t m = 0; m < comp_score_metrics(r->score); m++) {
    if (m) fputs(",\n", out);
    put_metric_info(out, comp_score_metric_at(r->score, m));
  }
  fputs("\n  ],\n  \"embeddings\": [\n", out);
  for (size_t e = 0; e < comp_score_embeddings(r->score); e++) {
    put_text(out, e ? ",\n    {" : "    {", "name", comp_score_embedding(r->score, e));
    fprintf(out, ", \"dims\": %zu, \"scores\": {\n", comp_score_dims(r->score, e));
    for (size_t m = 0; m < comp_score_metrics(r->score); m++) {
      if (m) fputs(",\n", out);
      put_json_score(out, r, m, e);
    }
    fputs("}}", out);
  }
  fputs("\n  ]\n}\n", out);
}

/* ------------------------------------------------------------------------------------------------------------ run */

static int show(cli_session *session, const result *r) {
  const char *json = r->options->json;
  if (!json || !cli_output_is_stdout(json)) print_table(r);
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  if (!json) return 0;
  cli_output output;
  if (!cli_output_open(&output, json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  put_json(output.file, r);
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  return 0;
}

static comp_score_options library_options(const score_options *o) {
  comp_score_options out = o->score;
  out.k = (size_t)o->k;
  out.min_label = (size_t)o->min_label;
  out.seed = (uint64_t)o->seed;
  out.scope = strcmp(o->neighbours, "global") == 0 ? COMP_SCOPE_GLOBAL : COMP_SCOPE_LABEL;
  out.small_labels = strcmp(o->small_labels, "shrink") == 0 ? COMP_SMALL_SHRINK : COMP_SMALL_LEAVE_OUT;
  out.search = strcmp(o->search, "exact") == 0         ? COMP_SEARCH_EXACT
               : strcmp(o->search, "approximate") == 0 ? COMP_SEARCH_APPROXIMATE
                                                       : COMP_SEARCH_AUTO;
  return out;
}

static int run(cli_session *session, const void *values) {
  const score_options *o = values;
  comp_read_options read;
  if (!cli_input_options(&read, &o->input)) return cli_usage_error(session, "--comment takes one character");
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_score_options options_score = library_options(o);
  if (comp_score_options_check(&options_score) != COMP_OK) return cli_usage_error(session, "%s", comp_error_message());
  read.skip_x = !comp_score_needs_x(&options_score);
  comp_dataset *dataset = NULL;
  comp_score *score = NULL;
  comp_status status = comp_dataset_read(&dataset, session->context, o->input.path, &read);
  if (status == COMP_OK) status = comp_score_run(&score, session->context, dataset, &options_score);
  int code = 0;
  if (status == COMP_OK) code = show(session, &(result){score, o, session->common.verbose});
  comp_score_free(score);
  comp_dataset_free(dataset);
  return status == COMP_OK ? code : cli_fail_in(session, status, o->input.path);
}

const cli_command cli_score = {
    .name = "score",
    .group = "Results",
    .summary = "measure how well embeddings mix conditions and keep labels",
    .description =
        "Scores embeddings of the samples. Families of metrics: paper (kBET and the local silhouette, over all samples "
        "and within labels), batch, bio and total (as in scib-metrics), other (MMD). Prints a table with a column for "
        "each embedding; the arrow says which way is better. -v adds what each metric means.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
