/*
 * h5_recipe.h: HDF5 files for the fuzzers, built by HDF5 itself as the fuzzer's bytes tell: shapes, types, filters,
 * attributes and values all may be wrong, stored chunks may be rubbish, and so may be the heap of texts.
 *
 * Not any bytes as a file: HDF5 1.10.8 itself overruns on damaged object headers (so do its own fuzzers say), and what
 * is to be tested is this library.
 */
#ifndef COMP_FUZZ_H5_RECIPE_H
#define COMP_FUZZ_H5_RECIPE_H

#include <fcntl.h>
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comp/comp.h"
#include "comp/io.h"
#include "core/context.h"
#include "io/rows.h"

/* libhdf5 1.10 itself loses a few hundred bytes on some damaged files; ours it must not be. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libhdf5";
}

/* Every HDF5 file that is opened takes a megabyte of tables; keeping them after use makes each one slow to get. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "quarantine_size_mb=2:allocator_may_return_null=1";
}

typedef struct recipe {
  const uint8_t *data;
  size_t size;
  bool
      spoil_heap; /* texts in the heap are damaged at last; then those of attributes, which HDF5 reads, are not in it */
} recipe;

/* The next byte; 0 at the end. */
static inline unsigned take(recipe *r) {
  if (r->size == 0) return 0;
  r->size--;
  return *r->data++;
}

/* Fills a block with the next bytes, with zeros beyond the end. */
static inline void take_bytes(recipe *r, void *out, size_t n) {
  size_t have = n < r->size ? n : r->size;
  memset(out, 0, n);
  memcpy(out, r->data, have);
  r->data += have;
  r->size -= have;
}

/* Mostly what is right: something else in one of 16 cases. */
static inline unsigned mostly(recipe *r, unsigned right) {
  unsigned byte = take(r);
  return byte >= 240 ? byte & 15 : right;
}

static const char *const WORDS[] = {"a",
                                    "b",
                                    "c",
                                    "_index",
                                    "X",
                                    "csr_matrix",
                                    "csc_matrix",
                                    "categorical",
                                    "nullable-integer",
                                    "nullable-boolean",
                                    "dataframe",
                                    "string-array",
                                    "nullable-string-array",
                                    "csr",
                                    "",
                                    "\xff\xfe"};

static inline void put_text(recipe *r, hid_t object, const char *name, const char *value) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  unsigned odd = take(r);
  if (odd == 255) goto done; /* left out */
  if (odd >= 240) value = WORDS[odd & 15];
  bool is_fixed = r->spoil_heap || (odd & 1);
  H5Tset_size(type, is_fixed ? 24 : H5T_VARIABLE);
  char fixed[24] = "";
  snprintf(fixed, sizeof fixed, "%s", value);
  hid_t attribute = H5Acreate2(object, name, odd == 254 ? H5T_NATIVE_INT : type, space, H5P_DEFAULT, H5P_DEFAULT);
  if (odd != 254) H5Awrite(attribute, type, is_fixed ? (const void *)fixed : &value);
  H5Aclose(attribute);
done:
  H5Sclose(space);
  H5Tclose(type);
}

static inline void put_shape(recipe *r, hid_t object, const char *name, unsigned rows, unsigned cols) {
  int64_t values[2] = {mostly(r, rows), mostly(r, cols)};
  hsize_t two = mostly(r, 2);
  if (two == 0) return;
  if (two != 2) memset(values, 0xff, sizeof values);
  if (two > 2) two = 2;
  hid_t space = H5Screate_simple(1, &two, NULL);
  hid_t attribute = H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, H5T_NATIVE_INT64, values);
  H5Aclose(attribute);
  H5Sclose(space);
}

static inline hid_t number_type(recipe *r) {
  const hid_t types[] = {H5T_IEEE_F32LE, H5T_STD_I32LE, H5T_STD_U8LE,   H5T_STD_I8LE,   H5T_STD_I16LE,  H5T_STD_U16BE,
                         H5T_STD_U32LE,  H5T_STD_I64LE, H5T_STD_U64BE,  H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_STD_B8LE,
                         H5T_STD_I32BE,  H5T_STD_I64BE, H5T_IEEE_F64BE, H5T_C_S1};
  return types[take(r) & 15];
}

