/* hvg.c: highly variable genes: options, batches, columns in var. How genes are scored is in the files of the flavors.
 */
#include "prep/hvg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "prep/options.h"

/* A flavor is a row: its name, its function, the data that it wants, and its columns in var (NULL: does not have it).
 */
typedef struct flavor {
  const char *name;
  comp_status (*run)(comp__hvg *out, comp_context *context, const comp_dataset *dataset, const comp__batches *batches,
                     const comp__hvg_options *options);
  bool wants_counts;
  const char *spread, *norm, *rank;
} flavor;

static const flavor flavors[] = {
    [COMP_HVG_NONE] = {"none", NULL, false, NULL, NULL, NULL},
    [COMP_HVG_SEURAT] = {"seurat", comp__hvg_seurat, false, "dispersions", "dispersions_norm", NULL},
    [COMP_HVG_VST] = {"vst", comp__hvg_vst, true, "variances", "variances_norm", "highly_variable_rank"},
    [COMP_HVG_VARIANCE] = {"variance", comp__hvg_variance, false, "variances", NULL, NULL},
    [COMP_HVG_AUTO] = {"auto", comp__hvg_auto, false, "variances", "variances_norm", "highly_variable_rank"},
};
enum { FLAVORS = sizeof flavors / sizeof flavors[0] };

const char *comp__hvg_flavor_name(comp_hvg_flavor f) {
  return flavors[f].name;
}

comp_status comp__hvg_check(const comp__hvg_options *o) {
  if ((int)o->flavor < 0 || (int)o->flavor >= FLAVORS)
    return comp__error(COMP_ERR_ARGUMENT, "hvg.flavor: %d is none of the flavors", (int)o->flavor);
  if (o->flavor == COMP_HVG_NONE) return COMP_OK;
  if (o->n == 0) return comp__error(COMP_ERR_ARGUMENT, "hvg.n: 0 genes would be left");
  if (o->bins == 0 || o->bins > 10000)
    return comp__error(COMP_ERR_ARGUMENT, "hvg.bins: %zu is not within 1 .. 10000", o->bins);
  if (!(o->span > 0.0 && o->span <= 1.0))
    return comp__error(COMP_ERR_ARGUMENT, "hvg.span: %g is not above 0 and at most 1", o->span);
  return COMP_OK;
}

comp_status comp__hvg_parse(comp__hvg_options *out, const char *text) {
  const char *colon = strchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  for (int f = 0; f < FLAVORS; f++) {
    if (strlen(flavors[f].name) != length || strncmp(flavors[f].name, text, length) != 0) continue;
    if (colon) {
      char *end;
      unsigned long long n = strtoull(colon + 1, &end, 10);
      if (colon[1] < '0' || colon[1] > '9' || *end || n == 0 || n > INT32_MAX)
        return comp__error(COMP_ERR_ARGUMENT, "'%s' is not a number of genes", colon + 1);
      out->n = (size_t)n;
    }
    out->flavor = (comp_hvg_flavor)f;
    return COMP_OK;
  }
  return comp__error(COMP_ERR_ARGUMENT, "'%s' is not seurat, vst, variance or auto, with :N or without", text);
}

typedef struct ranked {
  double value;
  size_t index;
} ranked;

static int compare_ranked(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (isnan(x->value) != isnan(y->value)) return isnan(x->value) ? 1 : -1;
  if (x->value > y->value) return -1;
  if (x->value < y->value) return 1;
  return (x->index > y->index) - (x->index < y->index);
}

comp_status comp__order_descending(size_t *order, const double *value, size_t n) {
  ranked *items;
  comp_status status = comp__alloc(&items, n, sizeof *items);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) items[i] = (ranked){value[i], i};
  qsort(items, n, sizeof *items, compare_ranked);
  for (size_t i = 0; i < n; i++) order[i] = items[i].index;
  comp__free(items);
  return COMP_OK;
}

static int compare_candidates(const void *a, const void *b) {
  const comp__candidate *x = a, *y = b;
  if (x->first != y->first) return x->first > y->first ? -1 : 1;
  if (isnan(x->second) != isnan(y->second)) return isnan(x->second) ? 1 : -1;
  if (x->second < y->second) return -1;
  if (x->second > y->second) return 1;
  int by_name = strcmp(x->name, y->name);
  return by_name ? by_name : (x->gene > y->gene) - (x->gene < y->gene);
}

void comp__sort_candidates(comp__candidate *candidates, size_t n) {
  qsort(candidates, n, sizeof *candidates, compare_candidates);
}

void comp__batches_release(comp__batches *b) {
  comp__free(b->samples);
  comp__free(b->rows);
  *b = (comp__batches){0};
}

