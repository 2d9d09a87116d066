/* describe.c: the parts of a data set as text and as JSON. */
#include "cli/describe.h"

#include <math.h>
#include <string.h>

#include "cli/json.h"
#include "cli/text.h"

enum { NAME_WIDTH = 24, MOST_SHOWN = 12, MOST_NUMBERS = 20, MOST_STRINGS = 100 };

/* ---- one column ---- */

typedef struct column_look {
  const char *name;
  comp_column_kind kind;
  size_t missing;
  bool grouped; /* `groups` is filled */
  comp_groups groups;
  double min, max, mean; /* of numbers; NaN when all are missing */
} column_look;

static void look_at_numbers(column_look *look, const comp_table *table, size_t column) {
  double sum = 0;
  look->min = INFINITY, look->max = -INFINITY;
  size_t rows = comp_table_row_count(table);
  for (size_t i = 0; i < rows; i++) {
    double value = comp_table_number(table, column, i);
    if (isnan(value)) {
      look->missing++;
      continue;
    }
    sum += value;
    look->min = fmin(look->min, value);
    look->max = fmax(look->max, value);
  }
  look->mean = sum / (double)(rows - look->missing);
  if (rows == look->missing) look->min = look->max = look->mean = NAN;
}

/* Whole numbers with few different values may well be groups; a range of them tells that cheaply. */
static bool wants_groups(const column_look *look, const comp_table *table, size_t column) {
  if (look->kind != COMP_COLUMN_NUMBER) return true;
  return comp_table_is_integer(table, column) && look->max - look->min < MOST_NUMBERS;
}

/* It should be released via column_release(). */
static comp_status column_look_at(column_look *look, const comp_table *table, size_t column) {
  *look = (column_look){.name = comp_table_column_name(table, column), .kind = comp_table_column_kind(table, column)};
  if (look->kind == COMP_COLUMN_NUMBER) look_at_numbers(look, table, column);
  if (!wants_groups(look, table, column)) return COMP_OK;
  comp_status status = comp_table_groups(&look->groups, table, column);
  if (status != COMP_OK) return status;
  look->grouped = true;
  look->missing = look->groups.rows;
  for (size_t i = 0; i < look->groups.n_levels; i++) look->missing -= look->groups.counts[i];
  return COMP_OK;
}

static void column_release(column_look *look) {
  if (look->grouped) comp_groups_release(&look->groups);
}

static const char *kind_name(comp_column_kind kind) {
  static const char *const names[] = {"string", "categorical", "number", "bool"};
  return names[kind];
}

/* ---- text ---- */

/* A name, cleaned of what could break a line, and padded to a column. Returns how many characters were written. */
static int put_name(FILE *out, const char *name) {
  char text[256];
  snprintf(text, sizeof text, "%s", name);
  int length = (int)text_length(text_clean(text));
  fprintf(out, "  %s%*s", text, length < NAME_WIDTH ? NAME_WIDTH - length : 1, "");
  return 2 + (length < NAME_WIDTH ? NAME_WIDTH : length + 1);
}

static void flow_levels(text_flow *flow, const comp_groups *groups) {
  char item[192], level[128], count[32];
  snprintf(item, sizeof item, "%s level%s:", text_count(count, sizeof count, groups->n_levels),
           groups->n_levels == 1 ? "" : "s");
  text_flow_add(flow, item);
  size_t shown = groups->n_levels > MOST_SHOWN + 2 ? MOST_SHOWN : groups->n_levels;
  for (size_t i = 0; i < shown; i++) {
    snprintf(level, sizeof level, "%s", groups->levels[i]);
    snprintf(item, sizeof item, "%s (%s)%s", text_clean(level), text_count(count, sizeof count, groups->counts[i]),
             i + 1 < groups->n_levels ? "," : "");
    text_flow_add_whole(flow, item);
  }
  if (shown == groups->n_levels) return;
  snprintf(item, sizeof item, "and %s more", text_count(count, sizeof count, groups->n_levels - shown));
  text_flow_add(flow, item);
}

static void flow_numbers(text_flow *flow, const column_look *look) {
  char item[128];
  if (isnan(look->min)) return;
  snprintf(item, sizeof item, "%.6g to %.6g, mean %.6g", look->min, look->max, look->mean);
  text_flow_add(flow, item);
}

