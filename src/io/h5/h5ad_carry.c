/* h5ad_carry.c: copying what a new .h5ad does not hold itself from the file that it was made of. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/table.h"
#include "io/anndata.h"
#include "io/carry.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad.h"
#include "io/h5/h5ad_write.h"

typedef struct carrying {
  comp_context *context;
  const comp_dataset *dataset;
  hid_t from;
  hid_t to;
  bool same_obs; /* the samples are those of the old file, in order */
  bool same_var;
  bool unchanged;    /* all is as in the old file, but names that repeat may have become others */
  char dropped[512]; /* what does not fit any more */
} carrying;

static bool same_names(const comp__strings *a, const comp__strings *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(comp__strings_get(a, i), comp__strings_get(b, i)) != 0) return false;
  return true;
}

static comp_status compare_names(bool *same, comp_context *context, hid_t file, const char *table,
                                 const comp__strings *names) {
  comp__strings old = {0};
  comp_status status = comp__h5ad_read_names(&old, context, file, table);
  if (status == COMP_OK) *same = same_names(&old, names);
  comp__strings_release(&old);
  return status;
}

static void drop(carrying *c, const char *path) {
  size_t used = strlen(c->dropped);
  snprintf(c->dropped + used, sizeof c->dropped - used, "%s%s", used ? ", " : "", path);
}

static comp_status copy(const carrying *c, const char *path) {
  hid_t how = H5Pcreate(H5P_OBJECT_COPY), links = comp__h5_link_list();
  herr_t result = H5Pset_copy_object(how, H5O_COPY_EXPAND_REFERENCE_FLAG); /* references would be emptied else */
  if (result >= 0) result = H5Ocopy(c->from, path, c->to, path, how, links);
  comp__h5_close(&links);
  comp__h5_close(&how);
  if (result >= 0) return COMP_OK;
  return comp__h5_error(COMP_ERR_FORMAT, "%s cannot be copied", path);
}

/* ---- what files from before AnnData 0.7 lack ---- */

static void encode_dataset(hid_t dataset) {
  hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  if (type < 0 || space < 0) comp__h5_doubt(dataset, 0);
  bool scalar = H5Sget_simple_extent_type(space) == H5S_SCALAR;
  H5T_class_t class = H5Tget_class(type);
  if (class == H5T_STRING)
    comp__h5_put_encoding(dataset, scalar ? "string" : "string-array", "0.2.0");
  else if (class == H5T_COMPOUND)
    comp__h5_put_encoding(dataset, "rec-array", "0.2.0");
  else
    comp__h5_put_encoding(dataset, scalar ? "numeric-scalar" : "array", "0.2.0");
  comp__h5_close(&space);
  comp__h5_close(&type);
}

/* In old files, a sparse matrix had its form and shape in attributes of other names. */
static void encode_sparse(hid_t group) {
  size_t shape[2];
  bool found;
  comp__h5_put_encoding(group, comp__h5_text_is(group, "h5sparse_format", "csc") ? "csc_matrix" : "csr_matrix",
                        "0.1.0");
  if (comp__h5_has_attr(group, "shape") || comp__h5_get_pair(shape, &found, group, "h5sparse_shape") != COMP_OK ||
      !found)
    return;
  hsize_t two = 2;
  uint64_t pair[2] = {shape[0], shape[1]};
  hid_t space = H5Screate_simple(1, &two, NULL);
  hid_t attribute = H5Acreate2(group, "shape", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute >= 0) H5Awrite(attribute, H5T_NATIVE_UINT64, pair);
  comp__h5_close(&attribute);
  comp__h5_close(&space);
}

static herr_t encode_object(hid_t root, const char *name, const H5O_info_t *info, void *arg) {
  (void)arg;
  hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  if (object < 0) return -1;
  if (!comp__h5_has_attr(object, "encoding-type")) {
    if (info->type == H5O_TYPE_DATASET)
      encode_dataset(object);
    else if (comp__h5_has_attr(object, "h5sparse_format"))
      encode_sparse(object);
    else
      comp__h5_put_encoding(object, "dict", "0.1.0");
  }
  comp__h5_close(&object);
  return 0;
}

/* Says in today's words what each thing below `path` is: AnnData warns otherwise. The values stay as they are. */
static void encode_below(hid_t file, const char *path) {
  hid_t group = H5Oopen(file, path, H5P_DEFAULT);
  if (group >= 0 && comp__h5_visit(group, encode_object, NULL) < 0) comp__h5_doubt(group, 0);
  comp__h5_close(&group);
}

