/* report.c: the page: decides what is shown, gathers its data as JSON, and puts both into one file. */
#include "comp/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/file.h"
#include "comp/machine.h"
#include "comp/prep.h"
#include "comp/verdict.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "report/classifiers.h"
#include "report/embedding.h"
#include "report/gather.h"
#include "report/mapping.h"
#include "report/noun.h"
#include "report/page.h"

enum { FORMAT = 2, MAX_EFFECTS = 12 };

/* ---- What is shown --------------------------------------------------------------------------------------------- */

static comp_status choose_columns(comp__subject *s) {
  const comp_table *obs = comp_dataset_obs(s->dataset);
  const comp__report_options *o = s->options;
  size_t column;
  s->condition = o->condition;
  if (!s->condition && s->model && comp_table_find(obs, comp_model_condition(s->model)) != COMP_NOT_FOUND)
    s->condition = comp_model_condition(s->model);
  s->label = o->label;
  const char *names[] = {s->condition, s->label};
  for (int k = 0; k < 2; k++)
    if (names[k]) {
      comp_status status = comp_table_require(&column, obs, names[k]);
      if (status != COMP_OK) return status;
    }
  return COMP_OK;
}

static const char *entry(const comp_dataset *dataset, const char *name) {
  for (size_t i = 0; i < comp_dataset_matrix_count(dataset, COMP_SLOT_OBSM); i++)
    if (strcmp(comp_dataset_matrix_name(dataset, COMP_SLOT_OBSM, i), name) == 0)
      return comp_dataset_matrix_name(dataset, COMP_SLOT_OBSM, i);
  return NULL;
}

static comp_status choose_maps(comp__subject *s) {
  static const char *const wanted[] = {"X_umap", "X_tsne", "X_comp", "X_pca"};
  const comp_matrix *map;
  s->after = s->options->after;
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted && !s->after; k++) s->after = entry(s->dataset, wanted[k]);
  s->before = s->options->before;
  char name[512];
  if (s->after && !s->before && (size_t)snprintf(name, sizeof name, "%s_before", s->after) < sizeof name)
    s->before = entry(s->dataset, name);
  if (s->after && !s->before && strcmp(s->after, "X_pca") != 0) s->before = entry(s->dataset, "X_pca");
  comp_status status = COMP_OK;
  if (s->after) status = comp__embedding_require(&map, s->dataset, s->after);
  if (status == COMP_OK && s->before) status = comp__embedding_require(&map, s->dataset, s->before);
  return status;
}

/* The samples on the map: all, or as many as are wanted, at random. */
static comp_status choose_rows(size_t **out, comp__subject *s) {
  size_t n = comp_dataset_sample_count(s->dataset);
  comp_status status = comp__alloc(out, n, sizeof **out);
  if (status != COMP_OK) return status;
  s->n_rows = n < s->options->max_samples ? n : s->options->max_samples;
  status = comp__rng_draw(*out, s->n_rows, n, comp__rng_at(0, COMP__RNG_REPORT, 2, 0));
  if (status != COMP_OK) return status;
  s->rows = *out;
  if (s->n_rows < n) comp__info(s->context, "the map shows %zu of %zu samples, chosen at random", s->n_rows, n);
  return COMP_OK;
}

/* Every change of condition that was predicted and that the data has both sides of. */
static comp_status find_effects(comp__subject *s) {
  comp_groups conditions = {0};
  comp_status status;
  size_t left_out = 0;
  if (!s->condition) return COMP_OK;
  const comp_table *obs = comp_dataset_obs(s->dataset);
  COMP__TRY(comp_table_groups(&conditions, obs, comp_table_find(obs, s->condition)));
  COMP__TRY(comp__calloc(&s->effects, MAX_EFFECTS, sizeof *s->effects));
  for (size_t c = 0; c < conditions.n_levels; c++) {
    for (size_t t = 0; t < conditions.n_levels; t++) {
      if (c == t || !comp__counterfactual_layer(s->dataset, conditions.levels[t])) continue;
      if (s->n_effects == MAX_EFFECTS) {
        left_out++;
        continue;
      }
      comp__effects_options o = {s->condition,         s->label,         conditions.levels[c],
                                 conditions.levels[t], s->options->n_de, 2};
      comp_status found = comp__effects_init(&s->effects[s->n_effects], s->context, s->dataset, &o);
      if (found == COMP_ERR_DATA) { /* no label has both: the words say so of the labels */
        comp__effects_release(&s->effects[s->n_effects]);
        s->n_alone++;
        continue;
      }
      s->n_effects++;
      COMP__TRY(found);
    }
  }
  if (left_out)
    comp__info(s->context, "the page shows %zu of %zu predicted changes of condition", s->n_effects,
               s->n_effects + left_out);
done:
  comp_groups_release(&conditions);
  return status;
}

