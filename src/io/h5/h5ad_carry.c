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

static comp_status encode_dataset(hid_t dataset) {
  hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  comp_status status;
  if (type < 0 || space < 0) comp__h5_doubt(dataset, 0);
  bool scalar = H5Sget_simple_extent_type(space) == H5S_SCALAR;
  H5T_class_t class = H5Tget_class(type);
  if (class == H5T_STRING)
    status = comp__h5_put_encoding(dataset, scalar ? "string" : "string-array", "0.2.0");
  else if (class == H5T_COMPOUND)
    status = comp__h5_put_encoding(dataset, "rec-array", "0.2.0");
  else
    status = comp__h5_put_encoding(dataset, scalar ? "numeric-scalar" : "array", "0.2.0");
  comp__h5_close(&space);
  comp__h5_close(&type);
  return status;
}

/* In old files, a sparse matrix had its form and shape in attributes of other names. */
static comp_status encode_sparse(hid_t group) {
  size_t shape[2];
  bool found;
  const bool csc = comp__h5_text_is(group, "h5sparse_format", "csc");
  comp_status status;
  COMP__TRY(comp__h5_put_encoding(group, csc ? "csc_matrix" : "csr_matrix", "0.1.0"));
  if (comp__h5_has_attr(group, "shape")) goto done;
  COMP__TRY(comp__h5_get_pair(shape, &found, group, "h5sparse_shape"));
  if (found) COMP__TRY(comp__h5_put_pair(group, "shape", shape));
done:
  return status;
}

static comp_status encode(hid_t object, bool dataset) {
  if (comp__h5_has_attr(object, "encoding-type")) return COMP_OK;
  if (dataset) return encode_dataset(object);
  if (comp__h5_has_attr(object, "h5sparse_format")) return encode_sparse(object);
  return comp__h5_put_encoding(object, "dict", "0.1.0");
}

static herr_t encode_object(hid_t root, const char *name, const H5O_info_t *info, void *arg) {
  comp_status *status = arg;
  hid_t object = H5Oopen(root, name, H5P_DEFAULT);
  if (object < 0) return -1;
  *status = encode(object, info->type == H5O_TYPE_DATASET);
  comp__h5_close(&object);
  return *status == COMP_OK ? 0 : -1;
}

/* Says in today's words what each thing below `path` is: AnnData warns otherwise. The values stay as they are. */
static comp_status encode_below(hid_t file, const char *path) {
  comp_status status = COMP_OK;
  hid_t group = H5Oopen(file, path, H5P_DEFAULT);
  const bool good = group >= 0 && comp__h5_visit(group, encode_object, &status) >= 0;
  if (!good && status == COMP_OK) status = comp__h5_error(COMP_ERR_FORMAT, "%s cannot be looked through", path);
  comp__h5_close(&group);
  return status;
}

/* Where neighbour graphs are kept today: AnnData moves them itself, with a warning. */
static comp_status move_graphs(hid_t file) {
  static const char *const moves[][2] = {{"uns/neighbors/distances", "obsp/distances"},
                                         {"uns/neighbors/connectivities", "obsp/connectivities"}};
  hid_t links = comp__h5_link_list(), made = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  if (comp__h5_find(file, "obsp") == COMP__H5_NONE)
    COMP__TRY(comp__h5_make_group(&made, file, "obsp", "dict", "0.1.0"));
  for (int i = 0; i < 2; i++)
    if (comp__h5_find(file, "uns/neighbors") == COMP__H5_GROUP && comp__h5_find(file, moves[i][0]) == COMP__H5_GROUP &&
        comp__h5_find(file, moves[i][1]) == COMP__H5_NONE &&
        H5Lmove(file, moves[i][0], file, moves[i][1], links, H5P_DEFAULT) < 0) {
      status = comp__h5_error(COMP_ERR_IO, "cannot move %s", moves[i][0]);
      goto done;
    }
done:
  comp__h5_close(&made);
  comp__h5_close(&links);
  return status;
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
    status = encode_below(file, "uns");
    if (status == COMP_OK && same_obs) status = move_graphs(file);
  }
  return status;
}

const comp__tree_copier comp__h5ad_copier = {begin, copy, end};
