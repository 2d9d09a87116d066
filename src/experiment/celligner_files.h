/*
 * celligner_files.h: tumours and cell lines from the files that were published with Celligner, where a user has them.
 *
 * In FOLDER/celligner, gzipped or not:
 *
 *   TCGA_mat.tsv or TumorCompendium_*.tsv   tumours, log2(TPM + 1): column Gene, then a column a sample
 *   CCLE_mat.csv, CCLE_expression*.csv or OmicsExpression*.csv
 *                                           cell lines, log2(TPM + 1): a row a sample, columns "GENE (ID)"
 *   Celligner_info.csv                      columns sampleID, lineage (or disease), type (tumor, CL)
 *   hgnc_complete_set*.txt                  if there: columns symbol, locus_group
 */
#ifndef COMP_EXPERIMENT_CELLIGNER_FILES_H
#define COMP_EXPERIMENT_CELLIGNER_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"

typedef struct comp__celligner_files {
  char tumours[1024], lines[1024], info[1024];
  char genes[1024]; /* "": there is none */
} comp__celligner_files;

/* *found is false when FOLDER/celligner holds none of the files; only some, or two for one purpose, are an error. */
comp_status comp__celligner_find(bool *found, comp__celligner_files *out, const char *folder);

/* Tumours and cell lines over the genes that both have, by name (of repeated names the first): those among the
 * `n_genes` that vary most in either, and no non-coding RNA or pseudogene by the table of genes. obs has condition
 * (tumor, CL) and tissue, missing where it is not known; samples that are not annotated are left out, with a warning.
 * It should be freed via comp_dataset_free(). */
comp_status comp__celligner_read(comp_dataset **out, comp_context *context, const comp__celligner_files *files,
                                 size_t n_genes);

#endif
