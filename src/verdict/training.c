/* training.c: how the training of a model ended, as a document. */
#include <math.h>
#include <string.h>

#include "comp/verdict.h"
#include "core/alloc.h"
#include "core/error.h"
#include "verdict/json.h"

/* The epoch, from 1, with the lowest loss of this kind; 0: none. */
static size_t lowest_loss(const json_t *history, const char *samples) {
  const json_t *entry;
  double lowest = INFINITY;
  size_t i, best = 0;
  json_array_foreach(history, i, entry) {
    double loss = comp__member_number(json_object_get(entry, samples), "total");
    if (!(loss < lowest)) continue;
    lowest = loss;
    best = i + 1;
  }
  return best;
}

/* The last epoch that training marked as the best so far: epochs before the end of the warm-up do not count after it.
 * Models of 0.1 have no marks, and none of their epochs was left out. */
static size_t best_epoch(const json_t *history, const char *samples) {
  const json_t *entry;
  size_t i, best = 0;
  json_array_foreach(history, i, entry) if (json_is_true(json_object_get(entry, "best"))) best = i + 1;
  return best ? best : lowest_loss(history, samples);
}

comp_status comp_training_json(char **out, const comp_model *model) {
  COMP__NEED_OUT(out, model);
  json_t *history = json_loads(comp_model_history(model), 0, NULL), *root = NULL;
  json_t *config = json_loads(comp_model_config(model), 0, NULL), *training = json_object_get(config, "training");
  const char *kept = json_string_value(json_object_get(training, "select"));
  bool chosen = !kept || strcmp(kept, "best") == 0;
  /* Where no epoch was chosen by it, the validation loss says nothing about the model that was kept. */
  bool held_out = chosen && json_object_get(json_array_get(history, 0), "validation") != NULL;
  const char *samples = held_out ? "validation" : "train";
  comp_status status = COMP_OK;
  *out = NULL;
  if (!json_is_array(history)) COMP__FAIL(COMP_ERR_FORMAT, "the model's history is damaged: it is not a JSON list");
  root = json_pack("{s:O?, s:I, s:I, s:I, s:b, s:s, s:O?}", "model", json_object_get(config, "model"), "epochs",
                   (json_int_t)json_array_size(history), "planned",
                   json_integer_value(json_object_get(training, "epochs")), "best",
                   (json_int_t)(chosen ? best_epoch(history, samples) : lowest_loss(history, samples)), "held_out",
                   (int)held_out, "kept", kept ? kept : "best", "align", json_object_get(training, "align"));
  status = comp__json_dump(out, root);
done:
  json_decref(history);
  json_decref(config);
  return status;
}