/* A creation list: contiguous, compact, or chunks with filters. */
static inline hid_t storage(recipe *r, int rank, const hsize_t *dims) {
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  unsigned how = take(r);
  if ((how & 3) == 0) return list;
  if ((how & 3) == 1) {
    H5Pset_layout(list, H5D_COMPACT);
    return list;
  }
  hsize_t chunk[2];
  for (int i = 0; i < rank; i++) chunk[i] = 1 + take(r) % (dims[i] + 2);
  H5Pset_chunk(list, rank, chunk);
  if (how & 4) H5Pset_shuffle(list);
  if (how & 8) H5Pset_deflate(list, 1);
  if (how & 16) H5Pset_fletcher32(list);
  if (how & 32) H5Pset_filter(list, 32000, H5Z_FLAG_OPTIONAL, 0, NULL);
  return list;
}

/* Replaces the first stored chunk by rubbish, where there is one. */
static inline void spoil(recipe *r, hid_t dataset) {
  if (take(r) < 200) return;
  hid_t list = H5Dget_create_plist(dataset), space = H5Dget_space(dataset);
  bool chunked = H5Pget_layout(list) == H5D_CHUNKED && H5Sget_simple_extent_npoints(space) > 0;
  H5Sclose(space);
  H5Pclose(list);
  if (!chunked) return;
  hsize_t offset[2] = {0, 0};
  uint8_t rubbish[64];
  size_t n = 1 + take(r) % sizeof rubbish;
  uint32_t skipped = take(r) & 15;
  take_bytes(r, rubbish, n);
  H5Dwrite_chunk(dataset, H5P_DEFAULT, skipped, offset, n, rubbish);
}

/* A dataset of bytes from the recipe, of a type: `fixed`, or any when it is invalid. */
static inline void put_raw(recipe *r, hid_t parent, const char *name, int rank, hsize_t rows, hsize_t cols,
                           hid_t fixed) {
  uint8_t values[4096];
  if (take(r) == 255) return; /* left out */
  rows = mostly(r, (unsigned)rows);
  rank = (int)mostly(r, (unsigned)rank);
  if (rank > 2) rank = 0;
  hsize_t dims[2] = {rows, cols};
  hid_t type = H5Tcopy(fixed >= 0 ? fixed : number_type(r)), list = storage(r, rank > 0 ? rank : 1, dims);
  if (H5Tget_class(type) == H5T_STRING) H5Tset_size(type, 1 + take(r) % 9);
  hid_t space = rank > 0 ? H5Screate_simple(rank, dims, NULL) : H5Screate(H5S_SCALAR);
  hid_t dataset = H5Dcreate2(parent, name, type, space, H5P_DEFAULT, rank > 0 ? list : H5P_DEFAULT, H5P_DEFAULT);
  size_t bytes = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
  if (dataset >= 0 && bytes <= sizeof values) {
    take_bytes(r, values, bytes);
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    spoil(r, dataset);
  }
  if (dataset >= 0) H5Dclose(dataset);
  H5Sclose(space);
  H5Pclose(list);
  H5Tclose(type);
}

/* Small whole numbers in the narrowest type: what indices, pointers, codes and masks are mostly like. */
static inline void put_small(recipe *r, hid_t parent, const char *name, hsize_t n) {
  put_raw(r, parent, name, 1, n, 1, take(r) & 1 ? H5T_STD_U8LE : H5T_STD_I8LE);
}

