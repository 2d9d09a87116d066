/*
 * celligner.c: Celligner (Warren et al. 2021): two sets whose samples are of one kind in different states, such as
 * tumours and cell lines.
 *
 *   each set is centred and clustered on its own principal components;
 *   contrastive principal components, directions in which the sets vary most differently within their clusters, are
 *   taken out of both;
 *   the other sets are moved to the reference by mutual nearest neighbours, which are sought over the genes that tell
 *   clusters of either set apart.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "baseline/baseline.h"
#include "baseline/pairing.h"
#include "cluster/connectivity.h"
#include "cluster/kmeans.h"
#include "cluster/leiden.h"
#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "linalg/linalg.h"
#include "neighbors/options.h"
#include "nn/matmul.h"

/* The published values; clusters were Seurat's. */
enum {
  REMOVED = 4,          /* contrastive components */
  K_REFERENCE = 50,     /* reference samples near a sample of another set */
  K_OTHER = 5,          /* the other way round */
  SMOOTH = 20,          /* paired samples over which a sample's movement is averaged; batchelor's value */
  TOP_GENES = 1000,     /* that tell clusters apart, of each set */
  GRAPH_NEIGHBORS = 20, /* of the graph that is clustered */
  RESOLUTION = 5,
  BLOCK = 16, /* directions that the search for components carries along */
  STEPS = 300,
  MIN_SAMPLES = 10
};

typedef struct celligner {
  comp__baseline_run *run;
  comp_context *context;
  size_t sets, genes, reference;
  size_t *rows, *start; /* samples by set */
  comp_matrix **x;      /* [sets]: dense, centred, then corrected */
  comp_matrix *within;  /* [samples by set, genes]: less the means of clusters, scaled */
  double *ranks;        /* [genes]: the best rank over the sets */
  size_t *chosen;       /* [n_chosen]: genes, ascending */
  size_t n_chosen;
} celligner;

/* ---- One set ---- */

static void centre(comp_matrix *x, double *mean) {
  memset(mean, 0, x->cols * sizeof *mean);
  for (size_t i = 0; i < x->rows; i++)
    for (size_t j = 0; j < x->cols; j++) mean[j] += x->values[i * x->cols + j];
  for (size_t j = 0; j < x->cols; j++) mean[j] /= (double)x->rows;
  for (size_t i = 0; i < x->rows; i++)
    for (size_t j = 0; j < x->cols; j++) x->values[i * x->cols + j] = (float)(x->values[i * x->cols + j] - mean[j]);
}

static comp_status read_sets(celligner *c) {
  comp_status status;
  double *mean = NULL;
  COMP__TRY(comp__alloc(&mean, c->genes, sizeof *mean));
  for (size_t b = 0; b < c->sets; b++) {
    comp_matrix *part = NULL;
    COMP__TRY(comp_matrix_select(&part, c->context, c->run->dataset->x, c->rows + c->start[b],
                                 c->start[b + 1] - c->start[b], NULL, 0));
    status = comp_matrix_to_dense(&c->x[b], c->context, part);
    comp_matrix_free(part);
    if (status != COMP_OK) goto done;
    centre(c->x[b], mean);
  }
done:
  comp__free(mean);
  return status;
}

static comp_status cluster_by_means(int32_t *labels, size_t *clusters, const celligner *c, const comp_matrix *points) {
  comp__kmeans_options options = COMP__KMEANS_OPTIONS_INIT;
  options.clusters = *clusters = c->run->options->clusters;
  options.seed = c->run->options->seed;
  return comp__kmeans(labels, NULL, NULL, c->context, points->values, points->rows, points->cols, &options);
}

static comp_status cluster_by_graph(int32_t *labels, size_t *clusters, const celligner *c, const comp_matrix *points) {
  comp_status status;
  comp_neighbors *near = NULL;
  comp__weighted_graph graph = {0};
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = GRAPH_NEIGHBORS < points->rows ? GRAPH_NEIGHBORS : points->rows - 1;
  options.search = COMP_SEARCH_EXACT;
  COMP__TRY(comp__neighbors_find(&near, c->context, points, &options));
  COMP__TRY(comp__connectivity(&graph, c->context, comp_neighbors_indices(near), comp_neighbors_distances(near),
                               points->rows, options.k, options.k));
  COMP__TRY(comp__leiden(labels, clusters, &graph, RESOLUTION, c->run->options->seed));
done:
  comp_neighbors_free(near);
  comp__weighted_graph_release(&graph);
  return status;
}

