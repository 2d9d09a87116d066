/* anchors.c: canonical vectors of two sets, the mutual nearest neighbours in their space, the filter and the score. */
#include "baseline/anchors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/sort.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "neighbors/options.h"
#include "nn/matmul.h"

enum { CHUNK = 64, PER_COMPONENT = 100 };
static const double MOST_SCALED = 10.0; /* scaled values beyond are cut off */

/* ---- The data of a set, scaled ---- */

typedef struct scaled_set {
  const comp_matrix *x;
  const comp__anchor_set *set;
  double *mean, *inverse;  /* [d]: of features; inverse deviations, 0 for constant ones */
  const bool *kept;        /* [d]: features that vary in both sets */
  size_t n_kept;           /* of them */
  float *values;           /* [n, d]: samples of mean 0 and variance 1 over the kept features; 0 elsewhere */
  double *centre, *spread; /* [n]: what that took off samples, and divided them by */
} scaled_set;

static void add_row(double *sum, const comp_matrix *x, size_t row, const double *mean) {
  if (x->kind == COMP_DENSE) {
    for (size_t j = 0; j < x->cols; j++) {
      double value = x->values[row * x->cols + j] - (mean ? mean[j] : 0.0);
      sum[j] += mean ? value * value : value;
    }
    return;
  }
  for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++) {
    size_t j = (size_t)x->indices[k];
    double value = x->values[k], m = mean ? mean[j] : 0.0;
    sum[j] += mean ? (value - m) * (value - m) - m * m : value; /* zeros have m * m each: added for all before */
  }
}

/* Means and inverse deviations of the features. */
static void find_scale(scaled_set *s) {
  const comp_matrix *x = s->x;
  const size_t d = x->cols, n = s->set->n;
  memset(s->mean, 0, d * sizeof *s->mean);
  for (size_t i = 0; i < n; i++) add_row(s->mean, x, s->set->rows[i], NULL);
  for (size_t j = 0; j < d; j++) {
    s->mean[j] /= (double)n;
    s->inverse[j] = x->kind == COMP_DENSE ? 0.0 : (double)n * s->mean[j] * s->mean[j];
  }
  for (size_t i = 0; i < n; i++) add_row(s->inverse, x, s->set->rows[i], s->mean);
  for (size_t j = 0; j < d; j++) {
    double deviation = sqrt(fmax(s->inverse[j], 0.0) / (double)(n - 1));
    s->inverse[j] = deviation > 1e-6 * fabs(s->mean[j]) ? 1.0 / deviation : 0.0;
  }
}

static void scale_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  scaled_set *s = arg;
  const comp_matrix *x = s->x;
  const size_t d = x->cols;
  for (size_t i = begin; i < end; i++) {
    float *out = s->values + i * d;
    const size_t row = s->set->rows[i];
    if (x->kind == COMP_DENSE) {
      memcpy(out, x->values + row * d, d * sizeof *out);
    } else {
      memset(out, 0, d * sizeof *out);
      for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++) out[x->indices[k]] = x->values[k];
    }
    double sum = 0.0, squares = 0.0;
    for (size_t j = 0; j < d; j++) {
      const double scaled = (out[j] - s->mean[j]) * s->inverse[j];
      out[j] = s->kept[j] ? (float)(scaled > MOST_SCALED ? MOST_SCALED : scaled) : 0.0f;
      sum += out[j];
    }
    s->centre[i] = sum / (double)s->n_kept;
    for (size_t j = 0; j < d; j++)
      if (s->kept[j]) squares += (out[j] - s->centre[i]) * (out[j] - s->centre[i]);
    s->spread[i] = sqrt(squares / (double)(s->n_kept - 1));
    for (size_t j = 0; j < d; j++)
      if (s->kept[j]) out[j] = s->spread[i] > 0.0 ? (float)((out[j] - s->centre[i]) / s->spread[i]) : 0.0f;
  }
}

