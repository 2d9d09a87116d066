/* connectivity.c: UMAP's fuzzy graph of nearest neighbours, as scanpy and scib-metrics cluster it. */
#include "cluster/connectivity.h"

#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"

enum { CHUNK = 64, STEPS = 64 };

typedef struct job {
  const int32_t *indices;
  const float *distances;
  size_t k, stride;
  double mean;      /* of all distances, those to itself included */
  comp__edge *each; /* [n, k]: one direction each */
} job;

/* The sum of memberships at a given sigma. */
static double membership_sum(const float *distance, size_t k, double rho, double sigma) {
  double sum = 0.0;
  for (size_t j = 0; j < k; j++) {
    double d = (double)distance[j] - rho;
    sum += d > 0.0 ? exp(-d / sigma) : 1.0;
  }
  return sum;
}

static double find_sigma(const float *distance, size_t k, double rho) {
  double target = log2((double)k + 1.0), low = 0.0, high = INFINITY, sigma = 1.0;
  for (int step = 0; step < STEPS; step++) {
    double sum = membership_sum(distance, k, rho, sigma);
    if (fabs(sum - target) < 1e-5) break;
    if (sum > target) {
      high = sigma;
      sigma = (low + high) / 2.0;
    } else {
      low = sigma;
      sigma = isinf(high) ? sigma * 2.0 : (low + high) / 2.0;
    }
  }
  return sigma;
}

static void membership_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  job *j = arg;
  for (size_t i = begin; i < end; i++) {
    const float *distance = j->distances + i * j->stride;
    double rho = 0.0, mean = 0.0;
    for (size_t n = j->k; n > 0; n--)
      if (distance[n - 1] > 0.0f) rho = (double)distance[n - 1];
    for (size_t n = 0; n < j->k; n++) mean += (double)distance[n];
    mean /= (double)j->k + 1.0;
    double sigma = find_sigma(distance, j->k, rho), least = 1e-3 * (rho > 0.0 ? mean : j->mean);
    if (sigma < least) sigma = least;
    for (size_t n = 0; n < j->k; n++) {
      int32_t other = j->indices[i * j->stride + n], self = (int32_t)i;
      double d = (double)distance[n] - rho;
      j->each[i * j->k + n] = (comp__edge){self < other ? self : other, self < other ? other : self,
                                           d <= 0.0 || sigma == 0.0 ? 1.0 : exp(-d / sigma)};
    }
  }
}

static int compare_edges(const void *left, const void *right) {
  const comp__edge *x = left, *y = right;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  if (x->b != y->b) return x->b < y->b ? -1 : 1;
  return (x->weight > y->weight) - (x->weight < y->weight);
}

comp_status comp__connectivity(comp__weighted_graph *out, comp_context *context, const int32_t *indices,
                               const float *distances, size_t n, size_t k, size_t stride) {
  comp_status status;
  job j = {.indices = indices, .distances = distances, .k = k, .stride = stride};
  *out = (comp__weighted_graph){.nodes = n};
  COMP__TRY(comp__alloc(&out->edges, n * k, sizeof *out->edges));
  for (size_t i = 0; i < n; i++)
    for (size_t m = 0; m < k; m++) j.mean += (double)distances[i * stride + m];
  j.mean /= (double)n * ((double)k + 1.0);
  j.each = out->edges;
  comp__parallel_for(context, n, CHUNK, membership_chunk, &j);
  qsort(out->edges, n * k, sizeof *out->edges, compare_edges);
  for (size_t e = 0; e < n * k; e++) {
    comp__edge edge = out->edges[e];
    comp__edge *last = out->n_edges ? &out->edges[out->n_edges - 1] : NULL;
    if (last && last->a == edge.a && last->b == edge.b)
      last->weight = last->weight + edge.weight - last->weight * edge.weight;
    else
      out->edges[out->n_edges++] = edge;
  }
done:
  return status;
}

void comp__weighted_graph_release(comp__weighted_graph *graph) {
  comp__free(graph->edges);
  *graph = (comp__weighted_graph){0};
}