/* Rows by batch, in their order. */
static comp_status split(comp__batches *out, const comp_dataset *d, const comp_groups *groups) {
  comp_status status;
  COMP__TRY(comp__alloc(&out->rows, d->samples, sizeof *out->rows));
  COMP__TRY(comp__calloc(&out->samples, groups->n_levels, sizeof *out->samples));
  size_t at = 0;
  out->count = groups->n_levels;
  for (size_t b = 0; b < groups->n_levels; b++) {
    out->samples[b] = (comp__samples){d->x, out->rows + at, groups->counts[b]};
    for (size_t i = 0; i < d->samples; i++)
      if (groups->codes[i] == (int32_t)b) out->rows[at++] = i;
  }
done:
  return status;
}

comp_status comp__batches_find(comp__batches *out, comp_context *context, const comp_dataset *d, const char *column) {
  comp_status status;
  comp_groups groups = {0};
  if (!column) {
    COMP__TRY(comp__calloc(&out->samples, 1, sizeof *out->samples));
    out->count = 1;
    out->samples[0] = (comp__samples){d->x, NULL, d->samples};
    goto done;
  }
  size_t c;
  COMP__TRY(comp_table_require(&c, d->obs, column));
  COMP__TRY(comp_table_groups(&groups, d->obs, c));
  if (groups.n_levels == 0) COMP__FAIL(COMP_ERR_DATA, "column '%s' has no values: it cannot be a batch", column);
  for (size_t b = 0; b < groups.n_levels; b++)
    if (groups.counts[b] < 2)
      COMP__FAIL(COMP_ERR_DATA, "batch '%s' of column '%s' has a single sample: it has no variance", groups.levels[b],
                 column);
  size_t with = 0;
  for (size_t b = 0; b < groups.n_levels; b++) with += groups.counts[b];
  if (with < d->samples)
    comp__warn(context, "%zu samples have no value in column '%s': they have no part in choosing genes",
               d->samples - with, column);
  COMP__TRY(split(out, d, &groups));
done:
  comp_groups_release(&groups);
  return status;
}

/* The wrong kind of data gives numbers, too, and useless genes. */
static comp_status check_data(comp_context *context, const comp_dataset *d, const comp__hvg_options *o) {
  if (d->samples < 2) return comp__error(COMP_ERR_DATA, "variable genes: a single sample has no variance");
  comp_data_look look;
  comp_status status = comp_data_look_at(&look, context, d->x);
  if (status != COMP_OK || o->force) return status;
  const char *name = flavors[o->flavor].name;
  if (flavors[o->flavor].wants_counts && look.kind != COMP_DATA_COUNTS && look.kind != COMP_DATA_ESTIMATED)
    return comp__error(COMP_ERR_DATA,
                       "variable genes: flavor %s needs counts, and X does not look like counts (%s). Read the counts "
                       "(--layer), choose another flavor, or do it anyway (--force)",
                       name, look.reason);
  if (o->flavor == COMP_HVG_SEURAT && look.kind != COMP_DATA_LOG)
    return comp__error(COMP_ERR_DATA,
                       "variable genes: flavor %s needs logged data, and X does not look logged (%s). Add "
                       "--normalize-total median --log1p, or do it anyway (--force)",
                       name, look.reason);
  if (o->flavor == COMP_HVG_AUTO && look.negatives > 0)
    return comp__error(COMP_ERR_DATA, "variable genes: flavor %s needs counts, normalised values or logarithms (%s)",
                       name, look.reason);
  if (o->flavor == COMP_HVG_VARIANCE && look.kind == COMP_DATA_COUNTS)
    comp__warn(context,
               "variable genes: the variance of counts mostly follows their mean; log data is the usual input");
  return COMP_OK;
}

static void release(comp__hvg *h) {
  comp__free(h->chosen);
  comp__free(h->mean);
  comp__free(h->spread);
  comp__free(h->norm);
  comp__free(h->rank);
  comp__free(h->n_batches);
}

static comp_status init(comp__hvg *h, size_t genes, const flavor *f) {
  comp_status status;
  h->genes = genes;
  COMP__TRY(comp__calloc(&h->chosen, genes, sizeof *h->chosen));
  COMP__TRY(comp__calloc(&h->mean, genes, sizeof *h->mean));
  COMP__TRY(comp__calloc(&h->spread, genes, sizeof *h->spread));
  if (f->norm) COMP__TRY(comp__calloc(&h->norm, genes, sizeof *h->norm));
  if (f->rank) COMP__TRY(comp__calloc(&h->rank, genes, sizeof *h->rank));
  COMP__TRY(comp__calloc(&h->n_batches, genes, sizeof *h->n_batches));
done:
  return status;
}

