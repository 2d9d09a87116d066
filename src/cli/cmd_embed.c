/* cmd_embed.c: `comp embed`: the embedding of every sample. */
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"

typedef struct embed_options {
  cli_input input;
  const char *model, *output, *key;
  bool scales;
  comp_options *embed;
} embed_options;

static const embed_options defaults = {.key = "X_comp"};

static const opt_spec options[] = {
    CLI_INPUT_FILE(embed_options, input),
    {"model", 'm', OPT_FILE, .required = true, OPT_FIELD(embed_options, model), .metavar = "MODEL",
     .help = "the model file, from comp train"},
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(embed_options, output), .metavar = "OUT",
     .help = "the .h5ad or .zarr to write: the input with the result added; it may be the input"},
    {"key", .kind = OPT_STRING, OPT_FIELD(embed_options, key), .metavar = "NAME",
     .help = "the name of the result in obsm"},
    {"scales", .kind = OPT_FLAG, OPT_FIELD(embed_options, scales),
     .help = "also write the standard deviations of the posteriors, to obsm/NAME_scale"},
    {.rows = "embed", OPT_FIELD(embed_options, embed)},
    CLI_INPUT_ROWS(embed_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp embed -i ready.h5ad -m model.comp -o cells.h5ad", "posterior means, to obsm/X_comp"},
    {"comp embed -i new_cells.h5ad -m model.comp -o new_cells.h5ad", "other cells, in place: prepared as the model's"},
    {"comp embed -i people.csv -m fair.comp -o people.h5ad --sample --seed 1", "draws, for an audit"},
    {NULL, NULL},
};

static int run(cli_session *session, const void *values) {
  const embed_options *o = values;
  if (!o->key[0] || strchr(o->key, '/')) return cli_usage_error(session, "--key: '%s' is not a name", o->key);
  if (strcmp(o->output, o->model) == 0) return cli_usage_error(session, "--output: it is the model file");
  comp_model *model;
  comp_status status = comp_model_load(&model, o->model);
  if (status != COMP_OK) return cli_fail(session, status);
  status =
      comp_embed_file(session->context, model, o->input.path, o->output, o->input.read, o->embed, o->key, o->scales);
  comp_model_free(model);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->input.path);
}

const cli_command cli_embed = {
    .name = "embed",
    .group = "Models",
    .summary = "compute the embedding of every sample",
    .description =
        "Writes the posterior means of a trained model to obsm. The data need not be what the model was trained on: it "
        "is prepared as the model's data was, unless its record says that it is; features are found by name, in any "
        "order, what is lacking is filled with the training mean, and what the model does not know is ignored. "
        "Everything else in the file stays as it is.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .over_ranks = true,
    .run = run,
};
