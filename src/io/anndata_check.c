/* anndata_check.c: whether the parts of AnnData in a tree are whole: nothing that is damaged is copied or left out in
 * silence. */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "io/anndata.h"

static const char LOST[] = "it has files, but no metadata (.zarray, .zgroup, zarr.json): the store is damaged";

comp_status comp__anndata_refuse_many(const comp__tree *tree) {
  char list[512];
  char *encoding = NULL;
  comp_status status = tree->ops->get_text(&encoding, tree, "", "encoding-type");
  if (status != COMP_OK) return status;
  const bool named = encoding && strcasecmp(encoding, "MuData") == 0;
  comp__free(encoding);
  if (!named && (tree->ops->find(tree, "mod") != COMP__NODE_GROUP || tree->ops->find(tree, "X") != COMP__NODE_NONE))
    return COMP_OK;
  comp__anndata_list_members(list, sizeof list, tree, "mod");
  return comp__error(
      COMP_ERR_FORMAT,
      "it is MuData, which holds several AnnData (there are: %s): write one of them as a file of its own. "
      "In Python: mdata = mudata.read(\"cells.h5mu\"), for zarr mudata.read_zarr(\"cells.zarr\"); then "
      "mdata.mod[\"rna\"].write_h5ad(\"rna.h5ad\")",
      list);
}

/* What AnnData has at the root. */
static bool is_part(const char *name) {
  static const char *const parts[] = {"X", "layers", "obs", "obsm", "obsp", "raw", "uns", "var", "varm", "varp"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strcmp(name, parts[i]) == 0) return true;
  return false;
}

/* The first of what a group has lost that counts; *out is empty when there is none. */
static comp_status find_lost(comp__tree_path *out, const comp__tree *tree, const char *path) {
  comp__strings names = {0};
  comp_status status = COMP_OK;
  out->text[0] = '\0';
  if (!tree->ops->lost) return COMP_OK;
  COMP__TRY(tree->ops->lost(&names, tree, path));
  for (size_t i = 0; i < names.count && !out->text[0]; i++)
    if (path[0] || is_part(comp__strings_get(&names, i)))
      COMP__TRY(comp__tree_join(out, path, comp__strings_get(&names, i)));
done:
  comp__strings_release(&names);
  return status;
}

comp_status comp__anndata_tell_lost(comp_context *context, const comp__tree *tree, const char *path) {
  comp__tree_path name;
  comp_status status = find_lost(&name, tree, path);
  if (status == COMP_OK && name.text[0]) comp__warn(context, "%s is not read: %s", name.text, LOST);
  return status;
}

comp_status comp__anndata_check_lost(const comp__tree *tree, const char *path) {
  comp__tree_path name;
  comp_status status = find_lost(&name, tree, path);
  if (status != COMP_OK || !name.text[0]) return status;
  return comp__error(COMP_ERR_FORMAT, "%s cannot be copied: %s", name.text, LOST);
}

static comp_status check_size(const char *path, const size_t *shape, int rank, size_t rows, size_t cols) {
  if (rank < 1) return comp__error(COMP_ERR_FORMAT, "%s is a single value, not a matrix: it is damaged", path);
  if (rank == 1 && cols == SIZE_MAX && shape[0] == rows) return COMP_OK;
  if (rank > 1 && shape[0] == rows && (cols == SIZE_MAX || (rank == 2 && shape[1] == cols))) return COMP_OK;
  if (cols == SIZE_MAX)
    return comp__error(COMP_ERR_FORMAT, "%s has %zu rows in place of %zu: it is damaged", path, shape[0], rows);
  return comp__error(COMP_ERR_FORMAT, "%s is %zu x %zu in place of %zu x %zu: it is damaged", path, shape[0],
                     rank > 1 ? shape[1] : 1, rows, cols);
}

/* An array of any kind, with the number of its rows. */
static comp_status check_array(const comp__tree *tree, const char *path, size_t rows, size_t cols) {
  size_t shape[COMP__TREE_MOST_DIMS];
  int rank;
  comp_status status = tree->ops->shape(shape, &rank, tree, path);
  return status == COMP_OK ? check_size(path, shape, rank, rows, cols) : status;
}

/* Programs that trust them read beyond their memory. */
static comp_status check_indices(comp_context *context, const comp__tree *tree, const char *path,
                                 const comp__tree_matrix *m) {
  enum { BLOCK = 1 << 18 };
  const size_t n = m->values.rows, limit = m->by_column ? m->rows : m->cols;
  int32_t *block = NULL;
  comp_status status = comp__alloc(&block, n < BLOCK ? n + 1 : BLOCK, sizeof *block);
  for (size_t begin = 0; status == COMP_OK && begin < n; begin += BLOCK) {
    const size_t end = begin + BLOCK < n ? begin + BLOCK : n;
    status = tree->ops->read(context, &m->indices, COMP__AS_I32, begin, end - begin, block);
    for (size_t i = 0; status == COMP_OK && i < end - begin; i++)
      if (block[i] < 0 || (size_t)block[i] >= limit)
        status = comp__error(COMP_ERR_FORMAT, "%s/indices holds %d at %zu, outside of 0 .. %zu: it is damaged", path,
                             block[i], begin + i, limit - 1);
  }
  comp__free(block);
  return status;
}

static comp_status check_sparse(comp_context *context, const comp__tree *tree, const char *path, size_t rows,
                                size_t cols) {
  comp__tree_matrix m = {0};
  comp_status status = comp__tree_matrix_open(&m, context, tree, path);
  if (status == COMP_OK) status = check_size(path, (const size_t[]){m.rows, m.cols}, 2, rows, cols);
  if (status == COMP_OK) status = check_indices(context, tree, path, &m);
  comp__tree_matrix_close(&m);
  return status;
}

