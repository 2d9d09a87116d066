/* tree.c: groups, arrays and attributes of a store by path. */
#include "io/zarr/tree.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/json.h"

/* Most bytes of a file of metadata: consolidated metadata of a large store has some. */
enum { MOST_METADATA = 64 << 20 };

typedef struct zarr_tree {
  comp__tree tree;
  comp__zarr_store *store;
  int version;
  json_t *nodes;        /* path -> {"metadata": ..., "attributes": ...}; null: there is none */
  json_t *consolidated; /* path of a value (version 2) or node (version 3) -> metadata */
  bool has_consolidated;
  comp_status doubt; /* of the first question that could not be answered */
  char why[256];
} zarr_tree;

static zarr_tree *of(const comp__tree *tree) {
  return (zarr_tree *)tree; /* what it found out so far may change */
}

const comp__zarr_store *comp__zarr_tree_store(const comp__tree *tree) {
  return of(tree)->store;
}

int comp__zarr_tree_version(const comp__tree *tree) {
  return of(tree)->version;
}

/* ---- metadata ---- */

/* Reads a value as JSON; *out = NULL when there is none. */
static comp_status read_json(json_t **out, const comp__zarr_store *store, const char *folder, const char *name) {
  comp__zarr_buffer text = {0};
  comp__tree_path key;
  json_error_t error;
  bool found;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__tree_join(&key, folder, name));
  COMP__TRY(comp__zarr_store_get(&found, &text, store, key.text, MOST_METADATA));
  if (!found) goto done;
  *out = json_loadb((const char *)text.data, text.size, 0, &error);
  if (!*out && comp__json_lost()) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  if (!*out) COMP__FAIL(COMP_ERR_FORMAT, "%s is not JSON (line %d: %s)", key.text, error.line, error.text);
  if (json_is_object(*out)) goto done;
  json_decref(*out);
  *out = NULL;
  status = comp__error(COMP_ERR_FORMAT, "%s is not a JSON object", key.text);
done:
  comp__zarr_buffer_release(&text);
  return status;
}

/* Makes a node of what was read, which it takes over. */
static comp_status make_node(json_t **out, json_t *metadata, json_t *attributes, bool array) {
  *out = json_pack("{s:o, s:o*, s:b}", "metadata", metadata, "attributes", attributes, "array", (int)array);
  return *out ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

static comp_status load_v2(json_t **out, const comp__zarr_store *store, const char *path) {
  json_t *metadata, *attributes = NULL;
  *out = NULL;
  comp_status status = read_json(&metadata, store, path, ".zarray");
  bool array = metadata != NULL;
  if (status == COMP_OK && !metadata) status = read_json(&metadata, store, path, ".zgroup");
  if (status != COMP_OK || !metadata) return status;
  status = read_json(&attributes, store, path, ".zattrs");
  if (status == COMP_OK) return make_node(out, metadata, attributes, array);
  json_decref(metadata);
  return status;
}

/* Whether metadata of version 3 is that of an array. */
static comp_status find_type(bool *array, const json_t *metadata, const char *path) {
  const char *type = json_string_value(json_object_get(metadata, "node_type"));
  *array = type && strcmp(type, "array") == 0;
  if (*array || (type && strcmp(type, "group") == 0)) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "%s: its node_type is neither 'array' nor 'group': the store is damaged",
                     path[0] ? path : "the root");
}

static comp_status load_v3(json_t **out, const comp__zarr_store *store, const char *path) {
  json_t *metadata;
  *out = NULL;
  comp_status status = read_json(&metadata, store, path, "zarr.json");
  if (status != COMP_OK || !metadata) return status;
  bool array;
  status = find_type(&array, metadata, path);
  if (status == COMP_OK) return make_node(out, metadata, json_incref(json_object_get(metadata, "attributes")), array);
  json_decref(metadata);
  return status;
}

json_t *comp__zarr_consolidated_list(const json_t *whole, int version) {
  const json_t *at = version == 2 ? whole : json_object_get(whole, "consolidated_metadata");
  json_t *list = json_object_get(at, "metadata");
  return json_is_object(list) ? list : NULL;
}

