/*
 * h5_dump.c: shows how the library reads a data file, for the Python oracle (tests/oracle/h5ad_common.py) to compare.
 *
 *   h5_dump [--raw] [--layer NAME] [--threads N] [--rows N] [--stats] FILE    a canonical dump of everything read;
 *                                                    --rows: X by blocks of N rows; --stats: times and memory instead
 *   h5_dump --write OUT [--carry FROM] [--level N] [--zarr N] [--shards] FILE   reads and writes again
 *   h5_dump --update OUT FILE                             adds a column, a layer, a matrix and a record
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "comp/io.h"
#include "core/context.h"
#include "core/matrix.h"
#include "io/rows.h"

static void on_log(void *user, comp_log_level level, const char *message) {
  (void)user;
  fprintf(stderr, "%s: %s\n", level == COMP_LOG_WARNING ? "warning" : "info", message);
}

static void dump_matrix(const char *name, const comp_matrix *m, size_t first) {
  printf("matrix %s %zu %zu %s\n", name, m->rows, m->cols, m->kind == COMP_CSR ? "csr" : "dense");
  for (size_t i = 0; i < m->rows; i++) {
    printf("%zu", first + i);
    if (m->kind == COMP_CSR)
      for (int64_t k = m->indptr[i]; k < m->indptr[i + 1]; k++) printf(" %d:%.9g", m->indices[k], (double)m->values[k]);
    else
      for (size_t j = 0; j < m->cols; j++) printf(" %.9g", (double)m->values[i * m->cols + j]);
    printf("\n");
  }
}

static void dump_value(const comp_table *t, size_t column, size_t row) {
  const char *text = NULL;
  int32_t code;
  switch (comp_table_column_kind(t, column)) {
  case COMP_COLUMN_STRING:
    text = comp_table_string(t, column, row);
    break;
  case COMP_COLUMN_CATEGORICAL:
    code = comp_table_code(t, column, row);
    text = code < 0 ? NULL : comp_table_level_name(t, column, code);
    break;
  case COMP_COLUMN_NUMBER:
    printf("%.17g\n", comp_table_number(t, column, row));
    return;
  case COMP_COLUMN_BOOL:
    printf("%d\n", comp_table_bool(t, column, row));
    return;
  }
  printf(text ? "=%s\n" : "NULL\n", text);
}

static void dump_table(const char *name, const comp_table *t) {
  static const char *const kinds[] = {"string", "categorical", "number", "bool"};
  for (size_t c = 0; c < comp_table_column_count(t); c++) {
    comp_column_kind kind = comp_table_column_kind(t, c);
    printf("column %s %s%s %s\n", name, kinds[kind],
           kind == COMP_COLUMN_NUMBER && comp_table_is_integer(t, c) ? "-integer" : "", comp_table_column_name(t, c));
    if (kind == COMP_COLUMN_CATEGORICAL)
      for (size_t l = 0; l < comp_table_level_count(t, c); l++)
        printf("level =%s\n", comp_table_level_name(t, c, (int32_t)l));
    for (size_t i = 0; i < comp_table_row_count(t); i++) dump_value(t, c, i);
  }
}

static void dump(const comp_dataset *d) {
  printf("shape %zu %zu\n", comp_dataset_sample_count(d), comp_dataset_feature_count(d));
  for (size_t i = 0; i < comp_dataset_sample_count(d); i++) printf("obs =%s\n", comp_dataset_obs_name(d, i));
  for (size_t j = 0; j < comp_dataset_feature_count(d); j++) printf("var =%s\n", comp_dataset_var_name(d, j));
  if (comp_dataset_x(d)) dump_matrix("X", comp_dataset_x(d), 0);
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < comp_dataset_matrix_count(d, (comp_slot)slot); i++) {
      const char *name = comp_dataset_matrix_name(d, (comp_slot)slot, i);
      char path[300];
      snprintf(path, sizeof path, "%s/%s", slot ? "obsm" : "layers", name);
      dump_matrix(path, comp_dataset_matrix(d, (comp_slot)slot, name), 0);
    }
  dump_table("obs", comp_dataset_obs(d));
  dump_table("var", comp_dataset_var(d));
  if (comp_dataset_record(d)) printf("record %s\n", comp_dataset_record(d));
}

static comp_status dump_rows(comp_context *context, const char *path, const comp__read_options *options, size_t step) {
  comp__rows *rows;
  comp_status status = comp__rows_open(&rows, context, path, options);
  for (size_t at = 0; status == COMP_OK && at < comp__rows_count(rows); at += step) {
    size_t end = at + step < comp__rows_count(rows) ? at + step : comp__rows_count(rows);
    comp_matrix *block;
    status = comp__rows_read(&block, context, rows, at, end);
    if (status == COMP_OK) dump_matrix("X", block, at);
    if (status == COMP_OK) comp_matrix_free(block);
  }
  comp__rows_close(rows);
  return status;
}

/* Results of every kind, made from the row numbers. */
static comp_status add_results(comp_context *context, const comp_dataset *d, const char *in, const char *out,
                               const comp__read_options *options) {
  size_t n = comp_dataset_sample_count(d), g = comp_dataset_feature_count(d);
  comp_matrix *x, *layer, *embedding;
  comp_dataset *results = NULL;
  const char **obs = malloc(n * sizeof *obs), **var = malloc(g * sizeof *var);
  double *score = malloc(n * sizeof *score);
  int32_t *codes = malloc(n * sizeof *codes);
  for (size_t i = 0; i < n; i++) {
    obs[i] = comp_dataset_obs_name(d, i);
    score[i] = (double)i / 2;
    codes[i] = (int32_t)(i % 3) - 1;
  }
  for (size_t j = 0; j < g; j++) var[j] = comp_dataset_var_name(d, j);
  comp_status status = comp_matrix_new_csr(&x, n, g, 0);
  if (status == COMP_OK) status = comp_dataset_new(&results, x, obs, var);
  if (status == COMP_OK) status = comp_matrix_new_dense(&layer, n, g);
  for (size_t i = 0; status == COMP_OK && i < n; i++) layer->values[i * g] = (float)i;
  if (status == COMP_OK) status = comp_dataset_set_matrix(results, COMP_SLOT_LAYERS, "made", layer);
  if (status == COMP_OK) status = comp_matrix_new_dense(&embedding, n, 2);
  for (size_t i = 0; status == COMP_OK && i < n; i++) embedding->values[i * 2 + 1] = (float)i;
  if (status == COMP_OK) status = comp_dataset_set_matrix(results, COMP_SLOT_OBSM, "X_comp", embedding);
  if (status == COMP_OK) status = comp_table_add_numbers(comp_dataset_obs(results), "score", score, false);
  if (status == COMP_OK)
    status = comp_table_add_categorical(comp_dataset_obs(results), "cluster", codes, (const char *[]){"a", "b"}, 2);
  if (status == COMP_OK) status = comp_dataset_set_record(results, "{\"did\": \"update\"}");
  if (status == COMP_OK) status = comp__dataset_update(context, results, in, out, options);
  comp_dataset_free(results);
  free(obs);
  free(var);
  free(score);
  free(codes);
  return status;
}