/* labels [n] of a set, 0 .. *clusters - 1, on its own principal components: Leiden's, unless a number of clusters is
 * asked for. */
static comp_status cluster_set(int32_t *labels, size_t *clusters, const celligner *c, const comp_matrix *x) {
  comp_status status;
  comp__pca pca = {0};
  comp_matrix *points = NULL;
  size_t most = x->rows - 1 < x->cols ? x->rows - 1 : x->cols;
  comp__pca_options options = {.components = c->run->components < most ? c->run->components : most,
                               .seed = c->run->options->seed};
  COMP__TRY(comp__pca_fit(&pca, c->context, x, &options));
  COMP__TRY(comp__matrix_new_dense_raw(&points, x->rows, pca.components));
  memcpy(points->values, pca.scores, x->rows * pca.components * sizeof(float));
  if (c->run->options->clusters)
    COMP__TRY(cluster_by_means(labels, clusters, c, points));
  else
    COMP__TRY(cluster_by_graph(labels, clusters, c, points));
done:
  if (status == COMP_ERR_UNAVAILABLE)
    comp__error_context(status, "celligner needs Leiden clusters, or a number of clusters for k-means");
  comp__pca_release(&pca);
  comp_matrix_free(points);
  return status;
}

/* means [clusters, genes]. */
static void cluster_means(double *means, double *counts, const comp_matrix *x, const int32_t *labels, size_t clusters) {
  memset(means, 0, clusters * x->cols * sizeof *means);
  memset(counts, 0, clusters * sizeof *counts);
  for (size_t i = 0; i < x->rows; i++) {
    counts[labels[i]] += 1.0;
    for (size_t j = 0; j < x->cols; j++) means[(size_t)labels[i] * x->cols + j] += x->values[i * x->cols + j];
  }
  for (size_t k = 0; k < clusters; k++)
    for (size_t j = 0; counts[k] > 0.0 && j < x->cols; j++) means[k * x->cols + j] /= counts[k];
}

static int compare_f(const void *a, const void *b, void *user) {
  const double *f = user;
  size_t i = *(const size_t *)a, j = *(const size_t *)b;
  if (f[i] != f[j]) return f[i] > f[j] ? -1 : 1;
  return i < j ? -1 : i > j;
}

/* Lowers the rank of each gene to its rank by F, the variance between clusters over that within them. */
static comp_status rank_genes(celligner *c, const double *between, const double *within) {
  comp_status status;
  size_t *order = NULL;
  double *f = NULL;
  COMP__TRY(comp__alloc(&order, c->genes, sizeof *order));
  COMP__TRY(comp__alloc(&f, c->genes, sizeof *f));
  for (size_t j = 0; j < c->genes; j++) {
    order[j] = j;
    f[j] = within[j] > 0.0 ? between[j] / within[j] : between[j] > 0.0 ? INFINITY : 0.0;
  }
  qsort_r(order, c->genes, sizeof *order, compare_f, f);
  for (size_t r = 0; r < c->genes; r++) c->ranks[order[r]] = fmin(c->ranks[order[r]], (double)r);
done:
  comp__free(order);
  comp__free(f);
  return status;
}

/* Clusters a set, ranks its genes, and puts what is left within its clusters into `within`, scaled so that its product
 * with itself is a covariance. */
static comp_status study_set(celligner *c, size_t b) {
  comp_status status;
  const comp_matrix *x = c->x[b];
  size_t clusters = 0, genes = c->genes;
  int32_t *labels = NULL;
  double *means = NULL, *counts = NULL, *between = NULL, *within = NULL;
  COMP__TRY(comp__alloc(&labels, x->rows, sizeof *labels));
  COMP__TRY(cluster_set(labels, &clusters, c, x));
  COMP__TRY(comp__alloc(&means, clusters, genes * sizeof *means));
  COMP__TRY(comp__alloc(&counts, clusters, sizeof *counts));
  COMP__TRY(comp__calloc(&between, genes, sizeof *between));
  COMP__TRY(comp__calloc(&within, genes, sizeof *within));
  cluster_means(means, counts, x, labels, clusters);
  float *out = c->within->values + c->start[b] * genes;
  double scale = 1.0 / sqrt((double)x->rows - 1.0);
  for (size_t i = 0; i < x->rows; i++)
    for (size_t j = 0; j < genes; j++) {
      double left = x->values[i * genes + j] - means[(size_t)labels[i] * genes + j];
      out[i * genes + j] = (float)(left * scale);
      within[j] += left * left;
    }
  for (size_t k = 0; k < clusters; k++) /* the mean of a centred set is 0 */
    for (size_t j = 0; j < genes; j++) between[j] += counts[k] * means[k * genes + j] * means[k * genes + j];
  COMP__TRY(rank_genes(c, between, within));
  comp__info(c->context, "celligner: '%s': %zu samples, %zu cluster%s", c->run->batch.levels[b], x->rows, clusters,
             clusters == 1 ? "" : "s");
done:
  comp__free(labels);
  comp__free(means);
  comp__free(counts);
  comp__free(between);
  comp__free(within);
  return status;
}

