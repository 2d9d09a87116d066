/* cmd_run.c: `comp run`: from a data file to a folder with everything in it. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/summary.h"
#include "comp/pipeline.h"

typedef struct run_options {
  comp_options *run;
} run_options;

static const run_options defaults = {NULL};

static const opt_spec options[] = {{.rows = "run", OPT_FIELD(run_options, run)}, {0}};

static const cli_example examples[] = {
    {"comp run -i cells.h5ad --condition stim --label cell_type -o out", "everything, with defaults"},
    {"comp run -i cells.h5ad -c batch -l cell_type --compare harmony,combat -o out", "compared with two other methods"},
    {"comp run -i people.csv -c sex --protect --target income -o out",
     "a table: how well the sex is hidden, and how well the income can still be predicted"},
    {NULL, NULL},
};

static int run(cli_session *session, const void *values) {
  const run_options *o = values;
  comp_run_result *result = NULL;
  comp_status status = comp_run(&result, session->context, o->run);
  if (status == COMP_OK) cli_summary_print(result, o->run);
  comp_run_result_free(result);
  if (status == COMP_ERR_ARGUMENT) return cli_option_error(session, status);
  int code = status == COMP_OK ? 0 : cli_fail(session, status);
  if (status == COMP_ERR_INTERRUPTED && !session->common.quiet)
    fputs("give the same command again to go on from here\n", stderr);
  return code;
}

const cli_command cli_run = {
    .name = "run",
    .group = "Start here",
    .summary = "from a data file to a report, in one command",
    .description =
        "Looks at the data, says what it will do and why, prepares, trains, embeds, draws maps, predicts each sample "
        "under each condition, scores it all, and writes a folder: data.h5ad (the data with X_comp, X_umap, "
        "counterfactual and corrected layers), model.safetensors, scores.json, diagnose.json, figures, report.html and "
        "run.json, which records versions, options, the digest of the data and every step. Each step is shown as the "
        "command that does the same alone. A run that was stopped goes on where it was; after a change of options "
        "only what depends on them is done again, and a run that fails leaves earlier results as they were.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
