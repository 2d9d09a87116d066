/* test_h5_read.c: reading .h5ad and 10x .h5: every stored form of a matrix, and files that HDF5 itself must not trust.
 */
#include "io/h5_make.h"

#include "core/alloc.h"
#include "core/context.h"
#include "core/matrix.h"
#include "io/h5/h5.h"
#include "io/h5/vet.h"
#include "io/rows.h"

static void assert_made(const comp_matrix *x) {
  comp_context *context = test_context(1);
  comp_matrix *dense;
  assert_ok(comp_matrix_check(context, x));
  assert_ok(comp_matrix_to_dense(&dense, context, x));
  assert_int_equal(dense->rows, 4);
  assert_int_equal(dense->cols, 3);
  for (int i = 0; i < 12; i++) assert_true(dense->values[i] == MAKE_DENSE[i]);
  comp_matrix_free(dense);
  comp_context_free(context);
}

static void assert_reads(const char *path) {
  comp_dataset *d;
  assert_ok(read_file(&d, path));
  assert_made(comp_dataset_x(d));
  assert_string_equal(comp_dataset_obs_name(d, 3), "c3");
  comp_dataset_free(d);
  unlink(path);
}

/* Replaces X/data, X/indices and X/indptr by the same numbers in other types and with a creation list. */
static void make_as(const char *path, hid_t value_type, hid_t index_type, hid_t list) {
  hid_t file = make_bare(path);
  hid_t group = put_group(file, "X");
  hsize_t five = 5;
  put_text(group, "encoding-type", "csr_matrix");
  put_shape(group, "shape", 4, 3);
  put_array(group, "data", 1, &five, value_type, H5T_NATIVE_FLOAT, MAKE_DATA, list);
  put_array(group, "indices", 1, &five, index_type, H5T_NATIVE_INT32, MAKE_INDICES, list);
  put_array(group, "indptr", 1, &five, index_type, H5T_NATIVE_INT32, MAKE_INDPTR, list);
  H5Gclose(group);
  H5Fclose(file);
}

static hid_t chunks(hsize_t n) {
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 1, &n);
  return list;
}

static void every_type_of_number(void **state) {
  (void)state;
  const hid_t index_types[] = {H5T_STD_I8LE,  H5T_STD_U8LE,  H5T_STD_I16LE, H5T_STD_U16LE, H5T_STD_I32LE, H5T_STD_U32LE,
                               H5T_STD_I64LE, H5T_STD_U64LE, H5T_STD_I16BE, H5T_STD_U32BE, H5T_STD_I64BE};
  const hid_t value_types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE,
                               H5T_STD_U16LE,  H5T_STD_I64LE,  H5T_STD_I32BE};
  const char *path = make_path("types.h5ad");
  for (size_t i = 0; i < sizeof index_types / sizeof *index_types; i++) {
    hid_t value_type = value_types[i % (sizeof value_types / sizeof *value_types)];
    make_as(path, value_type, index_types[i], H5P_DEFAULT);
    assert_reads(path);
    hid_t list = chunks(2);
    H5Pset_deflate(list, 4);
    make_as(path, value_type, index_types[i], list);
    H5Pclose(list);
    assert_reads(path);
  }
}

/* A float of 24 bits: HDF5 converts it. */
static void odd_numbers_are_left_to_hdf5(void **state) {
  (void)state;
  const char *path = make_path("odd.h5ad");
  hid_t type = H5Tcopy(H5T_IEEE_F32LE), list = chunks(2);
  H5Tset_fields(type, 23, 15, 8, 0, 15);
  H5Tset_precision(type, 24);
  H5Tset_size(type, 3);
  make_as(path, type, H5T_STD_I32LE, list);
  assert_reads(path);
  H5Pclose(list);
  H5Tclose(type);
}

