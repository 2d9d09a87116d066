/* judge.c: see judge.h. */
#include "map/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/classify.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "neighbors/options.h"
#include "neighbors/overlap.h"

/* Parts that the reference is divided into. */
enum { PARTS = 5 };

/* Neighbours of the same side that a score is smoothed over. */
enum { SMOOTH = 15 };

/* What 95 % of a reference do not exceed is taken to be at least this: a reference of two equal halves has next to no
 * differences between its conditions, and a new condition always has some. */
static const double LEAST_DISTANCE = 0.1, LEAST_RATIO = 0.5;

/* No probability is taken for less than this where the power is chosen. */
static const double LEAST_PROBABILITY = 1e-3;

static comp_status search(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                          const comp_matrix *queries, size_t k) {
  comp__neighbors_options options = comp__neighbors_defaults();
  const size_t most = queries ? points->rows : points->rows - 1;
  options.k = k < most ? k : most;
  return queries ? comp__neighbors_query(out, context, points, queries, &options)
                 : comp__neighbors_find(out, context, points, &options);
}

comp_status comp__nearest(int32_t *out, comp_context *context, const comp_matrix *points, const comp_matrix *queries) {
  comp_neighbors *found = NULL;
  const comp_status status = search(&found, context, points, queries, 1);
  if (status == COMP_OK) memcpy(out, comp_neighbors_indices(found), queries->rows * sizeof *out);
  comp_neighbors_free(found);
  return status;
}

/* ---- Parts of the reference ------------------------------------------------------------------------------------ */

/* Samples in a part and those outside of it; of the whole reference nothing is in it. */
typedef struct part {
  size_t *inside, *outside;
  size_t n_inside, n_outside;
  comp_matrix *z_inside, *z_outside;
} part;

static void release_part(part *p) {
  comp__free(p->inside);
  comp__free(p->outside);
  comp_matrix_free(p->z_inside);
  comp_matrix_free(p->z_outside);
  *p = (part){0};
}

static size_t part_count(const comp__yardstick *r) {
  const size_t n = r->n_conditions > 1 ? r->n_conditions : PARTS;
  return n < PARTS ? n : PARTS;
}

/* Whole conditions, or every so many-th sample where there is only one. */
static size_t part_of(const comp__yardstick *r, size_t i) {
  const size_t from = r->n_conditions > 1 ? (size_t)r->conditions[i] : i;
  return from % part_count(r);
}

static comp_status take_part(part *out, comp_context *context, const comp__yardstick *r, size_t index) {
  const size_t n = r->z->rows;
  comp_status status;
  *out = (part){0};
  COMP__TRY(comp__alloc(&out->inside, n, sizeof *out->inside));
  COMP__TRY(comp__alloc(&out->outside, n, sizeof *out->outside));
  for (size_t i = 0; i < n; i++) {
    if (part_of(r, i) == index)
      out->inside[out->n_inside++] = i;
    else
      out->outside[out->n_outside++] = i;
  }
  COMP__TRY(comp_matrix_select(&out->z_inside, context, r->z, out->inside, out->n_inside, NULL, 0));
  COMP__TRY(comp_matrix_select(&out->z_outside, context, r->z, out->outside, out->n_outside, NULL, 0));
done:
  if (status != COMP_OK) release_part(out);
  return status;
}

/* ---- Labels ---------------------------------------------------------------------------------------------------- */

typedef struct teacher {
  comp_context *context;
  const comp_matrix *z;
  const int32_t *labels;
  size_t n_labels, k;
  uint64_t seed;
} teacher;

/* p [queries, n_labels] of nearest neighbours: each counts exp(-(d / mean d)^2). */
static comp_status ask_neighbours(float *p, const teacher *t, const comp_matrix *queries) {
  comp_neighbors *found = NULL;
  comp_status status = search(&found, t->context, t->z, queries, t->k);
  if (status != COMP_OK) return status;
  const size_t k = comp_neighbors_k(found);
  memset(p, 0, queries->rows * t->n_labels * sizeof *p);
  for (size_t i = 0; i < queries->rows; i++) {
    const int32_t *index = comp_neighbors_indices(found) + i * k;
    const float *distance = comp_neighbors_distances(found) + i * k;
    double mean = 0.0, total = 0.0;
    for (size_t j = 0; j < k; j++) mean += (double)distance[j] / (double)k;
    for (size_t j = 0; j < k; j++) {
      const double d = mean > 0.0 ? (double)distance[j] / mean : 0.0, w = exp(-d * d);
      p[i * t->n_labels + (size_t)t->labels[index[j]]] += (float)w;
      total += w;
    }
    for (size_t l = 0; l < t->n_labels; l++) p[i * t->n_labels + l] /= (float)total;
  }
  comp_neighbors_free(found);
  return COMP_OK;
}

