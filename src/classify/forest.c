/*
 * forest.c: a random forest: trees grown out on bootstrap samples, the best of sqrt(features) random features at each
 * node by Gini's impurity, the mean of the leaves' shares.
 *
 * The rules are those of scikit-learn's RandomForestClassifier, but for thresholds, which are quantiles of the
 * features: a value is a byte, and a node of many rows is one pass over bytes. Of XGBoost's forests, which would have
 * spared this file, a node ends when all features drawn for it happen to be constant, as in one-hot columns they often
 * are; they took several times as long, and a gigabyte, for a tree keeps the sums of all its nodes.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "classify/learner.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/sort.h"
#include "core/threads.h"

enum {
  TREES = 100,
  MOST_BINS = 256,
  SORTED_ROWS = 48, /* nodes of fewer rows are sorted: clearing bins would cost more */
  SCORE_ROWS = 128,
  STEP_TREE = 2 /* of COMP__RNG_CLASSIFY */
};

/* A node: rows with value <= threshold go to `next`, others to the one after it. A leaf has feature -1, and its shares
 * are number `next`. */
typedef struct node {
  int32_t feature;
  float threshold;
  uint32_t next;
} node;

typedef struct tree {
  node *nodes;
  float *shares; /* [leaves, n_levels] */
  size_t n_nodes, n_shares, node_room, share_room;
} tree;

typedef struct forest {
  size_t features, n_levels;
  tree trees[TREES];
} forest;

static void forest_free(void *raw) {
  forest *model = raw;
  if (!model) return;
  for (size_t t = 0; t < TREES; t++) {
    comp__free(model->trees[t].nodes);
    comp__free(model->trees[t].shares);
  }
  comp__free(model);
}

/* ---- values as bytes ---- */

typedef struct binned {
  const comp__examples *e;
  uint8_t *bins;  /* [features, n]: the number of cuts below a value */
  float *cuts;    /* [features, MOST_BINS - 1], ascending: a value goes left of cut b when it is <= cuts[b] */
  size_t *n_cuts; /* [features] */
} binned;

/* Between two values, so that the lower is <= and the upper is not. */
static float between(float low, float high) {
  const float middle = (float)(0.5 * ((double)low + (double)high));
  return middle < high ? middle : low;
}

/* Cuts between all neighbouring values, or, when there are too many, between those nearest to the quantiles. */
static size_t make_cuts(float *cuts, float *sorted, size_t n) {
  comp__sort_floats(sorted, n);
  size_t different = n > 0;
  for (size_t i = 1; i < n; i++) different += sorted[i] != sorted[i - 1];
  size_t count = 0, next = 1;
  for (size_t i = 1; i < n; i++) {
    if (sorted[i] == sorted[i - 1]) continue;
    if (different > MOST_BINS) {
      const size_t wanted = next * n / MOST_BINS;
      if (i < wanted) continue;
      while (next < MOST_BINS && next * n / MOST_BINS <= i) next++;
    }
    if (count == MOST_BINS - 1) break;
    cuts[count++] = between(sorted[i - 1], sorted[i]);
  }
  return count;
}

static uint8_t bin_of(const float *cuts, size_t count, float value) {
  size_t low = 0, high = count; /* the first cut that is >= value */
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (value <= cuts[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return (uint8_t)low;
}

static comp_status bin_features(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const binned *b = arg;
  const comp__examples *e = b->e;
  float *sorted;
  comp_status status = comp__alloc(&sorted, e->n, sizeof *sorted);
  if (status != COMP_OK) return status;
  for (size_t j = begin; j < end; j++) {
    float *cuts = b->cuts + j * (MOST_BINS - 1);
    for (size_t i = 0; i < e->n; i++) sorted[i] = e->x[e->rows[i] * e->features + j];
    b->n_cuts[j] = make_cuts(cuts, sorted, e->n);
    for (size_t i = 0; i < e->n; i++)
      b->bins[j * e->n + i] = bin_of(cuts, b->n_cuts[j], e->x[e->rows[i] * e->features + j]);
  }
  comp__free(sorted);
  return COMP_OK;
}

static void binned_release(binned *b) {
  comp__free(b->n_cuts);
  comp__free(b->cuts);
  comp__free(b->bins);
}

/* `b` should be released via binned_release(), also when it fails. */
static comp_status binned_init(binned *b, comp_context *context, const comp__examples *e) {
  *b = (binned){.e = e};
  size_t count;
  if (!comp__size_mul(&count, e->features, e->n)) count = SIZE_MAX;
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&b->bins, count, sizeof *b->bins));
  COMP__TRY(comp__alloc(&b->cuts, e->features * (MOST_BINS - 1), sizeof *b->cuts));
  COMP__TRY(comp__alloc(&b->n_cuts, e->features, sizeof *b->n_cuts));
  COMP__TRY(comp__parallel_try(context, e->features, 1, bin_features, b));
done:
  return status;
}