comp_status comp__zarr_tree_consolidated(json_t **out, const comp__tree *tree, const char *group) {
  const zarr_tree *t = of(tree);
  comp_status status = read_json(out, t->store, group, t->version == 2 ? ".zmetadata" : "zarr.json");
  if (status != COMP_OK || comp__zarr_consolidated_list(*out, t->version)) return status;
  json_decref(*out);
  *out = NULL;
  return COMP_OK;
}

/* What consolidated metadata says of a node that has a folder. */
static comp_status load_consolidated(json_t **out, zarr_tree *t, const char *path) {
  comp__strings names = {0};
  json_t *root = NULL, *metadata;
  comp__tree_path key;
  bool array;
  comp_status status = COMP_OK;
  *out = NULL;
  if (!t->has_consolidated) {
    COMP__TRY(comp__zarr_tree_consolidated(&root, &t->tree, ""));
    t->consolidated = json_incref(comp__zarr_consolidated_list(root, t->version));
    t->has_consolidated = true;
  }
  if (!t->consolidated) goto done;
  if (t->version == 3) {
    metadata = json_object_get(t->consolidated, path);
  } else {
    COMP__TRY(comp__tree_join(&key, path, ".zarray"));
    metadata = json_object_get(t->consolidated, key.text);
    array = metadata != NULL;
    COMP__TRY(comp__tree_join(&key, path, ".zgroup"));
    if (!metadata) metadata = json_object_get(t->consolidated, key.text);
  }
  if (!json_is_object(metadata)) goto done;
  if (t->version == 3) COMP__TRY(find_type(&array, metadata, path));
  COMP__TRY(comp__zarr_store_list(&names, t->store, path));
  if (names.count == 0) goto done;
  COMP__TRY(comp__tree_join(&key, path, ".zattrs"));
  json_t *attributes =
      json_object_get(t->version == 3 ? metadata : t->consolidated, t->version == 3 ? "attributes" : key.text);
  COMP__TRY(make_node(out, json_incref(metadata), json_incref(attributes), array));
done:
  json_decref(root);
  comp__strings_release(&names);
  return status;
}

/* What is at a path: from what is known already, or from the store. */
static comp_status load(const json_t **out, const comp__tree *tree, const char *path) {
  zarr_tree *t = of(tree);
  json_t *node = json_object_get(t->nodes, path);
  comp_status status;
  *out = NULL;
  if (!node) {
    if (path[0] && !comp__zarr_key_is_good(path)) return COMP_OK;
    status = t->version == 2 ? load_v2(&node, t->store, path) : load_v3(&node, t->store, path);
    if (status == COMP_OK && !node) status = load_consolidated(&node, t, path);
    if (status != COMP_OK) return status;
    if (json_object_set_new(t->nodes, path, node ? node : json_null()) != 0)
      return comp__json_lost() ? comp__error(COMP_ERR_MEMORY, "out of memory") : COMP_OK; /* a name that is not UTF-8 */
  }
  *out = json_is_null(node) ? NULL : node;
  return COMP_OK;
}

/* The node without a status; a failure is noted. */
static const json_t *look(const comp__tree *tree, const char *path) {
  zarr_tree *t = of(tree);
  const json_t *node;
  comp_status status = load(&node, tree, path);
  if (status != COMP_OK && t->doubt == COMP_OK) {
    t->doubt = status;
    snprintf(t->why, sizeof t->why, "%s", comp_error_message());
  }
  return status == COMP_OK ? node : NULL;
}

const json_t *comp__zarr_tree_metadata(const comp__tree *tree, const char *path) {
  return json_object_get(look(tree, path), "metadata");
}

const json_t *comp__zarr_tree_attributes(const comp__tree *tree, const char *path) {
  return json_object_get(look(tree, path), "attributes");
}

/* ---- the functions of a tree ---- */

