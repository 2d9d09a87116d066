/* options.c: the table of the kind "baseline". */
#include "baseline/options.h"

#define FIELD(member)          COMP__FIELD(comp__baseline_options, member)
#define LIST(member, n_member) COMP__LIST(comp__baseline_options, member, n_member)
static const comp_option rows[] = {
    {"condition", 'c', COMP_OPTION_TEXT, FIELD(condition), .metavar = "COL",
     .help = "the column whose effect is removed; all methods but pca, which removes nothing, require it"},
    {"components", .type = COMP_OPTION_INT, FIELD(components), .metavar = "N", .group = "Method", .min = 1,
     .max = 10000, .unset = "as the list of methods says",
     .help = "principal components; X must have more samples, and as many features that vary"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .group = "Method", .value = "0", .max = 9e15,
     .help = "seed of all random numbers"},
    {"covariates", .type = COMP_OPTION_NAMES, LIST(covariates, n_covariates), .metavar = "COL,COL", .group = "Method",
     .help = "further columns: combat keeps their effect (for numbers it fits a slope), harmony removes "
             "it"},
    {"rep", .type = COMP_OPTION_TEXT, FIELD(rep), .metavar = "NAME", .group = "Method",
     .unset = "principal components of X", .help = "start from this entry of obsm"},
    {"k", 'k', COMP_OPTION_INT, FIELD(k), .metavar = "N", .group = "Method", .min = 1, .max = 10000,
     .unset = "20; 5 in seurat-cca", .help = "neighbours among which mutual ones are sought"},
    {"order", .type = COMP_OPTION_NAMES, LIST(order, n_order), .metavar = "A,B,...", .group = "Method",
     .unset = "the largest first", .help = "the order in which conditions are merged: all of them"},
    {"reference", 'r', COMP_OPTION_TEXT, FIELD(reference), .metavar = "VALUE", .group = "Method",
     .unset = "the largest", .help = "the condition that the others are moved to"},
    {"label", 'l', COMP_OPTION_TEXT, FIELD(label), .metavar = "COL", .group = "Method", .unset = "all samples alike",
     .help = "a column, such as a cell type, whose values count the same for the shift between conditions"},
    {"to", .type = COMP_OPTION_TEXT, FIELD(to), .metavar = "VALUE", .group = "Method",
     .unset = "the other one of two conditions", .help = "the condition to predict in layers/scgen_counterfactual"},
    {"nonparametric", .type = COMP_OPTION_BOOL, FIELD(nonparametric), .group = "Method",
     .help = "take the effects on all other genes as the prior, in place of fitted distributions"},
    {"mean-only", .type = COMP_OPTION_BOOL, FIELD(mean_only), .group = "Method",
     .help = "correct means, and leave variances as they are"},
    {"theta", .type = COMP_OPTION_REAL, FIELD(theta), .metavar = "T", .group = "Method", .value = "2", .max = 1e6,
     .help = "weight of diversity: more mixes more"},
    {"sigma", .type = COMP_OPTION_REAL, FIELD(sigma), .metavar = "S", .group = "Method", .value = "0.1", .min = 1e-4,
     .max = 1e6, .help = "width of soft assignment"},
    {"lambda", .type = COMP_OPTION_REAL, FIELD(lambda), .metavar = "L", .group = "Method", .value = "1", .min = 1e-6,
     .max = 1e9, .help = "ridge penalty: more corrects less"},
    {"alpha", .type = COMP_OPTION_REAL, FIELD(alpha), .metavar = "A", .group = "Method", .value = "0.2", .min = 1e-6,
     .max = 1e6,
     .help = "ridge penalty of harmony2, as a share of the samples of a condition that a cluster would have by chance: "
             "more corrects less"},
    {"prune", .type = COMP_OPTION_REAL, FIELD(prune), .metavar = "SHARE", .group = "Method", .value = "1e-5", .max = 1,
     .help = "harmony2 does not correct a condition in clusters that have less than this share of its samples"},
    {"tau", .type = COMP_OPTION_REAL, FIELD(tau), .metavar = "N", .group = "Method", .value = "0", .max = 1e9,
     .help = "levels with fewer samples a cluster count less for diversity; 0: all count the same"},
    {"block", .type = COMP_OPTION_REAL, FIELD(block), .metavar = "SHARE", .group = "Method", .value = "0.05",
     .min = 1e-4, .max = 1, .help = "share of the samples that is assigned at once"},
    {"clusters", .type = COMP_OPTION_INT, FIELD(clusters), .metavar = "N", .group = "Method", .min = 1, .max = 1e6,
     .unset = "by method and samples",
     .help =
         "number of clusters: samples / 30 and at most 100 in harmony; in celligner of each condition, by k-means in "
         "place of Leiden"},
    {"max-iter", .type = COMP_OPTION_INT, FIELD(max_iter), .metavar = "N", .group = "Method", .value = "10", .min = 1,
     .max = 1e6, .help = "rounds of clustering and correction, at most"},
    {"max-cluster", .type = COMP_OPTION_INT, FIELD(max_cluster), .metavar = "N", .group = "Method", .min = 1,
     .max = 1e6, .unset = "20; 4 in harmony2", .help = "steps of one clustering, at most"},
    {0},
};

const comp__options_kind comp__baseline_kind = {
    .name = "baseline", .summary = "other integration methods", .size = sizeof(comp__baseline_options), .rows = rows};

comp__baseline_options comp__baseline_defaults(void) {
  comp__baseline_options options;
  comp__options_defaults(&options, &comp__baseline_kind);
  return options;
}
