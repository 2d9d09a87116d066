/* carry.c: uns, obsp, varm, varp, raw and the like from one tree to another. */
#include "io/carry.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"
#include "io/anndata.h"
#include "io/format.h"

/* Groups in groups, and groups and arrays of a file, both far more than any sound one has: links to one group in many
 * can make endlessly many. Characters of a list of names in a message. */
enum { DEEPEST = 32, LIST = 512, MOST_NODES = 200000 };

typedef struct carrying {
  comp__tree_sink *to;
  comp__tree *from;
  const comp_dataset *dataset;
  bool same_obs; /* the samples are those of the old file, in order */
  bool same_var;
  size_t nodes;       /* that have been counted */
  bool unchanged;     /* all is as in the old file, but names that repeat may have become others */
  char unfit[LIST];   /* what does not fit any more */
  char unknown[LIST]; /* what cannot be read or written */
} carrying;

static void list(char *names, const char *path) {
  size_t used = strlen(names);
  snprintf(names + used, LIST - used, "%s%s", used ? ", " : "", path);
}

static bool same_names(const comp__strings *a, const comp__strings *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(comp__strings_get(a, i), comp__strings_get(b, i)) != 0) return false;
  return true;
}

static comp_status compare_names(bool *same, comp_context *context, const comp__tree *tree, const char *table,
                                 const comp__strings *names) {
  comp__strings old = {0};
  comp_status status = comp__anndata_read_names(&old, context, tree, table);
  if (status == COMP_OK) *same = same_names(&old, names);
  comp__strings_release(&old);
  return status;
}

/* ---- whether it can be copied ---- */

/* Categories that repeat are refused by pandas, and so is the whole file by AnnData. */
static comp_status check_categories(const carrying *c, const char *path) {
  comp__strings names = {0};
  comp__string_index index = {0};
  comp__tree_path categories;
  size_t duplicate;
  comp_status status;
  COMP__TRY(comp__tree_join(&categories, path, "categories"));
  COMP__TRY(comp__anndata_read_texts(&names, c->to->context, c->from, categories.text, true));
  COMP__TRY(comp__string_index_init(&index, &names, &duplicate));
  if (duplicate != SIZE_MAX)
    COMP__FAIL(COMP_ERR_FORMAT,
               "%s holds '%s' twice, so that AnnData cannot read it; change one of the two (with h5py or zarr in "
               "Python), or delete %s",
               categories.text, comp__strings_get(&names, duplicate), path);
done:
  comp__string_index_release(&index);
  comp__strings_release(&names);
  return status;
}

/* Whether a group is one of those that it is in: what follows it never ends. */
static bool is_circle(const comp__tree *tree, const char *path) {
  comp__tree_path above;
  if (!tree->ops->same) return false;
  for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
    snprintf(above.text, sizeof above.text, "%.*s", (int)(slash - path), path); /* "" is the root */
    if (tree->ops->same(tree, above.text, path)) return true;
  }
  return false;
}

/* Before anything at a path is copied: that there is an end to it, and with `categories` that none repeats. */
static comp_status check_below(carrying *c, const char *path, int depth, bool categories) {
  comp__strings members = {0};
  comp__tree_path below;
  comp_status status = COMP_OK;
  bool group = c->from->ops->find(c->from, path) == COMP__NODE_GROUP;
  if (group && is_circle(c->from, path))
    COMP__FAIL(COMP_ERR_FORMAT,
               "%.100s is a link that leads round in a circle, so that AnnData cannot read the file: delete it", path);
  if (++c->nodes > MOST_NODES || (group && depth == DEEPEST))
    COMP__FAIL(COMP_ERR_FORMAT,
               "%.100s: the file has more than %d groups and arrays, or more than %d groups in each other: are there "
               "links that lead to what is copied already?",
               path, MOST_NODES, DEEPEST);
  if (!group) goto done;
  if (categories && comp__tree_text_is(c->from, path, "encoding-type", "categorical"))
    COMP__TRY(check_categories(c, path));
  COMP__TRY(c->from->ops->members(&members, c->from, path));
  for (size_t i = 0; i < members.count; i++) {
    COMP__TRY(comp__tree_join(&below, path, comp__strings_get(&members, i)));
    COMP__TRY(check_below(c, below.text, depth + 1, categories));
  }
done:
  comp__strings_release(&members);
  return status;
}

