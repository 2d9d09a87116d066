/* prep.c: the steps of `comp prep`, in their order, each written to the record; and a record repeated on new data. */
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
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

static comp_status hvg_step(comp_context *context, comp_dataset *dataset, const comp__prep_options *o, bool on_counts) {
  if (o->hvg.flavor == COMP_HVG_NONE || on_counts != (o->hvg.flavor == COMP_HVG_VST)) return COMP_OK;
  comp__hvg_options hvg = o->hvg;
  hvg.force = hvg.force || o->force;
  comp_status status = comp__hvg_run(context, dataset, &hvg);
  if (status != COMP_OK) return status;
  return comp__record_step(dataset, json_pack("{s:s, s:s, s:I, s:s?, s:I, s:f}", "step", "hvg", "flavor",
                                              comp__hvg_flavor_name(hvg.flavor), "n", (json_int_t)hvg.n, "batch",
                                              hvg.batch, "bins", (json_int_t)hvg.bins, "span", hvg.span));
}

static comp_status subset_step(comp_dataset **dataset, comp_context *context, const comp__prep_options *o) {
  if (o->hvg.flavor == COMP_HVG_NONE || o->keep_all_genes) return COMP_OK;
  comp_status status = comp_hvg_subset(dataset, context);
  if (status != COMP_OK) return status;
  return comp__record_step(*dataset,
                           json_pack("{s:s, s:o}", "step", "subset", "features", comp__record_features(*dataset)));
}

/* Totals are worth keeping only while X is counts. */
static comp_status library_step(comp_context *context, comp_dataset *dataset, bool normalize) {
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, dataset->x);
  if (status != COMP_OK) return status;
  if (look.kind != COMP_DATA_COUNTS && !(normalize && look.kind == COMP_DATA_NORMALIZED)) return COMP_OK;
  return comp_library_sizes(context, dataset);
}

static comp_status keep_counts(comp_context *context, comp_dataset *dataset) {
  comp_matrix *copy;
  comp_status status = comp_matrix_select(&copy, context, dataset->x, NULL, 0, NULL, 0);
  if (status == COMP_OK) status = comp_dataset_set_matrix(dataset, COMP_SLOT_LAYERS, "counts", copy);
  return status;
}

comp_status comp__prep(comp_dataset **dataset, comp_context *context, const comp__prep_options *options) {
  comp_status status;
  double target;
  COMP__TRY(comp__options_check(&comp__prep_kind, options));
  if (!(*dataset)->x) COMP__FAIL(COMP_ERR_ARGUMENT, "the data set has no X");
  COMP__TRY(filter_step(dataset, context, &options->filter));
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

/* Normalises and logs as recorded, but nothing that has been done, or seems to have been. */
static comp_status repeat_scaling(comp_context *context, comp_dataset *d, const json_t *record) {
  comp_status status;
  json_t *normalize = comp__record_find(record, "normalize_total");
  bool scale = normalize && !comp__record_has(d, "normalize_total");
  bool log = comp__record_find(record, "log1p") && !comp__record_has(d, "log1p");
  if (!scale && !log) return COMP_OK;
  comp_data_look look;
  COMP__TRY(comp_data_look_at(&look, context, d->x));
  if (look.kind == COMP_DATA_CENTERED)
    COMP__FAIL(COMP_ERR_DATA, "X cannot be prepared as the model's data was: %s", look.reason);
  if (scale && look.kind != COMP_DATA_COUNTS) {
    comp__warn(context, "X does not look like counts (%s): it is taken as normalised%s already", look.reason,
               look.kind == COMP_DATA_LOG ? " and logged" : "");
    scale = false;
    log = log && look.kind != COMP_DATA_LOG;
  }
  if (look.kind == COMP_DATA_COUNTS) COMP__TRY(comp_library_sizes(context, d));
  if (scale) {
    double target = json_number_value(json_object_get(normalize, "target_sum"));
    if (!(target > 0.0)) COMP__FAIL(COMP_ERR_FORMAT, "the record of the preparation holds no target_sum");
    COMP__TRY(comp_normalize_total(NULL, context, d, target, false));
  }
  if (log) COMP__TRY(comp_log1p(context, d, true));
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
  comp__prep_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__prep_kind, options);
  return status == COMP_OK ? comp__prep(dataset, context, &plain) : status;
}
