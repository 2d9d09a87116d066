/* prep.c: the steps of `comp prep`, in their order, each written to the record; and a record repeated on new data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "prep/look.h"
#include "prep/options.h"
#include "prep/record.h"

static json_t *json_list(const char *const *items, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; list && i < n; i++)
    if (json_array_append_new(list, json_string(items[i])) != 0) {
      json_decref(list);
      return NULL;
    }
  return list;
}

static bool filters_anything(const comp__filter_options *f) {
  return f->n_keep > 0 || f->n_drop_genes > 0 || f->drop_empty_genes || f->min_gene_counts > 0.0 ||
         f->min_gene_cells > 0 || f->min_cell_counts > 0.0 || f->min_cell_genes > 0;
}

static comp_status filter_step(comp_dataset **dataset, comp_context *context, const comp__filter_options *f) {
  if (!filters_anything(f)) return COMP_OK;
  comp_status status = comp__filter(dataset, context, f);
  if (status != COMP_OK) return status;
  return comp__record_step(*dataset, json_pack("{s:s, s:o, s:o, s:b, s:f, s:I, s:f, s:I}", "step", "filter", "keep",
                                               json_list(f->keep, f->n_keep), "drop_genes",
                                               json_list(f->drop_genes, f->n_drop_genes), "drop_empty_genes",
                                               f->drop_empty_genes, "min_gene_counts", f->min_gene_counts,
                                               "min_gene_cells", (json_int_t)f->min_gene_cells, "min_cell_counts",
                                               f->min_cell_counts, "min_cell_genes", (json_int_t)f->min_cell_genes));
}

/* vst and auto choose on counts, the others on log data, where auto adds what differs. */
static comp_status hvg_step(comp_context *context, comp_dataset *dataset, const comp__prep_options *o, bool on_counts) {
  bool early = o->hvg.flavor == COMP_HVG_VST || o->hvg.flavor == COMP_HVG_AUTO;
  if (o->hvg.flavor == COMP_HVG_NONE) return COMP_OK;
  if (on_counts != early) return on_counts ? COMP_OK : comp__hvg_differ(context, dataset, &o->hvg);
  comp__hvg_options hvg = o->hvg;
  hvg.force = hvg.force || o->force;
  comp_status status = comp__hvg_run(context, dataset, &hvg);
  if (status != COMP_OK) return status;
  json_t *step =
      json_pack("{s:s, s:s, s:I, s:s?, s:I, s:f}", "step", "hvg", "flavor", comp__hvg_flavor_name(hvg.flavor), "n",
                (json_int_t)hvg.n, "batch", hvg.batch, "bins", (json_int_t)hvg.bins, "span", hvg.span);
  if (step && hvg.flavor == COMP_HVG_AUTO)
    json_object_update_new(step, json_pack("{s:s?, s:s?}", "condition", hvg.condition, "label", hvg.label));
  return comp__record_step(dataset, step);
}

static comp_status subset_step(comp_dataset **dataset, comp_context *context, const comp__prep_options *o) {
  if (o->hvg.flavor == COMP_HVG_NONE || o->keep_all_genes) return COMP_OK;
  comp_status status = comp__hvg_subset(dataset, context, o->keep_raw);
  if (status != COMP_OK) return status;
  return comp__record_step(*dataset,
                           json_pack("{s:s, s:o}", "step", "subset", "features", comp__record_features(*dataset)));
}

/* Totals are worth keeping only while X is counts. */
static comp_status library_step(comp_context *context, comp_dataset *dataset, bool normalize) {
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, dataset->x);
  if (status != COMP_OK) return status;
  bool counts = look.kind == COMP_DATA_COUNTS || look.kind == COMP_DATA_ESTIMATED;
  bool scaled = look.kind == COMP_DATA_NORMALIZED || look.kind == COMP_DATA_SCALED;
  return counts || (normalize && scaled) ? comp_library_sizes(context, dataset) : COMP_OK;
}

/* Whether two matrices hold the same numbers, in the same form. */
static bool are_same(const comp_matrix *a, const comp_matrix *b) {
  size_t n = comp_matrix_nnz(a);
  if (a->kind != b->kind || n != comp_matrix_nnz(b) || memcmp(a->values, b->values, n * sizeof *a->values) != 0)
    return false;
  if (a->kind == COMP_DENSE) return true;
  return memcmp(a->indptr, b->indptr, (a->rows + 1) * sizeof *a->indptr) == 0 &&
         memcmp(a->indices, b->indices, n * sizeof *a->indices) == 0;
}

