/* graph.c: from distances to a weighted graph, as umap-learn's fuzzy_simplicial_set() has it. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"
#include "umap/umap.h"

enum { CHUNK = 256, HALVINGS = 64 };

static const double TOLERANCE = 1e-5, LEAST_SCALE = 1e-3;

void comp__graph_release(comp__graph *graph) {
  comp__free(graph->indptr);
  comp__free(graph->indices);
  comp__free(graph->weights);
  *graph = (comp__graph){0};
}

typedef struct strengths {
  float *weights;
  const float *distances;
  size_t k;
  bool own;
  double mean; /* of all distances */
} strengths;

/* How many neighbours a row has, smoothly counted. The first of umap-learn's list (the point itself, when it is there)
 * does not count. */
static double cardinality(const float *d, size_t first, size_t k, double rho, double sigma) {
  double sum = 0.0;
  for (size_t j = first; j < k; j++) {
    double beyond = (double)d[j] - rho;
    sum += beyond > 0.0 ? exp(-beyond / sigma) : 1.0;
  }
  return sum;
}

/* The scale at which the neighbours count log2(k). */
static double find_scale(const float *d, size_t first, size_t k, double rho, double wanted) {
  double low = 0.0, high = INFINITY, sigma = 1.0;
  for (int i = 0; i < HALVINGS; i++) {
    double sum = cardinality(d, first, k, rho, sigma);
    if (fabs(sum - wanted) < TOLERANCE) break;
    if (sum > wanted) {
      high = sigma;
      sigma = (low + high) / 2.0;
    } else {
      low = sigma;
      sigma = isinf(high) ? sigma * 2.0 : (low + high) / 2.0;
    }
  }
  return sigma;
}

static double row_mean(const strengths *s, const float *d) {
  double sum = 0.0;
  for (size_t j = 0; j < s->k; j++) sum += (double)d[j];
  return sum / (double)(s->k + s->own);
}

static void weigh_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const strengths *s = arg;
  for (size_t i = begin; i < end; i++) {
    const float *d = s->distances + i * s->k;
    double rho = 0.0;
    for (size_t j = 0; s->own && j < s->k && rho == 0.0; j++) rho = (double)d[j];
    double sigma = find_scale(d, s->own ? 0 : 1, s->k, rho, log2((double)(s->k + s->own)));
    sigma = fmax(sigma, LEAST_SCALE * (rho > 0.0 ? row_mean(s, d) : s->mean));
    for (size_t j = 0; j < s->k; j++) {
      double beyond = (double)d[j] - rho;
      s->weights[i * s->k + j] = beyond <= 0.0 || sigma == 0.0 ? 1.0f : (float)exp(-beyond / sigma);
    }
  }
}

static double sum_rows(void *arg, size_t begin, size_t end) {
  const strengths *s = arg;
  double sum = 0.0;
  for (size_t j = begin * s->k; j < end * s->k; j++) sum += (double)s->distances[j];
  return sum;
}

comp_status comp__umap_strengths(float *weights, comp_context *context, const float *distances, size_t n, size_t k,
                                 bool own) {
  strengths s = {weights, distances, k, own, 0.0};
  double sum;
  comp_status status = comp__parallel_sum(&sum, context, n, CHUNK, sum_rows, &s);
  if (status != COMP_OK) return status;
  s.mean = sum / ((double)n * (double)(k + own));
  comp__parallel_for(context, n, CHUNK, weigh_rows, &s);
  return COMP_OK;
}

/* The reversed edges: as rows of their ends. Rows come out ascending. */
static comp_status reverse(comp__graph *out, const int32_t *indices, const float *weights, size_t n, size_t k) {
  comp_status status;
  *out = (comp__graph){.n = n};
  COMP__TRY(comp__calloc(&out->indptr, n + 2, sizeof *out->indptr));
  COMP__TRY(comp__alloc(&out->indices, n * k, sizeof *out->indices));
  COMP__TRY(comp__alloc(&out->weights, n * k, sizeof *out->weights));
  for (size_t e = 0; e < n * k; e++) out->indptr[indices[e] + 2]++;
  for (size_t i = 2; i < n + 2; i++) out->indptr[i] += out->indptr[i - 1];
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      size_t at = out->indptr[indices[i * k + j] + 1]++;
      out->indices[at] = (int32_t)i;
      out->weights[at] = weights[i * k + j];
    }