/* Where neighbour graphs are kept today: AnnData moves them itself, with a warning. */
static void move_graphs(hid_t file) {
  static const char *const moves[][2] = {{"uns/neighbors/distances", "obsp/distances"},
                                         {"uns/neighbors/connectivities", "obsp/connectivities"}};
  hid_t links = comp__h5_link_list(), made = H5I_INVALID_HID;
  if (comp__h5_find(file, "obsp") == COMP__H5_NONE) comp__h5_make_group(&made, file, "obsp", "dict", "0.1.0");
  comp__h5_close(&made);
  for (int i = 0; i < 2; i++)
    if (comp__h5_find(file, "uns/neighbors") == COMP__H5_GROUP && comp__h5_find(file, moves[i][0]) == COMP__H5_GROUP &&
        comp__h5_find(file, moves[i][1]) == COMP__H5_NONE)
      H5Lmove(file, moves[i][0], file, moves[i][1], links, H5P_DEFAULT);
  comp__h5_close(&links);
}

/* Whether a layer that has no place here is in the data set under another name: see comp__set_layer_aside(). */
static bool was_set_aside(const carrying *c, const char *path, const char *name) {
  char aside[512];
  snprintf(aside, sizeof aside, "%s_input", name);
  return strcmp(path, "layers") == 0 && comp_dataset_matrix(c->dataset, COMP_SLOT_LAYERS, aside);
}

/* The members of a group that are not in the new file. `fits`: they can be kept at all. `rows`, `cols`: what their
 * shape must be; 0 rows: they are not matrices. */
static comp_status carry_members(carrying *c, const char *path, bool fits, size_t rows, size_t cols) {
  comp__strings members = {0};
  hid_t group = H5I_INVALID_HID;
  char member[512];
  comp_status status;
  COMP__TRY(comp__h5_open_group(&group, c->from, path));
  COMP__TRY(comp__h5_members(&members, group));
  if (comp__h5_find(c->to, path) == COMP__H5_NONE) {
    hid_t made;
    status = comp__h5_make_group(&made, c->to, path, "dict", "0.1.0");
    comp__h5_close(&made);
    if (status != COMP_OK) goto done;
  }
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (snprintf(member, sizeof member, "%s/%s", path, name) >= (int)sizeof member) {
      comp__warn(c->context, "%.60s... has too long a name: it is left out", member);
      continue;
    }
    if (comp__h5_find(c->to, member) != COMP__H5_NONE) continue;
    if (strcmp(path, "uns") == 0 && comp__h5ad_is_legacy(c->from, "obs") &&
        comp__anndata_is_old_categories(c->dataset, name))
      continue;
    if (comp__h5_find(c->from, member) == COMP__H5_NONE) {
      comp__warn(c->context, "%s is a link to something that is not in the file: it is left out", member);
      continue;
    }
    const comp__h5_tree tree = comp__h5_tree_of(c->from);
    if (fits && rows > 0) COMP__TRY(comp__anndata_check_member(c->context, &tree.tree, member, rows, cols));
    if (fits)
      COMP__TRY(copy(c, member));
    else if (!comp__anndata_is_held(c->dataset, path, name) && !was_set_aside(c, path, name))
      drop(c, member);
  }
done:
  comp__h5_close(&group);
  comp__strings_release(&members);
  return status;
}

static comp_status copy_table(const carrying *c, const char *path, size_t rows) {
  const comp__h5_tree tree = comp__h5_tree_of(c->from);
  comp_status status = comp__anndata_check_table(c->context, &tree.tree, path, rows);
  return status == COMP_OK ? copy(c, path) : status;
}

