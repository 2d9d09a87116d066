/* h5_tree.c: the functions of io/tree.h for HDF5. */
#include "io/h5/h5_tree.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/array.h"
#include "io/h5/attr_json.h"
#include "io/h5/h5ad.h"
#include "io/h5/records.h"

hid_t comp__h5_tree_file(const comp__tree *tree) {
  return ((const comp__h5_tree *)tree)->id;
}

static hid_t open_object(const comp__tree *tree, const char *path) {
  return H5Oopen(comp__h5_tree_file(tree), path[0] ? path : ".", H5P_DEFAULT);
}

static comp__node find(const comp__tree *tree, const char *path) {
  if (path[0] == '\0') return COMP__NODE_GROUP;
  switch (comp__h5_find(comp__h5_tree_file(tree), path)) {
  case COMP__H5_NONE:
    return COMP__NODE_NONE;
  case COMP__H5_GROUP:
    return COMP__NODE_GROUP;
  case COMP__H5_DATASET:
    return COMP__NODE_ARRAY;
  default:
    return COMP__NODE_OTHER;
  }
}

static comp_status members(comp__strings *out, const comp__tree *tree, const char *path) {
  hid_t group = H5I_INVALID_HID;
  comp_status status = comp__h5_open_group(&group, comp__h5_tree_file(tree), path[0] ? path : ".");
  if (status == COMP_OK) status = comp__h5_members(out, group);
  comp__h5_close(&group);
  return status;
}

/* Where an object is in the file; 0: not known, which no object is at. */
static haddr_t place_of(const comp__tree *tree, const char *path) {
  hid_t object = open_object(tree, path);
  H5O_info_t info = {0};
#if H5_VERSION_GE(1, 12, 0)
  const bool known = object >= 0 && H5Oget_info1(object, &info) >= 0;
#else
  const bool known = object >= 0 && H5Oget_info(object, &info) >= 0;
#endif
  comp__h5_close(&object);
  if (!known) comp__h5_doubt(comp__h5_tree_file(tree), 0);
  return known ? info.addr : 0;
}

static bool same(const comp__tree *tree, const char *a, const char *b) {
  const haddr_t place = place_of(tree, a);
  return place != 0 && place == place_of(tree, b);
}

/* Opens what an attribute is of. */
static comp_status open_owner(hid_t *out, const comp__tree *tree, const char *path) {
  *out = open_object(tree, path);
  return *out >= 0 ? COMP_OK : comp__h5_error(COMP_ERR_FORMAT, "%s cannot be opened", path);
}

static comp_status get_text(char **out, const comp__tree *tree, const char *path, const char *name) {
  hid_t object;
  *out = NULL;
  comp_status status = open_owner(&object, tree, path);
  if (status == COMP_OK) status = comp__h5_get_text(out, object, name);
  if (status == COMP_ERR_MEMORY || status == COMP_ERR_IO) /* the caller may go on without an answer */
    comp__h5_doubt(comp__h5_tree_file(tree), status == COMP_ERR_IO ? EIO : ENOMEM);
  comp__h5_close(&object);
  return status;
}

static comp_status get_texts(comp__strings *out, bool *found, const comp__tree *tree, const char *path,
                             const char *name) {
  hid_t object;
  *found = false;
  comp_status status = open_owner(&object, tree, path);
  if (status == COMP_OK) status = comp__h5_get_texts(out, found, object, name);
  comp__h5_close(&object);
  return status;
}

static comp_status get_pair(size_t out[2], bool *found, const comp__tree *tree, const char *path, const char *name) {
  hid_t object;
  *found = false;
  comp_status status = open_owner(&object, tree, path);
  if (status == COMP_OK) status = comp__h5_get_pair(out, found, object, name);
  comp__h5_close(&object);
  return status;
}

static bool has(const comp__tree *tree, const char *path, const char *name) {
  hid_t object = open_object(tree, path);
  if (object < 0) comp__h5_doubt(comp__h5_tree_file(tree), 0);
  bool found = object >= 0 && comp__h5_has_attr(object, name);
  comp__h5_close(&object);
  return found;
}

