/* cmd_counterfactual.c: `comp counterfactual`: what a sample would be under another condition. */
#include <string.h>

#include "cli/predict.h"

const char *const predict_precisions[] = {"f32", "bf16", NULL};

static const predict_options defaults = PREDICT_OPTIONS_INIT;

#define PREDICT_KEY "counterfactual_VALUE"
static const opt_spec options[] = {
    PREDICT_FILES,
    {"to", 't', OPT_STRING, .required = true, OPT_FIELD(predict_options, to), .metavar = "VALUE",
     .help = "the condition to predict"},
    {"from", 'f', OPT_STRING, OPT_FIELD(predict_options, from), .metavar = "VALUE", .unset = "all samples",
     .help = "predict the samples of this condition only; the others keep their own values"},
    {"samples", 'n', OPT_INT, OPT_FIELD(predict_options, samples), .metavar = "N", .min = 0, .max = COMP_MAX_DRAWS,
     .help = "average over N draws from each posterior, and write sd, lower and upper too; 0: decode the mean"},
    {"interval", .kind = OPT_REAL, OPT_FIELD(predict_options, interval), .metavar = "P", .min = 0.001, .max = 0.999,
     .help = "share of the draws between lower and upper"},
    {"seed", .kind = OPT_INT, OPT_FIELD(predict_options, seed), .metavar = "N", .min = 0, .max = 9e15,
     .help = "seed of the draws"},
    {"borrow", .kind = OPT_FLAG, OPT_FIELD(predict_options, borrow),
     .help = "where the data has few samples of the other condition like this one, add the change of those that are "
             "most like it and have some; implies --residual. For kinds that were never seen under that condition"},
    PREDICT_HOW,
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
  comp_read_options read;
  if (!cli_input_options(&read, &o->input)) return cli_usage_error(session, "--comment takes one character");
  if (o->key) key = o->key;
  if (key && (!key[0] || strchr(key, '/'))) return cli_usage_error(session, "--key: '%s' is not a name", key);
  comp_counterfactual_options p = COMP_COUNTERFACTUAL_OPTIONS_INIT;
  p.to = o->to;
  p.from = o->from;
  p.samples = (size_t)o->samples;
  p.interval = o->interval;
  p.residual = o->residual;
  p.residual = p.residual || o->borrow;
  p.borrow = o->borrow;
  p.clip = o->clip;
  p.seed = (uint64_t)o->seed;
  if (strcmp(o->precision, "bf16") == 0) p.precision = COMP_PRECISION_BF16;
  if (comp_counterfactual_options_check(&p) != COMP_OK) return cli_option_error(session);
  if (strcmp(o->output, o->model) == 0) return cli_usage_error(session, "--output: it is the model file");
  comp_model *model;
  comp_status status = comp_model_load(&model, o->model);
  if (status != COMP_OK) return cli_fail(session, status);
  status = comp_counterfactual_file(session->context, model, o->input.path, o->output, &read, &p, key);
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
    .run = run,
};