static void every_filter(void **state) {
  (void)state;
  const char *path = make_path("filters.h5ad");
  unsigned lzf = 0; /* registered by the library's first opening */
  make_file(path);
  assert_reads(path);
  for (int mask = 0; mask < 16; mask++) {
    hid_t list = chunks(3);
    if (mask & 1) H5Pset_shuffle(list);
    if (mask & 2) H5Pset_deflate(list, 6);
    if (mask & 4) H5Pset_fletcher32(list);
    if (mask & 8) H5Pset_filter(list, 32000, H5Z_FLAG_OPTIONAL, 0, &lzf);
    make_as(path, H5T_IEEE_F32LE, H5T_STD_I32LE, list);
    H5Pclose(list);
    assert_reads(path);
  }
}

static void dense_and_compact(void **state) {
  (void)state;
  const char *path = make_path("dense.h5ad");
  hsize_t dims[2] = {4, 3};
  for (int layout = 0; layout < 3; layout++) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), file = make_bare(path);
    if (layout == 1) H5Pset_layout(list, H5D_COMPACT);
    if (layout == 2) H5Pset_chunk(list, 2, (hsize_t[]){3, 2});
    put_array(file, "X", 2, dims, H5T_IEEE_F64LE, H5T_NATIVE_FLOAT, MAKE_DENSE, list);
    H5Pclose(list);
    H5Fclose(file);
    assert_reads(path);
  }
}

static void by_columns(void **state) {
  (void)state;
  const char *path = make_path("csc.h5ad");
  hid_t file = make_bare(path), group = put_group(file, "X");
  comp_context *context = test_context(1);
  comp__rows *rows;
  put_text(group, "encoding-type", "csc_matrix");
  put_shape(group, "shape", 4, 3);
  put_list(group, "data", 5, H5T_NATIVE_FLOAT, (float[]){1, 4, 3, 5, 2});
  put_list(group, "indices", 5, H5T_NATIVE_INT32, (int32_t[]){0, 3, 2, 3, 0});
  put_list(group, "indptr", 4, H5T_NATIVE_INT32, (int32_t[]){0, 2, 4, 5});
  H5Gclose(group);
  H5Fclose(file);
  assert_error(comp__rows_open(&rows, context, path, NULL), COMP_ERR_UNAVAILABLE, "comp convert");
  assert_reads(path);
  comp_context_free(context);
}

static void row_blocks(void **state) {
  (void)state;
  const char *path = make_path("rows.h5ad");
  make_file(path);
  comp_context *context = test_context(2);
  comp__rows *rows;
  comp_matrix *block;
  assert_ok(comp__rows_open(&rows, context, path, NULL));
  assert_int_equal(comp__rows_count(rows), 4);
  assert_int_equal(comp__rows_cols(rows), 3);
  assert_int_equal(comp__rows_kind(rows), COMP_CSR);
  assert_ok(comp__rows_read(&block, context, rows, 2, 4));
  assert_int_equal(comp_matrix_nnz(block), 3);
  assert_int_equal(block->indices[0], 1);
  assert_true(block->values[2] == 5);
  comp_matrix_free(block);
  assert_ok(comp__rows_read(&block, context, rows, 1, 1));
  assert_int_equal(block->rows, 0);
  comp_matrix_free(block);
  assert_error(comp__rows_read(&block, context, rows, 2, 5), COMP_ERR_ARGUMENT, "there are 4");
  comp_matrix *all;
  assert_ok(comp__rows_read(&all, context, rows, 0, 4));
  const size_t first = comp__rows_entries(rows, 0, 2), last = comp__rows_entries(rows, 2, 4);
  assert_ok(comp_matrix_new_csr(&block, 4, 3, first + last)); /* the last two rows first */
  assert_ok(comp__rows_read_to(block, 0, 0, context, rows, 2, 4));
  assert_ok(comp__rows_read_to(block, 2, last, context, rows, 0, 2));
  for (size_t i = 0; i < 4; i++) {
    const size_t from = (size_t)all->indptr[(i + 2) % 4], to = (size_t)block->indptr[i];
    const size_t n = (size_t)all->indptr[(i + 2) % 4 + 1] - from;
    assert_int_equal((size_t)block->indptr[i + 1] - to, n);
    for (size_t e = 0; e < n; e++) {
      assert_int_equal(block->indices[to + e], all->indices[from + e]);
      assert_true(block->values[to + e] == all->values[from + e]);
    }
  }
  comp_matrix_free(all);
  comp_matrix_free(block);
  comp__rows_close(rows);
  comp_context_free(context);
  unlink(path);
}

