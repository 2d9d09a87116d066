/* h5ad_carry.c: how HDF5 copies objects from one .h5ad to another, for io/carry.c. */
#include <stdint.h>
#include <string.h>

#include "core/context.h"
#include "core/error.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad.h"
#include "io/h5/h5ad_write.h"

static comp_status begin(comp__tree_sink *sink, const comp__tree *from) {
  (void)sink;
  return comp__h5_check_copy(comp__h5_tree_file(from));
}

static comp_status copy(comp__tree_sink *sink, const comp__tree *from, const char *path) {
  hid_t how = H5Pcreate(H5P_OBJECT_COPY), links = comp__h5_link_list();
  herr_t result = H5Pset_copy_object(how, H5O_COPY_EXPAND_REFERENCE_FLAG); /* references would be emptied else */
  if (result >= 0) result = H5Ocopy(comp__h5_tree_file(from), path, comp__h5ad_sink_file(sink), path, how, links);
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

/* What a reference pointed to outside of what was copied, HDF5 puts beside X and obs, where anndata does not know it.
 */
static comp_status drop_strays(comp_context *context, hid_t file) {
  comp__strings members = {0};
  size_t strays = 0;
  comp_status status = comp__h5_members(&members, file);
  for (size_t i = 0; i < members.count && status == COMP_OK; i++) {
    const char *name = comp__strings_get(&members, i);
    if (strncmp(name, "~obj_pointed_by_", 16) != 0) continue;
    if (H5Ldelete(file, name, H5P_DEFAULT) < 0) status = comp__h5_error(COMP_ERR_FORMAT, "%s cannot be left out", name);
    strays++;
  }
  if (strays > 0 && status == COMP_OK)
    comp__warn(context, "%zu references from one part of the file to another are not carried over", strays);
  comp__strings_release(&members);
  return status;
}

static comp_status end(comp__tree_sink *sink, const comp__tree *from, bool same_obs) {
  hid_t file = comp__h5ad_sink_file(sink);
  comp_status status = drop_strays(sink->context, file);
  if (status == COMP_OK && comp__h5ad_is_legacy(comp__h5_tree_file(from), "obs") &&
      comp__h5_find(file, "uns") == COMP__H5_GROUP) {
    encode_below(file, "uns");
    if (same_obs) move_graphs(file);
  }
  return status;
}

const comp__tree_copier comp__h5ad_copier = {begin, copy, end};