static comp_status read_model(comp__subject *s) {
  if (!s->model) return COMP_OK;
  s->history = json_loads(comp_model_history(s->model), 0, NULL);
  s->config = json_loads(comp_model_config(s->model), 0, NULL);
  s->kind = json_string_value(json_object_get(s->config, "model"));
  if (json_is_array(s->history)) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "the model's history is damaged: it is not a JSON list");
}

/* The files of scores: as documents, and as one list of scores. */
static comp_status read_scores(comp__subject *s) {
  comp_status status = COMP_OK;
  s->documents = json_array();
  for (size_t i = 0; i < s->options->n_scores && status == COMP_OK; i++) {
    json_t *document;
    size_t before = s->scores.count;
    const char *path = s->options->scores[i];
    status = comp__json_read(&document, path, JSON_REJECT_DUPLICATES);
    if (status == COMP_OK) status = comp__append(s->documents, document);
    if (status == COMP_OK) status = comp__scores_add(&s->scores, document, path);
    if (status == COMP_OK && s->scores.count == before) status = comp__scores_missing(path);
  }
  return status;
}

static comp_status read_diagnosis(comp__subject *s) {
  return s->options->diagnose ? comp__json_read(&s->diagnosis, s->options->diagnose, 0) : COMP_OK;
}

/* ---- The data -------------------------------------------------------------------------------------------------- */

/* Text of ours that speaks of genes, in the words of the data. */
static comp_status put_reworded(json_t *object, const char *key, const char *text, const char *noun) {
  char *reworded = NULL;
  comp_status status = comp__noun_put(&reworded, text, noun);
  if (status == COMP_OK) status = comp__put(object, key, comp__json_text(reworded));
  comp__free(reworded);
  return status;
}

/* A note as it is, but without the places where a module was looked for. */
static comp_status put_note(json_t *object, const char *note) {
  const char *places = note ? strstr(note, " Looked for ") : NULL;
  if (!note) return COMP_OK;
  return comp__put(object, "note", json_stringn_nocheck(note, places ? (size_t)(places - note) : strlen(note)));
}

static comp_status gather_scores(json_t **out, const comp__subject *subject) {
  const comp__scores *scores = &subject->scores;
  const char *noun = subject->noun;
  json_t *list = json_array();
  comp_status status = COMP_OK;
  for (size_t i = 0; i < scores->count; i++) {
    const comp__read_score *s = &scores->items[i];
    if (s->classified) continue; /* it has a section of its own */
    json_t *object = json_object();
    if (status == COMP_OK) status = comp__append(list, json_incref(object));
    const struct {
      const char *key, *text;
    } texts[] = {{"name", s->name},
                 {"label", s->label},
                 {"embedding", s->embedding},
                 {"method", s->embedding && strcmp(s->method, s->embedding) == 0
                                ? comp_embedding_title(s->embedding, subject->kind)
                                : s->method},
                 {"change", s->change},
                 {"better", comp_better_name(s->better)}};
    for (size_t k = 0; k < sizeof texts / sizeof *texts && status == COMP_OK; k++)
      if (texts[k].text) status = comp__put(object, texts[k].key, comp__json_text(texts[k].text));
    if (status == COMP_OK) status = put_note(object, s->note);
    if (status == COMP_OK) status = put_reworded(object, "title", comp__score_title(s->name, false), noun);
    if (status == COMP_OK) status = put_reworded(object, "summary", s->summary, noun);
    if (status == COMP_OK) status = comp__put(object, "value", comp__json_number(s->value));
    if (status == COMP_OK && isfinite(s->low) && isfinite(s->high)) {
      status = comp__put(object, "low", json_real(s->low));
      if (status == COMP_OK) status = comp__put(object, "high", json_real(s->high));
    }
    if (status == COMP_OK && isfinite(s->chance)) status = comp__put(object, "chance", json_real(s->chance));
    if (status == COMP_OK && isfinite(s->error)) status = comp__put(object, "error", json_real(s->error));
    json_decref(object);
  }
  if (status == COMP_OK) *out = json_incref(list);
  json_decref(list);
  return status;
}

/* Where a file is on one machine says nothing on another. */
static const char *without_folder(const char *path) {
  return path && path[0] == '/' ? strrchr(path, '/') + 1 : path;
}

/* What embeddings are called, by their names. */
static comp_status gather_titles(json_t **out, const comp__subject *s) {
  json_t *titles = json_object();
  comp_status status = COMP_OK;
  for (size_t i = 0; i < s->scores.count; i++) {
    const char *name = s->scores.items[i].embedding;
    if (name) COMP__TRY(comp__put(titles, name, comp__json_text(comp_embedding_title(name, s->kind))));
  }
  COMP__TRY(comp__put(titles, "X_comp", comp__json_text(comp_embedding_title("X_comp", s->kind))));
  *out = json_incref(titles);
done:
  json_decref(titles);
  return status;
}