static void bad_value_in_a_block_is_named(void **state) {
  (void)state;
  const char *path = make_path("blocknan.h5ad");
  hid_t file = make_without(path, "X/data");
  put_list(file, "X/data", 5, H5T_NATIVE_FLOAT, (float[]){1, 2, 3, 4, NAN});
  H5Fclose(file);
  comp_context *context = test_context(2);
  comp__rows *rows;
  comp_matrix *block;
  assert_ok(comp__rows_open(&rows, context, path, NULL));
  assert_error(comp__rows_read(&block, context, rows, 2, 4), COMP_ERR_DATA,
               "sample 'c3' (row 4), feature 'g1' (column 2)");
  assert_null(block);
  comp__rows_close(rows);
  comp_context_free(context);
  unlink(path);
}

static void unsorted_is_sorted(void **state) {
  (void)state;
  const char *path = make_path("unsorted.h5ad");
  hid_t file = make_without(path, "X/indices");
  put_list(file, "X/indices", 5, H5T_NATIVE_INT32, (int32_t[]){2, 0, 1, 1, 0});
  H5Ldelete(file, "X/data", H5P_DEFAULT);
  put_list(file, "X/data", 5, H5T_NATIVE_FLOAT, (float[]){2, 1, 3, 5, 4});
  H5Fclose(file);
  assert_reads(path);
}

static void missing_parts_are_named(void **state) {
  (void)state;
  const char *path = make_path("parts.h5ad");
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), layers = put_group(file, "layers");
  put_csr(layers, "counts", "csr_matrix");
  H5Gclose(layers);
  H5Fclose(file);
  comp_context *context = test_context(1);
  comp_dataset *d;
  comp__read_options options = {0};
  options.layer = "count";
  assert_error(comp__dataset_read(&d, context, path, &options), COMP_ERR_DATA, "no layer 'count'; there are: counts");
  options.layer = "counts";
  assert_ok(comp__dataset_read(&d, context, path, &options));
  assert_made(comp_dataset_x(d));
  assert_int_equal(comp_dataset_matrix_count(d, COMP_SLOT_LAYERS), 0);
  comp_dataset_free(d);
  options.raw = true;
  assert_error(comp__dataset_read(&d, context, path, &options), COMP_ERR_ARGUMENT, "choose one");
  options.layer = NULL;
  assert_error(comp__dataset_read(&d, context, path, &options), COMP_ERR_DATA, "no raw/X");
  options.raw = false;
  options.skip_x = options.skip_slots = true;
  assert_ok(comp__dataset_read(&d, context, path, &options));
  assert_null(comp_dataset_x(d));
  assert_int_equal(comp_dataset_feature_count(d), 3);
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(path);
}

/* Copies all of a made file into one with other settings, and closes their lists. It should be closed via H5Fclose().
 */
static hid_t copy_into(const char *path, hid_t create, hid_t access) {
  char from[256];
  snprintf(from, sizeof from, "%s-plain", path);
  make_file(from);
  hid_t a = H5Fopen(from, H5F_ACC_RDONLY, H5P_DEFAULT), b = H5Fcreate(path, H5F_ACC_TRUNC, create, access);
  const char *const members[] = {"X", "obs", "var"};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    assert_true(H5Ocopy(a, members[i], b, members[i], H5P_DEFAULT, H5P_DEFAULT) >= 0);
  H5Fclose(a);
  if (create != H5P_DEFAULT) H5Pclose(create);
  if (access != H5P_DEFAULT) H5Pclose(access);
  unlink(from);
  return b;
}

