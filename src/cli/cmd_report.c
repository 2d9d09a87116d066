/* cmd_report.c: `comp report`: one page that shows what came out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/input.h"
#include "comp/report.h"
#include "text/stream.h"

typedef struct report_options {
  cli_input input;
  const char *output, *model;
  opt_list scores;
  comp_options *report;
} report_options;

static const report_options defaults = {.output = NULL};

#define FIELD(member) OPT_FIELD(report_options, member)
static const opt_spec options[] = {
    CLI_INPUT_FILE(report_options, input),
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "REPORT.html", .help = "the page to write"},
    {"model", 'm', OPT_FILE, FIELD(model), .metavar = "MODEL", .help = "the model: shows its training and its options"},
    {"scores", .kind = OPT_FILE, .repeat = true, FIELD(scores), .metavar = "FILE",
     .help = "scores as comp score --json writes them; may be given several times"},
    {.rows = "report", .only = "diagnose condition label before after", FIELD(report)},
    {.rows = "report", .only = "source", FIELD(report), .unset = "the name of IN"},
    {.rows = "report", .only = "command", FIELD(report), .unset = "this one"},
    {.rows = "report", .only = "title max-samples gene-size top", FIELD(report)},
    CLI_INPUT_ROWS(report_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp report -i out.h5ad -m model.comp --scores s.json -l type -o report.html",
     "a page with maps, training, scores and predicted effects"},
    {NULL, NULL},
};

/* When the page is made; SOURCE_DATE_EPOCH sets it, for the same bytes again. */
static const char *now(char *buffer, size_t size) {
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  time_t when = fixed ? (time_t)strtoll(fixed, NULL, 10) : time(NULL);
  struct tm parts;
  if (!gmtime_r(&when, &parts) || strftime(buffer, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) return NULL;
  return buffer;
}

/* Whether the output would replace something that is read. */
static bool replaces_input(const report_options *o) {
  const char *inputs[] = {o->input.path, o->model, comp_options_get(o->report, "diagnose", NULL, 0)};
  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
    if (inputs[k] && comp_file_same(o->output, inputs[k])) return true;
  for (size_t k = 0; k < o->scores.count; k++)
    if (comp_file_same(o->output, o->scores.items[k])) return true;
  return false;
}

/* A word as a shell takes it. Folders of absolute paths are left out: they say nothing on another machine. */
static void put_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+%@";
  if (word[0] == '/') word = strrchr(word, '/') + 1;
  bool quoted = strspn(word, plain) != strlen(word) || !*word;
  fputs(quoted ? " '" : " ", out);
  for (; *word; word++) fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
  if (quoted) fputc('\'', out);
}

/* The options that are set, as a command line takes them. Lists are put elsewhere. */
static void put_options(FILE *out, const comp_options *set) {
  const comp_option *option;
  for (size_t i = 0; (option = comp_options_at(set, i)); i++) {
    char value[1024];
    const char *name = comp_option_name(option);
    comp_option_type type = comp_option_get_type(option);
    if (!comp_options_given(set, name) || type == COMP_OPTION_TEXTS) continue;
    const char *text = comp_options_get(set, name, value, sizeof value);
    if (type == COMP_OPTION_BOOL && strcmp(text, "true") != 0) continue;
    fprintf(out, " %s%s", name[1] ? "--" : "-", name);
    if (type != COMP_OPTION_BOOL) put_word(out, text);
  }
}

/* What decides on the page, as a command line: neither its name nor the number of threads. */
static comp_status put_command(const report_options *o) {
  char *text = NULL;
  size_t size;
  FILE *out = comp__text_stream(&text, &size);
  comp_status status = COMP_ERR_MEMORY;
  if (!out) return status;
  fputs("comp report -i", out);
  put_word(out, o->input.path);
  if (o->model) {
    fputs(" -m", out);
    put_word(out, o->model);
  }
  for (size_t k = 0; k < o->scores.count; k++) {
    fputs(" --scores", out);
    put_word(out, o->scores.items[k]);
  }
  put_options(out, o->report);
  put_options(out, o->input.read);
  if (fclose(out) == 0) status = comp_options_set(o->report, "command", text);
  free(text);
  return status;
}

/* What the command line leaves to the program. */
static comp_status complete(const report_options *o) {
  char created[64];
  comp_status status = comp_options_given(o->report, "command") ? COMP_OK : put_command(o);
  if (status == COMP_OK) status = comp_options_set(o->report, "created", now(created, sizeof created));
  if (status == COMP_OK && !comp_options_given(o->report, "source"))
    status = comp_options_set(o->report, "source", o->input.path);
  if (status == COMP_OK)
    status = comp_options_set_list(o->report, "scores", (const char *const *)o->scores.items, o->scores.count);
  return status;
}

static int run(cli_session *session, const void *values) {
  const report_options *o = values;
  if (replaces_input(o)) return cli_usage_error(session, "--output: it is a file that is read");
  comp_status status = comp_file_check_writable(o->output);
  if (status != COMP_OK) return cli_fail(session, status);
  comp_model *model = NULL;
  comp_dataset *dataset = NULL;
  status = complete(o);
  if (status == COMP_OK && o->model) status = comp_model_load(&model, o->model);
  if (status != COMP_OK) return cli_fail(session, status);
  status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_report_write(session->context, dataset, model, o->output, o->report);
  comp_dataset_free(dataset);
  comp_model_free(model);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

const cli_command cli_report = {
    .name = "report",
    .group = "Results",
    .summary = "write an HTML report of the results",
    .description =
        "Writes one HTML page with everything in it, to be opened in a browser, also without a network: findings with "
        "advice, how many samples are in which condition, linked maps before and after by column, gene or prediction "
        "error, scores, violins and dot plots of genes, predicted against real changes, training curves, and how it "
        "was "
        "made. Every table can be saved as CSV, every figure as SVG or PNG. The page shows what the file holds (obsm "
        "X_umap and X_umap_before, layers counterfactual_VALUE) and the documents that it is given.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
