/* test_matrix.c: dense and CSR: checks, selection, conversion, transposition, against a plain dense reference. */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"

/* A random dense matrix, about two thirds zeros. */
static comp_matrix *random_dense(size_t rows, size_t cols) {
  comp_matrix *m;
  assert_ok(comp_matrix_new_dense(&m, rows, cols));
  comp__rng rng = comp__rng_at(5, COMP__RNG_TEST, rows, cols);
  for (size_t i = 0; i < rows * cols; i++)
    if (comp__rng_below(rng, i, 3) == 0) m->values[i] = (float)comp__rng_normal(rng, i);
  return m;
}

static void assert_same(const comp_matrix *a, const comp_matrix *b) {
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(comp_matrix_nnz(a), comp_matrix_nnz(b));
  size_t nnz = comp_matrix_nnz(a);
  if (nnz > 0) assert_memory_equal(a->values, b->values, nnz * sizeof(float));
  if (a->kind == COMP_DENSE) return;
  assert_memory_equal(a->indptr, b->indptr, (a->rows + 1) * sizeof *a->indptr);
  if (nnz > 0) assert_memory_equal(a->indices, b->indices, nnz * sizeof *a->indices);
}

static void conversions_agree(void **state) {
  (void)state;
  size_t shapes[][2] = {{0, 0}, {1, 1}, {3, 0}, {0, 3}, {300, 7}, {1000, 31}};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      comp_matrix *dense = random_dense(shapes[s][0], shapes[s][1]), *csr, *back, *ct, *dt, *ct_dense;
      assert_ok(comp_matrix_to_csr(&csr, context, dense));
      assert_ok(comp_matrix_check(context, csr));
      assert_ok(comp_matrix_to_dense(&back, context, csr));
      assert_same(dense, back);
      assert_ok(comp_matrix_transpose(&ct, context, csr));
      assert_ok(comp_matrix_check(context, ct));
      assert_ok(comp_matrix_transpose(&dt, context, dense));
      assert_ok(comp_matrix_to_dense(&ct_dense, context, ct));
      assert_same(dt, ct_dense);
      for (size_t i = 0; i < dense->rows; i++)
        for (size_t j = 0; j < dense->cols; j++)
          assert_true(dense->values[i * dense->cols + j] == dt->values[j * dt->cols + i]);
      comp_matrix_free(dense), comp_matrix_free(csr), comp_matrix_free(back);
      comp_matrix_free(ct), comp_matrix_free(dt), comp_matrix_free(ct_dense);
    }
    comp_context_free(context);
  }
}

/* Selecting from CSR gives what selecting from the dense matrix gives; columns may be reordered, rows repeated. */
static void selections_agree(void **state) {
  (void)state;
  enum { ROWS = 600, COLS = 40, KEEP = 23 };
  comp_context *context = test_context(2);
  comp_matrix *dense = random_dense(ROWS, COLS), *csr;
  assert_ok(comp_matrix_to_csr(&csr, context, dense));
  size_t rows[ROWS], cols[COLS];
  for (size_t i = 0; i < ROWS; i++) rows[i] = (i * 7 + 3) % 500;
  comp__rng_permutation(cols, COLS, comp__rng_at(1, COMP__RNG_TEST, 0, 0));
  for (int which = 0; which < 4; which++) {
    const size_t *r = which & 1 ? rows : NULL, *c = which & 2 ? cols : NULL;
    comp_matrix *a, *b, *b_dense;
    assert_ok(comp_matrix_select(&a, context, dense, r, ROWS, c, KEEP));
    assert_ok(comp_matrix_select(&b, context, csr, r, ROWS, c, KEEP));
    assert_ok(comp_matrix_check(context, b));
    assert_ok(comp_matrix_to_dense(&b_dense, context, b));
    assert_same(a, b_dense);
    assert_int_equal(a->cols, c ? KEEP : COLS);
    if (r && c) assert_true(a->values[5 * KEEP + 2] == dense->values[rows[5] * COLS + cols[2]]);
    comp_matrix_free(a), comp_matrix_free(b), comp_matrix_free(b_dense);
  }
  comp_matrix_free(dense), comp_matrix_free(csr);
  comp_context_free(context);
}

static comp_matrix *small_csr(void) {
  comp_matrix *m;
  assert_ok(comp_matrix_new_csr(&m, 3, 5, 4));
  memcpy(m->indptr, (int64_t[]){0, 2, 2, 4}, 4 * sizeof(int64_t));
  memcpy(m->indices, (int32_t[]){0, 3, 1, 4}, 4 * sizeof(int32_t));
  memcpy(m->values, (float[]){1, 2, 3, 4}, 4 * sizeof(float));
  return m;
}

static void damage_is_named(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_matrix *m = small_csr();
  assert_ok(comp_matrix_check(context, m));
  m->indices[3] = 5;
  assert_error(comp_matrix_check(context, m), COMP_ERR_FORMAT, "row 2 holds column index 5, outside of 0 .. 4");
  m->indices[3] = -1;
  assert_error(comp_matrix_check(context, m), COMP_ERR_FORMAT, "column index -1");
  m->indices[3] = 1;
  assert_error(comp_matrix_check(context, m), COMP_ERR_FORMAT, "row 2: column indices repeat");
  m->indices[3] = 0;
  assert_error(comp_matrix_check(context, m), COMP_ERR_FORMAT, "not ascending (0 after 1)");
  m->indices[3] = 4;
  m->values[2] = NAN;
  assert_error(comp_matrix_check(context, m), COMP_ERR_DATA, "row 3, column 2 is not a finite number");
  m->values[2] = 1;
  m->indptr[1] = 3;
  assert_error(comp_matrix_check(context, m), COMP_ERR_FORMAT, "indptr descends at row 1");
  m->indptr[0] = 1;
  assert_error(comp_matrix_check(context, m), COMP_ERR_FORMAT, "indptr starts at 1");
  comp_matrix_free(m);
  comp_context_free(context);
}

/* The first bad value in reading order is named, wherever threads find one first. */
static void first_nonfinite_is_found(void **state) {
  (void)state;
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_matrix *m = random_dense(5000, 100);
    size_t row, col;
    assert_false(comp__matrix_find_nonfinite(&row, &col, context, m));
    m->values[4999 * 100 + 99] = INFINITY;
    m->values[3000 * 100 + 7] = NAN;
    m->values[1500 * 100 + 3] = -INFINITY;
    assert_true(comp__matrix_find_nonfinite(&row, &col, context, m));
    assert_int_equal(row, 1500);
    assert_int_equal(col, 3);
    comp_matrix_free(m);
    comp_context_free(context);
  }
}

static void impossible_sizes_are_refused(void **state) {
  (void)state;
  comp_matrix *m;
  assert_error(comp_matrix_new_dense(&m, SIZE_MAX / 2, 1000), COMP_ERR_MEMORY, "a dense matrix of");
  assert_error(comp_matrix_new_dense(&m, 1, (size_t)INT32_MAX + 1), COMP_ERR_DATA, "too wide");
  assert_error(comp_matrix_new_csr(&m, SIZE_MAX, 1, 1), COMP_ERR_MEMORY, "a sparse matrix");
  assert_null(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions_agree),
      cmocka_unit_test(selections_agree),
      cmocka_unit_test(damage_is_named),
      cmocka_unit_test(first_nonfinite_is_found),
      cmocka_unit_test(impossible_sizes_are_refused),
  };
  return cmocka_run_group_tests_name("core/matrix", tests, NULL, NULL);
}
