/* neighborhood.c: kBET's tests, local silhouettes and Simpson's index, sample by sample, on all threads. */
#include "metrics/neighborhood.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"

enum { CHUNK = 64, LISI_STEPS = 50 };

typedef struct job {
  comp_context *context;
  double *out;
  const comp__neighborhoods *hoods;
  double perplexity;
  double *halves;       /* [splits, n_rows], or NULL */
  const uint32_t *half; /* [n]: bit r is the half of a sample in split r */
  size_t splits;
  char *scratch; /* [threads, scratch_size] */
  size_t scratch_size;
} job;

static comp_status run(job *j, comp_context *context, comp__chunk_fn fn, size_t scratch_size) {
  comp_status status;
  j->scratch_size = (scratch_size + COMP__ALIGN - 1) / COMP__ALIGN * COMP__ALIGN;
  COMP__TRY(comp__alloc(&j->scratch, (size_t)comp_context_thread_count(context), j->scratch_size));
  j->context = context;
  comp__parallel_for(context, j->hoods->n_rows, CHUNK, fn, j);
  status = comp__check_interrupt(context);
done:
  comp__free(j->scratch);
  return status;
}

static size_t sample_at(const comp__neighborhoods *h, size_t i) {
  return h->rows ? h->rows[i] : i;
}

static bool counts(const comp__neighborhoods *h, size_t sample, int32_t neighbor) {
  return !h->within || h->within[neighbor] == h->within[sample];
}

double comp__kbet_statistic(const size_t *observed, const size_t *group_counts, size_t groups, size_t own, size_t k,
                            double *dof) {
  double statistic = 0.0, total = 0.0;
  size_t present = 0;
  for (size_t g = 0; g < groups; g++) total += (double)group_counts[g];
  for (size_t g = 0; g < groups; g++) {
    if (group_counts[g] == 0) continue;
    double expected = (double)k * ((double)group_counts[g] / total) + (g == own ? 1.0 : 0.0);
    double difference = (double)observed[g] - expected;
    present++;
    if (expected > 0.0) statistic += difference * difference / expected;
  }
  *dof = (double)present - 1.0;
  return statistic;
}

static void kbet_chunk(void *arg, size_t begin, size_t end, int thread) {
  job *j = arg;
  const comp__neighborhoods *h = j->hoods;
  size_t *observed = (size_t *)(void *)(j->scratch + (size_t)thread * j->scratch_size);
  if (comp_context_interrupted(j->context)) return;
  for (size_t i = begin; i < end; i++) {
    size_t sample = sample_at(h, i), own = (size_t)h->group[sample], found = 0;
    const int32_t *row = h->indices + sample * h->stride;
    memset(observed, 0, h->groups * sizeof *observed);
    for (size_t n = 0; n < h->k; n++) {
      if (!counts(h, sample, row[n])) continue;
      observed[h->group[row[n]]]++;
      found++;
    }
    observed[own]++;
    double dof, statistic = comp__kbet_statistic(observed, h->counts, h->groups, own, found, &dof);
    j->out[i] = found == 0 || dof < 1.0 ? 1.0 : comp__chi_square_tail(statistic, dof);
  }
}

comp_status comp__kbet_pvals(double *out, comp_context *context, const comp__neighborhoods *hoods) {
  job j = {.out = out, .hoods = hoods};
  return run(&j, context, kbet_chunk, hoods->groups * sizeof(size_t));
}

static void silhouette_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  job *j = arg;
  const comp__neighborhoods *h = j->hoods;
  if (comp_context_interrupted(j->context)) return;
  for (size_t i = begin; i < end; i++) {
    size_t sample = sample_at(h, i), own = 0, others = 0;
    const int32_t *row = h->indices + sample * h->stride;
    const float *distance = h->distances + sample * h->stride;
    double a = 0.0, b = 0.0;
    for (size_t n = 0; n < h->k; n++) {
      if (!counts(h, sample, row[n])) continue;
      if (h->group[row[n]] == h->group[sample]) {
        a += (double)distance[n];
        own++;
      } else {
        b += (double)distance[n];
        others++;
      }
    }
    if (own == 0 || others == 0) {
      j->out[i] = own ? 1.0 : others ? -1.0 : 0.0;
      continue;
    }
    a /= (double)own;
    b /= (double)others;
    double larger = fmax(a, b);
    j->out[i] = larger > 0.0 ? (b - a) / larger : 0.0;
  }
}

