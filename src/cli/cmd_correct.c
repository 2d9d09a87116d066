/* cmd_correct.c: `comp correct`: all samples as if they were of one condition. */
#include "cli/predict.h"

static const predict_options defaults = {.model = NULL};

static const opt_spec options[] = {
    PREDICT_FILES,
    {.rows = "counterfactual", .only = "to residual clip precision", OPT_FIELD(predict_options, how)},
    PREDICT_LAYER("corrected"),
    CLI_INPUT_ROWS(predict_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp correct -i in.h5ad -m model.comp -o out.h5ad --to batch1", "every cell as if from batch1"},
    {"comp correct -i in.h5ad -m model.comp -o out.h5ad --to batch1 --residual",
     "keeps what the model does not explain"},
    {NULL, NULL},
};

static int run(cli_session *session, const void *values) {
  return predict_run(session, values, "corrected");
}

const cli_command cli_correct = {
    .name = "correct",
    .group = "Models",
    .summary = "decode all samples under one condition",
    .description =
        "Removes the effect of the condition (a batch, a protocol) in the space of the features: every sample is "
        "encoded under its own condition and decoded under one, the same for all, to layers/corrected. Samples of that "
        "condition are decoded too, so that all are equally smooth; --residual keeps them as they are, and adds to the "
        "others only the change that the model sees.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .over_ranks = true,
    .run = run,
};