static void put_column(FILE *out, const column_look *look, int width) {
  int column = put_name(out, look->name);
  char item[96], count[32];
  column += fprintf(out, "%-13s", kind_name(look->kind));
  text_flow flow = text_flow_start(out, column, NAME_WIDTH + 15, width);
  bool names_of_rows = look->kind == COMP_COLUMN_STRING && look->groups.n_levels > MOST_STRINGS;
  if (names_of_rows) {
    snprintf(item, sizeof item, "%s different values", text_count(count, sizeof count, look->groups.n_levels));
    text_flow_add(&flow, item);
  } else if (look->grouped) {
    flow_levels(&flow, &look->groups);
  } else {
    flow_numbers(&flow, look);
  }
  if (look->missing > 0) {
    snprintf(item, sizeof item, "; %s missing", text_count(count, sizeof count, look->missing));
    text_flow_add(&flow, item);
  }
  text_flow_end(&flow);
}

static comp_status put_table(FILE *out, const char *title, const comp_table *table, int width) {
  size_t columns = comp_table_column_count(table);
  if (columns == 0) return COMP_OK;
  fprintf(out, "%s\n", title);
  for (size_t j = 0; j < columns; j++) {
    column_look look;
    comp_status status = column_look_at(&look, table, j);
    if (status != COMP_OK) return status;
    put_column(out, &look, width);
    column_release(&look);
  }
  return COMP_OK;
}

static const char *matrix_kind(const comp_matrix *matrix) {
  return comp_matrix_get_kind(matrix) == COMP_CSR ? "sparse" : "dense";
}

static void put_slot(FILE *out, const char *title, const describe_subject *subject, comp_slot slot) {
  const comp_dataset *dataset = subject->values;
  char rows[32], cols[32];
  for (size_t i = 0; i < comp_dataset_matrix_count(dataset, slot); i++) {
    const char *name = comp_dataset_matrix_name(dataset, slot, i);
    const comp_matrix *matrix = comp_dataset_matrix(dataset, slot, name);
    if (i == 0) fprintf(out, "%s\n", title);
    put_name(out, name);
    fprintf(out, "%-13s%s x %s\n", matrix_kind(matrix),
            text_count(rows, sizeof rows, comp_dataset_sample_count(subject->dataset)),
            text_count(cols, sizeof cols, comp_matrix_cols(matrix)));
  }
}

/* The share of zeros in X; 0 when it is empty. */
static double zero_share(const describe_subject *subject) {
  double all = (double)comp_dataset_sample_count(subject->values) * (double)comp_dataset_feature_count(subject->values);
  return all > 0 ? (double)subject->look.zeros / all : 0;
}

static void put_shape(FILE *out, const describe_subject *subject, int width) {
  char samples[32], features[32], path[1024];
  snprintf(path, sizeof path, "%s", subject->path);
  fprintf(out, "%s (%s)\n", text_clean(path), subject->format);
  fprintf(out, "%s samples x %s features\n",
          text_count(samples, sizeof samples, comp_dataset_sample_count(subject->dataset)),
          text_count(features, sizeof features, comp_dataset_feature_count(subject->dataset)));
  fputs("X\n", out);
  put_name(out, "kind");
  fprintf(out, "%s, %.1f %% zeros\n", matrix_kind(comp_dataset_x(subject->values)), 100 * zero_share(subject));
  int column = put_name(out, "looks like");
  char reason[sizeof subject->look.reason];
  snprintf(reason, sizeof reason, "%s", subject->look.reason);
  text_flow flow = text_flow_start(out, column, NAME_WIDTH + 2, width);
  text_flow_add(&flow, text_clean(reason));
  text_flow_end(&flow);
  if (subject->values == subject->dataset) return;
  put_name(out, "looked at");
  fprintf(out, "%s of the samples (--all looks at every value)\n",
          text_count(samples, sizeof samples, comp_dataset_sample_count(subject->values)));
}

/* The start of the record: a list of all features may follow in it. */
enum { RECORD_SHOWN = 400 };

static void put_record(FILE *out, const char *record, int width) {
  if (!record) return;
  char start[RECORD_SHOWN + 1];
  snprintf(start, sizeof start, "%s", record);
  fputs("record\n  ", out);
  text_flow flow = text_flow_start(out, 2, 2, width);
  text_flow_add(&flow, start);
  if (strlen(record) > RECORD_SHOWN) text_flow_add(&flow, "... (--json FILE has all of it)");
  text_flow_end(&flow);
}

comp_status describe_text(FILE *out, const describe_subject *subject, int width) {
  const comp_dataset *dataset = subject->dataset;
  put_shape(out, subject, width);
  comp_status status = put_table(out, "obs", comp_dataset_obs(dataset), width);
  if (status == COMP_OK) status = put_table(out, "var", comp_dataset_var(dataset), width);
  if (status != COMP_OK) return status;
  put_slot(out, "layers", subject, COMP_SLOT_LAYERS);
  put_slot(out, "obsm", subject, COMP_SLOT_OBSM);
  put_record(out, comp_dataset_record(dataset), width);
  return COMP_OK;
}

