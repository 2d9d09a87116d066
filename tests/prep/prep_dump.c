/*
 * prep_dump.c: runs a step of the preparation on files that an oracle wrote, and writes what came out for it to
 * compare. A folder holds x.bin (rows, cols, nnz as int64; indptr int64, indices int32, values float32; nnz -1: dense
 * values), var.txt (names), obs.tsv (a line of names, a line of kinds s/n/b, then values; "" is missing). Not
 * installed.
 *
 *     prep_dump DIR COMMAND [NAME=VALUE ...]      COMMAND: prep, apply, de, tabular, loess
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "comp/prep.h"
#include "core/context.h"
#include "core/strings.h"
#include "prep/loess.h"
#include "prep/options.h"

enum { LIST_MAX = 64 };

static const char *folder;

static void die(const char *what) {
  fprintf(stderr, "prep_dump: %s\n", what);
  exit(1);
}

static void must(comp_status status) {
  if (status != COMP_OK) die(comp_error_message());
}

static FILE *open_in(const char *name, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, mode);
  if (!file) die(path);
  return file;
}

static void get(void *to, size_t size, size_t n, FILE *file) {
  if (fread(to, size, n, file) != n) die("a file is too short");
}

static comp_matrix *read_matrix(const char *name) {
  FILE *file = open_in(name, "rb");
  int64_t head[3];
  comp_matrix *x;
  get(head, sizeof *head, 3, file);
  size_t rows = (size_t)head[0], cols = (size_t)head[1];
  if (head[2] < 0) {
    must(comp_matrix_new_dense(&x, rows, cols));
  } else {
    must(comp_matrix_new_csr(&x, rows, cols, (size_t)head[2]));
    get(comp_matrix_indptr(x), sizeof(int64_t), rows + 1, file);
    get(comp_matrix_indices(x), sizeof(int32_t), (size_t)head[2], file);
  }
  get(comp_matrix_values(x), sizeof(float), head[2] < 0 ? rows * cols : (size_t)head[2], file);
  fclose(file);
  return x;
}

static void write_matrix(const char *name, comp_matrix *x) {
  FILE *file = open_in(name, "wb");
  bool dense = comp_matrix_get_kind(x) == COMP_DENSE;
  size_t rows = comp_matrix_rows(x), nnz = comp_matrix_nnz(x);
  int64_t head[3] = {(int64_t)rows, (int64_t)comp_matrix_cols(x), dense ? -1 : (int64_t)nnz};
  fwrite(head, sizeof *head, 3, file);
  if (!dense) {
    fwrite(comp_matrix_indptr(x), sizeof(int64_t), rows + 1, file);
    fwrite(comp_matrix_indices(x), sizeof(int32_t), nnz, file);
  }
  fwrite(comp_matrix_values(x), sizeof(float), nnz, file);
  fclose(file);
}

/* All lines of a file, without their ends. */
static char **read_lines(const char *name, size_t *n) {
  FILE *file = open_in(name, "r");
  char **lines = NULL, *line = NULL;
  size_t room = 0, capacity = 0;
  ssize_t length;
  for (*n = 0; (length = getline(&line, &room, file)) >= 0; (*n)++) {
    if (length > 0 && line[length - 1] == '\n') line[length - 1] = '\0';
    if (*n == capacity && !(lines = realloc(lines, (capacity = capacity * 2 + 64) * sizeof *lines))) die("memory");
    lines[*n] = strdup(line);
  }
  free(line);
  fclose(file);
  return lines;
}

static void free_lines(char **lines, size_t n) {
  for (size_t i = 0; i < n; i++) free(lines[i]);
  free(lines);
}

static comp_table *read_table(const char *name) {
  size_t n, columns = 0;
  char **lines = read_lines(name, &n), *names = lines[0], *kinds = lines[1], *column_name;
  size_t rows = n - 2;
  char **rest = calloc(rows + 1, sizeof *rest);
  const char **texts = calloc(rows + 1, sizeof *texts);
  double *numbers = calloc(rows + 1, sizeof *numbers);
  int8_t *bools = calloc(rows + 1, 1);
  comp_table *table;
  must(comp_table_new(&table, rows));
  for (size_t i = 0; i < rows; i++) rest[i] = lines[i + 2];
  for (; (column_name = strsep(&names, "\t")) && column_name[0]; columns++) {
    char kind = strsep(&kinds, "\t")[0];
    for (size_t i = 0; i < rows; i++) {
      const char *text = strsep(&rest[i], "\t");
      texts[i] = text[0] ? text : NULL;
      numbers[i] = text[0] ? strtod(text, NULL) : NAN;
      bools[i] = text[0] ? strcmp(text, "True") == 0 : -1;
    }
    if (kind == 's') must(comp_table_add_strings(table, column_name, texts));
    if (kind == 'n') must(comp_table_add_numbers(table, column_name, numbers, false));
    if (kind == 'b') must(comp_table_add_bools(table, column_name, bools));
  }
  free(rest);
  free(texts);
  free(numbers);
  free(bools);
  free_lines(lines, n);
  return table;
}

