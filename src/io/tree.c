/* tree.c: what follows from the functions of any tree. */
#include "io/tree.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

void comp__tree_free(comp__tree *tree) {
  if (tree) tree->ops->free(tree);
}

comp_status comp__tree_join(comp__tree_path *out, const char *folder, const char *name) {
  const char *between = folder[0] && name[0] ? "/" : "";
  if (snprintf(out->text, sizeof out->text, "%s%s%s", folder, between, name) < (int)sizeof out->text) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "%.60s/%.60s...: its name is too long", folder, name);
}

comp_status comp__tree_open_list(comp__tree_array *out, const comp__tree *tree, const char *path) {
  comp_status status = tree->ops->open(out, tree, path);
  if (status == COMP_OK && out->rank != 1)
    status = comp__error(COMP_ERR_FORMAT, "%s has %d dimensions, not 1", out->where, out->rank);
  return status;
}

comp_status comp__tree_read_text(char **out, comp_context *context, const comp__tree *tree, const char *path) {
  comp__strings values = {0};
  comp_status status;
  *out = NULL;
  COMP__TRY(tree->ops->read_texts(&values, context, tree, path, false));
  if (values.count != 1) COMP__FAIL(COMP_ERR_FORMAT, "%s holds %zu texts, not one", path, values.count);
  COMP__TRY(comp__strdup(out, comp__strings_get(&values, 0)));
done:
  comp__strings_release(&values);
  return status;
}

bool comp__tree_text_is(const comp__tree *tree, const char *path, const char *name, const char *value) {
  char *text = NULL;
  bool same = tree->ops->get_text(&text, tree, path, name) == COMP_OK && text && strcmp(text, value) == 0;
  comp__free(text);
  return same;
}

comp_status comp__tree_value_reserve(comp__tree_value *value, comp_context *context, size_t size) {
  comp__pager *pager = comp__context_pager(context);
  size_t bytes;
  if (!pager || !comp__size_mul(&bytes, value->count, size) || bytes == 0 || !comp__pager_wants(pager, bytes))
    return comp__alloc(&value->numbers, value->count, size);
  comp_status status = comp__paged_new(&value->paged, &value->numbers, pager, bytes);
  if (status == COMP_OK || comp__pager_asked(pager)) return status;
  return comp__alloc(&value->numbers, value->count, size);
}

void comp__tree_value_release(comp__tree_value *value) {
  if (value->paged)
    comp__paged_free(value->paged);
  else
    comp__free(value->numbers);
  comp__strings_release(&value->texts);
  for (size_t i = 0; i < value->n_fields; i++) comp__tree_value_release(&value->fields[i]);
  comp__free(value->fields);
  comp__strings_release(&value->names);
  *value = (comp__tree_value){0};
}
