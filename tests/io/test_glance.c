/* test_glance.c: a look at a file of which little is read: the right samples, with all that belongs to them. */
#include "testing.h"

#include <string.h>
#include <unistd.h>

#include "core/dataset.h"
#include "core/matrix.h"
#include "io/options.h"

enum { ROWS = 6007, COLS = 5, SOME = 16 * 256 };

static char folder[] = "/tmp/comp-test-glance-XXXXXX";

static comp_matrix *numbers(comp_context *context, double scale, bool sparse) {
  comp_matrix *dense, *csr;
  assert_ok(comp_matrix_new_dense(&dense, ROWS, COLS));
  for (size_t i = 0; i < (size_t)ROWS * COLS; i++) dense->values[i] = i % 4 == 3 ? 0.0f : (float)((double)i * scale);
  if (!sparse) return dense;
  assert_ok(comp_matrix_to_csr(&csr, context, dense));
  comp_matrix_free(dense);
  return csr;
}

static int enter(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
  comp_context *context = test_context(1);
  static double times[ROWS];
  for (size_t i = 0; i < ROWS; i++) times[i] = (double)i;
  for (int sparse = 0; sparse < 2; sparse++) {
    comp_dataset *d;
    assert_ok(comp_dataset_new(&d, numbers(context, 1.0, sparse), NULL, NULL));
    assert_ok(comp_table_add_numbers(comp_dataset_obs(d), "time", times, true));
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "half", numbers(context, 0.5, !sparse)));
    assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_two", numbers(context, 2.0, false)));
    assert_ok(comp_dataset_set_record(d, "{\"steps\": []}"));
    assert_ok(comp_dataset_write(context, d, sparse ? "sparse.h5ad" : "dense.h5ad", NULL));
    comp_dataset_free(d);
  }
  comp_context_free(context);
  return 0;
}

static int leave(void **state) {
  (void)state;
  remove("sparse.h5ad");
  remove("dense.h5ad");
  remove("table.csv");
  if (system("rm -rf damaged.zarr") != 0) return -1;
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static float value_at(const comp_matrix *m, size_t row, size_t col) {
  if (m->kind == COMP_DENSE) return m->values[row * m->cols + col];
  for (int64_t k = m->indptr[row]; k < m->indptr[row + 1]; k++)
    if (m->indices[k] == (int32_t)col) return m->values[k];
  return 0.0f;
}

static void assert_rows(const comp_matrix *m, const comp_table *obs, double scale) {
  for (size_t i = 0; i < SOME; i++) {
    const size_t row = (size_t)comp_table_number(obs, 0, i);
    for (size_t g = 0; g < COLS; g++) {
      const size_t at = row * COLS + g;
      assert_true(value_at(m, i, g) == (at % 4 == 3 ? 0.0f : (float)((double)at * scale)));
    }
  }
}

static void some_samples_of_a_large_file(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const comp__read_options read = {0};
  for (int sparse = 0; sparse < 2; sparse++) {
    comp_dataset *all, *some;
    assert_ok(comp__dataset_glance(&all, &some, context, sparse ? "sparse.h5ad" : "dense.h5ad", &read, 1000));
    assert_non_null(some);
    assert_int_equal(comp_dataset_sample_count(all), ROWS);
    assert_null(comp_dataset_x(all));
    assert_string_equal(comp_dataset_record(all), "{\"steps\": []}");
    assert_int_equal(comp_dataset_sample_count(some), SOME);
    const comp_table *obs = comp_dataset_obs(some);
    /* from the first sample to the last, and none twice */
    assert_true(comp_table_number(obs, 0, 0) == 0.0 && comp_table_number(obs, 0, SOME - 1) == ROWS - 1);
    for (size_t i = 1; i < SOME; i++) assert_true(comp_table_number(obs, 0, i) > comp_table_number(obs, 0, i - 1));
    assert_true(comp_matrix_get_kind(comp_dataset_x(some)) == (sparse ? COMP_CSR : COMP_DENSE));
    assert_rows(comp_dataset_x(some), obs, 1.0);
    assert_rows(comp_dataset_matrix(some, COMP_SLOT_LAYERS, "half"), obs, 0.5);
    assert_rows(comp_dataset_matrix(some, COMP_SLOT_OBSM, "X_two"), obs, 2.0);
    comp_dataset_free(all);
    comp_dataset_free(some);
  }
  comp_context_free(context);
}

static void a_small_file_is_read_whole(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *all, *some;
  assert_ok(comp_dataset_glance(&all, &some, context, "sparse.h5ad", NULL));
  assert_null(some);
  assert_int_equal(comp_matrix_rows(comp_dataset_x(all)), ROWS);
  comp_dataset_free(all);
  FILE *file = fopen("table.csv", "we");
  fputs("name,g\na,1\nb,2\n", file);
  fclose(file);
  const comp__read_options read = {0};
  assert_ok(comp__dataset_glance(&all, &some, context, "table.csv", &read, 0)); /* it cannot be read in parts */
  assert_null(some);
  assert_int_equal(comp_dataset_sample_count(all), 2);
  comp_dataset_free(all);
  assert_int_equal(comp_dataset_glance(&all, &some, context, "missing.h5ad", NULL), COMP_ERR_IO);
  assert_true(!all && !some);
  comp_context_free(context);
}

static void another_layer_and_one_that_is_not_there(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options read = {.layer = "half"};
  comp_dataset *all, *some;
  assert_ok(comp__dataset_glance(&all, &some, context, "sparse.h5ad", &read, 1000));
  assert_rows(comp_dataset_x(some), comp_dataset_obs(some), 0.5);
  assert_null(comp_dataset_matrix(some, COMP_SLOT_LAYERS, "half"));
  comp_dataset_free(all);
  comp_dataset_free(some);
  read.layer = "third";
  assert_int_equal(comp__dataset_glance(&all, &some, context, "sparse.h5ad", &read, 1000), COMP_ERR_DATA);
  assert_non_null(strstr(comp_error_message(), "half"));
  comp_context_free(context);
}

/* A look goes on without an entry that is damaged when it is asked to. */
static void a_damaged_entry_is_left_out(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  comp_dataset *all, *some;
  assert_ok(comp_dataset_read(&all, context, "dense.h5ad", NULL));
  assert_ok(comp_dataset_write(context, all, "damaged.zarr", NULL));
  comp_dataset_free(all);
  FILE *file = fopen("damaged.zarr/obsm/X_two/0.0", "we");
  fputs("damaged", file);
  fclose(file);
  assert_int_equal(comp__dataset_glance(&all, &some, context, "damaged.zarr", &read, 1000), COMP_ERR_FORMAT);
  assert_non_null(strstr(comp_error_message(), "obsm/X_two: chunk 0,0"));
  assert_true(!all && !some);
  read.skip_damaged = true;
  assert_ok(comp__dataset_glance(&all, &some, context, "damaged.zarr", &read, 1000));
  assert_rows(comp_dataset_matrix(some, COMP_SLOT_LAYERS, "half"), comp_dataset_obs(some), 0.5);
  assert_null(comp_dataset_matrix(some, COMP_SLOT_OBSM, "X_two"));
  comp_dataset_free(all);
  comp_dataset_free(some);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(some_samples_of_a_large_file),
      cmocka_unit_test(a_small_file_is_read_whole),
      cmocka_unit_test(another_layer_and_one_that_is_not_there),
      cmocka_unit_test(a_damaged_entry_is_left_out),
  };
  return cmocka_run_group_tests_name("io/glance", tests, enter, leave);
}
