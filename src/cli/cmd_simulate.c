/* cmd_simulate.c: `comp simulate`: cells under several conditions, with the truth known. The model is in
 * comp/simulate.h. */
#include <string.h>

#include "cli/command.h"
#include "comp/simulate.h"

typedef struct simulate_options {
  comp_simulate_options model;
  const char *output;
  bool truth;
  bool no_truth;
  int compression;
} simulate_options;

static const simulate_options defaults = {.model = COMP_SIMULATE_OPTIONS_INIT, .compression = 4};

#define MODEL(member) OPT_FIELD(simulate_options, model.member)

static const opt_spec options[] = {
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(simulate_options, output), .metavar = "OUT.h5ad",
     .help = "the file to write"},
    {"seed", .kind = OPT_INT, MODEL(seed), .metavar = "S", .max = INFINITY,
     .help = "the same seed and options give the same file"},
    {"truth", .kind = OPT_FLAG, OPT_FIELD(simulate_options, truth),
     .help = "write layers/truth_<condition> whatever their size; otherwise only when they take less than 2 GB"},
    {"no-truth", .kind = OPT_FLAG, OPT_FIELD(simulate_options, no_truth), .help = "leave these layers out"},
    {"compression", .kind = OPT_INT, OPT_FIELD(simulate_options, compression), .metavar = "N", .max = 9,
     .help = "gzip level, 0 (none) to 9"},

    {"cells", .kind = OPT_INT, MODEL(cells), .metavar = "N", .group = "Size", .min = 1, .max = INFINITY,
     .help = "number of cells"},
    {"genes", .kind = OPT_INT, MODEL(genes), .metavar = "G", .group = "Size", .min = 2, .max = INFINITY,
     .help = "number of genes"},
    {"conditions", .kind = OPT_INT, MODEL(conditions), .metavar = "K", .group = "Size", .min = 2, .max = INFINITY,
     .help = "number of conditions: control, treated; or control, treated1, treated2, ..."},
    {"labels", .kind = OPT_INT, MODEL(labels), .metavar = "L", .group = "Size", .min = 1, .max = INFINITY,
     .help = "number of labels (cell types): type1, type2, ..."},
    {"imbalance", .kind = OPT_REAL, MODEL(imbalance), .metavar = "X", .group = "Size", .max = 0.99,
     .help = "0: conditions of equal size; 0.5: each has half the cells of the one before"},
    {"composition", .kind = OPT_REAL, MODEL(composition), .metavar = "X", .group = "Size", .max = 5,
     .help = "how much the shares of labels differ between conditions: standard deviation of their logarithm"},
    {"absent", .kind = OPT_STRING, MODEL(absent), .metavar = "LABEL:CONDITION", .group = "Size",
     .help = "make no cells of this label under this condition", .unset = "none are left out"},

    {"programs", .kind = OPT_INT, MODEL(programs), .metavar = "P", .group = "Biology", .min = 1, .max = 200,
     .help = "dimensions in which the cells of a label vary"},
    {"separation", .kind = OPT_REAL, MODEL(separation), .metavar = "X", .group = "Biology", .max = 5,
     .help = "how far labels are apart: log fold change of a typical marker gene"},
    {"effect", .kind = OPT_REAL, MODEL(effect), .metavar = "X", .group = "Biology", .max = 5,
     .help = "effect of a condition: log fold change of a typical response gene"},
    {"effect-genes", .kind = OPT_REAL, MODEL(effect_genes), .metavar = "X", .group = "Biology", .max = 1,
     .help = "share of the genes that answer in one label"},
    {"specific", .kind = OPT_REAL, MODEL(specific), .metavar = "X", .group = "Biology", .max = 1,
     .help = "how much of the effect is the label's own, 0 to 1"},
    {"heterogeneity", .kind = OPT_REAL, MODEL(heterogeneity), .metavar = "X", .group = "Biology", .max = 1,
     .help = "how much the effect depends on the cell's own state, 0 to 1"},

    {"library", .kind = OPT_REAL, MODEL(library), .metavar = "N", .group = "Sequencing", .max = 1e8,
     .help = "median number of counts in a cell; 0: 0.4 counts a gene"},
    {"library-sd", .kind = OPT_REAL, MODEL(library_sd), .metavar = "X", .group = "Sequencing", .max = 3,
     .help = "standard deviation of its logarithm"},
    {"dispersion", .kind = OPT_REAL, MODEL(dispersion), .metavar = "X", .group = "Sequencing", .max = 100,
     .help = "counts have the variance mean + X mean^2; 0: Poisson"},
    {0},
};

static const cli_example examples[] = {
    {"comp simulate -o cells.h5ad", "makes a small data set"},
    {"comp simulate -o big.h5ad --cells 1000000 --genes 2000 --labels 12", "makes a large one, in little memory"},
    {"comp simulate -o hole.h5ad --absent type2:treated", "leaves out a group, to see what a model says of it"},
    {NULL, NULL},
};

static int run(cli_session *session, const void *values) {
  const simulate_options *o = values;
  comp_simulate_options model = o->model;
  if (o->truth && o->no_truth) return cli_usage_error(session, "--truth and --no-truth exclude each other");
  size_t length = strlen(o->output);
  if (length < 6 || strcmp(o->output + length - 5, ".h5ad") != 0)
    return cli_usage_error(session, "--output: the name of the file must end in .h5ad");
  if (o->truth) model.truth = COMP_TRUTH_ON;
  if (o->no_truth) model.truth = COMP_TRUTH_OFF;
  comp_status status = comp_simulate(session->context, o->output, &model, o->compression);
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
        "answer; the state of each cell in obsm/truth_state. It does not depend on the number of threads.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
