/* options.c: the tables of the kinds "prep", "tabular" and "de". */
#include "prep/options.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

/* ---- prep ---- */

/* "median", or a number. */
static comp_status store_total(void *values, const char *text) {
  comp__prep_options *o = values;
  char *end;
  o->normalize = true;
  o->target_sum = 0.0;
  if (strcmp(text, "median") == 0) return COMP_OK;
  o->target_sum = strtod(text, &end);
  if (end != text && !*end && o->target_sum > 0.0 && o->target_sum <= 1e30) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "'%s' is not 'median' or a positive number", text);
}

static comp_status store_hvg(void *values, const char *text) {
  comp__prep_options *o = values;
  return comp__hvg_parse(&o->hvg, text);
}

#define FIELD(member)          COMP__FIELD(comp__prep_options, member)
#define LIST(member, n_member) COMP__LIST(comp__prep_options, member, n_member)
static const comp_option prep_rows[] = {
    {"force", .type = COMP_OPTION_BOOL, FIELD(force),
     .help = "normalise, log or choose genes even when the data does not look suitable"},
    {"condition", .type = COMP_OPTION_TEXT, FIELD(condition), .metavar = "COL",
     .help = "the column of the conditions: --to-counts looks at each by itself, and --hvg auto compares them"},
    {"label", .type = COMP_OPTION_TEXT, FIELD(label), .metavar = "COL",
     .help = "the column of cell types or the like: --hvg auto also compares conditions within each of them"},
    {"keep", .type = COMP_OPTION_TEXTS, LIST(filter.keep, filter.n_keep), .metavar = "COL=VALUE", .group = "Filters",
     .help = "keep only samples whose column COL has this value, or one of several: COL=A,B"},
    {"drop-genes", .type = COMP_OPTION_TEXTS, LIST(filter.drop_genes, filter.n_drop_genes), .metavar = "REGEX",
     .group = "Filters", .help = "drop genes whose name matches this extended regular expression, such as '^MT-'"},
    {"drop-empty-genes", .type = COMP_OPTION_BOOL, FIELD(filter.drop_empty_genes), .group = "Filters",
     .help = "drop genes that are 0 in all samples kept"},
    {"min-gene-counts", .type = COMP_OPTION_REAL, FIELD(filter.min_gene_counts), .metavar = "N", .group = "Filters",
     .value = "0", .max = 1e30, .help = "drop genes with a smaller total"},
    {"min-gene-cells", .type = COMP_OPTION_INT, FIELD(filter.min_gene_cells), .metavar = "N", .group = "Filters",
     .value = "0", .max = 1e15, .help = "drop genes that are not 0 in fewer samples"},
    {"min-cell-counts", .type = COMP_OPTION_REAL, FIELD(filter.min_cell_counts), .metavar = "N", .group = "Filters",
     .value = "0", .max = 1e30, .help = "drop samples with a smaller total"},
    {"min-cell-genes", .type = COMP_OPTION_INT, FIELD(filter.min_cell_genes), .metavar = "N", .group = "Filters",
     .value = "0", .max = 1e15, .help = "drop samples with fewer genes that are not 0"},
    {"to-counts", .type = COMP_OPTION_BOOL, FIELD(to_counts), .group = "Counts",
     .help = "first undo logarithms and factors of samples, where they can be known, so that X is counts again"},
    {"normalize-total", .type = COMP_OPTION_TEXT, .store = store_total, .metavar = "median|N", .group = "Counts",
     .help = "scale every sample to the same total: the median of the totals, or a number"},
    {"log1p", .type = COMP_OPTION_BOOL, FIELD(log1p), .group = "Counts", .help = "take log(1 + x)"},
    {"keep-counts", .type = COMP_OPTION_BOOL, FIELD(keep_counts), .group = "Counts",
     .help = "keep the counts in layers/counts"},
    {"hvg", .type = COMP_OPTION_TEXT, .store = store_hvg, .metavar = "FLAVOR[:N]", .group = "Counts",
     .help =
         "keep only the N (2000) most variable genes: seurat (as scanpy, on log data), vst (as Seurat v3, on counts), "
         "variance (on log data), auto (vst in each condition, and genes that differ between conditions)"},
    {"hvg-batch", .type = COMP_OPTION_TEXT, FIELD(hvg.batch), .metavar = "COL", .group = "Counts",
     .help = "choose them in each batch and merge: by number of batches and rank; variance: N of each, all of them"},
    {"hvg-bins", .type = COMP_OPTION_INT, FIELD(hvg.bins), .metavar = "N", .group = "Counts", .value = "20", .min = 1,
     .max = 10000, .help = "seurat: bins of the mean expression"},
    {"hvg-span", .type = COMP_OPTION_REAL, FIELD(hvg.span), .metavar = "SHARE", .group = "Counts", .value = "0.3",
     .min = 1e-6, .max = 1, .help = "vst: share of the genes in a loess neighbourhood"},
    {"all-genes", .type = COMP_OPTION_BOOL, FIELD(keep_all_genes), .group = "Counts",
     .help = "mark the variable genes in var, but leave the others in"},
    {"keep-raw", .type = COMP_OPTION_BOOL, FIELD(keep_raw), .group = "Counts",
     .help = "keep all genes in raw when variable genes are chosen"},
    {0},
};
#undef FIELD
#undef LIST

