/* filter.c: leaving out samples and genes. All filters are put together first, and the data set is copied once. */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"
#include "prep/moments.h"
#include "prep/options.h"

comp_status comp__filter_check(const comp__filter_options *o) {
  for (size_t i = 0; i < o->n_keep; i++) {
    const char *equals = o->keep[i] ? strchr(o->keep[i], '=') : NULL;
    if (!equals || equals == o->keep[i] || !equals[1])
      return comp__error(COMP_ERR_ARGUMENT,
                         "'%s' does not say which samples to keep: it is not of the form COLUMN=VALUE[,VALUE...]",
                         o->keep[i] ? o->keep[i] : "");
  }
  for (size_t i = 0; i < o->n_drop_genes; i++)
    if (!o->drop_genes[i] || !o->drop_genes[i][0])
      return comp__error(COMP_ERR_ARGUMENT, "an empty regular expression would drop every gene");
  if (!(o->min_gene_counts >= 0.0) || !isfinite(o->min_gene_counts))
    return comp__error(COMP_ERR_ARGUMENT, "min-gene-counts: %g is not 0 or more", o->min_gene_counts);
  if (!(o->min_cell_counts >= 0.0) || !isfinite(o->min_cell_counts))
    return comp__error(COMP_ERR_ARGUMENT, "min-cell-counts: %g is not 0 or more", o->min_cell_counts);
  return COMP_OK;
}

/* What is still in. */
typedef struct masks {
  bool *rows, *cols;
  size_t n_rows, n_cols;
} masks;

static comp_status mask_init(bool **out, size_t n) {
  comp_status status = comp__alloc(out, n, sizeof **out);
  if (status == COMP_OK) memset(*out, 1, n * sizeof **out);
  return status;
}

static size_t count_true(const bool *mask, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += mask[i];
  return count;
}

/* The indices at which a mask is true. It should be freed via comp__free(). */
static comp_status mask_indices(size_t **out, size_t *count, const bool *mask, size_t n) {
  *count = count_true(mask, n);
  comp_status status = comp__alloc(out, *count, sizeof **out);
  if (status != COMP_OK) return status;
  for (size_t i = 0, k = 0; i < n; i++)
    if (mask[i]) (*out)[k++] = i;
  return COMP_OK;
}

/* The level that a text means; true and false may be written in any case. */
static comp_status find_level(size_t *out, const comp_groups *groups, const char *value, const char *column,
                              bool is_bool) {
  for (size_t l = 0; l < groups->n_levels; l++) {
    *out = l;
    if (strcmp(groups->levels[l], value) == 0) return COMP_OK;
    if (is_bool && strcasecmp(groups->levels[l], value) == 0) return COMP_OK;
  }
  const comp_hint hint = comp__groups_hint(groups, value);
  if (hint.text[0]) return comp__error(COMP_ERR_DATA, "no sample has '%s' in column '%s'%s", value, column, hint.text);
  return comp__error(COMP_ERR_DATA, "no sample has '%s' in column '%s', which has %zu values, such as '%s'", value,
                     column, groups->n_levels, groups->n_levels ? groups->levels[0] : "");
}

/* Marks the levels of a list "V1,V2". A value may itself hold a comma: the whole list is tried as one value first. */
static comp_status mark_levels(bool *wanted, const comp_groups *groups, char *list, const char *column, bool is_bool) {
  for (size_t l = 0; l < groups->n_levels; l++)
    if (strcmp(groups->levels[l], list) == 0) {
      wanted[l] = true;
      return COMP_OK;
    }
  char *rest = list;
  for (char *value; (value = strsep(&rest, ","));) {
    size_t level = 0;
    comp_status status = find_level(&level, groups, value, column, is_bool);
    if (status != COMP_OK) return status;
    wanted[level] = true;
  }
  return COMP_OK;
}

static comp_status keep_samples(masks *m, const comp_dataset *dataset, const char *rule) {
  comp_status status;
  comp_groups groups = {0};
  char *column = NULL;
  bool *wanted = NULL;
  size_t c;
  COMP__TRY(comp__strdup(&column, rule));
  char *list = strchr(column, '=');
  *list++ = '\0';
  COMP__TRY(comp_table_require(&c, dataset->obs, column));
  COMP__TRY(comp_table_groups(&groups, dataset->obs, c));
  COMP__TRY(comp__calloc(&wanted, groups.n_levels, sizeof *wanted));
  COMP__TRY(mark_levels(wanted, &groups, list, column, comp_table_column_kind(dataset->obs, c) == COMP_COLUMN_BOOL));
  for (size_t i = 0; i < dataset->samples; i++)
    m->rows[i] = m->rows[i] && groups.codes[i] >= 0 && wanted[groups.codes[i]];
done:
  comp__free(wanted);
  comp__free(column);
  comp_groups_release(&groups);
  return status;
}

static comp_status drop_matching(masks *m, comp_context *context, const comp_dataset *dataset, const char *pattern) {
  regex_t regex;
  int failed = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
  if (failed) {
    char reason[200];
    regerror(failed, &regex, reason, sizeof reason);
    return comp__error(COMP_ERR_ARGUMENT, "'%s', which names the genes to drop, is not a regular expression: %s",
                       pattern, reason);
  }
  size_t dropped = 0;
  for (size_t j = 0; j < dataset->features; j++) {
    const char *name = comp_dataset_var_name(dataset, j);
    if (!m->cols[j] || regexec(&regex, name, 0, NULL, 0) != 0) continue;
    m->cols[j] = false;
    dropped++;
  }
  regfree(&regex);
  if (dropped == 0) comp__warn(context, "no gene name matches '%s': nothing was dropped by it", pattern);
  return COMP_OK;
}

