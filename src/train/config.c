/* config.c: the options of a training as JSON: what a model keeps of them, and whether a model was made with others. */
#include "train/config.h"

#include <stdlib.h>

#include "core/error.h"
#include "train/precision.h"
#include "train/scale.h"
#include "train/setup.h"

comp_status comp__config_write(char **out, const comp__train_options *o) {
  json_t *root = json_object();
  comp_status status = root ? comp__options_to_record(root, &comp__train_kind, o) : COMP_ERR_MEMORY;
  json_t *training = json_object_get(root, "training");
  if (o->shards == 0) json_object_del(training, "shards"); /* as before there were any */
  if (!o->unseen) json_object_del(training, "unseen");
  if (!o->target) {
    json_object_del(training, "target");
    json_object_del(training, "target_hold");
    json_object_del(root, "target_weight");
  }
  char *text = status == COMP_OK ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(root);
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  status = comp__strdup(out, text);
  free(text);
  return status;
}

void comp__config_complete(json_t *root) {
  json_t *training = json_object_get(root, "training");
  if (!json_object_get(training, "blur")) json_object_set_new(training, "blur", json_pack("[ff]", 0.0, 0.0));
  if (!json_object_get(root, "centred")) json_object_set_new(root, "centred", json_false());
  if (!json_object_get(training, "align")) json_object_set_new(training, "align", json_string("all"));
  if (!json_object_get(training, "shards")) json_object_set_new(training, "shards", json_integer(0));
  if (!json_object_get(root, "bound")) json_object_set_new(root, "bound", json_real(0.0));
}

/* Takes out of a configuration what a run decides by itself: see resolve() in setup.c. */
static void leave_open(json_t *root, const comp__train_options *o) {
  json_t *training = json_object_get(root, "training");
  comp__config_complete(root);
  if (comp__self_is_open(o)) json_object_del(root, "include_self");
  if (o->epochs == 0) json_object_del(training, "epochs");
  if (comp__precision_find(o->precision)->choose) json_object_del(training, "precision");
  if (o->kl_target > 0 || o->blur_from > 0) {
    json_object_del(training, "select");
    json_object_del(training, "patience");
  }
}

bool comp_model_trained_with(const comp_model *model, const comp_options *options) {
  comp__train_options plain;
  return comp__options_resolve(&plain, &comp__train_kind, options) == COMP_OK && comp__model_follows(model, &plain);
}

static bool follows(const comp_model *model, const comp__train_options *options) {
  char *text = NULL;
  if (comp__config_write(&text, options) != COMP_OK) return false;
  json_t *wanted = json_loads(text, 0, NULL), *found = model->config ? json_loads(model->config, 0, NULL) : NULL;
  if (wanted) leave_open(wanted, options);
  if (found) leave_open(found, options);
  bool same = wanted && found && json_equal(wanted, found);
  json_decref(wanted);
  json_decref(found);
  comp__free(text);
  return same;
}

/* The number of samples may have decided on the batch. */
bool comp__model_follows(const comp_model *model, const comp__train_options *options) {
  comp__train_options large = *options;
  comp__scale_follow(&large, COMP__LARGE);
  return follows(model, options) || follows(model, &large);
}
