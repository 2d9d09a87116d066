/*
 * seurat.c: the integration of Seurat 3 and 4 (Stuart et al. 2019): anchors between all pairs of sets in the space of
 * their canonical vectors; then sets merged two by two, those with most anchors first, the smaller one moved to the
 * larger by what its nearest anchors differ by.
 */
#include <math.h>
#include <string.h>

#include "baseline/anchors.h"
#include "baseline/baseline.h"
#include "comp/neighbors.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "neighbors/options.h"

enum { NEIGHBORS = 100 /* k.weight */, CHUNK = 64, FEATURES = 128 };
static const double MOST_SCALED = 10.0;
static const double UNCONNECTED = 1e300; /* distance of sets without anchors: other ways to join them come first */

/* ---- Anchors between all sets ---- */

static comp_status find_anchors(comp__anchors *out, comp__baseline_run *run, const size_t *rows, const size_t *start) {
  const comp_groups *batch = &run->batch;
  const comp__anchor_options o = {run->components, run->options->k ? run->options->k : COMP__ANCHOR_K,
                                  run->options->seed};
  const size_t pairs = batch->n_levels * (batch->n_levels - 1) / 2;
  comp_status status = COMP_OK;
  size_t done = 0;
  for (size_t j = 1; j < batch->n_levels && status == COMP_OK; j++)
    for (size_t i = 0; i < j && status == COMP_OK; i++) {
      const comp__anchor_set left = {batch->levels[i], rows + start[i], batch->counts[i]};
      const comp__anchor_set right = {batch->levels[j], rows + start[j], batch->counts[j]};
      const size_t before = out->n;
      status = comp__anchors_add(out, run->context, run->dataset->x, &left, &right, &o);
      done++;
      if (status == COMP_OK) /* no progress of its own: that of the search for neighbours would end it */
        comp__info(run->context, "seurat-cca: pair %zu of %zu, '%s' and '%s': %zu anchor%s", done, pairs, left.name,
                   right.name, out->n - before, out->n - before == 1 ? "" : "s");
    }
  return status;
}

comp_status comp__seurat_anchors(comp__anchors *out, comp_context *context, const comp_dataset *dataset,
                                 const comp__baseline_options *options) {
  *out = (comp__anchors){0};
  comp_status status;
  size_t *rows = NULL, *start = NULL;
  comp__baseline_run run = {.context = context, .dataset = dataset, .options = options};
  run.components = options->components ? options->components : COMP__ANCHOR_COMPONENTS;
  COMP__TRY(comp__baseline_groups(&run.batch, dataset, options->condition));
  COMP__TRY(comp__baseline_rows(&rows, &start, &run.batch));
  COMP__TRY(find_anchors(out, &run, rows, start));
done:
  comp_groups_release(&run.batch);
  comp__free(rows);
  comp__free(start);
  if (status != COMP_OK) comp__anchors_release(out);
  return status;
}

/* ---- One merge ---- */

typedef struct merge {
  comp__baseline_run *run;
  comp_matrix *values;   /* [samples, features]: the data as it has been moved so far */
  const bool *is_query;  /* [levels]: sets that are moved */
  const bool *is_ref;    /* [levels]: sets that they are moved to */
  comp__anchor *anchors; /* left of the reference, right of the query */
  size_t n_anchors;
  size_t *rows, n_rows;   /* all samples of both */
  size_t *query, n_query; /* samples that are moved */
  size_t k;               /* anchors that move a sample */
  uint32_t *which;        /* [n_query, k]: anchors, and how much each counts; what is not used counts 0 */
  float *weights;
} merge;

/* Anchors between the two sides, in the order in which Seurat has them: it decides which are left out where a sample
 * has more near ones than are used. */
static comp_status choose_anchors(merge *m, const comp__anchors *all) {
  const int32_t *codes = m->run->batch.codes;
  comp_status status = comp__alloc(&m->anchors, all->n, sizeof *m->anchors);
  if (status != COMP_OK) return status;
  for (int turned = 0; turned < 2; turned++)
    for (size_t i = 0; i < all->n; i++) {
      comp__anchor a = all->list[i];
      if (turned) a = (comp__anchor){a.right, a.left, a.score};
      if (m->is_ref[codes[a.left]] && m->is_query[codes[a.right]]) m->anchors[m->n_anchors++] = a;
    }
  return COMP_OK;
}

static comp_status choose_rows(merge *m) {
  const comp_groups *batch = &m->run->batch;
  comp_status status;
  COMP__TRY(comp__alloc(&m->rows, batch->rows, sizeof *m->rows));
  COMP__TRY(comp__alloc(&m->query, batch->rows, sizeof *m->query));
  for (size_t i = 0; i < batch->rows; i++) {
    const size_t level = (size_t)batch->codes[i];
    if (m->is_ref[level] || m->is_query[level]) m->rows[m->n_rows++] = i;
    if (m->is_query[level]) m->query[m->n_query++] = i;
  }
done:
  return status;
}