static comp_status finish_prep(void *out, const comp_options *options) {
  comp__prep_options *o = out;
  bool automatic = o->hvg.flavor == COMP_HVG_AUTO;
  o->hvg.condition = o->condition;
  o->hvg.label = o->label;
  if (options && o->condition && !automatic && !o->to_counts)
    return comp__error(COMP_ERR_ARGUMENT, "condition: it goes with to-counts or with hvg auto");
  if (options && o->label && !(automatic && o->condition))
    return comp__error(COMP_ERR_ARGUMENT, "label: it goes with hvg auto and a condition");
  if (!options || o->hvg.flavor != COMP_HVG_NONE) return COMP_OK;
  if (o->keep_raw) return comp__error(COMP_ERR_ARGUMENT, "keep-raw: it needs hvg");
  if (o->hvg.batch) return comp__error(COMP_ERR_ARGUMENT, "hvg-batch: it needs hvg");
  return o->keep_all_genes ? comp__error(COMP_ERR_ARGUMENT, "all-genes: it needs hvg") : COMP_OK;
}

static comp_status check_prep(const void *values) {
  const comp__prep_options *o = values;
  comp_status status = comp__filter_check(&o->filter);
  return status == COMP_OK ? comp__hvg_check(&o->hvg) : status;
}

/* "--hvg seurat" without a number. */
static comp_status base_prep(void *out, const comp_options *options) {
  comp__prep_options *o = out;
  (void)options;
  comp__options_defaults(o, &comp__prep_kind);
  o->hvg.n = 2000;
  return COMP_OK;
}

const comp__options_kind comp__prep_kind = {
    .name = "prep",
    .summary = "filters, normalisation and variable genes of measurements",
    .size = sizeof(comp__prep_options),
    .rows = prep_rows,
    .base = base_prep,
    .finish = finish_prep,
    .check = check_prep,
};

comp__prep_options comp__prep_defaults(void) {
  comp__prep_options options;
  base_prep(&options, NULL);
  return options;
}

comp__filter_options comp__filter_defaults(void) {
  return comp__prep_defaults().filter;
}

comp__hvg_options comp__hvg_defaults(void) {
  return comp__prep_defaults().hvg;
}

/* ---- tabular ---- */