/* ---- one tree ---- */

/* Rows begin .. end - 1 of grower.rows, which become node `at`. */
typedef struct pending {
  size_t begin, end, at;
} pending;

typedef struct split {
  double gain;
  size_t feature, cut; /* bins <= cut go left */
} split;

typedef struct grower {
  const binned *data;
  tree *tree;
  comp__rng rng;
  uint64_t draws;
  size_t n_levels, tried;
  double smallest;          /* a node of fewer samples is a leaf */
  uint32_t *rows, *kept;    /* [n]: rows of the sample, grouped by node; room for a partition */
  uint32_t *weights;        /* [n]: how often a row was drawn */
  uint32_t *levels;         /* [n] */
  size_t *features;         /* [features]: in an order that is shuffled on and on */
  double *total, *left;     /* [n_levels] */
  uint32_t *counts, *sizes; /* [MOST_BINS, n_levels], [MOST_BINS] */
  pending *stack;
  size_t stack_room;
} grower;

static void grower_release(grower *g) {
  comp__free(g->rows);
  comp__free(g->kept);
  comp__free(g->weights);
  comp__free(g->levels);
  comp__free(g->features);
  comp__free(g->total);
  comp__free(g->left);
  comp__free(g->counts);
  comp__free(g->sizes);
  comp__free(g->stack);
}

static comp_status grower_init(grower *g) {
  const comp__examples *e = g->data->e;
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&g->rows, e->n, sizeof *g->rows));
  COMP__TRY(comp__alloc(&g->kept, e->n, sizeof *g->kept));
  COMP__TRY(comp__calloc(&g->weights, e->n, sizeof *g->weights));
  COMP__TRY(comp__alloc(&g->levels, e->n, sizeof *g->levels));
  COMP__TRY(comp__alloc(&g->features, e->features, sizeof *g->features));
  COMP__TRY(comp__alloc(&g->total, e->n_levels, sizeof *g->total));
  COMP__TRY(comp__alloc(&g->left, e->n_levels, sizeof *g->left));
  COMP__TRY(comp__alloc(&g->counts, MOST_BINS * e->n_levels, sizeof *g->counts));
  COMP__TRY(comp__alloc(&g->sizes, MOST_BINS, sizeof *g->sizes));
  g->n_levels = e->n_levels;
  g->tried = (size_t)fmax(1.0, floor(sqrt((double)e->features)));
  for (size_t j = 0; j < e->features; j++) g->features[j] = j;
  for (size_t i = 0; i < e->n; i++) g->levels[i] = (uint32_t)e->codes[e->rows[i]];
done:
  return status;
}

/* The quality of a division, up to what all divisions of a node share: the larger, the purer. */
static double purity(const double *total, const double *left, size_t n_levels, double n, double n_left) {
  double squares_left = 0.0, squares_right = 0.0;
  for (size_t k = 0; k < n_levels; k++) {
    const double right = total[k] - left[k];
    squares_left += left[k] * left[k];
    squares_right += right * right;
  }
  return squares_left / n_left + squares_right / (n - n_left);
}

/* Judges the cut between two neighbouring bins of the node that hold rows; it goes half way. */
static void judge(split *best, const grower *g, size_t feature, size_t low, size_t high, double n, double n_left) {
  const double gain = purity(g->total, g->left, g->n_levels, n, n_left);
  if (gain <= best->gain) return;
  *best = (split){gain, feature, (low + high - 1) / 2};
}

/* Few rows: sorted by bin. False when all have the same. */
static bool try_sorted(split *best, const grower *g, size_t feature, size_t begin, size_t end, double n) {
  const uint8_t *bins = g->data->bins + feature * g->data->e->n;
  uint32_t keys[SORTED_ROWS]; /* bin, then place */
  const size_t count = end - begin;
  assert(count > 0 && count <= SORTED_ROWS);
  for (size_t i = 0; i < count; i++) {
    const uint32_t key = (uint32_t)bins[g->rows[begin + i]] << 16 | (uint32_t)i;
    size_t at = i;
    for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
  }
  if (keys[0] >> 16 == keys[count - 1] >> 16) return false;
  memset(g->left, 0, g->n_levels * sizeof *g->left);
  double n_left = 0.0;
  for (size_t i = 0; i + 1 < count; i++) {
    const uint32_t row = g->rows[begin + (keys[i] & 0xffff)];
    g->left[g->levels[row]] += g->weights[row];
    n_left += g->weights[row];
    if (keys[i] >> 16 != keys[i + 1] >> 16) judge(best, g, feature, keys[i] >> 16, keys[i + 1] >> 16, n, n_left);
  }
  return true;
}