/* Principal components of the scaled data of both sides, of the samples that are moved: [n_query, components]. */
static comp_status find_space(comp_matrix **out, const merge *m) {
  comp_status status;
  comp__baseline_run *run = m->run;
  comp__pca pca = {0};
  comp_matrix *both = NULL;
  const bool all = m->n_rows == m->values->rows;
  comp__pca_options o = {run->components, true, MOST_SCALED, run->options->seed};
  if (!all) COMP__TRY(comp_matrix_select(&both, run->context, m->values, m->rows, m->n_rows, NULL, 0));
  COMP__TRY(comp__pca_fit(&pca, run->context, all ? m->values : both, &o));
  COMP__TRY(comp__matrix_new_dense_raw(out, m->n_query, run->components));
  for (size_t i = 0, at = 0; at < m->n_query; i++)
    if (m->rows[i] == m->query[at])
      memcpy((*out)->values + at++ * run->components, pca.scores + i * run->components,
             run->components * sizeof(float));
done:
  comp__pca_release(&pca);
  comp_matrix_free(both);
  return status;
}

/* Samples of the query that have anchors, and the anchors of each: of[first[c]] .. of[first[c + 1] - 1]. */
typedef struct anchored {
  size_t n, *cells;   /* positions in the query */
  size_t *first, *of; /* [n + 1], [n_anchors] */
} anchored;

static comp_status find_anchored(anchored *out, const merge *m) {
  comp_status status;
  size_t *at = NULL, *place = NULL;
  COMP__TRY(comp__alloc(&place, m->values->rows, sizeof *place));
  COMP__TRY(comp__calloc(&at, m->n_query + 1, sizeof *at));
  COMP__TRY(comp__alloc(&out->cells, m->n_query, sizeof *out->cells));
  COMP__TRY(comp__calloc(&out->first, m->n_query + 1, sizeof *out->first));
  COMP__TRY(comp__alloc(&out->of, m->n_anchors, sizeof *out->of));
  for (size_t i = 0; i < m->n_query; i++) place[m->query[i]] = i;
  for (size_t i = 0; i < m->n_anchors; i++) at[place[m->anchors[i].right]]++;
  size_t sum = 0;
  for (size_t i = 0; i < m->n_query; i++) {
    const size_t count = at[i];
    at[i] = sum;
    if (count == 0) continue;
    out->first[out->n] = sum;
    out->cells[out->n++] = i;
    sum += count;
  }
  out->first[out->n] = sum;
  for (size_t i = 0; i < m->n_anchors; i++) out->of[at[place[m->anchors[i].right]]++] = i;
done:
  comp__free(at);
  comp__free(place);
  return status;
}

static void release_anchored(anchored *a) {
  comp__free(a->cells);
  comp__free(a->first);
  comp__free(a->of);
}

typedef struct weighing {
  merge *m;
  const anchored *a;
  const comp_neighbors *near;
} weighing;

/* A neighbour counts by 1 - its distance against that of the last one; its anchors by that and their scores, as
 * 1 - exp(-product / 4). Samples whose anchors all have score 0 take the mean of them. */
static void weigh_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const weighing *w = arg;
  const merge *m = w->m;
  const size_t k = comp_neighbors_k(w->near);
  for (size_t i = begin; i < end; i++) {
    const int32_t *near = comp_neighbors_indices(w->near) + i * k;
    const float *distances = comp_neighbors_distances(w->near) + i * k;
    uint32_t *which = m->which + i * m->k;
    float *weights = m->weights + i * m->k;
    size_t used = 0;
    double total = 0.0;
    for (size_t r = 0; r < k && used < m->k; r++) {
      const double nearness = distances[k - 1] > 0.0f ? 1.0 - (double)distances[r] / distances[k - 1] : 1.0;
      const size_t cell = (size_t)near[r];
      for (size_t l = w->a->first[cell]; l < w->a->first[cell + 1] && used < m->k; l++) {
        const size_t anchor = w->a->of[l];
        const double weight = -expm1(-nearness * m->anchors[anchor].score / 4.0);
        which[used] = (uint32_t)anchor;
        weights[used++] = (float)weight;
        total += (float)weight;
      }
    }
    for (size_t r = 0; r < used; r++)
      weights[r] = total > 0.0 ? (float)(weights[r] / total) : (float)(1.0 / (double)used);
    for (size_t r = used; r < m->k; r++) which[r] = 0, weights[r] = 0.0f;
  }
}