/* Reads, and writes all of it to another file, which reads the same. */
static void assert_reads_and_copies(const char *path) {
  comp_context *context = test_context(1);
  comp__write_options options = {.carry_from = path};
  char to[256];
  snprintf(to, sizeof to, "%s-copy.h5ad", path);
  comp_dataset *d;
  assert_ok(comp_dataset_read(&d, context, path, NULL));
  assert_ok(comp__dataset_write(context, d, to, &options));
  comp_dataset_free(d);
  comp_context_free(context);
  assert_reads(to);
  assert_reads(path);
}

static hid_t latest(void) {
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  return list;
}

static hid_t with_space(H5F_fspace_strategy_t strategy, bool kept) {
  hid_t list = H5Pcreate(H5P_FILE_CREATE);
  assert_true(H5Pset_file_space_strategy(list, strategy, kept, 1) >= 0);
  return list;
}

static hid_t with_nodes(void) {
  hid_t list = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_sym_k(list, 8, 3);
  H5Pset_istore_k(list, 5);
  return list;
}

/* Superblocks of version 2 that keep settings in an object header of their own. */
static void settings_of_a_file(void **state) {
  (void)state;
  const char *path = make_path("settings.h5ad");
  for (int kept = 0; kept < 2; kept++)
    for (int newest = 0; newest < 2; newest++) {
      H5Fclose(copy_into(path, with_space(H5F_FSPACE_STRATEGY_PAGE, kept), newest ? latest() : H5P_DEFAULT));
      assert_reads_and_copies(path);
      H5Fclose(copy_into(path, with_space(H5F_FSPACE_STRATEGY_FSM_AGGR, kept), newest ? latest() : H5P_DEFAULT));
      assert_reads_and_copies(path);
      H5Fclose(copy_into(path, with_nodes(), newest ? latest() : H5P_DEFAULT));
      assert_reads_and_copies(path);
    }
}

/* Chunks of a dataset that may grow in both directions: a B-tree of version 2. */
static void chunks_in_a_newer_tree(void **state) {
  (void)state;
  const char *path = make_path("tree2.h5ad");
  const hsize_t dims[2] = {4, 3}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED}, chunk[2] = {1, 2};
  hid_t file = copy_into(path, H5P_DEFAULT, latest()), space = H5Screate_simple(2, dims, most);
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 2, chunk);
  H5Pset_deflate(list, 4);
  H5Ldelete(file, "X", H5P_DEFAULT);
  hid_t x = H5Dcreate2(file, "X", H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
  assert_true(H5Dwrite(x, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, MAKE_DENSE) >= 0);
  put_text(x, "encoding-type", "array");
  H5Dclose(x);
  H5Sclose(space);
  H5Pclose(list);
  H5Fclose(file);
  assert_reads_and_copies(path);
}

/* References to parts of datasets and lists of references (the scales of dimensions) are in no way of the rest. */
static void references_of_all_kinds(void **state) {
  (void)state;
  const char *path = make_path("references.h5ad");
  hid_t file = copy_into(path, H5P_DEFAULT, H5P_DEFAULT), group = put_group(file, "uns");
  hsize_t one = 1;
  hdset_reg_ref_t part;
  hobj_ref_t object;
  hid_t list = H5Tvlen_create(H5T_STD_REF_OBJ), space = H5Screate_simple(1, &one, NULL), of;
  put_list(group, "values", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  hid_t values = H5Dopen2(group, "values", H5P_DEFAULT);
  of = H5Dget_space(values);
  assert_true(H5Rcreate(&part, group, "values", H5R_DATASET_REGION, of) >= 0);
  assert_true(H5Rcreate(&object, group, "values", H5R_OBJECT, -1) >= 0);
  hvl_t objects = {1, &object};
  put_array(group, "part", 1, &one, H5T_STD_REF_DSETREG, H5T_STD_REF_DSETREG, &part, H5P_DEFAULT);
  hid_t attribute = H5Acreate2(values, "DIMENSION_LIST", list, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, list, &objects) >= 0);
  H5Aclose(attribute);
  H5Dclose(values);
  H5Sclose(of);
  H5Sclose(space);
  H5Tclose(list);
  H5Gclose(group);
  H5Fclose(file);
  assert_reads_and_copies(path);
}