static comp_status filter_samples(masks *m, comp_context *context, const comp_dataset *d,
                                  const comp__filter_options *o) {
  if (o->min_cell_counts <= 0.0 && o->min_cell_genes == 0) return COMP_OK;
  comp_status status;
  double *sum = NULL, *nonzero = NULL;
  COMP__TRY(comp__alloc(&sum, d->samples, sizeof *sum));
  COMP__TRY(comp__alloc(&nonzero, d->samples, sizeof *nonzero));
  COMP__TRY(comp__sample_sums(sum, nonzero, context, d->x, m->cols));
  for (size_t i = 0; i < d->samples; i++)
    m->rows[i] = m->rows[i] && sum[i] >= o->min_cell_counts && nonzero[i] >= (double)o->min_cell_genes;
done:
  comp__free(sum);
  comp__free(nonzero);
  return status;
}

static comp_status filter_genes(masks *m, comp_context *context, const comp_dataset *d, const comp__filter_options *o) {
  double least = o->min_gene_cells > 0 ? (double)o->min_gene_cells : o->drop_empty_genes ? 1.0 : 0.0;
  if (o->min_gene_counts <= 0.0 && least <= 0.0) return COMP_OK;
  comp_status status;
  double *mean = NULL, *nonzero = NULL;
  size_t *rows = NULL, n;
  COMP__TRY(mask_indices(&rows, &n, m->rows, d->samples));
  COMP__TRY(comp__alloc(&mean, d->features, sizeof *mean));
  COMP__TRY(comp__alloc(&nonzero, d->features, sizeof *nonzero));
  COMP__TRY(comp__feature_moments(mean, NULL, nonzero, context, (comp__samples){d->x, rows, n}, NULL));
  for (size_t j = 0; j < d->features; j++) {
    /* A total that went through a mean may be a rounding below the whole number that it is. */
    bool enough = mean[j] * (double)n >= o->min_gene_counts * (1.0 - 1e-12);
    m->cols[j] = m->cols[j] && nonzero[j] >= least && (o->min_gene_counts <= 0.0 || enough);
  }
done:
  comp__free(rows);
  comp__free(mean);
  comp__free(nonzero);
  return status;
}

/* An error when the last filter left nothing. */
static comp_status check_left(masks *m, const comp_dataset *d, const char *filter) {
  m->n_rows = count_true(m->rows, d->samples);
  m->n_cols = count_true(m->cols, d->features);
  if (m->n_rows > 0 && m->n_cols > 0) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "%s leaves none of %zu %s", filter, m->n_rows ? d->features : d->samples,
                     m->n_rows ? "genes" : "samples");
}

static comp_status find_masks(masks *m, comp_context *context, const comp_dataset *d, const comp__filter_options *o) {
  comp_status status;
  char filter[256];
  COMP__TRY(mask_init(&m->rows, d->samples));
  COMP__TRY(mask_init(&m->cols, d->features));
  COMP__TRY(check_left(m, d, "the input"));
  for (size_t i = 0; i < o->n_keep; i++) {
    COMP__TRY(keep_samples(m, d, o->keep[i]));
    snprintf(filter, sizeof filter, "keeping %s", o->keep[i]);
    COMP__TRY(check_left(m, d, filter));
  }
  for (size_t i = 0; i < o->n_drop_genes; i++) {
    COMP__TRY(drop_matching(m, context, d, o->drop_genes[i]));
    snprintf(filter, sizeof filter, "dropping genes that match '%s'", o->drop_genes[i]);
    COMP__TRY(check_left(m, d, filter));
  }
  COMP__TRY(filter_samples(m, context, d, o));
  COMP__TRY(check_left(m, d, "the least counts or genes of a sample"));
  COMP__TRY(filter_genes(m, context, d, o));
  COMP__TRY(check_left(m, d, "the least counts or samples of a gene"));
done:
  return status;
}

comp_status comp__filter_kept(bool *out, const comp_dataset *dataset, const comp__filter_options *options) {
  comp_status status = comp__filter_check(options);
  masks m = {.rows = out};
  memset(out, 1, dataset->samples * sizeof *out);
  for (size_t i = 0; i < options->n_keep && status == COMP_OK; i++)
    status = keep_samples(&m, dataset, options->keep[i]);
  return status;
}

comp_status comp__filter(comp_dataset **dataset, comp_context *context, const comp__filter_options *options) {
  comp_status status;
  comp_dataset *d = *dataset, *left = NULL;
  masks m = {0};
  size_t *rows = NULL, *cols = NULL;
  COMP__TRY(comp__filter_check(options));
  COMP__TRY(find_masks(&m, context, d, options));
  if (m.n_rows == d->samples && m.n_cols == d->features) goto done; /* no copy for nothing */
  COMP__TRY(mask_indices(&rows, &m.n_rows, m.rows, d->samples));
  COMP__TRY(mask_indices(&cols, &m.n_cols, m.cols, d->features));
  COMP__TRY(comp_dataset_select(&left, context, d, m.n_rows < d->samples ? rows : NULL, m.n_rows,
                                m.n_cols < d->features ? cols : NULL, m.n_cols));
  comp__info(context, "kept %zu of %zu samples and %zu of %zu genes", m.n_rows, d->samples, m.n_cols, d->features);
  comp_dataset_free(d);
  *dataset = left;
done:
  comp__free(rows);
  comp__free(cols);
  comp__free(m.rows);
  comp__free(m.cols);
  return status;
}

comp_status comp_filter(comp_dataset **dataset, comp_context *context, const comp_options *options) {
  COMP__NEED(dataset && *dataset, context);
  comp__prep_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__prep_kind, options);
  if (status == COMP_OK) status = comp__dataset_need_x(*dataset);
  return status == COMP_OK ? comp__filter(dataset, context, &plain.filter) : status;
}
