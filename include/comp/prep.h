/*
 * prep.h: making data ready for training: what `comp prep` and `comp de` do.
 *
 * Counts of genes: comp_prep() does, in this order, whatever its options ask for:
 *
 *     filter samples and genes -> back to counts -> library sizes into obs -> vst or auto genes (on counts) ->
 * normalise
 *     -> log1p -> seurat or variance genes, and those that differ (on log data) -> subset to the genes chosen
 *
 * and records every step, so that comp_prep_apply_record() can do the same to new data. The steps are also there one by
 * one. A table of mixed columns: comp_tabular_encode() makes features of it, and comp_tabular_apply() encodes new rows
 * the same way. Differential expression: comp_de_run().
 *
 *     comp_options *options;
 *     comp_options_new(&options, "prep");
 *     comp_options_add(options, "keep", "in_paper_set=True");
 *     comp_options_set(options, "normalize-total", "median");
 *     comp_options_set_bool(options, "log1p", true);
 *     comp_options_set(options, "hvg", "seurat:2000");
 *     if (comp_prep(&dataset, context, options) != COMP_OK) puts(comp_error_message());
 *
 * Sparse matrices stay sparse. Sums are made in double precision over fixed pieces, so that results are the same bytes
 * at any number of threads.
 */
#ifndef COMP_PREP_H
#define COMP_PREP_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"

/* ---- What the values look like ------------------------------------------------------------------------------- */

typedef enum comp_data_kind {
  COMP_DATA_COUNTS,     /* whole numbers, none negative */
  COMP_DATA_LOG,        /* logarithms of 1 + x */
  COMP_DATA_NORMALIZED, /* samples were scaled to one total, or by size factors; not logged */
  COMP_DATA_CENTERED,   /* some are negative: z-scores, centred values, log ratios */
  COMP_DATA_ESTIMATED,  /* counts with fractions, as RSEM, Salmon or kallisto estimate them */
  COMP_DATA_SCALED,     /* counts, each sample times a factor of its own: dividing by it gives whole numbers back */
  COMP_DATA_NEGATIVE,   /* whole numbers, some negative: no counts */
  COMP_DATA_MIXED       /* samples on different scales */
} comp_data_kind;

typedef struct comp_data_look {
  comp_data_kind kind;
  double min, max; /* zeros that a sparse matrix does not store are included */
  size_t zeros;
  size_t fractions; /* values that are not whole numbers */
  size_t negatives;
  double log_base;     /* COMP_DATA_LOG: 2, 10 or e (2.718...); 0: not known */
  double common_total; /* of all samples, with logarithms undone; 0: there is none */
  bool centred;        /* COMP_DATA_CENTERED: the mean of each feature is 0 */
  bool binary;         /* COMP_DATA_COUNTS: only 0 and 1, where counts would also hold larger numbers */
  bool counts;         /* they are counts (with or without fractions), or comp_to_counts() makes them counts again */
  bool linear;         /* they are on a linear scale, or comp_to_counts() brings them there: see COMP_DATA_MIXED */
  char reason[480];    /* in words, why: "whole numbers from 0 to 1042: counts" */
} comp_data_look;

/* Looks at every value. One that is not finite is an error. */
COMP_API comp_status comp_data_look_at(comp_data_look *out, comp_context *context, const comp_matrix *matrix);

/* The same by condition: `each` (may be NULL) gets one look a level of `groups` (NULL: there are none), and `out` that
 * of all samples together. Counts, estimated and scaled counts go together. Other kinds, other bases of logarithms and
 * other common totals do not: then out->kind is COMP_DATA_MIXED, and its reason lists the conditions. */
COMP_API comp_status comp_data_look_by(comp_data_look *out, comp_data_look *each, comp_context *context,
                                       const comp_matrix *matrix, const comp_groups *groups);

/* "counts", "log", "normalized", "centered", "estimated", "scaled", "negative", "mixed"; NULL: there is no such value.
 * Parsing an unknown name is an error. */