static comp__node find(const comp__tree *tree, const char *path) {
  const json_t *node = look(tree, path);
  if (!node) return COMP__NODE_NONE;
  return json_is_true(json_object_get(node, "array")) ? COMP__NODE_ARRAY : COMP__NODE_GROUP;
}

static comp_status members(comp__strings *out, const comp__tree *tree, const char *path) {
  comp__strings names = {0};
  comp__tree_path below;
  comp_status status;
  COMP__TRY(comp__zarr_store_list(&names, of(tree)->store, path));
  for (size_t i = 0; i < names.count; i++) {
    const char *name = comp__strings_get(&names, i);
    if (comp__zarr_key_is_metadata(name) || !comp__utf8_valid(name, strlen(name), NULL)) continue;
    COMP__TRY(comp__tree_join(&below, path, name));
    if (find(tree, below.text) != COMP__NODE_NONE) COMP__TRY(comp__strings_append(out, name, strlen(name)));
  }
done:
  comp__strings_release(&names);
  return status;
}

/* A folder with something in it, but without .zarray, .zgroup or zarr.json. */
static comp_status lost(comp__strings *out, const comp__tree *tree, const char *path) {
  comp__strings names = {0}, below = {0};
  comp__tree_path folder;
  comp_status status;
  COMP__TRY(comp__zarr_store_list(&names, of(tree)->store, path));
  for (size_t i = 0; i < names.count; i++) {
    const char *name = comp__strings_get(&names, i);
    if (name[0] == '.' || comp__zarr_key_is_metadata(name) || !comp__utf8_valid(name, strlen(name), NULL)) continue;
    COMP__TRY(comp__tree_join(&folder, path, name));
    const json_t *node; /* metadata that cannot be read is not lost: `find` notes what is wrong */
    if (find(tree, folder.text) != COMP__NODE_NONE || load(&node, tree, folder.text) != COMP_OK) continue;
    comp__strings_release(&below);
    COMP__TRY(comp__zarr_store_list(&below, of(tree)->store, folder.text));
    if (below.count > 0) COMP__TRY(comp__strings_append(out, name, strlen(name)));
  }
done:
  comp__strings_release(&below);
  comp__strings_release(&names);
  return status;
}

static comp_status bad_attribute(const char *path, const char *name, const char *what) {
  return comp__error(COMP_ERR_FORMAT, "attribute '%s' of %s %s", name, path[0] ? path : "the root", what);
}

static comp_status get_attribute(const json_t **out, const comp__tree *tree, const char *path, const char *name) {
  const json_t *node;
  *out = NULL;
  comp_status status = load(&node, tree, path);
  if (status == COMP_OK) *out = json_object_get(json_object_get(node, "attributes"), name);
  return status;
}

static comp_status get_text(char **out, const comp__tree *tree, const char *path, const char *name) {
  const json_t *value;
  *out = NULL;
  comp_status status = get_attribute(&value, tree, path, name);
  if (status != COMP_OK || !value) return status;
  if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value))
    return bad_attribute(path, name, "is not one text");
  return comp__strdup(out, json_string_value(value));
}

static comp_status get_texts(comp__strings *out, bool *found, const comp__tree *tree, const char *path,
                             const char *name) {
  const json_t *list;
  comp_status status = get_attribute(&list, tree, path, name);
  *found = list != NULL;
  if (status != COMP_OK || !list) return status;
  size_t n = json_is_array(list) ? json_array_size(list) : 1;
  for (size_t i = 0; i < n && status == COMP_OK; i++) {
    const json_t *value = json_is_array(list) ? json_array_get(list, i) : list;
    const char *text = json_string_value(value);
    if (!text || strlen(text) != json_string_length(value)) return bad_attribute(path, name, "is not text");
    status = comp__strings_append(out, text, strlen(text));
  }
  return status;
}

static comp_status get_pair(size_t out[2], bool *found, const comp__tree *tree, const char *path, const char *name) {
  const json_t *list;
  comp_status status = get_attribute(&list, tree, path, name);
  *found = list != NULL;
  if (status != COMP_OK || !list) return status;
  for (size_t i = 0; i < 2; i++) {
    const json_t *value = json_array_get(list, i);
    if (json_array_size(list) != 2 || !json_is_integer(value) || json_integer_value(value) < 0)
      return bad_attribute(path, name, "is not two sizes");
    out[i] = (size_t)json_integer_value(value);
  }
  return COMP_OK;
}