done:
  return status;
}

/* Both directions of all rows, merged; without `out` only the counts, in sizes [n]. */
static void merge_rows(comp__graph *out, size_t *sizes, const comp__graph *forth, const comp__graph *back) {
  for (size_t i = 0; i < forth->n; i++) {
    size_t f = forth->indptr[i], f_end = forth->indptr[i + 1], b = back->indptr[i], b_end = back->indptr[i + 1];
    size_t at = out ? out->indptr[i] : 0;
    while (f < f_end || b < b_end) {
      int32_t to_f = f < f_end ? forth->indices[f] : INT32_MAX, to_b = b < b_end ? back->indices[b] : INT32_MAX;
      int32_t to = to_f < to_b ? to_f : to_b;
      float x = to_f == to ? forth->weights[f++] : 0.0f, y = to_b == to ? back->weights[b++] : 0.0f;
      float weight = x + y - x * y;
      if (!(weight > 0.0f)) continue; /* too weak for an f32 */
      if (out) {
        out->indices[at] = to;
        out->weights[at] = weight;
      }
      at++;
    }
    if (sizes) sizes[i] = at;
  }
}

comp_status comp__umap_union(comp__graph *out, const int32_t *indices, const float *weights, size_t n, size_t k) {
  comp__graph back = {0}, forth = {0};
  size_t *sizes = NULL;
  comp_status status;
  *out = (comp__graph){.n = n};
  COMP__TRY(reverse(&back, indices, weights, n, k));
  /* Reversed twice, the rows are as they were, but ascending. */
  COMP__TRY(comp__calloc(&forth.indptr, n + 2, sizeof *forth.indptr));
  COMP__TRY(comp__alloc(&forth.indices, n * k, sizeof *forth.indices));
  COMP__TRY(comp__alloc(&forth.weights, n * k, sizeof *forth.weights));
  forth.n = n;
  for (size_t i = 0; i <= n; i++) forth.indptr[i] = i * k;
  COMP__TRY(comp__alloc(&sizes, n, sizeof *sizes));
  for (size_t i = 0; i < n; i++) sizes[i] = i * k;
  for (size_t i = 0; i < n; i++)
    for (size_t e = back.indptr[i]; e < back.indptr[i + 1]; e++) {
      size_t at = sizes[back.indices[e]]++;
      forth.indices[at] = (int32_t)i;
      forth.weights[at] = back.weights[e];
    }
  merge_rows(NULL, sizes, &forth, &back);
  COMP__TRY(comp__calloc(&out->indptr, n + 1, sizeof *out->indptr));
  for (size_t i = 0; i < n; i++) out->indptr[i + 1] = out->indptr[i] + sizes[i];
  COMP__TRY(comp__alloc(&out->indices, out->indptr[n], sizeof *out->indices));
  COMP__TRY(comp__alloc(&out->weights, out->indptr[n], sizeof *out->weights));
  merge_rows(out, NULL, &forth, &back);
done:
  comp__graph_release(&back);
  comp__graph_release(&forth);
  comp__free(sizes);
  if (status != COMP_OK) comp__graph_release(out);
  return status;
}

comp_status comp__graph_components(int32_t *component, size_t *count, const comp__graph *graph) {
  int32_t *queue = NULL;
  comp_status status = comp__alloc(&queue, graph->n, sizeof *queue);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < graph->n; i++) component[i] = -1;
  *count = 0;
  for (size_t i = 0; i < graph->n; i++) {
    if (component[i] >= 0) continue;
    size_t head = 0, tail = 0;
    queue[tail++] = (int32_t)i;
    component[i] = (int32_t)*count;
    while (head < tail) {
      size_t at = (size_t)queue[head++];
      for (size_t e = graph->indptr[at]; e < graph->indptr[at + 1]; e++) {
        int32_t to = graph->indices[e];
        if (component[to] >= 0) continue;
        component[to] = (int32_t)*count;
        queue[tail++] = to;
      }
    }
    (*count)++;
  }
  comp__free(queue);
  return COMP_OK;
}