comp_status comp__set_layer_aside(comp_context *context, comp_dataset *dataset, const char *name,
                                  const comp_matrix *same) {
  comp_matrix *old = comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, name), *copy;
  char aside[COMP_LAYER_ASIDE_SIZE];
  if (!old || (same && are_same(old, same))) return COMP_OK;
  snprintf(aside, sizeof aside, "%.*s_input", COMP_LAYER_ASIDE_SIZE - 16, name);
  for (int i = 2; comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, aside); i++)
    snprintf(aside, sizeof aside, "%.*s_input%d", COMP_LAYER_ASIDE_SIZE - 32, name, i);
  comp_status status = comp_matrix_select(&copy, context, old, NULL, 0, NULL, 0);
  if (status == COMP_OK) status = comp_dataset_set_matrix(dataset, COMP_SLOT_LAYERS, aside, copy);
  if (status != COMP_OK) return status;
  comp_dataset_remove_matrix(dataset, COMP_SLOT_LAYERS, name);
  comp__warn(context, "the input has a layer '%s', a name that comp writes: it is kept as '%s'", name, aside);
  return COMP_OK;
}

static comp_status keep_counts(comp_context *context, comp_dataset *dataset) {
  comp_matrix *copy;
  comp_status status = comp__set_layer_aside(context, dataset, "counts", dataset->x);
  if (status == COMP_OK) status = comp_matrix_select(&copy, context, dataset->x, NULL, 0, NULL, 0);
  if (status == COMP_OK) status = comp_dataset_set_matrix(dataset, COMP_SLOT_LAYERS, "counts", copy);
  return status;
}

comp_status comp__prep(comp_dataset **dataset, comp_context *context, const comp__prep_options *options) {
  comp_status status;
  double target;
  COMP__TRY(comp__options_check(&comp__prep_kind, options));
  if (!(*dataset)->x) COMP__FAIL(COMP_ERR_ARGUMENT, "the data set has no X");
  COMP__TRY(filter_step(dataset, context, &options->filter));
  if (options->to_counts) COMP__TRY(comp_to_counts(context, *dataset, options->condition));
  COMP__TRY(library_step(context, *dataset, options->normalize));
  COMP__TRY(hvg_step(context, *dataset, options, true));
  COMP__TRY(comp__check_interrupt(context));
  if (options->keep_counts) COMP__TRY(keep_counts(context, *dataset));
  if (options->normalize) {
    COMP__TRY(comp_normalize_total(&target, context, *dataset, options->target_sum, options->force));
    comp__info(context, "normalised every sample to a total of %g", target);
  }
  if (options->log1p) COMP__TRY(comp_log1p(context, *dataset, options->force));
  COMP__TRY(hvg_step(context, *dataset, options, false));
  COMP__TRY(subset_step(dataset, context, options));
done:
  return status;
}

/* Drops what the recorded expressions match. */
static comp_status repeat_drop(comp_dataset **dataset, comp_context *context, const json_t *record) {
  json_t *list = json_object_get(comp__record_find(record, "filter"), "drop_genes");
  size_t n = json_array_size(list);
  if (n == 0) return COMP_OK;
  comp_status status;
  const char **patterns = NULL;
  COMP__TRY(comp__alloc(&patterns, n, sizeof *patterns));
  for (size_t i = 0; i < n; i++) {
    patterns[i] = json_string_value(json_array_get(list, i));
    if (!patterns[i]) COMP__FAIL(COMP_ERR_FORMAT, "the record of the preparation holds a bad list of genes to drop");
  }
  comp__filter_options filter = comp__filter_defaults();
  filter.drop_genes = patterns;
  filter.n_drop_genes = n;
  COMP__TRY(comp__filter(dataset, context, &filter));
done:
  comp__free(patterns);
  return status;
}

/* Logarithms of another base, or of another total, than the record says: they are undone, so that X can be prepared as
 * recorded. Only where the total is known: with fewer genes it is another one. */
