/*
 * hvg_auto.c: flavor "auto", the default of `comp run`: genes that vary within conditions, and genes that differ
 * between them.
 *
 * First, on what X was before it was normalised: vst in each condition, ranks merged, among the genes that enough
 * samples have. Logarithms are undone for it: vst needs a linear scale on which the variance follows the mean, not
 * whole numbers. A gene that changes in some cell types only varies within a condition, and is found here. One that
 * changes alike in all samples varies in none. So, second, on the log data (comp__hvg_differ()): the genes of the
 * largest and of the surest changes between conditions, over all samples and within labels.
 */
#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "prep/hvg.h"
#include "prep/look.h"
#include "prep/options.h"

/* A change counts when its z is at least this: by chance one gene in a million has it. The normal distribution needs
 * numbers: a side of a comparison has so many samples, and so many of the smaller side would have the gene if nothing
 * differed. Genes that differ are at most one in SHARE of n. */
static const double LEAST_Z = 5.0, LEAST_EXPECTED = 5.0;
enum { LEAST_SIDE = 10, SHARE = 4 };

/* ---- Genes that vary ------------------------------------------------------------------------------------------- */

size_t comp__hvg_least_samples(size_t samples) {
  size_t percent = samples / 100;
  return percent < 3 ? 3 : percent > 10 ? 10 : percent;
}

static double undo_e(double value) {
  return comp__scale_undo(COMP__LOG_E, value);
}

static double undo_2(double value) {
  return comp__scale_undo(COMP__LOG_2, value);
}

static double undo_10(double value) {
  return comp__scale_undo(COMP__LOG_10, value);
}

/* What undoes the logarithm. Of an unknown base: log2 where the natural one would mean more than 9 million. */
static comp__transform_fn undo_of(const comp_data_look *look) {
  if (look->kind != COMP_DATA_LOG) return NULL;
  if (look->log_base == 0.0) return look->max > 16.0 ? undo_2 : undo_e;
  return look->log_base == 2.0 ? undo_2 : look->log_base == 10.0 ? undo_10 : undo_e;
}

/* Genes that *least samples have; that any has, when these would be fewer than are wanted. */
static comp_status find_candidates(bool *use, size_t *n_use, size_t *least, comp_context *context,
                                   const comp_dataset *d, size_t wanted) {
  double *seen;
  comp_status status = comp__alloc(&seen, d->features, sizeof *seen);
  if (status != COMP_OK) return status;
  *least = comp__hvg_least_samples(d->samples);
  status = comp__feature_moments(NULL, NULL, seen, context, (comp__samples){d->x, NULL, d->samples}, NULL);
  for (*n_use = 0; status == COMP_OK; *least = 1) {
    *n_use = 0;
    for (size_t j = 0; j < d->features; j++) {
      use[j] = seen[j] >= (double)*least;
      *n_use += use[j];
    }
    if (*n_use >= wanted || *least == 1) break;
  }
  comp__free(seen);
  return status;
}

comp_status comp__hvg_auto(comp__hvg *out, comp_context *context, const comp_dataset *dataset,
                           const comp__batches *batches, const comp__hvg_options *options) {
  comp_status status;
  bool *use = NULL;
  size_t n, least;
  comp_data_look look;
  COMP__TRY(comp__alloc(&use, out->genes, sizeof *use));
  COMP__TRY(find_candidates(use, &n, &least, context, dataset, options->n));
  COMP__TRY(comp_data_look_at(&look, context, dataset->x));
  out->use = use;
  out->undo = undo_of(&look);
  COMP__TRY(comp__hvg_vst(out, context, dataset, batches, options));
  comp__info(context, "%zu of %zu genes are seen in %zu samples or more: the choice is among them", n, out->genes,
             least);
done:
  out->use = NULL;
  comp__free(use);
  return status;
}

/* ---- Genes that differ ----------------------------------------------------------------------------------------- */

