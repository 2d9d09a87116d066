/* test_h5_doubt.c: calls of HDF5 that tell what something is, and fail: reading fails, and nothing is left out. This
 * program has these calls itself, and one of them fails on request. */
#include <dlfcn.h>
#include <sys/time.h>

#include "io/h5_make.h"

#include "core/dataset.h"
#include "io/options.h"

/* Calls that ask, and calls that write. Of these the ones are counted that a test is about. */
enum { ASKING = 1, WRITING = 2 };
static int counted, calls, failure; /* 0: none fails */

static const char *failed; /* the name of the last that did */

static bool fails(int kind, const char *name) {
  if (!(kind & counted) || ++calls != failure) return false;
  failed = name;
  return true;
}

/* The call, as it is declared, and the names of its arguments. */
#define REAL(type, name, declared)                                                                                     \
  static type(*real) declared;                                                                                         \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)
#define FAILING(kind, type, name, declared, given)                                                                     \
  type name declared {                                                                                                 \
    REAL(type, name, declared);                                                                                        \
    return fails(kind, #name) ? -1 : real given;                                                                       \
  }
FAILING(ASKING | WRITING, hid_t, H5Dget_type, (hid_t id), (id))
FAILING(ASKING | WRITING, hid_t, H5Dget_space, (hid_t id), (id))
FAILING(ASKING | WRITING, herr_t, H5Pset_shuffle, (hid_t id), (id))
FAILING(ASKING | WRITING, herr_t, H5Pset_deflate, (hid_t id, unsigned level), (id, level))
FAILING(ASKING | WRITING, herr_t, H5Tenum_insert, (hid_t id, const char *name, const void *value), (id, name, value))
FAILING(ASKING | WRITING, herr_t, H5Tset_size, (hid_t id, size_t size), (id, size))
FAILING(WRITING, herr_t, H5Tset_cset, (hid_t id, H5T_cset_t set), (id, set))
FAILING(WRITING, herr_t, H5Pset_char_encoding, (hid_t id, H5T_cset_t set), (id, set))
FAILING(WRITING, herr_t, H5Pset_create_intermediate_group, (hid_t id, unsigned make), (id, make))
FAILING(WRITING, herr_t, H5Pset_obj_track_times, (hid_t id, hbool_t track), (id, track))
FAILING(WRITING, herr_t, H5Pset_fclose_degree, (hid_t id, H5F_close_degree_t degree), (id, degree))
FAILING(WRITING, herr_t, H5Pset_chunk, (hid_t id, int n, const hsize_t *size), (id, n, size))
FAILING(WRITING, herr_t, H5Pset_copy_object, (hid_t id, unsigned how), (id, how))
FAILING(WRITING, hid_t, H5Screate, (H5S_class_t kind), (kind))
FAILING(ASKING | WRITING, hid_t, H5Screate_simple, (int n, const hsize_t *now, const hsize_t *most), (n, now, most))
FAILING(ASKING | WRITING, herr_t, H5Sselect_hyperslab,
        (hid_t id, H5S_seloper_t how, const hsize_t *start, const hsize_t *stride, const hsize_t *count,
         const hsize_t *block),
        (id, how, start, stride, count, block))
FAILING(ASKING | WRITING, htri_t, H5Aexists, (hid_t id, const char *name), (id, name))
FAILING(WRITING, herr_t, H5Adelete, (hid_t id, const char *name), (id, name))
FAILING(WRITING, herr_t, H5Awrite, (hid_t id, hid_t type, const void *values), (id, type, values))
FAILING(ASKING | WRITING, htri_t, H5Lexists, (hid_t id, const char *name, hid_t list), (id, name, list))
FAILING(WRITING, herr_t, H5Ldelete, (hid_t id, const char *name, hid_t list), (id, name, list))
FAILING(WRITING, herr_t, H5Lmove, (hid_t from, const char *a, hid_t to, const char *b, hid_t create, hid_t access),
        (from, a, to, b, create, access))

/* Calls that open, of which one fails as HDF5 says that memory has run out, in one of two ways. 0: none does. */
static int until_starved;
static bool in_cache;

static bool starves(const char *name) {
  if (until_starved == 0 || --until_starved > 0) return false;
  failed = name;
  H5Eclear2(H5E_DEFAULT);
  H5Epush2(H5E_DEFAULT, __FILE__, name, __LINE__, H5E_ERR_CLS, in_cache ? H5E_CACHE : H5E_RESOURCE,
           in_cache ? H5E_CANTALLOC : H5E_NOSPACE, "no memory");
  return true;
}

hid_t H5Oopen(hid_t id, const char *name, hid_t list) {
  REAL(hid_t, H5Oopen, (hid_t, const char *, hid_t));
  return starves("H5Oopen") || fails(ASKING | WRITING, "H5Oopen") ? -1 : real(id, name, list);
}

hid_t H5Dget_create_plist(hid_t id) {
  REAL(hid_t, H5Dget_create_plist, (hid_t));
  return starves("H5Dget_create_plist") || fails(ASKING | WRITING, "H5Dget_create_plist") ? -1 : real(id);
}

FAILING(WRITING, herr_t, H5Ocopy, (hid_t from, const char *a, hid_t to, const char *b, hid_t how, hid_t list),
        (from, a, to, b, how, list))
FAILING(WRITING, hid_t, H5Gcreate2, (hid_t id, const char *name, hid_t links, hid_t create, hid_t access),
        (id, name, links, create, access))
FAILING(WRITING, herr_t, H5Dset_extent, (hid_t id, const hsize_t *size), (id, size))
FAILING(WRITING, herr_t, H5Dwrite, (hid_t id, hid_t type, hid_t to, hid_t from, hid_t list, const void *values),
        (id, type, to, from, list, values))
FAILING(WRITING, herr_t, H5Dwrite_chunk,
        (hid_t id, hid_t list, uint32_t filters, const hsize_t *at, size_t size, const void *bytes),
        (id, list, filters, at, size, bytes))

FAILING(ASKING | WRITING, hid_t, H5Aopen, (hid_t id, const char *name, hid_t list), (id, name, list))
FAILING(ASKING | WRITING, herr_t, H5Aread, (hid_t id, hid_t type, void *out), (id, type, out))
FAILING(ASKING | WRITING, hid_t, H5Aget_type, (hid_t id), (id))
FAILING(ASKING | WRITING, hid_t, H5Aget_space, (hid_t id), (id))
FAILING(ASKING | WRITING, herr_t, H5Dread, (hid_t id, hid_t type, hid_t to, hid_t from, hid_t list, void *out),
        (id, type, to, from, list, out))
FAILING(ASKING | WRITING, herr_t, H5Dread_chunk,
        (hid_t id, hid_t list, const hsize_t *at, uint32_t *filters, void *out), (id, list, at, filters, out))
FAILING(ASKING | WRITING, herr_t, H5Pget_fill_value, (hid_t id, hid_t type, void *out), (id, type, out))
FAILING(ASKING | WRITING, hid_t, H5Tget_super, (hid_t id), (id))
FAILING(ASKING | WRITING, hid_t, H5Tget_member_type, (hid_t id, unsigned i), (id, i))
FAILING(ASKING | WRITING, hid_t, H5Tcreate, (H5T_class_t kind, size_t size), (kind, size))
FAILING(ASKING | WRITING, herr_t, H5Tinsert, (hid_t id, const char *name, size_t at, hid_t type), (id, name, at, type))
FAILING(ASKING | WRITING, herr_t, H5Tconvert, (hid_t from, hid_t to, size_t n, void *values, void *around, hid_t list),
        (from, to, n, values, around, list))
FAILING(ASKING | WRITING, hid_t, H5Rdereference2, (hid_t id, hid_t list, H5R_type_t kind, const void *reference),
        (id, list, kind, reference))
FAILING(ASKING | WRITING, herr_t, H5Aiterate2,
        (hid_t id, H5_index_t by, H5_iter_order_t order, hsize_t *at, H5A_operator2_t fn, void *user),
        (id, by, order, at, fn, user))
#if !H5_VERSION_GE(1, 12, 0) /* names of two functions there */
FAILING(ASKING | WRITING, herr_t, H5Literate,
        (hid_t id, H5_index_t by, H5_iter_order_t order, hsize_t *at, H5L_iterate_t fn, void *user),
        (id, by, order, at, fn, user))
FAILING(ASKING | WRITING, herr_t, H5Lget_info, (hid_t id, const char *name, H5L_info_t *out, hid_t list),
        (id, name, out, list))
#endif

/* What was held back could not be written; the handle is closed. */
int H5Idec_ref(hid_t id) {
  REAL(int, H5Idec_ref, (hid_t));
  const bool fail = H5Iget_type(id) == H5I_DATASET && fails(WRITING, "H5Idec_ref");
  const int left = real(id);
  return fail ? -1 : left;
}

/* HDF5 notes when something was made or changed: always now. */
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  (void)zone;
  *out = (struct timeval){1700000000, 0};
  return 0;
}