static bool is_other_log(const comp_data_look *look, double target) {
  if (look->kind != COMP_DATA_LOG || look->common_total == 0.0) return false;
  return comp__scale_of(look->log_base) != COMP__LOG_E || fabs(look->common_total / target - 1.0) > 0.01;
}

/* What is to be done to X, and what it looks like. */
typedef struct scaling {
  bool scale, log;
  double target;
  comp_data_look look;
} scaling;

/* What has been done, or seems to have been, is not done again. */
static comp_status settle(scaling *s, comp_context *context, comp_dataset *d) {
  comp_status status;
  COMP__TRY(comp_data_look_at(&s->look, context, d->x));
  if (s->look.negatives > 0)
    COMP__FAIL(COMP_ERR_DATA, "X cannot be prepared as the model's data was: %s", s->look.reason);
  if (s->scale && s->log &&
      (is_other_log(&s->look, s->target) || (s->look.kind == COMP_DATA_MIXED && s->look.linear))) {
    COMP__TRY(comp_to_counts(context, d, NULL));
    return COMP_OK;
  }
  bool counts =
      s->look.kind == COMP_DATA_COUNTS || s->look.kind == COMP_DATA_ESTIMATED || s->look.kind == COMP_DATA_SCALED;
  if (counts) COMP__TRY(comp_library_sizes(context, d));
  if (!s->scale || counts) return COMP_OK;
  comp__warn(context, "X does not look like counts (%s): it is taken as normalised%s already", s->look.reason,
             s->look.kind == COMP_DATA_LOG ? " and logged" : "");
  s->scale = false;
  s->log = s->log && s->look.kind != COMP_DATA_LOG;
done:
  return status;
}

/* Normalises and logs as recorded. */
static comp_status repeat_scaling(comp_context *context, comp_dataset *d, const json_t *record) {
  comp_status status;
  json_t *normalize = comp__record_find(record, "normalize_total");
  scaling s = {.scale = normalize && !comp__record_has(d, "normalize_total"),
               .log = comp__record_find(record, "log1p") && !comp__record_has(d, "log1p"),
               .target = json_number_value(json_object_get(normalize, "target_sum"))};
  if (!s.scale && !s.log) return COMP_OK;
  if (s.scale && !(s.target > 0.0)) COMP__FAIL(COMP_ERR_FORMAT, "the record of the preparation holds no target_sum");
  COMP__TRY(settle(&s, context, d));
  if (s.scale) COMP__TRY(comp_normalize_total(NULL, context, d, s.target, false));
  if (s.log) COMP__TRY(comp_log1p(context, d, true));
done:
  return status;
}

static comp_status repeat_subset(comp_dataset **dataset, comp_context *context, const json_t *record) {
  json_t *list = json_object_get(comp__record_find(record, "subset"), "features");
  size_t n = json_array_size(list);
  if (n == 0) return COMP_OK;
  comp_status status;
  const char **names = NULL;
  COMP__TRY(comp__alloc(&names, n, sizeof *names));
  for (size_t i = 0; i < n; i++) {
    names[i] = json_string_value(json_array_get(list, i));
    if (!names[i]) COMP__FAIL(COMP_ERR_FORMAT, "the record of the preparation holds a bad list of features");
  }
  COMP__TRY(comp_align_features(dataset, context, names, n));
  COMP__TRY(comp__record_step(*dataset,
                              json_pack("{s:s, s:o}", "step", "subset", "features", comp__record_features(*dataset))));
done:
  comp__free(names);
  return status;
}

comp_status comp_prep_apply_record(comp_dataset **dataset, comp_context *context, const char *record) {
  COMP__NEED(dataset && *dataset, context);
  json_t *parsed = NULL;
  comp_status status;
  COMP__TRY(comp__record_parse(&parsed, record));
  COMP__TRY(repeat_drop(dataset, context, parsed));
  COMP__TRY(repeat_scaling(context, *dataset, parsed));
  COMP__TRY(repeat_subset(dataset, context, parsed));
done:
  json_decref(parsed);
  return status;
}

comp_status comp_prep(comp_dataset **dataset, comp_context *context, const comp_options *options) {
  COMP__NEED(dataset && *dataset, context);
  comp__prep_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__prep_kind, options);
  return status == COMP_OK ? comp__prep(dataset, context, &plain) : status;
}