/* The best rank that a gene has in any comparison; SIZE_MAX: none. */
typedef struct changes {
  comp_context *context;
  const comp_dataset *dataset;
  const bool *use;
  size_t genes;
  size_t *best;            /* [genes]: the list that is filled at present */
  double *mean, *variance; /* [conditions x genes] */
  double *seen;            /* [conditions x genes]: samples that have the gene */
  double *z, *change;      /* [genes] */
  size_t *order;           /* [genes] */
  size_t comparisons;
} changes;

/* The normal deviate that is as sure as t is with these degrees of freedom. */
static double normal_of(double t, double freedom) {
  return fabs(t) * (1.0 - 1.0 / (4.0 * freedom)) / sqrt(1.0 + t * t / (2.0 * freedom));
}

/* Mean, variance and number of samples on one side. */
typedef struct side {
  double n, mean, variance;
} side;

/* The smaller of Welch's and Student's: a side in which no sample has the gene has no variance, and Welch's t is too
 * sure; where the smaller side varies more, Student's is. */
static double sureness(const side *a, const side *b) {
  double u = a->variance / a->n, v = b->variance / b->n, difference = a->mean - b->mean;
  double pooled = ((a->n - 1.0) * a->variance + (b->n - 1.0) * b->variance) / (a->n + b->n - 2.0);
  if (!(u + v > 0.0)) return 0.0;
  double freedom = (u + v) * (u + v) / (u * u / (a->n - 1.0) + v * v / (b->n - 1.0));
  double welch = normal_of(difference / sqrt(u + v), freedom);
  double student = normal_of(difference / sqrt(pooled * (1.0 / a->n + 1.0 / b->n)), a->n + b->n - 2.0);
  return fmin(welch, student);
}

/* One gene of condition c against all other conditions: its change, and how sure that is (0: too few samples have it).
 */
static void compare_gene(changes *w, const comp__batches *b, size_t c, size_t gene) {
  side one = {(double)b->samples[c].n, w->mean[c * w->genes + gene], w->variance[c * w->genes + gene]}, rest = {0};
  double seen = 0.0, squares = 0.0;
  for (size_t k = 0; k < b->count; k++) {
    seen += w->seen[k * w->genes + gene];
    if (k == c) continue;
    rest.n += (double)b->samples[k].n;
    rest.mean += (double)b->samples[k].n * w->mean[k * w->genes + gene];
  }
  rest.mean /= rest.n;
  for (size_t k = 0; k < b->count; k++) {
    double n = (double)b->samples[k].n, from = w->mean[k * w->genes + gene] - rest.mean;
    if (k != c) squares += (n - 1.0) * w->variance[k * w->genes + gene] + n * from * from;
  }
  rest.variance = squares / (rest.n - 1.0);
  bool enough = seen / (one.n + rest.n) * fmin(one.n, rest.n) >= LEAST_EXPECTED;
  w->change[gene] = fabs(one.mean - rest.mean);
  w->z[gene] = enough ? sureness(&one, &rest) : 0.0;
}

/* Ranks of one list: the genes whose change is sure, from the largest value on. */
static comp_status rank_genes(changes *w, const double *value) {
  comp_status status = comp__order_descending(w->order, value, w->genes);
  for (size_t k = 0; k < w->genes && status == COMP_OK && !isnan(value[w->order[k]]); k++)
    if (k < w->best[w->order[k]]) w->best[w->order[k]] = k;
  return status;
}

static comp_status compare_condition(changes *w, const comp__batches *b, size_t c) {
  for (size_t j = 0; j < w->genes; j++) {
    compare_gene(w, b, c, j);
    if (w->use[j] && w->z[j] >= LEAST_Z) continue;
    w->z[j] = w->change[j] = NAN;
  }
  w->comparisons++;
  comp_status status = rank_genes(w, w->z);
  return status == COMP_OK ? rank_genes(w, w->change) : status;
}

/* All conditions of some samples, each against the others. Those with few samples have no part in it. */
static comp_status compare_all(changes *w, comp__batches *b) {
  comp_status status = COMP_OK;
  size_t left = 0;
  for (size_t k = 0; k < b->count; k++)
    if (b->samples[k].n >= LEAST_SIDE) b->samples[left++] = b->samples[k];
  b->count = left;
  if (left < 2) return COMP_OK;
  for (size_t k = 0; k < left; k++)
    COMP__TRY(comp__feature_moments(w->mean + k * w->genes, w->variance + k * w->genes, w->seen + k * w->genes,
                                    w->context, b->samples[k], NULL));
  for (size_t c = 0; c < (left == 2 ? 1 : left); c++) COMP__TRY(compare_condition(w, b, c));
done:
  return status;
}

