/* overlap.c: ratios of densities between conditions, by all pairs. The width of the kernel must be known first, so
 * distances are computed twice: they cost less than to keep them. */
#include "neighbors/overlap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/sort.h"
#include "core/threads.h"
#include "nn/kernels.h"
#include "nn/vecmath.h"

enum { NEAREST = 15, ROWS = 16 /* of a chunk */ };

typedef struct overlap_job {
  const comp__kernels *kernels;
  const float *points, *points_t; /* [n, dims], [dims, padded] */
  const size_t *start;
  size_t n, padded, dims, conditions;
  int32_t *nearest; /* [n, NEAREST] of the own condition; -1 behind the last */
  float *reach;     /* [n] squared distance of the last of them */
  float *across;    /* [n] the same of the points of other conditions */
  double *scale;    /* [conditions] -1 / (2 width^2) */
  float *raw, *out; /* [n] ratios before and after smoothing */
  float *scratch;   /* [chunks of ROWS, padded] */
} overlap_job;

static size_t condition_of(const overlap_job *job, size_t i) {
  size_t k = 0;
  while (i >= job->start[k + 1]) k++;
  return k;
}

/* The squared distances of rows begin .. end - 1 to all points; row i is at out + (i - begin) * padded. */
static const float *distances(const overlap_job *job, float *out, size_t begin, size_t end) {
  job->kernels->distances(out, job->padded, job->points + begin * job->dims, job->points_t, job->padded, job->dims,
                          end - begin, 0, job->padded);
  return out;
}

/* The squared distance of the last of the nearest points outside first .. last - 1. */
static float reach_across(const overlap_job *job, const float *d, size_t first, size_t last) {
  float nearest[NEAREST];
  size_t found = 0;
  for (size_t j = first > 0 ? 0 : last; j < job->n; j = j + 1 == first ? last : j + 1) {
    if (found == NEAREST && !(d[j] < nearest[NEAREST - 1])) continue;
    size_t at = found < NEAREST ? found++ : NEAREST - 1;
    for (; at > 0 && d[j] < nearest[at - 1]; at--) nearest[at] = nearest[at - 1];
    nearest[at] = d[j];
  }
  return found > 0 ? nearest[found - 1] : 0.0f;
}

/* The nearest points of the own block, nearest first; of two at the same distance the earlier one. */
static void nearest_rows(void *arg, size_t begin, size_t end, int thread) {
  overlap_job *job = arg;
  const float *all = distances(job, job->scratch + (size_t)thread * ROWS * job->padded, begin, end);
  for (size_t i = begin; i < end; i++) {
    const float *d = all + (i - begin) * job->padded;
    const size_t k = condition_of(job, i);
    int32_t *list = job->nearest + i * NEAREST;
    size_t found = 0;
    for (size_t j = job->start[k]; j < job->start[k + 1]; j++) {
      if (j == i || (found == NEAREST && !(d[j] < d[list[NEAREST - 1]]))) continue;
      size_t at = found < NEAREST ? found++ : NEAREST - 1;
      for (; at > 0 && d[j] < d[list[at - 1]]; at--) list[at] = list[at - 1];
      list[at] = (int32_t)j;
    }
    job->reach[i] = found > 0 ? d[list[found - 1]] : 0.0f;
    for (; found < NEAREST; found++) list[found] = -1;
    job->across[i] = reach_across(job, d, job->start[k], job->start[k + 1]);
  }
}

/* log mean exp of n numbers less those that were made -infinity; `out_of` is how many count. */
static double log_mean(const float *logs, size_t n, size_t out_of) {
  float most = comp__vec_max(logs, n);
  if (out_of == 0 || !isfinite(most)) return -INFINITY;
  return (double)most + log(comp__vec_sum_exp(logs, most, n)) - log((double)out_of);
}

/* log (a + b) of two logs. */
static double log_add(double a, double b) {
  double most = fmax(a, b);
  return isfinite(most) ? most + log(exp(a - most) + exp(b - most)) : most;
}