/* obs with a column of bools, in chunks of which one was never written. */
static void make_bools(const char *path) {
  hid_t file = make_bare(path), obs = H5Gopen2(file, "obs", H5P_DEFAULT), type = H5Tenum_create(H5T_NATIVE_INT8);
  const int8_t no = 0, yes = 1, values[] = {1, 0, 1, 0};
  const float fill = 7.0f;
  const hsize_t dims[] = {4, 3}, chunk[] = {2, 3};
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  put_list(obs, "passed", 4, type, values);
  H5Pset_chunk(list, 2, chunk);
  H5Pset_fill_value(list, H5T_NATIVE_FLOAT, &fill);
  put_array(file, "X", 2, dims, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, NULL, list);
  H5Pclose(list);
  H5Tclose(type);
  H5Gclose(obs);
  H5Fclose(file);
}

/* Data with a bool column and a record. */
static comp_dataset *read_with_column(const char *path) {
  comp_dataset *d;
  assert_ok(read_file(&d, path));
  assert_ok(comp_table_add_bools(comp_dataset_obs(d), "passed", (int8_t[4]){1, 0, 1, 0}));
  assert_ok(comp_dataset_set_record(d, "{}"));
  return d;
}

/* The layout before AnnData 0.7, with a graph that is moved. */
static void make_old(const char *path) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), type = H5Tcreate(H5T_COMPOUND, 8);
  hid_t text = H5Tcopy(H5T_C_S1), uns = put_group(file, "uns");
  const hsize_t dims[] = {4, 3};
  H5Tset_size(text, 8);
  H5Tinsert(type, "index", 0, text);
  put_list(file, "obs", 4, type, "c0\0\0\0\0\0\0c1\0\0\0\0\0\0c2\0\0\0\0\0\0c3\0\0\0\0\0\0");
  put_list(file, "var", 3, type, "g0\0\0\0\0\0\0g1\0\0\0\0\0\0g2\0\0\0\0\0\0");
  put_array(file, "X", 2, dims, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, MAKE_DENSE, H5P_DEFAULT);
  put_texts(uns, "words", 4, CELLS);
  hid_t neighbors = put_group(uns, "neighbors"), graph = put_group(neighbors, "distances");
  put_text(graph, "h5sparse_format", "csr");
  put_shape(graph, "h5sparse_shape", 4, 4);
  put_list(graph, "data", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  put_list(graph, "indices", 5, H5T_NATIVE_INT32, MAKE_INDICES);
  put_list(graph, "indptr", 5, H5T_NATIVE_INT32, MAKE_INDPTR);
  H5Gclose(graph);
  H5Gclose(neighbors);
  H5Gclose(uns);
  H5Tclose(text);
  H5Tclose(type);
  H5Fclose(file);
}