/* The samples of each condition that have this label (labels NULL: all). */
static void split_by(comp__batches *b, const comp_dataset *d, const comp_groups *conditions, const comp_groups *labels,
                     size_t label) {
  size_t at = 0;
  b->count = conditions->n_levels;
  for (size_t c = 0; c < conditions->n_levels; c++) {
    size_t first = at;
    for (size_t i = 0; i < d->samples; i++)
      if (conditions->codes[i] == (int32_t)c && (!labels || labels->codes[i] == (int32_t)label)) b->rows[at++] = i;
    b->samples[c] = (comp__samples){d->x, b->rows + first, at - first};
  }
}

/* Fills `overall` and `within`, the best ranks over all samples and within labels. */
static comp_status compare_everywhere(changes *w, size_t *overall, size_t *within, const comp_groups *conditions,
                                      const comp_groups *labels) {
  comp_status status;
  comp__batches b = {0};
  for (size_t j = 0; j < w->genes; j++) overall[j] = within[j] = SIZE_MAX;
  COMP__TRY(comp__alloc(&b.rows, w->dataset->samples, sizeof *b.rows));
  COMP__TRY(comp__alloc(&b.samples, conditions->n_levels, sizeof *b.samples));
  w->best = overall;
  split_by(&b, w->dataset, conditions, NULL, 0);
  COMP__TRY(compare_all(w, &b));
  w->best = within;
  for (size_t l = 0; l < labels->n_levels; l++) {
    COMP__TRY(comp__check_interrupt(w->context));
    split_by(&b, w->dataset, conditions, labels, l);
    COMP__TRY(compare_all(w, &b));
  }
done:
  comp__batches_release(&b);
  return status;
}

/* Marks genes by rank until `most` are marked. */
static comp_status take_best(bool *taken, size_t *n, const changes *w, const size_t *best, size_t most) {
  comp__candidate *list;
  size_t count = 0;
  comp_status status = comp__alloc(&list, w->genes, sizeof *list);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < w->genes; j++)
    if (best[j] != SIZE_MAX)
      list[count++] = (comp__candidate){0.0, (double)best[j], comp__strings_get(&w->dataset->var_names, j), j};
  comp__sort_candidates(list, count);
  for (size_t i = 0; i < count && *n < most; i++) {
    *n += !taken[list[i].gene];
    taken[list[i].gene] = true;
  }
  comp__free(list);
  return COMP_OK;
}

/* Half of the places are for changes over all samples, the rest for those within labels, then for either. */
static comp_status take_genes(bool *taken, size_t *n, const changes *w, const size_t *overall, const size_t *within,
                              size_t most) {
  comp_status status = take_best(taken, n, w, overall, most / 2);
  if (status == COMP_OK) status = take_best(taken, n, w, within, most);
  return status == COMP_OK ? take_best(taken, n, w, overall, most) : status;
}

static comp_status changes_init(changes *w, size_t conditions) {
  comp_status status;
  size_t room;
  if (!comp__size_mul(&room, conditions, w->genes)) room = SIZE_MAX;
  COMP__TRY(comp__alloc(&w->mean, room, sizeof *w->mean));
  COMP__TRY(comp__alloc(&w->variance, room, sizeof *w->variance));
  COMP__TRY(comp__alloc(&w->seen, room, sizeof *w->seen));
  COMP__TRY(comp__alloc(&w->z, w->genes, sizeof *w->z));
  COMP__TRY(comp__alloc(&w->change, w->genes, sizeof *w->change));
  COMP__TRY(comp__alloc(&w->order, w->genes, sizeof *w->order));
done:
  return status;
}

static void changes_release(changes *w) {
  comp__free(w->mean);
  comp__free(w->variance);
  comp__free(w->seen);
  comp__free(w->z);
  comp__free(w->change);
  comp__free(w->order);
}

