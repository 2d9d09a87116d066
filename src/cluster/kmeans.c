/* kmeans.c: k-means++ with several candidates a step, then Lloyd's iterations; the best of several starts. */
#include "cluster/kmeans.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"

enum { CHUNK = 512 };

typedef struct kmeans {
  comp_context *context;
  const float *points;
  size_t n, dims, k, chunks;
  double *centres;      /* [dims, k]: transposed, so that one point is compared with all centres side by side */
  int32_t *assignment;  /* [n] */
  double *distance;     /* [n]: squared, to the own centre */
  double *partial;      /* [chunks, dims, k]: sums of points */
  double *partial_sum;  /* [chunks] */
  size_t *partial_size; /* [chunks, k] */
  size_t *moved;        /* [chunks] */
  double *scratch;      /* [threads, k] */
} kmeans;

static void assign_chunk(void *arg, size_t begin, size_t end, int thread) {
  kmeans *m = arg;
  size_t chunk = begin / CHUNK, k = m->k;
  if (comp_context_interrupted(m->context)) return; /* nobody looks at what is lacking then */
  double *d2 = m->scratch + (size_t)thread * k;
  double *sums = m->partial + chunk * m->dims * k, total = 0.0;
  size_t *sizes = m->partial_size + chunk * k, moved = 0;
  memset(sums, 0, m->dims * k * sizeof *sums);
  memset(sizes, 0, k * sizeof *sizes);
  for (size_t i = begin; i < end; i++) {
    const float *x = m->points + i * m->dims;
    memset(d2, 0, k * sizeof *d2);
    for (size_t d = 0; d < m->dims; d++) {
      const double *centre = m->centres + d * k, value = (double)x[d];
      for (size_t c = 0; c < k; c++) d2[c] += (value - centre[c]) * (value - centre[c]);
    }
    size_t best = 0;
    for (size_t c = 1; c < k; c++)
      if (d2[c] < d2[best]) best = c;
    moved += m->assignment[i] != (int32_t)best;
    m->assignment[i] = (int32_t)best;
    m->distance[i] = d2[best];
    total += d2[best];
    sizes[best]++;
    for (size_t d = 0; d < m->dims; d++) sums[d * k + best] += (double)x[d];
  }
  m->partial_sum[chunk] = total;
  m->moved[chunk] = moved;
}

/* Assigns every point to its nearest centre; returns the inertia and the number of points that moved. */
static double assign(kmeans *m, size_t *moved) {
  double inertia = 0.0;
  *moved = 0;
  comp__parallel_for(m->context, m->n, CHUNK, assign_chunk, m);
  if (comp_context_interrupted(m->context)) return inertia;
  for (size_t chunk = 0; chunk < m->chunks; chunk++) {
    inertia += m->partial_sum[chunk];
    *moved += m->moved[chunk];
  }
  return inertia;
}

static void set_centre(kmeans *m, size_t c, size_t point) {
  for (size_t d = 0; d < m->dims; d++) m->centres[d * m->k + c] = (double)m->points[point * m->dims + d];
}

/* A cluster without points starts again at the point that is worst off. */
static void refill(kmeans *m, size_t c) {
  size_t farthest = 0;
  for (size_t i = 1; i < m->n; i++)
    if (m->distance[i] > m->distance[farthest]) farthest = i;
  set_centre(m, c, farthest);
  m->distance[farthest] = 0.0;
}

static void move_centres(kmeans *m) {
  for (size_t c = 0; c < m->k; c++) {
    size_t size = 0;
    for (size_t chunk = 0; chunk < m->chunks; chunk++) size += m->partial_size[chunk * m->k + c];
    if (size == 0) {
      refill(m, c);
      continue;
    }
    for (size_t d = 0; d < m->dims; d++) {
      double sum = 0.0;
      for (size_t chunk = 0; chunk < m->chunks; chunk++) sum += m->partial[(chunk * m->dims + d) * m->k + c];
      m->centres[d * m->k + c] = sum / (double)size;
    }
  }
}

typedef struct candidate_job {
  const kmeans *m;
  const double *nearest; /* [n]: squared distance to the nearest centre so far */
  double *out;           /* [n]: the same with the candidate */
  size_t candidate;
} candidate_job;

static double candidate_sum(void *arg, size_t begin, size_t end) {
  candidate_job *job = arg;
  const kmeans *m = job->m;
  const float *y = m->points + job->candidate * m->dims;
  double total = 0.0;
  for (size_t i = begin; i < end; i++) {
    const float *x = m->points + i * m->dims;
    double d2 = 0.0;
    for (size_t d = 0; d < m->dims; d++) d2 += ((double)x[d] - (double)y[d]) * ((double)x[d] - (double)y[d]);
    job->out[i] = fmin(d2, job->nearest[i]);
    total += job->out[i];
  }
  return total;
}

/* A point, drawn with probabilities in proportion to `weight`. */
static size_t draw(const double *weight, size_t n, double total, double uniform) {
  double at = uniform * total;
  for (size_t i = 0; i < n; i++) {
    at -= weight[i];
    if (at < 0.0) return i;
  }
  return n - 1;
}