/* ---- one node ---- */

static bool array_can_go(const carrying *c, const char *path) {
  int rank;
  /* A column of AnnData 0.7, whose categories are elsewhere. */
  if (c->from->ops->has(c->from, path, "categories")) return false;
  switch (c->from->ops->content(&rank, c->from, path)) {
  case COMP__CONTENT_OTHER:
    return false;
  case COMP__CONTENT_TEXT:
    return rank >= 0 && rank <= 1;
  case COMP__CONTENT_RECORDS:
    return rank == 1;
  default:
    return rank >= 0 && rank <= COMP__TREE_MOST_DIMS;
  }
}

static bool is_mapping(const carrying *c, const char *path) {
  return comp__tree_text_is(c->from, path, "encoding-type", "dict") ||
         comp__tree_text_is(c->from, path, "encoding-type", "raw") ||
         (!c->from->ops->has(c->from, path, "encoding-type") && !c->from->ops->has(c->from, path, "h5sparse_format"));
}

/* Whether all that is below a path can be carried: a table without one of its columns would be no table. */
static comp_status can_go(bool *out, const carrying *c, const char *path) {
  comp__strings members = {0};
  comp__tree_path below;
  comp_status status = COMP_OK;
  comp__node node = c->from->ops->find(c->from, path);
  *out = node == COMP__NODE_ARRAY && array_can_go(c, path);
  if (node != COMP__NODE_GROUP) return COMP_OK;
  *out = !comp__tree_text_is(c->from, path, "encoding-type", "awkward-array");
  if (!*out) return COMP_OK;
  COMP__TRY(c->from->ops->members(&members, c->from, path));
  for (size_t i = 0; *out && i < members.count; i++) {
    COMP__TRY(comp__tree_join(&below, path, comp__strings_get(&members, i)));
    COMP__TRY(can_go(out, c, below.text));
  }
done:
  comp__strings_release(&members);
  return status;
}

/* Files from before AnnData 0.8 do not say what things are. */
static int encode(json_t *attributes, const char *type, const char *version) {
  if (json_object_get(attributes, "encoding-type")) return 0;
  return json_object_set_new(attributes, "encoding-type", json_string(type)) |
         json_object_set_new(attributes, "encoding-version", json_string(version));
}

/* In old files, a sparse matrix had its form and shape in attributes of other names. */
static int encode_group(json_t *attributes) {
  const char *old = json_string_value(json_object_get(attributes, "h5sparse_format"));
  json_t *shape = json_object_get(attributes, "h5sparse_shape");
  int failed = encode(attributes, !old ? "dict" : strcmp(old, "csc") == 0 ? "csc_matrix" : "csr_matrix", "0.1.0");
  if (shape && !json_object_get(attributes, "shape")) failed |= json_object_set(attributes, "shape", shape);
  return failed;
}

static comp_status copy_array(const carrying *c, const char *path) {
  comp__tree_value value = {0};
  json_t *attributes = NULL;
  comp_status status;
  COMP__TRY(c->from->ops->load(&value, c->to->context, c->from, path));
  COMP__TRY(c->from->ops->attributes(&attributes, c->from, path));
  const char *scalar = value.null ? "null" : value.is_text ? "string" : "numeric-scalar";
  const char *type = value.null || value.rank == 0 ? scalar
                     : value.fields                ? "rec-array"
                     : value.is_text               ? "string-array"
                                                   : "array";
  /* The parts of sparse matrices have none. */
  const char *name = strrchr(path, '/');
  bool part = name && (strcmp(name, "/data") == 0 || strcmp(name, "/indices") == 0 || strcmp(name, "/indptr") == 0);
  if (!part && encode(attributes, type, value.null ? "0.1.0" : "0.2.0") != 0)
    COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(c->to->ops->value(c->to, path, &value, attributes));
done:
  json_decref(attributes);
  comp__tree_value_release(&value);
  return status;
}

