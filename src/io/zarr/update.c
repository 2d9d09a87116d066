/*
 * update.c: adding results to a store that is a folder.
 *
 * It is done in a copy of the folder, whose files are links to the old ones. A changed value is a new file, never a
 * write to one that is there: the store that the copy was made of stays as it is.
 */
#include "io/zarr/update.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/table.h"
#include "io/anndata.h"
#include "io/options.h"
#include "io/zarr/sink.h"
#include "io/zarr/tree.h"
#include "io/zarr/zarr_write.h"

typedef struct updating {
  comp_context *context;
  const comp_dataset *results;
  comp__tree *tree; /* the copy, as it was before anything was added */
  comp__zarr_sink sink;
  comp__strings nodes; /* what was changed or made: these nodes alone */
  comp__strings trees; /* the same, with all that is below them */
} updating;

static comp_status note(comp__strings *list, const char *path) {
  return comp__strings_append(list, path, strlen(path));
}

/* A link to a folder elsewhere must not be written through. */
static comp_status check_no_link(const updating *u, const char *path) {
  struct stat info;
  if (fstatat(u->sink.fd, path, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(info.st_mode)) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "%s is a symbolic link: results are not written through it", path);
}

/* Makes a group where there is none. */
static comp_status need_group(updating *u, const char *path) {
  comp_status status = check_no_link(u, path);
  if (status != COMP_OK) return status;
  comp__node node = u->tree->ops->find(u->tree, path);
  status = u->tree->ops->certain(u->tree);
  if (status != COMP_OK || node == COMP__NODE_GROUP) return status;
  if (node != COMP__NODE_NONE) return comp__error(COMP_ERR_FORMAT, "%s is not a group", path);
  status = comp__zarr_write_group(&u->sink, path, "dict", "0.1.0");
  return status == COMP_OK ? note(&u->nodes, path) : status;
}

/* ---- matrices ---- */

static comp_status add_matrices(updating *u, comp_slot slot) {
  const char *folder = comp_slot_name(slot);
  size_t count = u->results->slots[slot].count;
  comp__tree_path path;
  comp_status status = COMP_OK;
  if (count > 0) COMP__TRY(need_group(u, folder));
  for (size_t i = 0; i < count; i++) {
    const comp__named_matrix *entry = &u->results->slots[slot].entries[i];
    COMP__TRY(comp__zarr_check_matrix_name(entry->name));
    COMP__TRY(comp__tree_join(&path, folder, entry->name));
    COMP__TRY(comp__zarr_sink_drop(&u->sink, path.text));
    COMP__TRY(comp__zarr_write_matrix(&u->sink, folder, entry->name, entry->matrix));
    COMP__TRY(note(&u->trees, path.text));
  }
done:
  return status;
}

/* ---- columns of obs ---- */

static bool contains(const comp__strings *list, const char *text) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(comp__strings_get(list, i), text) == 0) return true;
  return false;
}

/* Takes a column out, with its categories where AnnData 0.7 keeps them. */
static comp_status drop_column(updating *u, const char *name) {
  comp__tree_path path, categories;
  comp_status status;
  COMP__TRY(comp__tree_join(&path, "obs", name));
  COMP__TRY(comp__tree_join(&categories, "obs/__categories", name));
  if (!comp__zarr_key_is_good(name) || comp__zarr_key_is_metadata(path.text))
    COMP__FAIL(COMP_ERR_DATA, "a column cannot be called '%s' in a zarr store", name);
  COMP__TRY(comp__zarr_sink_drop(&u->sink, path.text));
  COMP__TRY(note(&u->trees, path.text));
  if (u->tree->ops->find(u->tree, categories.text) != COMP__NODE_NONE) {
    COMP__TRY(check_no_link(u, "obs/__categories"));
    COMP__TRY(comp__zarr_sink_drop(&u->sink, categories.text));
    COMP__TRY(note(&u->trees, categories.text));
  }
done:
  return status;
}

/* Writes the attributes of obs with another list of columns. */
static comp_status put_order(updating *u, const comp__strings *order) {
  const json_t *metadata = comp__zarr_tree_metadata(u->tree, "obs");
  json_t *attributes = json_deep_copy(comp__zarr_tree_attributes(u->tree, "obs")), *list = json_array(), *whole = NULL;
  uint64_t size;
  bool found;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < order->count; i++)
    if (json_array_append_new(list, json_string(comp__strings_get(order, i))) != 0)
      COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  if (!attributes || json_object_set(attributes, "column-order", list) != 0)
    COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  if (u->sink.version == 2) {
    /* Attributes count only beside metadata, which may be in the consolidated one alone. */
    COMP__TRY(comp__zarr_store_size(&found, &size, comp__zarr_tree_store(u->tree), "obs/.zgroup"));
    if (!found) COMP__TRY(comp__zarr_sink_replace(&u->sink, "obs", ".zgroup", metadata));
    COMP__TRY(comp__zarr_sink_replace(&u->sink, "obs", ".zattrs", attributes));
  } else {
    whole = json_copy((json_t *)metadata);
    if (!whole || json_object_set(whole, "attributes", attributes) != 0) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
    COMP__TRY(comp__zarr_sink_replace(&u->sink, "obs", "zarr.json", whole));
  }
  COMP__TRY(note(&u->nodes, "obs"));
