/*
 * layout.c: the stochastic descent of UMAP, the same at any number of threads unless speed matters more.
 *
 * umap-learn walks through the edges one after the other (or, on several threads, in whatever order they come), drawing
 * both ends together and pushing the first one from random points. Here vertices are dealt out to rounds. A round has
 * two halves. First its vertices move, all at the same time, each walking through its own edges while the others stand
 * still. Then all vertices follow those neighbours that have just moved: the other ends of the same edges. As
 * neighbours are rarely in the same round, this is nearly the sequential walk; and each vertex is written by one
 * thread, from positions that nobody changes meanwhile. (To draw a vertex twice in its own turn instead is not the
 * same: the second step takes back what the first went too far, and layouts stay cramped.) Random numbers belong to the
 * vertex and the epoch.
 *
 * In fast mode (comp__umap_options.fast) threads take chunks of vertices and walk through their edges as umap-learn
 * does, without waiting for each other: half the work, but with several threads not the same layout twice.
 *
 * The two force curves are tables with straight lines in between, by the upper bits of the squared distance: pow()
 * would be most of the time. They are off by 1e-4 at most.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "umap/options.h"
#include "umap/umap.h"

enum { ROUNDS = 16, CHUNK = 256, MANTISSA_BITS = 6, LOWEST = -60, OCTAVES = 100, MAX_DIMS = 64 };

/* Squared distances from 2^LOWEST up, OCTAVES of them, in steps of 2^-MANTISSA_BITS of an octave. */
typedef struct knot {
  float value, slope;
} knot;

typedef struct forces {
  knot attract[OCTAVES << MANTISSA_BITS];
  knot repel[OCTAVES << MANTISSA_BITS];
} forces;

typedef struct descent {
  const comp__umap_layout *layout;
  const forces *forces;
  const float *tails;
  float *moved;       /* [n, dims]: where the vertices of this round go; NULL when tails stand still anyway */
  comp__graph edges;  /* those of the graph, in each row by the round of their ends */
  size_t *by_round;   /* [n, rounds + 1]: where in `edges` they start; with `moved` alone */
  float *every;       /* [edges]: epochs between two visits of an edge */
  float *next;        /* [edges]: epoch of the next visit */
  float *next_follow; /* [edges]: the same for following */
  float alpha;
  size_t epoch, round, rounds;
} descent;

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double attraction(double a, double b, double d2) {
  return -2.0 * a * b * pow(d2, b - 1.0) / (a * pow(d2, b) + 1.0);
}

static double repulsion(double a, double b, double d2) {
  return 2.0 * b / ((0.001 + d2) * (a * pow(d2, b) + 1.0));
}

/* Forces beyond this are clipped wherever they act. */
static float bounded(double x) {
  return (float)fmax(-1e30, fmin(1e30, x));
}

static void make_forces(forces *out, double a, double b) {
  for (uint32_t i = 0; i < (uint32_t)OCTAVES << MANTISSA_BITS; i++) {
    const uint32_t bits = (i + ((uint32_t)(127 + LOWEST) << MANTISSA_BITS)) << (23 - MANTISSA_BITS);
    const double low = (double)from_bits(bits), high = (double)from_bits(bits + (1u << (23 - MANTISSA_BITS)));
    const float attract = bounded(attraction(a, b, low)), repel = bounded(repulsion(a, b, low));
    out->attract[i] =
        (knot){attract, bounded(((double)bounded(attraction(a, b, high)) - (double)attract) / (high - low))};
    out->repel[i] = (knot){repel, bounded(((double)bounded(repulsion(a, b, high)) - (double)repel) / (high - low))};
  }
}

static inline float look_up(const knot *table, float d2) {
  const float lowest = 0x1p-60f, highest = 0x1p39f;
  d2 = d2 < lowest ? lowest : d2 > highest ? highest : d2;
  uint32_t bits;
  memcpy(&bits, &d2, sizeof bits);
  const uint32_t knot_bits = bits >> (23 - MANTISSA_BITS);
  const knot k = table[knot_bits - ((uint32_t)(127 + LOWEST) << MANTISSA_BITS)];
  return k.value + k.slope * (d2 - from_bits(knot_bits << (23 - MANTISSA_BITS)));
}

static inline float clip(float x) {
  return x > 4.0f ? 4.0f : x < -4.0f ? -4.0f : x;
}

static inline float squared(const float *x, const float *y, size_t dims) {
  float sum = 0.0f;
  for (size_t d = 0; d < dims; d++) sum += (x[d] - y[d]) * (x[d] - y[d]);
  return sum;
}

static inline void attract(const descent *s, float *x, const float *y, size_t dims) {
  const float d2 = squared(x, y, dims);
  if (!(d2 > 0.0f)) return;
  const float force = look_up(s->forces->attract, d2);
  for (size_t d = 0; d < dims; d++) x[d] += clip(force * (x[d] - y[d])) * s->alpha;
}

