/* partition.c: labels against clusters: normalised mutual information and the adjusted Rand index. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/kmeans.h"
#include "cluster/leiden.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "metrics/agreement.h"
#include "metrics/score.h"

static double entropy(const double *counts, size_t groups, double n) {
  double h = 0.0;
  for (size_t g = 0; g < groups; g++)
    if (counts[g] > 0.0) h -= counts[g] / n * log(counts[g] / n);
  return h;
}

static double pairs_within(const double *counts, size_t groups) {
  double pairs = 0.0;
  for (size_t g = 0; g < groups; g++) pairs += counts[g] * (counts[g] - 1.0) / 2.0;
  return pairs;
}

static size_t count_present(const double *counts, size_t groups) {
  size_t present = 0;
  for (size_t g = 0; g < groups; g++) present += counts[g] > 0.0;
  return present;
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

comp_status comp__partition_agreement(double *nmi, double *ari, const int32_t *a, size_t groups_a, const int32_t *b,
                                      size_t groups_b, size_t n) {
  comp_status status;
  uint64_t *both = NULL; /* sorted, so that equal pairs stand together: a table of all pairs may not fit into memory */
  double *of_a = NULL, *of_b = NULL, total = (double)n, mutual = 0.0, together = 0.0;
  COMP__TRY(comp__alloc(&both, n, sizeof *both));
  COMP__TRY(comp__calloc(&of_a, groups_a, sizeof *of_a));
  COMP__TRY(comp__calloc(&of_b, groups_b, sizeof *of_b));
  for (size_t i = 0; i < n; i++) {
    both[i] = (uint64_t)a[i] << 32 | (uint64_t)b[i];
    of_a[a[i]] += 1.0;
    of_b[b[i]] += 1.0;
  }
  qsort(both, n, sizeof *both, compare);
  for (size_t i = 0, next; i < n; i = next) {
    for (next = i + 1; next < n && both[next] == both[i];) next++;
    double count = (double)(next - i);
    mutual += count / total * (log(count) + log(total) - log(of_a[both[i] >> 32]) - log(of_b[both[i] & UINT32_MAX]));
    together += count * (count - 1.0) / 2.0;
  }
  double mean = (entropy(of_a, groups_a, total) + entropy(of_b, groups_b, total)) / 2.0;
  size_t present_a = count_present(of_a, groups_a), present_b = count_present(of_b, groups_b);
  bool trivial = (present_a == 1 && present_b == 1) || n < 2;
  *nmi = trivial ? 1.0 : mean > 0.0 ? fmin(1.0, fmax(0.0, mutual) / mean) : 0.0;
  double in_a = pairs_within(of_a, groups_a), in_b = pairs_within(of_b, groups_b);
  double expected = n < 2 ? 0.0 : in_a * in_b / (total * (total - 1.0) / 2.0), most = (in_a + in_b) / 2.0;
  *ari = trivial || most - expected == 0.0 ? 1.0 : (together - expected) / (most - expected);
done:
  comp__free(both);
  comp__free(of_a);
  comp__free(of_b);
  return status;
}

/* The error of an agreement by random halves (interval.h), of at most so many samples. */
static comp_status agreement_error(double *out, const comp__scoring *s, const int32_t *clusters, size_t n_clusters,
                                   bool mutual) {
  enum { MOST = 20000 };
  const comp__view *v = s->labelled;
  const size_t n = v->n < MOST ? v->n : MOST, splits = comp__split_count(n);
  int32_t *labels[2] = {NULL, NULL}, *found[2] = {NULL, NULL};
  double sum = 0.0;
  comp_status status = COMP_OK;
  for (int h = 0; h < 2; h++) {
    COMP__TRY(comp__alloc(&labels[h], n, sizeof *labels[h]));
    COMP__TRY(comp__alloc(&found[h], n, sizeof *found[h]));
  }
  for (size_t r = 0; r < splits; r++) {
    size_t counts[2] = {0, 0};
    double nmi[2], ari[2];
    for (size_t k = 0; k < n; k++) {
      const size_t i = (size_t)((double)k * (double)v->n / (double)n);
      const int h = comp__split_half(s->options->seed, r, i);
      labels[h][counts[h]] = v->label[i];
      found[h][counts[h]++] = clusters[i];
    }
    for (int h = 0; h < 2; h++)
      COMP__TRY(comp__partition_agreement(&nmi[h], &ari[h], labels[h], s->n_labels, found[h], n_clusters, counts[h]));
    const double difference = mutual ? nmi[0] - nmi[1] : ari[0] - ari[1];
    sum += difference * difference;
  }
  *out = comp__split_error(sum, splits) * sqrt((double)n / (double)v->n);
done:
  for (int h = 0; h < 2; h++) {
    comp__free(labels[h]);
    comp__free(found[h]);
  }
  return status;
}