static comp_status init_scaled(scaled_set *s, const comp_matrix *x, const comp__anchor_set *set) {
  comp_status status;
  s->x = x;
  s->set = set;
  COMP__TRY(comp__alloc(&s->mean, x->cols, sizeof *s->mean));
  COMP__TRY(comp__alloc(&s->inverse, x->cols, sizeof *s->inverse));
  COMP__TRY(comp__alloc(&s->centre, set->n, sizeof *s->centre));
  COMP__TRY(comp__alloc(&s->spread, set->n, sizeof *s->spread));
  COMP__TRY(comp__alloc(&s->values, set->n, x->cols * sizeof *s->values));
  find_scale(s);
done:
  return status;
}

static void release_scaled(scaled_set *s) {
  comp__free(s->mean);
  comp__free(s->inverse);
  comp__free(s->centre);
  comp__free(s->spread);
  comp__free(s->values);
}

/* ---- Canonical vectors ---- */

typedef struct pair {
  comp_context *context;
  const comp__anchor_options *options;
  scaled_set sets[2];
  bool *kept;
  size_t n_kept;
  float *vectors[2];    /* [components, n]: of each set */
  comp_matrix *near[2]; /* [n, components]: the same by sample, of length 1 */
  float *loadings;      /* [components, d]: of features: scaled data times the vectors, over both sets */
} pair;

static comp_status find_kept(pair *p) {
  const comp__anchor_set *a = p->sets[0].set, *b = p->sets[1].set;
  const size_t d = p->sets[0].x->cols;
  comp_status status = comp__alloc(&p->kept, d, sizeof *p->kept);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < d; j++) {
    p->kept[j] = p->sets[0].inverse[j] > 0.0 && p->sets[1].inverse[j] > 0.0;
    p->n_kept += p->kept[j];
  }
  for (int s = 0; s < 2; s++) {
    p->sets[s].kept = p->kept;
    p->sets[s].n_kept = p->n_kept;
  }
  if (p->n_kept > p->options->components) return COMP_OK;
  return comp__error(COMP_ERR_DATA,
                     "%zu feature%s both in '%s' and in '%s', and %zu canonical vectors need more than %zu: ask for "
                     "fewer (--components), or keep more features",
                     p->n_kept, p->n_kept == 1 ? " varies" : "s vary", a->name, b->name, p->options->components,
                     p->options->components);
}

/* The vectors of a set by sample, each sample of length 1. */
static comp_status find_places(comp_matrix **out, const float *vectors, size_t n, size_t components) {
  comp_status status = comp__matrix_new_dense_raw(out, n, components);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) {
    double squares = 0.0;
    for (size_t c = 0; c < components; c++) squares += (double)vectors[c * n + i] * vectors[c * n + i];
    for (size_t c = 0; c < components; c++)
      (*out)->values[i * components + c] = squares > 0.0 ? (float)(vectors[c * n + i] / sqrt(squares)) : 0.0f;
  }
  return COMP_OK;
}

/* Adds the part of a set. Scaled data is centre + spread times the values of the set, which are here: products with it
 * need no copy. */
static comp_status add_loadings(pair *p, int which) {
  const scaled_set *s = &p->sets[which];
  const size_t n = s->set->n, d = s->x->cols, components = p->options->components;
  float *weighted = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&weighted, components, n * sizeof *weighted));
  for (size_t c = 0; c < components; c++) {
    double shift = 0.0;
    for (size_t i = 0; i < n; i++) {
      weighted[c * n + i] = (float)(p->vectors[which][c * n + i] * s->spread[i]);
      shift += p->vectors[which][c * n + i] * s->centre[i];
    }
    for (size_t j = 0; j < d; j++) p->loadings[c * d + j] += (float)shift;
  }
  COMP__TRY(
      comp__matmul_f32(p->context, p->loadings, d, weighted, n, s->values, d, components, d, n, COMP__ACCUMULATE));
done:
  comp__free(weighted);
  return status;
}

