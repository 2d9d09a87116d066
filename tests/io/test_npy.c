/* test_npy.c: what is written: .npy byte by byte, text tables read back the same. (NumPy itself reads them in
 * tests/oracle/test_text.py.) */
#include "io/text_testing.h"

#include "core/dataset.h"
#include "io/format.h"

static const comp__write_options WRITE = {.compression = 4};
static const comp__read_options READ = {0};

static comp_dataset *sample(comp_matrix_kind kind) {
  comp_matrix *x, *sparse;
  comp_dataset *d;
  comp_context *context = test_context(1);
  assert_ok(comp_matrix_new_dense(&x, 3, 4));
  x->values[0] = 0.1f;
  x->values[5] = -2.0f;
  x->values[11] = 1e-7f;
  if (kind == COMP_CSR) {
    assert_ok(comp_matrix_to_csr(&sparse, context, x));
    comp_matrix_free(x);
    x = sparse;
  }
  assert_ok(
      comp_dataset_new(&d, x, (const char *[]){"c1", "c,2", "c \"3\""}, (const char *[]){"g1", "g\t2", "g;3", "4"}));
  comp_table *obs = comp_dataset_obs(d);
  assert_ok(comp_table_add_strings(obs, "text", (const char *[]){"a\nb", NULL, " c"}));
  assert_ok(comp_table_add_numbers(obs, "n", (double[]){1.5, NAN, -3}, false));
  assert_ok(comp_table_add_categorical(obs, "cluster", (int32_t[]){0, 1, 0}, (const char *[]){"10", "11"}, 2));
  assert_ok(comp_table_add_bools(obs, "ok", (int8_t[]){1, 0, -1}));
  assert_ok(comp_table_add_strings(obs, "g1", (const char *[]){"x", "y", "z"})); /* also a feature */
  comp_context_free(context);
  return d;
}

static void npy_has_the_bytes_of_numpy(void **state) {
  (void)state;
  static const char dictionary[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  comp_context *context = test_context(2);
  for (comp_matrix_kind kind = COMP_DENSE; kind <= COMP_CSR; kind++) {
    comp_dataset *d = sample(kind);
    const char *path = in_folder("x.npy");
    assert_ok(comp__format_npy.write(context, d, path, "x.npy", &WRITE));
    unsigned char bytes[256];
    FILE *file = fopen(path, "r");
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + 48);
    fclose(file);
    assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(bytes + 10, dictionary, sizeof dictionary - 1);
    assert_int_equal(bytes[127], '\n');
    float values[12];
    memcpy(values, bytes + 128, sizeof values);
    assert_true(values[0] == 0.1f && values[5] == -2.0f && values[11] == 1e-7f && values[1] == 0.0f);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

static void check_same(const comp_dataset *a, const comp_dataset *b, comp_context *context) {
  comp_matrix *x, *y;
  assert_int_equal(comp_dataset_sample_count(a), comp_dataset_sample_count(b));
  assert_int_equal(comp_dataset_feature_count(a), comp_dataset_feature_count(b));
  for (size_t i = 0; i < comp_dataset_sample_count(a); i++)
    assert_string_equal(comp_dataset_obs_name(a, i), comp_dataset_obs_name(b, i));
  for (size_t i = 0; i < comp_dataset_feature_count(a); i++)
    assert_string_equal(comp_dataset_var_name(a, i), comp_dataset_var_name(b, i));
  const comp_table *s = comp_dataset_obs(a), *t = comp_dataset_obs(b);
  assert_int_equal(comp_table_column_count(s), comp_table_column_count(t));
  for (size_t c = 0; c < comp_table_column_count(s); c++) {
    assert_string_equal(comp_table_column_name(s, c), comp_table_column_name(t, c));
    for (size_t row = 0; row < comp_table_row_count(s); row++) {
      char one[128], two[128];
      assert_string_equal(comp_table_format(s, c, row, one, sizeof one), comp_table_format(t, c, row, two, sizeof two));
    }
  }
  assert_ok(comp_matrix_to_dense(&x, context, comp_dataset_x(a)));
  assert_ok(comp_matrix_to_dense(&y, context, comp_dataset_x(b)));
  assert_memory_equal(x->values, y->values, x->rows * x->cols * sizeof(float));
  comp_matrix_free(x);
  comp_matrix_free(y);
}

static void text_is_read_back_the_same(void **state) {
  (void)state;
  static const char *const names[] = {"x.csv", "x.tsv", "x.csv.gz", "x.tsv.gz"};
  comp_context *context = test_context(2);
  for (size_t i = 0; i < 8; i++) {
    comp_dataset *d = sample(i % 2 ? COMP_CSR : COMP_DENSE), *back;
    const char *path = in_folder(names[i / 2]);
    assert_ok(comp__format_csv.write(context, d, path, names[i / 2], &WRITE));
    assert_ok(comp__format_csv.read(&back, context, path, &READ));
    check_same(d, back, context);
    comp_dataset_free(back);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

/* Several blocks and rounds. */
static void large_tables_are_read_back_the_same(void **state) {
  (void)state;
  comp_matrix *x;
  comp_dataset *d, *back;
  comp_context *context = test_context(2);
  assert_ok(comp_matrix_new_dense(&x, 3000, 1000));
  for (size_t i = 0; i < 3000 * 1000; i++) x->values[i] = (float)(i * 2654435761u % 100000) / 1000.0f;
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp__format_csv.write(context, d, in_folder("large.csv.gz"), "large.csv.gz", &WRITE));
  assert_ok(comp__format_csv.read(&back, context, in_folder("large.csv.gz"), &READ));
  check_same(d, back, context);
  comp_dataset_free(back);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void failures_are_reported(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample(COMP_DENSE);
  assert_error(comp__format_csv.write(context, d, "/nowhere/x.csv", "x.csv", &WRITE), COMP_ERR_IO,
               "cannot write x.csv");
  assert_error(comp__format_npy.write(context, d, "/dev/full", "x.npy", &WRITE), COMP_ERR_IO, "No space left");
  assert_error(comp__format_csv.write(context, d, "/dev/full", "x.csv", &WRITE), COMP_ERR_IO, "No space left");
  comp_matrix_free(d->x);
  d->x = NULL;
  assert_error(comp__format_csv.write(context, d, in_folder("x.csv"), "x.csv", &WRITE), COMP_ERR_DATA, "no X");
  assert_error(comp__format_npy.write(context, d, in_folder("x.npy"), "x.npy", &WRITE), COMP_ERR_DATA, "no X");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(npy_has_the_bytes_of_numpy),
      cmocka_unit_test(text_is_read_back_the_same),
      cmocka_unit_test(large_tables_are_read_back_the_same),
      cmocka_unit_test(failures_are_reported),
  };
  return cmocka_run_group_tests_name("io/npy", tests, make_folder, remove_folder);
}