COMP_API const char *comp_data_kind_name(comp_data_kind kind);
COMP_API comp_status comp_data_kind_parse(comp_data_kind *out, const char *name);

/* Brings X back to the scale of counts, by condition (an obs column; NULL: all samples together): undoes logarithms of
 * a known base, and divides a sample by its smallest step where that gives whole numbers. Values that are neither stay
 * as they are. An error when some cannot be brought to a linear scale. */
COMP_API comp_status comp_to_counts(comp_context *context, comp_dataset *dataset, const char *condition);

/* ---- Filters --------------------------------------------------------------------------------------------------- */

/* Options are of the kind "prep", of which the group "Filters" counts. Leaves out samples by column, then genes by
 * name, then samples by counts, then genes by counts. *dataset is replaced by what is left, and the one before is
 * freed; on failure it stays as it is. Nothing left is an error. */
COMP_API comp_status comp_filter(comp_dataset **dataset, comp_context *context, const comp_options *options);

/* ---- Normalisation --------------------------------------------------------------------------------------------- */

/* The obs column that keeps the total of each sample from before it was normalised. */
#define COMP_LIBRARY_SIZE "comp_library_size"

/* Writes the total of each sample to obs. */
COMP_API comp_status comp_library_sizes(comp_context *context, comp_dataset *dataset);

/* Scales every sample to the same total, as scanpy's normalize_total: `target`, or with 0 the median of the totals that
 * are not 0. `*used` (may be NULL) gets the target. Samples without counts stay 0. Refuses what is not counts (with
 * fractions, or times a factor of each sample, or not) unless `force`. */
COMP_API comp_status comp_normalize_total(double *used, comp_context *context, comp_dataset *dataset, double target,
                                          bool force);

/* x -> log(1 + x). Refuses what is logged already, by its record or by its look, unless `force`; values of -1 or less
 * are always refused. */
COMP_API comp_status comp_log1p(comp_context *context, comp_dataset *dataset, bool force);

/* ---- Highly variable genes ------------------------------------------------------------------------------------- */

/*
 * Options are of the kind "prep", of which those for variable genes count. Marks these genes in var, with the column
 * names of scanpy:
 *   highly_variable           bool
 *   means                     seurat: log(1 + mean); else the mean
 *   dispersions, dispersions_norm             seurat
 *   variances, variances_norm, highly_variable_rank   vst (rank 0 is the most variable; missing beyond n)
 *   variances                 variance
 *   differs_by_condition      auto: comp_prep() adds genes that differ between conditions; besides these, as vst
 *   highly_variable_nbatches  with a batch column: the number of batches in which the gene was chosen
 *
 * Merging batches: seurat as scanpy (number of batches, then mean normalised dispersion); vst as Seurat's
 * SelectIntegrationFeatures (number of batches, then median rank; then name); variance: the union.
 */
COMP_API comp_status comp_hvg(comp_context *context, comp_dataset *dataset, const comp_options *options);

/* Leaves only the genes that are marked in var's highly_variable. *dataset is replaced as in comp_filter(). */
COMP_API comp_status comp_hvg_subset(comp_dataset **dataset, comp_context *context);

/* ---- All of it, and again on new data -------------------------------------------------------------------------- */

/* Does what the options (of the kind "prep") ask for, in the order at the top of this file, and records it. *dataset is
 * replaced where samples or genes are left out, the one before freed. On failure it is still valid, but may be half
 * done. */
COMP_API comp_status comp_prep(comp_dataset **dataset, comp_context *context, const comp_options *options);

/* Repeats on new data what the record (comp_dataset_record() of the data that was prepared) says: genes dropped by
 * name, normalised to the recorded total, logged (logarithms of another base or total are undone first); then takes the
 * recorded genes in their order, as comp_align_features() does. Filters of samples and by counts are not repeated. What
 * the new data's own record says is done already is not done again; without a record, data that looks logged is taken
 * as such, with a warning. A record of NULL is that of data that were not prepared: nothing is repeated. */
