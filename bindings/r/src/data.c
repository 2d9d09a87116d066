/* data.c: data of R for the library, borrowed where its layout allows, and data of the library as R objects. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "functions.h"
#include "glue.h"

/* ---- From R to the library ------------------------------------------------------------------------------------- */

static comp_number_type number_type(SEXP values) {
  return TYPEOF(values) == REALSXP ? COMP_FLOAT64 : COMP_INT32;
}

static const void *numbers_of(SEXP values) {
  return TYPEOF(values) == REALSXP ? (const void *)REAL_RO(values) : (const void *)INTEGER_RO(values);
}

/* A dgCMatrix, or a matrix of doubles or integers, [features, samples]. The library borrows the row indices of a
 * dgCMatrix and converts values to float32 without a second copy. The caller keeps x alive. */
static comp_status wrap(comp_matrix **out, comp_context *context, SEXP x) {
  if (Rf_isMatrix(x)) {
    const int *size = INTEGER_RO(Rf_getAttrib(x, R_DimSymbol));
    size_t features = (size_t)size[0], samples = (size_t)size[1];
    return comp_matrix_wrap_dense(out, context, numbers_of(x), number_type(x), samples, features, features, NULL, NULL);
  }
  SEXP values = R_do_slot(x, Rf_install("x")), i = R_do_slot(x, Rf_install("i")), p = R_do_slot(x, Rf_install("p"));
  const int *size = INTEGER_RO(R_do_slot(x, Rf_install("Dim")));
  return comp_matrix_wrap_csr(out, context, numbers_of(values), number_type(values), INTEGER_RO(i), COMP_INT32,
                              INTEGER_RO(p), COMP_INT32, (size_t)size[1], (size_t)size[0], (size_t)Rf_xlength(i), NULL,
                              NULL);
}

SEXP r_dataset_new(SEXP context, SEXP x, SEXP samples, SEXP features) {
  SEXP kept = PROTECT(Rf_cons(x, R_NilValue));
  SEXP handle = PROTECT(handle_new(HANDLE_DATASET, kept));
  comp_context *with = handle_get(context, HANDLE_CONTEXT);
  const char **obs = texts_of(samples), **var = texts_of(features);
  comp_dataset *made = NULL;
  if (x == R_NilValue) {
    check(comp_dataset_new_without_x(&made, (size_t)Rf_xlength(samples), (size_t)Rf_xlength(features), obs, var));
  } else {
    comp_matrix *matrix;
    check(wrap(&matrix, with, x));
    check(comp_dataset_new(&made, matrix, obs, var)); /* takes the matrix over, also when it fails */
  }
  handle_set(handle, made);
  UNPROTECT(2);
  return handle;
}

SEXP r_dataset_set_matrix(SEXP context, SEXP dataset, SEXP slot, SEXP name, SEXP x) {
  comp_dataset *into = handle_get(dataset, HANDLE_DATASET);
  comp_context *with = handle_get(context, HANDLE_CONTEXT);
  comp_slot where;
  check(comp_slot_parse(&where, text_at(slot, 0)));
  const char *key = text_at(name, 0);
  R_SetExternalPtrProtected(dataset, Rf_cons(x, R_ExternalPtrProtected(dataset)));
  comp_matrix *matrix;
  check(wrap(&matrix, with, x));
  check(comp_dataset_set_matrix(into, where, key, matrix));
  return R_NilValue;
}

SEXP r_dataset_set_record(SEXP dataset, SEXP record) {
  check(comp_dataset_set_record(handle_get(dataset, HANDLE_DATASET), text_at(record, 0)));
  return R_NilValue;
}

static comp_status add_factor(comp_table *table, const char *name, SEXP values, R_xlen_t n) {
  SEXP levels = Rf_getAttrib(values, R_LevelsSymbol);
  int32_t *codes = (int32_t *)R_alloc((size_t)n + 1, sizeof *codes);
  for (R_xlen_t i = 0; i < n; i++) codes[i] = INTEGER_RO(values)[i] == NA_INTEGER ? -1 : INTEGER_RO(values)[i] - 1;
  return comp_table_add_categorical(table, name, codes, texts_of(levels), (size_t)Rf_xlength(levels));
}

static comp_status add_bools(comp_table *table, const char *name, SEXP values, R_xlen_t n) {
  int8_t *bools = (int8_t *)R_alloc((size_t)n + 1, sizeof *bools);
  for (R_xlen_t i = 0; i < n; i++)
    bools[i] = LOGICAL_RO(values)[i] == NA_LOGICAL ? -1 : (int8_t)(LOGICAL_RO(values)[i] != 0);
  return comp_table_add_bools(table, name, bools);
}