/* k-means++: each further centre is the best of a few points drawn by their squared distance to the centres so far. */
static comp_status start(kmeans *m, comp__rng rng) {
  comp_status status;
  double *nearest = NULL, *tried = NULL, *best = NULL;
  size_t trials = 2 + (size_t)log((double)m->k);
  uint64_t column = 0;
  COMP__TRY(comp__alloc(&nearest, m->n, sizeof *nearest));
  COMP__TRY(comp__alloc(&tried, m->n, sizeof *tried));
  COMP__TRY(comp__alloc(&best, m->n, sizeof *best));
  for (size_t i = 0; i < m->n; i++) nearest[i] = INFINITY;
  double total = INFINITY;
  for (size_t c = 0; c < m->k; c++) {
    double lowest = INFINITY;
    size_t chosen = 0;
    COMP__TRY(comp__check_interrupt(m->context));
    for (size_t t = 0; t < (c == 0 ? 1 : trials); t++) {
      double sum, uniform = comp__rng_uniform(rng, column++);
      size_t candidate =
          c == 0 || !(total > 0.0) ? (size_t)(uniform * (double)m->n) : draw(nearest, m->n, total, uniform);
      candidate_job job = {m, nearest, tried, candidate};
      COMP__TRY(comp__parallel_sum(&sum, m->context, m->n, CHUNK, candidate_sum, &job));
      if (t > 0 && !(sum < lowest)) continue;
      lowest = sum;
      chosen = candidate;
      double *swap = best;
      best = tried;
      tried = swap;
    }
    set_centre(m, c, chosen);
    total = lowest;
    double *swap = nearest;
    nearest = best;
    best = swap;
  }
done:
  comp__free(nearest);
  comp__free(tried);
  comp__free(best);
  return status;
}

static comp_status run_once(kmeans *m, double *inertia, comp__rng rng, size_t iterations) {
  comp_status status;
  size_t moved;
  COMP__TRY(start(m, rng));
  for (size_t i = 0; i < m->n; i++) m->assignment[i] = -1;
  *inertia = assign(m, &moved);
  COMP__TRY(comp__check_interrupt(m->context));
  for (size_t step = 0; step < iterations && moved > 0; step++) {
    move_centres(m);
    *inertia = assign(m, &moved);
    COMP__TRY(comp__check_interrupt(m->context));
  }
done:
  return status;
}

static comp_status allocate(kmeans *m) {
  comp_status status;
  COMP__TRY(comp__alloc(&m->centres, m->dims * m->k, sizeof *m->centres));
  COMP__TRY(comp__alloc(&m->assignment, m->n, sizeof *m->assignment));
  COMP__TRY(comp__alloc(&m->distance, m->n, sizeof *m->distance));
  COMP__TRY(comp__alloc(&m->partial, m->chunks * m->dims * m->k, sizeof *m->partial));
  COMP__TRY(comp__alloc(&m->partial_sum, m->chunks, sizeof *m->partial_sum));
  COMP__TRY(comp__alloc(&m->partial_size, m->chunks * m->k, sizeof *m->partial_size));
  COMP__TRY(comp__alloc(&m->moved, m->chunks, sizeof *m->moved));
  COMP__TRY(comp__alloc(&m->scratch, (size_t)comp_context_thread_count(m->context) * m->k, sizeof *m->scratch));
done:
  return status;
}

static void release(kmeans *m) {
  comp__free(m->centres);
  comp__free(m->assignment);
  comp__free(m->distance);
  comp__free(m->partial);
  comp__free(m->partial_sum);
  comp__free(m->partial_size);
  comp__free(m->moved);
  comp__free(m->scratch);
}

comp_status comp__kmeans(int32_t *assignment, double *centres, double *inertia, comp_context *context,
                         const float *points, size_t n, size_t dims, const comp__kmeans_options *options) {
  comp_status status;
  kmeans m = {.context = context,
              .points = points,
              .n = n,
              .dims = dims,
              .k = options->clusters,
              .chunks = (n + CHUNK - 1) / CHUNK};
  double best = INFINITY;
  if (options->clusters == 0 || options->clusters > n)
    return comp__error(COMP_ERR_ARGUMENT, "clusters: %zu of %zu points cannot be made", options->clusters, n);
  COMP__TRY(allocate(&m));
  for (size_t run = 0; run < (options->starts ? options->starts : 1); run++) {
    double found;
    COMP__TRY(run_once(&m, &found, comp__rng_at(options->seed, COMP__RNG_METRICS, 0, run), options->iterations));
    if (!(found < best)) continue;
    best = found;
    memcpy(assignment, m.assignment, n * sizeof *assignment);
    for (size_t c = 0; centres && c < m.k; c++)
      for (size_t d = 0; d < dims; d++) centres[c * dims + d] = m.centres[d * m.k + c];
  }
  if (inertia) *inertia = best;
done:
  release(&m);
  return status;
}
