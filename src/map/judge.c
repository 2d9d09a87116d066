/* judge.c: see judge.h. */
#include "map/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/classify.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "map/counterparts.h"
#include "neighbors/options.h"

/* Parts that the reference is divided into. */
enum { PARTS = 5 };

/* Neighbours of the same side that a score is smoothed over. */
enum { SMOOTH = 15 };

/* What 95 % of a reference do not exceed is taken to be at least this: a reference of two equal halves has next to no
 * differences between its conditions, and a new condition always has some. */
static const double LEAST_UNIT[] = {0.1, 0.05, 0.1, 0.1};

/* Neither a residual alone makes a sample new (conditions differ in noise, too) nor a doubtful label. */
static const double MOST = 3.0;

/* What a ratio of shares counts, beyond what is noise (as in counterparts.c). */
static const double RATIO_COUNTS = 2.0, SLACK = 0.5;

/* A query that shifts more than the reference: its unit is so many times what lies between its median and 75 %. */
static const double SPREAD = 2.0;

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

static size_t most_probable(const float *p, size_t n) {
  size_t best = 0;
  for (size_t l = 1; l < n; l++)
    if (p[l] > p[best]) best = l;
  return best;
}

static double doubt_of(const float *p, size_t n) {
  return 1.0 - (double)p[most_probable(p, n)];
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
static comp_status try_part(double *losses, double *doubt, size_t *used, const teacher *t, const comp__yardstick *r,
                            size_t index) {
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
    doubt[p.inside[i]] = doubt_of(chance + i * t->n_labels, t->n_labels);
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

static comp_status choose_power(double *out, double *doubt, const teacher *t, const comp__yardstick *r) {
  double losses[POWERS] = {0};
  size_t used = 0;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < part_count(r) && status == COMP_OK; i++) status = try_part(losses, doubt, &used, t, r, i);
  *out = 1.0;
  for (int s = 0, best = 0; used > 0 && s < POWERS; s++)
    if (s == 0 || losses[s] < losses[best]) {
      best = s;
      *out = power_at(s);
    }
  return status;
}

/* The samples of the reference that have a label. */
typedef struct labelled {
  comp_matrix *z;
  int32_t *conditions, *codes;
  size_t *rows, n;
  double *doubt;
} labelled;

static void release_labelled(labelled *l) {
  comp_matrix_free(l->z);
  comp__free(l->conditions);
  comp__free(l->codes);
  comp__free(l->rows);
  comp__free(l->doubt);
}

static comp_status keep_labelled(labelled *out, comp_context *context, const comp__yardstick *r,
                                 const int32_t *labels) {
  comp_status status;
  *out = (labelled){0};
  COMP__TRY(comp__alloc(&out->rows, r->z->rows, sizeof *out->rows));
  COMP__TRY(comp__alloc(&out->conditions, r->z->rows, sizeof *out->conditions));
  COMP__TRY(comp__alloc(&out->codes, r->z->rows, sizeof *out->codes));
  COMP__TRY(comp__calloc(&out->doubt, r->z->rows, sizeof *out->doubt));
  for (size_t i = 0; i < r->z->rows; i++) {
    if (labels[i] < 0) continue;
    out->conditions[out->n] = r->conditions ? r->conditions[i] : 0;
    out->codes[out->n] = labels[i];
    out->rows[out->n++] = i;
  }
  COMP__TRY(comp_matrix_select(&out->z, context, r->z, out->rows, out->n, NULL, 0));
done:
  return status;
}

static comp_status new_labels(comp__labels *out, size_t n_reference, size_t n) {
  comp_status status;
  *out = (comp__labels){0};
  COMP__TRY(comp__alloc(&out->predicted, n, sizeof *out->predicted));
  COMP__TRY(comp__alloc(&out->probability, n, sizeof *out->probability));
  COMP__TRY(comp__alloc(&out->doubt, n, sizeof *out->doubt));
  COMP__TRY(comp__calloc(&out->doubt_reference, n_reference, sizeof *out->doubt_reference));
done:
  return status;
}

void comp__labels_release(comp__labels *labels) {
  comp__free(labels->predicted);
  comp__free(labels->probability);
  comp__free(labels->doubt);
  comp__free(labels->doubt_reference);
  *labels = (comp__labels){0};
}

comp_status comp__judge_labels(comp__labels *out, comp_context *context, const comp__yardstick *reference,
                               const int32_t *labels, size_t n_labels, const comp__mapped *query, uint64_t seed) {
  const size_t n = query->z->rows;
  labelled known = {0};
  float *p = NULL;
  comp_status status;
  COMP__TRY(new_labels(out, reference->z->rows, n));
  COMP__TRY(keep_labelled(&known, context, reference, labels));
  const comp__yardstick yardstick = {
      .z = known.z, .conditions = known.conditions, .n_conditions = reference->n_conditions, .k = reference->k};
  const teacher t = {context, known.z, known.codes, n_labels, reference->k, seed};
  COMP__TRY(comp__alloc(&p, n * n_labels, sizeof *p));
  COMP__TRY(choose_power(&out->power, known.doubt, &t, &yardstick));
  for (size_t i = 0; i < known.n; i++) out->doubt_reference[known.rows[i]] = known.doubt[i];
  COMP__TRY(ask(p, &t, query->z));
  for (size_t i = 0; i < n; i++) {
    const float *own = p + i * n_labels;
    const size_t best = most_probable(own, n_labels);
    out->predicted[i] = (int32_t)best;
    out->probability[i] = raised(own, n_labels, best, out->power);
    out->doubt[i] = doubt_of(own, n_labels);
  }
done:
  release_labelled(&known);
  comp__free(p);
  if (status != COMP_OK) comp__labels_release(out);
  return status;
}

/* ---- Novelty --------------------------------------------------------------------------------------------------- */

static double mean_distance(const comp_neighbors *found, size_t i) {
  const size_t k = comp_neighbors_k(found);
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) sum += (double)comp_neighbors_distances(found)[i * k + j];
  return sum / (double)k;
}