/* A page of an array of chunks has no signature, and begins with any byte; an object header does not. */
static void pages_may_begin_with_any_byte(void **state) {
  (void)state;
  static const unsigned char page[16] = {1, 2, 3};
  comp__vet vet = {.fd = -1, .file_size = 1 << 20, .sealed = true};
  assert_int_equal(comp__h5_pages_new(&vet.pages, -1, vet.file_size), COMP_OK);
  assert_true(comp__vet_late(&vet, 4096, page, sizeof page, false));
  assert_false(vet.broken);
  assert_false(comp__vet_late(&vet, 4096, page, sizeof page, true));
  assert_true(vet.broken);
  comp__h5_pages_free(vet.pages);
  comp__free(vet.known);
  comp__free(vet.queue);
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
  FILE *file = fopen(path, "wb");
  fwrite(bytes, 1, n, file);
  fclose(file);
}

static void files_that_are_nothing(void **state) {
  (void)state;
  const char *path = make_path("nothing.h5ad");
  const char *format;
  assert_error(comp_file_format(&format, path), COMP_ERR_IO, "No such file");
  write_bytes(path, "", 0);
  assert_refused(H5I_INVALID_HID, path, COMP_ERR_FORMAT, "empty");
  write_bytes(path, "\x89HDF\r\n\x1a\n and then nothing", 24);
  assert_refused(H5I_INVALID_HID, path, COMP_ERR_FORMAT, "the file is damaged");
  make_file(path);
  assert_ok(comp_file_format(&format, path));
  assert_string_equal(format, "h5ad");
  unlink(path);
}

/* The file cut short at every length is an error, and every damaged byte an error or another matrix; never a crash. */
static void damage_never_crashes(void **state) {
  (void)state;
  const char *path = make_path("whole.h5ad"), *damaged = make_path("damaged.h5ad");
  make_file(path);
  static unsigned char bytes[1 << 17];
  FILE *file = fopen(path, "rb");
  size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  unlink(path);
  assert_in_range(n, 1000, sizeof bytes - 1);
  comp_context *context = test_context(1);
  comp_dataset *d;
  for (size_t size = 0; size < n; size += 97) {
    write_bytes(damaged, bytes, size);
    comp_status status = comp_dataset_read(&d, context, damaged, NULL);
    assert_int_not_equal(status, COMP_OK);
    assert_null(d);
  }
  for (size_t at = 0; at < n; at += 11) {
    unsigned char old = bytes[at];
    bytes[at] = (unsigned char)~old;
    write_bytes(damaged, bytes, n);
    bytes[at] = old;
    if (comp_dataset_read(&d, context, damaged, NULL) == COMP_OK) comp_dataset_free(d);
  }
  unlink(damaged);
  comp_context_free(context);
}

/* A whole file in memory. */
typedef struct image {
  unsigned char bytes[1 << 17];
  size_t size;
} image;

static image *load(const char *path) {
  static image i;
  FILE *file = fopen(path, "rb");
  i.size = fread(i.bytes, 1, sizeof i.bytes, file);
  fclose(file);
  unlink(path);
  return &i;
}

static image *load_made_file(void) {
  const char *path = make_path("whole.h5ad");
  make_file(path);
  return load(path);
}