int main(int argc, char **argv) {
  const char *path = NULL, *write = NULL, *update = NULL;
  size_t rows = 0;
  bool stats = false;
  comp__read_options options = {0};
  comp__write_options write_options = comp__write_defaults();
  comp__context_options context_options = {.threads = 2, .log_level = COMP_LOG_INFO};
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--raw") == 0)
      options.raw = true;
    else if (strcmp(argv[i], "--stats") == 0)
      stats = true;
    else if (strcmp(argv[i], "--skip-x") == 0)
      options.skip_x = true;
    else if (strcmp(argv[i], "--layer") == 0)
      options.layer = value, i++;
    else if (strcmp(argv[i], "--threads") == 0)
      context_options.threads = atoi(value), i++;
    else if (strcmp(argv[i], "--rows") == 0)
      rows = (size_t)atoi(value), i++;
    else if (strcmp(argv[i], "--write") == 0)
      write = value, i++;
    else if (strcmp(argv[i], "--carry") == 0)
      write_options.carry_from = value, i++;
    else if (strcmp(argv[i], "--level") == 0)
      write_options.compression = atoi(value), i++;
    else if (strcmp(argv[i], "--zarr") == 0)
      write_options.zarr = atoi(value), i++;
    else if (strcmp(argv[i], "--shards") == 0)
      write_options.shards = true;
    else if (strcmp(argv[i], "--update") == 0)
      update = value, i++;
    else
      path = argv[i];
  }
  comp_context *context = NULL;
  comp_dataset *d = NULL;
  comp_status status = comp__context_new(&context, &context_options);
  if (status == COMP_OK) comp_context_on_log(context, on_log, NULL);
  size_t before = comp_peak_memory();
  double start = comp__seconds();
  if (status == COMP_OK && rows > 0)
    status = dump_rows(context, path, &options, rows);
  else if (status == COMP_OK) {
    status = comp__dataset_read(&d, context, path, &options);
    double read = comp__seconds() - start;
    size_t nnz = status == COMP_OK && comp_dataset_x(d) ? comp_matrix_nnz(comp_dataset_x(d)) : 0;
    start = comp__seconds();
    if (status == COMP_OK && write)
      status = comp__dataset_write(context, d, write, &write_options);
    else if (status == COMP_OK && update)
      status = add_results(context, d, path, update, &options);
    else if (status == COMP_OK && !stats)
      dump(d);
    if (status == COMP_OK && stats)
      printf("read %.4f s, write %.4f s, peak %.1f MB above %.1f, X of %.1f MB\n", read, comp__seconds() - start,
             (double)(comp_peak_memory() - before) / 1e6, (double)before / 1e6,
             ((double)nnz * 8 + (double)comp_dataset_sample_count(d) * 8) / 1e6);
  }
  if (status != COMP_OK) fprintf(stderr, "error %d: %s\n", (int)status, comp_error_message());
  comp_dataset_free(d);
  comp_context_free(context);
  return status == COMP_OK ? 0 : 1;
}