/* A table whose parts cannot go one by one (categories of AnnData 0.7): by way of the table that comp makes of it. */
static comp_status copy_table(const carrying *c, const char *path) {
  comp__strings names = {0};
  comp_table *table = NULL;
  comp_status status;
  COMP__TRY(comp__anndata_read_names(&names, c->to->context, c->from, path));
  COMP__TRY(comp_table_new(&table, names.count));
  COMP__TRY(comp__anndata_read_table(table, c->to->context, c->from, path));
  COMP__TRY(comp__anndata_write_table(c->to, path, &names, table));
done:
  comp_table_free(table);
  comp__strings_release(&names);
  return status;
}

static comp_status copy_node(carrying *c, const char *path);

static comp_status copy_group(carrying *c, const char *path) {
  comp__strings members = {0};
  comp__tree_path below;
  json_t *attributes = NULL;
  comp_status status;
  COMP__TRY(c->from->ops->attributes(&attributes, c->from, path));
  if (encode_group(attributes) != 0) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(c->to->ops->group(c->to, path, attributes));
  COMP__TRY(comp__anndata_check_lost(c->from, path));
  COMP__TRY(c->from->ops->members(&members, c->from, path));
  for (size_t i = 0; i < members.count; i++) {
    COMP__TRY(comp__tree_join(&below, path, comp__strings_get(&members, i)));
    COMP__TRY(copy_node(c, below.text));
  }
done:
  json_decref(attributes);
  comp__strings_release(&members);
  return status;
}

/* Of a mapping, what can be carried; of all else, the whole or nothing. */
static comp_status copy_node(carrying *c, const char *path) {
  bool good = true, group = c->from->ops->find(c->from, path) == COMP__NODE_GROUP;
  comp_status status = COMP_OK;
  if (!group || !is_mapping(c, path)) status = can_go(&good, c, path);
  if (status != COMP_OK) return status;
  if (!good && group && comp__tree_text_is(c->from, path, "encoding-type", "dataframe")) return copy_table(c, path);
  if (!good && c->from->ops->find(c->from, path) == COMP__NODE_ARRAY) { /* of a kind that is not known, or damaged */
    size_t shape[COMP__TREE_MOST_DIMS];
    int rank;
    status = c->from->ops->shape(shape, &rank, c->from, path);
    if (status != COMP_OK) return status;
  }
  if (!good) {
    list(c->unknown, path);
    return COMP_OK;
  }
  return group ? copy_group(c, path) : copy_array(c, path);
}

/* All that is at a path, checked before. */
static comp_status copy_part(carrying *c, const char *path) {
  const bool quiet = c->from->quiet;
  c->from->quiet = true; /* what is missing is said when it is copied */
  comp_status status = check_below(c, path, 0, true);
  c->from->quiet = quiet;
  if (status != COMP_OK) return status;
  return c->to->copier ? c->to->copier->copy(c->to, c->from, path) : copy_node(c, path);
}

/* ---- what there is ---- */

static comp_status need_group(carrying *c, const char *path) {
  if (c->to->ops->has(c->to, path)) return COMP_OK;
  json_t *attributes = json_pack("{s:s, s:s}", "encoding-type", "dict", "encoding-version", "0.1.0");
  comp_status status = c->to->ops->group(c->to, path, attributes);
  json_decref(attributes);
  return status;
}

/* Whether a layer that has no place here is in the data set under another name: see comp__set_layer_aside(). */
static bool was_set_aside(const carrying *c, const char *path, const char *name) {
  char aside[512];
  snprintf(aside, sizeof aside, "%s_input", name);
  return strcmp(path, "layers") == 0 && comp_dataset_matrix(c->dataset, COMP_SLOT_LAYERS, aside);
}

/* What the data set has itself: its record, and from before AnnData 0.7 the categories of its columns. */
static bool is_own(const carrying *c, const char *path, const char *name) {
  return strcmp(path, "uns") == 0 &&
         ((c->dataset->record && !c->to->copier && strcmp(name, "comp") == 0) ||
          (comp__anndata_is_legacy(c->from, "obs") && comp__anndata_is_old_categories(c->dataset, name)));
}

/* The members of a group that are not in the new file. `fits`: they can be kept at all. `fit`: what they must be; NULL:
 * they are neither matrices nor tables of the file's samples or features. */
