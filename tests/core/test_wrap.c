/* test_wrap.c: matrices of the caller's memory: what is borrowed and what converted, when it is given back, bad input.
 */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"

static void count_release(void *user) {
  ++*(int *)user;
}

static void plain_floats_are_borrowed(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  const float values[] = {1, 2, 3, 4, 5, 6};
  int released = 0;
  comp_matrix *m;
  assert_ok(comp_matrix_wrap_dense(&m, context, values, COMP_FLOAT32, 2, 3, 3, count_release, &released));
  assert_true(comp_matrix_is_borrowed(m));
  assert_ptr_equal(comp_matrix_const_values(m), values);
  assert_null(comp_matrix_values(m));
  assert_int_equal(comp_matrix_nnz(m), 6);
  assert_int_equal(released, 0);
  comp_matrix_free(m);
  assert_int_equal(released, 1);
  assert_ok(comp_matrix_wrap_dense(&m, context, values, COMP_FLOAT32, 2, 3, 3, NULL, NULL));
  comp_matrix_free(m);
  comp_context_free(context);
}

/* Every other type and layout gives the same matrix, with memory of its own. */
static void other_numbers_are_converted(void **state) {
  (void)state;
  enum { ROWS = 700, COLS = 5, LD = 8 };
  const comp_number_type types[] = {COMP_FLOAT32, COMP_FLOAT64, COMP_INT32, COMP_INT64};
  float *f = malloc(ROWS * LD * sizeof *f);
  double *d = malloc(ROWS * LD * sizeof *d);
  int32_t *i = malloc(ROWS * LD * sizeof *i);
  int64_t *l = malloc(ROWS * LD * sizeof *l);
  for (size_t k = 0; k < ROWS * LD; k++) {
    l[k] = k % LD < COLS ? (int64_t)(k * 7 % 101) - 50 : INT32_MAX;
    f[k] = k % LD < COLS ? (float)l[k] : NAN; /* what lies between rows is not read */
    d[k] = f[k];
    i[k] = (int32_t)l[k];
  }
  const void *arrays[] = {f, d, i, l};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    for (int a = 0; a < 4; a++) {
      int released = 0;
      comp_matrix *m;
      assert_ok(comp_matrix_wrap_dense(&m, context, arrays[a], types[a], ROWS, COLS, LD, count_release, &released));
      assert_int_equal(released, 1);
      assert_false(comp_matrix_is_borrowed(m));
      for (size_t row = 0; row < ROWS; row++)
        for (size_t col = 0; col < COLS; col++) assert_true(m->values[row * COLS + col] == f[row * LD + col]);
      comp_matrix_free(m);
      assert_int_equal(released, 1);
    }
    comp_context_free(context);
  }
  free(f), free(d), free(i), free(l);
}

static void bad_dense_arrays(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  int released = 0;
  comp_matrix *m;
  const float f[] = {1, 2, NAN, 4};
  const double d[] = {1, 2, 3, 1e300};
  assert_error(comp_matrix_wrap_dense(&m, context, f, COMP_FLOAT32, 2, 2, 2, count_release, &released), COMP_ERR_DATA,
               "row 1, column 0");
  assert_null(m);
  assert_error(comp_matrix_wrap_dense(&m, context, d, COMP_FLOAT64, 2, 2, 2, count_release, &released), COMP_ERR_DATA,
               "row 1, column 1");
  assert_error(comp_matrix_wrap_dense(&m, context, f, COMP_FLOAT32, 2, 2, 1, count_release, &released),
               COMP_ERR_ARGUMENT, "ld: 1 is less");
  assert_error(comp_matrix_wrap_dense(&m, context, NULL, COMP_FLOAT32, 2, 2, 2, count_release, &released),
               COMP_ERR_ARGUMENT, "values is NULL");
  assert_error(comp_matrix_wrap_dense(&m, context, f, (comp_number_type)9, 2, 2, 2, count_release, &released),
               COMP_ERR_ARGUMENT, "type: 9");
  assert_error(comp_matrix_wrap_dense(&m, context, f, COMP_FLOAT32, SIZE_MAX, 2, 2, count_release, &released),
               COMP_ERR_ARGUMENT, "larger than memory");
  assert_error(comp_matrix_wrap_dense(&m, context, f, COMP_FLOAT32, 0, (size_t)1 << 31, (size_t)1 << 31, count_release,
                                      &released),
               COMP_ERR_DATA, "too wide");
  assert_int_equal(released, 0); /* after a failure the memory is still the caller's */
  assert_ok(comp_matrix_wrap_dense(&m, context, NULL, COMP_FLOAT32, 0, 3, 3, count_release, &released));
  assert_int_equal(comp_matrix_nnz(m), 0);
  comp_matrix_free(m);
  assert_int_equal(released, 1);
  comp_context_free(context);
}

/* A random CSR matrix in the types of the library. */
typedef struct arrays {
  size_t rows, cols, nnz;
  float *values;
  double *doubles;
  int32_t *indices, *indptr32;
  int64_t *indices64, *indptr;
} arrays;