comp_status comp__local_silhouettes(double *out, comp_context *context, const comp__neighborhoods *hoods) {
  job j = {.out = out, .hoods = hoods};
  return run(&j, context, silhouette_chunk, 1);
}

/* weights [k] = exp(-beta distances) / sum; returns their entropy. The nearest has distance 0, so that the sum is at
 * least 1. */
static double entropy(double *weights, const double *distances, size_t k, double beta) {
  double sum = 0.0, weighted = 0.0;
  for (size_t n = 0; n < k; n++) {
    weights[n] = exp(-distances[n] * beta);
    sum += weights[n];
    weighted += distances[n] * weights[n];
  }
  for (size_t n = 0; n < k; n++) weights[n] /= sum;
  return log(sum) + beta * weighted / sum;
}

/* beta by halving and doubling, as t-SNE looks for its perplexity. */
static void find_weights(double *weights, const double *distances, size_t k, double perplexity) {
  double beta = 1.0, low = -INFINITY, high = INFINITY;
  double difference = entropy(weights, distances, k, beta) - log(perplexity);
  for (int step = 0; step < LISI_STEPS && fabs(difference) > 1e-5; step++) {
    if (difference > 0.0) {
      low = beta;
      beta = isinf(high) ? beta * 2.0 : (beta + high) / 2.0;
    } else {
      high = beta;
      beta = isinf(low) ? beta / 2.0 : (beta + low) / 2.0;
    }
    difference = entropy(weights, distances, k, beta) - log(perplexity);
  }
}

/* The sum of squares of the shares, which become 0 again. Only groups of neighbours have one: there may be thousands.
 */
static double take_squares(double *shares, const comp__neighborhoods *h, const int32_t *row) {
  double sum = 0.0;
  for (size_t n = 0; n < h->k; n++) {
    double *share = &shares[h->group[row[n]]];
    sum += *share * *share;
    *share = 0.0;
  }
  return sum;
}

/* As LISI, of the neighbours in the sample's own half only, with the weights that they have among all. */
static double half_lisi(double *shares, const job *j, size_t sample, size_t split, const double *weights) {
  const comp__neighborhoods *h = j->hoods;
  const int32_t *row = h->indices + sample * h->stride;
  double total = 0.0;
  for (size_t n = 0; n < h->k; n++) {
    if (((j->half[row[n]] ^ j->half[sample]) >> split) & 1) continue;
    shares[h->group[row[n]]] += weights[n];
    total += weights[n];
  }
  const double squares = take_squares(shares, h, row);
  return squares > 0.0 ? total * total / squares : 1.0;
}

static void lisi_chunk(void *arg, size_t begin, size_t end, int thread) {
  job *j = arg;
  const comp__neighborhoods *h = j->hoods;
  double *weights = (double *)(void *)(j->scratch + (size_t)thread * j->scratch_size);
  double *distances = weights + h->k, *shares = distances + h->k;
  if (comp_context_interrupted(j->context)) return;
  memset(shares, 0, h->groups * sizeof *shares);
  for (size_t i = begin; i < end; i++) {
    size_t sample = sample_at(h, i);
    const int32_t *row = h->indices + sample * h->stride;
    const float *distance = h->distances + sample * h->stride;
    /* Weights and entropy stay the same when all distances change by the same amount, and far neighbours do not vanish.
     */
    for (size_t n = 0; n < h->k; n++) distances[n] = (double)distance[n] - (double)distance[0];
    find_weights(weights, distances, h->k, j->perplexity);
    for (size_t n = 0; n < h->k; n++) shares[h->group[row[n]]] += weights[n];
    j->out[i] = h->k > 0 ? 1.0 / take_squares(shares, h, row) : 1.0;
    for (size_t r = 0; r < j->splits; r++) j->halves[r * h->n_rows + i] = half_lisi(shares, j, sample, r, weights);
  }
}

comp_status comp__lisi(double *out, comp_context *context, const comp__neighborhoods *hoods) {
  return comp__lisi_halves(out, NULL, NULL, 0, context, hoods);
}

comp_status comp__lisi_halves(double *out, double *halves, const uint32_t *half, size_t splits, comp_context *context,
                              const comp__neighborhoods *hoods) {
  job j = {.out = out,
           .hoods = hoods,
           .perplexity = fmax(1.0, floor((double)(hoods->k + 1) / 3.0)),
           .halves = halves,
           .half = half,
           .splits = splits};
  return run(&j, context, lisi_chunk, (2 * hoods->k + hoods->groups) * sizeof(double));
}
