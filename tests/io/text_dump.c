/*
 * text_dump.c: reads a text format with the library and writes what it got, for the comparison with other programs
 * (tests/oracle/test_text.py). Not installed.
 *
 *   text_dump mex|csv PATH OUT [OPTION...]   OUT.obs, OUT.var: names; OUT.table: obs as tab-separated text;
 *                                            dense: OUT.npy, sparse: OUT.indptr, OUT.indices, OUT.values (raw arrays)
 *   text_dump table PATH OUT [OPTION...]     OUT.table alone
 *   text_dump convert PATH OUT.csv|.tsv|.gz|.npy [OPTION...]   a csv to another file
 *
 * Options: --no-header --transpose --names A,B --missing A,B --comment C --metadata FILE --threads N --repeat N
 * Prints the seconds of the fastest reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "comp/io.h"
#include "core/context.h"
#include "io/format.h"

static void stop(const char *what) {
  fprintf(stderr, "text_dump: %s\n", what);
  exit(1);
}

static void need(comp_status status) {
  if (status != COMP_OK) stop(comp_error_message());
}

static void print_message(void *user, comp_log_level level, const char *message) {
  (void)user;
  fprintf(stderr, "text_dump: %s%s\n", level == COMP_LOG_WARNING ? "warning: " : "", message);
}

static FILE *create(const char *stem, const char *suffix) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", stem, suffix);
  FILE *file = fopen(path, "w");
  if (!file) stop(path);
  return file;
}

static void dump_array(const char *stem, const char *suffix, const void *data, size_t size) {
  FILE *file = create(stem, suffix);
  fwrite(data, 1, size, file);
  fclose(file);
}

static const char *value(const comp_table *t, size_t c, size_t row, char *buffer, size_t size) {
  return comp_table_format(t, c, row, buffer, size);
}

static void dump_table(const char *stem, const comp_table *t) {
  static const char *const kinds[] = {"string", "categorical", "number", "bool"};
  char buffer[1024];
  FILE *file = create(stem, ".table");
  size_t columns = comp_table_column_count(t);
  for (size_t c = 0; c < columns; c++) {
    const char *kind = kinds[comp_table_column_kind(t, c)];
    if (comp_table_column_kind(t, c) == COMP_COLUMN_NUMBER && comp_table_is_integer(t, c)) kind = "integer";
    fprintf(file, "%s%s:%s", c ? "\t" : "", comp_table_column_name(t, c), kind);
  }
  fputc('\n', file);
  for (size_t row = 0; row < comp_table_row_count(t); row++)
    for (size_t c = 0; c < columns; c++)
      fprintf(file, "%s%c", value(t, c, row, buffer, sizeof buffer), c + 1 < columns ? '\t' : '\n');
  fclose(file);
}

static void dump_names(const char *stem, const comp_dataset *d) {
  FILE *file = create(stem, ".obs");
  for (size_t i = 0; i < comp_dataset_sample_count(d); i++) fprintf(file, "%s\n", comp_dataset_obs_name(d, i));
  fclose(file);
  file = create(stem, ".var");
  for (size_t i = 0; i < comp_dataset_feature_count(d); i++) fprintf(file, "%s\n", comp_dataset_var_name(d, i));
  fclose(file);
}

static void dump_x(comp_context *context, const char *stem, const comp_dataset *d) {
  const comp_matrix *x = comp_dataset_x(d);
  if (comp_matrix_get_kind(x) == COMP_CSR) {
    dump_array(stem, ".indptr", comp_matrix_const_indptr(x), (comp_matrix_rows(x) + 1) * sizeof(int64_t));
    dump_array(stem, ".indices", comp_matrix_const_indices(x), comp_matrix_nnz(x) * sizeof(int32_t));
    dump_array(stem, ".values", comp_matrix_const_values(x), comp_matrix_nnz(x) * sizeof(float));
    return;
  }
  char path[4096];
  comp__write_options options = comp__write_defaults();
  snprintf(path, sizeof path, "%s.npy", stem);
  need(comp__format_npy.write(context, d, path, path, &options));
}

typedef struct arguments {
  comp__read_options read;
  const char *metadata;
  int threads;
  int repeat;
} arguments;

static arguments parse(int argc, char **argv) {
  arguments a = {{0}, NULL, 0, 1};
  for (int i = 4; i < argc; i++) {
    const char *next = i + 1 < argc ? argv[i + 1] : "";
    i++;
    if (strcmp(argv[i - 1], "--no-header") == 0) {
      a.read.no_header = true;
      i--;
    } else if (strcmp(argv[i - 1], "--transpose") == 0) {
      a.read.transpose = true;
      i--;
    } else if (strcmp(argv[i - 1], "--names") == 0)
      a.read.names = next;
    else if (strcmp(argv[i - 1], "--missing") == 0)
      a.read.missing = next;
    else if (strcmp(argv[i - 1], "--comment") == 0)
      a.read.comment = next[0];
    else if (strcmp(argv[i - 1], "--metadata") == 0)
      a.metadata = next;
    else if (strcmp(argv[i - 1], "--threads") == 0)
      a.threads = atoi(next);
    else if (strcmp(argv[i - 1], "--repeat") == 0)
      a.repeat = atoi(next);
    else
      stop("unknown option");
  }
  return a;
}

/* Reads `repeat` times; the last result stays. */
static double read_dataset(comp_dataset **out, comp_context *context, const comp__format *format, const char *path,
                           const arguments *a) {
  double best = 1e9;
  *out = NULL;
  for (int i = 0; i < a->repeat; i++) {
    comp_dataset_free(*out);
    double start = comp__seconds();
    need(format->read(out, context, path, &a->read));
    double seconds = comp__seconds() - start;
    if (seconds < best) best = seconds;
  }
  if (a->metadata) need(comp_dataset_join_metadata(context, *out, a->metadata));
  return best;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const char *mode = argv[1], *path = argv[2], *stem = argv[3];
  arguments a = parse(argc, argv);
  comp__context_options options = comp__context_defaults();
  options.log_level = COMP_LOG_INFO;
  options.threads = a.threads;
  comp_context *context;
  comp_dataset *d = NULL;
  need(comp__context_new(&context, &options));
  comp_context_on_log(context, print_message, NULL);
  if (strcmp(mode, "table") == 0) {
    comp_table *t;
    double start = comp__seconds();
    need(comp__table_read(&t, context, path, &a.read));
    printf("%.6f\n", comp__seconds() - start);
    dump_table(stem, t);
    comp_table_free(t);
  } else if (strcmp(mode, "convert") == 0) {
    comp__write_options write_options = comp__write_defaults();
    read_dataset(&d, context, &comp__format_csv, path, &a);
    double start = comp__seconds();
    const comp__format *format = strstr(stem, ".npy") ? &comp__format_npy : &comp__format_csv;
    need(format->write(context, d, stem, stem, &write_options));
    printf("%.6f\n", comp__seconds() - start);
  } else {
    const comp__format *format = strcmp(mode, "mex") == 0 ? &comp__format_mex : &comp__format_csv;
    printf("%.6f\n", read_dataset(&d, context, format, path, &a));
    dump_names(stem, d);
    dump_table(stem, comp_dataset_obs(d));
    dump_x(context, stem, d);
  }
  comp_dataset_free(d);
  comp_context_free(context);
  return 0;
}
