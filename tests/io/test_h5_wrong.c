/* test_h5_wrong.c: .h5ad files whose content is wrong: indices, pointers, values, shapes, attributes, columns, names.
 */
#include "io/h5_make.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/context.h"
#include "io/h5/h5.h"
#include "io/h5/vet.h"

static void bad_indices(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  struct {
    int32_t values[5];
    const char *text;
  } cases[] = {
      {{0, 3, 1, 0, 1}, "row 0 holds 3, outside of 0 .. 2"},
      {{0, 2, -1, 0, 1}, "row 2 holds -1"},
      {{0, 2, 1, 1, 1}, "row 3 holds index 1 twice"},
  };
  for (int i = 0; i < 3; i++) {
    hid_t file = make_without(path, "X/indices");
    put_list(file, "X/indices", 5, H5T_NATIVE_INT32, cases[i].values);
    assert_refused(file, path, COMP_ERR_FORMAT, cases[i].text);
  }
  hid_t file = make_without(path, "X/indices");
  put_list(file, "X/indices", 5, H5T_NATIVE_INT64, (int64_t[]){0, 2, (int64_t)1 << 40, 0, 1});
  assert_refused(file, path, COMP_ERR_FORMAT, "X/indices: number 2 is outside");
  file = make_without(path, "X/indices");
  put_list(file, "X/indices", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  assert_refused(file, path, COMP_ERR_FORMAT, "X/indices holds floats");
  file = make_without(path, "X/indices");
  put_list(file, "X/indices", 4, H5T_NATIVE_INT32, MAKE_INDICES);
  assert_refused(file, path, COMP_ERR_FORMAT, "5 values in data and 4 in indices");
}

static void bad_pointers(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  struct {
    size_t n;
    int32_t values[6];
    const char *text;
  } cases[] = {
      {5, {0, 2, 1, 3, 5}, "X/indptr is not ascending: 1 after 2"},
      {5, {1, 2, 2, 3, 5}, "X/indptr starts at 1"},
      {5, {0, 2, 2, 3, 9}, "indptr ends at 9, but there are 5 values"},
      {4, {0, 2, 2, 3}, "X/indptr has 4 numbers, but a matrix of 4 x 3 needs 5"},
  };
  for (int i = 0; i < 4; i++) {
    hid_t file = make_without(path, "X/indptr");
    put_list(file, "X/indptr", cases[i].n, H5T_NATIVE_INT32, cases[i].values);
    assert_refused(file, path, COMP_ERR_FORMAT, cases[i].text);
  }
}

static void bad_values_are_named(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  const float bad[] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    hid_t file = make_without(path, "X/data");
    put_list(file, "X/data", 5, H5T_NATIVE_FLOAT, (float[]){1, bad[i], 3, 4, bad[i]});
    assert_refused(file, path, COMP_ERR_DATA, "sample 'c0' (row 1), feature 'g2' (column 3)");
  }
  hid_t file = make_without(path, "X/data"); /* too large for 32 bits */
  put_list(file, "X/data", 5, H5T_NATIVE_DOUBLE, (double[]){1, 2, 1e300, 4, 5});
  assert_refused(file, path, COMP_ERR_DATA, "sample 'c2' (row 3), feature 'g1'");
}

static void bad_shapes(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  hid_t file = make_without(path, "obs");
  put_table(file, "obs", 3, CELLS);
  assert_refused(file, path, COMP_ERR_FORMAT, "X is 4 x 3, but obs has 3 names and var has 3");
  file = make_without(path, "var");
  assert_refused(file, path, COMP_ERR_FORMAT, "neither an .h5ad");
  file = make_without(path, "X");
  assert_refused(file, path, COMP_ERR_DATA, "there is no X");
  file = make_without(path, "X/data");
  assert_refused(file, path, COMP_ERR_FORMAT, "there is no 'data' in X");
  file = make_without(path, "obs/_index");
  assert_refused(file, path, COMP_ERR_FORMAT, "there is no '_index' in obs");
  file = make_without(path, "X");
  put_list(file, "X", 4, H5T_NATIVE_FLOAT, MAKE_DATA);
  assert_refused(file, path, COMP_ERR_FORMAT, "X is 4 x 1");
  file = make_without(path, "X");
  put_texts(file, "X", 4, CELLS);
  assert_refused(file, path, COMP_ERR_FORMAT, "X does not hold numbers");
  file = make_without(path, "X");
  put_array(file, "X", 3, (hsize_t[]){1, 4, 3}, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, MAKE_DENSE, H5P_DEFAULT);
  assert_refused(file, path, COMP_ERR_FORMAT, "3 dimensions");
}