static arrays make_arrays(size_t rows, size_t cols) {
  arrays a = {rows, cols, 0, NULL, NULL, NULL, NULL, NULL, NULL};
  a.values = malloc(rows * cols * sizeof *a.values);
  a.doubles = malloc(rows * cols * sizeof *a.doubles);
  a.indices = malloc(rows * cols * sizeof *a.indices);
  a.indices64 = malloc(rows * cols * sizeof *a.indices64);
  a.indptr = malloc((rows + 1) * sizeof *a.indptr);
  a.indptr32 = malloc((rows + 1) * sizeof *a.indptr32);
  a.indptr[0] = a.indptr32[0] = 0;
  for (size_t row = 0; row < rows; row++) {
    comp__rng rng = comp__rng_at(3, COMP__RNG_TEST, rows, row);
    for (size_t col = 0; col < cols; col++) {
      if (comp__rng_below(rng, col, 3) > 0) continue;
      a.values[a.nnz] = (float)(row + 2 * col + 1);
      a.doubles[a.nnz] = a.values[a.nnz];
      a.indices[a.nnz] = (int32_t)col;
      a.indices64[a.nnz++] = (int64_t)col;
    }
    a.indptr[row + 1] = (int64_t)a.nnz;
    a.indptr32[row + 1] = (int32_t)a.nnz;
  }
  return a;
}

static void free_arrays(arrays *a) {
  free(a->values), free(a->doubles), free(a->indices), free(a->indices64), free(a->indptr), free(a->indptr32);
}

static comp_status wrap(comp_matrix **out, comp_context *context, const arrays *a, int *released) {
  return comp_matrix_wrap_csr(out, context, a->values, COMP_FLOAT32, a->indices, COMP_INT32, a->indptr, COMP_INT64,
                              a->rows, a->cols, a->nnz, count_release, released);
}

static void assert_holds(const comp_matrix *m, const arrays *a) {
  assert_int_equal(comp_matrix_nnz(m), a->nnz);
  assert_memory_equal(m->values, a->values, a->nnz * sizeof(float));
  assert_memory_equal(m->indices, a->indices, a->nnz * sizeof(int32_t));
  assert_memory_equal(m->indptr, a->indptr, (a->rows + 1) * sizeof(int64_t));
}

/* All 2 x 2 x 2 combinations of types hold the same; only arrays of the library's own types are borrowed. */
static void sparse_arrays_of_any_type(void **state) {
  (void)state;
  arrays a = make_arrays(900, 30);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    for (int c = 0; c < 8; c++) {
      bool f64 = c & 1, i64 = c & 2, p32 = c & 4;
      int released = 0;
      comp_matrix *m;
      assert_ok(comp_matrix_wrap_csr(&m, context, f64 ? (void *)a.doubles : a.values, f64 ? COMP_FLOAT64 : COMP_FLOAT32,
                                     i64 ? (void *)a.indices64 : a.indices, i64 ? COMP_INT64 : COMP_INT32,
                                     p32 ? (void *)a.indptr32 : a.indptr, p32 ? COMP_INT32 : COMP_INT64, a.rows, a.cols,
                                     a.nnz, count_release, &released));
      assert_holds(m, &a);
      assert_ok(comp_matrix_check(context, m));
      assert_true((m->values == a.values) == !f64);
      assert_true((m->indices == a.indices) == !i64);
      assert_true((m->indptr == a.indptr) == !p32);
      assert_true(comp_matrix_is_borrowed(m) == (c != 7));
      assert_int_equal(released, c == 7);
      comp_matrix_free(m);
      assert_int_equal(released, 1);
    }
    comp_context_free(context);
  }
  free_arrays(&a);
}

static void unsorted_rows_are_sorted_in_a_copy(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  arrays a = make_arrays(400, 20), b = make_arrays(400, 20);
  for (size_t row = 0; row < b.rows; row++) /* back to front */
    for (int64_t i = b.indptr[row], j = b.indptr[row + 1] - 1; i < j; i++, j--) {
      int32_t index = b.indices[i];
      float value = b.values[i];
      b.indices[i] = b.indices[j], b.values[i] = b.values[j];
      b.indices[j] = index, b.values[j] = value;
    }
  arrays before = make_arrays(400, 20);
  memcpy(before.indices, b.indices, b.nnz * sizeof *b.indices);
  int released = 0;
  comp_matrix *m;
  assert_ok(wrap(&m, context, &b, &released));
  assert_holds(m, &a);
  assert_false(comp_matrix_is_borrowed(m));
  assert_int_equal(released, 1);
  assert_memory_equal(before.indices, b.indices, b.nnz * sizeof *b.indices); /* the caller's array is as it was */
  comp_matrix_free(m);
  assert_int_equal(released, 1);
  free_arrays(&a), free_arrays(&b), free_arrays(&before);
  comp_context_free(context);
}