/* The mean at the neighbours of query i; `rows` [points] are where a point's value stands (NULL: at its own place). */
static double mean_at(const comp_neighbors *found, size_t i, const double *values, const size_t *rows) {
  const size_t k = comp_neighbors_k(found);
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) {
    const size_t at = (size_t)comp_neighbors_indices(found)[i * k + j];
    sum += values[rows ? rows[at] : at];
  }
  return sum / (double)k;
}

static double log_ratio(double value, double usual) {
  return log((value + 1e-12) / (usual + 1e-12));
}

/* What is measured of samples: logs of distance and residual, doubt, the log of the shift. The first three are
 * smoothed; a shift is a mean over neighbours already. */
enum { DISTANCE, RESIDUAL, DOUBT, SHIFT, KINDS, SMOOTHED = SHIFT };

typedef struct evidence {
  double *of[KINDS]; /* [n] each */
} evidence;

static comp_status new_evidence(evidence *out, size_t n) {
  comp_status status = COMP_OK;
  for (int l = 0; l < KINDS && status == COMP_OK; l++) status = comp__calloc(&out->of[l], n, sizeof *out->of[l]);
  return status;
}

static void free_evidence(evidence *e) {
  for (int l = 0; l < KINDS; l++) comp__free(e->of[l]);
}

/* The reference as others see it. */
typedef struct usual {
  double *distance; /* [n]: mean distance of each sample to samples outside of its part */
  double *residual; /* [n] */
} usual;

/* ---- Shifts: populations that lie elsewhere in the data than those that they are next to in z ---- */

