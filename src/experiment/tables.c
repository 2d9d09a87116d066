/* tables.c: mean and standard error over seeds, with the paper's numbers next to them, in four forms. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/file.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/json.h"
#include "experiment/lab.h"
#include "text/stream.h"

typedef struct cell {
  size_t count;
  double mean, error; /* error: standard error of the mean; NaN with one seed */
  double paper;
  bool best;
} cell;

typedef struct grid {
  const comp__table *table;
  const char *used;    /* which data */
  const char *(*rows); /* [n_rows] */
  cell *cells;         /* [n_rows, n_columns] */
  size_t n_rows, n_columns, n_seeds;
} grid;

static const char *source_of(const comp__table *table) {
  return table->source ? table->source : table->name;
}

static size_t find_row(const grid *g, const char *row) {
  size_t r = 0;
  while (r < g->n_rows && strcmp(g->rows[r], row) != 0) r++;
  return r;
}

/* Two passes over the figures: sums, then squares around the mean. */
static void fill(grid *g, const comp__lab *lab, const comp__figures *results, bool squares) {
  for (size_t t = 0; t < lab->plan.count; t++) {
    if (strcmp(lab->plan.trials[t].table, source_of(g->table)) != 0) continue;
    for (size_t i = 0; i < results[t].count; i++) {
      const comp__figure *f = &results[t].items[i];
      size_t r = find_row(g, f->row);
      if (r == g->n_rows) g->rows[g->n_rows++] = f->row;
      for (size_t c = 0; c < g->n_columns; c++) {
        cell *x = &g->cells[r * g->n_columns + c];
        if (strcmp(g->table->columns[c].key, f->column) != 0 || !isfinite(f->value)) continue;
        if (squares)
          x->error += (f->value - x->mean) * (f->value - x->mean);
        else {
          x->mean += f->value;
          x->count++;
        }
      }
    }
  }
}

static double badness(const comp__column *column, double value) {
  if (column->better == COMP_BETTER_HIGHER) return -value;
  return column->better == COMP_BETTER_ZERO ? fabs(value) : value;
}

static void mark_best(grid *g, const comp__lab *lab) {
  for (size_t c = 0; c < g->n_columns; c++) {
    double best = INFINITY;
    for (size_t r = 0; r < g->n_rows; r++) {
      cell *x = &g->cells[r * g->n_columns + c];
      x->paper = comp__paper_figure(lab->experiment->name, source_of(g->table), g->rows[r], g->table->columns[c].key);
      if (x->count > 0) best = fmin(best, badness(&g->table->columns[c], x->mean));
    }
    for (size_t r = 0; r < g->n_rows && g->n_rows > 1; r++) {
      cell *x = &g->cells[r * g->n_columns + c];
      x->best = x->count > 0 && badness(&g->table->columns[c], x->mean) <= best;
    }
  }
}

static comp_status make_grid(grid *g, const comp__table *table, const comp__lab *lab, const comp__figures *results) {
  comp_status status;
  size_t most = 1;
  *g = (grid){.table = table, .used = lab->used, .n_seeds = lab->options->n_seeds};
  for (size_t t = 0; t < lab->plan.count; t++) most += results[t].count;
  while (table->columns[g->n_columns].key) g->n_columns++;
  COMP__TRY(comp__calloc(&g->rows, most, sizeof *g->rows));
  COMP__TRY(comp__calloc(&g->cells, most * g->n_columns, sizeof *g->cells));
  fill(g, lab, results, false);
  for (size_t i = 0; i < g->n_rows * g->n_columns; i++) g->cells[i].mean /= (double)g->cells[i].count;
  fill(g, lab, results, true);
  for (size_t i = 0; i < g->n_rows * g->n_columns; i++) {
    cell *x = &g->cells[i];
    double n = (double)x->count;
    x->error = x->count > 1 ? sqrt(x->error / (n - 1) / n) : NAN;
  }
  mark_best(g, lab);
done:
  return status;
}

static void release_grid(grid *g) {
  comp__free(g->rows);
  comp__free(g->cells);
}

/* "0.121 +- 0.004" or "-". */
static void format_cell(char *out, size_t size, const cell *x, int digits, const char *plus_minus) {
  if (x->count == 0)
    snprintf(out, size, "-");
  else if (isnan(x->error))
    snprintf(out, size, "%.*f", digits, x->mean);
  else
    snprintf(out, size, "%.*f %s %.*f", digits, x->mean, plus_minus, digits, x->error);
}

static void format_paper(char *out, size_t size, double value, int digits) {
  if (isnan(value))
    out[0] = '\0';
  else
    snprintf(out, size, "%.*f", digits, value);
}

static bool has_paper(const grid *g, size_t c) {
  for (size_t r = 0; r < g->n_rows; r++)
    if (!isnan(g->cells[r * g->n_columns + c].paper)) return true;
  return false;
}

static bool has_values(const grid *g, size_t c) {
  for (size_t r = 0; r < g->n_rows; r++)
    if (g->cells[r * g->n_columns + c].count) return true;
  return false;
}