#define FIELD(member)          COMP__FIELD(comp__tabular_options, member)
#define LIST(member, n_member) COMP__LIST(comp__tabular_options, member, n_member)
static const comp_option tabular_rows[] = {
    {"obs", .type = COMP_OPTION_TEXTS, LIST(obs, n_obs), .metavar = "COL", .group = "Tables",
     .help = "a column that is no feature, but a condition or label: it goes to obs"},
    {"drop", .type = COMP_OPTION_TEXTS, LIST(drop, n_drop), .metavar = "COL", .group = "Tables",
     .help = "leave this column of a table out"},
    {"drop-feature", .type = COMP_OPTION_TEXTS, LIST(drop_features, n_drop_features), .metavar = "NAME",
     .group = "Tables", .help = "leave a feature out after encoding, such as COL_VALUE"},
    {"merge", .type = COMP_OPTION_TEXTS, LIST(merge, n_merge), .metavar = "COL=A,B:NEW", .group = "Tables",
     .help = "values A and B of a column become NEW"},
    {"row-names", .type = COMP_OPTION_TEXT, FIELD(names), .metavar = "COL", .group = "Tables", .unset = "their numbers",
     .help = "the column with the names of the rows"},
    {"drop-missing", .type = COMP_OPTION_BOOL, FIELD(missing), .group = "Tables",
     .help = "leave out rows of a table with missing values, in place of an error"},
    {"no-standardize", .type = COMP_OPTION_BOOL, FIELD(raw), .group = "Tables",
     .help = "leave numbers and 0/1 as they are, in place of mean 0 and variance 1"},
    {0},
};
#undef FIELD
#undef LIST

static comp_status check_tabular(const void *values) {
  return comp__tabular_check(values);
}

const comp__options_kind comp__tabular_kind = {
    .name = "tabular",
    .summary = "features of a table of numbers and names",
    .size = sizeof(comp__tabular_options),
    .rows = tabular_rows,
    .check = check_tabular,
};

comp__tabular_options comp__tabular_defaults(void) {
  comp__tabular_options options;
  comp__options_defaults(&options, &comp__tabular_kind);
  return options;
}

/* ---- de ---- */

#define FIELD(member) COMP__FIELD(comp__de_options, member)
static const comp_option de_rows[] = {
    {"groupby", 'g', COMP_OPTION_TEXT, .required = true, FIELD(groupby), .metavar = "COL",
     .help = "the column that holds the two groups"},
    {"target", 't', COMP_OPTION_TEXT, .required = true, FIELD(target), .metavar = "VALUE",
     .help = "the group whose genes are sought"},
    {"reference", 'r', COMP_OPTION_TEXT, FIELD(reference), .metavar = "VALUE", .unset = "all others",
     .help = "the group to compare with"},
    {"label", 'l', COMP_OPTION_TEXT, FIELD(label), .metavar = "COL", .unset = "all samples together",
     .help = "compare within each value of this column, such as a cell type"},
    {"min-samples", .type = COMP_OPTION_INT, FIELD(min_samples), .metavar = "N", .value = "2", .min = 1, .max = 1e15,
     .help = "leave out labels with fewer samples on either side"},
    {"tie-correct", .type = COMP_OPTION_BOOL, FIELD(tie_correct),
     .help = "correct the variance of the scores for ties; scanpy does it only with tie_correct=True"},
    {0},
};

static comp_status check_de(const void *values) {
  const comp__de_options *o = values;
  if (!o->groupby || !o->groupby[0]) return comp__error(COMP_ERR_ARGUMENT, "groupby: a column of obs is needed");
  if (!o->target || !o->target[0])
    return comp__error(COMP_ERR_ARGUMENT, "target: a value of '%s' is needed", o->groupby);
  if (o->reference && strcmp(o->reference, o->target) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "reference: '%s' is the target itself", o->reference);
  return COMP_OK;
}

const comp__options_kind comp__de_kind = {
    .name = "de",
    .summary = "genes that differ between two groups of samples (Wilcoxon)",
    .size = sizeof(comp__de_options),
    .rows = de_rows,
    .check = check_de,
};

comp__de_options comp__de_defaults(void) {
  comp__de_options options;
  comp__options_defaults(&options, &comp__de_kind);
  return options;
}
