/* anndata.c: reading AnnData of any version from a tree. */
#include "io/anndata.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"

void comp__anndata_list_members(char *out, size_t size, const comp__tree *tree, const char *path) {
  comp__strings members = {0};
  size_t used = 0;
  snprintf(out, size, "none");
  if (tree->ops->find(tree, path) == COMP__NODE_GROUP && tree->ops->members(&members, tree, path) == COMP_OK)
    for (size_t i = 0; i < members.count && used < size; i++)
      used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", comp__strings_get(&members, i));
  comp__strings_release(&members);
}

comp_status comp__anndata_find_paths(comp__anndata_paths *out, const comp__tree *tree,
                                     const comp__read_options *options) {
  char list[512];
  snprintf(out->x, sizeof out->x, "X");
  snprintf(out->var, sizeof out->var, "var");
  if (options->raw && options->layer)
    return comp__error(COMP_ERR_ARGUMENT, "raw and a layer cannot both be read as X: choose one");
  if (options->raw) {
    bool old = tree->ops->find(tree, "raw") == COMP__NODE_NONE; /* "raw.X": before AnnData 0.7 */
    snprintf(out->x, sizeof out->x, old ? "raw.X" : "raw/X");
    snprintf(out->var, sizeof out->var, old ? "raw.var" : "raw/var");
    if (tree->ops->find(tree, out->x) == COMP__NODE_NONE) return comp__error(COMP_ERR_DATA, "there is no raw/X in it");
  }
  if (options->layer) {
    snprintf(out->x, sizeof out->x, "layers/%s", options->layer);
    comp__anndata_list_members(list, sizeof list, tree, "layers");
    if (strlen(options->layer) > 200 || tree->ops->find(tree, out->x) == COMP__NODE_NONE)
      return comp__error(COMP_ERR_DATA, "there is no layer '%s'; there are: %s", options->layer, list);
  }
  return COMP_OK;
}

comp_status comp__anndata_open_x(comp__tree_matrix *out, comp_context *context, const comp__tree *tree,
                                 const comp__read_options *options) {
  comp__anndata_paths paths;
  *out = (comp__tree_matrix){0};
  comp_status status = comp__anndata_find_paths(&paths, tree, options);
  return status == COMP_OK ? comp__tree_matrix_open(out, context, tree, paths.x) : status;
}

static comp_status read_x(comp_dataset *dataset, comp_context *context, const comp__tree *tree,
                          const comp__anndata_paths *paths, bool quiet) {
  comp__tree_matrix m = {0};
  comp_matrix *matrix;
  char list[512];
  comp_status status;
  if (tree->ops->find(tree, paths->x) == COMP__NODE_NONE ||
      comp__tree_text_is(tree, paths->x, "encoding-type", "null")) {
    COMP__TRY(tree->ops->certain(tree)); /* it may be there, but not be readable */
    comp__anndata_list_members(list, sizeof list, tree, "layers");
    COMP__FAIL(COMP_ERR_DATA, "there is no X in it; a layer can be read in its place (there are: %s)", list);
  }
  COMP__TRY(comp__tree_matrix_open(&m, context, tree, paths->x));
  if (m.rows != dataset->samples || m.cols != dataset->features)
    COMP__FAIL(COMP_ERR_FORMAT, "%s is %zu x %zu, but obs has %zu names and %s has %zu", m.where, m.rows, m.cols,
               dataset->samples, paths->var, dataset->features);
  m.told = quiet;
  COMP__TRY(comp__tree_matrix_read(&matrix, context, &m, 0, m.rows));
  COMP__TRY(comp_dataset_set_x(dataset, matrix));
done:
  comp__tree_matrix_close(&m);
  return status;
}

bool comp__anndata_can_hold(const char **why, const comp__tree *tree, const char *path, comp_slot slot) {
  comp__node node = tree->ops->find(tree, path);
  bool sparse = node == COMP__NODE_GROUP && (comp__tree_text_is(tree, path, "encoding-type", "csr_matrix") ||
                                             comp__tree_text_is(tree, path, "encoding-type", "csc_matrix"));
  *why = "it is not a matrix of numbers";
  if (node == COMP__NODE_ARRAY) {
    int rank;
    comp__content content = tree->ops->content(&rank, tree, path);
    return content != COMP__CONTENT_OTHER && content != COMP__CONTENT_TEXT && content != COMP__CONTENT_RECORDS &&
           rank >= 1 && rank <= 2;
  }
  if (node == COMP__NODE_GROUP && slot == COMP_SLOT_LAYERS)
    return sparse || tree->ops->has(tree, path, "h5sparse_format");
  if (node == COMP__NODE_GROUP)
    *why = sparse ? "it is sparse, and only dense matrices of obsm are; .toarray() in Python makes it dense"
                  : "it is not a matrix (a table, say), and only dense matrices of obsm are";
  return false;
}