/* ---- JSON ---- */

static void put_json_levels(FILE *out, const comp_groups *groups) {
  fputs(", \"levels\": [", out);
  for (size_t i = 0; i < groups->n_levels; i++) {
    fputs(i ? ", {\"name\": " : "{\"name\": ", out);
    json_put_string(out, groups->levels[i]);
    fprintf(out, ", \"count\": %zu}", groups->counts[i]);
  }
  fputs("]", out);
}

static void put_json_number(FILE *out, const char *key, double value) {
  fprintf(out, ", \"%s\": ", key);
  json_put_number(out, value);
}

static void put_json_column(FILE *out, const column_look *look) {
  fputs("{\"name\": ", out);
  json_put_string(out, look->name);
  fprintf(out, ", \"kind\": \"%s\", \"missing\": %zu", kind_name(look->kind), look->missing);
  if (look->kind == COMP_COLUMN_NUMBER) {
    put_json_number(out, "min", look->min);
    put_json_number(out, "max", look->max);
    put_json_number(out, "mean", look->mean);
  }
  if (look->grouped) {
    fprintf(out, ", \"distinct\": %zu", look->groups.n_levels);
    if (look->kind != COMP_COLUMN_STRING || look->groups.n_levels <= MOST_STRINGS) put_json_levels(out, &look->groups);
  }
  fputs("}", out);
}

static comp_status put_json_table(FILE *out, const char *key, const comp_table *table) {
  fprintf(out, ",\n  \"%s\": [", key);
  for (size_t j = 0; j < comp_table_column_count(table); j++) {
    column_look look;
    comp_status status = column_look_at(&look, table, j);
    if (status != COMP_OK) return status;
    fputs(j ? ",\n    " : "\n    ", out);
    put_json_column(out, &look);
    column_release(&look);
  }
  fputs("]", out);
  return COMP_OK;
}

static void put_json_slot(FILE *out, const char *key, const comp_dataset *dataset, comp_slot slot) {
  fprintf(out, ",\n  \"%s\": [", key);
  for (size_t i = 0; i < comp_dataset_matrix_count(dataset, slot); i++) {
    const char *name = comp_dataset_matrix_name(dataset, slot, i);
    const comp_matrix *matrix = comp_dataset_matrix(dataset, slot, name);
    fputs(i ? ",\n    {\"name\": " : "\n    {\"name\": ", out);
    json_put_string(out, name);
    fprintf(out, ", \"kind\": \"%s\", \"cols\": %zu}", matrix_kind(matrix), comp_matrix_cols(matrix));
  }
  fputs("]", out);
}

static void put_json_shape(FILE *out, const describe_subject *subject) {
  const comp_dataset *dataset = subject->dataset;
  fputs("{\n  \"file\": ", out);
  json_put_string(out, subject->path);
  fprintf(out, ",\n  \"format\": \"%s\",\n  \"samples\": %zu,\n  \"features\": %zu,\n  \"x\": {\"kind\": \"%s\"",
          subject->format, comp_dataset_sample_count(dataset), comp_dataset_feature_count(dataset),
          matrix_kind(comp_dataset_x(subject->values)));
  put_json_number(out, "zeros", zero_share(subject));
  put_json_number(out, "min", subject->look.min);
  put_json_number(out, "max", subject->look.max);
  fprintf(out, ", \"looks_like\": \"%s\"", comp_data_kind_name(subject->look.kind));
  if (subject->look.log_base > 0.0) put_json_number(out, "log_base", subject->look.log_base);
  if (subject->look.common_total > 0.0) put_json_number(out, "common_total", subject->look.common_total);
  fputs(", \"looks_because\": ", out);
  json_put_string(out, subject->look.reason);
  fprintf(out, ", \"looked_at\": %zu}", comp_dataset_sample_count(subject->values));
}

comp_status describe_json(FILE *out, const describe_subject *subject) {
  const comp_dataset *dataset = subject->dataset;
  put_json_shape(out, subject);
  comp_status status = put_json_table(out, "obs", comp_dataset_obs(dataset));
  if (status == COMP_OK) status = put_json_table(out, "var", comp_dataset_var(dataset));
  if (status != COMP_OK) return status;
  put_json_slot(out, "layers", subject->values, COMP_SLOT_LAYERS);
  put_json_slot(out, "obsm", subject->values, COMP_SLOT_OBSM);
  const char *record = comp_dataset_record(dataset);
  fprintf(out, ",\n  \"record\": %s\n}\n", record ? record : "null"); /* it is JSON itself */
  return COMP_OK;
}