static comp_status carry_members(carrying *c, const char *path, bool fits, const comp__anndata_fit *fit) {
  comp__strings members = {0};
  comp__tree_path member;
  comp_status status;
  COMP__TRY(need_group(c, path));
  COMP__TRY(comp__anndata_check_lost(c->from, path));
  COMP__TRY(c->from->ops->members(&members, c->from, path));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    COMP__TRY(comp__tree_join(&member, path, name));
    if (is_own(c, path, name) || c->to->ops->has(c->to, member.text)) continue;
    if (c->from->ops->find(c->from, member.text) == COMP__NODE_NONE) {
      comp__warn(c->to->context, "%s is a link to something that is not in the file: it is left out", member.text);
      continue;
    }
    c->from->quiet = comp__anndata_is_held(c->dataset, path, name); /* it has been read before */
    if (fits && fit) COMP__TRY(comp__anndata_check_member(c->to->context, c->from, member.text, fit));
    if (fits)
      COMP__TRY(copy_part(c, member.text));
    else if (!c->from->quiet && !was_set_aside(c, path, name))
      list(c->unfit, member.text);
  }
done:
  c->from->quiet = false;
  comp__strings_release(&members);
  return status;
}

/* ---- X ---- */

static comp_status put_list(carrying *c, const char *name, comp__tree_value *value) {
  json_t *none = json_object();
  comp__tree_path path;
  value->rank = 1;
  value->shape[0] = value->count;
  comp_status status = comp__tree_join(&path, "X", name);
  if (status == COMP_OK) status = c->to->ops->value(c->to, path.text, value, none);
  json_decref(none);
  return status;
}

/* The place of each value of a matrix by columns in one by rows: *first gets where each row begins. */
static comp_status find_places(int64_t **first, const int32_t *row_of, size_t rows, size_t n) {
  comp_status status = comp__calloc(first, rows + 1, sizeof **first);
  for (size_t k = 0; status == COMP_OK && k < n; k++) {
    if (row_of[k] < 0 || (size_t)row_of[k] >= rows)
      return comp__error(COMP_ERR_FORMAT, "X/indices holds %d, outside of 0 .. %zu: the file is damaged", row_of[k],
                         rows - 1);
    (*first)[row_of[k] + 1]++;
  }
  for (size_t i = 0; status == COMP_OK && i < rows; i++) (*first)[i + 1] += (*first)[i];
  return status;
}

/* By columns to by rows, as X that comp writes always is, with the type of its values. */
static comp_status copy_by_rows(carrying *c, const comp__tree_matrix *m) {
  comp_context *context = c->to->context;
  comp__tree_value from = {0}, data = {0}, indices = {.type = COMP__STORED_I32}, pointers = {.type = COMP__STORED_I64};
  int32_t *row_of = NULL;
  int64_t *next = NULL;
  size_t n = m->values.rows;
  json_t *attributes = json_pack("{s:s, s:s, s:[I, I]}", "encoding-type", "csr_matrix", "encoding-version", "0.1.0",
                                 "shape", (json_int_t)m->rows, (json_int_t)m->cols);
  comp_status status;
  COMP__TRY(c->from->ops->load(&from, context, c->from, "X/data"));
  COMP__TRY(comp__alloc(&row_of, n, sizeof *row_of));
  COMP__TRY(c->from->ops->read(context, &m->indices, COMP__AS_I32, 0, n, row_of));
  COMP__TRY(find_places(&next, row_of, m->rows, n));
  pointers.count = m->rows + 1;
  data.type = from.type;
  data.count = indices.count = n;
  size_t size = comp__stored_size(from.type);
  COMP__TRY(comp__tree_value_reserve(&pointers, context, sizeof *next));
  COMP__TRY(comp__tree_value_reserve(&data, context, size));
  COMP__TRY(comp__tree_value_reserve(&indices, context, sizeof *row_of));
  memcpy(pointers.numbers, next, pointers.count * sizeof *next);
  for (size_t column = 0; column < m->cols; column++)
    for (int64_t k = m->indptr[column]; k < m->indptr[column + 1]; k++) {
      size_t at = (size_t)next[row_of[k]]++;
      ((int32_t *)indices.numbers)[at] = (int32_t)column;
      memcpy((char *)data.numbers + at * size, (const char *)from.numbers + (size_t)k * size, size);
    }
  COMP__TRY(c->to->ops->group(c->to, "X", attributes));
  COMP__TRY(put_list(c, "data", &data));
  COMP__TRY(put_list(c, "indices", &indices));
  if (n <= INT32_MAX) { /* pointers as narrow as the indices, as SciPy likes them */
    for (size_t i = 0; i < pointers.count; i++) {
      int32_t narrow = (int32_t)((const int64_t *)pointers.numbers)[i];
      memcpy((char *)pointers.numbers + i * sizeof narrow, &narrow, sizeof narrow);
    }
    pointers.type = COMP__STORED_I32;
  }
  COMP__TRY(put_list(c, "indptr", &pointers));
done:
  json_decref(attributes);
  comp__free(row_of);
  comp__free(next);
  comp__tree_value_release(&from);
  comp__tree_value_release(&data);
  comp__tree_value_release(&indices);
  comp__tree_value_release(&pointers);
  return status;
}