static comp_status find_vectors(pair *p) {
  comp_status status;
  const size_t d = p->sets[0].x->cols, components = p->options->components;
  double *values = NULL;
  COMP__TRY(comp__alloc(&values, components, sizeof *values));
  COMP__TRY(comp__calloc(&p->loadings, components * d, sizeof *p->loadings));
  for (int s = 0; s < 2; s++) {
    COMP__TRY(comp__alloc(&p->vectors[s], components, p->sets[s].set->n * sizeof *p->vectors[s]));
    comp__parallel_for(p->context, p->sets[s].set->n, CHUNK, scale_rows, &p->sets[s]);
  }
  COMP__TRY(comp__svd_product(p->vectors[0], p->vectors[1], values, p->context, p->sets[0].values, p->sets[0].set->n,
                              p->sets[1].values, p->sets[1].set->n, d, components, p->options->seed));
  for (int s = 0; s < 2; s++) {
    COMP__TRY(find_places(&p->near[s], p->vectors[s], p->sets[s].set->n, components));
    COMP__TRY(add_loadings(p, s));
    comp__free(p->sets[s].values);
    p->sets[s].values = NULL;
  }
done:
  comp__free(values);
  return status;
}

/* ---- Features that the vectors stand for ---- */

typedef struct ranked {
  float loading;
  size_t feature;
} ranked;

static int compare_ranked(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->loading != y->loading) return x->loading < y->loading ? 1 : -1;
  return (x->feature > y->feature) - (x->feature < y->feature);
}

/* y / 2, rounded to the nearest, and from the middle to the even one, as R does. */
static size_t half_of(size_t y) {
  return y % 2 == 0 ? y / 2 : y / 2 + (y / 2) % 2;
}

/* Marks the y features that stand out most in each component, half of them at either end; returns how many it is. */
static size_t mark_top(bool *marked, const ranked *order, size_t components, size_t n, size_t d, size_t y) {
  size_t count = 0, half = half_of(y < n ? y : n);
  memset(marked, 0, d * sizeof *marked);
  for (size_t c = 0; c < components; c++) {
    const ranked *own = order + c * n;
    if (y == 1) marked[fabsf(own[0].loading) >= fabsf(own[n - 1].loading) ? own[0].feature : own[n - 1].feature] = true;
    for (size_t r = 0; y > 1 && r < half; r++) marked[own[r].feature] = marked[own[n - 1 - r].feature] = true;
  }
  for (size_t j = 0; j < d; j++) count += marked[j];
  return count;
}

/* The features of as many a component as make fewer than a limit in all. */
static comp_status find_top(size_t **out, size_t *count, const pair *p) {
  comp_status status;
  const size_t d = p->sets[0].x->cols, components = p->options->components, n = p->n_kept;
  const size_t limit = 2 * components > COMP__ANCHOR_FEATURES ? 2 * components : COMP__ANCHOR_FEATURES;
  ranked *order = NULL;
  bool *marked = NULL;
  *count = 0;
  COMP__TRY(comp__alloc(out, d, sizeof **out));
  COMP__TRY(comp__alloc(&order, components, n * sizeof *order));
  COMP__TRY(comp__alloc(&marked, d, sizeof *marked));
  for (size_t c = 0; c < components; c++) {
    ranked *own = order + c * n;
    for (size_t j = 0, at = 0; j < d; j++)
      if (p->kept[j]) own[at++] = (ranked){p->loadings[c * d + j], j};
    qsort(own, n, sizeof *own, compare_ranked);
  }
  size_t best = 1, most = 0;
  for (size_t y = 1; y <= PER_COMPONENT; y++) {
    size_t now = mark_top(marked, order, components, n, d, y);
    if (now >= limit) break;
    if (now > most) most = now, best = y;
  }
  mark_top(marked, order, components, n, d, best);
  for (size_t j = 0; j < d; j++)
    if (marked[j]) (*out)[(*count)++] = j;
done:
  comp__free(order);
  comp__free(marked);
  return status;
}

/* ---- Anchors ---- */

static comp_status query(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                         const comp_matrix *queries, size_t k) {
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = k;
  options.search = COMP_SEARCH_EXACT;
  return comp__neighbors_query(out, context, points, queries, &options);
}

static bool contains(const int32_t *list, size_t n, int32_t value) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == value) return true;
  return false;
}

/* Neighbours in the space of the vectors: of samples of set a (first letter) among those of set b (second). A sample is
 * among its own. */
typedef struct hoods {
  comp_neighbors *aa, *ab, *ba, *bb;
  size_t k;
} hoods;

