/* gather.h: the parts of the page's data, each as JSON (docs/formats.md: the report's data). */
#ifndef COMP_REPORT_GATHER_H
#define COMP_REPORT_GATHER_H

#include <jansson.h>

#include "report/effects.h"
#include "report/options.h"
#include "verdict/json.h"
#include "verdict/scores.h"

/* What the parts are made from. */
typedef struct comp__subject {
  comp_context *context;
  const comp_dataset *dataset;
  const comp_model *model; /* NULL: none */
  const comp__report_options *options;
  const char *condition, *label; /* as decided; NULL: none */
  const char *before, *after;    /* maps, as decided; NULL: none */
  const char *kind;              /* of the model, "comp"; NULL: none */
  const char *noun;              /* what a feature is called: "gene" or "feature" */
  const size_t *rows;            /* the samples on the map, ascending */
  size_t n_rows;
  comp__effects *effects; /* one for each change of condition that was predicted */
  size_t n_effects;
  size_t n_alone; /* predicted changes that no label has both sides of */
  comp__scores scores;
  json_t *documents; /* the files of scores, as they are; a list */
  json_t *history;   /* a list; NULL: no model */
  json_t *config;    /* of the model; NULL: none */
  json_t *diagnosis; /* the file of comp diagnose, as it is; NULL: none */
} comp__subject;

/* Each makes a value that the caller owns; NULL in *out with an error. */
comp_status comp__gather_maps(json_t **out, const comp__subject *subject);
comp_status comp__gather_columns(json_t **out, const comp__subject *subject);
comp_status comp__gather_names(json_t **out, const comp__subject *subject);
comp_status comp__gather_effects(json_t **out, const comp__subject *subject);

/* The features to colour by: in *out their names and places in the text *blocks, one packed block of bytes a feature.
 * The text should be freed via comp__free(). */
comp_status comp__gather_genes(json_t **out, char **blocks, const comp__subject *subject);

/* How many samples of each label (and of a column that is to be predicted) there are in each condition, in the data
 * that is shown, as the JSON text of comp_design_json(). It should be freed via comp_free(). */
comp_status comp__subject_design(char **out, const comp__subject *subject);

/* What the numbers mean: the list of findings of src/verdict. */
comp_status comp__gather_findings(json_t **out, const comp__subject *subject);

#endif