/* Many rows: counted by bin and level. */
static bool try_counted(split *best, const grower *g, size_t feature, size_t begin, size_t end, double n) {
  const uint8_t *bins = g->data->bins + feature * g->data->e->n;
  const size_t used = g->data->n_cuts[feature] + 1, n_levels = g->n_levels;
  memset(g->counts, 0, used * n_levels * sizeof *g->counts);
  memset(g->sizes, 0, used * sizeof *g->sizes);
  for (size_t i = begin; i < end; i++) {
    const uint32_t row = g->rows[i], weight = g->weights[row];
    g->counts[bins[row] * n_levels + g->levels[row]] += weight;
    g->sizes[bins[row]] += weight;
  }
  memset(g->left, 0, n_levels * sizeof *g->left);
  double n_left = 0.0;
  size_t last = MOST_BINS; /* the last bin with rows */
  bool several = false;
  for (size_t b = 0; b < used; b++) {
    if (g->sizes[b] == 0) continue;
    if (last < MOST_BINS) {
      judge(best, g, feature, last, b, n, n_left);
      several = true;
    }
    for (size_t k = 0; k < n_levels; k++) g->left[k] += g->counts[b * n_levels + k];
    n_left += g->sizes[b];
    last = b;
  }
  return several;
}

/* The best cut of the features drawn. As many are drawn as wanted, and more as long as all of them are constant here.
 */
static bool find_split(split *best, grower *g, size_t begin, size_t end, double n) {
  const size_t features = g->data->e->features;
  bool found = false;
  best->gain = -1.0;
  for (size_t drawn = 0; drawn < features && (drawn < g->tried || !found); drawn++) {
    const size_t other = drawn + comp__rng_below(g->rng, g->draws++, features - drawn);
    const size_t feature = g->features[other];
    g->features[other] = g->features[drawn];
    g->features[drawn] = feature;
    if (end - begin <= SORTED_ROWS)
      found |= try_sorted(best, g, feature, begin, end, n);
    else
      found |= try_counted(best, g, feature, begin, end, n);
  }
  return found;
}

/* Rows that go left come first; both sides keep their order. */
static size_t partition(grower *g, const split *s, size_t begin, size_t end) {
  const uint8_t *bins = g->data->bins + s->feature * g->data->e->n;
  size_t at = begin, kept = 0;
  for (size_t i = begin; i < end; i++) {
    const uint32_t row = g->rows[i];
    if (bins[row] <= s->cut)
      g->rows[at++] = row;
    else
      g->kept[kept++] = row;
  }
  memcpy(g->rows + at, g->kept, kept * sizeof *g->rows);
  return at;
}

static comp_status make_leaf(grower *g, size_t at, double n) {
  tree *t = g->tree;
  comp_status status = comp__grow(&t->shares, &t->share_room, t->n_shares * g->n_levels,
                                  (t->n_shares + 1) * g->n_levels, sizeof *t->shares);
  if (status != COMP_OK) return status;
  for (size_t k = 0; k < g->n_levels; k++) t->shares[t->n_shares * g->n_levels + k] = (float)(g->total[k] / n);
  t->nodes[at] = (node){-1, 0.0f, (uint32_t)t->n_shares++};
  return COMP_OK;
}

/* Makes node `p.at`; its two children, if it has any, are pushed. */
static comp_status make_node(grower *g, pending p, size_t *depth) {
  tree *t = g->tree;
  double n = 0.0;
  size_t levels = 0;
  memset(g->total, 0, g->n_levels * sizeof *g->total);
  for (size_t i = p.begin; i < p.end; i++) g->total[g->levels[g->rows[i]]] += g->weights[g->rows[i]];
  for (size_t k = 0; k < g->n_levels; k++) {
    n += g->total[k];
    levels += g->total[k] > 0.0;
  }
  split best = {0};
  if (levels < 2 || n < g->smallest || !find_split(&best, g, p.begin, p.end, n)) return make_leaf(g, p.at, n);
  const size_t middle = partition(g, &best, p.begin, p.end);
  comp_status status = comp__grow(&t->nodes, &t->node_room, t->n_nodes, t->n_nodes + 2, sizeof *t->nodes);
  if (status == COMP_OK) status = comp__grow(&g->stack, &g->stack_room, *depth, *depth + 2, sizeof *g->stack);
  if (status != COMP_OK) return status;
  const float threshold = g->data->cuts[best.feature * (MOST_BINS - 1) + best.cut];
  t->nodes[p.at] = (node){(int32_t)best.feature, threshold, (uint32_t)t->n_nodes};
  g->stack[(*depth)++] = (pending){middle, p.end, t->n_nodes + 1};
  g->stack[(*depth)++] = (pending){p.begin, middle, t->n_nodes};
  t->n_nodes += 2;
  return COMP_OK;
}