/* Appends mutual neighbours, as positions in the sets. Those of one left sample come by how near it is to them. */
static comp_status find_mutual(comp__anchors *out, const hoods *h, size_t n, size_t k) {
  const int32_t *ab = comp_neighbors_indices(h->ab), *ba = comp_neighbors_indices(h->ba);
  for (size_t i = 0; i < n; i++)
    for (size_t rank = 0; rank < k; rank++)
      for (size_t r = 0; r < k; r++) {
        size_t j = (size_t)ab[i * h->k + r];
        if (ba[j * h->k + rank] != (int32_t)i) continue;
        comp_status status = comp__grow(&out->list, &out->capacity, out->n, out->n + 1, sizeof *out->list);
        if (status != COMP_OK) return status;
        out->list[out->n++] = (comp__anchor){i, j, 1.0};
      }
  return COMP_OK;
}

/* Samples of a set over some features of the data as it is, of length 1. */
static comp_status look_at(comp_matrix **out, const pair *p, int which, const size_t *features, size_t n) {
  comp_status status;
  const scaled_set *s = &p->sets[which];
  comp_matrix *some = NULL;
  COMP__TRY(comp_matrix_select(&some, p->context, s->x, s->set->rows, s->set->n, features, n));
  COMP__TRY(comp_matrix_to_dense(out, p->context, some));
  for (size_t i = 0; i < s->set->n; i++) {
    double squares = 0.0;
    float *row = (*out)->values + i * n;
    for (size_t j = 0; j < n; j++) squares += (double)row[j] * row[j];
    for (size_t j = 0; j < n && squares > 0.0; j++) row[j] = (float)(row[j] / sqrt(squares));
  }
done:
  comp_matrix_free(some);
  return status;
}

/* Leaves those anchors of first .. whose right sample is among the nearest of the left one in the data, too. */
static comp_status filter(comp__anchors *anchors, size_t first, const pair *p) {
  comp_status status;
  size_t *features = NULL, n = 0, kept = first;
  comp_matrix *data[2] = {NULL, NULL};
  comp_neighbors *near = NULL;
  COMP__TRY(find_top(&features, &n, p));
  for (int s = 0; s < 2; s++) COMP__TRY(look_at(&data[s], p, s, features, n));
  COMP__TRY(query(&near, p->context, data[1], data[0], COMP__ANCHOR_FILTER));
  const int32_t *indices = comp_neighbors_indices(near);
  for (size_t i = first; i < anchors->n; i++) {
    const comp__anchor *a = &anchors->list[i];
    if (contains(indices + a->left * COMP__ANCHOR_FILTER, COMP__ANCHOR_FILTER, (int32_t)a->right))
      anchors->list[kept++] = *a;
  }
  comp__debug(p->context, "anchors: %zu mutual neighbours, of which %zu remain by %zu features", anchors->n - first,
              kept - first, n);
  anchors->n = kept;
done:
  comp__free(features);
  comp_matrix_free(data[0]);
  comp_matrix_free(data[1]);
  comp_neighbors_free(near);
  return status;
}

/* Between the two nearest ranks, as R and numpy have it. */
static double quantile(const double *sorted, size_t n, double share) {
  double at = share * (double)(n - 1);
  size_t below = (size_t)at;
  return below + 1 < n ? sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]) : sorted[n - 1];
}

/* Scores by how many samples both neighbourhoods of an anchor have in common, those of the one set and of the other. */
static comp_status score(comp__anchors *anchors, size_t first, const hoods *h) {
  const size_t k = h->k, n = anchors->n - first;
  const int32_t *aa = comp_neighbors_indices(h->aa), *ab = comp_neighbors_indices(h->ab);
  const int32_t *ba = comp_neighbors_indices(h->ba), *bb = comp_neighbors_indices(h->bb);
  double *sorted;
  comp_status status = comp__alloc(&sorted, n, sizeof *sorted);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) {
    comp__anchor *a = &anchors->list[first + i];
    size_t common = 0;
    for (size_t r = 0; r < COMP__ANCHOR_SCORE; r++) {
      common += contains(ba + a->right * k, COMP__ANCHOR_SCORE, aa[a->left * k + r]);
      common += contains(bb + a->right * k, COMP__ANCHOR_SCORE, ab[a->left * k + r]);
    }
    a->score = sorted[i] = (double)common;
  }
  comp__sort_doubles(sorted, n);
  const double low = n ? quantile(sorted, n, 0.01) : 0.0, high = n ? quantile(sorted, n, 0.9) : 0.0;
  for (size_t i = first; i < anchors->n; i++) { /* all equal: each counts in full */
    const double scaled = high > low ? (anchors->list[i].score - low) / (high - low) : 1.0;
    anchors->list[i].score = fmin(fmax(scaled, 0.0), 1.0);
  }
  comp__free(sorted);
  return COMP_OK;
}

