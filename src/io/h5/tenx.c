/*
 * tenx.c: reading 10x Genomics .h5 files.
 *
 * Cell Ranger 3 and later: a group `matrix` with barcodes, data, indices, indptr, shape and features/{id, name,
 * feature_type, genome}. Cell Ranger 2: a group a genome with barcodes, data, gene_names, genes, indices, indptr,
 * shape. Both hold genes x cells by columns, which is cells x genes by rows.
 */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "io/anndata.h"
#include "io/format.h"
#include "io/h5/array.h"
#include "io/h5/h5_tree.h"
#include "io/h5/tenx.h"

static bool is_version2(hid_t file, const char *group) {
  char path[512];
  if (snprintf(path, sizeof path, "%s/barcodes", group) >= (int)sizeof path) return false;
  if (comp__h5_find(file, path) != COMP__H5_DATASET) return false;
  snprintf(path, sizeof path, "%s/gene_names", group);
  return comp__h5_find(file, path) == COMP__H5_DATASET;
}

bool comp__tenx_is(hid_t file) {
  comp__strings members = {0};
  bool found = comp__h5_find(file, "matrix/barcodes") == COMP__H5_DATASET;
  if (!found && comp__h5_members(&members, file) != COMP_OK)
    comp__h5_doubt(file, 0);
  else if (!found)
    for (size_t i = 0; i < members.count && !found; i++) found = is_version2(file, comp__strings_get(&members, i));
  comp__strings_release(&members);
  return found;
}

/* The group of a version 2 file: it must be the only one. */
static comp_status find_genome(char **out, hid_t file) {
  comp__strings members = {0};
  char list[512] = "";
  size_t used = 0, count = 0;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__h5_members(&members, file));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (!is_version2(file, name)) continue;
    if (count == 0) COMP__TRY(comp__strdup(out, name));
    if (used < sizeof list) used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", name);
    count++;
  }
  if (count == 0) COMP__FAIL(COMP_ERR_FORMAT, "it has neither a group 'matrix' nor one of a genome");
  if (count > 1)
    COMP__FAIL(COMP_ERR_DATA, "it holds %zu genomes (%s); write one of them to a file of its own first", count, list);
done:
  comp__strings_release(&members);
  if (status != COMP_OK) {
    comp__free(*out);
    *out = NULL;
  }
  return status;
}

comp_status comp__tenx_open(comp__tenx *out, hid_t file) {
  comp_status status = COMP_OK;
  char *genome = NULL;
  *out = (comp__tenx){H5I_INVALID_HID, false, ""};
  out->version3 = comp__h5_find(file, "matrix/barcodes") == COMP__H5_DATASET;
  if (!out->version3) COMP__TRY(find_genome(&genome, file));
  snprintf(out->path, sizeof out->path, "%s", out->version3 ? "matrix" : genome);
  COMP__TRY(comp__h5_open_group(&out->group, file, out->path));
done:
  comp__free(genome);
  return status;
}

/* shape = genes, cells. */
static comp_status read_shape(size_t out[2], comp_context *context, hid_t group) {
  comp__h5_array shape;
  int64_t values[2];
  comp_status status;
  COMP__TRY(comp__h5_array_open(&shape, group, "shape"));
  if (shape.rank != 1 || shape.rows != 2) COMP__FAIL(COMP_ERR_FORMAT, "%s is not two numbers", shape.where);
  COMP__TRY(comp__h5_array_read(context, &shape, COMP__AS_I64, 0, 2, values));
  if (values[0] < 0 || values[1] < 0) COMP__FAIL(COMP_ERR_FORMAT, "%s holds a negative size", shape.where);
  out[0] = (size_t)values[0];
  out[1] = (size_t)values[1];
done:
  comp__h5_array_close(&shape);
  return status;
}

comp_status comp__tenx_open_matrix(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                   const comp__tenx *tenx) {
  size_t shape[2];
  *out = (comp__tree_matrix){0};
  comp_status status = read_shape(shape, context, tenx->group);
  if (status != COMP_OK) return status;
  return comp__tree_matrix_open_csr(out, context, tree, tenx->path, shape[1], shape[0]);
}

static comp_status read_names(comp__strings *out, comp_context *context, hid_t group, const char *path) {
  hid_t dataset = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&dataset, group, path));
  COMP__TRY(comp__h5_read_texts(out, context, dataset, true));
done:
  comp__h5_close(&dataset);
  return status;
}

