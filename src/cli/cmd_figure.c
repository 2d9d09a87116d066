/* cmd_figure.c: `comp figure`: one figure for print. What it shows is chosen by its kind. */
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "comp/figure.h"

typedef struct figure_options {
  cli_input input;
  const char *kind, *output, *model;
  opt_list embeddings, columns, scores;
  comp_options *figure;
} figure_options;

static const figure_options defaults = {.kind = NULL};

static const char *const kinds[] = {"umap", "history", "counterfactual", "strip", "metrics", NULL};

static const opt_spec positionals[] = {
    {"KIND", .kind = OPT_CHOICE, .required = true, OPT_FIELD(figure_options, kind), .choices = kinds,
     .help = "umap: samples on a map, coloured by columns; history: training curves; counterfactual: predicted against "
             "real means; strip: the error of the top DE genes; metrics: bars of scores"},
    {0},
};

#define FIELD(member) OPT_FIELD(figure_options, member)
static const opt_spec options[] = {
    {"input", 'i', OPT_FILE, FIELD(input.path), .metavar = "IN",
     .help = "the data (umap, counterfactual, strip): .h5ad with the maps or the counterfactual layers"},
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "FILE",
     .help = "the figure to write: .svg, .pdf or .png"},
    {"model", 'm', OPT_FILE, FIELD(model), .metavar = "MODEL", .help = "the model whose training is drawn (history)"},
    {"scores", .kind = OPT_FILE, .repeat = true, FIELD(scores), .metavar = "FILE",
     .help = "scores as comp score --json writes them (metrics); may be given several times"},
    {"use", .kind = OPT_STRING, .repeat = true, FIELD(embeddings), .metavar = "NAME",
     .help = "a map in obsm (umap); may be given several times", .unset = "X_umap_before (if any) and X_umap"},
    {"color", .kind = OPT_STRING, .repeat = true, FIELD(columns), .metavar = "COL",
     .help = "a column to colour samples by (umap); may be given several times", .unset = "--condition and --label"},
    {.rows = "figure", FIELD(figure)},
    CLI_INPUT_ROWS(figure_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp figure umap -i out.h5ad --condition stim --label cell_type -o umap.pdf",
     "before and after, by condition and by cell type"},
    {"comp figure history -m model.comp -o training.svg", "training and validation losses"},
    {"comp figure counterfactual -i out.h5ad -c stim -l type --to STIM -o cf.png",
     "how well each cell type's response is predicted"},
    {"comp figure metrics --scores comp.json --scores harmony.json -o bars.svg", "methods side by side"},
    {NULL, NULL},
};

static const char *text(const figure_options *o, const char *option) {
  return comp_options_get(o->figure, option, NULL, 0);
}

static comp_status draw_history(const figure_options *o) {
  comp_model *model = NULL;
  comp_status status = comp_model_load(&model, o->model);
  if (status == COMP_OK) status = comp_figure_history(model, o->output, o->figure);
  comp_model_free(model);
  return status;
}

static comp_status draw_map(cli_session *session, const figure_options *o, const comp_dataset *dataset) {
  const char *maps[] = {"X_umap_before", "X_umap"}, *columns[] = {text(o, "condition"), text(o, "label")};
  bool before = comp_dataset_matrix(dataset, COMP_SLOT_OBSM, maps[0]) != NULL;
  const char *const *names = o->embeddings.count ? o->embeddings.items : before ? maps : maps + 1;
  size_t n_names = o->embeddings.count ? o->embeddings.count : before ? 2 : 1;
  size_t skip = columns[0] ? 0 : 1, n_columns = columns[0] && columns[1] ? 2 : 1;
  return comp_figure_scatter(session->context, dataset, o->output, names, n_names,
                             o->columns.count ? o->columns.items : columns + skip,
                             o->columns.count ? o->columns.count : n_columns, o->figure);
}

static int draw_data(cli_session *session, const figure_options *o) {
  bool map = strcmp(o->kind, "umap") == 0;
  comp_dataset *dataset = NULL;
  comp_status status = cli_input_skip(o->input.read, map, false);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) {
    if (map)
      status = draw_map(session, o, dataset);
    else if (strcmp(o->kind, "strip") == 0)
      status = comp_figure_strip(session->context, dataset, o->output, o->figure);
    else
      status = comp_figure_counterfactual(session->context, dataset, o->output, o->figure);
  }
  comp_dataset_free(dataset);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->input.path);
}

static int run(cli_session *session, const void *values) {
  const figure_options *o = values;
  bool history = strcmp(o->kind, "history") == 0, metrics = strcmp(o->kind, "metrics") == 0;
  comp_status status = comp_options_check(o->figure);
  if (status != COMP_OK) return cli_option_error(session, status);
  if (history && !o->model) return cli_usage_error(session, "history needs --model");
  if (metrics && !o->scores.count) return cli_usage_error(session, "metrics needs --scores");
  if (!history && !metrics && !o->input.path) return cli_usage_error(session, "%s needs --input", o->kind);
  if (!history && !metrics && !text(o, "condition") && !(o->columns.count || text(o, "label")))
    return cli_usage_error(session, "%s needs --condition", o->kind);
  if ((strcmp(o->kind, "counterfactual") == 0 || strcmp(o->kind, "strip") == 0) && !text(o, "condition"))
    return cli_usage_error(session, "%s needs --condition", o->kind);
  status = comp_figure_check(o->output);
  if (status != COMP_OK) return cli_fail(session, status);
  if (!history && !metrics) return draw_data(session, o);
  status = history ? draw_history(o)
                   : comp_figure_metrics((const char *const *)o->scores.items, o->scores.count, o->output, o->figure);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

const cli_command cli_figure = {
    .name = "figure",
    .group = "Results",
    .summary = "draw a figure for print",
    .description = "Draws one figure at the size of a journal's column or page, as .svg, .pdf or .png: maps before and "
                   "after, training curves, predicted against real means, the error of the top DE genes, or bars of "
                   "scores. Colour-blind readers can distinguish the colours.",
    .examples = examples,
    .options = options,
    .positionals = positionals,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