static comp_status carry_x(carrying *c) {
  comp__tree_matrix m = {0};
  comp_status status;
  c->from->quiet = true; /* X has been read before */
  COMP__TRY(comp__tree_matrix_open(&m, c->to->context, c->from, "X"));
  status = m.by_column ? copy_by_rows(c, &m) : copy_node(c, "X");
done:
  c->from->quiet = false;
  comp__tree_matrix_close(&m);
  return status;
}

/* ---- obs and var ---- */

/* Whether a column of the data set takes the place of the one in the file. */
static bool is_new(const comp_table *table, const char *name) {
  size_t column = comp_table_find(table, name);
  return column != COMP_NOT_FOUND && !comp__table_column_from_file(table, column);
}

/* Adds the new columns to the list of a table's columns. */
static comp_status list_columns(json_t *order, const comp_table *table) {
  for (size_t i = 0; i < comp_table_column_count(table); i++) {
    const char *name = comp_table_column_name(table, i);
    bool found = comp__table_column_from_file(table, i);
    for (size_t k = 0; !found && k < json_array_size(order); k++) {
      const char *text = json_string_value(json_array_get(order, k));
      found = text && strcmp(text, name) == 0;
    }
    if (!found && json_array_append_new(order, json_string(name)) != 0)
      return comp__error(COMP_ERR_MEMORY, "out of memory");
  }
  return COMP_OK;
}

/* A table that is still as it was is copied, with types that comp does not hold itself; new columns are added. The
 * writer writes the others. */
static comp_status carry_table(carrying *c, const char *path, const comp_table *table, bool same) {
  comp__strings members = {0};
  json_t *attributes = NULL;
  bool good = same && comp__table_from_file(table) && c->from->ops->find(c->from, path) == COMP__NODE_GROUP;
  comp__tree_path below;
  comp_status status = COMP_OK;
  if (good) COMP__TRY(comp__anndata_check_lost(c->from, path));
  c->from->quiet = true; /* it has been read before */
  if (good) COMP__TRY(comp__anndata_check_table(c->to->context, c->from, path, comp_table_row_count(table)));
  if (good) COMP__TRY(check_below(c, path, 0, false)); /* categories that repeat have been merged */
  if (good && c->to->copier) {                         /* the writer adds new columns */
    status = c->to->copier->copy(c->to, c->from, path);
    goto done;
  }
  if (good) COMP__TRY(can_go(&good, c, path));
  if (good) COMP__TRY(c->from->ops->attributes(&attributes, c->from, path));
  json_t *order = json_object_get(attributes, "column-order");
  if (!good || !json_is_array(order)) goto done;
  COMP__TRY(list_columns(order, table));
  COMP__TRY(c->to->ops->group(c->to, path, attributes));
  COMP__TRY(c->from->ops->members(&members, c->from, path));
  for (size_t i = 0; i < members.count; i++) {
    if (is_new(table, comp__strings_get(&members, i))) continue;
    COMP__TRY(comp__tree_join(&below, path, comp__strings_get(&members, i)));
    COMP__TRY(copy_node(c, below.text));
  }
  COMP__TRY(comp__anndata_write_columns(c->to, path, table, false));
done:
  c->from->quiet = false;
  json_decref(attributes);
  comp__strings_release(&members);
  return status;
}