/* With the names of the rows in front when they are given. */
static void write_table(const char *name, const comp_table *table,
                        const char *(*row_name)(const comp_dataset *, size_t), const comp_dataset *dataset) {
  FILE *file = open_in(name, "w");
  char buffer[512];
  if (row_name) fputs("name\t", file);
  for (size_t c = 0; c < comp_table_column_count(table); c++)
    fprintf(file, "%s%s", c ? "\t" : "", comp_table_column_name(table, c));
  fputc('\n', file);
  for (size_t i = 0; i < comp_table_row_count(table); i++) {
    if (row_name) fprintf(file, "%s\t", row_name(dataset, i));
    for (size_t c = 0; c < comp_table_column_count(table); c++)
      fprintf(file, "%s%s", c ? "\t" : "", comp_table_format(table, c, i, buffer, sizeof buffer));
    fputc('\n', file);
  }
  fclose(file);
}

static comp_dataset *read_dataset(const char *prefix) {
  char name[256];
  size_t n;
  comp_dataset *d;
  snprintf(name, sizeof name, "%svar.txt", prefix);
  char **names = read_lines(name, &n);
  snprintf(name, sizeof name, "%sx.bin", prefix);
  must(comp_dataset_new(&d, read_matrix(name), NULL, (const char *const *)names));
  free_lines(names, n);
  snprintf(name, sizeof name, "%sobs.tsv", prefix);
  comp_table *obs = read_table(name);
  for (size_t c = 0; c < comp_table_column_count(obs); c++) {
    const char **texts = calloc(comp_table_row_count(obs) + 1, sizeof *texts);
    int8_t *bools = calloc(comp_table_row_count(obs) + 1, 1);
    for (size_t i = 0; i < comp_table_row_count(obs); i++) {
      if (comp_table_column_kind(obs, c) == COMP_COLUMN_STRING) texts[i] = comp_table_string(obs, c, i);
      if (comp_table_column_kind(obs, c) == COMP_COLUMN_BOOL) bools[i] = (int8_t)comp_table_bool(obs, c, i);
    }
    if (comp_table_column_kind(obs, c) == COMP_COLUMN_STRING)
      must(comp_table_add_strings(comp_dataset_obs(d), comp_table_column_name(obs, c), texts));
    else
      must(comp_table_add_bools(comp_dataset_obs(d), comp_table_column_name(obs, c), bools));
    free(texts);
    free(bools);
  }
  comp_table_free(obs);
  return d;
}

static void write_dataset(const comp_dataset *d) {
  write_matrix("out_x.bin", comp_dataset_x(d));
  write_table("out_obs.tsv", comp_dataset_obs(d), comp_dataset_obs_name, d);
  write_table("out_var.tsv", comp_dataset_var(d), comp_dataset_var_name, d);
  FILE *file = open_in("out_record.json", "w");
  fputs(comp_dataset_record(d) ? comp_dataset_record(d) : "{}", file);
  fclose(file);
}

/* The values of all arguments NAME=VALUE of that name; the first is also returned. */
typedef struct list {
  const char *items[LIST_MAX];
  size_t n;
} list;

static char **arguments;

static const char *all(list *out, const char *name) {
  size_t length = strlen(name);
  out->n = 0;
  for (char **a = arguments; *a; a++)
    if (strncmp(*a, name, length) == 0 && (*a)[length] == '=' && out->n < LIST_MAX)
      out->items[out->n++] = *a + length + 1;
  return out->n ? out->items[0] : NULL;
}

static const char *one(const char *name) {
  list l;
  return all(&l, name);
}

static double number(const char *name, double otherwise) {
  return one(name) ? strtod(one(name), NULL) : otherwise;
}

static void run_prep(comp_context *context) {
  comp_dataset *d = read_dataset("");
  comp__prep_options o = comp__prep_defaults();
  list keep, drop;
  all(&keep, "keep");
  all(&drop, "drop_genes");
  o.filter.keep = keep.items;
  o.filter.n_keep = keep.n;
  o.filter.drop_genes = drop.items;
  o.filter.n_drop_genes = drop.n;
  o.filter.drop_empty_genes = one("drop_empty") != NULL;
  o.filter.min_gene_cells = (size_t)number("min_gene_cells", 0);
  o.filter.min_gene_counts = number("min_gene_counts", 0);
  o.filter.min_cell_counts = number("min_cell_counts", 0);
  o.filter.min_cell_genes = (size_t)number("min_cell_genes", 0);
  o.normalize = one("normalize") != NULL;
  o.target_sum = number("normalize", 0);
  o.log1p = one("log1p") != NULL;
  if (one("hvg")) must(comp__hvg_parse(&o.hvg, one("hvg")));
  o.hvg.batch = one("batch");
  o.keep_all_genes = one("all_genes") != NULL;
  o.force = one("force") != NULL;
  must(comp__prep(&d, context, &o));
  write_dataset(d);
  comp_dataset_free(d);
}

