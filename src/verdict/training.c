/* training.c: how the training of a model ended, as a document. */
#include <math.h>

#include "comp/verdict.h"
#include "core/alloc.h"
#include "core/error.h"
#include "verdict/json.h"

comp_status comp_training_json(char **out, const comp_model *model) {
  json_t *history = json_loads(comp_model_history(model), 0, NULL), *entry, *root = NULL;
  json_t *config = json_loads(comp_model_config(model), 0, NULL);
  json_t *planned = json_object_get(json_object_get(config, "training"), "epochs");
  bool held_out = json_object_get(json_array_get(history, 0), "validation") != NULL;
  double lowest = INFINITY;
  size_t i, best = 0;
  comp_status status = COMP_OK;
  *out = NULL;
  if (!json_is_array(history)) COMP__FAIL(COMP_ERR_FORMAT, "the model's history is damaged: it is not a JSON list");
  json_array_foreach(history, i, entry) {
    double loss = comp__member_number(json_object_get(entry, held_out ? "validation" : "train"), "total");
    if (!(loss < lowest)) continue;
    lowest = loss;
    best = i + 1;
  }
  root = json_pack("{s:I, s:I, s:I, s:b}", "epochs", (json_int_t)json_array_size(history), "planned",
                   json_integer_value(planned), "best", (json_int_t)best, "held_out", (int)held_out);
  status = comp__json_dump(out, root);
done:
  json_decref(history);
  json_decref(config);
  return status;
}
