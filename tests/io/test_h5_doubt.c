/* test_h5_doubt.c: calls of HDF5 that tell what something is, and fail: reading fails, and nothing is left out. This
 * program has these calls itself, and one of them fails on request. */
#include <dlfcn.h>

#include "io/h5_make.h"

static int calls, failure; /* 0: none fails */

#define FAILING(name)                                                                                                  \
  hid_t name(hid_t id) {                                                                                               \
    static hid_t (*real)(hid_t);                                                                                       \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                                                              \
    return ++calls == failure ? -1 : real(id);                                                                         \
  }
FAILING(H5Dget_type)
FAILING(H5Dget_space)
FAILING(H5Dget_create_plist)

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_call_fails),
  };
  return cmocka_run_group_tests_name("io/h5_doubt", tests, NULL, NULL);
}