/* out [dims] = a sample's components less the mean at its neighbours, whose rows are as in mean_at(). */
static void step_from(float *out, const float *own, const comp_matrix *points, const comp_neighbors *found, size_t i,
                      const size_t *rows) {
  const size_t k = comp_neighbors_k(found), dims = points->cols;
  memcpy(out, own, dims * sizeof *out);
  for (size_t j = 0; j < k; j++) {
    const size_t at = (size_t)comp_neighbors_indices(found)[i * k + j];
    const float *other = points->values + (rows ? rows[at] : at) * dims;
    for (size_t d = 0; d < dims; d++) out[d] -= other[d] / (float)k;
  }
}

/* Subtracts the mean of each condition from steps [n, dims]; samples without a counterpart count little (ratio NULL:
 * all count 1). */
static comp_status centre_steps(float *steps, size_t n, size_t dims, const int32_t *conditions, size_t n_conditions,
                                const float *ratio) {
  const size_t groups = conditions ? n_conditions : 1;
  double *mean = NULL, *total = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&mean, groups * dims, sizeof *mean));
  COMP__TRY(comp__calloc(&total, groups, sizeof *total));
  for (size_t i = 0; i < n; i++) {
    const size_t c = conditions ? (size_t)conditions[i] : 0;
    const double weight = ratio ? (double)comp__counterpart_share(ratio[i]) : 1.0;
    total[c] += weight;
    for (size_t d = 0; d < dims; d++) mean[c * dims + d] += weight * (double)steps[i * dims + d];
  }
  for (size_t i = 0; i < n; i++) {
    const size_t c = conditions ? (size_t)conditions[i] : 0;
    for (size_t d = 0; d < dims; d++) steps[i * dims + d] -= (float)(mean[c * dims + d] / fmax(total[c], 1e-30));
  }
done:
  comp__free(mean);
  comp__free(total);
  return status;
}

/* out [n]: the log of the length of the mean step over each sample and its neighbours in the data. */
static comp_status measure_shifts(double *out, comp_context *context, const float *steps, const comp_matrix *data) {
  const size_t dims = data->cols;
  comp_neighbors *found = NULL;
  comp_status status = search(&found, context, data, NULL, SMOOTH);
  if (status != COMP_OK) return status;
  const size_t k = comp_neighbors_k(found);
  for (size_t i = 0; i < data->rows; i++) {
    double square = 0.0;
    for (size_t d = 0; d < dims; d++) {
      double sum = (double)steps[i * dims + d];
      for (size_t j = 0; j < k; j++) sum += (double)steps[(size_t)comp_neighbors_indices(found)[i * k + j] * dims + d];
      square += sum * sum;
    }
    out[i] = 0.5 * log(square + 1e-12) - log((double)k + 1.0);
  }
  comp_neighbors_free(found);
  return COMP_OK;
}

static comp_status measure_reference(usual *u, evidence *e, comp_context *context, const comp__yardstick *r) {
  const size_t parts = part_count(r);
  part p[PARTS] = {{0}};
  comp_neighbors *found[PARTS] = {NULL};
  const size_t dims = r->data ? r->data->cols : 0;
  float *steps = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&steps, r->z->rows * dims, sizeof *steps));
  for (size_t i = 0; i < r->z->rows; i++) u->residual[i] = (double)r->residual[i];
  for (size_t i = 0; i < parts; i++) {
    COMP__TRY(take_part(&p[i], context, r, i));
    if (p[i].n_inside == 0 || p[i].n_outside == 0) continue;
    COMP__TRY(search(&found[i], context, p[i].z_outside, p[i].z_inside, r->k));
    for (size_t j = 0; j < p[i].n_inside; j++) u->distance[p[i].inside[j]] = mean_distance(found[i], j);
  }
  for (size_t i = 0; i < parts; i++)
    for (size_t j = 0; found[i] && j < p[i].n_inside; j++) {
      const size_t at = p[i].inside[j];
      e->of[DISTANCE][at] = log_ratio(u->distance[at], mean_at(found[i], j, u->distance, p[i].outside));
      e->of[RESIDUAL][at] = log_ratio(u->residual[at], mean_at(found[i], j, u->residual, p[i].outside));
      if (r->data) step_from(steps + at * dims, r->data->values + at * dims, r->data, found[i], j, p[i].outside);
    }
  if (!r->data) goto done;
  COMP__TRY(centre_steps(steps, r->z->rows, dims, r->conditions, r->n_conditions, NULL));
  COMP__TRY(measure_shifts(e->of[SHIFT], context, steps, r->data));