static comp_status read_entry(comp_dataset *dataset, comp_context *context, const comp__tree *tree, const char *path,
                              const char *name, comp_slot slot, bool quiet) {
  comp__tree_matrix m = {0};
  comp_matrix *matrix;
  comp_status status;
  COMP__TRY(comp__tree_matrix_open(&m, context, tree, path));
  if (m.rows != dataset->samples || (slot == COMP_SLOT_LAYERS && m.cols != dataset->features))
    COMP__FAIL(COMP_ERR_FORMAT, "%s is %zu x %zu, which does not fit data of %zu x %zu", m.where, m.rows, m.cols,
               dataset->samples, dataset->features);
  m.told = quiet;
  COMP__TRY(comp__tree_matrix_read(&matrix, context, &m, 0, m.rows));
  COMP__TRY(comp_dataset_set_matrix(dataset, slot, name, matrix));
done:
  comp__tree_matrix_close(&m);
  return status;
}

void comp__anndata_tell_not_used(comp_context *context, const comp__tree *tree, const char *path, const char *why) {
  size_t shape[COMP__TREE_MOST_DIMS];
  int rank;
  if (tree->ops->find(tree, path) == COMP__NODE_ARRAY && tree->ops->shape(shape, &rank, tree, path) != COMP_OK)
    comp__warn(context, "%s is not read: %s", path, comp_error_message());
  else
    comp__info(context, "%s is not used: %s", path, why);
}

comp_status comp__anndata_pass_over(comp_context *context, const char *path, comp_status status) {
  if (status != COMP_ERR_FORMAT && status != COMP_ERR_DATA && status != COMP_ERR_UNAVAILABLE) return status;
  comp__warn(context, "%s%s%s", path ? path : "", path ? " is not read: " : "", comp_error_message());
  return COMP_OK;
}

static comp_status read_slot(comp_dataset *dataset, comp_context *context, const comp__tree *tree, comp_slot slot,
                             const char *skipped, const comp__read_options *options) {
  const char *folder = comp_slot_name(slot), *why;
  comp__strings members = {0};
  comp__tree_path path;
  comp_status status = COMP_OK;
  comp__node node = tree->ops->find(tree, folder);
  if (node == COMP__NODE_ARRAY && slot == COMP_SLOT_OBSM && tree->ops->legacy_obsm)
    return tree->ops->legacy_obsm(dataset, context, tree);
  if (node != COMP__NODE_GROUP) return COMP_OK;
  COMP__TRY(comp__anndata_tell_lost(context, tree, folder));
  COMP__TRY(tree->ops->members(&members, tree, folder));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (skipped && strcmp(name, skipped) == 0) continue;
    COMP__TRY(comp__tree_join(&path, folder, name));
    if (comp__anndata_can_hold(&why, tree, path.text, slot)) {
      status = read_entry(dataset, context, tree, path.text, name, slot, options->copy);
      if (options->skip_damaged) status = comp__anndata_pass_over(context, path.text, status);
      if (status != COMP_OK) goto done;
    } else if (!options->copy) { /* else it is copied, or the writer says why not */
      comp__anndata_tell_not_used(context, tree, path.text, why);
    }
  }
done:
  comp__strings_release(&members);
  return status;
}

static comp_status read_record(comp_dataset *dataset, comp_context *context, const comp__tree *tree) {
  char *text = NULL;
  comp_status status = COMP_OK;
  if (tree->ops->find(tree, "uns/comp/record") != COMP__NODE_ARRAY) return COMP_OK;
  COMP__TRY(comp__tree_read_text(&text, context, tree, "uns/comp/record"));
  COMP__TRY(comp_dataset_set_record(dataset, text));
done:
  comp__free(text);
  return status;
}

static comp_status read_tables(comp_dataset **out, comp_context *context, const comp__tree *tree,
                               const char *var_path) {
  comp__strings obs = {0}, var = {0};
  comp_status status;
  COMP__TRY(comp__anndata_read_names(&obs, context, tree, "obs"));
  COMP__TRY(comp__anndata_read_names(&var, context, tree, var_path));
  COMP__TRY(comp__dataset_new(out, &obs, &var));
  COMP__TRY(comp__anndata_read_table((*out)->obs, context, tree, "obs"));
  COMP__TRY(comp__anndata_read_table((*out)->var, context, tree, var_path));
done:
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

/* What a writer may copy as it is: tables in the layout of AnnData 0.8, and matrices. */
static void mark_from_file(comp_dataset *dataset, const comp__tree *tree, const comp__read_options *options) {
  if (!comp__anndata_is_legacy(tree, "obs") && tree->ops->find(tree, "obs/__categories") == COMP__NODE_NONE)
    comp__table_mark_file(dataset->obs);
  if (!options->raw && !comp__anndata_is_legacy(tree, "var") &&
      tree->ops->find(tree, "var/__categories") == COMP__NODE_NONE)
    comp__table_mark_file(dataset->var);
  if (comp__anndata_is_legacy(tree, "obs")) return;
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < dataset->slots[slot].count; i++) dataset->slots[slot].entries[i].from_file = true;
}

