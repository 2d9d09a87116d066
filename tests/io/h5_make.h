/* h5_make.h: small .h5ad files made with HDF5 itself, right or wrong on purpose. */
#ifndef COMP_TESTS_H5_MAKE_H
#define COMP_TESTS_H5_MAKE_H

#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

#include "comp/io.h"

/* A 4 x 3 matrix with 5 entries: rows {0:1, 2:2}, {}, {1:3}, {0:4, 1:5}. */
static const float MAKE_DATA[] = {1, 2, 3, 4, 5};
static const int32_t MAKE_INDICES[] = {0, 2, 1, 0, 1};
static const int32_t MAKE_INDPTR[] = {0, 2, 2, 3, 5};
static const float MAKE_DENSE[] = {1, 0, 2, 0, 0, 0, 0, 3, 0, 4, 5, 0};

static inline const char *make_path(const char *name) {
  static char path[4][256];
  static int next;
  char *out = path[next++ % 4];
  snprintf(out, 256, "%s/comp-%d-%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid(), name);
  return out;
}

static inline void put_text(hid_t object, const char *name, const char *value) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, H5T_VARIABLE);
  hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, &value);
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

static inline void put_shape(hid_t object, const char *name, long long rows, long long cols) {
  long long values[2] = {rows, cols};
  hsize_t two = 2;
  hid_t space = H5Screate_simple(1, &two, NULL);
  hid_t attribute = H5Acreate2(object, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, H5T_NATIVE_LLONG, values);
  H5Aclose(attribute);
  H5Sclose(space);
}

/* A dataset: stored as `file_type` from values of `memory_type`, with a creation list (H5P_DEFAULT: contiguous). */
static inline void put_array(hid_t parent, const char *name, int rank, const hsize_t *dims, hid_t file_type,
                             hid_t memory_type, const void *values, hid_t list) {
  hid_t space = H5Screate_simple(rank, dims, NULL);
  hid_t dataset = H5Dcreate2(parent, name, file_type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(dataset >= 0);
  if (values) assert_true(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(dataset);
  H5Sclose(space);
}

static inline void put_list(hid_t parent, const char *name, size_t n, hid_t type, const void *values) {
  hsize_t dims = n;
  put_array(parent, name, 1, &dims, type, type, values, H5P_DEFAULT);
}

static inline void put_texts(hid_t parent, const char *name, size_t n, const char *const *values) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  put_list(parent, name, n, type, values);
  H5Tclose(type);
}

static inline hid_t put_group(hid_t parent, const char *name) {
  hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(group >= 0);
  return group;
}

static inline void put_table(hid_t file, const char *path, size_t n, const char *const *names) {
  hid_t group = put_group(file, path);
  put_text(group, "encoding-type", "dataframe");
  put_text(group, "_index", "_index");
  put_texts(group, "_index", n, names);
  H5Gclose(group);
}

static inline void put_csr(hid_t parent, const char *name, const char *encoding) {
  hid_t group = put_group(parent, name);
  put_text(group, "encoding-type", encoding);
  put_shape(group, "shape", 4, 3);
  put_list(group, "data", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  put_list(group, "indices", 5, H5T_NATIVE_INT32, MAKE_INDICES);
  put_list(group, "indptr", 5, H5T_NATIVE_INT32, MAKE_INDPTR);
  H5Gclose(group);
}

static const char *const CELLS[] = {"c0", "c1", "c2", "c3"};
static const char *const GENES[] = {"g0", "g1", "g2"};

/* An open file with obs and var, without X. */
static inline hid_t make_bare(const char *path) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(file >= 0);
  put_table(file, "obs", 4, CELLS);
  put_table(file, "var", 3, GENES);
  return file;
}

/* A complete small file, closed. */
static inline void make_file(const char *path) {
  hid_t file = make_bare(path);
  put_csr(file, "X", "csr_matrix");
  H5Fclose(file);
}

/* Removes a dataset of a complete file and opens it for putting another in its place. */
static inline hid_t make_without(const char *path, const char *object) {
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, object, H5P_DEFAULT);
  return file;
}

static inline comp_status read_file(comp_dataset **out, const char *path) {
  comp_context *context = test_context(2);
  comp_status status = comp_dataset_read(out, context, path, NULL);
  comp_context_free(context);
  return status;
}

/* The file is refused with this status and words. Closes the file handle and removes the file. */
#define assert_refused(file, path, status, text)                                                                       \
  do {                                                                                                                 \
    comp_dataset *refused_;                                                                                            \
    if ((file) >= 0) H5Fclose(file);                                                                                   \
    assert_error(read_file(&refused_, path), status, text);                                                            \
    assert_null(refused_);                                                                                             \
    assert_non_null(strstr(comp_error_message(), path));                                                               \
    unlink(path);                                                                                                      \
  } while (0)

#endif
