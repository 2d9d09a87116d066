/* certify.c: the plug-in values of the three quantities, for cells and for draws, and what McDiarmid and Hoeffding add.
 */
#include "audit/certify.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "nn/vecmath.h"

/* How the chance of failure is shared. Of two levels, balanced accuracy and parity gap are one quantity. */
typedef struct chances {
  double balanced, parity, accuracy; /* logarithms of 1 / delta, of each; parity: of each pair of levels */
} chances;

static chances share_delta(size_t n_levels, double delta) {
  const double pairs = (double)n_levels * (double)(n_levels - 1) / 2;
  if (n_levels == 2) return (chances){log(2 / delta), log(2 / delta), log(2 / delta)};
  return (chances){log(3 / delta), log(3 * pairs / delta), log(3 / delta)};
}

/* Of the share of a chance that goes to the draws of the integral, and to the samples. */
#define POINTS_SHARE 0.2

static chances part_of(chances c, double share) {
  const double more = -log(share);
  return (chances){c.balanced + more, c.parity + more, c.accuracy + more};
}

size_t comp__certify_needed(size_t n_levels, double delta, double slack) {
  return (size_t)ceil(share_delta(n_levels, delta).parity / (slack * slack));
}

static double pair_slack(double n, double m, double chance) {
  return sqrt((1 / n + 1 / m) * chance / 2);
}

/* Adds what samples of these sizes make uncertain; counts[n_levels]. */
static void add_slack(comp__certificate *out, const size_t *counts, const double *parity, size_t n_levels, chances c) {
  double inverse = 0;
  out->fewest = SIZE_MAX;
  out->samples = 0;
  for (size_t k = 0; k < n_levels; k++) {
    inverse += 1 / (double)counts[k];
    out->samples += counts[k];
    if (counts[k] < out->fewest) out->fewest = counts[k];
  }
  out->balanced.upper += sqrt(inverse * c.balanced / 2) / (double)n_levels;
  out->accuracy.upper += sqrt(c.accuracy / 2 / (double)out->samples);
  out->parity.upper = out->slack = 0;
  for (size_t a = 0; a < n_levels; a++)
    for (size_t b = a + 1; b < n_levels; b++) {
      const double slack = pair_slack((double)counts[a], (double)counts[b], c.parity);
      out->parity.upper = fmax(out->parity.upper, parity[a * n_levels + b] + slack);
      out->slack = fmax(out->slack, slack);
    }
}

static void limit(comp__certificate *out) {
  out->balanced.upper = fmin(out->balanced.upper, 1);
  out->accuracy.upper = fmin(out->accuracy.upper, 1);
  out->parity.upper = fmin(out->parity.upper, 1);
}

static comp_status count_levels(size_t **out, const int32_t *codes, size_t n, size_t n_levels) {
  comp_status status = comp__calloc(out, n_levels, sizeof **out);
  for (size_t i = 0; status == COMP_OK && i < n; i++) (*out)[codes[i]]++;
  return status;
}

/* ---- Cells ---- */

comp_status comp__certify_cells(comp__certificate *out, const int32_t *cells, const int32_t *codes, size_t n,
                                size_t n_cells, size_t n_levels, double delta) {
  size_t *counts = NULL, *table = NULL; /* [n_levels], [n_cells, n_levels] */
  double *parity = NULL;                /* [n_levels, n_levels] */
  comp_status status;
  *out = (comp__certificate){0};
  COMP__TRY(count_levels(&counts, codes, n, n_levels));
  COMP__TRY(comp__calloc(&table, n_cells * n_levels, sizeof *table));
  COMP__TRY(comp__calloc(&parity, n_levels * n_levels, sizeof *parity));
  for (size_t i = 0; i < n; i++) table[(size_t)cells[i] * n_levels + (size_t)codes[i]]++;
  for (size_t c = 0; c < n_cells; c++) {
    double share = 0;
    size_t most = 0;
    for (size_t a = 0; a < n_levels; a++) {
      const size_t *row = table + c * n_levels;
      const double p = (double)row[a] / (double)counts[a];
      share = fmax(share, p);
      most = row[a] > most ? row[a] : most;
      for (size_t b = a + 1; b < n_levels; b++)
        parity[a * n_levels + b] += fabs(p - (double)row[b] / (double)counts[b]) / 2;
    }
    out->balanced.estimate += share / (double)n_levels;
    out->accuracy.estimate += (double)most / (double)n;
  }
  for (size_t k = 0; k < n_levels * n_levels; k++) out->parity.estimate = fmax(out->parity.estimate, parity[k]);
  out->balanced.upper = out->balanced.estimate;
  out->accuracy.upper = out->accuracy.estimate;
  add_slack(out, counts, parity, n_levels, share_delta(n_levels, delta));
  limit(out);
done:
  comp__free(parity);
  comp__free(table);
  comp__free(counts);
  return status;
}