/* The mean of both. */
static comp_status ask(float *p, const teacher *t, const comp_matrix *queries) {
  const size_t n = queries->rows * t->n_labels;
  comp_classifier *classifier = NULL;
  float *other = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&other, n, sizeof *other));
  COMP__TRY(ask_neighbours(p, t, queries));
  COMP__TRY(
      comp_classifier_fit(&classifier, t->context, COMP_CLASSIFIER_LOGISTIC, t->z, t->labels, t->n_labels, t->seed));
  COMP__TRY(comp_classifier_probabilities(other, t->context, classifier, queries));
  for (size_t i = 0; i < n; i++) p[i] = 0.5f * (p[i] + other[i]);
done:
  comp_classifier_free(classifier);
  comp__free(other);
  return status;
}

/* p^power, divided by the sum: the probability of one label. */
static double raised(const float *p, size_t n, size_t label, double power) {
  double sum = 0.0;
  for (size_t l = 0; l < n; l++) sum += pow((double)p[l], power);
  return sum > 0.0 ? pow((double)p[label], power) / sum : 1.0 / (double)n;
}

static double power_at(int step) {
  return 0.25 * pow(2.0, 0.25 * step); /* 0.25 .. 8 */
}
enum { POWERS = 21 };

static size_t distinct(const int32_t *labels, const size_t *rows, size_t n, size_t n_labels, bool *seen) {
  size_t found = 0;
  memset(seen, 0, n_labels * sizeof *seen);
  for (size_t i = 0; i < n; i++) {
    found += !seen[labels[rows[i]]];
    seen[labels[rows[i]]] = true;
  }
  return found;
}

/* Adds the losses of a part, predicted from the others, under each power. Labels that the others lack are left out. */
static comp_status try_part(double *losses, size_t *used, const teacher *t, const comp__yardstick *r, size_t index) {
  part p = {0};
  int32_t *labels = NULL;
  float *chance = NULL;
  bool *seen = NULL;
  comp_status status;
  COMP__TRY(take_part(&p, t->context, r, index));
  COMP__TRY(comp__alloc(&seen, t->n_labels, sizeof *seen));
  if (p.n_inside == 0 || distinct(t->labels, p.outside, p.n_outside, t->n_labels, seen) < 2) goto done;
  COMP__TRY(comp__alloc(&labels, p.n_outside, sizeof *labels));
  COMP__TRY(comp__alloc(&chance, p.n_inside * t->n_labels, sizeof *chance));
  for (size_t i = 0; i < p.n_outside; i++) labels[i] = t->labels[p.outside[i]];
  const teacher others = {t->context, p.z_outside, labels, t->n_labels, t->k, t->seed};
  COMP__TRY(ask(chance, &others, p.z_inside));
  for (size_t i = 0; i < p.n_inside; i++) {
    const size_t label = (size_t)t->labels[p.inside[i]];
    if (!seen[label]) continue;
    ++*used;
    for (int s = 0; s < POWERS; s++)
      losses[s] -= log(fmax(LEAST_PROBABILITY, raised(chance + i * t->n_labels, t->n_labels, label, power_at(s))));
  }
done:
  release_part(&p);
  comp__free(labels);
  comp__free(chance);
  comp__free(seen);
  return status;
}

static comp_status choose_power(double *out, const teacher *t, const comp__yardstick *r) {
  double losses[POWERS] = {0};
  size_t used = 0;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < part_count(r) && status == COMP_OK; i++) status = try_part(losses, &used, t, r, i);
  *out = 1.0;
  for (int s = 0, best = 0; used > 0 && s < POWERS; s++)
    if (s == 0 || losses[s] < losses[best]) {
      best = s;
      *out = power_at(s);
    }
  return status;
}

/* The samples of the reference that have a label. */
static comp_status keep_labelled(comp_matrix **z, int32_t **conditions, int32_t **codes, comp_context *context,
                                 const comp__yardstick *r, const int32_t *labels) {
  size_t *rows = NULL, n = 0;
  comp_status status;
  COMP__TRY(comp__alloc(&rows, r->z->rows, sizeof *rows));
  COMP__TRY(comp__alloc(conditions, r->z->rows, sizeof **conditions));
  COMP__TRY(comp__alloc(codes, r->z->rows, sizeof **codes));
  for (size_t i = 0; i < r->z->rows; i++) {
    if (labels[i] < 0) continue;
    (*conditions)[n] = r->conditions ? r->conditions[i] : 0;
    (*codes)[n] = labels[i];
    rows[n++] = i;
  }
  COMP__TRY(comp_matrix_select(z, context, r->z, rows, n, NULL, 0));
done:
  comp__free(rows);
  return status;
}