enum { MOST_BYTES = 1 << 18 };

static size_t bytes_of(unsigned char *out, const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  size_t size = fread(out, 1, MOST_BYTES, file);
  fclose(file);
  assert_in_range(size, 1, MOST_BYTES - 1);
  return size;
}

/* Reads a file while call n fails (0: none), and gives what was read as the bytes of another. */
static comp_status read_failing(unsigned char *out, size_t *size, const char *path, int n) {
  const char *again = make_path("doubt-again.h5ad");
  comp_context *context = test_context(1);
  comp_dataset *d;
  calls = 0;
  failure = n;
  counted = ASKING;
  comp_status status = comp_dataset_read(&d, context, path, NULL);
  counted = failure = 0;
  if (status == COMP_OK) {
    assert_ok(comp_dataset_write(context, d, again, NULL));
    *size = bytes_of(out, again);
    unlink(again);
  }
  comp_dataset_free(d);
  comp_context_free(context);
  return status;
}

/* Each call of HDF5 fails in turn while a file is read: an error, or the same data. Removes the file. */
static void fail_each_call_of_reading(const char *path) {
  static unsigned char wanted[MOST_BYTES], found[MOST_BYTES];
  size_t size, other;
  int refused = 0;
  assert_ok(read_failing(wanted, &size, path, 0));
  const int total = calls;
  assert_in_range(total, 20, 5000);
  for (int n = 1; n <= total; n++) {
    comp_status status = read_failing(found, &other, path, n);
    refused += status != COMP_OK;
    if (status == COMP_OK && (other != size || memcmp(found, wanted, size) != 0))
      fail_msg("call %d of %d (%s) failed, and other data was read", n, total, failed);
  }
  assert_in_range(refused, total / 2, total);
  unlink(path);
}