static comp_status put_agreement(comp__score_cell *out, const comp__scoring *s, const int32_t *clusters,
                                 size_t n_clusters, bool mutual) {
  double nmi, ari, error = 0;
  comp_status status =
      comp__partition_agreement(&nmi, &ari, s->labelled->label, s->n_labels, clusters, n_clusters, s->labelled->n);
  if (status == COMP_OK) status = agreement_error(&error, s, clusters, n_clusters, mutual);
  if (status != COMP_OK) return status;
  out->value = mutual ? nmi : ari;
  out->interval = comp__error_interval(out->value, error, mutual ? 0 : -0.5, 1);
  return COMP_OK;
}

/* The number of labels that samples have. */
static comp_status labels_present(size_t *out, const comp__scoring *s) {
  bool *seen;
  comp_status status = comp__calloc(&seen, s->n_labels, sizeof *seen);
  if (status != COMP_OK) return status;
  *out = 0;
  for (size_t i = 0; i < s->labelled->n; i++) {
    *out += !seen[s->labelled->label[i]];
    seen[s->labelled->label[i]] = true;
  }
  comp__free(seen);
  return COMP_OK;
}

static comp_status with_kmeans(comp__score_cell *out, comp__scoring *s, bool mutual) {
  comp_status status;
  const comp__view *v = s->labelled;
  comp__kmeans_options options = COMP__KMEANS_OPTIONS_INIT;
  COMP__TRY(labels_present(&options.clusters, s));
  if (options.clusters < 2) return comp__cell_fail(out, "there is one label only");
  options.seed = s->options->seed;
  if (!s->clusters) {
    COMP__TRY(comp__alloc(&s->clusters, v->n, sizeof *s->clusters));
    COMP__TRY(comp__kmeans(s->clusters, NULL, NULL, s->context, v->matrix->values, v->n, v->dims, &options));
  }
  COMP__TRY(put_agreement(out, s, s->clusters, options.clusters, mutual));
done:
  return status;
}

comp_status comp__metric_nmi_kmeans(comp__score_cell *out, comp__scoring *s) {
  return with_kmeans(out, s, true);
}

comp_status comp__metric_ari_kmeans(comp__score_cell *out, comp__scoring *s) {
  return with_kmeans(out, s, false);
}

enum { RESOLUTIONS = 10 };

/* Clusters at resolutions 0.2, 0.4 .. 2 and keeps those with the highest mutual information. */
static comp_status find_leiden(comp__scoring *s) {
  comp_status status;
  comp__view *v = s->labelled;
  comp__neighborhoods h;
  comp__weighted_graph graph = {0};
  int32_t *found = NULL;
  double best = -1.0;
  size_t k = v->n < COMP__GRAPH_NEIGHBORS ? v->n : COMP__GRAPH_NEIGHBORS; /* the sample itself is one of them */
  COMP__TRY(comp__view_neighborhoods(&h, s, v, k - 1));
  COMP__TRY(comp__connectivity(&graph, s->context, h.indices, h.distances, v->n, h.k, h.stride));
  COMP__TRY(comp__alloc(&found, v->n, sizeof *found));
  COMP__TRY(comp__alloc(&s->leiden, v->n, sizeof *s->leiden));
  for (int r = 1; r <= RESOLUTIONS; r++) {
    size_t clusters;
    double nmi, ari;
    COMP__TRY(comp__leiden(found, &clusters, &graph, 2.0 * r / RESOLUTIONS, s->options->seed));
    COMP__TRY(comp__partition_agreement(&nmi, &ari, v->label, s->n_labels, found, clusters, v->n));
    COMP__TRY(comp__check_interrupt(s->context));
    if (!(nmi > best)) continue;
    best = nmi;
    memcpy(s->leiden, found, v->n * sizeof *found);
  }
done:
  if (status != COMP_OK) {
    comp__free(s->leiden);
    s->leiden = NULL;
  }
  comp__free(found);
  comp__weighted_graph_release(&graph);
  return status;
}

static comp_status with_leiden(comp__score_cell *out, comp__scoring *s, bool mutual) {
  comp_status status;
  const comp__view *v = s->labelled;
  size_t present, clusters = 0;
  COMP__TRY(labels_present(&present, s));
  if (present < 2) return comp__cell_fail(out, "there is one label only");
  if (!s->leiden) status = find_leiden(s);
  if (status == COMP_ERR_UNAVAILABLE) return comp__cell_fail(out, "%s", comp_error_message());
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < v->n; i++)
    if ((size_t)s->leiden[i] >= clusters) clusters = (size_t)s->leiden[i] + 1;
  COMP__TRY(put_agreement(out, s, s->leiden, clusters, mutual));
done:
  return status;
}

comp_status comp__metric_nmi_leiden(comp__score_cell *out, comp__scoring *s) {
  return with_leiden(out, s, true);
}

comp_status comp__metric_ari_leiden(comp__score_cell *out, comp__scoring *s) {
  return with_leiden(out, s, false);
}