static void ratio_rows(void *arg, size_t begin, size_t end, int thread) {
  overlap_job *job = arg;
  float *all = job->scratch + (size_t)thread * ROWS * job->padded;
  distances(job, all, begin, end);
  for (size_t i = begin; i < end; i++) {
    const size_t k = condition_of(job, i), first = job->start[k], last = job->start[k + 1];
    const size_t own = last - first - 1, other = job->n - (last - first);
    float *logs = all + (i - begin) * job->padded;
    for (size_t j = 0; j < job->n; j++) logs[j] *= (float)job->scale[k];
    logs[i] = -INFINITY;
    double mine = log_mean(logs + first, last - first, own);
    double theirs = log_add(log_mean(logs, first, other), log_mean(logs + last, job->n - last, other));
    double ratio = own == 0 || other == 0 ? 0.0 : mine - theirs;
    if (isnan(ratio)) ratio = 0.0;
    job->raw[i] = fmaxf(-COMP__OVERLAP_MOST, fminf(COMP__OVERLAP_MOST, (float)ratio));
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

/* The median of part of an array; `spare` has room for it. */
static double median_of(float *spare, const float *values, size_t n) {
  memcpy(spare, values, n * sizeof *values);
  return n > 0 ? (double)comp__median_floats(spare, n) : 0.0;
}

/* Wide enough for half of the points to reach others: where conditions are apart as a whole, that is no sign that their
 * populations are not shared. The floor: where most points have copies, any width separates them from the rest. */
static void choose_widths(overlap_job *job, double width) {
  for (size_t k = 0; k < job->conditions; k++) {
    const size_t first = job->start[k], n = job->start[k + 1] - first;
    const double own = median_of(job->out + first, job->reach + first, n),
                 across = median_of(job->out + first, job->across + first, n);
    job->scale[k] = -0.5 / fmax(width * width * fmax(own, across), 1e-12);
  }
}

comp_status comp__overlap_ratios(float *out, comp_context *context, const float *points, const size_t *start,
                                 size_t conditions, size_t dims, double width) {
  overlap_job job = {.kernels = comp__kernels_get(),
                     .points = points,
                     .start = start,
                     .n = start[conditions],
                     .padded = (start[conditions] + COMP__PAIR_PAD - 1) / COMP__PAIR_PAD * COMP__PAIR_PAD,
                     .dims = dims,
                     .conditions = conditions,
                     .out = out};
  float *transposed = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&transposed, job.padded * dims, sizeof *transposed));
  COMP__TRY(comp__alloc(&job.nearest, job.n * NEAREST, sizeof *job.nearest));
  COMP__TRY(comp__alloc(&job.reach, job.n, sizeof *job.reach));
  COMP__TRY(comp__alloc(&job.across, job.n, sizeof *job.across));
  COMP__TRY(comp__alloc(&job.raw, job.n, sizeof *job.raw));
  COMP__TRY(comp__alloc(&job.scale, conditions, sizeof *job.scale));
  COMP__TRY(
      comp__alloc(&job.scratch, (size_t)comp_context_thread_count(context) * ROWS * job.padded, sizeof *job.scratch));
  for (size_t i = 0; i < job.n; i++)
    for (size_t d = 0; d < dims; d++) transposed[d * job.padded + i] = points[i * dims + d];
  job.points_t = transposed;
  comp__parallel_for(context, job.n, ROWS, nearest_rows, &job);
  choose_widths(&job, width);
  comp__parallel_for(context, job.n, ROWS, ratio_rows, &job);
  comp__parallel_for(context, job.n, ROWS, smooth_rows, &job);
done:
  comp__free(transposed);
  comp__free(job.nearest);
  comp__free(job.reach);
  comp__free(job.across);
  comp__free(job.raw);
  comp__free(job.scale);
  comp__free(job.scratch);
  return status;
}