/* ---- Contrastive components ---- */

/* Makes the rows of q [n, d] orthonormal; one that depends on those before it becomes 0. */
static void orthonormalise(float *q, size_t n, size_t d) {
  for (size_t r = 0; r < n; r++) {
    float *row = q + r * d;
    double squares = 0.0, before = 0.0;
    for (size_t j = 0; j < d; j++) before += (double)row[j] * row[j];
    for (int pass = 0; pass < 2; pass++) /* twice is enough */
      for (size_t s = 0; s < r; s++) {
        double dot = 0.0;
        for (size_t j = 0; j < d; j++) dot += (double)row[j] * q[s * d + j];
        for (size_t j = 0; j < d; j++) row[j] = (float)(row[j] - dot * q[s * d + j]);
      }
    for (size_t j = 0; j < d; j++) squares += (double)row[j] * row[j];
    double scale = squares > 1e-12 * before && squares > 0.0 ? 1.0 / sqrt(squares) : 0.0;
    for (size_t j = 0; j < d; j++) row[j] = (float)(row[j] * scale);
  }
}

/* out [block, genes] = q times (covariance of the reference - covariance of the others). */
static comp_status apply_difference(float *out, const celligner *c, const float *q, size_t block, float *room) {
  comp_status status;
  size_t n = c->within->rows;
  COMP__TRY(comp__matmul_f32(c->context, room, block, c->within->values, c->genes, q, c->genes, n, block, c->genes,
                             COMP__TRANS_B));
  for (size_t i = 0; i < n; i++) {
    bool of_reference = i >= c->start[c->reference] && i < c->start[c->reference + 1];
    for (size_t k = 0; k < block && !of_reference; k++) room[i * block + k] = -room[i * block + k];
  }
  COMP__TRY(comp__matmul_f32(c->context, out, c->genes, room, block, c->within->values, c->genes, block, c->genes, n,
                             COMP__TRANS_A));
done:
  return status;
}

/* Turns the rows of q into the eigenvectors that it holds, those of the largest magnitude first, whose magnitudes
 * `values` gets. `p` = q times the difference; it becomes the new q. */
static comp_status rotate(float *q, float *p, size_t block, size_t genes, double *values, double *small) {
  comp_status status;
  size_t order[BLOCK];
  double *scratch = NULL;
  COMP__TRY(comp__alloc(&scratch, block, genes * sizeof *scratch));
  for (size_t r = 0; r < block; r++)
    for (size_t s = 0; s < block; s++) {
      double dot = 0.0;
      for (size_t j = 0; j < genes; j++) dot += (double)q[r * genes + j] * p[s * genes + j];
      small[r * block + s] = dot;
    }
  for (size_t r = 0; r < block; r++)
    for (size_t s = 0; s < r; s++)
      small[r * block + s] = small[s * block + r] = 0.5 * (small[r * block + s] + small[s * block + r]);
  double eigen[BLOCK];
  COMP__TRY(comp__eigen_symmetric(small, block, eigen));
  for (size_t r = 0; r < block; r++) {
    size_t at = r;
    for (; at > 0 && fabs(eigen[order[at - 1]]) < fabs(eigen[r]); at--) order[at] = order[at - 1];
    order[at] = r;
  }
  for (size_t r = 0; r < block; r++) {
    values[r] = fabs(eigen[order[r]]);
    for (size_t j = 0; j < genes; j++) {
      double sum = 0.0;
      for (size_t s = 0; s < block; s++) sum += small[order[r] * block + s] * p[s * genes + j];
      scratch[r * genes + j] = sum;
    }
  }
  for (size_t j = 0; j < block * genes; j++) q[j] = (float)scratch[j];
done:
  comp__free(scratch);
  return status;
}