static comp_status grow_tree(grower *g) {
  const size_t n = g->data->e->n;
  size_t sampled = 0, depth = 1;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < n; i++) g->weights[comp__rng_below(g->rng, g->draws++, n)]++;
  for (size_t i = 0; i < n; i++)
    if (g->weights[i]) g->rows[sampled++] = (uint32_t)i;
  COMP__TRY(comp__grow(&g->tree->nodes, &g->tree->node_room, 0, 1, sizeof *g->tree->nodes));
  COMP__TRY(comp__grow(&g->stack, &g->stack_room, 0, 1, sizeof *g->stack));
  g->tree->n_nodes = 1;
  g->stack[0] = (pending){0, sampled, 0};
  while (depth > 0) {
    const pending p = g->stack[--depth];
    COMP__TRY(make_node(g, p, &depth));
  }
done:
  return status;
}

/* ---- all trees ---- */

typedef struct fitting {
  comp_context *context;
  forest *model;
  const binned *data;
  double smallest;
  uint64_t seed;
} fitting;

static comp_status fit_trees(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const fitting *f = arg;
  comp_status status = COMP_OK;
  for (size_t t = begin; t < end && status == COMP_OK; t++) {
    grower g = {.data = f->data,
                .tree = &f->model->trees[t],
                .smallest = f->smallest,
                .rng = comp__rng_at(f->seed, COMP__RNG_CLASSIFY, STEP_TREE, t)};
    status = comp__check_interrupt(f->context);
    if (status == COMP_OK) status = grower_init(&g);
    if (status == COMP_OK) status = grow_tree(&g);
    grower_release(&g);
  }
  return status;
}

static const char *const settings[] = {"trees grown out", "nodes of 20 or more divided", "nodes of 100 or more divided",
                                       NULL};
static const double smallest[] = {2.0, 20.0, 100.0};

static comp_status forest_fit(void **out, comp_context *context, const comp__examples *train, size_t setting,
                              uint64_t seed) {
  *out = NULL;
  forest *model;
  binned data = {0};
  if (train->n > UINT32_MAX / 4 || train->features > INT32_MAX)
    return comp__error(COMP_ERR_ARGUMENT, "a forest of %zu samples x %zu features is too large", train->n,
                       train->features);
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  model->features = train->features;
  model->n_levels = train->n_levels;
  COMP__TRY(binned_init(&data, context, train));
  fitting f = {context, model, &data, smallest[setting], seed};
  COMP__TRY(comp__parallel_try(context, TREES, 1, fit_trees, &f));
  *out = model;
done:
  binned_release(&data);
  if (status != COMP_OK) forest_free(model);
  return status;
}

typedef struct scoring {
  const forest *model;
  const comp__examples *e;
  float *scores;
} scoring;

static const float *leaf_of(const tree *t, const float *x, size_t n_levels) {
  const node *at = t->nodes;
  while (at->feature >= 0) at = t->nodes + at->next + !(x[at->feature] <= at->threshold);
  return t->shares + at->next * n_levels;
}

static void score_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const scoring *s = arg;
  const size_t n_levels = s->model->n_levels, problems = comp__problems(n_levels);
  memset(s->scores + begin * problems, 0, (end - begin) * problems * sizeof *s->scores);
  for (size_t t = 0; t < TREES; t++)
    for (size_t i = begin; i < end; i++) {
      const float *shares = leaf_of(&s->model->trees[t], s->e->x + s->e->rows[i] * s->model->features, n_levels);
      for (size_t b = 0; b < problems; b++) s->scores[i * problems + b] += n_levels == 2 ? shares[1] : shares[b];
    }
  for (size_t k = begin * problems; k < end * problems; k++) s->scores[k] /= (float)TREES;
}

static comp_status forest_score(float *scores, comp_context *context, const void *raw, const comp__examples *e) {
  scoring s = {raw, e, scores};
  comp__parallel_for(context, e->n, SCORE_ROWS, score_rows, &s);
  return COMP_OK;
}

const comp__learner comp__learner_forest = {
    .name = "forest",
    .title = "random forest",
    .help = "the mean of the votes of 100 trees",
    .settings = settings,
    .fit = forest_fit,
    .score = forest_score,
    .free = forest_free,
    .many = true,
};
