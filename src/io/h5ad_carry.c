/* h5ad_carry.c: copying what a new .h5ad does not hold itself from the file that it was made of. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/table.h"
#include "io/h5ad.h"
#include "io/h5ad_write.h"

typedef struct carrying {
  comp_context *context;
  const comp_dataset *dataset;
  hid_t from;
  hid_t to;
  bool same_obs; /* the samples are those of the old file, in order */
  bool same_var;
  char dropped[512]; /* what does not fit any more */
} carrying;

static bool same_names(const comp__strings *a, const comp__strings *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++)
    if (strcmp(comp__strings_get(a, i), comp__strings_get(b, i)) != 0) return false;
  return true;
}

static comp_status compare_names(bool *same, comp_context *context, hid_t file, const char *table,
                                 const comp__strings *names) {
  comp__strings old = {0};
  comp_status status = comp__h5ad_read_names(&old, context, file, table);
  if (status == COMP_OK) *same = same_names(&old, names);
  comp__strings_release(&old);
  return status;
}

static void drop(carrying *c, const char *path) {
  size_t used = strlen(c->dropped);
  snprintf(c->dropped + used, sizeof c->dropped - used, "%s%s", used ? ", " : "", path);
}

static comp_status copy(const carrying *c, const char *path) {
  hid_t how = H5Pcreate(H5P_OBJECT_COPY), links = comp__h5_link_list();
  H5Pset_copy_object(how, H5O_COPY_EXPAND_REFERENCE_FLAG); /* references would be emptied else */
  herr_t result = H5Ocopy(c->from, path, c->to, path, how, links);
  comp__h5_close(&links);
  comp__h5_close(&how);
  if (result >= 0) return COMP_OK;
  return comp__h5_error(COMP_ERR_FORMAT, "%s cannot be copied", path);
}

/* Before AnnData 0.7 the categories of a column were in uns; now they are with the column. */
static bool is_old_categories(const carrying *c, const char *name) {
  static const char suffix[] = "_categories";
  size_t length = strlen(name), tail = sizeof suffix - 1;
  char column[256];
  if (!comp__h5ad_is_legacy(c->from, "obs") || length <= tail || strcmp(name + length - tail, suffix) != 0)
    return false;
  snprintf(column, sizeof column, "%.*s", (int)(length - tail), name);
  size_t obs = comp_table_find(c->dataset->obs, column), var = comp_table_find(c->dataset->var, column);
  return (obs != COMP_NOT_FOUND && comp_table_kind(c->dataset->obs, obs) == COMP_COLUMN_CATEGORICAL) ||
         (var != COMP_NOT_FOUND && comp_table_kind(c->dataset->var, var) == COMP_COLUMN_CATEGORICAL);
}

/* The members of a group that are not in the new file. `fits`: they can be kept at all. */
static comp_status carry_members(carrying *c, const char *path, bool fits) {
  comp__strings members = {0};
  hid_t group = H5I_INVALID_HID;
  char member[512];
  comp_status status;
  COMP__TRY(comp__h5_open_group(&group, c->from, path));
  COMP__TRY(comp__h5_members(&members, group));
  if (comp__h5_find(c->to, path) == COMP__H5_NONE) {
    hid_t made;
    status = comp__h5_make_group(&made, c->to, path, "dict", "0.1.0");
    comp__h5_close(&made);
    if (status != COMP_OK) goto done;
  }
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (snprintf(member, sizeof member, "%s/%s", path, name) >= (int)sizeof member) continue;
    if (comp__h5_find(c->to, member) != COMP__H5_NONE) continue;
    if (strcmp(path, "uns") == 0 && is_old_categories(c, name)) continue;
    if (fits)
      COMP__TRY(copy(c, member));
    else
      drop(c, member);
  }
done:
  comp__h5_close(&group);
  comp__strings_release(&members);
  return status;
}

static comp_status carry_root_member(carrying *c, const char *name) {
  if (strcmp(name, "X") == 0) return COMP_OK;
  if (strcmp(name, "obs") == 0) return c->same_obs && comp__table_from_file(c->dataset->obs) ? copy(c, name) : COMP_OK;
  if (strcmp(name, "var") == 0) return c->same_var && comp__table_from_file(c->dataset->var) ? copy(c, name) : COMP_OK;
  bool group = comp__h5_find(c->from, name) == COMP__H5_GROUP, fits = true;
  if (strcmp(name, "layers") == 0) fits = c->same_obs && c->same_var;
  if (strcmp(name, "obsm") == 0 || strcmp(name, "obsp") == 0 || strncmp(name, "raw", 3) == 0) fits = c->same_obs;
  if (strcmp(name, "varm") == 0 || strcmp(name, "varp") == 0) fits = c->same_var;
  bool mapping = strcmp(name, "layers") == 0 || strcmp(name, "obsm") == 0 || strcmp(name, "obsp") == 0 ||
                 strcmp(name, "varm") == 0 || strcmp(name, "varp") == 0 || strcmp(name, "uns") == 0;
  if (mapping && group) return carry_members(c, name, fits);
  if (mapping) return COMP_OK; /* one compound dataset, before AnnData 0.7: obsm has been read, varm is given up */
  if (comp__h5_find(c->to, name) != COMP__H5_NONE) return COMP_OK;
  if (fits) return copy(c, name);
  drop(c, name);
  return COMP_OK;
}

comp_status comp__h5ad_carry(comp_context *context, hid_t file, const char *path, const comp_dataset *dataset) {
  comp__h5_file from = COMP__H5_FILE_INIT;
  comp__strings members = {0};
  comp_status status;
  COMP__TRY(comp__h5_open(&from, path, false));
  carrying c = {context, dataset, from.id, file, false, false, ""};
  COMP__TRY(compare_names(&c.same_obs, context, from.id, "obs", &dataset->obs_names));
  COMP__TRY(compare_names(&c.same_var, context, from.id, "var", &dataset->var_names));
  COMP__TRY(comp__h5_members(&members, from.id));
  for (size_t i = 0; i < members.count; i++) COMP__TRY(carry_root_member(&c, comp__strings_get(&members, i)));
  if (c.dropped[0]) comp__info(context, "%s: left behind, since samples or features have changed: %s", path, c.dropped);
done:
  if (status != COMP_OK) comp__error_context(status, "%s", path);
  comp__strings_release(&members);
  comp__h5_close_file(&from);
  return status;
}