static void each_call_fails(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad");
  make_bools(path);
  fail_each_call_of_reading(path);
}

/* The layout of AnnData 0.8, compressed. */
static void each_call_fails_in_reading_chunks(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad"), *packed = make_path("doubt-packed.h5ad");
  comp_context *context = test_context(1);
  make_file(path);
  comp_dataset *d = read_with_column(path);
  assert_ok(comp_dataset_write(context, d, packed, NULL));
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(path);
  fail_each_call_of_reading(packed);
}

/* Without memory an object cannot be opened. It is not damaged: a look at the file does not leave it out. */
static void want_of_memory_is_no_damage(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad");
  comp_context *context = test_context(1);
  comp_options *options;
  hid_t file = make_bare(path), layers;
  put_csr(file, "X", "csr_matrix");
  layers = put_group(file, "layers");
  put_csr(layers, "counts", "csr_matrix");
  H5Gclose(layers);
  H5Fclose(file);
  assert_ok(comp_options_new(&options, "read"));
  assert_ok(comp_options_set_bool(options, "skip-damaged", true));
  int refused = 0;
  for (int n = 2;; n++) {
    comp_dataset *d;
    until_starved = n / 2;
    in_cache = n % 2;
    comp_status status = comp_dataset_read(&d, context, path, options);
    const bool all = until_starved > 0;
    until_starved = 0;
    refused += status != COMP_OK;
    if (status == COMP_OK && comp_dataset_matrix_count(d, COMP_SLOT_LAYERS) != 1)
      fail_msg("without memory for call %d (%s) a layer is left out", n / 2, failed);
    comp_dataset_free(d);
    if (all) break;
  }
  assert_in_range(refused, 20, 1000);
  comp_options_free(options);
  comp_context_free(context);
  unlink(path);
}

static void each_call_fails_in_reading_records(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad");
  make_old(path);
  fail_each_call_of_reading(path);
}

/* Categories as AnnData 0.7 has them: codes that refer to their names. */
static void each_call_fails_in_reading_categories(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad");
  const int8_t codes[] = {0, 1, 1, 0};
  hobj_ref_t reference;
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), names = put_group(file, "obs/__categories");
  hid_t space = H5Screate(H5S_SCALAR);
  put_texts(names, "group", 2, GENES);
  put_list(file, "obs/group", 4, H5T_NATIVE_INT8, codes);
  assert_true(H5Rcreate(&reference, file, "obs/__categories/group", H5R_OBJECT, -1) >= 0);
  hid_t column = H5Dopen2(file, "obs/group", H5P_DEFAULT);
  hid_t attribute = H5Acreate2(column, "categories", H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, H5T_STD_REF_OBJ, &reference) >= 0);
  H5Aclose(attribute);
  H5Dclose(column);
  H5Sclose(space);
  H5Gclose(names);
  H5Fclose(file);
  fail_each_call_of_reading(path);
}

static void each_call_fails_in_reading_tenx(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5");
  const int32_t shape[] = {3, 4};
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), matrix = put_group(file, "matrix");
  hid_t features = put_group(matrix, "features");
  put_texts(matrix, "barcodes", 4, CELLS);
  put_list(matrix, "data", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  put_list(matrix, "indices", 5, H5T_NATIVE_INT32, MAKE_INDICES);
  put_list(matrix, "indptr", 5, H5T_NATIVE_INT32, MAKE_INDPTR);
  put_list(matrix, "shape", 2, H5T_NATIVE_INT32, shape);
  put_texts(features, "id", 3, GENES);
  put_texts(features, "name", 3, GENES);
  H5Gclose(features);
  H5Gclose(matrix);
  H5Fclose(file);
  fail_each_call_of_reading(path);
}

/* ---- writing ---- */

typedef comp_status writing(comp_context *context, const comp_dataset *d, const char *from, const char *to);