static comp_status carry_root_member(carrying *c, const char *name) {
  if (strcmp(name, "X") == 0) return COMP_OK;
  if (strcmp(name, "obs") == 0)
    return c->same_obs && comp__table_from_file(c->dataset->obs) ? copy_table(c, name, c->dataset->samples) : COMP_OK;
  if (strcmp(name, "var") == 0)
    return c->same_var && comp__table_from_file(c->dataset->var) ? copy_table(c, name, c->dataset->features) : COMP_OK;
  bool group = comp__h5_find(c->from, name) == COMP__H5_GROUP, fits = true;
  if (strcmp(name, "layers") == 0) fits = c->same_obs && c->same_var;
  if (strcmp(name, "obsm") == 0 || strcmp(name, "obsp") == 0 || strncmp(name, "raw", 3) == 0) fits = c->same_obs;
  if (strcmp(name, "varm") == 0 || strcmp(name, "varp") == 0) fits = c->same_var;
  bool mapping = strcmp(name, "layers") == 0 || strcmp(name, "obsm") == 0 || strcmp(name, "obsp") == 0 ||
                 strcmp(name, "varm") == 0 || strcmp(name, "varp") == 0 || strcmp(name, "uns") == 0;
  if (c->unchanged) fits = true;
  bool by_sample = strcmp(name, "layers") == 0 || strncmp(name, "obs", 3) == 0;
  size_t samples = c->dataset->samples, features = c->dataset->features;
  size_t rows = strcmp(name, "uns") == 0 ? 0 : by_sample ? samples : features;
  size_t cols = strcmp(name, "layers") == 0 || strcmp(name, "varp") == 0 ? features
                : strcmp(name, "obsp") == 0                              ? samples
                                                                         : SIZE_MAX;
  if (mapping && group) return carry_members(c, name, fits, rows, cols);
  if (mapping) return COMP_OK; /* one compound dataset, before AnnData 0.7: obsm has been read, varm is given up */
  if (comp__h5_find(c->to, name) != COMP__H5_NONE) return COMP_OK;
  if (fits && group && strcmp(name, "raw") == 0) {
    const comp__h5_tree tree = comp__h5_tree_of(c->from);
    comp_status status = comp__anndata_check_raw(c->context, &tree.tree, samples);
    if (status != COMP_OK) return status;
  }
  if (fits) return copy(c, name);
  drop(c, name);
  return COMP_OK;
}

/* What a reference pointed to outside of what was copied, HDF5 puts beside X and obs, where anndata does not know it.
 */
static comp_status drop_strays(const carrying *c) {
  comp__strings members = {0};
  size_t strays = 0;
  comp_status status = comp__h5_members(&members, c->to);
  for (size_t i = 0; i < members.count && status == COMP_OK; i++) {
    const char *name = comp__strings_get(&members, i);
    if (strncmp(name, "~obj_pointed_by_", 16) != 0) continue;
    if (H5Ldelete(c->to, name, H5P_DEFAULT) < 0)
      status = comp__h5_error(COMP_ERR_FORMAT, "%s cannot be left out", name);
    strays++;
  }
  if (strays > 0 && status == COMP_OK)
    comp__warn(c->context, "%zu references from one part of the file to another are not carried over", strays);
  comp__strings_release(&members);
  return status;
}

comp_status comp__h5ad_carry(comp_context *context, hid_t file, const char *path, const comp_dataset *dataset,
                             const comp__write_options *options) {
  comp__h5_file from = COMP__H5_FILE_INIT;
  comp__strings members = {0};
  comp_status status;
  COMP__TRY(comp__h5_open(&from, path, false));
  COMP__TRY(comp__h5_check_copy(from.id));
  carrying c = {context, dataset, from.id, file, false, false, options->unchanged, ""};
  COMP__TRY(compare_names(&c.same_obs, context, from.id, "obs", &dataset->obs_names));
  COMP__TRY(compare_names(&c.same_var, context, from.id, "var", &dataset->var_names));
  COMP__TRY(comp__h5_members(&members, from.id));
  for (size_t i = 0; i < members.count; i++) COMP__TRY(carry_root_member(&c, comp__strings_get(&members, i)));
  COMP__TRY(drop_strays(&c));
  if (comp__anndata_copies_x(dataset, options->unchanged))
    COMP__TRY(comp__h5ad_carry_x(context, file, path, options->compression));
  if (comp__h5ad_is_legacy(from.id, "obs") && comp__h5_find(file, "uns") == COMP__H5_GROUP) {
    encode_below(file, "uns");
    if (c.same_obs) move_graphs(file);
  }
  COMP__TRY(comp__h5_certain(from.id));
  if (c.dropped[0]) comp__info(context, "%s: left behind, since samples or features have changed: %s", path, c.dropped);
done:
  if (status != COMP_OK) comp__error_context(status, "%s", path);
  comp__strings_release(&members);
  comp__h5_close_file(&from);
  return status;
}