static void run_apply(comp_context *context) {
  size_t n;
  char **lines = read_lines(one("record"), &n);
  comp_dataset *d = read_dataset(one("prefix"));
  must(comp_prep_apply_record(&d, context, lines[0]));
  write_dataset(d);
  comp_dataset_free(d);
  free_lines(lines, n);
}

static void run_de(comp_context *context) {
  comp_dataset *d = read_dataset("");
  comp__de_options o = comp__de_defaults();
  o.groupby = one("groupby");
  o.target = one("target");
  o.reference = one("reference");
  o.label = one("label");
  o.min_samples = (size_t)number("min_samples", 2);
  o.tie_correct = one("tie_correct") != NULL;
  comp_de *de;
  comp_table *table;
  must(comp__de_run(&de, context, d, &o));
  must(comp_de_table(&table, de, d, 0));
  write_table("out_de.tsv", table, NULL, NULL);
  comp_table_free(table);
  comp_de_free(de);
  comp_dataset_free(d);
}

static void run_tabular(comp_context *context) {
  list inputs, obs, drop, features, merge;
  comp__tabular_options o = comp__tabular_defaults();
  comp_table *tables[LIST_MAX] = {NULL}, *table;
  all(&inputs, "table");
  for (size_t i = 0; i < inputs.n; i++) tables[i] = read_table(inputs.items[i]);
  must(comp_table_concat(&table, (const comp_table *const *)tables, inputs.n));
  for (size_t i = 0; i < inputs.n; i++) comp_table_free(tables[i]);
  all(&obs, "obs");
  all(&drop, "drop");
  all(&features, "drop_feature");
  all(&merge, "merge");
  o.obs = obs.items;
  o.n_obs = obs.n;
  o.drop = drop.items;
  o.n_drop = drop.n;
  o.drop_features = features.items;
  o.n_drop_features = features.n;
  o.merge = merge.items;
  o.n_merge = merge.n;
  o.missing = one("missing") ? COMP_MISSING_DROP : COMP_MISSING_REFUSE;
  o.raw = one("raw") != NULL;
  comp_dataset *d, *again;
  must(comp__tabular_encode(&d, context, table, &o));
  must(comp_tabular_apply(&again, context, table, comp_dataset_record(d)));
  write_matrix("again_x.bin", comp_dataset_x(again));
  write_dataset(d);
  comp_dataset_free(again);
  comp_dataset_free(d);
  comp_table_free(table);
}

static void run_loess(void) {
  size_t n;
  char **lines = read_lines("points.txt", &n);
  double *x = calloc(n + 1, sizeof *x), *y = calloc(n + 1, sizeof *y), *fitted = calloc(n + 1, sizeof *fitted);
  for (size_t i = 0; i < n; i++) {
    char *end;
    x[i] = strtod(lines[i], &end);
    y[i] = strtod(end, NULL);
  }
  must(comp__loess(fitted, x, y, n, number("span", 0.3)));
  FILE *file = open_in("out_fitted.txt", "w");
  for (size_t i = 0; i < n; i++) fprintf(file, "%.17g\n", fitted[i]);
  fclose(file);
  free(x);
  free(y);
  free(fitted);
  free_lines(lines, n);
}

static void print_message(void *user, comp_log_level level, const char *message) {
  (void)user, (void)level;
  fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv) {
  if (argc < 3) die("usage: prep_dump DIR COMMAND [NAME=VALUE ...]");
  folder = argv[1];
  arguments = argv + 3;
  comp__context_options options = comp__context_defaults();
  options.threads = (int)number("threads", 2);
  comp_context *context;
  must(comp__context_new(&context, &options));
  comp_context_on_log(context, print_message, NULL);
  if (strcmp(argv[2], "prep") == 0)
    run_prep(context);
  else if (strcmp(argv[2], "apply") == 0)
    run_apply(context);
  else if (strcmp(argv[2], "de") == 0)
    run_de(context);
  else if (strcmp(argv[2], "tabular") == 0)
    run_tabular(context);
  else if (strcmp(argv[2], "loess") == 0)
    run_loess();
  else
    die("no such command");
  comp_context_free(context);
  return 0;
}
