/* fuzz_h5ad.c: .h5ad files of any of the three layouts, right and wrong, as h5_recipe.h makes them. */
#include "h5_recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_matrix(recipe *r, hid_t parent, const char *name, unsigned rows, unsigned cols) {
  unsigned kind = take(r) & 3;
  if (kind == 0) {
    put_raw(r, parent, name, 2, rows, cols, H5I_INVALID_HID);
    return;
  }
  hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) return;
  bool old = kind == 3;
  put_text(r, group, old ? "h5sparse_format" : "encoding-type", old ? "csr" : kind == 1 ? "csr_matrix" : "csc_matrix");
  put_shape(r, group, old ? "h5sparse_shape" : "shape", rows, cols);
  put_sparse_parts(r, group, kind == 2 ? cols : rows);
  H5Gclose(group);
}

static void put_group_column(recipe *r, hid_t table, const char *name, unsigned rows) {
  static const char *const encodings[] = {"categorical", "nullable-integer", "nullable-boolean",
                                          "nullable-string-array"};
  unsigned kind = take(r) & 3;
  hid_t group = H5Gcreate2(table, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) return;
  put_text(r, group, "encoding-type", encodings[kind]);
  if (kind == 0) {
    put_small(r, group, "codes", rows);
    put_texts(r, group, "categories", take(r) & 7);
  } else {
    put_small(r, group, "mask", rows);
    if (kind == 3)
      put_texts(r, group, "values", rows);
    else
      put_raw(r, group, "values", 1, rows, 1, H5I_INVALID_HID);
  }
  H5Gclose(group);
}

/* AnnData 0.7: codes that refer to a dataset of categories. */
static void put_old_categories(recipe *r, hid_t table, const char *name, unsigned rows) {
  hobj_ref_t reference = 0;
  put_small(r, table, name, rows);
  hid_t all = H5Gcreate2(table, take(r) & 1 ? "__categories" : "elsewhere", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t dataset = H5Dopen2(table, name, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
  if (all >= 0) put_texts(r, all, name, take(r) & 7);
  if (all >= 0 && dataset >= 0) {
    if (take(r) & 1) H5Rcreate(&reference, all, name, H5R_OBJECT, -1);
    hid_t attribute = H5Acreate2(dataset, "categories", H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_STD_REF_OBJ, &reference);
    H5Aclose(attribute);
  }
  if (dataset >= 0) H5Dclose(dataset);
  if (all >= 0) H5Gclose(all);
  H5Sclose(space);
}

static void put_table(recipe *r, hid_t file, const char *path, unsigned rows) {
  hid_t table = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (table < 0) return;
  put_text(r, table, "_index", "_index");
  put_texts(r, table, "_index", rows);
  for (unsigned i = take(r) & 3; i > 0; i--) {
    char name[4] = {(char)('a' + i), '\0'};
    switch (take(r) & 3) {
    case 0:
      put_raw(r, table, name, 1, rows, 1, H5I_INVALID_HID);
      break;
    case 1:
      put_texts(r, table, name, rows);
      break;
    case 2:
      put_group_column(r, table, name, rows);
      break;
    default:
      put_old_categories(r, table, name, rows);
      break;
    }
  }
  H5Gclose(table);
}

/* Before AnnData 0.7: records. */
static void put_records(recipe *r, hid_t file, const char *path, unsigned rows) {
  hid_t text = H5Tcopy(H5T_C_S1), five;
  hsize_t width = 1 + (take(r) & 3);
  H5Tset_size(text, take(r) & 1 ? H5T_VARIABLE : 3);
  five = H5Tarray_create2(H5T_IEEE_F32LE, 1, &width);
  const hid_t types[] = {text, H5T_STD_I8LE, H5T_IEEE_F64BE, five, H5T_STD_U16LE};
  hid_t record = H5Tcreate(H5T_COMPOUND, 512);
  size_t offset = 0, fields = 1 + (take(r) & 3);
  for (size_t i = 0; i < fields; i++) {
    char name[4] = {(char)('a' + i), '\0'};
    hid_t type = i == 0 && (take(r) & 7) ? text : types[take(r) % 5];
    H5Tinsert(record, name, offset, type);
    offset += H5Tget_size(type);
  }
  H5Tset_size(record, offset);
  if (H5Tis_variable_str(text) > 0) { /* pointers cannot come from a recipe */
    hsize_t n = rows;
    hid_t space = H5Screate_simple(1, &n, NULL);
    hid_t dataset = H5Dcreate2(file, path, record, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (dataset >= 0) H5Dclose(dataset);
    H5Sclose(space);
  } else {
    put_raw(r, file, path, 1, rows, 1, record);
  }
  H5Tclose(record);
  H5Tclose(five);
  H5Tclose(text);
}

static void put_slot(recipe *r, hid_t file, const char *path, unsigned rows, unsigned cols) {
  hid_t group = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) return;
  put_matrix(r, group, "a", rows, cols);
  if (take(r) & 1) put_texts(r, group, "b", rows);
  H5Gclose(group);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  recipe r = {data, size, size % 2 == 1};
  int fd;
  const char *path = recipe_path(&fd);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) abort();
  unsigned parts = take(&r), rows = take(&r) & 15, cols = take(&r) & 15;
  for (int t = 0; t < 2; t++)
    if (parts & (1u << t))
      put_records(&r, file, t ? "var" : "obs", t ? cols : rows);
    else
      put_table(&r, file, t ? "var" : "obs", t ? cols : rows);
  put_matrix(&r, file, "X", rows, cols);
  if (parts & 4) put_slot(&r, file, "layers", rows, cols);
  if ((parts & 24) == 8) put_slot(&r, file, "obsm", rows, take(&r) & 7);
  if ((parts & 24) == 16) put_records(&r, file, "obsm", rows);
  if (parts & 32) put_slot(&r, file, parts & 64 ? "raw" : "uns", rows, cols);
  if (parts & 128) put_texts(&r, file, "raw.X", 3);
  H5Fclose(file);
  spoil_heap(&r, fd);
  read_recipe(&r, path);
  return 0;
}