static comp_status add_integers(comp_table *table, const char *name, SEXP values, R_xlen_t n) {
  double *numbers = (double *)R_alloc((size_t)n + 1, sizeof *numbers);
  for (R_xlen_t i = 0; i < n; i++)
    numbers[i] = INTEGER_RO(values)[i] == NA_INTEGER ? (double)NAN : INTEGER_RO(values)[i];
  return comp_table_add_numbers(table, name, numbers, true);
}

/* `values` is a factor, or a vector of texts, numbers or logicals, one a sample: data.R sees to it. */
SEXP r_dataset_add_column(SEXP dataset, SEXP name, SEXP values) {
  comp_table *table = comp_dataset_obs(handle_get(dataset, HANDLE_DATASET));
  const char *key = text_at(name, 0);
  R_xlen_t n = Rf_xlength(values);
  if ((size_t)n != comp_table_row_count(table)) Rf_error("column '%s' has the wrong length", key);
  if (Rf_isFactor(values))
    check(add_factor(table, key, values, n));
  else if (TYPEOF(values) == STRSXP)
    check(comp_table_add_strings(table, key, texts_of(values)));
  else if (TYPEOF(values) == LGLSXP)
    check(add_bools(table, key, values, n));
  else if (TYPEOF(values) == INTSXP)
    check(add_integers(table, key, values, n));
  else if (TYPEOF(values) == REALSXP)
    check(comp_table_add_numbers(table, key, REAL_RO(values), false));
  else
    Rf_error("column '%s' is of a type that comp cannot use", key);
  return R_NilValue;
}

/* The place, from 1, of the first value that is missing, not finite or beyond float32; 0: there is none. */
SEXP r_bad_value(SEXP values) {
  R_xlen_t n = Rf_xlength(values);
  if (TYPEOF(values) == REALSXP) {
    const double *numbers = REAL_RO(values);
    for (R_xlen_t i = 0; i < n; i++)
      if (!(fabs(numbers[i]) <= FLT_MAX)) return Rf_ScalarReal((double)i + 1);
  } else {
    const int *numbers = INTEGER_RO(values);
    for (R_xlen_t i = 0; i < n; i++)
      if (numbers[i] == NA_INTEGER) return Rf_ScalarReal((double)i + 1);
  }
  return Rf_ScalarReal(0);
}

/* ---- From the library to R ------------------------------------------------------------------------------------- */

static void copy_floats(double *out, const float *values, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = values[i];
}

static SEXP dense_value(const comp_matrix *matrix) {
  size_t rows = comp_matrix_rows(matrix), cols = comp_matrix_cols(matrix);
  if (rows > INT_MAX || cols > INT_MAX) Rf_error("the result is too large for a matrix of R");
  SEXP value = Rf_allocMatrix(REALSXP, (int)cols, (int)rows);
  copy_floats(REAL(value), comp_matrix_const_values(matrix), rows * cols);
  return value;
}

static SEXP sparse_value(const comp_matrix *matrix) {
  size_t rows = comp_matrix_rows(matrix), cols = comp_matrix_cols(matrix), nnz = comp_matrix_nnz(matrix);
  if (nnz > INT_MAX || rows >= INT_MAX || cols > INT_MAX) Rf_error("the result is too large for a dgCMatrix");
  const char *names[] = {"i", "p", "x", "Dim", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP i = SET_VECTOR_ELT(value, 0, Rf_allocVector(INTSXP, (R_xlen_t)nnz));
  SEXP p = SET_VECTOR_ELT(value, 1, Rf_allocVector(INTSXP, (R_xlen_t)rows + 1));
  SEXP x = SET_VECTOR_ELT(value, 2, Rf_allocVector(REALSXP, (R_xlen_t)nnz));
  SEXP size = SET_VECTOR_ELT(value, 3, Rf_allocVector(INTSXP, 2));
  if (nnz > 0) memcpy(INTEGER(i), comp_matrix_const_indices(matrix), nnz * sizeof(int));
  for (size_t row = 0; row <= rows; row++) INTEGER(p)[row] = (int)comp_matrix_const_indptr(matrix)[row];
  copy_floats(REAL(x), comp_matrix_const_values(matrix), nnz);
  INTEGER(size)[0] = (int)cols;
  INTEGER(size)[1] = (int)rows;
  UNPROTECT(1);
  return value;
}

SEXP matrix_value(const comp_matrix *matrix) {
  if (matrix == NULL) return R_NilValue;
  return comp_matrix_get_kind(matrix) == COMP_DENSE ? dense_value(matrix) : sparse_value(matrix);
}

static SEXP texts_value(const char **texts, size_t n) {
  SEXP value = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)n));
  for (size_t i = 0; i < n; i++)
    SET_STRING_ELT(value, (R_xlen_t)i, texts[i] == NULL ? NA_STRING : Rf_mkCharCE(texts[i], CE_UTF8));
  UNPROTECT(1);
  return value;
}