static comp_status find_weights(merge *m) {
  comp_status status;
  comp_matrix *space = NULL, *points = NULL;
  comp_neighbors *near = NULL;
  anchored a = {0};
  comp__neighbors_options options = comp__neighbors_defaults();
  COMP__TRY(find_space(&space, m));
  COMP__TRY(find_anchored(&a, m));
  m->k = m->n_anchors < NEIGHBORS ? m->n_anchors : NEIGHBORS;
  options.k = a.n < m->k ? a.n : m->k;
  options.search = COMP_SEARCH_EXACT;
  COMP__TRY(comp_matrix_select(&points, m->run->context, space, a.cells, a.n, NULL, 0));
  COMP__TRY(comp__neighbors_query(&near, m->run->context, points, space, &options));
  COMP__TRY(comp__alloc(&m->which, m->n_query, m->k * sizeof *m->which));
  COMP__TRY(comp__alloc(&m->weights, m->n_query, m->k * sizeof *m->weights));
  weighing w = {m, &a, near};
  comp__parallel_for(m->run->context, m->n_query, CHUNK, weigh_rows, &w);
done:
  release_anchored(&a);
  comp_matrix_free(space);
  comp_matrix_free(points);
  comp_neighbors_free(near);
  return status;
}

typedef struct moving {
  const merge *m;
  float *differences; /* a thread: [n_anchors, FEATURES] */
} moving;

/* A block of features at a time: what anchors differ by is taken down before anything moves. */
static void move_features(void *arg, size_t begin, size_t end, int thread) {
  const moving *v = arg;
  const merge *m = v->m;
  const size_t d = m->values->cols, width = end - begin;
  float *differences = v->differences + (size_t)thread * m->n_anchors * FEATURES;
  for (size_t i = 0; i < m->n_anchors; i++) {
    const float *left = m->values->values + m->anchors[i].left * d + begin;
    const float *right = m->values->values + m->anchors[i].right * d + begin;
    for (size_t j = 0; j < width; j++) differences[i * FEATURES + j] = right[j] - left[j];
  }
  for (size_t i = 0; i < m->n_query; i++) {
    double sum[FEATURES] = {0};
    float *row = m->values->values + m->query[i] * d + begin;
    for (size_t r = 0; r < m->k; r++) {
      const double weight = m->weights[i * m->k + r];
      const float *difference = differences + (size_t)m->which[i * m->k + r] * FEATURES;
      for (size_t j = 0; j < width; j++) sum[j] += weight * difference[j];
    }
    for (size_t j = 0; j < width; j++) row[j] = (float)(row[j] - sum[j]);
  }
}

static comp_status move(const merge *m) {
  moving v = {.m = m};
  comp_status status = comp__alloc(&v.differences, (size_t)comp_context_thread_count(m->run->context) * m->n_anchors,
                                   FEATURES * sizeof *v.differences);
  if (status == COMP_OK) comp__parallel_for(m->run->context, m->values->cols, FEATURES, move_features, &v);
  comp__free(v.differences);
  return status;
}

static const char *name_of(const comp__baseline_run *run, const bool *member) {
  size_t l = 0;
  while (!member[l]) l++;
  return run->batch.levels[l];
}

/* Moves the sets of `query` to those of `ref`. */
static comp_status merge_sets(comp__baseline_run *run, comp_matrix *values, const comp__anchors *anchors,
                              const bool *ref, const bool *query) {
  comp_status status = comp__check_interrupt(run->context);
  if (status != COMP_OK) return status;
  merge m = {.run = run, .values = values, .is_ref = ref, .is_query = query};
  COMP__TRY(choose_anchors(&m, anchors));
  if (m.n_anchors == 0)
    COMP__FAIL(COMP_ERR_DATA, "there are no anchors by which '%s' could be moved to '%s'; try a larger -k",
               name_of(run, query), name_of(run, ref));
  COMP__TRY(choose_rows(&m));
  COMP__TRY(find_weights(&m));
  COMP__TRY(move(&m));
done:
  comp__free(m.anchors);
  comp__free(m.rows);
  comp__free(m.query);
  comp__free(m.which);
  comp__free(m.weights);
  return status;
}

/* ---- The order of merges ---- */

/* Clusters of sets: complete linkage over 1 / (anchors a sample of the smaller set), as hclust() of R has it. */
typedef struct tree {
  size_t levels;
  bool *member;     /* [levels, levels]: of clusters, a row each */
  double *distance; /* [levels, levels]: between clusters */
  size_t *samples;  /* [levels] */
  size_t *made;     /* [levels]: the merge that made a cluster, 0: a single set; gone: SIZE_MAX */
} tree;