static bool has(const comp__tree *tree, const char *path, const char *name) {
  return json_object_get(comp__zarr_tree_attributes(tree, path), name) != NULL;
}

static comp_status get_truth(bool *out, const comp__tree *tree, const char *path, const char *name) {
  const json_t *value = json_object_get(comp__zarr_tree_attributes(tree, path), name);
  *out = json_is_true(value) || json_number_value(value) != 0;
  if (value && !json_is_boolean(value) && !json_is_number(value))
    return comp__error(COMP_ERR_FORMAT, "attribute '%s' of %s is neither true nor false", name, path);
  return COMP_OK;
}

static comp__content content(int *rank, const comp__tree *tree, const char *path) {
  comp__zarr_meta meta;
  /* What it holds is known before all else is: reading it says what is wrong. */
  comp__zarr_meta_read(&meta, comp__zarr_tree_metadata(tree, path));
  comp__content holds = COMP__CONTENT_OTHER;
  if (meta.type.kind == COMP__ZARR_BOOL)
    holds = COMP__CONTENT_BOOLS;
  else if (meta.type.kind == COMP__ZARR_NUMBER && meta.type.number.kind != COMP__NUMBER_OTHER)
    holds = meta.type.number.kind == COMP__NUMBER_FLOAT ? COMP__CONTENT_FLOATS : COMP__CONTENT_INTEGERS;
  else if (meta.type.kind == COMP__ZARR_TEXT || meta.type.kind == COMP__ZARR_UNICODE ||
           meta.type.kind == COMP__ZARR_BYTES)
    holds = COMP__CONTENT_TEXT;
  else if (meta.type.kind == COMP__ZARR_RECORDS)
    holds = COMP__CONTENT_RECORDS;
  *rank = meta.rank;
  comp__zarr_meta_release(&meta);
  return holds;
}

/* Opens any array; an error when there is none. */
static comp_status open_any(comp__zarr_array *out, const comp__tree *tree, const char *path) {
  const json_t *node;
  *out = (comp__zarr_array){0};
  comp_status status = load(&node, tree, path);
  if (status != COMP_OK) return status;
  comp__node kind = find(tree, path);
  if (kind != COMP__NODE_ARRAY)
    return comp__error(COMP_ERR_FORMAT, kind == COMP__NODE_NONE ? "there is no '%s' in it" : "%s is not an array",
                       path);
  status = comp__zarr_array_open(out, of(tree)->store, path, json_object_get(node, "metadata"));
  out->told = tree->quiet;
  return status;
}

static comp_status get_shape(size_t *out, int *rank, const comp__tree *tree, const char *path) {
  comp__zarr_array array;
  comp_status status = open_any(&array, tree, path);
  *rank = status == COMP_OK ? array.meta.rank : 0;
  for (int i = 0; i < *rank; i++) out[i] = array.meta.shape[i];
  comp__zarr_array_close(&array);
  return status;
}

/* The error of an array whose values are no numbers, or of a type that is not known here. */
static comp_status fail_type(const comp__tree *tree, const char *path, const comp__zarr_type *type) {
  const json_t *metadata = comp__zarr_tree_metadata(tree, path), *name = json_object_get(metadata, "dtype");
  if (!name) name = json_object_get(metadata, "data_type");
  if (json_is_object(name)) name = json_object_get(name, "name");
  if (type->kind != COMP__ZARR_OTHER || !json_is_string(name))
    return comp__error(COMP_ERR_FORMAT, "%s does not hold numbers", path);
  char shown[80];
  return comp__error(COMP_ERR_UNAVAILABLE, "%s has the type '%s', which is not known here", path,
                     comp__utf8_show(shown, sizeof shown, json_string_value(name)));
}

