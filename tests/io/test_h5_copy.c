/* test_h5_copy.c: damage that makes copying inside HDF5 (H5Ocopy) fail. HDF5 1.10 frees a type twice when that happens,
 * so each of these files ended the process: it has to be found before. */
#include "io/h5_make.h"

#include "core/dataset.h"
#include "io/options.h"

/* Reads a file and writes it again with all that is in it. */
static comp_status copy(const char *path) {
  char to[256];
  snprintf(to, sizeof to, "%s-copy.h5ad", path);
  comp_context *context = test_context(1);
  comp_dataset *d = NULL;
  const comp__write_options write = {.compression = 1, .carry_from = path};
  comp_status status = comp_dataset_read(&d, context, path, NULL);
  if (status == COMP_OK) status = comp__dataset_write(context, d, to, &write);
  assert_int_equal(access(to, F_OK) == 0, status == COMP_OK);
  unlink(to);
  comp_dataset_free(d);
  comp_context_free(context);
  return status;
}

static void assert_copied(const char *path) {
  assert_ok(copy(path));
}

static void assert_not_copied(const char *path, comp_status status, const char *text) {
  assert_error(copy(path), status, text);
  unlink(path);
}

static hid_t with_chunks(hsize_t size) {
  hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(list, 1, &size);
  return list;
}

/* A small file, open, with an empty uns. */
static hid_t begin(const char *path) {
  make_file(path);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  H5Gclose(put_group(file, "uns"));
  return file;
}

/* A file with four texts as uns/words. Where their data begins; 0: it is in chunks. Closes the list. */
static haddr_t make_words(const char *path, hid_t list) {
  hsize_t four = 4;
  hid_t file = begin(path), type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  put_array(file, "uns/words", 1, &four, type, type, CELLS, list);
  hid_t words = H5Dopen2(file, "uns/words", H5P_DEFAULT);
  haddr_t address = H5Pget_layout(list) == H5D_CHUNKED ? 0 : H5Dget_offset(words);
  H5Dclose(words);
  H5Tclose(type);
  H5Fclose(file);
  if (list != H5P_DATASET_CREATE_DEFAULT) H5Pclose(list);
  return address;
}

static void put_bytes(const char *path, uint64_t at, const void *bytes, size_t n) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
  assert_int_equal(fwrite(bytes, 1, n, file), n);
  fclose(file);
}

static void put_number(const char *path, uint64_t at, uint64_t value) {
  put_bytes(path, at, &value, sizeof value);
}

/* Where these bytes are in the file for the last time. */
static uint64_t find(const char *path, const void *bytes, size_t n) {
  static unsigned char all[1 << 17];
  FILE *file = fopen(path, "rb");
  size_t size = fread(all, 1, sizeof all, file);
  fclose(file);
  for (size_t at = size - n + 1; at > 0; at--)
    if (memcmp(all + at - 1, bytes, n) == 0) return at - 1;
  fail_msg("not in the file");
  return 0;
}

static void texts_under_filters(void **state) {
  (void)state;
  const char *path = make_path("filters.h5ad");
  static const char deflate[] = "deflate\0\4\0\0"; /* name of the filter, level */
  hid_t list = with_chunks(2);
  H5Pset_shuffle(list); /* of text, HDF5 stores it without parameters and skips it */
  H5Pset_deflate(list, 4);
  make_words(path, list);
  assert_copied(path);
  uint64_t at = find(path, deflate, sizeof deflate);
  put_bytes(path, at + 9, "\7", 1);
  assert_not_copied(path, COMP_ERR_FORMAT, "a filter with impossible parameters");
  list = with_chunks(2);
  H5Pset_deflate(list, 4);
  make_words(path, list);
  at = find(path, deflate, sizeof deflate);
  put_bytes(path, at - 6, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16); /* no name, no flags, no parameters */
  assert_not_copied(path, COMP_ERR_FORMAT, "a filter with impossible parameters");
}

/* HDF5 follows the address of an empty text, too. */
static void texts_that_lead_nowhere(void **state) {
  (void)state;
  const char *path = make_path("nowhere.h5ad");
  const uint64_t nowhere[] = {8, UINT64_MAX};
  for (size_t i = 0; i < 2; i++)
    for (int empty = 0; empty < 2; empty++) {
      haddr_t at = make_words(path, H5P_DATASET_CREATE_DEFAULT);
      if (empty) put_bytes(path, at, "\0\0\0\0", 4);
      put_number(path, at + 4, nowhere[i]);
      assert_not_copied(path, COMP_ERR_FORMAT, "a text that is not where it should be");
    }
}

/* Storage of texts by a shape without any. */
static void texts_without_a_shape(void **state) {
  (void)state;
  const char *path = make_path("shape.h5ad");
  const uint64_t shape[] = {4, 4}; /* size of the dimension, and its most */
  haddr_t at = make_words(path, H5P_DATASET_CREATE_DEFAULT);
  put_number(path, find(path, shape, sizeof shape), 0);
  put_number(path, find(path, (uint64_t[]){at, 64}, 16) + 8, 0);
  assert_not_copied(path, COMP_ERR_FORMAT, "data of the wrong length");
  /* Chunks that are still in the index are copied. */
  make_words(path, with_chunks(4));
  put_number(path, find(path, shape, sizeof shape), 0);
  assert_copied(path);
  const uint64_t heap = find(path, "GCOL", 4);
  put_number(path, find(path, &heap, sizeof heap), 8);
  assert_not_copied(path, COMP_ERR_FORMAT, "a text that is not where it should be");
}

