/* options.c: the tables of the kinds "figure" and "report", and the public functions that take them. */
#include "report/options.h"

#include "core/error.h"

/* ---- Figures --------------------------------------------------------------------------------------------------- */

#define FIGURE(member) COMP__FIELD(comp__figure_options, member)
#define LOOK(member)   FIGURE(member), .group = "Look"
static const comp_option figure_rows[] = {
    {"condition", 'c', COMP_OPTION_TEXT, FIGURE(condition), .metavar = "COL",
     .help = "the column that holds the condition"},
    {"label", 'l', COMP_OPTION_TEXT, FIGURE(label), .metavar = "COL",
     .help = "the column that holds labels, such as cell types"},
    {"from", .type = COMP_OPTION_TEXT, FIGURE(from), .metavar = "VALUE",
     .help = "the condition that was changed (counterfactual, strip)", .unset = "the first other condition"},
    {"to", .type = COMP_OPTION_TEXT, FIGURE(to), .metavar = "VALUE",
     .help = "the condition that was predicted (counterfactual, strip)", .unset = "the last that was predicted"},
    {"top", 'n', COMP_OPTION_INT, FIGURE(n_de), .metavar = "N", .value = "50", .min = 1, .max = 1e6,
     .help = "top DE genes to mark in each label (counterfactual, strip)"},
    {"title", .type = COMP_OPTION_TEXT, LOOK(title), .metavar = "TEXT", .help = "a title above it"},
    {"width", .type = COMP_OPTION_REAL, LOOK(width), .metavar = "MM", .value = "0", .max = 1000,
     .help = "width in millimetres; 0: a column or a page, by the content"},
    {"font", .type = COMP_OPTION_REAL, LOOK(font), .metavar = "PT", .value = "7", .min = 4, .max = 24,
     .help = "size of the text in points"},
    {"dpi", .type = COMP_OPTION_REAL, LOOK(dpi), .metavar = "N", .value = "300", .min = 50, .max = 1200,
     .help = "dots an inch of .png files, and of dense clouds of points in the others"},
    {0},
};

static comp_status check_figure(const void *values) {
  const comp__figure_options *o = values;
  if (o->width == 0 || o->width >= 40) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "width: %g is neither 0 nor 40 to 1000 mm", o->width);
}

const comp__options_kind comp__figure_kind = {
    .name = "figure",
    .summary = "a figure for print: its look, and which change of condition it is about",
    .size = sizeof(comp__figure_options),
    .rows = figure_rows,
    .check = check_figure,
};

comp__figure_options comp__figure_defaults(void) {
  comp__figure_options options;
  comp__options_defaults(&options, &comp__figure_kind);
  return options;
}

comp_status comp_figure_scatter(comp_context *context, const comp_dataset *dataset, const char *path,
                                const char *const *embeddings, size_t n_embeddings, const char *const *columns,
                                size_t n_columns, const comp_options *options) {
  COMP__NEED(context, dataset, path, embeddings || !n_embeddings, columns || !n_columns);
  comp__figure_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__figure_kind, options);
  if (status != COMP_OK) return status;
  return comp__figure_scatter(context, dataset, path, embeddings, n_embeddings, columns, n_columns, &plain);
}

comp_status comp_figure_history(const comp_model *model, const char *path, const comp_options *options) {
  COMP__NEED(model, path);
  comp__figure_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__figure_kind, options);
  return status == COMP_OK ? comp__figure_history(model, path, &plain) : status;
}

comp_status comp_figure_frontier(const char *json, const char *path, const comp_options *options) {
  COMP__NEED(json, path);
  comp__figure_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__figure_kind, options);
  return status == COMP_OK ? comp__figure_frontier(json, path, &plain) : status;
}

comp_status comp_figure_counterfactual(comp_context *context, const comp_dataset *dataset, const char *path,
                                       const comp_options *options) {
  COMP__NEED(context, dataset, path);
  comp__figure_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__figure_kind, options);
  return status == COMP_OK ? comp__figure_counterfactual(context, dataset, path, &plain) : status;
}