/* ---- Draws ---- */

enum { CHUNK = 16 };

/* The mixtures: components sorted by level, stored by dimension, so that a point is compared with many at once. */
typedef struct mixtures {
  size_t n, dims, n_levels, per_level; /* per_level: points drawn from each mixture */
  const size_t *counts;                /* [n_levels] */
  size_t *start;                       /* [n_levels + 1] */
  float *mean, *inverse;               /* [dims, n] */
  float *constant;                     /* [n]: the logarithm of a density at its mean, but for a common term */
  uint64_t seed;
  float *room;                          /* [threads, n] */
  double *balanced, *accuracy, *parity; /* by point, for each pair of levels: [points (, pairs)] */
} mixtures;

static void mixtures_release(mixtures *m) {
  comp__free(m->start);
  comp__free(m->mean);
  comp__free(m->inverse);
  comp__free(m->constant);
  comp__free(m->room);
  comp__free(m->balanced);
  comp__free(m->accuracy);
  comp__free(m->parity);
}

static comp_status mixtures_init(mixtures *m, comp_context *context, const float *mean, const float *scale,
                                 const int32_t *codes) {
  const size_t n = m->n, points = m->per_level * m->n_levels, threads = (size_t)comp_context_thread_count(context);
  size_t *next = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&m->start, m->n_levels + 1, sizeof *m->start));
  COMP__TRY(comp__alloc(&m->mean, n * m->dims, sizeof *m->mean));
  COMP__TRY(comp__alloc(&m->inverse, n * m->dims, sizeof *m->inverse));
  COMP__TRY(comp__calloc(&m->constant, n, sizeof *m->constant));
  COMP__TRY(comp__alloc(&m->room, threads * n, sizeof *m->room));
  COMP__TRY(comp__alloc(&m->balanced, points, sizeof *m->balanced));
  COMP__TRY(comp__alloc(&m->accuracy, points, sizeof *m->accuracy));
  COMP__TRY(comp__alloc(&m->parity, points * m->n_levels * m->n_levels, sizeof *m->parity));
  COMP__TRY(comp__alloc(&next, m->n_levels, sizeof *next));
  for (size_t k = 0; k < m->n_levels; k++) {
    m->start[k + 1] = m->start[k] + m->counts[k];
    next[k] = m->start[k];
  }
  for (size_t i = 0; i < n; i++) {
    const size_t at = next[codes[i]]++;
    double sum = 0;
    for (size_t d = 0; d < m->dims; d++) {
      const float s = scale[i * m->dims + d];
      m->mean[d * n + at] = mean[i * m->dims + d];
      m->inverse[d * n + at] = 1 / s;
      sum -= log((double)s);
    }
    m->constant[at] = (float)sum;
  }
done:
  comp__free(next);
  return status;
}

/* Densities of all mixtures at a point that component `from` drew, up to a common factor: density[n_levels]. */
static void densities(double *density, const mixtures *m, float *logs, const float *point) {
  const size_t n = m->n;
  memcpy(logs, m->constant, n * sizeof *logs);
  for (size_t d = 0; d < m->dims; d++) {
    const float *mean = m->mean + d * n, *inverse = m->inverse + d * n;
    const float x = point[d];
    for (size_t i = 0; i < n; i++) {
      const float t = (x - mean[i]) * inverse[i];
      logs[i] -= 0.5f * t * t;
    }
  }
  const float top = comp__vec_max(logs, n);
  for (size_t k = 0; k < m->n_levels; k++)
    density[k] = comp__vec_sum_exp(logs + m->start[k], top, m->counts[k]) / (double)m->counts[k];
}

enum { MOST_LEVELS = 64, MOST_DIMS = 4096 };

static void look_at(const mixtures *m, size_t point, float *logs) {
  const size_t level = point % m->n_levels, n_levels = m->n_levels;
  const comp__rng rng = comp__rng_at(m->seed, COMP__RNG_AUDIT, 0, point);
  const size_t from = m->start[level] + comp__rng_below(rng, 0, m->counts[level]);
  float x[MOST_DIMS];
  double density[MOST_LEVELS], sum = 0, weighted = 0, most = 0, most_weighted = 0;
  comp__rng_fill_normal(x, m->dims, comp__rng_at(m->seed, COMP__RNG_AUDIT, 1, point), 0);
  for (size_t d = 0; d < m->dims; d++) x[d] = m->mean[d * m->n + from] + x[d] / m->inverse[d * m->n + from];
  densities(density, m, logs, x);
  for (size_t k = 0; k < n_levels; k++) {
    const double w = density[k] * (double)m->counts[k];
    sum += density[k];
    weighted += w;
    most = fmax(most, density[k]);
    most_weighted = fmax(most_weighted, w);
  }
  m->balanced[point] = most / sum;
  m->accuracy[point] = most_weighted / weighted;
  double *parity = m->parity + point * n_levels * n_levels;
  for (size_t a = 0; a < n_levels; a++)
    for (size_t b = a + 1; b < n_levels; b++) {
      const double both = density[a] + density[b];
      parity[a * n_levels + b] = both > 0 ? fabs(density[a] - density[b]) / both : 0;
    }
}