comp_status comp__judge_labels(int32_t *predicted, double *probability, double *power, comp_context *context,
                               const comp__yardstick *reference, const int32_t *labels, size_t n_labels,
                               const comp__mapped *query, uint64_t seed) {
  comp_matrix *z = NULL;
  int32_t *conditions = NULL, *codes = NULL;
  float *p = NULL;
  comp_status status;
  COMP__TRY(keep_labelled(&z, &conditions, &codes, context, reference, labels));
  const comp__yardstick labelled = {z, conditions, reference->n_conditions, reference->k};
  const teacher t = {context, z, codes, n_labels, reference->k, seed};
  COMP__TRY(comp__alloc(&p, query->z->rows * n_labels, sizeof *p));
  COMP__TRY(choose_power(power, &t, &labelled));
  COMP__TRY(ask(p, &t, query->z));
  for (size_t i = 0; i < query->z->rows; i++) {
    const float *own = p + i * n_labels;
    size_t best = 0;
    for (size_t l = 1; l < n_labels; l++)
      if (own[l] > own[best]) best = l;
    predicted[i] = (int32_t)best;
    probability[i] = raised(own, n_labels, best, *power);
  }
done:
  comp_matrix_free(z);
  comp__free(conditions);
  comp__free(codes);
  comp__free(p);
  return status;
}

/* ---- Novelty --------------------------------------------------------------------------------------------------- */

static double mean_distance(const comp_neighbors *found, size_t i) {
  const size_t k = comp_neighbors_k(found);
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) sum += (double)comp_neighbors_distances(found)[i * k + j];
  return sum / (double)k;
}

/* log of d over the mean of `usual` at the neighbours. */
static double log_ratio(const comp_neighbors *found, size_t i, double d, const double *usual, const size_t *rows) {
  const size_t k = comp_neighbors_k(found);
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) {
    const size_t at = (size_t)comp_neighbors_indices(found)[i * k + j];
    sum += usual[rows ? rows[at] : at];
  }
  return log((d + 1e-12) / (sum / (double)k + 1e-12));
}

