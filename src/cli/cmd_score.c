/* cmd_score.c: `comp score`: how well embeddings mix conditions and keep labels apart. The library measures. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/scores.h"
#include "cli/streams.h"

typedef struct score_options {
  cli_input input;
  comp_options *score;
  bool per_label;
  const char *json;
} score_options;

static const score_options defaults = {.json = NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(score_options, input),
    {.rows = "score", OPT_FIELD(score_options, score)},
    {"per-label", .kind = OPT_FLAG, OPT_FIELD(score_options, per_label),
     .help = "also print what each label and condition has"},
    {"json", .kind = OPT_FILE, OPT_FIELD(score_options, json), .metavar = "FILE",
     .help = "also write the result to this file, as JSON; '-' writes it to stdout in place of the table"},
    CLI_INPUT_ROWS(score_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp score -i cells.h5ad -c stim -l type", "the paper's metrics of X_comp"},
    {"comp score -i cells.h5ad -u X_comp,X_pca -c batch -l type -m all --json s.json",
     "all metrics of two embeddings side by side"},
    {"comp score -i cells.h5ad -c stim -l type --small-labels shrink --per-label",
     "labels of at least 150 cells, each by itself"},
    {"comp score -i adult.h5ad -c sex --predict sex --predict income --fairness",
     "how well the sex and the income can be predicted from the embedding"},
    {"comp score -i out.h5ad -c stim --counterfactual cf --from CTRL --to STIM",
     "how good predictions are, compared with two simple ones"},
    {NULL, NULL},
};

static int show(cli_session *session, const score_options *o, const comp_scores *scores) {
  if (!o->json || !cli_output_is_stdout(o->json))
    cli_scores_print(scores, o->score, o->per_label, session->common.verbose);
  if (!o->json) return 0;
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  cli_output output;
  if (!cli_output_open(&output, o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  fputs(comp_scores_json(scores), output.file);
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static int run(cli_session *session, const void *values) {
  const score_options *o = values;
  bool needs_x;
  comp_status status = comp_scores_needs_x(&needs_x, o->score);
  if (status != COMP_OK) return cli_option_error(session, status);
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_dataset *dataset = NULL;
  comp_scores *scores = NULL;
  status = cli_input_skip(o->input.read, !needs_x, false);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_scores_run(&scores, session->context, dataset, o->score);
  int code = status != COMP_OK   ? cli_fail_in(session, status, o->input.path)
             : cli_ranks_first() ? show(session, o, scores)
                                 : 0;
  comp_scores_free(scores);
  comp_dataset_free(dataset);
  return code;
}

const cli_command cli_score = {
    .name = "score",
    .group = "Results",
    .summary = "measure how well embeddings mix conditions and keep labels",
    .description =
        "Scores embeddings of the samples. Families of metrics: paper (kBET and the local silhouette, over all samples "
        "and within labels), batch, bio and total (as in scib-metrics), other (MMD). Prints a table with a column for "
        "each embedding; the arrow says which way is better. -v adds what each metric means. With --predict and "
        "--train-on, classifiers show what can be predicted from an embedding. With --counterfactual, predictions of "
        "another condition are compared with real samples of it.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .over_ranks = true,
    .run = run,
};
