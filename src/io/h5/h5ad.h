/* h5ad.h: what .h5ad files from before AnnData 0.7 have of their own (h5ad_legacy.c); the rest is io/anndata.h. */
#ifndef COMP_IO_H5_H5AD_H
#define COMP_IO_H5_H5AD_H

#include "comp/dataset.h"
#include "io/h5/h5.h"

/* Whether the table (obs, var) is of that layout: one compound dataset. */
bool comp__h5ad_is_legacy(hid_t file, const char *table);

/* The names and columns of such a table, and obsm as one compound dataset, a field a matrix. */
comp_status comp__h5ad_legacy_names(comp__strings *out, comp_context *context, hid_t file, const char *table);
comp_status comp__h5ad_legacy_table(comp_table *out, comp_context *context, hid_t file, const char *table);
comp_status comp__h5ad_legacy_obsm(comp_dataset *dataset, comp_context *context, hid_t file);

#endif