done:
  comp__free(steps);
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

/* Each value becomes the mean of itself and of the median over the sample and its neighbours: populations are
 * judged together, but a sample that lies among others of another kind is not outvoted. */
static comp_status smooth(evidence *e, comp_context *context, const comp_matrix *z) {
  double *kept = NULL, around[SMOOTH + 1];
  comp_neighbors *found = NULL;
  comp_status status;
  if (z->rows < 2) return COMP_OK;
  COMP__TRY(search(&found, context, z, NULL, SMOOTH));
  COMP__TRY(comp__alloc(&kept, z->rows, sizeof *kept));
  const size_t k = comp_neighbors_k(found);
  for (int l = 0; l < SMOOTHED; l++) {
    memcpy(kept, e->of[l], z->rows * sizeof *kept);
    for (size_t i = 0; i < z->rows; i++) {
      around[0] = kept[i];
      for (size_t j = 0; j < k; j++) around[j + 1] = kept[comp_neighbors_indices(found)[i * k + j]];
      qsort(around, k + 1, sizeof *around, by_value);
      e->of[l][i] = 0.5 * (kept[i] + around[(k + 1) / 2]);
    }
  }
done:
  comp_neighbors_free(found);
  comp__free(kept);
  return status;
}

/* The value that `share` of n do not exceed; overwrites `spare` [n]. */
static double quantile(double *spare, const double *values, size_t n, double share) {
  memcpy(spare, values, n * sizeof *spare);
  qsort(spare, n, sizeof *spare, by_value);
  return n ? spare[(size_t)(share * (double)(n - 1))] : 0.0;
}

/* Subtracts the median of each condition: another depth of sequencing is no new population. */
static comp_status subtract_medians(double *values, const int32_t *conditions, size_t n_conditions, size_t n) {
  double *some = NULL, *spare = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&some, n, sizeof *some));
  COMP__TRY(comp__alloc(&spare, n, sizeof *spare));
  for (size_t k = 0; k < (conditions ? n_conditions : 1); k++) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
      if (!conditions || conditions[i] == (int32_t)k) some[count++] = values[i];
    const double middle = quantile(spare, some, count, 0.5);
    for (size_t i = 0; i < n; i++)
      if (!conditions || conditions[i] == (int32_t)k) values[i] -= middle;
  }
done:
  comp__free(some);
  comp__free(spare);
  return status;
}

typedef struct scale {
  double middle[KINDS], unit[KINDS];
  double *sorted; /* [n] scores of the reference, ascending */
  size_t n;
  double edge, excess; /* the tail beyond 95 % */
} scale;