/* A column of var from a list of texts, when the file has it. Few distinct values are kept once. */
static comp_status add_feature_column(comp_dataset *dataset, comp_context *context, hid_t group, const char *path,
                                      const char *name) {
  comp__strings values = {0};
  comp_status status = COMP_OK;
  if (comp__h5_find(group, path) != COMP__H5_DATASET) return COMP_OK;
  COMP__TRY(read_names(&values, context, group, path));
  if (values.count != dataset->features)
    COMP__FAIL(COMP_ERR_FORMAT, "%s has %zu values, but there are %zu features", path, values.count, dataset->features);
  COMP__TRY(comp__table_add_texts(dataset->var, name, &values));
done:
  comp__strings_release(&values);
  return status;
}

static comp_status add_features(comp_dataset *dataset, comp_context *context, const comp__tenx *tenx) {
  comp_status status;
  COMP__TRY(add_feature_column(dataset, context, tenx->group, tenx->version3 ? "features/id" : "genes", "gene_ids"));
  if (!tenx->version3) return COMP_OK;
  COMP__TRY(add_feature_column(dataset, context, tenx->group, "features/feature_type", "feature_types"));
  COMP__TRY(add_feature_column(dataset, context, tenx->group, "features/genome", "genome"));
done:
  return status;
}

static comp_status read_x(comp_dataset *dataset, comp_context *context, hid_t file, const comp__tenx *tenx) {
  const comp__h5_tree tree = comp__h5_tree_of(file);
  comp__tree_matrix m = {0};
  comp_matrix *matrix;
  comp_status status;
  COMP__TRY(comp__tenx_open_matrix(&m, context, &tree.tree, tenx));
  if (m.rows != dataset->samples || m.cols != dataset->features)
    COMP__FAIL(COMP_ERR_FORMAT, "the matrix is %zu genes x %zu cells, but there are %zu gene names and %zu barcodes",
               m.cols, m.rows, dataset->features, dataset->samples);
  COMP__TRY(comp__tree_matrix_read(&matrix, context, &m, 0, m.rows));
  COMP__TRY(comp_dataset_set_x(dataset, matrix));
done:
  comp__tree_matrix_close(&m);
  return status;
}

static comp_status read_tenx(comp_dataset **out, comp_context *context, const char *path,
                             const comp__read_options *options) {
  comp__h5_file file = COMP__H5_FILE_INIT;
  comp__tenx tenx = {H5I_INVALID_HID, false, ""};
  comp__strings obs = {0}, var = {0};
  comp_dataset *dataset = NULL;
  comp_status status;
  *out = NULL;
  if (options->layer || options->raw) COMP__FAIL(COMP_ERR_DATA, "a 10x .h5 file has neither layers nor raw");
  COMP__TRY(comp__h5_open(&file, path, false));
  COMP__TRY(comp__tenx_open(&tenx, file.id));
  COMP__TRY(read_names(&obs, context, tenx.group, "barcodes"));
  COMP__TRY(read_names(&var, context, tenx.group, tenx.version3 ? "features/name" : "gene_names"));
  COMP__TRY(comp__dataset_new(&dataset, &obs, &var));
  COMP__TRY(add_features(dataset, context, &tenx));
  if (!options->skip_x) COMP__TRY(read_x(dataset, context, file.id, &tenx));
  COMP__TRY(comp__h5_certain(file.id));
  *out = dataset;
done:
  comp__h5_close(&tenx.group);
  comp__strings_release(&obs);
  comp__strings_release(&var);
  if (status != COMP_OK) comp_dataset_free(dataset);
  comp__h5_close_file(&file);
  return status == COMP_ERR_ARGUMENT ? COMP_ERR_FORMAT : status; /* a name that is not UTF-8 is the file's fault */
}

static comp_status open_x(comp__tree **tree, comp__tree_matrix *out, comp_context *context, const char *path,
                          const comp__read_options *options) {
  comp__tenx tenx = {H5I_INVALID_HID, false, ""};
  comp_status status;
  (void)options;
  *out = (comp__tree_matrix){0};
  COMP__TRY(comp__h5_tree_open(tree, path));
  COMP__TRY(comp__tenx_open(&tenx, comp__h5_tree_file(*tree)));
  COMP__TRY(comp__tenx_open_matrix(out, context, *tree, &tenx));
done:
  comp__h5_close(&tenx.group);
  return status;
}

static comp_status probe_tenx(bool *is, const comp__peek *peek) {
  comp__h5_file file = COMP__H5_FILE_INIT;
  comp_status status = comp__format_h5ad.probe(is, peek);
  if (status != COMP_OK || !*is) return status; /* not HDF5 */
  COMP__TRY(comp__h5_open(&file, peek->path, false));
  *is = comp__tenx_is(file.id);
  COMP__TRY(comp__h5_certain(file.id));
done:
  comp__h5_close_file(&file);
  return status;
}

const comp__format comp__format_tenx_h5 = {"10x h5", "10x Genomics .h5", NULL, probe_tenx, read_tenx, .open_x = open_x};
