/* test_h5_doubt.c: calls of HDF5 that tell what something is, and fail: reading fails, and nothing is left out. This
 * program has these calls itself, and one of them fails on request. */
#include <dlfcn.h>

#include "io/h5_make.h"

static int calls, failure; /* 0: none fails */

/* The call, as it is declared, and the names of its arguments. */
#define FAILING(type, name, declared, given)                                                                           \
  type name declared {                                                                                                 \
    static type(*real) declared;                                                                                       \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                                                              \
    return ++calls == failure ? -1 : real given;                                                                       \
  }
FAILING(hid_t, H5Dget_type, (hid_t id), (id))
FAILING(hid_t, H5Dget_space, (hid_t id), (id))
FAILING(hid_t, H5Dget_create_plist, (hid_t id), (id))
FAILING(herr_t, H5Pset_shuffle, (hid_t id), (id))
FAILING(herr_t, H5Pset_deflate, (hid_t id, unsigned level), (id, level))
FAILING(herr_t, H5Tenum_insert, (hid_t id, const char *name, const void *value), (id, name, value))
FAILING(herr_t, H5Tset_size, (hid_t id, size_t size), (id, size))

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

static void each_call_fails(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad");
  make_bools(path);
  comp_dataset *d;
  calls = 0;
  assert_ok(read_file(&d, path));
  comp_dataset_free(d);
  const int total = calls;
  assert_in_range(total, 5, 1000);
  for (int n = 1; n <= total; n++) {
    calls = 0;
    failure = n;
    comp_status status = read_file(&d, path);
    failure = 0;
    if (status == COMP_OK) fail_msg("call %d of %d failed, and the data was read", n, total);
  }
  unlink(path);
}

/* A dataset whose filter could not be set was still written, and read as other numbers. */
static void each_call_fails_in_writing(void **state) {
  (void)state;
  const char *path = make_path("doubt.h5ad"), *to = make_path("doubt-out.h5ad");
  comp_context *context = test_context(1);
  comp_dataset *d;
  make_file(path);
  assert_ok(read_file(&d, path));
  assert_ok(comp_table_add_bools(comp_dataset_obs(d), "passed", (int8_t[4]){1, 0, 1, 0}));
  calls = 0;
  assert_ok(comp_dataset_write(context, d, to, NULL));
  const int total = calls;
  assert_in_range(total, 5, 1000);
  for (int n = 1; n <= total; n++) {
    unlink(to);
    calls = 0;
    failure = n;
    comp_status status = comp_dataset_write(context, d, to, NULL);
    failure = 0;
    if (status == COMP_OK) fail_msg("call %d of %d failed, and the file was written", n, total);
  }
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_fails),
      cmocka_unit_test(each_call_fails_in_writing),
  };
  return cmocka_run_group_tests_name("io/h5_doubt", tests, NULL, NULL);
}