static inline void repel(const descent *s, float *x, const float *y, size_t dims) {
  const float d2 = squared(x, y, dims);
  const float force = d2 > 0.0f ? look_up(s->forces->repel, d2) : 0.0f;
  for (size_t d = 0; d < dims; d++) x[d] += (d2 > 0.0f ? clip(force * (x[d] - y[d])) : 4.0f) * s->alpha;
}

/* A small generator for one vertex in one epoch (splitmix64), started by Philox. */
static inline uint32_t draw(uint64_t *state, uint32_t below) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)(((z >> 32) * below) >> 32);
}

static inline __attribute__((always_inline)) void move_vertex(const descent *s, size_t i, size_t dims) {
  const comp__umap_layout *l = s->layout;
  const comp__graph *graph = &s->edges;
  const float epoch = (float)s->epoch;
  float x[MAX_DIMS];
  memcpy(x, l->heads + i * dims, dims * sizeof *x);
  uint64_t state = comp__rng_bits(comp__rng_at(l->seed, COMP__RNG_UMAP, s->epoch, i), 0);
  for (size_t e = graph->indptr[i]; e < graph->indptr[i + 1]; e++) {
    if (s->next[e] > epoch) continue;
    s->next[e] += s->every[e];
    attract(s, x, s->tails + (size_t)graph->indices[e] * dims, dims);
    for (size_t k = 0; k < l->negative; k++) {
      uint32_t other = draw(&state, (uint32_t)l->n_tails);
      if (!s->moved || other != i) repel(s, x, s->tails + (size_t)other * dims, dims);
    }
  }
  memcpy((s->moved ? s->moved : l->heads) + i * dims, x, dims * sizeof *x);
}

/* Draws vertex j to those of its neighbours that moved in this round. */
static inline __attribute__((always_inline)) void follow(const descent *s, size_t j, size_t dims) {
  const float epoch = (float)s->epoch;
  const size_t *bounds = s->by_round + j * (s->rounds + 1) + s->round;
  float x[MAX_DIMS];
  memcpy(x, (j % s->rounds == s->round ? s->moved : s->layout->heads) + j * dims, dims * sizeof *x);
  for (size_t e = bounds[0]; e < bounds[1]; e++) {
    if (s->next_follow[e] > epoch) continue;
    s->next_follow[e] += s->every[e];
    attract(s, x, s->moved + (size_t)s->edges.indices[e] * dims, dims);
  }
  memcpy(s->layout->heads + j * dims, x, dims * sizeof *x);
}

static void follow_vertices(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const descent *s = arg;
  for (size_t j = begin; j < end; j++)
    if (s->layout->dims == 2)
      follow(s, j, 2);
    else
      follow(s, j, s->layout->dims);
}

static void move_vertices(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const descent *s = arg;
  for (size_t k = begin; k < end; k++) {
    const size_t i = k * s->rounds + s->round;
    if (s->layout->dims == 2)
      move_vertex(s, i, 2);
    else
      move_vertex(s, i, s->layout->dims);
  }
}

/* In fast mode several threads may read and write a point at the same time. They get numbers that one of them wrote, if
 * not the newest; a step that is lost so now and then does no harm. */
static inline float load(const float *x) {
  float value;
  __atomic_load(x, &value, __ATOMIC_RELAXED);
  return value;
}

static inline void store(float *x, float value) {
  __atomic_store(x, &value, __ATOMIC_RELAXED);
}

/* umap-learn's own walk: both ends of an edge move at once. */
static inline __attribute__((always_inline)) void move_both(const descent *s, size_t i, size_t dims) {
  const comp__umap_layout *l = s->layout;
  const comp__graph *graph = l->graph;
  const float epoch = (float)s->epoch;
  float *const head = l->heads + i * dims;
  uint64_t state = 0;
  for (size_t e = graph->indptr[i]; e < graph->indptr[i + 1]; e++) {
    if (s->next[e] > epoch) continue;
    s->next[e] += s->every[e];
    if (state == 0) state = comp__rng_bits(comp__rng_at(l->seed, COMP__RNG_UMAP, s->epoch, i), 0);
    float *const tail = l->heads + (size_t)graph->indices[e] * dims;
    float x[MAX_DIMS], y[MAX_DIMS], d2 = 0.0f;
    for (size_t d = 0; d < dims; d++) {
      x[d] = load(head + d);
      y[d] = load(tail + d);
      d2 += (x[d] - y[d]) * (x[d] - y[d]);
    }
    if (d2 > 0.0f) {
      const float force = look_up(s->forces->attract, d2);
      for (size_t d = 0; d < dims; d++) {
        const float step = clip(force * (x[d] - y[d])) * s->alpha;
        x[d] += step;
        store(tail + d, y[d] - step);
      }
    }
    for (size_t k = 0; k < l->negative; k++) {
      const uint32_t other = draw(&state, (uint32_t)l->n_tails);
      if (other == i) continue;
      for (size_t d = 0; d < dims; d++) y[d] = load(l->heads + (size_t)other * dims + d);
      repel(s, x, y, dims);
    }
    for (size_t d = 0; d < dims; d++) store(head + d, x[d]);
  }
}

