/* baseline.h: what the methods share. A method is one file with one `const comp__baseline`, and a row in baseline.c. */
#ifndef COMP_BASELINE_BASELINE_H
#define COMP_BASELINE_BASELINE_H

#include "baseline/options.h"
#include "core/dataset.h"

/* One run: what a method reads, and where it puts its results. */
typedef struct comp__baseline_run {
  comp_context *context;
  const comp_dataset *dataset; /* with X */
  const comp__baseline_options *options;
  size_t components; /* the option, or the method's default */
  comp_groups batch; /* the condition: no sample without a value, two levels or more; empty
                        for a method that needs none */
  comp_matrix *embedding, *layer, *counterfactual; /* out: dense; the layers stay NULL when the method makes none */
} comp__baseline_run;

typedef struct comp__baseline {
  comp_baseline_method method;
  comp_status (*run)(comp__baseline_run *run);
} comp__baseline;

extern const comp__baseline comp__baseline_pca, comp__baseline_combat, comp__baseline_harmony, comp__baseline_harmony2,
    comp__baseline_mnn, comp__baseline_celligner, comp__baseline_scgen, comp__baseline_seurat_cca;

/* The groups of an obs column in which no value may be missing. They should be released via comp_groups_release(). */
comp_status comp__baseline_groups(comp_groups *out, const comp_dataset *dataset, const char *column);

/* The level of that name, or an error that suggests the nearest. */
comp_status comp__baseline_level(size_t *out, const comp_groups *groups, const char *value, const char *column);

/* Whether x has so many principal components; else an error that says how many it has. */
comp_status comp__baseline_check_components(const comp__baseline_run *run, const comp_matrix *x);

/* The first run->components principal components of x, [rows, components] dense. It should be freed via
 * comp_matrix_free(). */
comp_status comp__baseline_scores(comp_matrix **out, comp__baseline_run *run, const comp_matrix *x);

/* Where a method starts that works on an embedding: a copy of the entry options->rep of obsm, or the principal
 * components of X. It should be freed via comp_matrix_free(). */
comp_status comp__baseline_start(comp_matrix **out, comp__baseline_run *run);

/* Both are lists of row numbers by batch: rows[start[b]] .. rows[start[b + 1] - 1], ascending. They should be freed via
 * comp__free(). */
comp_status comp__baseline_rows(size_t **rows, size_t **start, const comp_groups *groups);

#endif