static void bad_sparse_arrays(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  int released = 0;
  comp_matrix *m;
  float values[] = {1, 2, 3};
  int32_t indices[] = {0, 2, 1}, indices32[] = {0, 2, 1};
  int64_t indptr[] = {0, 2, 3};
  arrays a = {2, 3, 3, values, NULL, indices, indices32, NULL, indptr};
  assert_ok(wrap(&m, context, &a, &released));
  comp_matrix_free(m);
  assert_int_equal(released, 1);
  released = 0;
  indptr[0] = 1;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_FORMAT, "indptr starts at 1, not 0");
  indptr[0] = 0, indptr[1] = 4;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_FORMAT, "indptr descends at row 1 (3 after 4)");
  indptr[1] = 2, a.nnz = 2;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_FORMAT, "indptr ends at 3, but there are 2 entries");
  a.nnz = 3, indices[1] = 3;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_FORMAT,
               "row 0 holds column index 3, but there are 3 columns");
  indices[1] = -1;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_FORMAT, "row 0 holds column index -1");
  indices[1] = 0;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_FORMAT, "row 0 holds column 0 twice");
  indices[1] = 2, values[1] = INFINITY;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_DATA, "row 0, column 2");
  values[1] = 2;
  a.indices = NULL;
  assert_error(wrap(&m, context, &a, &released), COMP_ERR_ARGUMENT, "indices is NULL");
  assert_null(m);
  assert_error(comp_matrix_wrap_csr(&m, context, values, COMP_FLOAT32, indices, COMP_FLOAT32, indptr, COMP_INT64, 2, 3,
                                    3, count_release, &released),
               COMP_ERR_ARGUMENT, "indices_type: 0");
  int64_t wide[] = {0, (int64_t)1 << 33, 1}; /* would be column 0 as int32 */
  assert_error(comp_matrix_wrap_csr(&m, context, values, COMP_FLOAT32, wide, COMP_INT64, indptr, COMP_INT64, 2, 3, 3,
                                    count_release, &released),
               COMP_ERR_FORMAT, "row 0 holds column index 8589934592");
  /* 2 0 2: the repeat shows only when the row is sorted. */
  int32_t repeated[] = {2, 0, 2};
  int64_t one_row[] = {0, 3};
  assert_error(comp_matrix_wrap_csr(&m, context, values, COMP_FLOAT32, repeated, COMP_INT32, one_row, COMP_INT64, 1, 3,
                                    3, count_release, &released),
               COMP_ERR_FORMAT, "row 0 holds column 2 twice");
  assert_null(m);
  assert_int_equal(released, 0);
  int64_t empty[] = {0};
  assert_ok(comp_matrix_wrap_csr(&m, context, NULL, COMP_FLOAT32, NULL, COMP_INT32, empty, COMP_INT64, 0, 3, 0,
                                 count_release, &released));
  comp_matrix_free(m);
  assert_int_equal(released, 1);
  comp_context_free(context);
}

/* What changes a data set in place leaves the caller's memory alone, and has the result that it has of its own. */
static void preparation_copies_first(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  arrays a = make_arrays(50, 20);
  float *before = malloc(a.nnz * sizeof *before);
  memcpy(before, a.values, a.nnz * sizeof *before);
  int released = 0;
  comp_matrix *borrowed, *own;
  comp_dataset *d[2];
  assert_ok(wrap(&borrowed, context, &a, &released));
  assert_ok(comp_matrix_select(&own, context, borrowed, NULL, 0, NULL, 0));
  assert_false(comp_matrix_is_borrowed(own));
  assert_ok(comp_dataset_new(&d[0], borrowed, NULL, NULL));
  assert_ok(comp_dataset_new(&d[1], own, NULL, NULL));
  for (int i = 0; i < 2; i++) {
    assert_ok(comp_normalize_total(NULL, context, d[i], 100.0, true));
    assert_ok(comp_log1p(context, d[i], true));
  }
  assert_int_equal(released, 1);
  assert_false(comp_matrix_is_borrowed(comp_dataset_x(d[0])));
  assert_memory_equal(a.values, before, a.nnz * sizeof *before);
  assert_memory_equal(comp_matrix_const_values(comp_dataset_x(d[0])), comp_matrix_const_values(comp_dataset_x(d[1])),
                      a.nnz * sizeof *before);
  comp_dataset_free(d[0]), comp_dataset_free(d[1]);
  assert_int_equal(released, 1);
  free(before);
  /* log1p alone must copy as well. */
  released = 0;
  assert_ok(wrap(&borrowed, context, &a, &released));
  assert_ok(comp_dataset_new(&d[0], borrowed, NULL, NULL));
  float first = a.values[0];
  assert_ok(comp_log1p(context, d[0], true));
  assert_true(a.values[0] == first);
  comp_dataset_free(d[0]);
  assert_int_equal(released, 1);
  free_arrays(&a);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_floats_are_borrowed),
      cmocka_unit_test(other_numbers_are_converted),
      cmocka_unit_test(bad_dense_arrays),
      cmocka_unit_test(sparse_arrays_of_any_type),
      cmocka_unit_test(unsorted_rows_are_sorted_in_a_copy),
      cmocka_unit_test(bad_sparse_arrays),
      cmocka_unit_test(preparation_copies_first),
  };
  return cmocka_run_group_tests_name("core/wrap", tests, NULL, NULL);
}