static void bad_attributes(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  hid_t file = make_without(path, "X");
  put_csr(file, "X", "coo_matrix");
  assert_refused(file, path, COMP_ERR_FORMAT, "encoding 'coo_matrix'");
  struct {
    long long rows, cols;
    const char *text;
  } cases[] = {{-4, 3, "negative size"},
               {9000000000000000000ll, 3, "X/indptr has 5 numbers"},
               {4, 2, "X is 4 x 2"},
               {4, 5000000000ll, "X is 4 x 5000000000"}};
  for (int i = 0; i < 4; i++) {
    make_file(path);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Adelete_by_name(file, "X", "shape", H5P_DEFAULT);
    hid_t group = H5Gopen2(file, "X", H5P_DEFAULT);
    put_shape(group, "shape", cases[i].rows, cases[i].cols);
    H5Gclose(group);
    assert_refused(file, path, COMP_ERR_FORMAT, cases[i].text);
  }
  make_file(path);
  file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Adelete_by_name(file, "X", "shape", H5P_DEFAULT);
  assert_refused(file, path, COMP_ERR_FORMAT, "no attribute 'shape'");
}

/* A dataset that claims 2^40 numbers, none of them stored. */
static void huge_claims_are_refused(void **state) {
  (void)state;
  const char *path = make_path("huge.h5ad");
  hid_t file = make_without(path, "X/data"), list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 1, (hsize_t[]){1024});
  hsize_t huge = (hsize_t)1 << 40;
  put_array(file, "X/data", 1, &huge, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, NULL, list);
  H5Pclose(list);
  assert_refused(file, path, COMP_ERR_FORMAT, "only 0 are stored");
}

static void columns_of_the_wrong_length(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  hid_t file = make_without(path, "X");
  put_csr(file, "X", "csr_matrix");
  put_list(file, "obs/age", 3, H5T_NATIVE_INT32, MAKE_INDICES);
  assert_refused(file, path, COMP_ERR_FORMAT, "obs/age has 3 values, but obs has 4 rows");
}

static hid_t put_kind(hid_t file, int8_t third) {
  hid_t group = put_group(file, "obs/kind");
  put_text(group, "encoding-type", "categorical");
  put_list(group, "codes", 4, H5T_NATIVE_INT8, (int8_t[]){0, 1, third, -1});
  put_texts(group, "categories", 2, CELLS);
  return group;
}

/* Codes outside of the levels. "ordered" as h5py writes a bool, but with another name of FALSE: HDF5 1.10 would read
 * members that it cannot find. */