static uint64_t number_at(const unsigned char *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

static void put_number(unsigned char *bytes, uint64_t value) {
  memcpy(bytes, &value, sizeof value);
}

static void assert_damage(const image *i, const char *text) {
  const char *path = make_path("damaged.h5ad");
  write_bytes(path, i->bytes, i->size);
  assert_refused(H5I_INVALID_HID, path, COMP_ERR_FORMAT, text);
  unlink(path);
}

/* HDF5 1.10 takes all memory: a free block of the names of a group that is followed by itself. */
static void names_in_circles(void **state) {
  (void)state;
  image *i = load_made_file();
  unsigned char *heap = memmem(i->bytes, i->size, "HEAP", 4);
  assert_non_null(heap);
  unsigned char *names = i->bytes + number_at(heap + 24);
  uint64_t block = number_at(heap + 16);
  assert_in_range(block, 8, number_at(heap + 8) - 16);
  put_number(names + block, block);
  assert_damage(i, "a damaged list of names");
}

/* HDF5 1.10 runs in circles: an object header that goes on where it has been. */
static void header_in_circles(void **state) {
  (void)state;
  image *i = load_made_file();
  size_t root = (size_t)number_at(i->bytes + 64); /* superblock of version 0 */
  assert_int_equal(i->bytes[root], 1);
  unsigned char *message = i->bytes + root + 16;
  memcpy(message, "\x10\0\x10\0\0\0\0\0", 8);
  put_number(message + 8, root);
  put_number(message + 16, 40);
  assert_damage(i, "runs in circles");
}

/* HDF5 1.10 writes beyond its buffer: an attribute whose text is longer in the heap than it says, or not there. */
static void texts_of_attributes(void **state) {
  (void)state;
  image *i = load_made_file();
  const unsigned char *heap = memmem(i->bytes, i->size, "GCOL", 4);
  assert_non_null(heap);
  uint64_t address = (uint64_t)(heap - i->bytes);
  size_t found = 0;
  for (size_t at = 4; at + 12 < i->size; at++) {
    if (number_at(i->bytes + at) != address || i->bytes[at - 1] != 0) continue;
    unsigned char length = i->bytes[at - 4], number = i->bytes[at + 8];
    const char *path = make_path("damaged.h5ad");
    comp_dataset *d;
    comp_context *context = test_context(1);
    for (int change = 0; change < 3; change++) {
      i->bytes[at - 4] = (unsigned char)(change == 0 ? 1 : change == 1 ? 200 : length);
      i->bytes[at + 8] = (unsigned char)(change == 2 ? 250 : number);
      write_bytes(path, i->bytes, i->size);
      if (comp_dataset_read(&d, context, path, NULL) == COMP_OK) comp_dataset_free(d);
    }
    i->bytes[at - 4] = length;
    i->bytes[at + 8] = number;
    unlink(path);
    comp_context_free(context);
    found++;
  }
  assert_in_range(found, 5, 1000);
}

/* A link into another file is not followed: that file was not looked through. */
static void other_files_are_not_read(void **state) {
  (void)state;
  const char *path = make_path("link.h5ad"), *other = make_path("other.h5ad");
  make_file(other);
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "X", H5P_DEFAULT);
  assert_true(H5Lcreate_external(other, "X", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  assert_refused(file, path, COMP_ERR_DATA, "there is no X in it");
  unlink(other);
  unlink(path);
}

static hid_t with_groups(const char *path, bool newest, int depth) {
  hid_t file = copy_into(path, H5P_DEFAULT, newest ? latest() : H5P_DEFAULT), group = H5Gopen2(file, "/", H5P_DEFAULT);
  for (int i = 0; i < depth; i++) {
    hid_t inner = put_group(group, "g");
    H5Gclose(group);
    group = inner;
  }
  H5Gclose(group);
  return file;
}

/* HDF5 calls itself for each of them: thousands took all of the stack, or minutes. */
static void groups_within_groups(void **state) {
  (void)state;
  const char *path = make_path("deep.h5ad");
  for (int newest = 0; newest < 2; newest++) {
    H5Fclose(with_groups(path, newest, 30));
    assert_reads_and_copies(path);
    H5Fclose(with_groups(path, newest, 150)); /* more than is copied */
    assert_reads(path);
    hid_t file = with_groups(path, newest, 300);
    assert_refused(file, path, newest ? COMP_ERR_FORMAT : COMP_ERR_UNAVAILABLE,
                   newest ? "more than 200 deep" : "groups within very many others");
  }
}

static size_t header_of(hid_t file, const char *path) {
  hobj_ref_t address;
  assert_true(H5Rcreate(&address, file, path, H5R_OBJECT, -1) >= 0);
  return (size_t)address;
}

/* HDF5 1.10 looks for the name of an object in all groups, and for ever in a group that holds itself and says that it
 * has one link. With the right number the file is sound. */
static void group_in_itself(void **state) {
  (void)state;
  const char *path = make_path("itself.h5ad");
  for (int newest = 0; newest < 2; newest++) {
    hid_t file = with_groups(path, newest, 2);
    assert_true(H5Lcreate_hard(file, "g", file, "g/g/up", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    size_t at = header_of(file, "g");
    H5Fclose(file);
    image *i = load(path);
    assert_in_range(i->size, at, sizeof i->bytes - 1);
    write_bytes(path, i->bytes, i->size);
    assert_reads(path);
    unsigned char *links = i->bytes + at + 4;
    if (newest) {
      links = memmem(i->bytes, i->size, "\x16\5", 2); /* the message, wherever the header goes on */
      assert_non_null(links);
      links += 5;
    }
    assert_memory_equal(links, "\2\0\0\0", 4);
    *links = 1; /* of the newest layout the checksum is wrong now, which HDF5 would see later */
    assert_damage(i, "a group that more links lead to than it says");
  }
}

/* The same by a group whose members are those of the one that holds it. */
static void group_with_members_of_another(void **state) {
  (void)state;
  const char *path = make_path("members.h5ad");
  hid_t file = with_groups(path, false, 2);
  size_t outer = header_of(file, "g"), inner = header_of(file, "g/g");
  H5Fclose(file);
  image *i = load(path);
  assert_memory_equal(i->bytes + outer + 16, "\x11\0\x10\0", 4); /* its first message: tree and names */
  assert_memory_equal(i->bytes + inner + 16, "\x11\0\x10\0", 4);
  memcpy(i->bytes + inner + 24, i->bytes + outer + 24, 16);
  assert_damage(i, "members that belong to two groups");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type_of_number),
      cmocka_unit_test(odd_numbers_are_left_to_hdf5),
      cmocka_unit_test(every_filter),
      cmocka_unit_test(dense_and_compact),
      cmocka_unit_test(by_columns),
      cmocka_unit_test(row_blocks),
      cmocka_unit_test(bad_value_in_a_block_is_named),
      cmocka_unit_test(unsorted_is_sorted),
      cmocka_unit_test(missing_parts_are_named),
      cmocka_unit_test(files_that_are_nothing),
      cmocka_unit_test(settings_of_a_file),
      cmocka_unit_test(chunks_in_a_newer_tree),
      cmocka_unit_test(references_of_all_kinds),
      cmocka_unit_test(pages_may_begin_with_any_byte),
      cmocka_unit_test(damage_never_crashes),
      cmocka_unit_test(names_in_circles),
      cmocka_unit_test(header_in_circles),
      cmocka_unit_test(texts_of_attributes),
      cmocka_unit_test(other_files_are_not_read),
      cmocka_unit_test(groups_within_groups),
      cmocka_unit_test(group_in_itself),
      cmocka_unit_test(group_with_members_of_another),
  };
  return cmocka_run_group_tests_name("io/h5_read", tests, NULL, NULL);
}