done:
  json_decref(whole);
  json_decref(attributes);
  json_decref(list);
  return status;
}

static comp_status add_columns(updating *u) {
  const comp_table *table = u->results->obs;
  comp__strings order = {0};
  char *index = NULL;
  bool listed;
  comp_status status = COMP_OK;
  if (comp_table_column_count(table) == 0) return COMP_OK;
  COMP__TRY(check_no_link(u, "obs"));
  COMP__TRY(comp__anndata_index_name(&index, u->tree, "obs"));
  COMP__TRY(u->tree->ops->get_texts(&order, &listed, u->tree, "obs", "column-order"));
  for (size_t i = 0; i < comp_table_column_count(table); i++) {
    const char *name = comp_table_column_name(table, i);
    if (comp__table_column_from_file(table, i)) continue;
    if (strcmp(name, index) == 0 || strcmp(name, "__categories") == 0)
      COMP__FAIL(COMP_ERR_DATA, "a new column cannot be called '%s': that name is taken", name);
    COMP__TRY(drop_column(u, name));
    if (!contains(&order, name)) COMP__TRY(note(&order, name));
  }
  COMP__TRY(comp__anndata_write_columns(&u->sink.sink, "obs", table, false));
  if (listed) COMP__TRY(put_order(u, &order));
done:
  comp__free(index);
  comp__strings_release(&order);
  return status == COMP_OK ? status : comp__error_context(status, "obs");
}

static comp_status add_record(updating *u) {
  comp_status status;
  if (!u->results->record) return COMP_OK;
  COMP__TRY(need_group(u, "uns"));
  COMP__TRY(need_group(u, "uns/comp"));
  COMP__TRY(comp__zarr_sink_drop(&u->sink, "uns/comp/record"));
  COMP__TRY(comp__zarr_sink_text(&u->sink, "uns/comp/record", u->results->record));
  COMP__TRY(note(&u->trees, "uns/comp/record"));
done:
  return status;
}

/* ---- consolidated metadata ---- */

/* Whether a key is that of a node, or of something below it. */
static bool is_below(const char *key, const char *path) {
  size_t length = strlen(path);
  return strncmp(key, path, length) == 0 && (key[length] == '\0' || key[length] == '/');
}

static void forget_below(json_t *list, const char *path) {
  const char *key;
  json_t *value;
  void *next;
  json_object_foreach_safe(list, next, key, value) {
    if (is_below(key, path)) json_object_del(list, key);
  }
}

/* What a node says of itself, under the name that it has in the list. */
static comp_status list_node(json_t *list, const comp__tree *tree, const char *path, const char *name) {
  const json_t *metadata = comp__zarr_tree_metadata(tree, path), *attributes = comp__zarr_tree_attributes(tree, path);
  comp__tree_path key;
  int failed = 0;
  comp_status status = tree->ops->certain(tree);
  if (status != COMP_OK || !metadata) return status;
  if (comp__zarr_tree_version(tree) == 3) {
    failed = json_object_set(list, name, (json_t *)metadata);
  } else {
    bool array = tree->ops->find(tree, path) == COMP__NODE_ARRAY;
    COMP__TRY(comp__tree_join(&key, name, array ? ".zarray" : ".zgroup"));
    failed = json_object_set(list, key.text, (json_t *)metadata);
    COMP__TRY(comp__tree_join(&key, name, ".zattrs"));
    if (attributes) failed |= json_object_set(list, key.text, (json_t *)attributes);
  }
  if (failed) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
done:
  return status;
}

static comp_status list_tree(json_t *list, const comp__tree *tree, const char *path, const char *name, int depth) {
  comp__strings members = {0};
  comp__tree_path below, below_name;
  comp_status status;
  COMP__TRY(list_node(list, tree, path, name));
  if (depth > 8 || tree->ops->find(tree, path) != COMP__NODE_GROUP) goto done;
  COMP__TRY(tree->ops->members(&members, tree, path));
  for (size_t i = 0; i < members.count; i++) {
    COMP__TRY(comp__tree_join(&below, path, comp__strings_get(&members, i)));
    COMP__TRY(comp__tree_join(&below_name, name, comp__strings_get(&members, i)));
    COMP__TRY(list_tree(list, tree, below.text, below_name.text, depth + 1));
  }
done:
  comp__strings_release(&members);
  return status;
}

/* The name of a path in the list of a group above it; NULL: it is not below that. */
static const char *name_below(const char *path, const char *group) {
  size_t length = strlen(group);
  if (length == 0) return path;
  return is_below(path, group) && path[length] == '/' ? path + length + 1 : NULL;
}