static comp_status open_array(comp__tree_array *out, const comp__tree *tree, const char *path) {
  comp__zarr_array *array = NULL;
  *out = (comp__tree_array){.tree = tree};
  snprintf(out->where, sizeof out->where, "%s", path);
  comp_status status = comp__calloc(&array, 1, sizeof *array);
  if (status != COMP_OK) return status;
  out->handle = array;
  status = open_any(array, tree, path);
  if (status != COMP_OK) return status;
  const comp__zarr_meta *meta = &array->meta;
  if (meta->rank == 0) return comp__error(COMP_ERR_FORMAT, "%s is a single value, not a list", path);
  if (meta->rank > 2) return comp__error(COMP_ERR_FORMAT, "%s has %d dimensions, more than 2", path, meta->rank);
  if (meta->type.kind != COMP__ZARR_NUMBER && meta->type.kind != COMP__ZARR_BOOL)
    return fail_type(tree, path, &meta->type);
  out->rank = meta->rank;
  out->rows = meta->shape[0];
  out->cols = meta->rank == 2 ? meta->shape[1] : 1;
  out->bytes = meta->type.number.size;
  out->integer = meta->type.number.kind != COMP__NUMBER_FLOAT;
  out->boolean = meta->type.kind == COMP__ZARR_BOOL;
  return COMP_OK;
}

static comp_status read_array(comp_context *context, const comp__tree_array *array, comp__as as, size_t first,
                              size_t rows, void *out) {
  return comp__zarr_array_read(context, array->handle, as, first, rows, out);
}

static void close_array(comp__tree_array *array) {
  if (array->handle) comp__zarr_array_close(array->handle);
  comp__free(array->handle);
  *array = (comp__tree_array){0};
}

static comp_status read_numbers_as_text(comp__strings *out, comp_context *context, const comp__zarr_array *array) {
  const bool boolean = array->meta.type.kind == COMP__ZARR_BOOL;
  const comp__as as = comp__as_text(array->meta.type.number, boolean);
  void *values = NULL;
  size_t n = array->meta.rank == 1 ? array->meta.shape[0] : 0;
  comp_status status;
  if (array->meta.rank != 1) COMP__FAIL(COMP_ERR_FORMAT, "%s has %d dimensions, not 1", array->path, array->meta.rank);
  COMP__TRY(comp__alloc(&values, n, comp__as_size(as)));
  COMP__TRY(comp__zarr_array_read(context, array, as, 0, n, values));
  COMP__TRY(comp__numbers_append_texts(out, values, as, n, boolean));
done:
  comp__free(values);
  return status;
}

static comp_status read_texts(comp__strings *out, comp_context *context, const comp__tree *tree, const char *path,
                              bool any) {
  comp__zarr_array array;
  comp_status status = open_any(&array, tree, path);
  bool numbers = array.meta.type.kind == COMP__ZARR_NUMBER || array.meta.type.kind == COMP__ZARR_BOOL;
  if (status == COMP_OK)
    status =
        any && numbers ? read_numbers_as_text(out, context, &array) : comp__zarr_array_read_texts(out, context, &array);
  comp__zarr_array_close(&array);
  return status;
}

static comp_status load_numbers(comp__tree_value *out, comp_context *context, const comp__zarr_array *array) {
  comp__as as;
  comp_status status;
  out->type = comp__stored_of(&as, array->meta.type.number, array->meta.type.kind == COMP__ZARR_BOOL);
  COMP__TRY(comp__tree_value_reserve(out, context, comp__as_size(as)));
  COMP__TRY(comp__zarr_array_read(context, array, as, 0, out->rank > 0 ? out->shape[0] : 1, out->numbers));
  comp__stored_narrow(out->numbers, out->type, as, out->count);
done:
  return status;
}

