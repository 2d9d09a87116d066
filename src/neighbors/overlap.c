/* overlap.c: how much of a population other conditions have, by counting who visits whom, over all pairs of points. */
#include "neighbors/overlap.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/sort.h"
#include "core/threads.h"
#include "nn/kernels.h"

enum { NEAREST = 15, PART = 25, PASSES = 3, ROWS = 16 /* of a chunk */, MOST = 8192 /* points that are compared */ };

typedef struct overlap_job {
  const comp__kernels *kernels;
  const float *points; /* [n, dims] */
  float *points_t;     /* [dims, padded] */
  const size_t *start;
  size_t n, padded, dims, conditions;
  int32_t *nearest; /* [n, NEAREST] of the own condition; -1 behind the last */
  int32_t *visits;  /* [n, 2] by points of the own condition, and of others */
  float *raw, *out; /* [n] ratios before and after smoothing */
  float *scratch;   /* [threads, ROWS + 1, padded] */
} overlap_job;

static size_t condition_of(const overlap_job *job, size_t i) {
  size_t k = 0;
  while (i >= job->start[k + 1]) k++;
  return k;
}

/* ---- Visits ---------------------------------------------------------------------------------------------------- */

/* The value that would be at place `at` if values were sorted. Reorders them. */
static float select_value(float *values, size_t n, size_t at) {
  size_t low = 0, high = n - 1;
  while (low < high) {
    const float pivot = values[low + (high - low) / 2];
    size_t i = low, j = high;
    for (;;) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i >= j) break;
      const float t = values[i];
      values[i++] = values[j];
      values[j--] = t;
    }
    if (at <= j)
      high = j;
    else
      low = j + 1;
  }
  return values[at];
}

/* Point i visits the nearest points of condition k, of two at the same distance the earlier one. Counts are whole
 * numbers: any order of threads gives the same. */
static void visit(overlap_job *job, const float *d, float *spare, size_t i, size_t k, bool own) {
  const size_t first = job->start[k], n = job->start[k + 1] - first, others = own ? n - 1 : n;
  size_t wanted = n / PART > NEAREST ? n / PART : NEAREST, m = 0;
  if (wanted > others) wanted = others;
  if (wanted == 0) return;
  for (size_t j = first; j < first + n; j++)
    if (j != i) spare[m++] = d[j];
  const float limit = select_value(spare, m, wanted - 1);
  size_t nearer = 0;
  for (size_t j = first; j < first + n; j++) nearer += j != i && d[j] < limit;
  size_t ties = wanted - nearer;
  for (size_t j = first; j < first + n; j++) {
    if (j == i || d[j] > limit || (d[j] == limit && ties == 0)) continue;
    ties -= d[j] == limit;
    __atomic_fetch_add(&job->visits[2 * j + !own], 1, __ATOMIC_RELAXED);
  }
}

/* The nearest points of the own condition, nearest first; of two at the same distance the earlier one. */
static void find_nearest(overlap_job *job, const float *d, size_t i, size_t k) {
  int32_t *list = job->nearest + i * NEAREST;
  size_t found = 0;
  for (size_t j = job->start[k]; j < job->start[k + 1]; j++) {
    if (j == i || (found == NEAREST && !(d[j] < d[list[NEAREST - 1]]))) continue;
    size_t at = found < NEAREST ? found++ : NEAREST - 1;
    for (; at > 0 && d[j] < d[list[at - 1]]; at--) list[at] = list[at - 1];
    list[at] = (int32_t)j;
  }
  for (; found < NEAREST; found++) list[found] = -1;
}

static void visit_rows(void *arg, size_t begin, size_t end, int thread) {
  overlap_job *job = arg;
  float *spare = job->scratch + (size_t)thread * (ROWS + 1) * job->padded, *all = spare + job->padded;
  job->kernels->distances(all, job->padded, job->points + begin * job->dims, job->points_t, job->padded, job->dims,
                          end - begin, 0, job->padded);
  for (size_t i = begin; i < end; i++) {
    const float *d = all + (i - begin) * job->padded;
    const size_t own = condition_of(job, i);
    find_nearest(job, d, i, own);
    for (size_t k = 0; k < job->conditions; k++) visit(job, d, spare, i, k, k == own);
  }
}

/* ---- Ratios ---------------------------------------------------------------------------------------------------- */

