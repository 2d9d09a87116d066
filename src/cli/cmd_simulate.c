/* cmd_simulate.c: `comp simulate`: cells under several conditions, with the truth known. The model is in
 * comp/simulate.h. */
#include <string.h>

#include "cli/command.h"
#include "comp/io.h"
#include "comp/simulate.h"

typedef struct simulate_options {
  const char *output;
  comp_options *model, *write;
} simulate_options;

static const simulate_options defaults = {.output = NULL};

static const opt_spec options[] = {
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(simulate_options, output), .metavar = "OUT.h5ad",
     .help = "the file to write"},
    {.rows = "simulate", OPT_FIELD(simulate_options, model)},
    {.rows = "write", OPT_FIELD(simulate_options, write)},
    {0},
};

static const cli_example examples[] = {
    {"comp simulate -o cells.h5ad", "makes a small data set"},
    {"comp simulate -o big.h5ad --cells 1000000 --genes 2000 --labels 12", "makes a large one, in little memory"},
    {"comp simulate -o hole.h5ad --absent type2:treated", "leaves out a group, to see what a model predicts for it"},
    {NULL, NULL},
};

static int run(cli_session *session, const void *values) {
  const simulate_options *o = values;
  comp_status status = comp_options_check(o->model);
  if (status != COMP_OK) return cli_option_error(session, status);
  size_t length = strlen(o->output);
  if (length < 6 || strcmp(o->output + length - 5, ".h5ad") != 0)
    return cli_usage_error(session, "--output: the name of the file must end in .h5ad");
  status = comp_dataset_check_write(NULL, o->output, o->write);
  if (status == COMP_OK) status = comp_simulate_file(session->context, o->output, o->model, o->write);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

const cli_command cli_simulate = {
    .name = "simulate",
    .group = "Data",
    .summary = "make single-cell data whose truth is known",
    .description =
        "Makes counts of single cells of several types under several conditions. What each cell would express under "
        "every condition, free of noise, goes to layers/truth_<condition>: expected counts at the median library size, "
        "so that log1p of it compares with data that was normalised to that total and logged. The effect of a "
        "condition depends on the cell's type and on its own state, which is not Gaussian.\n\nThe file has the counts "
        "in X; condition, label and library_size in obs; response_<condition> in var, which marks the genes that "
        "respond; the state of each cell in obsm/truth_state. It does not depend on the number of threads.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