static void move_both_vertices(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const descent *s = arg;
  for (size_t i = begin; i < end; i++)
    if (s->layout->dims == 2)
      move_both(s, i, 2);
    else
      move_both(s, i, s->layout->dims);
}

static void run_epoch(descent *s, comp_context *context) {
  const comp__umap_layout *l = s->layout;
  const size_t n = l->graph->n;
  if (l->fast) {
    comp__parallel_for(context, n, CHUNK, move_both_vertices, s);
    return;
  }
  for (s->round = 0; s->round < s->rounds; s->round++) {
    const size_t count = (n - s->round + s->rounds - 1) / s->rounds;
    comp__parallel_for(context, count, CHUNK, move_vertices, s);
    if (s->moved) comp__parallel_for(context, n, CHUNK, follow_vertices, s);
  }
}

/* The edges of each row in the order of the rounds of their ends. */
static comp_status sort_edges(descent *s, const comp__graph *graph) {
  const size_t n = graph->n, edges = graph->indptr[n], rounds = s->rounds;
  comp_status status;
  s->edges.n = n;
  COMP__TRY(comp__alloc(&s->edges.indptr, n + 1, sizeof *s->edges.indptr));
  COMP__TRY(comp__alloc(&s->edges.indices, edges, sizeof *s->edges.indices));
  COMP__TRY(comp__alloc(&s->edges.weights, edges, sizeof *s->edges.weights));
  COMP__TRY(comp__alloc(&s->by_round, n, (rounds + 1) * sizeof *s->by_round));
  memcpy(s->edges.indptr, graph->indptr, (n + 1) * sizeof *s->edges.indptr);
  for (size_t i = 0; i < n; i++) {
    size_t at = graph->indptr[i], *bounds = s->by_round + i * (rounds + 1);
    for (size_t round = 0; round < rounds; round++) {
      bounds[round] = at;
      for (size_t e = graph->indptr[i]; e < graph->indptr[i + 1]; e++) {
        if ((size_t)graph->indices[e] % rounds != round) continue;
        s->edges.indices[at] = graph->indices[e];
        s->edges.weights[at++] = graph->weights[e];
      }
    }
    bounds[rounds] = at;
  }
done:
  return status;
}

static comp_status make_schedule(descent *s) {
  const comp__graph *graph = s->layout->fast ? s->layout->graph : &s->edges;
  const size_t edges = graph->indptr[graph->n];
  comp_status status;
  COMP__TRY(comp__alloc(&s->every, edges, sizeof *s->every));
  COMP__TRY(comp__alloc(&s->next, edges, sizeof *s->next));
  if (s->moved) COMP__TRY(comp__alloc(&s->next_follow, edges, sizeof *s->next_follow));
  float most = 0.0f;
  for (size_t e = 0; e < edges; e++) most = graph->weights[e] > most ? graph->weights[e] : most;
  for (size_t e = 0; e < edges; e++) s->every[e] = s->next[e] = most / graph->weights[e];
  if (s->moved) memcpy(s->next_follow, s->next, edges * sizeof *s->next);
done:
  return status;
}

comp_status comp__umap_optimise(const comp__umap_layout *layout, comp_context *context) {
  const comp__graph *graph = layout->graph;
  forces *table = NULL;
  descent s = {.layout = layout, .tails = layout->tails ? layout->tails : layout->heads};
  s.rounds = layout->tails || graph->n < ROUNDS ? 1 : ROUNDS;
  comp_status status;
  COMP__TRY(comp__alloc(&table, 1, sizeof *table));
  make_forces(table, layout->a, layout->b);
  s.forces = table;
  if (!layout->tails && !layout->fast) COMP__TRY(comp__alloc(&s.moved, graph->n, layout->dims * sizeof *s.moved));
  if (!layout->fast) COMP__TRY(sort_edges(&s, graph));
  COMP__TRY(make_schedule(&s));
  comp__progress_begin(context, "laying out", "epochs", layout->epochs);
  for (s.epoch = 0; s.epoch < layout->epochs; s.epoch++) {
    COMP__TRY(comp__check_interrupt(context));
    /* umap-learn lowers the rate after each epoch, by the number of the epoch just done. */
    double done = s.epoch ? (double)(s.epoch - 1) / (double)layout->epochs : 0.0;
    s.alpha = (float)(layout->rate * (1.0 - done));
    run_epoch(&s, context);
    comp__progress_update(context, s.epoch + 1, NULL);
  }
  comp__progress_end(context);
done:
  comp__free(table);
  comp__graph_release(&s.edges);
  comp__free(s.by_round);
  comp__free(s.next_follow);
  comp__free(s.moved);
  comp__free(s.every);
  comp__free(s.next);
  return status;
}
