/* cmd_counterfactual.c: `comp counterfactual`: what a sample would be under another condition. */
#include <string.h>

#include "cli/predict.h"

static const predict_options defaults = {.model = NULL};

static const opt_spec options[] = {
    PREDICT_FILES,
    {.rows = "counterfactual", OPT_FIELD(predict_options, how)},
    PREDICT_LAYER("counterfactual_VALUE"),
    CLI_INPUT_ROWS(predict_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp counterfactual -i in.h5ad -m m.comp -o out.h5ad --to STIM --from CTRL",
     "control cells as if stimulated, to layers/counterfactual_STIM"},
    {"comp counterfactual -i in.h5ad -m m.comp -o out.h5ad --to STIM --samples 99",
     "with the spread over 99 draws from each posterior"},
    {NULL, NULL},
};

int predict_run(cli_session *session, const predict_options *o, const char *key) {
  if (o->key) key = o->key;
  if (key && (!key[0] || strchr(key, '/'))) return cli_usage_error(session, "--key: '%s' is not a name", key);
  comp_status status = comp_options_check(o->how);
  if (status != COMP_OK) return cli_option_error(session, status);
  if (strcmp(o->output, o->model) == 0) return cli_usage_error(session, "--output: it is the model file");
  comp_model *model;
  status = comp_model_load(&model, o->model);
  if (status != COMP_OK) return cli_fail(session, status);
  status = comp_counterfactual_file(session->context, model, o->input.path, o->output, o->input.read, o->how, key);
  comp_model_free(model);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->input.path);
}

static int run(cli_session *session, const void *values) {
  return predict_run(session, values, NULL);
}

const cli_command cli_counterfactual = {
    .name = "counterfactual",
    .group = "Models",
    .summary = "predict samples under another condition",
    .description =
        "Encodes every sample under its own condition and decodes it under another, to a layer; with --from the obs "
        "column NAME_predicted says which rows are predicted. Values are on the scale that the model was trained on; "
        "expected counts, at each "
        "sample's library size, for a negative binomial model. With --samples the layer is the mean over draws from "
        "the posterior, and NAME_sd, NAME_lower and NAME_upper hold their spread: that of the expected value, not of "
        "single measurements. Data is fitted to the model as in comp embed. A file whose features are not the "
        "model's cannot hold such a layer: then a new one is written, with the model's features.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .over_ranks = true,
    .run = run,
};