comp_status comp_figure_strip(comp_context *context, const comp_dataset *dataset, const char *path,
                              const comp_options *options) {
  COMP__NEED(context, dataset, path);
  comp__figure_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__figure_kind, options);
  return status == COMP_OK ? comp__figure_strip(context, dataset, path, &plain) : status;
}

comp_status comp_figure_metrics(const char *const *score_files, size_t n_files, const char *path,
                                const comp_options *options) {
  COMP__NEED(score_files || !n_files, path);
  comp__figure_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__figure_kind, options);
  return status == COMP_OK ? comp__figure_metrics(score_files, n_files, path, &plain) : status;
}

/* ---- The page -------------------------------------------------------------------------------------------------- */

#define REPORT(member) COMP__FIELD(comp__report_options, member)
#define PAGE(member)   REPORT(member), .group = "Page"
static const comp_option report_rows[] = {
    {"scores", .type = COMP_OPTION_TEXTS, COMP__LIST(comp__report_options, scores, n_scores), .metavar = "FILE",
     .help = "scores as comp score --json writes them; may be given several times"},
    {"diagnose", .type = COMP_OPTION_FILE, REPORT(diagnose), .metavar = "FILE",
     .help = "findings as comp diagnose --json writes them"},
    {"condition", 'c', COMP_OPTION_TEXT, REPORT(condition), .metavar = "COL",
     .help = "the column that holds the condition", .unset = "the model's"},
    {"label", 'l', COMP_OPTION_TEXT, REPORT(label), .metavar = "COL",
     .help = "the column that holds labels, such as cell types"},
    {"before", .type = COMP_OPTION_TEXT, PAGE(before), .metavar = "NAME", .help = "map in obsm of the data as it was",
     .unset = "AFTER_before, else X_pca, if any"},
    {"after", .type = COMP_OPTION_TEXT, PAGE(after), .metavar = "NAME", .help = "map in obsm of the embedding",
     .unset = "X_umap, else another one that is there"},
    {"source", .type = COMP_OPTION_TEXT, PAGE(source), .metavar = "TEXT",
     .help = "where the data came from, as the page names it"},
    {"command", .type = COMP_OPTION_TEXT, PAGE(command), .metavar = "TEXT",
     .help = "the command line that made it, as the page names it"},
    {"created", .type = COMP_OPTION_TEXT, PAGE(created), .metavar = "TEXT", .help = "when, as the page names it",
     .library_only = "the program takes the time from the clock"},
    {"title", .type = COMP_OPTION_TEXT, PAGE(title), .metavar = "TEXT", .help = "the page's title",
     .unset = "made from the source and the condition"},
    {"max-samples", .type = COMP_OPTION_INT, PAGE(max_samples), .metavar = "N", .value = "100000", .min = 1, .max = 1e9,
     .help = "samples on the map; more are thinned out at random"},
    {"gene-size", .type = COMP_OPTION_BYTES, PAGE(max_gene_bytes), .metavar = "SIZE", .value = "12M",
     .help = "how much of the page the values of genes may take; the top DE genes come first"},
    {"top", 'n', COMP_OPTION_INT, PAGE(n_de), .metavar = "N", .value = "50", .min = 1, .max = 1e6,
     .help = "top DE genes to mark in each label"},
    {0},
};

const comp__options_kind comp__report_kind = {
    .name = "report",
    .summary = "the HTML report of the results",
    .size = sizeof(comp__report_options),
    .rows = report_rows,
};

comp__report_options comp__report_defaults(void) {
  comp__report_options options;
  comp__options_defaults(&options, &comp__report_kind);
  return options;
}

comp_status comp_report_write(comp_context *context, const comp_dataset *dataset, const comp_model *model,
                              const char *path, const comp_options *options) {
  COMP__NEED(context, dataset, path);
  comp__report_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__report_kind, options);
  return status == COMP_OK ? comp__report_write(context, dataset, model, path, &plain) : status;
}