/* HDF5 does not read beyond the end that the superblock tells. */
static void data_beyond_the_end(void **state) {
  (void)state;
  const char *path = make_path("end.h5ad");
  hid_t file = begin(path);
  put_list(file, "uns/values", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  hid_t values = H5Dopen2(file, "uns/values", H5P_DEFAULT);
  haddr_t at = H5Dget_offset(values);
  H5Dclose(values);
  H5Fclose(file);
  assert_copied(path);
  put_number(path, 40, at + 8);
  assert_not_copied(path, COMP_ERR_FORMAT, "beyond the end of the file");
}

/* Two references in uns/references. Where they are. */
static haddr_t make_references(const char *path, hid_t type, bool part) {
  hsize_t two = 2;
  unsigned char values[2 * sizeof(hdset_reg_ref_t)] = {0};
  hid_t file = begin(path);
  put_list(file, "uns/values", 5, H5T_NATIVE_FLOAT, MAKE_DATA);
  hid_t to = H5Dopen2(file, "uns/values", H5P_DEFAULT), space = part ? H5Dget_space(to) : H5I_INVALID_HID;
  for (size_t i = 0; i < 2; i++)
    assert_true(H5Rcreate(values + i * H5Tget_size(type), file, "uns/values", part ? H5R_DATASET_REGION : H5R_OBJECT,
                          space) >= 0);
  put_array(file, "uns/references", 1, &two, type, type, values, H5P_DEFAULT);
  hid_t references = H5Dopen2(file, "uns/references", H5P_DEFAULT);
  haddr_t at = H5Dget_offset(references);
  H5Dclose(references);
  if (part) H5Sclose(space);
  H5Dclose(to);
  H5Fclose(file);
  return at;
}

static void references_that_lead_nowhere(void **state) {
  (void)state;
  const char *path = make_path("references.h5ad");
  haddr_t at = make_references(path, H5T_STD_REF_OBJ, false);
  assert_copied(path);
  put_number(path, at, UINT64_MAX);
  assert_not_copied(path, COMP_ERR_FORMAT, "an impossible object header");
  at = make_references(path, H5T_STD_REF_DSETREG, true);
  assert_copied(path);
  put_number(path, at + 12, 8);
  assert_not_copied(path, COMP_ERR_FORMAT, "not where it should be");
  at = make_references(path, H5T_STD_REF_DSETREG, true);
  put_number(path, at + 12, 0); /* sound, but HDF5 1.10 frees what it read before once more */
  assert_not_copied(path, COMP_ERR_UNAVAILABLE, "empty references to parts of datasets");
}

/* A small file whose uns has HDF5's newest layout, open. */
static hid_t begin_newest(const char *path) {
  make_file(path);
  hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, list);
  H5Pclose(list);
  H5Gclose(put_group(file, "uns"));
  return file;
}

/* Indices of chunks that have checksums of their own. */
static void indices_with_checksums(void **state) {
  (void)state;
  const char *path = make_path("index.h5ad");
  hsize_t five = 5;
  hid_t file = begin_newest(path), list = with_chunks(2);
  H5Pset_deflate(list, 4);
  put_array(file, "uns/values", 1, &five, H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, MAKE_DATA, list);
  H5Pclose(list);
  H5Fclose(file);
  assert_copied(path);
  put_bytes(path, find(path, "FADB", 4) + 14, "\7\7", 2);
  assert_not_copied(path, COMP_ERR_FORMAT, "not all of its data or attributes can be found");
}

/* More than eight are kept in a heap. HDF5 1.10 crashes with text among them, also in a sound file. */
static void many_attributes(void **state) {
  (void)state;
  const char *path = make_path("attributes.h5ad");
  for (int text = 0; text < 2; text++) {
    hid_t file = begin_newest(path), group = put_group(file, "uns/many");
    for (int i = 0; i < 9; i++) {
      char name[8];
      snprintf(name, sizeof name, "a%d", i);
      if (text && i == 5)
        put_text(group, name, "words");
      else
        put_shape(group, name, i, i);
    }
    H5Gclose(group);
    H5Fclose(file);
    if (text)
      assert_not_copied(path, COMP_ERR_UNAVAILABLE, "more than 8 attributes");
    else
      assert_copied(path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_under_filters),
      cmocka_unit_test(texts_that_lead_nowhere),
      cmocka_unit_test(texts_without_a_shape),
      cmocka_unit_test(data_beyond_the_end),
      cmocka_unit_test(references_that_lead_nowhere),
      cmocka_unit_test(indices_with_checksums),
      cmocka_unit_test(many_attributes),
  };
  return cmocka_run_group_tests_name("io/h5_copy", tests, NULL, NULL);
}