/* Which genes differ. */
static comp_status find_changes(bool *taken, size_t *n, changes *w, const comp_groups *conditions,
                                const comp_groups *labels, size_t most) {
  comp_status status;
  size_t *overall = NULL, *within = NULL;
  COMP__TRY(comp__alloc(&overall, w->genes, sizeof *overall));
  COMP__TRY(comp__alloc(&within, w->genes, sizeof *within));
  COMP__TRY(changes_init(w, conditions->n_levels));
  COMP__TRY(compare_everywhere(w, overall, within, conditions, labels));
  COMP__TRY(take_genes(taken, n, w, overall, within, most));
done:
  comp__free(overall);
  comp__free(within);
  changes_release(w);
  return status;
}

/* Adds them to var: highly_variable, and differs_by_condition. *more: those that were not chosen before. */
static comp_status mark_genes(size_t *more, size_t *variable, comp_dataset *d, const bool *taken) {
  comp_status status;
  int8_t *chosen = NULL, *differs = NULL;
  size_t c;
  COMP__TRY(comp_table_require(&c, d->var, "highly_variable"));
  COMP__TRY(comp__alloc(&chosen, d->features, sizeof *chosen));
  COMP__TRY(comp__alloc(&differs, d->features, sizeof *differs));
  *more = *variable = 0;
  for (size_t j = 0; j < d->features; j++) {
    bool before = comp_table_bool(d->var, c, j) == 1;
    *variable += before;
    *more += taken[j] && !before;
    chosen[j] = before || taken[j];
    differs[j] = taken[j];
  }
  COMP__TRY(comp_table_add_bools(d->var, "highly_variable", chosen));
  COMP__TRY(comp_table_add_bools(d->var, "differs_by_condition", differs));
done:
  comp__free(chosen);
  comp__free(differs);
  return status;
}

static comp_status read_groups(comp_groups *out, const comp_dataset *d, const char *column) {
  size_t c;
  if (!column) return COMP_OK;
  comp_status status = comp_table_require(&c, d->obs, column);
  return status == COMP_OK ? comp_table_groups(out, d->obs, c) : status;
}

static void tell(comp_context *context, const comp__hvg_options *o, size_t genes, const size_t numbers[3]) {
  char more[160];
  if (numbers[2] == 0)
    snprintf(more, sizeof more, "no gene differs significantly between conditions");
  else
    snprintf(more, sizeof more, "%zu more of the top %zu DE genes between conditions", numbers[1], numbers[2]);
  comp__info(context, "%zu of %zu genes are kept: the %zu most variable ones within each '%s' (vst); %s, %s%s%s%s",
             numbers[0] + numbers[1], genes, numbers[0], o->condition, more, "over all samples",
             o->label ? " or within one '" : "", o->label ? o->label : "", o->label ? "'" : "");
}

comp_status comp__hvg_differ(comp_context *context, comp_dataset *dataset, const comp__hvg_options *options) {
  if (options->flavor != COMP_HVG_AUTO || !options->condition) return COMP_OK;
  comp_status status;
  comp_groups conditions = {0}, labels = {0};
  bool *use = NULL, *taken = NULL;
  size_t n_use, least, more, variable, n = 0;
  COMP__TRY(read_groups(&conditions, dataset, options->condition));
  COMP__TRY(read_groups(&labels, dataset, options->label));
  COMP__TRY(comp__alloc(&use, dataset->features, sizeof *use));
  COMP__TRY(comp__calloc(&taken, dataset->features, sizeof *taken));
  COMP__TRY(find_candidates(use, &n_use, &least, context, dataset, options->n));
  changes w = {.context = context, .dataset = dataset, .use = use, .genes = dataset->features};
  COMP__TRY(find_changes(taken, &n, &w, &conditions, &labels, options->n / SHARE));
  COMP__TRY(mark_genes(&more, &variable, dataset, taken));
  tell(context, options, dataset->features, (const size_t[]){variable, more, n});
done:
  comp__free(use);
  comp__free(taken);
  comp_groups_release(&conditions);
  comp_groups_release(&labels);
  return status;
}