static comp_status carry_root_member(carrying *c, const char *name) {
  static const struct {
    const char *name;
    bool obs, var; /* what must be the same */
    bool mapping;
    int rows, cols; /* of its matrices: 1 samples, 2 features, 0 any */
  } parts[] = {{"layers", true, true, true, 1, 2}, {"obsm", true, false, true, 1, 0}, {"obsp", true, false, true, 1, 1},
               {"varm", false, true, true, 2, 0},  {"varp", false, true, true, 2, 2}, {"uns", false, false, true, 0, 0},
               {"raw", true, false, false, 1, 0}};
  const size_t sizes[] = {SIZE_MAX, c->dataset->samples, c->dataset->features};
  const comp__strings *const names[] = {NULL, &c->dataset->obs_names, &c->dataset->var_names};
  comp__anndata_fit fit = {0};
  bool fits = true, mapping = false;
  const bool old_raw = strncmp(name, "raw.", 4) == 0; /* before AnnData 0.7 */
  if (old_raw && !c->to->copier) {
    list(c->unknown, name);
    return COMP_OK;
  }
  if (strcmp(name, "X") == 0) return comp__anndata_copies_x(c->dataset, c->unchanged) ? carry_x(c) : COMP_OK;
  if (strcmp(name, "obs") == 0) return carry_table(c, name, c->dataset->obs, c->same_obs);
  if (strcmp(name, "var") == 0) return carry_table(c, name, c->dataset->var, c->same_var);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(old_raw ? "raw" : name, parts[i].name) != 0) continue;
    fits = c->unchanged || ((!parts[i].obs || c->same_obs) && (!parts[i].var || c->same_var));
    mapping = parts[i].mapping;
    fit = (comp__anndata_fit){sizes[parts[i].rows], sizes[parts[i].cols], names[parts[i].rows]};
  }
  if (mapping && c->from->ops->find(c->from, name) == COMP__NODE_GROUP)
    return carry_members(c, name, fits, fit.names ? &fit : NULL);
  if (mapping) return COMP_OK; /* one compound dataset, before AnnData 0.7: obsm has been read, varm is given up */
  if (c->to->ops->has(c->to, name)) return COMP_OK;
  if (fits && strcmp(name, "raw") == 0 && c->from->ops->find(c->from, name) == COMP__NODE_GROUP) {
    comp_status status = comp__anndata_check_raw(c->to->context, c->from, fit.rows);
    if (status != COMP_OK) return status;
  }
  if (fits) return copy_part(c, name);
  list(c->unfit, name);
  return COMP_OK;
}

bool comp__anndata_copies_x(const comp_dataset *dataset, bool unchanged) {
  return unchanged && dataset->x && dataset->x->narrowed;
}

comp_status comp__anndata_carry(comp__tree_sink *sink, const char *path, const comp_dataset *dataset, bool unchanged) {
  carrying c = {.to = sink, .dataset = dataset, .unchanged = unchanged};
  const comp__format *format;
  comp__strings members = {0};
  comp__tree *tree = NULL;
  comp_status status;
  COMP__TRY(comp__format_of_input(&format, path));
  COMP__TRY(format->open_tree(&tree, path));
  c.from = tree;
  if (sink->copier) COMP__TRY(sink->copier->begin(sink, tree));
  tree->quiet = true; /* names have been read before */
  COMP__TRY(compare_names(&c.same_obs, sink->context, tree, "obs", &dataset->obs_names));
  COMP__TRY(compare_names(&c.same_var, sink->context, tree, "var", &dataset->var_names));
  tree->quiet = false;
  (void)tree->ops->find(tree, "");
  COMP__TRY(comp__anndata_check_lost(tree, ""));
  COMP__TRY(tree->ops->members(&members, tree, ""));
  for (size_t i = 0; i < members.count; i++) COMP__TRY(carry_root_member(&c, comp__strings_get(&members, i)));
  if (sink->copier) COMP__TRY(sink->copier->end(sink, tree, c.same_obs));
  COMP__TRY(tree->ops->certain(tree));
  if (c.unfit[0])
    comp__info(sink->context, "%s: left behind, since samples or features have changed: %s", path, c.unfit);
  if (c.unknown[0])
    comp__info(sink->context, "%s: left behind, since it cannot be written as %s: %s", path, sink->format, c.unknown);
done:
  if (status != COMP_OK) comp__error_context(status, "%s", path);
  comp__strings_release(&members);
  comp__tree_free(tree);
  return status;
}