static comp_status write_columns(comp_table *var, const comp__hvg *h, const flavor *f, bool batches) {
  comp_status status;
  int8_t *chosen = NULL;
  COMP__TRY(comp__alloc(&chosen, h->genes, sizeof *chosen));
  for (size_t j = 0; j < h->genes; j++) chosen[j] = h->chosen[j];
  COMP__TRY(comp_table_add_bools(var, "highly_variable", chosen));
  COMP__TRY(comp_table_add_numbers(var, "means", h->mean, false));
  COMP__TRY(comp_table_add_numbers(var, f->spread, h->spread, false));
  if (f->norm) COMP__TRY(comp_table_add_numbers(var, f->norm, h->norm, false));
  if (f->rank) COMP__TRY(comp_table_add_numbers(var, f->rank, h->rank, false));
  if (batches) COMP__TRY(comp_table_add_numbers(var, "highly_variable_nbatches", h->n_batches, true));
done:
  comp__free(chosen);
  return status;
}

comp_status comp__hvg_run(comp_context *context, comp_dataset *dataset, const comp__hvg_options *options) {
  comp_status status = comp__hvg_check(options);
  if (status != COMP_OK || options->flavor == COMP_HVG_NONE) return status;
  const flavor *f = &flavors[options->flavor];
  comp__batches batches = {0};
  comp__hvg h = {0};
  COMP__TRY(check_data(context, dataset, options));
  const char *by = options->flavor == COMP_HVG_AUTO && !options->batch ? options->condition : options->batch;
  COMP__TRY(comp__batches_find(&batches, context, dataset, by));
  COMP__TRY(init(&h, dataset->features, f));
  COMP__TRY(f->run(&h, context, dataset, &batches, options));
  COMP__TRY(write_columns(dataset->var, &h, f, by));
  size_t chosen = 0;
  for (size_t j = 0; j < h.genes; j++) chosen += h.chosen[j];
  if (chosen == 0) COMP__FAIL(COMP_ERR_DATA, "variable genes: no gene varies at all");
  if (chosen < options->n)
    comp__warn(context, "variable genes: %zu genes were asked for, but only %zu vary", options->n, chosen);
  bool more = options->flavor == COMP_HVG_AUTO && options->condition; /* the message comes with what is added */
  if (!more) comp__info(context, "chose %zu of %zu genes (%s)", chosen, h.genes, f->name);
done:
  release(&h);
  comp__batches_release(&batches);
  return status;
}

/* Makes the raw part of `left` of what is no longer needed. */
static void keep_raw(comp_dataset *left, comp_dataset *d) {
  for (int slot = 0; slot < 2; slot++)
    while (d->slots[slot].count > 0) comp_dataset_remove_matrix(d, (comp_slot)slot, d->slots[slot].entries[0].name);
  comp_dataset_free(left->raw);
  left->raw = d;
}

comp_status comp__hvg_subset(comp_dataset **dataset, comp_context *context, bool raw) {
  comp_status status;
  comp_dataset *d = *dataset, *left = NULL;
  size_t *cols = NULL, c, n = 0;
  COMP__TRY(comp_table_require(&c, d->var, "highly_variable"));
  if (comp_table_column_kind(d->var, c) != COMP_COLUMN_BOOL)
    COMP__FAIL(COMP_ERR_DATA, "the column highly_variable of var does not hold bools");
  COMP__TRY(comp__alloc(&cols, d->features, sizeof *cols));
  for (size_t j = 0; j < d->features; j++)
    if (comp_table_bool(d->var, c, j) == 1) cols[n++] = j;
  if (n == 0) COMP__FAIL(COMP_ERR_DATA, "no gene is marked as highly variable");
  COMP__TRY(comp_dataset_select(&left, context, d, NULL, 0, cols, n));
  if (raw && n < d->features)
    keep_raw(left, d);
  else
    comp_dataset_free(d);
  *dataset = left;
done:
  comp__free(cols);
  return status;
}

comp_status comp_hvg_subset(comp_dataset **dataset, comp_context *context) {
  COMP__NEED(dataset && *dataset, context);
  return comp__hvg_subset(dataset, context, false);
}

comp_status comp_hvg(comp_context *context, comp_dataset *dataset, const comp_options *options) {
  COMP__NEED(context, dataset);
  comp__prep_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__prep_kind, options);
  plain.hvg.force = plain.force;
  if (status == COMP_OK) status = comp__dataset_need_x(dataset);
  return status == COMP_OK ? comp__hvg_run(context, dataset, &plain.hvg) : status;
}