/* Each call of HDF5 fails in turn while `to` is written: an error, or the same file. */
static void fail_each_call(writing *write, const comp_dataset *d, const char *from, const char *to) {
  static unsigned char wanted[MOST_BYTES], found[MOST_BYTES];
  comp_context *context = test_context(1);
  int refused = 0;
  counted = WRITING;
  unlink(to);
  calls = 0;
  assert_ok(write(context, d, from, to));
  const size_t size = bytes_of(wanted, to);
  const int total = calls;
  assert_in_range(total, 20, 5000);
  for (int n = 1; n <= total; n++) {
    unlink(to);
    calls = 0;
    failure = n;
    comp_status status = write(context, d, from, to);
    failure = 0;
    refused += status != COMP_OK;
    assert_int_equal(access(to, F_OK) == 0, status == COMP_OK);
    if (status != COMP_OK) continue;
    if (bytes_of(found, to) != size || memcmp(found, wanted, size) != 0)
      fail_msg("call %d of %d (%s) failed, and another file was written", n, total, failed);
  }
  assert_in_range(refused, total / 2, total);
  counted = 0;
  comp_context_free(context);
  unlink(to);
}

static comp_status write_new(comp_context *context, const comp_dataset *d, const char *from, const char *to) {
  (void)from;
  return comp_dataset_write(context, d, to, NULL);
}

static comp_status write_update(comp_context *context, const comp_dataset *d, const char *from, const char *to) {
  return comp_dataset_update(context, d, from, to, NULL);
}

static comp_status write_copy(comp_context *context, const comp_dataset *d, const char *from, const char *to) {
  const comp__write_options options = {.compression = 1, .carry_from = from};
  return comp__dataset_write(context, d, to, &options);
}

/* A dataset whose filter could not be set was still written, and read as other numbers. */
static void each_call_fails_in_writing(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad"), *to = make_path("doubt-out.h5ad");
  make_file(path);
  comp_dataset *d = read_with_column(path);
  fail_each_call(write_new, d, path, to);
  comp_dataset_free(d);
  unlink(path);
}

/* A column, a matrix and a record that are there already are replaced. */
static void each_call_fails_in_updating(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad"), *once = make_path("doubt-once.h5ad"), *to = make_path("doubt-out.h5ad");
  make_file(path);
  comp_context *context = test_context(1);
  comp_dataset *d = read_with_column(path);
  comp_matrix *z = NULL;
  assert_ok(comp_matrix_new_dense(&z, 4, 2));
  memset(comp_matrix_values(z), 0, 8 * sizeof(float));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_z", z));
  assert_ok(comp_dataset_update(context, d, path, once, NULL));
  fail_each_call(write_update, d, once, to);
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(once);
  unlink(path);
}

/* What is carried over from an old file gets its encodings. */
static void each_call_fails_in_copying(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad"), *to = make_path("doubt-out.h5ad");
  comp_dataset *d;
  make_old(path);
  assert_ok(read_file(&d, path));
  fail_each_call(write_copy, d, path, to);
  comp_dataset_free(d);
  unlink(path);
}

/* What is carried over to another format goes through memory, with its attributes. */
static void each_call_fails_in_carrying(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad"), *to = make_path("doubt-out.zarr.zip");
  const hsize_t three = 3;
  comp_dataset *d;
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), uns = put_group(file, "uns"), type = H5Tcopy(H5T_C_S1);
  hid_t space = H5Screate_simple(1, &three, NULL), with = put_group(uns, "with"), attribute;
  H5Tset_size(type, H5T_VARIABLE);
  put_text(with, "encoding-type", "dict");
  put_text(with, "title", "a text");
  put_shape(with, "pair", 2, 3);
  attribute = H5Acreate2(with, "words", type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, GENES);
  H5Aclose(attribute);
  put_texts(with, "names", 4, CELLS);
  put_list(with, "numbers", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  H5Gclose(with);
  H5Sclose(space);
  H5Tclose(type);
  H5Gclose(uns);
  H5Fclose(file);
  assert_ok(read_file(&d, path));
  fail_each_call(write_copy, d, path, to);
  comp_dataset_free(d);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(each_call_fails_in_reading_chunks),
      cmocka_unit_test(want_of_memory_is_no_damage),
      cmocka_unit_test(each_call_fails_in_reading_records),
      cmocka_unit_test(each_call_fails_in_reading_categories),
      cmocka_unit_test(each_call_fails_in_reading_tenx),
      cmocka_unit_test(each_call_fails_in_writing),
      cmocka_unit_test(each_call_fails_in_updating),
      cmocka_unit_test(each_call_fails_in_copying),
      cmocka_unit_test(each_call_fails_in_carrying),
  };
  return cmocka_run_group_tests_name("io/h5_doubt", tests, NULL, NULL);
}
