/* prediction.c: two sets of samples against each other: energy distance, Wasserstein distance, common DE genes. */
#include "metrics/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/dataset.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/sort.h"
#include "core/threads.h"
#include "prep/options.h"

/* ---- Energy distance ---- */

static double distance(const float *a, const float *b, size_t n) {
  double lanes[8] = {0}, sum = 0.0;
  size_t g = 0;
  for (; g + 8 <= n; g += 8)
    for (size_t l = 0; l < 8; l++) {
      double d = (double)a[g + l] - (double)b[g + l];
      lanes[l] += d * d;
    }
  for (; g < n; g++) sum += ((double)a[g] - (double)b[g]) * ((double)a[g] - (double)b[g]);
  for (size_t l = 0; l < 8; l++) sum += lanes[l];
  return sqrt(sum);
}

/* Equal rows: one set with itself, of which half the pairs are enough. */
typedef struct pairs {
  comp__samples a, b;
} pairs;

static double sum_distances(void *arg, size_t begin, size_t end) {
  const pairs *p = arg;
  const bool same = p->a.rows == p->b.rows;
  double sum = 0.0;
  for (size_t i = begin; i < end; i++)
    for (size_t j = same ? i + 1 : 0; j < p->b.n; j++)
      sum += distance(p->a.rows + i * p->a.genes, p->b.rows + j * p->a.genes, p->a.genes);
  return same ? 2.0 * sum : sum;
}

static comp_status mean_distance(double *out, comp_context *context, comp__samples a, comp__samples b) {
  pairs p = {a, b};
  comp_status status = comp__parallel_sum(out, context, a.n, 16, sum_distances, &p);
  *out /= (double)a.n * (double)b.n;
  return status;
}

comp_status comp__energy_distance(double *out, comp_context *context, comp__samples a, comp__samples b) {
  double between, within_a, within_b;
  comp_status status;
  COMP__TRY(mean_distance(&between, context, a, b));
  COMP__TRY(mean_distance(&within_a, context, a, a));
  COMP__TRY(mean_distance(&within_b, context, b, b));
  *out = 2.0 * between - within_a - within_b;
done:
  return status;
}

/* ---- Wasserstein distance ---- */

/* The area between the distribution functions of two sorted lists. */
static double area(const float *a, size_t n, const float *b, size_t m) {
  double sum = 0.0, last = 0.0;
  size_t i = 0, j = 0;
  while (i < n || j < m) {
    double at = j == m || (i < n && a[i] <= b[j]) ? (double)a[i] : (double)b[j];
    if (isnan(at)) return NAN; /* it would never be passed */
    if (i + j > 0) sum += fabs((double)i / (double)n - (double)j / (double)m) * (at - last);
    while (i < n && (double)a[i] == at) i++;
    while (j < m && (double)b[j] == at) j++;
    last = at;
  }
  return sum;
}

typedef struct columns {
  comp__samples a, b;
  double *out; /* [genes] */
} columns;

static comp_status compare_genes(void *arg, size_t begin, size_t end, int thread) {
  const columns *c = arg;
  float *values = NULL;
  (void)thread;
  comp_status status = comp__alloc(&values, c->a.n + c->b.n, sizeof *values);
  for (size_t g = begin; g < end && status == COMP_OK; g++) {
    float *other = values + c->a.n;
    for (size_t i = 0; i < c->a.n; i++) values[i] = c->a.rows[i * c->a.genes + g];
    for (size_t j = 0; j < c->b.n; j++) other[j] = c->b.rows[j * c->b.genes + g];
    comp__sort_floats(values, c->a.n);
    comp__sort_floats(other, c->b.n);
    c->out[g] = area(values, c->a.n, other, c->b.n);
  }
  comp__free(values);
  return status;
}

comp_status comp__wasserstein(double *out, comp_context *context, comp__samples a, comp__samples b) {
  columns c = {a, b, NULL};
  comp_status status;
  COMP__TRY(comp__alloc(&c.out, a.genes, sizeof *c.out));
  COMP__TRY(comp__parallel_try(context, a.genes, 16, compare_genes, &c));
  *out = 0.0;
  for (size_t g = 0; g < a.genes; g++) *out += c.out[g] / (double)a.genes;
done:
  comp__free(c.out);
  return status;
}

/* ---- DE genes ---- */

/* A data set of both, with a column "side". */
static comp_status join(comp_dataset **out, comp__samples target, comp__samples reference) {
  size_t n = target.n + reference.n, genes = target.genes;
  comp_matrix *x = NULL;
  const char **sides = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&sides, n, sizeof *sides));
  for (size_t i = 0; i < n; i++) sides[i] = i < target.n ? "target" : "reference";
  COMP__TRY(comp__matrix_new_dense_raw(&x, n, genes));
  memcpy(x->values, target.rows, target.n * genes * sizeof *x->values);
  memcpy(x->values + target.n * genes, reference.rows, reference.n * genes * sizeof *x->values);
  comp_matrix *given = x;
  x = NULL; /* the data set takes it over, also when it fails */
  COMP__TRY(comp_dataset_new(out, given, NULL, NULL));
  COMP__TRY(comp_table_add_strings(comp_dataset_obs(*out), "side", sides));
done:
  comp_matrix_free(x);
  comp__free(sides);
  return status;
}

comp_status comp__samples_de(double *scores, comp_context *context, comp__samples target, comp__samples reference) {
  comp__de_options options = comp__de_defaults();
  comp_dataset *both = NULL;
  comp_de *de = NULL;
  comp_status status;
  options.groupby = "side";
  options.target = "target";
  options.reference = "reference";
  options.min_samples = 1;
  COMP__TRY(join(&both, target, reference));
  COMP__TRY(comp__de_run(&de, context, both, &options));
  memcpy(scores, comp_de_scores(de, 0), target.genes * sizeof *scores);
done:
  comp_de_free(de);
  comp_dataset_free(both);
  return status;
}

typedef struct ranked {
  double size;
  size_t gene;
} ranked;

static int farthest_first(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return (x->gene > y->gene) - (x->gene < y->gene);
}

comp_status comp__top_genes(size_t *out, size_t n, const double *scores, size_t genes) {
  ranked *list = NULL;
  comp_status status = comp__alloc(&list, genes, sizeof *list);
  if (status != COMP_OK) return status;
  for (size_t g = 0; g < genes; g++) list[g] = (ranked){fabs(scores[g]), g};
  qsort(list, genes, sizeof *list, farthest_first);
  for (size_t k = 0; k < n; k++) out[k] = list[k].gene;
  comp__free(list);
  return COMP_OK;
}

double comp__share_common(const size_t *a, const size_t *b, size_t n) {
  size_t common = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) common += a[i] == b[j];
  return (double)common / (double)n;
}