static void put_text(FILE *out, const grid *g) {
  fprintf(out, "%s\nData: %s\n%s\n\n%-22s", g->table->title, g->used, g->table->note, "");
  for (size_t c = 0; c < g->n_columns; c++) {
    if (!has_values(g, c)) continue;
    fprintf(out, "  %18s", g->table->columns[c].title);
    if (has_paper(g, c)) fprintf(out, "  %8s", "paper");
  }
  fputc('\n', out);
  for (size_t r = 0; r < g->n_rows; r++) {
    fprintf(out, "%-22s", g->rows[r]);
    for (size_t c = 0; c < g->n_columns; c++) {
      const cell *x = &g->cells[r * g->n_columns + c];
      char text[48], marked[64], paper[24];
      if (!has_values(g, c)) continue;
      format_cell(text, sizeof text, x, g->table->columns[c].digits, "+-");
      snprintf(marked, sizeof marked, "%s%s", text, x->best ? "*" : "");
      fprintf(out, "  %18s", marked);
      format_paper(paper, sizeof paper, x->paper, g->table->columns[c].digits);
      if (has_paper(g, c)) fprintf(out, "  %8s", paper);
    }
    fputc('\n', out);
  }
  if (g->n_seeds == 1)
    fputs("* best of the column; one seed\n\n", out);
  else
    fprintf(out, "* best of the column; +- standard error over %zu seeds\n\n", g->n_seeds);
}

static void put_markdown(FILE *out, const grid *g) {
  fprintf(out, "### %s\n\nData: %s. %s\n\n| |", g->table->title, g->used, g->table->note);
  for (size_t c = 0; c < g->n_columns; c++)
    if (has_values(g, c)) fprintf(out, " %s |%s", g->table->columns[c].title, has_paper(g, c) ? " paper |" : "");
  fputs("\n|---|", out);
  for (size_t c = 0; c < g->n_columns; c++)
    if (has_values(g, c)) fputs(has_paper(g, c) ? "---|---|" : "---|", out);
  fputc('\n', out);
  for (size_t r = 0; r < g->n_rows; r++) {
    fprintf(out, "| %s |", g->rows[r]);
    for (size_t c = 0; c < g->n_columns; c++) {
      const cell *x = &g->cells[r * g->n_columns + c];
      char text[48], paper[24];
      if (!has_values(g, c)) continue;
      format_cell(text, sizeof text, x, g->table->columns[c].digits, "±");
      fprintf(out, x->best ? " **%s** |" : " %s |", text);
      format_paper(paper, sizeof paper, x->paper, g->table->columns[c].digits);
      if (has_paper(g, c)) fprintf(out, " %s |", paper);
    }
    fputc('\n', out);
  }
  fputc('\n', out);
}

static void put_csv(FILE *out, const grid *g) {
  fputs("row,column,seeds,mean,standard_error,paper\n", out);
  for (size_t r = 0; r < g->n_rows; r++)
    for (size_t c = 0; c < g->n_columns; c++) {
      const cell *x = &g->cells[r * g->n_columns + c];
      if (x->count == 0) continue;
      fprintf(out, "\"%s\",\"%s\",%zu,%.10g,", g->rows[r], g->table->columns[c].key, x->count, x->mean);
      if (!isnan(x->error)) fprintf(out, "%.10g", x->error);
      fputc(',', out);
      if (!isnan(x->paper)) fprintf(out, "%.10g", x->paper);
      fputc('\n', out);
    }
}

static json_t *number_or_null(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static void put_json(FILE *out, const grid *g) {
  json_t *rows = json_array();
  for (size_t r = 0; r < g->n_rows; r++) {
    json_t *columns = json_object();
    for (size_t c = 0; c < g->n_columns; c++) {
      const cell *x = &g->cells[r * g->n_columns + c];
      if (x->count == 0) continue;
      json_object_set_new(columns, g->table->columns[c].key,
                          json_pack("{s:o, s:o, s:I, s:o, s:b}", "mean", number_or_null(x->mean), "standard_error",
                                    number_or_null(x->error), "seeds", (json_int_t)x->count, "paper",
                                    number_or_null(x->paper), "best", x->best));
    }
    json_array_append_new(rows, json_pack("{s:s, s:o}", "row", g->rows[r], "columns", columns));
  }
  json_t *root = json_pack("{s:s, s:s, s:s, s:o}", "title", g->table->title, "data", g->used, "note", g->table->note,
                           "rows", rows);
  json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
  fputc('\n', out);
  json_decref(root);
}

static const struct {
  const char *suffix;
  void (*put)(FILE *out, const grid *g);
} forms[] = {{"txt", put_text}, {"md", put_markdown}, {"csv", put_csv}, {"json", put_json}};

static comp_status write_form(const comp__lab *lab, const grid *g, size_t form, FILE *also) {
  char path[4096];
  char *text = NULL;
  size_t size = 0;
  FILE *stream = comp__text_stream(&text, &size);
  if (!stream) return comp__error_errno("cannot write a table");
  forms[form].put(stream, g);
  bool whole = !comp__json_lost();
  if (fclose(stream) != 0 || !whole) {
    free(text);
    return comp__error(COMP_ERR_MEMORY, "out of memory: a table");
  }
  snprintf(path, sizeof path, "%s/%s.%s", lab->options->out, g->table->name, forms[form].suffix);
  comp_status status = comp_file_write(path, text, size);
  if (form == 0) fwrite(text, 1, size, also);
  free(text);
  return status;
}

comp_status comp__tables_write(char **text, const comp__lab *lab, const comp__figures *results) {
  size_t size = 0;
  comp_status status = COMP_OK;
  FILE *all = comp__text_stream(text, &size);
  if (!all) return comp__error_errno("cannot write tables");
  for (const comp__table *table = lab->experiment->tables; table->name && status == COMP_OK; table++) {
    grid g;
    status = make_grid(&g, table, lab, results);
    for (size_t form = 0; form < sizeof forms / sizeof *forms && status == COMP_OK && g.n_rows; form++)
      status = write_form(lab, &g, form, all);
    release_grid(&g);
  }
  if (fclose(all) != 0 && status == COMP_OK) status = comp__error(COMP_ERR_MEMORY, "out of memory: the tables");
  if (status != COMP_OK) {
    free(*text);
    *text = NULL;
  }
  return status;
}
