/* cmd_report.c: `comp report`: one page that shows what came out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/input.h"
#include "comp/report.h"

typedef struct report_options {
  cli_input input;
  const char *output, *model;
  opt_list scores;
  comp_report_options report;
  int64_t max_samples, n_de;
} report_options;

static const report_options defaults = {
    .input = CLI_INPUT_INIT, .report = COMP_REPORT_OPTIONS_INIT, .max_samples = 100000, .n_de = 50};

#define FIELD(member) OPT_FIELD(report_options, member)
static const opt_spec options[] = {
    CLI_INPUT_FILE(report_options, input),
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "REPORT.html", .help = "the page to write"},
    {"model", 'm', OPT_FILE, FIELD(model), .metavar = "MODEL", .help = "the model: shows its training and its options"},
    {"scores", .kind = OPT_FILE, .repeat = true, FIELD(scores), .metavar = "FILE",
     .help = "scores as comp score --json writes them; may be given several times"},
    {"diagnose", .kind = OPT_FILE, FIELD(report.diagnose), .metavar = "FILE",
     .help = "findings as comp diagnose --json writes them"},
    {"condition", 'c', OPT_STRING, FIELD(report.condition), .metavar = "COL",
     .help = "the column that holds the condition", .unset = "the model's"},
    {"label", 'l', OPT_STRING, FIELD(report.label), .metavar = "COL",
     .help = "the column that holds labels, such as cell types"},
    {"before", .kind = OPT_STRING, FIELD(report.before), .metavar = "NAME", .group = "Page",
     .help = "map in obsm of the data as it was", .unset = "AFTER_before, else X_pca, if any"},
    {"after", .kind = OPT_STRING, FIELD(report.after), .metavar = "NAME", .group = "Page",
     .help = "map in obsm of the representation", .unset = "X_umap, else another one that is there"},
    {"source", .kind = OPT_STRING, FIELD(report.source), .metavar = "TEXT", .group = "Page",
     .help = "where the data came from, as the page names it", .unset = "the name of IN"},
    {"title", .kind = OPT_STRING, FIELD(report.title), .metavar = "TEXT", .group = "Page", .help = "the page's title",
     .unset = "made from the source and the condition"},
    {"max-samples", .kind = OPT_INT, FIELD(max_samples), .metavar = "N", .group = "Page", .min = 1, .max = 1e9,
     .help = "samples on the map; more are thinned out at random"},
    {"gene-size", .kind = OPT_SIZE, FIELD(report.max_gene_bytes), .metavar = "SIZE", .group = "Page",
     .help = "how much of the page genes to colour by may take; the most differing ones come first"},
    {"top", 'n', OPT_INT, FIELD(n_de), .metavar = "N", .group = "Page", .min = 1, .max = 1e6,
     .help = "differing genes to mark in each label"},
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
  const char *inputs[] = {o->input.path, o->model, o->report.diagnose};
  for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
    if (inputs[k] && comp_file_same(o->output, inputs[k])) return true;
  for (size_t k = 0; k < o->scores.count; k++)
    if (comp_file_same(o->output, o->scores.items[k])) return true;
  return false;
}

static int run(cli_session *session, const void *values) {
  const report_options *o = values;
  comp_read_options read;
  if (!cli_input_options(&read, &o->input)) return cli_usage_error(session, "--comment takes one character");
  if (replaces_input(o)) return cli_usage_error(session, "--output: it is a file that is read");
  comp_status status = comp_file_check_writable(o->output);
  if (status != COMP_OK) return cli_fail(session, status);
  comp_report_options report = o->report;
  char created[64];
  report.created = now(created, sizeof created);
  if (!report.source) report.source = o->input.path;
  report.max_samples = (size_t)o->max_samples;
  report.n_de = (size_t)o->n_de;
  report.scores = (const char *const *)o->scores.items;
  report.n_scores = o->scores.count;
  comp_model *model = NULL;
  comp_dataset *dataset = NULL;
  if (o->model) status = comp_model_load(&model, o->model);
  report.model = model;
  if (status != COMP_OK) return cli_fail(session, status);
  status = comp_dataset_read(&dataset, session->context, o->input.path, &read);
  if (status == COMP_OK) status = comp_report_write(session->context, dataset, o->output, &report);
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
