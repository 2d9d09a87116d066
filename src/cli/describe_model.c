/* describe_model.c: a model as text and as JSON: what it is made of, how it was trained, and on what data. */
#include "cli/describe_model.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/text.h"

enum { NAME_WIDTH = 24, MOST_SHOWN = 12 };

/* What a model file says of itself, read. */
typedef struct model_look {
  json_t *config, *history, *record;
  const json_t *training;    /* of config */
  const json_t *last, *best; /* epochs; NULL: there is none, or none with a loss on samples held out */
} model_look;

static void release(model_look *look) {
  json_decref(look->config);
  json_decref(look->history);
  json_decref(look->record);
}

static double loss_of(const json_t *epoch, const char *samples, const char *name) {
  const json_t *value = json_object_get(json_object_get(epoch, samples), name);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* It should be released via release(). */
static comp_status look_at(model_look *look, const comp_model *model) {
  size_t i;
  json_t *epoch;
  bool marked = false;
  const char *record = comp_model_record(model);
  *look = (model_look){.config = json_loads(comp_model_config(model), 0, NULL),
                       .history = json_loads(comp_model_history(model), 0, NULL),
                       .record = record ? json_loads(record, 0, NULL) : NULL};
  look->training = json_object_get(look->config, "training");
  json_array_foreach(look->history, i, epoch) {
    double loss = loss_of(epoch, "validation", "total");
    look->last = epoch;
    if (isnan(loss)) continue;
    /* Training marks an epoch that is the best so far; models of 0.1 have no marks. */
    if (json_is_true(json_object_get(epoch, "best")) || !look->best ||
        (!marked && loss < loss_of(look->best, "validation", "total")))
      look->best = epoch;
    marked |= json_is_true(json_object_get(epoch, "best"));
  }
  return look->config ? COMP_OK : COMP_ERR_MEMORY; /* loading has read it before */
}

/* ---- text ---- */

static text_flow start_row(FILE *out, const char *name, int width) {
  fprintf(out, "  %-*s", NAME_WIDTH, name);
  return text_flow_start(out, NAME_WIDTH + 2, NAME_WIDTH + 2, width);
}

static void put_row(FILE *out, const char *name, int width, const char *format, ...) COMP_PRINTF(4, 5);
static void put_row(FILE *out, const char *name, int width, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  text_flow flow = start_row(out, name, width);
  text_flow_add(&flow, text_clean(text));
  text_flow_end(&flow);
}

/* "12 levels: a, b, ..." */
static void put_names(FILE *out, const char *row, int width, const char *before, const comp_model *model, size_t count,
                      const char *(*name)(const comp_model *model, size_t i)) {
  char item[192];
  text_flow flow = start_row(out, row, width);
  text_flow_add(&flow, before);
  size_t shown = count > MOST_SHOWN + 2 ? MOST_SHOWN : count;
  for (size_t i = 0; i < shown; i++) {
    snprintf(item, sizeof item, "%.160s%s", name(model, i), i + 1 < count ? "," : "");
    text_flow_add_whole(&flow, text_clean(item));
  }
  if (shown < count) {
    snprintf(item, sizeof item, "and %zu more", count - shown);
    text_flow_add(&flow, item);
  }
  text_flow_end(&flow);
}

static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "?";
}

static double number_at(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static bool flag_at(const json_t *object, const char *key) {
  return json_is_true(json_object_get(object, key));
}

static void put_network(FILE *out, const model_look *look, int width) {
  const json_t *config = look->config;
  char hidden[256] = "";
  size_t used = 0, l;
  json_t *layer;
  json_array_foreach(json_object_get(config, "hidden"), l, layer) {
    if (used >= sizeof hidden) break;
    used += (size_t)snprintf(hidden + used, sizeof hidden - used, "%s%lld", l ? ", " : "",
                             (long long)json_integer_value(layer));
  }
  put_row(out, "model", width, "%s, preset %s", text_at(config, "model"), text_at(config, "preset"));
  put_row(out, "latent", width, "%.0f dimensions; hidden layers of %s", number_at(config, "latent"), hidden);
  if (flag_at(config, "centred")) put_row(out, "centred", width, "samples less the centre of their condition");
  if (flag_at(config, "decoder_sees_condition") && !flag_at(config, "encoder_sees_condition"))
    put_row(out, "encoder", width, "does not see the condition");
  double target = number_at(look->training, "kl_target");
  char adjusted[96] = "";
  if (target > 0)
    snprintf(adjusted, sizeof adjusted, " at first, %.3g at last, adjusted to a penalty of %g (--kl-target)",
             number_at(look->last, "gamma"), target);
  const json_t *blur = json_object_get(look->training, "blur");
  double from = json_number_value(json_array_get(blur, 0)), to = json_number_value(json_array_get(blur, 1));
  char blurred[64] = "";
  if (from > 0) snprintf(blurred, sizeof blurred, from == to ? ", blur %g" : ", blur from %g to %g", from, to);
  const json_t *target_name = json_object_get(look->training, "target");
  if (target_name)
    put_row(out, "target", width, "%s is predicted from z, weight %g", text_at(look->training, "target"),
            number_at(config, "target_weight"));
  if (json_object_get(look->training, "unseen"))
    put_row(out, "left out", width, "samples that are marked in column '%s'", text_at(look->training, "unseen"));
  put_row(out, "loss", width, "%s likelihood, beta %g, penalty %s, gamma %g%s%s", text_at(look->config, "likelihood"),
          number_at(config, "beta"), text_at(config, "penalty"), number_at(config, "gamma"), adjusted, blurred);
}

static void put_losses(FILE *out, const json_t *epoch, const char *name, int width) {
  char text[512];
  size_t used = 0;
  static const char *const samples[] = {"train", "validation"};
  for (int s = 0; s < 2; s++) {
    double total = loss_of(epoch, samples[s], "total");
    if (isnan(total) || used >= sizeof text) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.6g (likelihood %.6g, kl %.6g, penalty %.6g)",
                             used ? "; " : "", samples[s], total, loss_of(epoch, samples[s], "likelihood"),
                             loss_of(epoch, samples[s], "kl"), loss_of(epoch, samples[s], "penalty"));
  }
  if (used) put_row(out, name, width, "%s", text);
}

