/* prep_testing.h: small data sets for the tests of the preparation. */
#ifndef COMP_PREP_TESTING_H
#define COMP_PREP_TESTING_H

#include "testing.h"

#include "comp/prep.h"
#include "core/rng.h"

/* Counts of a few genes that differ between genes and cells; obs: kind (a, b, c in turn), good (bool), size (number).
 * Gene 3 is empty, and cell 5. Genes are g0, g1, ...; every seventh MT-... */
static inline comp_dataset *test_counts(size_t cells, size_t genes, bool sparse) {
  comp_matrix *x = NULL, *csr = NULL;
  comp_context *context = test_context(1);
  assert_ok(comp_matrix_new_dense(&x, cells, genes));
  for (size_t i = 0; i < cells; i++) {
    comp__rng rng = comp__rng_at(7, COMP__RNG_TEST, 0, i);
    double depth = 0.5 + comp__rng_uniform(rng, genes);
    for (size_t j = 0; j < genes; j++) {
      double rate = depth * (double)(1 + j % 13) * (1.0 + 3.0 * (double)((i / 3 + j) % 5 == 0));
      double count = floor(-rate * 0.3 * log(comp__rng_uniform(rng, j)));
      comp_matrix_values(x)[i * genes + j] = j == 3 || i == 5 ? 0.0f : (float)count;
    }
  }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  char(*names)[24] = calloc(genes, sizeof *names);
  const char **pointers = calloc(genes, sizeof *pointers);
  for (size_t j = 0; j < genes; j++) {
    snprintf(names[j], sizeof names[j], "%s%zu", j % 7 == 6 ? "MT-" : "g", j);
    pointers[j] = names[j];
  }
  comp_dataset *d = NULL;
  assert_ok(comp_dataset_new(&d, x, NULL, pointers));
  const char **kind = calloc(cells, sizeof *kind);
  int8_t *good = calloc(cells, sizeof *good);
  double *size = calloc(cells, sizeof *size);
  for (size_t i = 0; i < cells; i++) {
    kind[i] = (const char *const[]){"a", "b", "c, d"}[i % 3];
    good[i] = i % 4 != 0;
    size[i] = (double)(i % 2);
  }
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "kind", kind));
  assert_ok(comp_table_add_bools(comp_dataset_obs(d), "good", good));
  assert_ok(comp_table_add_numbers(comp_dataset_obs(d), "size", size, true));
  free(size);
  free(good);
  free(kind);
  free(pointers);
  free(names);
  comp_context_free(context);
  return d;
}

/* A value of a matrix of either kind. */
static inline float test_at(const comp_matrix *m, size_t row, size_t col) {
  if (comp_matrix_get_kind(m) == COMP_DENSE) return comp_matrix_const_values(m)[row * comp_matrix_cols(m) + col];
  for (int64_t k = comp_matrix_const_indptr(m)[row]; k < comp_matrix_const_indptr(m)[row + 1]; k++)
    if (comp_matrix_const_indices(m)[k] == (int32_t)col) return comp_matrix_const_values(m)[k];
  return 0.0f;
}

/* Two tables print the same. */
static inline void assert_same_tables(const comp_table *a, const comp_table *b) {
  char x[256], y[256];
  assert_int_equal(comp_table_column_count(a), comp_table_column_count(b));
  assert_int_equal(comp_table_row_count(a), comp_table_row_count(b));
  for (size_t c = 0; c < comp_table_column_count(a); c++)
    for (size_t i = 0; i < comp_table_row_count(a); i++)
      assert_string_equal(comp_table_format(a, c, i, x, sizeof x), comp_table_format(b, c, i, y, sizeof y));
}

/* Two data sets hold the same bytes. */
static inline void assert_same_datasets(const comp_dataset *a, const comp_dataset *b) {
  comp_matrix *x = comp_dataset_x(a), *y = comp_dataset_x(b);
  assert_int_equal(comp_matrix_nnz(x), comp_matrix_nnz(y));
  assert_memory_equal(comp_matrix_values(x), comp_matrix_values(y), comp_matrix_nnz(x) * sizeof(float));
  assert_same_tables(comp_dataset_obs(a), comp_dataset_obs(b));
  assert_same_tables(comp_dataset_var(a), comp_dataset_var(b));
  if (comp_dataset_record(a)) assert_string_equal(comp_dataset_record(a), comp_dataset_record(b));
}

/* The first data set is kept; each further one must hold the same bytes, and is freed. */
static inline void assert_same_as_first(comp_dataset **first, comp_dataset *d) {
  if (!*first) {
    *first = d;
    return;
  }
  assert_same_datasets(d, *first);
  comp_dataset_free(d);
}

#endif