/* q [REMOVED, genes] gets the directions, orthonormal, by subspace iteration: the difference of covariances is never
 * made. */
static comp_status find_contrast(float *q, size_t removed, const celligner *c) {
  comp_status status;
  size_t genes = c->genes, block = BLOCK < genes ? BLOCK : genes;
  float *all = NULL, *p = NULL, *room = NULL;
  double values[BLOCK] = {0}, before[BLOCK] = {0}, small[BLOCK * BLOCK];
  COMP__TRY(comp__alloc(&all, block, genes * sizeof *all));
  COMP__TRY(comp__alloc(&p, block, genes * sizeof *p));
  COMP__TRY(comp__alloc(&room, c->within->rows, block * sizeof *room));
  for (size_t r = 0; r < block; r++)
    comp__rng_fill_normal(all + r * genes, genes, comp__rng_at(c->run->options->seed, COMP__RNG_BASELINE, r, 2), 0);
  orthonormalise(all, block, genes);
  for (size_t t = 0; t < STEPS; t++) {
    COMP__TRY(comp__check_interrupt(c->context));
    COMP__TRY(apply_difference(p, c, all, block, room));
    COMP__TRY(rotate(all, p, block, genes, values, small));
    orthonormalise(all, block, genes);
    bool settled = true;
    for (size_t r = 0; r < removed; r++) settled = settled && fabs(values[r] - before[r]) <= 1e-9 * values[0];
    memcpy(before, values, sizeof before);
    if (settled && t > 10) break;
  }
  memcpy(q, all, removed * genes * sizeof *q);
done:
  comp__free(all);
  comp__free(p);
  comp__free(room);
  return status;
}

static void remove_directions(comp_matrix *x, const float *q, size_t n) {
  for (size_t i = 0; i < x->rows; i++)
    for (size_t r = 0; r < n; r++) {
      float *row = x->values + i * x->cols;
      const float *direction = q + r * x->cols;
      double dot = 0.0;
      for (size_t j = 0; j < x->cols; j++) dot += (double)row[j] * direction[j];
      for (size_t j = 0; j < x->cols; j++) row[j] = (float)(row[j] - dot * direction[j]);
    }
}

static comp_status remove_contrast(celligner *c) {
  comp_status status;
  float *q = NULL;
  size_t removed = REMOVED < c->genes ? REMOVED : c->genes - 1;
  COMP__TRY(comp__alloc(&q, REMOVED, c->genes * sizeof *q));
  COMP__TRY(find_contrast(q, removed, c));
  for (size_t b = 0; b < c->sets; b++) remove_directions(c->x[b], q, removed);
done:
  comp__free(q);
  return status;
}

/* ---- Bringing the sets together ---- */

static comp_status choose_genes(celligner *c) {
  comp_status status;
  COMP__TRY(comp__alloc(&c->chosen, c->genes, sizeof *c->chosen));
  for (size_t j = 0; j < c->genes; j++)
    if (c->ranks[j] < TOP_GENES) c->chosen[c->n_chosen++] = j;
done:
  return status;
}

/* Moves set b to the reference, a copy of which is flattened along the overall difference for it. */
static comp_status align_set(celligner *c, size_t b) {
  comp_status status;
  comp_matrix *reference = NULL, *left = NULL, *right = NULL;
  comp__mutual pairs = {0};
  double *overall = NULL;
  COMP__TRY(comp__alloc(&overall, c->genes, sizeof *overall));
  COMP__TRY(comp_matrix_select(&left, c->context, c->x[c->reference], NULL, 0, c->chosen, c->n_chosen));
  COMP__TRY(comp_matrix_select(&right, c->context, c->x[b], NULL, 0, c->chosen, c->n_chosen));
  COMP__TRY(comp_matrix_select(&reference, c->context, c->x[c->reference], NULL, 0, NULL, 0));
  COMP__TRY(comp__mutual_find(&pairs, c->context, left, right, K_REFERENCE, K_OTHER));
  if (pairs.n == 0)
    COMP__FAIL(COMP_ERR_DATA, "'%s' has no mutual neighbours with the reference '%s'", c->run->batch.levels[b],
               c->run->batch.levels[c->reference]);
  comp__info(c->context, "celligner: '%s': %zu pair%s over %zu features", c->run->batch.levels[b], pairs.n,
             pairs.n == 1 ? "" : "s", c->n_chosen);
  COMP__TRY(comp__pairing_correct(c->context, reference, c->x[b], right, &pairs, SMOOTH, overall));
  if (c->sets == 2) { /* of several sets, each has a difference of its own: the reference stays */
    comp_matrix_free(c->x[c->reference]);
    c->x[c->reference] = reference;
    reference = NULL;
  }
done:
  comp_matrix_free(reference);
  comp_matrix_free(left);
  comp_matrix_free(right);
  comp__mutual_release(&pairs);
  comp__free(overall);
  return status;
}

