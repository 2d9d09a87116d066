/* cmd_report.c: `comp report`: one page that shows what came out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/command.h"
#include "cli/input.h"
#include "comp/report.h"

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

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether the output would replace something that is read. */
static bool replaces_input(const report_options *o) {
  const char *inputs[] = {o->input.path, o->model, comp_options_get(o->report, "diagnose", NULL, 0)};
  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
    if (inputs[k] && same_file(o->output, inputs[k])) return true;
  for (size_t k = 0; k < o->scores.count; k++)
    if (same_file(o->output, o->scores.items[k])) return true;
  return false;
}

/* What the command line leaves to the program. */
static comp_status complete(const report_options *o) {
  char created[64];
  comp_status status = comp_options_set(o->report, "created", now(created, sizeof created));
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
    .summary = "write one page that shows what came out",
    .description =
        "Writes one HTML page with everything in it, to be opened in a browser, also without a network: a summary in "
        "words with warnings, maps before and after to explore by column, gene or prediction error, training curves, "
        "tables of scores, predicted against real means of genes, and where it all came from. It shows what the file "
        "holds (obsm X_umap and X_umap_before, layers counterfactual_VALUE) and what it is given besides.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
