/* evidence.c: documents as they come, sorted by what they say. */
#include "verdict/evidence.h"

#include <string.h>

#include "core/error.h"
#include "verdict/json.h"

static void take(json_t **place, json_t *value) {
  if (!value) return;
  json_decref(*place);
  *place = json_incref(value);
}

static comp_status add_changes(comp__evidence *e, json_t *document) {
  json_t *first = json_object_get(document, "counterfactual"),
         *more = json_object_get(document, "more_counterfactuals");
  if (!e->changes && !(e->changes = json_array())) return comp__error(COMP_ERR_MEMORY, "out of memory");
  bool good = !json_is_object(first) || json_array_append(e->changes, first) == 0;
  good = good && (!json_is_array(more) || json_array_extend(e->changes, more) == 0);
  return good ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

comp_status comp__evidence_add(comp__evidence *e, comp_document kind, json_t *document, const char *name) {
  comp_status status = COMP_OK;
  switch (kind) {
  case COMP_DOCUMENT_SCORES:
    status = comp__scores_add(&e->scores, document, name);
    if (status == COMP_OK) status = add_changes(e, document);
    take(&e->design, json_object_get(document, "design"));
    take(&e->audit, json_object_get(document, "audit"));
    break;
  case COMP_DOCUMENT_DESIGN:
    take(&e->design, document);
    break;
  case COMP_DOCUMENT_TRAINING:
    take(&e->training, document);
    break;
  case COMP_DOCUMENT_DIAGNOSIS:
    take(&e->findings, json_is_array(document) ? document : json_object_get(document, "findings"));
    break;
  case COMP_DOCUMENTS:
    status = comp__error(COMP_ERR_ARGUMENT, "%s: %d is no kind of document", name, (int)kind);
  }
  return status;
}

void comp__evidence_release(comp__evidence *e) {
  comp__scores_release(&e->scores);
  json_decref(e->changes);
  json_decref(e->design);
  json_decref(e->training);
  json_decref(e->findings);
  json_decref(e->audit);
  *e = (comp__evidence){0};
}

const char *comp__evidence_embedding(const comp__evidence *e) {
  const char *last = NULL;
  for (size_t i = 0; i < e->scores.count; i++) {
    const char *name = e->scores.items[i].embedding;
    if (name && strcmp(name, "X_comp") == 0) return name;
    if (name) last = name;
  }
  return last;
}

const char *comp_embedding_title(const char *embedding, const char *model) {
  if (strcmp(embedding, "X_pca") == 0) return "before";
  if (strcmp(embedding, "X_comp") == 0) return !model ? embedding : strcmp(model, "comp") == 0 ? "CoMP" : model;
  return strncmp(embedding, "X_", 2) == 0 && embedding[2] ? embedding + 2 : embedding;
}

const char *comp__evidence_before(const comp__evidence *e) {
  const char *judged = comp__evidence_embedding(e);
  if (!judged || strcmp(judged, "X_pca") == 0) return NULL;
  for (size_t i = 0; i < e->scores.count; i++) {
    const char *name = e->scores.items[i].embedding;
    if (name && strcmp(name, "X_pca") == 0) return name;
  }
  return NULL;
}