static comp_status load_value(comp__tree_value *out, comp_context *context, const comp__tree *tree, const char *path) {
  comp__zarr_array array;
  comp_status status;
  *out = (comp__tree_value){0};
  COMP__TRY(open_any(&array, tree, path));
  out->rank = array.meta.rank;
  out->count = comp__zarr_array_count(&array);
  for (int i = 0; i < out->rank; i++) out->shape[i] = array.meta.shape[i];
  out->null = comp__tree_text_is(tree, path, "encoding-type", "null");
  if (out->null) goto done;
  comp__zarr_kind kind = array.meta.type.kind;
  out->is_text = kind == COMP__ZARR_TEXT || kind == COMP__ZARR_UNICODE || kind == COMP__ZARR_BYTES;
  if (out->is_text)
    status = comp__zarr_array_read_texts(&out->texts, context, &array);
  else if (kind == COMP__ZARR_NUMBER || kind == COMP__ZARR_BOOL)
    status = load_numbers(out, context, &array);
  else if (kind == COMP__ZARR_RECORDS)
    status = comp__zarr_records_load(out, context, &array);
  else
    status = comp__error(COMP_ERR_FORMAT, "%s holds neither text nor numbers", path);
done:
  comp__zarr_array_close(&array);
  return status;
}

static comp_status get_attributes(json_t **out, const comp__tree *tree, const char *path) {
  const json_t *node;
  *out = NULL;
  comp_status status = load(&node, tree, path);
  if (status != COMP_OK) return status;
  const json_t *attributes = json_object_get(node, "attributes");
  *out = attributes ? json_deep_copy(attributes) : json_object();
  return *out ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

static comp_status certain(const comp__tree *tree) {
  const zarr_tree *t = of(tree);
  return t->doubt == COMP_OK ? COMP_OK : comp__error(t->doubt, "%s", t->why);
}

static void free_tree(comp__tree *tree) {
  zarr_tree *t = of(tree);
  json_decref(t->nodes);
  json_decref(t->consolidated);
  comp__zarr_store_close(t->store);
  comp__free(t);
}

/* ---- opening ---- */

/* 0: no zarr store. */
static comp_status find_version(int *out, const comp__zarr_store *store) {
  static const struct {
    const char *name;
    int version;
  } roots[] = {{"zarr.json", 3}, {".zgroup", 2}, {".zarray", 2}, {".zmetadata", 2}};
  *out = 0;
  for (size_t i = 0; *out == 0 && i < sizeof roots / sizeof *roots; i++) {
    uint64_t size;
    bool found;
    comp_status status = comp__zarr_store_size(&found, &size, store, roots[i].name);
    if (status != COMP_OK) return status;
    if (found) *out = roots[i].version;
  }
  return COMP_OK;
}

comp_status comp__zarr_is(bool *out, const char *path) {
  comp__zarr_store *store;
  int version = 0;
  comp_status status = comp__zarr_store_open(&store, path);
  if (status == COMP_OK) status = find_version(&version, store);
  comp__zarr_store_close(store);
  *out = version != 0;
  return status;
}

comp_status comp__zarr_tree_open(comp__tree **out, const char *path) {
  static const comp__tree_ops ops = {
      .find = find,
      .members = members,
      .lost = lost,
      .get_text = get_text,
      .get_texts = get_texts,
      .get_pair = get_pair,
      .has = has,
      .get_truth = get_truth,
      .content = content,
      .shape = get_shape,
      .open = open_array,
      .read = read_array,
      .close = close_array,
      .read_texts = read_texts,
      .load = load_value,
      .attributes = get_attributes,
      .certain = certain,
      .free = free_tree,
  };
  zarr_tree *t;
  *out = NULL;
  comp__json_start();
  comp_status status = comp__calloc(&t, 1, sizeof *t);
  if (status != COMP_OK) return status;
  t->tree.ops = &ops;
  COMP__TRY(comp__zarr_store_open(&t->store, path));
  COMP__TRY(find_version(&t->version, t->store));
  if (t->version == 0) COMP__FAIL(COMP_ERR_FORMAT, "it has no metadata of zarr (zarr.json, .zgroup)");
  t->nodes = json_object();
  if (!t->nodes) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  *out = &t->tree;
done:
  if (status != COMP_OK) free_tree(&t->tree);
  return status;
}
