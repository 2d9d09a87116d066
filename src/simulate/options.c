/* options.c: the table of the kind "simulate". */
#include "simulate/options.h"

#include "core/error.h"
#include "simulate/world.h"

#define FIELD(member) COMP__FIELD(comp__simulate_options, member)
static const comp_option rows[] = {
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "S", .value = "0", .max = 9e15,
     .help = "the same seed and options give the same data"},
    {"truth", .type = COMP_OPTION_BOOL, FIELD(with_truth),
     .help = "write layers/truth_<condition> whatever their size; otherwise only when they take less than 2 GB"},
    {"no-truth", .type = COMP_OPTION_BOOL, FIELD(without_truth), .help = "leave these layers out"},
    {"cells", .type = COMP_OPTION_INT, FIELD(cells), .metavar = "N", .group = "Size", .value = "5000", .min = 1,
     .max = 1099511627776, .help = "number of cells"},
    {"genes", .type = COMP_OPTION_INT, FIELD(genes), .metavar = "G", .group = "Size", .value = "1000", .min = 2,
     .max = 10000000, .help = "number of genes"},
    {"conditions", .type = COMP_OPTION_INT, FIELD(conditions), .metavar = "K", .group = "Size", .value = "2", .min = 2,
     .max = 100000, .help = "number of conditions: control, treated; or control, treated1, and so on"},
    {"labels", .type = COMP_OPTION_INT, FIELD(labels), .metavar = "L", .group = "Size", .value = "5", .min = 1,
     .max = 100000, .help = "number of labels (cell types): type1, type2 and so on"},
    {"imbalance", .type = COMP_OPTION_REAL, FIELD(imbalance), .metavar = "X", .group = "Size", .value = "0",
     .max = 0.99, .help = "0: conditions of equal size; 0.5: each has half the cells of the one before"},
    {"composition", .type = COMP_OPTION_REAL, FIELD(composition), .metavar = "X", .group = "Size", .value = "0",
     .max = 5,
     .help = "how much the shares of labels differ between conditions: standard deviation of their logarithm"},
    {"absent", .type = COMP_OPTION_TEXT, FIELD(absent), .metavar = "LABEL:CONDITION", .group = "Size",
     .unset = "none are left out", .help = "make no cells of this label under this condition"},
    {"programs", .type = COMP_OPTION_INT, FIELD(programs), .metavar = "P", .group = "Biology", .value = "5", .min = 1,
     .max = 200, .help = "dimensions in which the cells of a label vary"},
    {"separation", .type = COMP_OPTION_REAL, FIELD(separation), .metavar = "X", .group = "Biology", .value = "1.5",
     .max = 5, .help = "how much labels differ: log fold change of a typical marker gene"},
    {"effect", .type = COMP_OPTION_REAL, FIELD(effect), .metavar = "X", .group = "Biology", .value = "1", .max = 5,
     .help = "effect of a condition: log fold change of a typical response gene"},
    {"effect-genes", .type = COMP_OPTION_REAL, FIELD(effect_genes), .metavar = "X", .group = "Biology", .value = "0.1",
     .max = 1, .help = "share of the genes that respond in one label"},
    {"specific", .type = COMP_OPTION_REAL, FIELD(specific), .metavar = "X", .group = "Biology", .value = "0.5",
     .max = 1, .help = "how much of the effect is the label's own, 0 to 1"},
    {"heterogeneity", .type = COMP_OPTION_REAL, FIELD(heterogeneity), .metavar = "X", .group = "Biology",
     .value = "0.75", .max = 1, .help = "how much the effect depends on the cell's own state, 0 to 1"},
    {"library", .type = COMP_OPTION_REAL, FIELD(library), .metavar = "N", .group = "Sequencing", .value = "0",
     .max = 1e8, .help = "median number of counts in a cell; 0: 0.4 counts a gene"},
    {"library-sd", .type = COMP_OPTION_REAL, FIELD(library_sd), .metavar = "X", .group = "Sequencing", .value = "0.35",
     .max = 3, .help = "standard deviation of its logarithm"},
    {"dispersion", .type = COMP_OPTION_REAL, FIELD(dispersion), .metavar = "X", .group = "Sequencing", .value = "0.2",
     .max = 100, .help = "counts have the variance mean + X mean^2; 0: Poisson"},
    {0},
};

static comp_status finish(void *out, const comp_options *options) {
  comp__simulate_options *o = out;
  (void)options;
  if (o->with_truth && o->without_truth)
    return comp__error(COMP_ERR_ARGUMENT, "truth: it and no-truth exclude each other");
  o->truth = o->with_truth ? COMP_TRUTH_ON : o->without_truth ? COMP_TRUTH_OFF : COMP_TRUTH_AUTO;
  return COMP_OK;
}

static comp_status check(const void *values) {
  const comp__simulate_options *o = values;
  size_t absent;
  if (o->cells < o->conditions * o->labels)
    return comp__error(COMP_ERR_ARGUMENT, "cells must be at least conditions x labels = %zu, not %zu",
                       o->conditions * o->labels, o->cells);
  return comp__sim_absent_group(&absent, o);
}

const comp__options_kind comp__simulate_kind = {
    .name = "simulate",
    .summary = "single-cell data whose truth is known",
    .size = sizeof(comp__simulate_options),
    .rows = rows,
    .finish = finish,
    .check = check,
};

comp__simulate_options comp__simulate_defaults(void) {
  comp__simulate_options options;
  comp__options_defaults(&options, &comp__simulate_kind);
  return options;
}