static comp_status look_at_some(void *arg, size_t begin, size_t end, int thread) {
  const mixtures *m = arg;
  for (size_t p = begin; p < end; p++) look_at(m, p, m->room + (size_t)thread * m->n);
  return COMP_OK;
}

/* Means over the points: the plug-in values. parity[n_levels, n_levels]. */
static void average(comp__certificate *out, double *parity, const mixtures *m) {
  const size_t n_levels = m->n_levels, points = m->per_level * n_levels, pairs = n_levels * n_levels;
  for (size_t p = 0; p < points; p++) {
    const size_t level = p % n_levels;
    out->balanced.estimate += m->balanced[p] / (double)points;
    out->accuracy.estimate += m->accuracy[p] * (double)m->counts[level] / (double)m->n / (double)m->per_level;
    for (size_t a = 0; a < n_levels; a++)
      for (size_t b = a + 1; b < n_levels; b++)
        if (level == a || level == b) /* points of the two mixtures alone */
          parity[a * n_levels + b] += m->parity[p * pairs + a * n_levels + b] / (2 * (double)m->per_level);
  }
  for (size_t k = 0; k < pairs; k++) out->parity.estimate = fmax(out->parity.estimate, parity[k]);
}

/* What the finite number of points makes uncertain: Hoeffding's inequality for values in 0 .. 1, or 1 / K .. 1. */
static void add_points(comp__certificate *out, double *parity, const mixtures *m, chances c) {
  const double points = (double)(m->per_level * m->n_levels), levels = (double)m->n_levels;
  double squares = 0;
  for (size_t k = 0; k < m->n_levels; k++) {
    const double share = (double)m->counts[k] / (double)m->n;
    squares += share * share / (double)m->per_level;
  }
  out->balanced.upper = out->balanced.estimate + (1 - 1 / levels) * sqrt(c.balanced / (2 * points));
  out->accuracy.upper = out->accuracy.estimate + sqrt(c.accuracy * squares / 2);
  for (size_t a = 0; a < m->n_levels; a++)
    for (size_t b = a + 1; b < m->n_levels; b++)
      parity[a * m->n_levels + b] += sqrt(c.parity / (4 * (double)m->per_level));
}

comp_status comp__certify_draws(comp__certificate *out, comp_context *context, const float *mean, const float *scale,
                                const int32_t *codes, size_t n, size_t dims, size_t n_levels, double delta,
                                size_t points, uint64_t seed) {
  size_t *counts = NULL;
  double *parity = NULL;
  mixtures m = {.n = n, .dims = dims, .n_levels = n_levels, .seed = seed};
  comp_status status;
  *out = (comp__certificate){0};
  if (n_levels > MOST_LEVELS || dims > MOST_DIMS)
    return comp__error(COMP_ERR_ARGUMENT, "draws of more than %d dimensions or %d values cannot be certified",
                       (int)MOST_DIMS, (int)MOST_LEVELS);
  for (size_t i = 0; i < n * dims; i++)
    if (!(scale[i] > 0) || !isfinite(scale[i]))
      return comp__error(COMP_ERR_DATA, "a posterior has the standard deviation %g: draws need one above 0",
                         (double)scale[i]);
  m.per_level = points / n_levels + 1;
  COMP__TRY(count_levels(&counts, codes, n, n_levels));
  COMP__TRY(comp__calloc(&parity, n_levels * n_levels, sizeof *parity));
  m.counts = counts;
  COMP__TRY(mixtures_init(&m, context, mean, scale, codes));
  COMP__TRY(comp__parallel_try(context, m.per_level * n_levels, CHUNK, look_at_some, &m));
  average(out, parity, &m);
  const chances c = share_delta(n_levels, delta);
  add_points(out, parity, &m, part_of(c, POINTS_SHARE));
  add_slack(out, counts, parity, n_levels, part_of(c, 1 - POINTS_SHARE));
  limit(out);
done:
  mixtures_release(&m);
  comp__free(parity);
  comp__free(counts);
  return status;
}