static comp_status tree_init(tree *t, const comp_groups *batch, const comp__anchors *anchors) {
  comp_status status;
  const size_t levels = t->levels = batch->n_levels;
  COMP__TRY(comp__calloc(&t->member, levels * levels, sizeof *t->member));
  COMP__TRY(comp__calloc(&t->distance, levels * levels, sizeof *t->distance));
  COMP__TRY(comp__alloc(&t->samples, levels, sizeof *t->samples));
  COMP__TRY(comp__calloc(&t->made, levels, sizeof *t->made));
  for (size_t i = 0; i < anchors->n; i++) {
    const size_t a = (size_t)batch->codes[anchors->list[i].left], b = (size_t)batch->codes[anchors->list[i].right];
    t->distance[a * levels + b] = t->distance[b * levels + a] += 1.0;
  }
  for (size_t i = 0; i < levels; i++) {
    t->samples[i] = batch->counts[i];
    t->member[i * levels + i] = true;
    for (size_t j = 0; j < levels; j++) {
      const size_t fewer = batch->counts[i] < batch->counts[j] ? batch->counts[i] : batch->counts[j];
      double *distance = &t->distance[i * levels + j];
      *distance = *distance > 0.0 ? (double)fewer / *distance : UNCONNECTED;
    }
  }
done:
  return status;
}

static void tree_release(tree *t) {
  comp__free(t->member);
  comp__free(t->distance);
  comp__free(t->samples);
  comp__free(t->made);
}

/* The nearest two clusters. */
static void tree_nearest(size_t *a, size_t *b, const tree *t) {
  double least = INFINITY;
  for (size_t i = 0; i < t->levels; i++)
    for (size_t j = i + 1; j < t->levels; j++)
      if (t->made[i] != SIZE_MAX && t->made[j] != SIZE_MAX && t->distance[i * t->levels + j] < least) {
        least = t->distance[i * t->levels + j];
        *a = i;
        *b = j;
      }
}

/* Cluster b becomes part of a. */
static void tree_join(tree *t, size_t a, size_t b, size_t merge_number) {
  const size_t n = t->levels;
  for (size_t i = 0; i < n; i++) {
    t->member[a * n + i] |= t->member[b * n + i];
    t->distance[a * n + i] = t->distance[i * n + a] = fmax(t->distance[a * n + i], t->distance[b * n + i]);
  }
  t->samples[a] += t->samples[b];
  t->made[a] = merge_number;
  t->made[b] = SIZE_MAX;
}

static comp_status integrate(comp__baseline_run *run, comp_matrix *values, const comp__anchors *anchors) {
  comp_status status;
  tree t = {0};
  const size_t levels = run->batch.n_levels;
  COMP__TRY(tree_init(&t, &run->batch, anchors));
  comp__progress_begin(run->context, "integration", "merges", levels - 1);
  for (size_t merge_number = 1; merge_number < levels; merge_number++) {
    size_t a = 0, b = 0;
    tree_nearest(&a, &b, &t);
    /* The larger is the reference; of equal ones a single set, else what was made first. */
    const bool first = t.samples[a] != t.samples[b] ? t.samples[a] > t.samples[b] : t.made[a] <= t.made[b];
    const size_t ref = first ? a : b, query = first ? b : a;
    COMP__TRY(merge_sets(run, values, anchors, t.member + ref * levels, t.member + query * levels));
    tree_join(&t, a, b, merge_number);
    comp__progress_update(run->context, merge_number, NULL);
  }
done:
  comp__progress_end(run->context);
  tree_release(&t);
  return status;
}

/* ---- The method ---- */

static comp_status run_seurat(comp__baseline_run *run) {
  comp_status status;
  size_t *rows = NULL, *start = NULL;
  comp__anchors anchors = {0};
  comp_matrix *values = NULL;
  comp__pca pca = {0};
  comp__pca_options o = {run->components, true, MOST_SCALED, run->options->seed};
  COMP__TRY(comp__baseline_rows(&rows, &start, &run->batch));
  COMP__TRY(find_anchors(&anchors, run, rows, start));
  COMP__TRY(comp_matrix_to_dense(&values, run->context, run->dataset->x));
  COMP__TRY(integrate(run, values, &anchors));
  COMP__TRY(comp__pca_fit(&pca, run->context, values, &o));
  COMP__TRY(comp__matrix_new_dense_raw(&run->embedding, values->rows, run->components));
  memcpy(run->embedding->values, pca.scores, values->rows * run->components * sizeof(float));
  run->layer = values;
  values = NULL;
done:
  comp__pca_release(&pca);
  comp__anchors_release(&anchors);
  comp_matrix_free(values);
  comp__free(rows);
  comp__free(start);
  return status;
}

const comp__baseline comp__baseline_seurat_cca = {
    .method = {.name = "seurat-cca",
               .summary = "Seurat's integration: anchors by canonical correlation, corrected by them",
               .takes = "components k seed",
               .embedding = "X_seurat_cca",
               .layer = "seurat_cca",
               .components = COMP__ANCHOR_COMPONENTS},
    .run = run_seurat,
};