static comp_status find_hoods(hoods *h, const pair *p) {
  comp_status status;
  h->k = p->options->k > COMP__ANCHOR_SCORE ? p->options->k : COMP__ANCHOR_SCORE;
  COMP__TRY(query(&h->aa, p->context, p->near[0], p->near[0], h->k));
  COMP__TRY(query(&h->ab, p->context, p->near[1], p->near[0], h->k));
  COMP__TRY(query(&h->ba, p->context, p->near[0], p->near[1], h->k));
  COMP__TRY(query(&h->bb, p->context, p->near[1], p->near[1], h->k));
done:
  return status;
}

size_t comp__anchors_fewest(const comp__anchor_options *o) {
  size_t most = o->components > o->k ? o->components : o->k;
  return 1 + (most > COMP__ANCHOR_SCORE ? most : COMP__ANCHOR_SCORE);
}

static comp_status check_size(const comp__anchor_set *set, const comp__anchor_options *o) {
  if (set->n >= comp__anchors_fewest(o)) return COMP_OK;
  const bool by_components = o->components + 1 == comp__anchors_fewest(o) && o->components > COMP__ANCHOR_SCORE;
  const bool by_k = o->k + 1 == comp__anchors_fewest(o) && o->k > COMP__ANCHOR_SCORE;
  return comp__error(COMP_ERR_DATA,
                     "'%s' has %zu sample%s, and anchors need more than %zu%s. Keep the conditions that are large "
                     "enough (comp prep --keep COL=A,B)",
                     set->name, set->n, set->n == 1 ? "" : "s", comp__anchors_fewest(o) - 1,
                     by_components ? " (--components)"
                     : by_k        ? " (-k)"
                                   : "");
}

comp_status comp__anchors_add(comp__anchors *out, comp_context *context, const comp_matrix *x,
                              const comp__anchor_set *left, const comp__anchor_set *right,
                              const comp__anchor_options *options) {
  comp_status status;
  pair p = {.context = context, .options = options};
  hoods h = {0};
  const size_t first = out->n;
  COMP__TRY(check_size(left, options));
  COMP__TRY(check_size(right, options));
  COMP__TRY(init_scaled(&p.sets[0], x, left));
  COMP__TRY(init_scaled(&p.sets[1], x, right));
  COMP__TRY(find_kept(&p));
  COMP__TRY(find_vectors(&p));
  COMP__TRY(find_hoods(&h, &p));
  COMP__TRY(find_mutual(out, &h, left->n, options->k));
  if (left->n >= COMP__ANCHOR_FILTER && right->n >= COMP__ANCHOR_FILTER)
    COMP__TRY(filter(out, first, &p));
  else
    comp__warn(context, "anchors between '%s' (%zu samples) and '%s' (%zu) are not filtered: that needs %d of each",
               left->name, left->n, right->name, right->n, COMP__ANCHOR_FILTER);
  COMP__TRY(score(out, first, &h));
  for (size_t i = first; i < out->n; i++) {
    out->list[i].left = left->rows[out->list[i].left];
    out->list[i].right = right->rows[out->list[i].right];
  }
done:
  for (int s = 0; s < 2; s++) {
    release_scaled(&p.sets[s]);
    comp__free(p.vectors[s]);
    comp_matrix_free(p.near[s]);
  }
  comp__free(p.kept);
  comp__free(p.loadings);
  comp_neighbors_free(h.aa);
  comp_neighbors_free(h.ab);
  comp_neighbors_free(h.ba);
  comp_neighbors_free(h.bb);
  return status;
}

void comp__anchors_release(comp__anchors *anchors) {
  comp__free(anchors->list);
  *anchors = (comp__anchors){0};
}