/* usual [n]: mean distance of each sample of the reference to samples outside of its part; score [n]: log_ratio(). */
static comp_status measure_reference(double *usual, double *score, comp_context *context, const comp__yardstick *r) {
  const size_t parts = part_count(r);
  part p[PARTS] = {{0}};
  comp_neighbors *found[PARTS] = {NULL};
  comp_status status = COMP_OK;
  memset(usual, 0, r->z->rows * sizeof *usual);
  memset(score, 0, r->z->rows * sizeof *score);
  for (size_t i = 0; i < parts; i++) {
    COMP__TRY(take_part(&p[i], context, r, i));
    if (p[i].n_inside == 0 || p[i].n_outside == 0) continue;
    COMP__TRY(search(&found[i], context, p[i].z_outside, p[i].z_inside, r->k));
    for (size_t j = 0; j < p[i].n_inside; j++) usual[p[i].inside[j]] = mean_distance(found[i], j);
  }
  for (size_t i = 0; i < parts; i++)
    for (size_t j = 0; found[i] && j < p[i].n_inside; j++)
      score[p[i].inside[j]] = log_ratio(found[i], j, usual[p[i].inside[j]], usual, p[i].outside);
done:
  for (size_t i = 0; i < parts; i++) {
    release_part(&p[i]);
    comp_neighbors_free(found[i]);
  }
  return status;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Each value becomes the median over the sample and its neighbours. */
static comp_status smooth(double *values, comp_context *context, const comp_matrix *z) {
  comp_neighbors *found = NULL;
  double *kept = NULL, around[SMOOTH + 1];
  comp_status status;
  if (z->rows < 2) return COMP_OK;
  COMP__TRY(search(&found, context, z, NULL, SMOOTH));
  COMP__TRY(comp__alloc(&kept, z->rows, sizeof *kept));
  memcpy(kept, values, z->rows * sizeof *kept);
  const size_t k = comp_neighbors_k(found);
  for (size_t i = 0; i < z->rows; i++) {
    around[0] = kept[i];
    for (size_t j = 0; j < k; j++) around[j + 1] = kept[comp_neighbors_indices(found)[i * k + j]];
    qsort(around, k + 1, sizeof *around, by_value);
    values[i] = around[(k + 1) / 2];
  }
done:
  comp_neighbors_free(found);
  comp__free(kept);
  return status;
}

/* Ratios between the conditions of the reference. */
static comp_status reference_ratios(float *out, comp_context *context, const comp__yardstick *r) {
  size_t *counts = NULL;
  comp_status status = comp__calloc(&counts, r->n_conditions ? r->n_conditions : 1, sizeof *counts);
  memset(out, 0, r->z->rows * sizeof *out);
  if (status != COMP_OK || r->n_conditions < 2) goto done;
  for (size_t i = 0; i < r->z->rows; i++) counts[r->conditions[i]]++;
  const comp__crowd crowd = {.n = r->z->rows, .conditions = r->n_conditions, .codes = r->conditions, .counts = counts};
  status = comp__overlap_all(out, context, &crowd, r->z->values, r->z->cols);
done:
  comp__free(counts);
  return status;
}

/* What the reference is like: the value that `share` of n do not exceed; overwrites `spare` [n]. */
static double quantile(double *spare, const double *values, size_t n, double share) {
  memcpy(spare, values, n * sizeof *spare);
  qsort(spare, n, sizeof *spare, by_value);
  return n ? spare[(size_t)(share * (double)(n - 1))] : 0.0;
}

typedef struct scale {
  double middle, distance, ratio; /* of the scores */
  double *sorted;                 /* [n] sums of the reference, ascending */
  size_t n;
  double edge, excess; /* the tail beyond 95 % */
} scale;

static double sum_of(const scale *s, double distance, double ratio) {
  return (distance - s->middle) / s->distance + fmax(0.0, ratio) / s->ratio;
}

static void find_tail(scale *s) {
  const size_t first = (size_t)(0.95 * (double)(s->n - 1));
  double sum = 0.0;
  s->edge = s->sorted[first];
  for (size_t i = first; i < s->n; i++) sum += s->sorted[i] - s->edge;
  s->excess = fmax(0.05, sum / (double)(s->n - first));
}

static double place_in(const scale *s, double value) {
  if (value > s->edge) return 1.0 - 0.05 * exp(-(value - s->edge) / s->excess);
  size_t low = 0, high = s->n;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (s->sorted[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return fmin(0.95, (double)low / (double)s->n);
}

static comp_status make_scale(scale *s, double *usual, comp_context *context, const comp__yardstick *r) {
  const size_t n = r->z->rows;
  double *score = NULL, *ratio = NULL;
  float *raw = NULL;
  comp_status status;
  s->n = n;
  COMP__TRY(comp__alloc(&score, n, sizeof *score));
  COMP__TRY(comp__alloc(&ratio, n, sizeof *ratio));
  COMP__TRY(comp__alloc(&raw, n, sizeof *raw));
  COMP__TRY(comp__alloc(&s->sorted, n, sizeof *s->sorted));
  COMP__TRY(measure_reference(usual, score, context, r));
  COMP__TRY(smooth(score, context, r->z));
  COMP__TRY(reference_ratios(raw, context, r));
  for (size_t i = 0; i < n; i++) ratio[i] = (double)raw[i];
  s->middle = quantile(s->sorted, score, n, 0.5);
  s->distance = fmax(LEAST_DISTANCE, quantile(s->sorted, score, n, 0.95) - s->middle);
  s->ratio = fmax(LEAST_RATIO, quantile(s->sorted, ratio, n, 0.95));
  for (size_t i = 0; i < n; i++) s->sorted[i] = sum_of(s, score[i], ratio[i]);
  qsort(s->sorted, n, sizeof *s->sorted, by_value);
  find_tail(s);
done:
  comp__free(score);
  comp__free(ratio);
  comp__free(raw);
  return status;
}

comp_status comp__judge_novelty(double *distance, double *novelty, comp_context *context,
                                const comp__yardstick *reference, const comp__mapped *query) {
  const size_t n = query->z->rows;
  scale s = {0};
  double *usual = NULL;
  comp_neighbors *found = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&usual, reference->z->rows, sizeof *usual));
  COMP__TRY(make_scale(&s, usual, context, reference));
  COMP__TRY(search(&found, context, reference->z, query->z, reference->k));
  for (size_t i = 0; i < n; i++) novelty[i] = log_ratio(found, i, mean_distance(found, i), usual, NULL);
  for (size_t i = 0; i < n; i++) distance[i] = exp(novelty[i]);
  COMP__TRY(smooth(novelty, context, query->z));
  for (size_t i = 0; i < n; i++) novelty[i] = place_in(&s, sum_of(&s, novelty[i], (double)query->ratio[i]));
done:
  comp__free(s.sorted);
  comp__free(usual);
  comp_neighbors_free(found);
  return status;
}