/* A column of a table: a list, or a group of codes (of values) and others. */
static comp_status check_column(const comp__tree *tree, const char *path, size_t rows) {
  static const char *const parts[] = {"codes", "values"};
  comp__tree_path part;
  comp__node node = tree->ops->find(tree, path);
  comp_status status = COMP_OK;
  if (node == COMP__NODE_NONE)
    COMP__FAIL(COMP_ERR_FORMAT, "%s is in the list of columns, but not in the file: it is damaged", path);
  if (node == COMP__NODE_ARRAY) return check_array(tree, path, rows, SIZE_MAX);
  if (node == COMP__NODE_GROUP && !tree->ops->has(tree, path, "encoding-type"))
    COMP__FAIL(COMP_ERR_FORMAT, "%s is a group that does not say what it is (encoding-type): it is damaged", path);
  for (int i = 0; node == COMP__NODE_GROUP && i < 2; i++) {
    COMP__TRY(comp__tree_join(&part, path, parts[i]));
    if (tree->ops->find(tree, part.text) == COMP__NODE_ARRAY) COMP__TRY(check_array(tree, part.text, rows, SIZE_MAX));
  }
done:
  return status;
}

comp_status comp__anndata_check_table(comp_context *context, const comp__tree *tree, const char *path, size_t rows) {
  comp__strings names = {0}, columns = {0};
  comp__tree_path column;
  bool found;
  comp_status status;
  COMP__TRY(comp__anndata_read_names(&names, context, tree, path));
  if (rows != SIZE_MAX && names.count != rows)
    COMP__FAIL(COMP_ERR_FORMAT, "%s has %zu rows in place of %zu: it is damaged", path, names.count, rows);
  COMP__TRY(tree->ops->get_texts(&columns, &found, tree, path, "column-order"));
  for (size_t i = 0; i < columns.count; i++) {
    COMP__TRY(comp__tree_join(&column, path, comp__strings_get(&columns, i)));
    COMP__TRY(check_column(tree, column.text, names.count));
  }
done:
  comp__strings_release(&columns);
  comp__strings_release(&names);
  return status;
}

/* The names of a table's rows are those of the samples or features. */
static comp_status check_names(comp_context *context, const comp__tree *tree, const char *path,
                               const comp__strings *names) {
  comp__strings own = {0};
  comp_status status;
  COMP__TRY(comp__anndata_read_names(&own, context, tree, path));
  for (size_t i = 0; i < own.count && i < names->count; i++) {
    const char *is = comp__strings_get(&own, i), *must = comp__strings_get(names, i);
    if (is && must && strcmp(is, must) == 0) continue;
    COMP__FAIL(
        COMP_ERR_FORMAT,
        "%s: row %zu is called '%s' in place of '%s', so that AnnData could not read it. Where names repeat, make "
        "them unique first (in Python: adata.var_names_make_unique()); otherwise the file is damaged or not "
        "complete",
        path, i, is ? is : "", must ? must : "");
  }
done:
  comp__strings_release(&own);
  return status;
}

comp_status comp__anndata_check_member(comp_context *context, const comp__tree *tree, const char *path,
                                       const comp__anndata_fit *fit) {
  const size_t rows = fit->rows, cols = fit->cols;
  char *encoding = NULL;
  comp_status status = COMP_OK;
  comp__node node = tree->ops->find(tree, path);
  if (node == COMP__NODE_ARRAY) return check_array(tree, path, rows, cols);
  if (node != COMP__NODE_GROUP) return COMP_OK;
  COMP__TRY(tree->ops->get_text(&encoding, tree, path, "encoding-type"));
  bool old = tree->ops->has(tree, path, "h5sparse_format");
  if (old || (encoding && (strcmp(encoding, "csr_matrix") == 0 || strcmp(encoding, "csc_matrix") == 0)))
    status = check_sparse(context, tree, path, rows, cols);
  else if (encoding && strcmp(encoding, "dataframe") == 0) {
    COMP__TRY(comp__anndata_check_table(context, tree, path, rows));
    if (fit->names) COMP__TRY(check_names(context, tree, path, fit->names));
  } else if (!encoding || strcmp(encoding, "dict") == 0)
    status =
        comp__error(COMP_ERR_FORMAT, "%s is a group, but neither a sparse matrix nor a table: it is damaged", path);
done:
  comp__free(encoding);
  return status;
}

comp_status comp__anndata_check_raw(comp_context *context, const comp__tree *tree, size_t rows) {
  comp__strings names = {0};
  comp_status status;
  COMP__TRY(comp__anndata_read_names(&names, context, tree, "raw/var"));
  COMP__TRY(comp__anndata_check_table(context, tree, "raw/var", names.count));
  if (tree->ops->find(tree, "raw/X") != COMP__NODE_NONE)
    COMP__TRY(comp__anndata_check_member(context, tree, "raw/X", &(const comp__anndata_fit){rows, names.count, NULL}));
done:
  comp__strings_release(&names);
  return status;
}

bool comp__anndata_is_held(const comp_dataset *dataset, const char *path, const char *name) {
  for (int slot = 0; slot < 2; slot++)
    if (strcmp(path, comp_slot_name((comp_slot)slot)) == 0)
      return comp_dataset_matrix(dataset, (comp_slot)slot, name) != NULL;
  return false;
}