static double score_of(const scale *s, const evidence *e, size_t i, double ratio) {
  double sum = RATIO_COUNTS * fmax(0.0, ratio - SLACK);
  for (int l = 0; l < KINDS; l++) {
    const double value = (e->of[l][i] - s->middle[l]) / s->unit[l];
    sum += l == DISTANCE ? fmax(0.0, value) : l == SHIFT ? fmax(-MOST, value) : fmax(-1.0, fmin(MOST, value));
  }
  return sum;
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

static comp_status make_scale(scale *s, usual *u, comp_context *context, const comp__yardstick *r) {
  const size_t n = r->z->rows;
  evidence e = {0};
  comp_status status;
  s->n = n;
  COMP__TRY(new_evidence(&e, n));
  COMP__TRY(comp__alloc(&s->sorted, n, sizeof *s->sorted));
  COMP__TRY(measure_reference(u, &e, context, r));
  if (r->doubt) memcpy(e.of[DOUBT], r->doubt, n * sizeof *r->doubt);
  COMP__TRY(subtract_medians(e.of[RESIDUAL], r->conditions, r->n_conditions, n));
  COMP__TRY(smooth(&e, context, r->z));
  for (int l = 0; l < KINDS; l++) {
    s->middle[l] = quantile(s->sorted, e.of[l], n, 0.5);
    s->unit[l] = fmax(LEAST_UNIT[l], quantile(s->sorted, e.of[l], n, 0.95) - s->middle[l]);
  }
  for (size_t i = 0; i < n; i++) s->sorted[i] = score_of(s, &e, i, 0.0);
  qsort(s->sorted, n, sizeof *s->sorted, by_value);
  find_tail(s);
done:
  free_evidence(&e);
  return status;
}

/* Where a query shifts more than the reference, it is measured by itself. */
static comp_status widen(scale *s, const evidence *e, size_t n) {
  double *spare = NULL;
  const comp_status status = comp__alloc(&spare, n, sizeof *spare);
  if (status != COMP_OK) return status;
  const double middle = quantile(spare, e->of[SHIFT], n, 0.5), upper = quantile(spare, e->of[SHIFT], n, 0.75);
  s->middle[SHIFT] = fmax(s->middle[SHIFT], middle);
  s->unit[SHIFT] = fmax(s->unit[SHIFT], SPREAD * (upper - middle));
  comp__free(spare);
  return COMP_OK;
}

static comp_status measure_query(evidence *e, double *distance, comp_context *context, const usual *u,
                                 const comp__yardstick *reference, const comp__mapped *query) {
  const size_t n = query->z->rows;
  const size_t dims = reference->data ? reference->data->cols : 0;
  comp_neighbors *found = NULL;
  float *steps = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&steps, n * dims, sizeof *steps));
  COMP__TRY(search(&found, context, reference->z, query->z, reference->k));
  for (size_t i = 0; i < n; i++) {
    e->of[DISTANCE][i] = log_ratio(mean_distance(found, i), mean_at(found, i, u->distance, NULL));
    e->of[RESIDUAL][i] = log_ratio((double)query->residual[i], mean_at(found, i, u->residual, NULL));
    distance[i] = exp(e->of[DISTANCE][i]);
    if (dims) step_from(steps + i * dims, query->data->values + i * dims, reference->data, found, i, NULL);
  }
  if (query->doubt) memcpy(e->of[DOUBT], query->doubt, n * sizeof *query->doubt);
  COMP__TRY(subtract_medians(e->of[RESIDUAL], query->conditions, query->n_conditions, n));
  COMP__TRY(smooth(e, context, query->z));
  if (!dims) goto done;
  COMP__TRY(centre_steps(steps, n, dims, query->conditions, query->n_conditions, query->ratio));
  COMP__TRY(measure_shifts(e->of[SHIFT], context, steps, query->data));
done:
  comp_neighbors_free(found);
  comp__free(steps);
  return status;
}

comp_status comp__judge_novelty(double *distance, double *novelty, comp_context *context,
                                const comp__yardstick *reference, const comp__mapped *query) {
  scale s = {0};
  usual u = {0};
  evidence e = {0};
  comp_status status;
  COMP__TRY(comp__calloc(&u.distance, reference->z->rows, sizeof *u.distance));
  COMP__TRY(comp__calloc(&u.residual, reference->z->rows, sizeof *u.residual));
  COMP__TRY(make_scale(&s, &u, context, reference));
  COMP__TRY(new_evidence(&e, query->z->rows));
  COMP__TRY(measure_query(&e, distance, context, &u, reference, query));
  COMP__TRY(widen(&s, &e, query->z->rows));
  for (size_t i = 0; i < query->z->rows; i++) novelty[i] = place_in(&s, score_of(&s, &e, i, (double)query->ratio[i]));
done:
  free_evidence(&e);
  comp__free(s.sorted);
  comp__free(u.distance);
  comp__free(u.residual);
  return status;
}