static SEXP factor_value(const comp_table *table, size_t column, size_t n) {
  size_t levels = comp_table_level_count(table, column);
  const char **names = (const char **)R_alloc(levels + 1, sizeof *names);
  const int32_t *codes;
  check(comp_table_level_names(names, table, column));
  check(comp_table_codes(&codes, table, column));
  SEXP value = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)n));
  for (size_t i = 0; i < n; i++) INTEGER(value)[i] = codes[i] < 0 ? NA_INTEGER : codes[i] + 1;
  SEXP text = PROTECT(texts_value(names, levels)), kind = PROTECT(Rf_mkString("factor"));
  Rf_setAttrib(value, R_LevelsSymbol, text);
  Rf_setAttrib(value, R_ClassSymbol, kind);
  UNPROTECT(3);
  return value;
}

static SEXP strings_value(const comp_table *table, size_t column, size_t n) {
  const char **texts = (const char **)R_alloc(n + 1, sizeof *texts);
  check(comp_table_strings(texts, table, column));
  return texts_value(texts, n);
}

static SEXP bools_value(const comp_table *table, size_t column, size_t n) {
  const int8_t *bools;
  check(comp_table_bools(&bools, table, column));
  SEXP value = Rf_allocVector(LGLSXP, (R_xlen_t)n);
  for (size_t i = 0; i < n; i++) LOGICAL(value)[i] = bools[i] < 0 ? NA_LOGICAL : bools[i];
  return value;
}

static SEXP numbers_value(const comp_table *table, size_t column, size_t n) {
  const double *numbers;
  check(comp_table_numbers(&numbers, table, column));
  SEXP value = Rf_allocVector(REALSXP, (R_xlen_t)n);
  for (size_t i = 0; i < n; i++) REAL(value)[i] = isnan(numbers[i]) ? NA_REAL : numbers[i];
  return value;
}

static SEXP column_value(const comp_table *table, size_t column, size_t n) {
  switch (comp_table_column_kind(table, column)) {
  case COMP_COLUMN_STRING:
    return strings_value(table, column, n);
  case COMP_COLUMN_CATEGORICAL:
    return factor_value(table, column, n);
  case COMP_COLUMN_BOOL:
    return bools_value(table, column, n);
  case COMP_COLUMN_NUMBER:
    return numbers_value(table, column, n);
  }
  return R_NilValue;
}

SEXP table_value(const comp_table *table) {
  size_t columns = comp_table_column_count(table), n = comp_table_row_count(table);
  SEXP value = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)columns));
  const char **names = (const char **)R_alloc(columns + 1, sizeof *names);
  for (size_t i = 0; i < columns; i++) {
    names[i] = comp_table_column_name(table, i);
    SET_VECTOR_ELT(value, (R_xlen_t)i, column_value(table, i, n));
  }
  SEXP text = PROTECT(texts_value(names, columns));
  Rf_setAttrib(value, R_NamesSymbol, text);
  UNPROTECT(2);
  return value;
}

static SEXP matrices_value(const comp_dataset *dataset, comp_slot slot) {
  size_t n = comp_dataset_matrix_count(dataset, slot);
  SEXP value = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)n));
  const char **names = (const char **)R_alloc(n + 1, sizeof *names);
  for (size_t i = 0; i < n; i++) {
    names[i] = comp_dataset_matrix_name(dataset, slot, i);
    SET_VECTOR_ELT(value, (R_xlen_t)i, matrix_value(comp_dataset_matrix(dataset, slot, names[i])));
  }
  SEXP text = PROTECT(texts_value(names, n));
  Rf_setAttrib(value, R_NamesSymbol, text);
  UNPROTECT(2);
  return value;
}

SEXP dataset_value(const comp_dataset *dataset) {
  size_t samples = comp_dataset_sample_count(dataset), features = comp_dataset_feature_count(dataset);
  const char **obs = (const char **)R_alloc(samples + 1, sizeof *obs),
             **var = (const char **)R_alloc(features + 1, sizeof *var);
  comp_dataset_obs_names(obs, dataset);
  comp_dataset_var_names(var, dataset);
  const char *names[] = {"x", "obs", "var", "samples", "features", "embeddings", "layers", "record", ""};
  SEXP value = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(value, 0, matrix_value(comp_dataset_x(dataset)));
  SET_VECTOR_ELT(value, 1, table_value(comp_dataset_obs(dataset)));
  SET_VECTOR_ELT(value, 2, table_value(comp_dataset_var(dataset)));
  SET_VECTOR_ELT(value, 3, texts_value(obs, samples));
  SET_VECTOR_ELT(value, 4, texts_value(var, features));
  SET_VECTOR_ELT(value, 5, matrices_value(dataset, COMP_SLOT_OBSM));
  SET_VECTOR_ELT(value, 6, matrices_value(dataset, COMP_SLOT_LAYERS));
  SET_VECTOR_ELT(value, 7, text_value(comp_dataset_record(dataset)));
  UNPROTECT(1);
  return value;
}
