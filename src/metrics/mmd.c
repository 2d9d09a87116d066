/*
 * mmd.c: the maximum mean discrepancy between conditions, with the kernel of the MMD penalty (docs/maths.md): the
 * biased statistic, squared, averaged over pairs of conditions.
 */
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "metrics/pairs.h"
#include "metrics/score.h"
#include "nn/kernels.h"

/* trVAE's scales, as 1 / (2 l^2). */
static const float INVERSE[] = {1e6f,       1e5f,      1e4f,      1e3f,      1e2f,      1e1f,      1.0f,
                                1.0f / 5,   1.0f / 10, 1.0f / 15, 1.0f / 20, 1.0f / 25, 1.0f / 30, 1.0f / 35,
                                1.0f / 100, 1e-3f,     1e-4f,     1e-5f,     1e-6f};
enum { SCALES = sizeof INVERSE / sizeof *INVERSE };

typedef struct mmd_job {
  const comp__sorted *sorted;
  const comp__kernels *kernels;
  double *sums; /* [n, groups]: of kernel values, rows in sorted order */
} mmd_job;

static void add_tile(void *arg, size_t row, size_t first, size_t count, float *squared, int thread) {
  (void)thread;
  mmd_job *job = arg;
  const comp__sorted *s = job->sorted;
  if (row >= first && row < first + count) squared[row - first] = 0.0f;
  for (size_t g = 0; g < s->groups; g++) {
    size_t begin = s->starts[g] > first ? s->starts[g] : first;
    size_t end = s->starts[g + 1] < first + count ? s->starts[g + 1] : first + count;
    if (begin < end)
      job->sums[row * s->groups + g] +=
          (double)job->kernels->rbf(squared + (begin - first), INVERSE, SCALES, 0.0f, end - begin);
  }
}

/* The mean kernel value between the samples of groups a and b. */
static double mean_kernel(const mmd_job *job, size_t a, size_t b) {
  const comp__sorted *s = job->sorted;
  double sum = 0.0;
  for (size_t i = s->starts[a]; i < s->starts[a + 1]; i++) sum += job->sums[i * s->groups + b];
  return sum / (double)(s->starts[a + 1] - s->starts[a]) / (double)(s->starts[b + 1] - s->starts[b]);
}

comp_status comp__metric_mmd(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  const comp__view *v = &s->all;
  comp__sorted sorted = {0};
  mmd_job job = {&sorted, comp__kernels_get(), NULL};
  double sum = 0.0;
  size_t pairs = 0;
  COMP__TRY(comp__sorted_init(&sorted, v->matrix->values, v->n, v->dims, v->condition, s->n_conditions));
  COMP__TRY(comp__calloc(&job.sums, v->n * s->n_conditions, sizeof *job.sums));
  COMP__TRY(comp__pairs_visit(s->context, sorted.points, v->n, v->dims, add_tile, &job));
  for (size_t a = 0; a < s->n_conditions; a++)
    for (size_t b = a + 1; b < s->n_conditions; b++) {
      if (v->condition_counts[a] == 0 || v->condition_counts[b] == 0) continue;
      sum += fmax(0.0, mean_kernel(&job, a, a) + mean_kernel(&job, b, b) - 2.0 * mean_kernel(&job, a, b));
      pairs++;
    }
  out->value = sum / (double)pairs;
done:
  comp__free(job.sums);
  comp__sorted_release(&sorted);
  return status;
}