static void put_training(FILE *out, const model_look *look, const char *kernel, int width) {
  char steps[32];
  const char *select = text_at(look->training, "select");
  put_row(out, "training", width, "seed %.0f; %zu epochs, %s steps; batches of %.0f, rate %g, %s; %s weights kept",
          number_at(look->training, "seed"), json_array_size(look->history),
          text_count(steps, sizeof steps, (uint64_t)fmax(0.0, number_at(look->last, "steps"))),
          number_at(look->training, "batch"), number_at(look->training, "rate"), text_at(look->training, "schedule"),
          select);
  if (kernel) put_row(out, "products", width, "%s", kernel);
  put_losses(out, look->last, "last epoch", width);
  if (!look->best || look->best == look->last) return;
  char name[64];
  snprintf(name, sizeof name, "best epoch, %.0f", number_at(look->best, "epoch"));
  put_losses(out, look->best, name, width);
}

/* The steps of comp prep by name. */
static void put_preparation(FILE *out, const model_look *look, int width) {
  size_t i, used = 0;
  json_t *step;
  char text[512] = "not recorded";
  json_array_foreach(json_object_get(json_object_get(look->record, "prep"), "steps"), i, step) {
    if (used < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", text_at(step, "step"));
  }
  put_row(out, "preparation", width, "%s", text);
}

comp_status describe_model_text(FILE *out, const char *path, const comp_model *model, int width) {
  model_look look;
  char title[1024], before[160];
  const char *digest = comp_model_digest(model);
  comp_status status = look_at(&look, model);
  if (status == COMP_OK) {
    snprintf(title, sizeof title, "%s", path);
    fprintf(out, "%s (model of comp train)\n", text_clean(title));
    put_network(out, &look, width);
    snprintf(before, sizeof before, "%.100s, %zu levels:", comp_model_condition(model), comp_model_level_count(model));
    put_names(out, "condition", width, text_clean(before), model, comp_model_level_count(model), comp_model_level_name);
    char count[32];
    snprintf(before, sizeof before, "%s:", text_count(count, sizeof count, comp_model_feature_count(model)));
    put_names(out, "features", width, before, model, comp_model_feature_count(model), comp_model_feature_name);
    put_training(out, &look, comp_model_kernel(model), width);
    put_preparation(out, &look, width);
    put_row(out, "digest", width, "%s%s",
            digest ? digest : "none: the file is of an earlier version, or was changed by another program",
            digest ? ", agrees with the content" : "");
  }
  release(&look);
  return status;
}

/* ---- JSON ---- */

static void put_json(FILE *out, const char *key, const json_t *value) {
  char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  fprintf(out, ",\n  \"%s\": %s", key, text ? text : "null");
  free(text);
}

static void put_json_text(FILE *out, const char *key, const char *value) {
  fprintf(out, ",\n  \"%s\": ", key);
  json_put_string(out, value);
}

comp_status describe_model_json(FILE *out, const char *path, const comp_model *model) {
  model_look look;
  comp_status status = look_at(&look, model);
  if (status == COMP_OK) {
    fputs("{\n  \"file\": ", out);
    json_put_string(out, path);
    put_json_text(out, "format", "model");
    put_json_text(out, "digest", comp_model_digest(model));
    put_json_text(out, "kernel", comp_model_kernel(model));
    put_json_text(out, "condition", comp_model_condition(model));
    fputs(",\n  \"levels\": [", out);
    for (size_t l = 0; l < comp_model_level_count(model); l++) {
      if (l) fputs(", ", out);
      json_put_string(out, comp_model_level_name(model, l));
    }
    fprintf(out, "],\n  \"features\": %zu,\n  \"epochs\": %zu", comp_model_feature_count(model),
            json_array_size(look.history));
    put_json(out, "last_epoch", look.last);
    put_json(out, "best_epoch", look.best);
    put_json(out, "config", look.config);
    put_json(out, "record", look.record);
    fputs("\n}\n", out);
  }
  release(&look);
  return status;
}