static comp_status gather_design(json_t **out, const comp__subject *s) {
  char *text;
  comp_status status = comp__subject_design(&text, s);
  if (status != COMP_OK) return status;
  *out = json_loads(text, 0, NULL);
  comp_free(text);
  return COMP_OK;
}

static comp_status gather_provenance(json_t **out, const comp__subject *s) {
  json_t *object = json_object(), *libraries = json_array();
  comp_data_look look;
  comp_status status;
  COMP__TRY(comp_data_look_at(&look, s->context, comp_dataset_x(s->dataset)));
  for (const char *const *l = comp_build_libraries(); *l; l++) COMP__TRY(comp__append(libraries, comp__json_text(*l)));
  COMP__TRY(comp__put(object, "version", comp__json_text(comp_version())));
  COMP__TRY(comp__put(object, "libraries", json_incref(libraries)));
  COMP__TRY(comp__put(object, "created", comp__json_text(s->options->created)));
  COMP__TRY(comp__put(object, "source", comp__json_text(without_folder(s->options->source))));
  COMP__TRY(comp__put(object, "command", comp__json_text(s->options->command)));
  COMP__TRY(comp__put(object, "looks", comp__json_text(look.reason)));
  const char *record = comp_dataset_record(s->dataset);
  json_t *parsed = record ? json_loads(record, 0, NULL) : NULL;
  if (parsed) COMP__TRY(comp__put(object, "record", parsed));
  if (s->config) COMP__TRY(comp__put(object, "model", json_incref(s->config)));
  if (s->diagnosis) COMP__TRY(comp__put(object, "diagnose", json_incref(s->diagnosis)));
  *out = json_incref(object);
done:
  json_decref(object);
  json_decref(libraries);
  return status;
}

static comp_status put_title(json_t *root, const comp__subject *s) {
  char title[1024];
  const char *source = s->options->source ? s->options->source : "data", *end = source + strlen(source), *slash;
  /* What comp run makes is named by its folder. */
  static const char plain[] = "/data.h5ad";
  if ((size_t)(end - source) > sizeof plain - 1 && strcmp(end - (sizeof plain - 1), plain) == 0)
    end -= sizeof plain - 1;
  for (slash = end; slash > source && slash[-1] != '/';) slash--;
  snprintf(title, sizeof title, "%.*s%s%.400s", (int)(end - slash < 400 ? end - slash : 400), slash,
           s->condition ? " by " : "", s->condition ? s->condition : "");
  return comp__put(root, "title", comp__json_text(s->options->title ? s->options->title : title));
}

static comp_status gather(json_t *root, char **blocks, const comp__subject *s) {
  comp_status status;
  json_t *value = NULL;
#define PUT(key, call)                                                                                                 \
  value = NULL;                                                                                                        \
  COMP__TRY(call);                                                                                                     \
  COMP__TRY(comp__put(root, key, value));                                                                              \
  COMP__TRY(comp__check_interrupt(s->context))
  COMP__TRY(comp__put(root, "format", json_integer(FORMAT)));
  COMP__TRY(put_title(root, s));
  COMP__TRY(comp__put(root, "samples", json_integer((json_int_t)comp_dataset_sample_count(s->dataset))));
  if (s->scores.drawn_from > s->scores.scored) { /* else on all of them */
    COMP__TRY(comp__put(root, "scored", json_integer((json_int_t)s->scores.scored)));
    COMP__TRY(comp__put(root, "drawn_from", json_integer((json_int_t)s->scores.drawn_from)));
  }
  COMP__TRY(comp__put(root, "features", json_integer((json_int_t)comp_dataset_feature_count(s->dataset))));
  COMP__TRY(comp__put(root, "noun", json_string(s->noun)));
  COMP__TRY(comp__put(root, "shown", json_integer((json_int_t)s->n_rows)));
  COMP__TRY(comp__put(root, "condition", comp__json_text(s->condition)));
  COMP__TRY(comp__put(root, "label", comp__json_text(s->label)));
  PUT("findings", comp__gather_findings(&value, s));
  PUT("titles", gather_titles(&value, s));
  PUT("design", gather_design(&value, s));
  PUT("maps", comp__gather_maps(&value, s));
  PUT("columns", comp__gather_columns(&value, s));
  PUT("names", comp__gather_names(&value, s));
  PUT("effects", comp__gather_effects(&value, s));
  PUT("genes", comp__gather_genes(&value, blocks, s));
  PUT("mapping", comp__gather_mapping(&value, s));
  PUT("classifiers", comp__gather_classifiers(&value, s));
  PUT("scores", gather_scores(&value, s));
  PUT("provenance", gather_provenance(&value, s));
  if (s->history) COMP__TRY(comp__put(root, "history", json_incref(s->history)));
#undef PUT
done:
  return status;
}