COMP_API comp_status comp_prep_apply_record(comp_dataset **dataset, comp_context *context, const char *record);

/* Takes the named features, in that order, whatever the order in the data set. Those that it lacks become 0, with a
 * warning that counts them, and var then keeps the names only; when all are lacking it is an error. *dataset is
 * replaced as in comp_filter(). */
COMP_API comp_status comp_align_features(comp_dataset **dataset, comp_context *context, const char *const *names,
                                         size_t n_names);

/* ---- Tables of mixed columns ----------------------------------------------------------------------------------- */

/* Puts tables with the same columns (in any order) below each other. Columns that are missing or of another kind in one
 * of them are an error; strings and categories go together. It should be freed via comp_table_free(). */
COMP_API comp_status comp_table_concat(comp_table **out, const comp_table *const *tables, size_t n_tables);

/* Makes a data set of a table; options are of the kind "tabular". A column of numbers or bools becomes
 * one feature. Each level of strings and categories becomes a 0/1 feature (one-hot), named COLUMN_LEVEL, levels sorted
 * by bytes. Features are standardised
 * to mean 0 and variance 1 (divided by n, as scikit-learn's StandardScaler); a constant one becomes 0, with a warning.
 * The encoding is kept in the record. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_tabular_encode(comp_dataset **out, comp_context *context, const comp_table *table,
                                         const comp_options *options);

/* Encodes new rows as the record of comp_tabular_encode() says. A level that it does not know gives 0 for every feature
 * of its column (before standardising), with a warning. Obs columns may be lacking. It should be freed via
 * comp_dataset_free(). */
COMP_API comp_status comp_tabular_apply(comp_dataset **out, comp_context *context, const comp_table *table,
                                        const char *record);

/* ---- Differential expression ----------------------------------------------------------------------------------- */

/* Results of a comparison: one set of arrays for each label. */
typedef struct comp_de comp_de;

/* Options are of the kind "de". Wilcoxon rank-sum test of every gene, target against reference, as scanpy's
 * rank_genes_groups(method="wilcoxon"). It should be freed via comp_de_free(). */
COMP_API comp_status comp_de_run(comp_de **out, comp_context *context, const comp_dataset *dataset,
                                 const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_de_free(comp_de *de);

/* The labels that were compared, in the order of their column; one without a name ("") when there is no column. */
COMP_API size_t comp_de_label_count(const comp_de *de);
COMP_API const char *comp_de_label_name(const comp_de *de, size_t label);
COMP_API size_t comp_de_gene_count(const comp_de *de);

/* Samples on both sides. */
COMP_API size_t comp_de_target_count(const comp_de *de, size_t label);
COMP_API size_t comp_de_reference_count(const comp_de *de, size_t label);

/* Arrays with one value a gene, in the order of the data set; owned by `de`. */
COMP_API const double *comp_de_scores(const comp_de *de, size_t label);     /* z; positive: more in the target */
COMP_API const double *comp_de_pvals(const comp_de *de, size_t label);      /* two-sided, normal approximation */
COMP_API const double *comp_de_pvals_adj(const comp_de *de, size_t label);  /* Benjamini-Hochberg */
COMP_API const double *comp_de_log2_folds(const comp_de *de, size_t label); /* of the means, logs undone */

/* The genes from the highest score to the lowest: indices into the arrays; the first n are the top n. */
COMP_API const size_t *comp_de_order(const comp_de *de, size_t label);

/* The best `n` genes of each label (0: all) as a table: label, names, scores, logfoldchanges, pvals, pvals_adj.
 * It should be freed via comp_table_free(). */
COMP_API comp_status comp_de_table(comp_table **out, const comp_de *de, const comp_dataset *dataset, size_t n);

#endif