static inline void put_texts(recipe *r, hid_t parent, const char *name, hsize_t n) {
  const char *values[16];
  unsigned how = take(r);
  if (how >= 224) { /* numbers, fixed-size text, nothing */
    put_raw(r, parent, name, 1, n, 1, how & 1 ? H5I_INVALID_HID : H5T_C_S1);
    return;
  }
  n = mostly(r, (unsigned)n);
  for (hsize_t i = 0; i < n; i++) values[i] = WORDS[take(r) & 15];
  hid_t type = H5Tcopy(H5T_C_S1), list = storage(r, 1, &n), space = H5Screate_simple(1, &n, NULL);
  H5Tset_size(type, H5T_VARIABLE);
  hid_t dataset = H5Dcreate2(parent, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  if (dataset >= 0) {
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (how & 1) spoil(r, dataset);
    H5Dclose(dataset);
  }
  H5Sclose(space);
  H5Pclose(list);
  H5Tclose(type);
}

/* data, indices, indptr. */
static inline void put_sparse_parts(recipe *r, hid_t group, unsigned major) {
  hsize_t entries = take(r) & 15;
  put_raw(r, group, "data", 1, entries, 1, H5I_INVALID_HID);
  put_small(r, group, "indices", entries);
  put_small(r, group, "indptr", major + 1);
}

static char recipe_name[64];

static inline void remove_recipe(void) {
  unlink(recipe_name);
}

/* The file, in memory where that is a file system (HDF5 does not open what has no name), and its name. */
static inline const char *recipe_path(int *fd) {
  static int file = -1;
  if (file < 0) {
    snprintf(recipe_name, sizeof recipe_name, "%s/comp-fuzz-%d.h5", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    file = open(recipe_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    atexit(remove_recipe);
  }
  if (file < 0) abort();
  *fd = file;
  return recipe_name;
}

/* Rubbish in the heap of texts. */
static inline void spoil_heap(recipe *r, int fd) {
  static uint8_t image[1 << 18];
  ssize_t n = pread(fd, image, sizeof image, 0);
  for (unsigned i = r->spoil_heap ? take(r) & 3 : 0; i > 0 && n > 0; i--) {
    const uint8_t *heap = memmem(image, (size_t)n, "GCOL\1", 5);
    size_t at = 8 + (take(r) + 256 * (take(r) & 15)) % (4096 - 8); /* a collection has 4096 bytes here */
    uint8_t byte = (uint8_t)take(r);
    if (heap && (size_t)(heap - image) + at < (size_t)n && pwrite(fd, &byte, 1, heap - image + (off_t)at) != 1) abort();
  }
}

static inline void read_blocks(comp_context *context, const char *path, const comp__read_options *options) {
  comp__rows *rows;
  if (comp__rows_open(&rows, context, path, options) != COMP_OK) return;
  for (size_t at = 0; at < comp__rows_count(rows) && at < 16; at += 3) {
    size_t end = at + 3 < comp__rows_count(rows) ? at + 3 : comp__rows_count(rows);
    comp_matrix *block;
    if (comp__rows_read(&block, context, rows, at, end) != COMP_OK) break;
    if (comp_matrix_check(context, block) != COMP_OK) abort();
    comp_matrix_free(block);
  }
  comp__rows_close(rows);
}

/* Reads the file, whole or by blocks. What is read must be sound. */
static inline void read_recipe(recipe *r, const char *path) {
  static comp_context *context;
  comp__context_options context_options = comp__context_defaults();
  context_options.threads = 1;
  if (!context && comp__context_new(&context, &context_options) != COMP_OK) abort();
  comp__read_options options = {0};
  unsigned how = take(r);
  options.raw = (how & 7) == 1;
  options.layer = (how & 7) == 2 ? "a" : NULL;
  options.skip_x = (how & 7) == 3;
  if (how & 8) {
    read_blocks(context, path, &options);
    return;
  }
  comp_dataset *dataset;
  if (comp__dataset_read(&dataset, context, path, &options) == COMP_OK) {
    comp_matrix *x = comp_dataset_x(dataset);
    if (x && comp_matrix_check(context, x) != COMP_OK) abort();
    comp_dataset_free(dataset);
  } else if (comp_error_message()[0] == '\0')
    abort();
}

#endif