/* Half a visit more of either kind: no visit among so few is not never. */
static void compare_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  overlap_job *job = arg;
  for (size_t i = begin; i < end; i++) {
    const size_t k = condition_of(job, i), own = job->start[k + 1] - job->start[k], other = job->n - own;
    int64_t by[2] = {job->visits[2 * i], job->visits[2 * i + 1]};
    for (size_t a = 0; a < NEAREST && job->nearest[i * NEAREST + a] >= 0; a++)
      for (size_t b = 0; b < 2; b++) by[b] += job->visits[2 * (size_t)job->nearest[i * NEAREST + a] + b];
    const double mine = ((double)by[0] + 0.5) / (double)own, theirs = ((double)by[1] + 0.5) / (double)other;
    job->out[i] = own < 2 || other == 0 ? 0.0f : (float)(log(mine) - log(theirs));
  }
}

static void smooth_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  overlap_job *job = arg;
  for (size_t i = begin; i < end; i++) {
    float values[NEAREST + 1] = {job->raw[i]};
    size_t n = 1;
    for (size_t a = 0; a < NEAREST && job->nearest[i * NEAREST + a] >= 0; a++)
      values[n++] = job->raw[job->nearest[i * NEAREST + a]];
    job->out[i] = comp__median_floats(values, n);
  }
}

comp_status comp__overlap_ratios(float *out, comp_context *context, const float *points, const size_t *start,
                                 size_t conditions, size_t dims) {
  overlap_job job = {.kernels = comp__kernels_get(),
                     .points = points,
                     .start = start,
                     .n = start[conditions],
                     .padded = (start[conditions] + COMP__PAIR_PAD - 1) / COMP__PAIR_PAD * COMP__PAIR_PAD,
                     .dims = dims,
                     .conditions = conditions,
                     .out = out};
  const size_t threads = (size_t)comp_context_thread_count(context);
  comp_status status;
  COMP__TRY(comp__calloc(&job.points_t, job.padded * dims, sizeof *job.points_t));
  COMP__TRY(comp__alloc(&job.nearest, job.n * NEAREST, sizeof *job.nearest));
  COMP__TRY(comp__calloc(&job.visits, 2 * job.n, sizeof *job.visits));
  COMP__TRY(comp__alloc(&job.raw, job.n, sizeof *job.raw));
  COMP__TRY(comp__alloc(&job.scratch, threads * (ROWS + 1) * job.padded, sizeof *job.scratch));
  for (size_t i = 0; i < job.n; i++)
    for (size_t d = 0; d < dims; d++) job.points_t[d * job.padded + i] = points[i * dims + d];
  comp__parallel_for(context, job.n, ROWS, visit_rows, &job);
  comp__parallel_for(context, job.n, ROWS, compare_rows, &job);
  for (int pass = 0; pass < PASSES; pass++) {
    memcpy(job.raw, out, job.n * sizeof *out);
    comp__parallel_for(context, job.n, ROWS, smooth_rows, &job);
  }
done:
  comp__free(job.points_t);
  comp__free(job.nearest);
  comp__free(job.visits);
  comp__free(job.raw);
  comp__free(job.scratch);
  return status;
}

comp_status comp__overlap_all(float *out, comp_context *context, const comp__crowd *crowd, const float *points,
                              size_t dims) {
  size_t *member = NULL, *start = NULL;
  int32_t *follows = NULL;
  float *chosen = NULL, *ratios = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&start, crowd->conditions + 1, sizeof *start));
  COMP__TRY(comp__alloc(&follows, crowd->n, sizeof *follows));
  COMP__TRY(comp__members_choose(&member, start, follows, crowd, MOST));
  const size_t n = start[crowd->conditions];
  COMP__TRY(comp__alloc(&chosen, n * dims, sizeof *chosen));
  COMP__TRY(comp__alloc(&ratios, n, sizeof *ratios));
  for (size_t m = 0; m < n; m++) memcpy(chosen + m * dims, points + member[m] * dims, dims * sizeof *chosen);
  COMP__TRY(comp__overlap_ratios(ratios, context, chosen, start, crowd->conditions, dims));
  COMP__TRY(comp__members_follow(follows, context, crowd, start, chosen, points, dims));
  for (size_t i = 0; i < crowd->n; i++) out[i] = follows[i] < 0 ? 0.0f : ratios[follows[i]];
done:
  comp__free(member);
  comp__free(start);
  comp__free(follows);
  comp__free(chosen);
  comp__free(ratios);
  return status;
}
