/* figures.c: the figures of a run, and their file. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/file.h"
#include "comp/version.h"
#include "core/alloc.h"
#include "core/error.h"
#include "experiment/lab.h"

comp_status comp__figures_add(comp__figures *figures, const char *row, const char *column, double value) {
  comp_status status =
      comp__grow(&figures->items, &figures->capacity, figures->count, figures->count + 1, sizeof *figures->items);
  if (status != COMP_OK) return status;
  comp__figure *figure = &figures->items[figures->count++];
  snprintf(figure->row, sizeof figure->row, "%s", row);
  snprintf(figure->column, sizeof figure->column, "%s", column);
  figure->value = value;
  return COMP_OK;
}

static comp_status read_row(comp__figures *out, const char *row, json_t *columns) {
  const char *column;
  json_t *value;
  json_object_foreach(columns, column, value) {
    comp_status status = comp__figures_add(out, row, column, json_is_number(value) ? json_number_value(value) : NAN);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp__figures_load(comp__figures *out, bool *found, const char *path) {
  comp_status status = COMP_OK;
  size_t before = out->count;
  json_t *root = json_load_file(path, 0, NULL);
  json_t *rows = json_object_get(root, "figures");
  const char *row;
  json_t *columns;
  *found = json_is_object(rows);
  if (*found) json_object_foreach(rows, row, columns) COMP__TRY(read_row(out, row, columns));
  *found = out->count > before;
done:
  json_decref(root);
  return status;
}

comp_status comp__figures_save(const comp__figures *figures, const comp__trial *trial, double seconds,
                               const char *path) {
  json_t *rows = json_object(), *root = NULL;
  for (size_t i = 0; i < figures->count; i++) {
    const comp__figure *f = &figures->items[i];
    json_t *row = json_object_get(rows, f->row);
    if (!row) {
      json_object_set_new(rows, f->row, json_object());
      row = json_object_get(rows, f->row);
    }
    json_object_set_new(row, f->column, isfinite(f->value) ? json_real(f->value) : json_null());
  }
  root = json_pack("{s:s, s:s, s:s, s:I, s:f, s:o}", "version", COMP_VERSION, "table", trial->table, "model",
                   trial->model, "seed", (json_int_t)trial->seed, "seconds", seconds, "figures", rows);
  char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
  json_decref(root);
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status = comp_file_write(path, text, strlen(text));
  free(text);
  return status;
}