/* `*out` may be there also after a failure. */
static comp_status read_parts(comp_dataset **out, comp_context *context, const comp__tree *tree,
                              const comp__anndata_paths *paths, const comp__read_options *options) {
  comp_status status;
  COMP__TRY(read_tables(out, context, tree, paths->var));
  if (!options->skip_x) COMP__TRY(read_x(*out, context, tree, paths, options->copy));
  COMP__TRY(read_record(*out, context, tree));
  COMP__TRY(tree->ops->certain(tree)); /* of what must be there; layers and obsm follow */
  if (!options->skip_slots) {
    COMP__TRY(comp__anndata_tell_lost(context, tree, ""));
    /* The layers have the columns of X, not of raw. */
    if (!options->raw && !options->skip_layers)
      COMP__TRY(read_slot(*out, context, tree, COMP_SLOT_LAYERS, options->layer, options));
    COMP__TRY(read_slot(*out, context, tree, COMP_SLOT_OBSM, NULL, options));
  }
done:
  return status == COMP_ERR_ARGUMENT ? COMP_ERR_FORMAT : status; /* a name that is not UTF-8 is the file's fault */
}

comp_status comp__anndata_read(comp_dataset **out, comp_context *context, const comp__tree *tree,
                               const comp__read_options *options) {
  comp__anndata_paths paths;
  comp_dataset *dataset = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__anndata_find_paths(&paths, tree, options));
  COMP__TRY(read_parts(&dataset, context, tree, &paths, options));
  mark_from_file(dataset, tree, options);
  status = tree->ops->certain(tree);
  if (options->skip_damaged) status = comp__anndata_pass_over(context, NULL, status);
  if (status != COMP_OK) goto done;
  *out = dataset;
done:
  if (status != COMP_OK) comp_dataset_free(dataset);
  return status;
}

bool comp__anndata_is_old_categories(const comp_dataset *dataset, const char *name) {
  static const char suffix[] = "_categories";
  size_t length = strlen(name), tail = sizeof suffix - 1;
  char column[256];
  if (length <= tail || strcmp(name + length - tail, suffix) != 0) return false;
  snprintf(column, sizeof column, "%.*s", (int)(length - tail), name);
  size_t obs = comp_table_find(dataset->obs, column), var = comp_table_find(dataset->var, column);
  return (obs != COMP_NOT_FOUND && comp_table_column_kind(dataset->obs, obs) == COMP_COLUMN_CATEGORICAL) ||
         (var != COMP_NOT_FOUND && comp_table_column_kind(dataset->var, var) == COMP_COLUMN_CATEGORICAL);
}

/* ---- adding to it ---- */

comp_status comp__anndata_check_fit(size_t *features, comp_context *context, const comp_dataset *results,
                                    const comp__tree *tree) {
  comp__strings obs = {0}, var = {0};
  comp_status status;
  COMP__TRY(comp__anndata_read_names(&obs, context, tree, "obs"));
  COMP__TRY(comp__anndata_read_names(&var, context, tree, "var"));
  *features = var.count;
  if (obs.count != results->samples)
    COMP__FAIL(COMP_ERR_ARGUMENT, "results of %zu samples cannot be added to %zu", results->samples, obs.count);
  for (size_t i = 0; i < obs.count; i++)
    if (strcmp(comp__strings_get(&obs, i), comp__strings_get(&results->obs_names, i)) != 0)
      COMP__FAIL(COMP_ERR_ARGUMENT, "the results are of other samples: row %zu is '%s' there and '%s' here", i,
                 comp__strings_get(&results->obs_names, i), comp__strings_get(&obs, i));
  if (results->slots[COMP_SLOT_LAYERS].count > 0 && results->features != var.count)
    COMP__FAIL(COMP_ERR_ARGUMENT, "layers of %zu features cannot be added to %zu", results->features, var.count);
  COMP__TRY(tree->ops->certain(tree));
done:
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

void comp__anndata_tell_overwritten(comp_context *context, const comp_dataset *results, const comp__tree *tree,
                                    const char *path) {
  comp__tree_path name;
  for (size_t i = 0; i < results->slots[COMP_SLOT_LAYERS].count; i++)
    if (comp__tree_join(&name, "layers", results->slots[COMP_SLOT_LAYERS].entries[i].name) == COMP_OK &&
        tree->ops->find(tree, name.text) != COMP__NODE_NONE)
      comp__info(context, "%s of %s is overwritten", name.text, path);
}