/* The attribute is a bool of h5py's, or a number. */
static comp_status get_truth(bool *out, const comp__tree *tree, const char *path, const char *name) {
  comp_status status = COMP_OK;
  int8_t value = 0;
  *out = false;
  if (!has(tree, path, name)) return COMP_OK;
  hid_t object = open_object(tree, path), attribute = H5Aopen(object, name, H5P_DEFAULT);
  hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute), truth = comp__h5_bool_type();
  hid_t as = comp__h5_is_bool(type) ? truth : H5Tget_class(type) == H5T_INTEGER ? H5T_NATIVE_INT8 : H5I_INVALID_HID;
  if (as < 0 || H5Sget_simple_extent_npoints(space) != 1 || H5Aread(attribute, as, &value) < 0)
    status = comp__h5_error(COMP_ERR_FORMAT, "attribute '%s' of %s is neither true nor false", name, path);
  *out = value != 0;
  comp__h5_close(&truth);
  comp__h5_close(&space);
  comp__h5_close(&type);
  comp__h5_close(&attribute);
  comp__h5_close(&object);
  return status;
}

static comp__content content(int *rank, const comp__tree *tree, const char *path) {
  hid_t object = open_object(tree, path), type = H5I_INVALID_HID, space = H5I_INVALID_HID;
  comp__content holds = COMP__CONTENT_OTHER;
  *rank = -1;
  if (object < 0) comp__h5_doubt(comp__h5_tree_file(tree), 0);
  if (object >= 0 && H5Iget_type(object) == H5I_DATASET) {
    type = H5Dget_type(object);
    space = H5Dget_space(object);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    int plain = class == H5T_COMPOUND ? comp__h5_records_plain(type) : 0;
    if (type < 0 || space < 0 || plain < 0) comp__h5_doubt(comp__h5_tree_file(tree), 0);
    *rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    holds = class == H5T_STRING                   ? COMP__CONTENT_TEXT
            : class == H5T_INTEGER                ? COMP__CONTENT_INTEGERS
            : class == H5T_FLOAT                  ? COMP__CONTENT_FLOATS
            : type >= 0 && comp__h5_is_bool(type) ? COMP__CONTENT_BOOLS
            : plain > 0                           ? COMP__CONTENT_RECORDS
                                                  : COMP__CONTENT_OTHER;
  }
  comp__h5_close(&space);
  comp__h5_close(&type);
  comp__h5_close(&object);
  H5Eclear2(H5E_DEFAULT);
  return holds;
}

static comp_status get_shape(size_t *out, int *rank, const comp__tree *tree, const char *path) {
  hid_t dataset = H5I_INVALID_HID;
  comp_status status = comp__h5_open_dataset(&dataset, comp__h5_tree_file(tree), path);
  if (status == COMP_OK) status = comp__h5_shape(out, rank, COMP__TREE_MOST_DIMS, dataset);
  comp__h5_close(&dataset);
  return status;
}

static comp_status open_array(comp__tree_array *out, const comp__tree *tree, const char *path) {
  comp__h5_array *array = NULL;
  *out = (comp__tree_array){.tree = tree};
  comp_status status = comp__alloc(&array, 1, sizeof *array);
  if (status != COMP_OK) return status;
  out->handle = array;
  status = comp__h5_array_open(array, comp__h5_tree_file(tree), path);
  snprintf(out->where, sizeof out->where, "%s", array->where);
  out->rank = array->rank;
  out->rows = array->rows;
  out->cols = array->cols;
  out->bytes = array->number.size;
  out->integer = array->integer;
  out->boolean = array->boolean;
  return status;
}

static comp_status read_array(comp_context *context, const comp__tree_array *array, comp__as as, size_t first,
                              size_t rows, void *out) {
  return comp__h5_array_read(context, array->handle, as, first, rows, out);
}