/* Brings the list of a group up to date; one that has none gets none. */
static comp_status consolidate(const updating *u, const comp__tree *tree, const char *group) {
  json_t *whole = NULL;
  comp_status status;
  COMP__TRY(comp__zarr_tree_consolidated(&whole, tree, group));
  if (!whole) goto done;
  json_t *list = comp__zarr_consolidated_list(whole, comp__zarr_tree_version(tree));
  for (size_t i = 0; i < u->trees.count; i++) {
    const char *path = comp__strings_get(&u->trees, i), *name = name_below(path, group);
    if (!name) continue;
    forget_below(list, name);
    COMP__TRY(list_tree(list, tree, path, name, 0));
  }
  for (size_t i = 0; i < u->nodes.count; i++) {
    const char *path = comp__strings_get(&u->nodes, i), *name = name_below(path, group);
    if (name) COMP__TRY(list_node(list, tree, path, name));
  }
  COMP__TRY(comp__zarr_sink_replace(&u->sink, group, u->sink.version == 2 ? ".zmetadata" : "zarr.json", whole));
done:
  json_decref(whole);
  return status;
}

/* The groups that lists may be of, the innermost first: the root's is the last file that is written. */
static comp_status consolidate_all(const updating *u, const char *folder) {
  static const char *const groups[] = {"uns/comp", "uns", "layers", "obsm", "obs", ""};
  comp__tree *tree; /* as it is now */
  comp_status status = comp__zarr_tree_open(&tree, folder);
  for (size_t i = 0; i < sizeof groups / sizeof *groups && status == COMP_OK; i++)
    status = consolidate(u, tree, groups[i]);
  comp__tree_free(tree);
  return status;
}

/* ---- all of it ---- */

/* New arrays are in shards where the names of the samples are. */
static bool has_shards(const comp__tree *tree) {
  comp__tree_path path;
  comp__zarr_meta meta;
  char *index = NULL;
  bool sharded = false;
  if (comp__anndata_index_name(&index, tree, "obs") == COMP_OK && index &&
      comp__tree_join(&path, "obs", index) == COMP_OK) {
    comp_status status = comp__zarr_meta_read(&meta, comp__zarr_tree_metadata(tree, path.text));
    sharded = status == COMP_OK && meta.sharded;
    comp__zarr_meta_release(&meta);
  }
  comp__free(index);
  return sharded;
}

static comp_status check_fit(comp_context *context, const comp_dataset *results, const char *path) {
  comp__tree *tree;
  size_t features;
  comp_status status = comp__zarr_tree_open(&tree, path);
  if (status == COMP_OK) status = comp__anndata_check_fit(&features, context, results, tree);
  if (status == COMP_OK) comp__anndata_tell_overwritten(context, results, tree, path);
  comp__tree_free(tree);
  return status;
}

comp_status comp__zarr_update(comp_context *context, const comp_dataset *results, const char *in_path,
                              const char *folder, bool links) {
  const comp__write_options defaults = comp__write_defaults();
  updating u = {.context = context, .results = results, .sink = {.fd = -1}};
  comp_status status;
  COMP__TRY(check_fit(context, results, in_path));
  COMP__TRY(comp__zarr_copy_folder(in_path, folder, links));
  COMP__TRY(comp__zarr_tree_open(&u.tree, folder));
  COMP__TRY(comp__zarr_sink_open(&u.sink, context, folder, comp__zarr_tree_version(u.tree), has_shards(u.tree),
                                 defaults.compression));
  COMP__TRY(add_matrices(&u, COMP_SLOT_LAYERS));
  COMP__TRY(add_matrices(&u, COMP_SLOT_OBSM));
  COMP__TRY(add_columns(&u));
  COMP__TRY(add_record(&u));
  COMP__TRY(consolidate_all(&u, folder));
done:
  comp__zarr_sink_close(&u.sink);
  comp__tree_free(u.tree);
  comp__strings_release(&u.nodes);
  comp__strings_release(&u.trees);
  return status;
}

/* Whether a folder is a zarr group; `*listed`: with consolidated metadata. */
static bool is_group(bool *listed, const char *path) {
  comp__tree *tree = NULL;
  json_t *whole = NULL;
  bool opened = comp__zarr_tree_open(&tree, path) == COMP_OK;
  *listed = opened && comp__zarr_tree_consolidated(&whole, tree, "") == COMP_OK && whole;
  json_decref(whole);
  comp__tree_free(tree);
  return opened;
}

void comp__zarr_tell_outer(comp_context *context, const char *path) {
  enum { MOST_LEVELS = 32 };
  comp__tree_path outer, next;
  bool listed = false;
  if (comp__tree_join(&outer, path, "..") != COMP_OK) return;
  for (int level = 0; level < MOST_LEVELS && !listed && is_group(&listed, outer.text); level++) {
    if (comp__tree_join(&next, outer.text, "..") != COMP_OK) break;
    outer = next;
  }
  if (listed)
    comp__warn(context,
               "%s is part of a larger zarr store, whose consolidated metadata does not list the results yet; in "
               "Python, zarr.consolidate_metadata() of that store brings it up to date",
               path);
}