static void categories_that_do_not_fit(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tenum_create(H5T_STD_I8LE);
  H5Gclose(put_kind(file, 2));
  assert_refused(file, path, COMP_ERR_FORMAT, "code 2 is outside of its 2 levels");
  H5Tenum_insert(type, "NO", &(int8_t){0});
  H5Tenum_insert(type, "TRUE", &(int8_t){1});
  make_file(path);
  file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t group = put_kind(file, 1), space = H5Screate(H5S_SCALAR);
  H5Aclose(H5Acreate2(group, "ordered", type, space, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Tclose(type);
  H5Gclose(group);
  assert_refused(file, path, COMP_ERR_FORMAT, "attribute 'ordered' of obs/kind is neither true nor false");
}

static void text_that_is_not_utf8(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  hid_t file = make_without(path, "obs/_index");
  put_texts(file, "obs/_index", 4, (const char *const[]){"a", "b\xff", "c", "d"});
  assert_refused(file, path, COMP_ERR_FORMAT, "obs/_index: row 1 is not valid UTF-8");
}

/* A file as bytes: the first place that holds these two numbers, of 8 bytes each, gets another second one. */
static void replace_number(const char *path, uint64_t first, uint64_t second, uint64_t by) {
  FILE *file = fopen(path, "r+b");
  uint64_t pair[2] = {0}, wanted[2] = {first, second};
  long at = 0;
  assert_non_null(file);
  do {
    assert_int_equal(fseek(file, at++, SEEK_SET), 0);
    assert_int_equal(fread(pair, sizeof pair, 1, file), 1);
  } while (memcmp(pair, wanted, sizeof pair) != 0);
  assert_int_equal(fseek(file, at - 1 + (long)sizeof first, SEEK_SET), 0);
  assert_int_equal(fwrite(&by, sizeof by, 1, file), 1);
  fclose(file);
}

/* HDF5 copied texts by the size of their storage, beyond the last one, and crashed. */
static void texts_with_more_storage_than_texts(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  comp__h5_file opened;
  for (int damaged = 0; damaged < 2; damaged++) {
    make_file(path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Gclose(put_group(file, "uns"));
    put_texts(file, "uns/words", 4, CELLS);
    hid_t words = H5Dopen2(file, "uns/words", H5P_DEFAULT);
    haddr_t address = H5Dget_offset(words);
    H5Dclose(words);
    H5Fclose(file);
    const uint64_t size = 16; /* of a reference to a text */
    if (damaged) replace_number(path, address, 4 * size, 5 * size);
    assert_ok(comp__h5_open(&opened, path, false));
    assert_int_equal(comp__vet_references(opened.vet), damaged ? COMP_ERR_FORMAT : COMP_OK);
    comp__h5_close_file(&opened);
  }
}

/* The file's fault, not that of an argument: the program would end as after a wrong option. */
static void names_that_are_not_utf8(void **state) {
  (void)state;
  const char *path = make_path("bad.h5ad");
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  put_list(file, "obs/ag\xff", 4, H5T_NATIVE_INT32, (int32_t[]){1, 2, 3, 4});
  assert_refused(file, path, COMP_ERR_FORMAT, "the name of a column is not valid UTF-8");
  make_file(path);
  file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Gclose(put_group(file, "obsm"));
  put_list(file, "obsm/X_\xff", 4, H5T_NATIVE_FLOAT, (float[]){1, 2, 3, 4});
  assert_refused(file, path, COMP_ERR_FORMAT, "the name of a matrix is not valid UTF-8");
}

/* A link to another file is not followed, and that file is not opened: here a pipe that nobody writes to, at which an
 * open() would wait for ever. */
static void links_to_other_files(void **state) {
  (void)state;
  const char *path = make_path("link.h5ad");
  char pipe[600];
  snprintf(pipe, sizeof pipe, "%s.pipe", path);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  hid_t file = make_without(path, "X");
  assert_true(H5Lcreate_external(pipe, "/X", file, "X", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  alarm(60); /* else the test would wait, too */
  assert_refused(file, path, COMP_ERR_DATA, "there is no X in it");
  alarm(0);
  unlink(pipe);
}

static void nothing_in_it(void **state) {
  (void)state;
  const char *path = make_path("empty.h5ad");
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  put_table(file, "obs", 0, NULL);
  put_table(file, "var", 3, GENES);
  put_array(file, "X", 2, (hsize_t[]){0, 3}, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, NULL, H5P_DEFAULT);
  assert_refused(file, path, COMP_ERR_DATA, "0 samples x 3 features");
}

static void on_log(void *user, comp_log_level level, const char *message) {
  char *text = user;
  size_t used = strlen(text);
  snprintf(text + used, 4096 - used, "[%d] %s\n", (int)level, message);
}

static void repeated_names(void **state) {
  (void)state;
  const char *path = make_path("repeat.h5ad");
  hid_t file = make_without(path, "obs");
  put_table(file, "obs", 4, (const char *const[]){"a", "b", "a", "a"});
  H5Ldelete(file, "var", H5P_DEFAULT);
  put_table(file, "var", 3, (const char *const[]){"g", "g-1", "g"});
  H5Fclose(file);
  char text[4096] = "";
  comp__context_options options = {.threads = 1, .log_level = COMP_LOG_INFO};
  comp_context *context;
  comp_dataset *d;
  assert_ok(comp__context_new(&context, &options));
  comp_context_on_log(context, on_log, text);
  assert_ok(comp_dataset_read(&d, context, path, NULL));
  assert_string_equal(comp_dataset_obs_name(d, 2), "a");
  assert_string_equal(comp_dataset_var_name(d, 2), "g-2");
  assert_non_null(strstr(text, "2 of the sample names repeat"));
  assert_non_null(strstr(text, "1 of the feature names repeat an earlier one (the first is 'g')"));
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_indices),
      cmocka_unit_test(bad_pointers),
      cmocka_unit_test(bad_values_are_named),
      cmocka_unit_test(bad_shapes),
      cmocka_unit_test(bad_attributes),
      cmocka_unit_test(huge_claims_are_refused),
      cmocka_unit_test(columns_of_the_wrong_length),
      cmocka_unit_test(categories_that_do_not_fit),
      cmocka_unit_test(text_that_is_not_utf8),
      cmocka_unit_test(texts_with_more_storage_than_texts),
      cmocka_unit_test(names_that_are_not_utf8),
      cmocka_unit_test(links_to_other_files),
      cmocka_unit_test(nothing_in_it),
      cmocka_unit_test(repeated_names),
  };
  return cmocka_run_group_tests_name("io/h5_wrong", tests, NULL, NULL);
}