static void close_array(comp__tree_array *array) {
  if (array->handle) comp__h5_array_close(array->handle);
  comp__free(array->handle);
  *array = (comp__tree_array){0};
}

static comp_status read_texts(comp__strings *out, comp_context *context, const comp__tree *tree, const char *path,
                              bool any) {
  hid_t dataset = H5I_INVALID_HID;
  comp_status status = comp__h5_open_dataset(&dataset, comp__h5_tree_file(tree), path);
  if (status == COMP_OK) status = comp__h5_read_texts(out, context, dataset, any);
  comp__h5_close(&dataset);
  return status;
}

/* What HDF5 reads itself: single values, and arrays of more than two dimensions. */
static comp_status load_by_hdf5(comp__tree_value *out, hid_t dataset, comp__as as, bool boolean) {
  hid_t truth = comp__h5_bool_type();
  hid_t types[] = {[COMP__AS_F32] = H5T_NATIVE_FLOAT,
                   [COMP__AS_F64] = H5T_NATIVE_DOUBLE,
                   [COMP__AS_I32] = H5T_NATIVE_INT32,
                   [COMP__AS_I64] = H5T_NATIVE_INT64,
                   [COMP__AS_U64] = H5T_NATIVE_UINT64};
  comp_status status;
  COMP__TRY(comp__h5_check_data(dataset));
  if (H5Dread(dataset, boolean ? truth : types[as], H5S_ALL, H5S_ALL, H5P_DEFAULT, out->numbers) < 0) {
    status = comp__h5_error(COMP_ERR_FORMAT, "it cannot be read");
    goto done;
  }
  if (!boolean) comp__stored_narrow(out->numbers, out->type, as, out->count);
done:
  comp__h5_close(&truth);
  return status;
}

static comp_status load_numbers(comp__tree_value *out, comp_context *context, hid_t dataset) {
  comp__h5_array array = COMP__H5_ARRAY_INIT;
  comp__number number;
  bool boolean;
  comp__as as;
  comp_status status;
  COMP__TRY(comp__h5_array_type(&number, &boolean, dataset));
  out->type = comp__stored_of(&as, number, boolean);
  COMP__TRY(comp__tree_value_reserve(out, context, comp__as_size(as)));
  if (out->rank == 0 || out->rank > 2) {
    status = load_by_hdf5(out, dataset, as, boolean);
    goto done;
  }
  COMP__TRY(comp__h5_array_open(&array, dataset, "."));
  COMP__TRY(comp__h5_array_read(context, &array, as, 0, array.rows, out->numbers));
  comp__stored_narrow(out->numbers, out->type, as, out->count);
done:
  comp__h5_array_close(&array);
  return status;
}

static comp_status load_value(comp__tree_value *out, comp_context *context, const comp__tree *tree, const char *path) {
  hid_t dataset = H5I_INVALID_HID, type = H5I_INVALID_HID, space = H5I_INVALID_HID;
  comp_status status;
  *out = (comp__tree_value){.count = 1};
  COMP__TRY(comp__h5_open_dataset(&dataset, comp__h5_tree_file(tree), path));
  type = H5Dget_type(dataset);
  space = H5Dget_space(dataset);
  out->null = space >= 0 && H5Sget_simple_extent_type(space) == H5S_NULL;
  if (out->null) goto done;
  COMP__TRY(comp__h5_shape(out->shape, &out->rank, COMP__TREE_MOST_DIMS, dataset));
  for (int i = 0; i < out->rank; i++) out->count *= out->shape[i]; /* the shape is plausible */
  out->is_text = type >= 0 && H5Tget_class(type) == H5T_STRING;
  if (type >= 0 && H5Tget_class(type) == H5T_COMPOUND)
    status = comp__h5_records_load(out, context, comp__h5_tree_file(tree), path);
  else if (!out->is_text)
    status = load_numbers(out, context, dataset);
  else
    status = comp__h5_read_texts(&out->texts, context, dataset, false);
done:
  comp__h5_close(&space);
  comp__h5_close(&type);
  comp__h5_close(&dataset);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}