static comp_status collect(celligner *c) {
  comp_status status;
  COMP__TRY(comp__matrix_new_dense_raw(&c->run->layer, c->run->batch.rows, c->genes));
  for (size_t b = 0; b < c->sets; b++)
    for (size_t i = 0; i < c->x[b]->rows; i++)
      memcpy(c->run->layer->values + c->rows[c->start[b] + i] * c->genes, c->x[b]->values + i * c->genes,
             c->genes * sizeof(float));
  COMP__TRY(comp__baseline_scores(&c->run->embedding, c->run, c->run->layer));
done:
  return status;
}

static comp_status check_sets(const celligner *c) {
  for (size_t b = 0; b < c->sets; b++) {
    const char *name = c->run->batch.levels[b];
    const size_t n = c->run->batch.counts[b], asked = c->run->options->clusters;
    if (n < MIN_SAMPLES)
      return comp__error(COMP_ERR_DATA, "'%s' has %zu sample%s, and clusters cannot be found in fewer than %d", name, n,
                         n == 1 ? "" : "s", (int)MIN_SAMPLES);
    if (asked > n / 2)
      return comp__error(COMP_ERR_ARGUMENT, "clusters: %zu are too many for '%s', which has %zu samples: at most %zu",
                         asked, name, n, n / 2);
  }
  if (c->genes < 2)
    return comp__error(COMP_ERR_DATA, "celligner needs two features at least, and there is %zu", c->genes);
  return comp__baseline_check_components(c->run, c->run->dataset->x);
}

static comp_status run_celligner(comp__baseline_run *run) {
  comp_status status;
  const comp__baseline_options *o = run->options;
  celligner c = {.run = run, .context = run->context, .sets = run->batch.n_levels, .genes = run->dataset->features};
  COMP__TRY(check_sets(&c));
  for (size_t b = 1; b < c.sets; b++)
    if (run->batch.counts[b] > run->batch.counts[c.reference]) c.reference = b;
  if (o->reference) COMP__TRY(comp__baseline_level(&c.reference, &run->batch, o->reference, o->condition));
  COMP__TRY(comp__baseline_rows(&c.rows, &c.start, &run->batch));
  COMP__TRY(comp__calloc(&c.x, c.sets, sizeof(comp_matrix *)));
  COMP__TRY(comp__alloc(&c.ranks, c.genes, sizeof *c.ranks));
  for (size_t j = 0; j < c.genes; j++) c.ranks[j] = INFINITY;
  COMP__TRY(comp__matrix_new_dense_raw(&c.within, run->batch.rows, c.genes));
  COMP__TRY(read_sets(&c));
  for (size_t b = 0; b < c.sets; b++) COMP__TRY(study_set(&c, b));
  COMP__TRY(remove_contrast(&c));
  COMP__TRY(choose_genes(&c));
  for (size_t b = 0; b < c.sets; b++)
    if (b != c.reference) COMP__TRY(align_set(&c, b));
  COMP__TRY(collect(&c));
done:
  for (size_t b = 0; c.x && b < c.sets; b++) comp_matrix_free(c.x[b]);
  comp__free(c.x);
  comp_matrix_free(c.within);
  comp__free(c.rows);
  comp__free(c.start);
  comp__free(c.ranks);
  comp__free(c.chosen);
  return status;
}

const comp__baseline comp__baseline_celligner = {
    .method = {.name = "celligner",
               .summary = "Celligner: contrastive components removed, then moved to a reference by mutual neighbours",
               .takes = "reference components clusters seed",
               .embedding = "X_celligner",
               .layer = "celligner",
               .components = 70},
    .run = run_celligner,
};