/* ---- The file -------------------------------------------------------------------------------------------------- */

typedef struct buffer {
  char *text;
  size_t used, capacity;
} buffer;

static comp_status add_bytes(buffer *b, const char *text, size_t length) {
  comp_status status = comp__grow(&b->text, &b->capacity, b->used, b->used + length, 1);
  if (status != COMP_OK) return status;
  memcpy(b->text + b->used, text, length);
  b->used += length;
  return COMP_OK;
}

static comp_status add_text(buffer *b, const char *text) {
  return add_bytes(b, text, strlen(text));
}

/* JSON inside of HTML: nothing in it may look like a tag, whatever names the data has. */
static comp_status add_json(buffer *b, const char *json) {
  comp_status status = COMP_OK;
  while (*json && status == COMP_OK) {
    size_t plain = strcspn(json, "<>&");
    status = add_bytes(b, json, plain);
    json += plain;
    if (*json && status == COMP_OK) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)(unsigned char)*json++);
      status = add_text(b, escaped);
    }
  }
  return status;
}

static comp_status add_html(buffer *b, const char *text) {
  comp_status status = COMP_OK;
  for (; *text && status == COMP_OK; text++) {
    const char *entity = *text == '<'   ? "&lt;"
                         : *text == '>' ? "&gt;"
                         : *text == '&' ? "&amp;"
                         : *text == '"' ? "&quot;"
                                        : NULL;
    status = entity ? add_text(b, entity) : add_bytes(b, text, 1);
  }
  return status;
}

static comp_status make_page(buffer *page, json_t *root, const char *blocks) {
  const char *start = (const char *)comp__page, *end = start + comp__page_size;
  const char *title = memmem(start, comp__page_size, COMP__PAGE_TITLE, strlen(COMP__PAGE_TITLE));
  const char *place = memmem(start, comp__page_size, COMP__PAGE_PLACE, strlen(COMP__PAGE_PLACE));
  if (!title || !place || place < title)
    return comp__error(COMP_ERR_UNAVAILABLE, "this build's page of the report lacks the places for title and data");
  char *json = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
  if (!json) return comp__error(COMP_ERR_MEMORY, "out of memory");
  comp_status status;
  COMP__TRY(add_bytes(page, start, (size_t)(title - start)));
  COMP__TRY(add_html(page, json_string_value(json_object_get(root, "title"))));
  title += strlen(COMP__PAGE_TITLE);
  COMP__TRY(add_bytes(page, title, (size_t)(place - title)));
  place += strlen(COMP__PAGE_PLACE);
  COMP__TRY(add_text(page, "<script type=\"application/json\" id=\"comp-data\">"));
  COMP__TRY(add_json(page, json));
  COMP__TRY(add_text(page, "</script>\n<script type=\"text/plain\" id=\"comp-genes\">"));
  COMP__TRY(add_text(page, blocks)); /* base64: no tags */
  COMP__TRY(add_text(page, "</script>\n"));
  COMP__TRY(add_bytes(page, place, (size_t)(end - place)));
done:
  free(json);
  return status;
}

comp_status comp__report_write(comp_context *context, const comp_dataset *dataset, const comp_model *model,
                               const char *path, const comp__report_options *options) {
  comp__subject s = {.context = context, .dataset = dataset, .model = model, .options = options};
  size_t *rows = NULL;
  char *blocks = NULL;
  buffer page = {0};
  json_t *root = json_object();
  comp_status status;
  COMP__TRY(comp_file_check_writable(path));
  if (!comp_dataset_x(dataset)) COMP__FAIL(COMP_ERR_ARGUMENT, "the data set has no X: it was read without");
  if (comp_dataset_sample_count(dataset) == 0) COMP__FAIL(COMP_ERR_DATA, "there are no samples to show");
  s.noun = comp__noun(dataset);
  COMP__TRY(choose_columns(&s));
  COMP__TRY(choose_maps(&s));
  COMP__TRY(choose_rows(&rows, &s));
  COMP__TRY(read_model(&s));
  COMP__TRY(read_diagnosis(&s));
  COMP__TRY(read_scores(&s));
  COMP__TRY(find_effects(&s));
  COMP__TRY(gather(root, &blocks, &s));
  COMP__TRY(make_page(&page, root, blocks));
  COMP__TRY(comp_file_write(path, page.text, page.used));
done:
  json_decref(root);
  json_decref(s.history);
  json_decref(s.config);
  json_decref(s.diagnosis);
  json_decref(s.documents);
  for (size_t e = 0; e < s.n_effects; e++) comp__effects_release(&s.effects[e]);
  comp__free(s.effects);
  comp__scores_release(&s.scores);
  comp__free(blocks);
  comp__free(page.text);
  comp__free(rows);
  return status;
}