static comp_status get_attributes(json_t **out, const comp__tree *tree, const char *path) {
  hid_t object;
  *out = NULL;
  comp_status status = open_owner(&object, tree, path);
  if (status == COMP_OK) status = comp__h5_get_attributes(out, object);
  comp__h5_close(&object);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}

/* The dataset of categories that an attribute of a 0.7 column refers to. */
static comp_status follow_reference(hid_t *out, hid_t dataset) {
  hobj_ref_t reference = 0;
  hid_t attribute = H5Aopen(dataset, "categories", H5P_DEFAULT);
  hid_t type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
  bool good = type >= 0 && H5Tequal(type, H5T_STD_REF_OBJ) > 0 && H5Aread(attribute, H5T_STD_REF_OBJ, &reference) >= 0;
  *out = good ? H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, &reference) : H5I_INVALID_HID;
  comp__h5_close(&type);
  comp__h5_close(&attribute);
  if (*out >= 0 && H5Iget_type(*out) == H5I_DATASET) return COMP_OK;
  comp__h5_close(out);
  return comp__h5_error(COMP_ERR_FORMAT, "its categories cannot be found");
}

static comp_status read_categories(comp__strings *out, comp_context *context, const comp__tree *tree,
                                   const char *path) {
  hid_t dataset = H5I_INVALID_HID, levels = H5I_INVALID_HID;
  comp_status status;
  COMP__TRY(comp__h5_open_dataset(&dataset, comp__h5_tree_file(tree), path));
  COMP__TRY(follow_reference(&levels, dataset));
  COMP__TRY(comp__h5_read_texts(out, context, levels, true));
done:
  comp__h5_close(&levels);
  comp__h5_close(&dataset);
  return status;
}

static comp_status legacy_names(comp__strings *out, comp_context *context, const comp__tree *tree, const char *table) {
  return comp__h5ad_legacy_names(out, context, comp__h5_tree_file(tree), table);
}

static comp_status legacy_table(comp_table *out, comp_context *context, const comp__tree *tree, const char *table) {
  return comp__h5ad_legacy_table(out, context, comp__h5_tree_file(tree), table);
}

static comp_status legacy_obsm(comp_dataset *dataset, comp_context *context, const comp__tree *tree) {
  return comp__h5ad_legacy_obsm(dataset, context, comp__h5_tree_file(tree));
}

static comp_status certain(const comp__tree *tree) {
  return comp__h5_certain(comp__h5_tree_file(tree));
}

static void free_tree(comp__tree *tree) {
  comp__h5_close_file(&((comp__h5_tree *)tree)->file);
  comp__free(tree);
}

static const comp__tree_ops ops = {
    .find = find,
    .members = members,
    .same = same,
    .get_text = get_text,
    .get_texts = get_texts,
    .get_pair = get_pair,
    .has = has,
    .get_truth = get_truth,
    .content = content,
    .shape = get_shape,
    .open = open_array,
    .read = read_array,
    .close = close_array,
    .read_texts = read_texts,
    .load = load_value,
    .attributes = get_attributes,
    .read_categories = read_categories,
    .legacy_names = legacy_names,
    .legacy_table = legacy_table,
    .legacy_obsm = legacy_obsm,
    .certain = certain,
    .free = free_tree,
};

comp__h5_tree comp__h5_tree_of(hid_t file) {
  return (comp__h5_tree){{&ops, false}, file, COMP__H5_FILE_INIT};
}

comp_status comp__h5_tree_open(comp__tree **out, const char *path) {
  comp__h5_tree *tree;
  *out = NULL;
  comp_status status = comp__alloc(&tree, 1, sizeof *tree);
  if (status != COMP_OK) return status;
  *tree = comp__h5_tree_of(H5I_INVALID_HID);
  status = comp__h5_open(&tree->file, path, false);
  tree->id = tree->file.id;
  if (status == COMP_OK)
    *out = &tree->tree;
  else
    free_tree(&tree->tree);
  return status;
}
