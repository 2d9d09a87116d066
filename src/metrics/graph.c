/* graph.c: graph connectivity: how much of each label is connected in the graph of nearest neighbours. */
#include "core/alloc.h"
#include "core/error.h"
#include "metrics/score.h"

/* The graph of one label: an edge to each of the first k neighbours that has the label too. */
typedef struct graph {
  const int32_t *indices;
  size_t stride, k;
  const int32_t *label;
} graph;

/* Tarjan's strongly connected components, with a stack of its own in place of recursion. */
typedef struct tarjan {
  int32_t *number;  /* [n]: when a node was first visited, -1 before */
  int32_t *low;     /* [n] */
  int32_t *path;    /* [n]: nodes whose component is not known yet */
  int32_t *parents; /* [n]: the way down to the current node */
  int32_t *next;    /* [n]: the edge to follow next */
  bool *on_path;    /* [n] */
  size_t path_length, met;
} tarjan;

static void meet(tarjan *t, int32_t node) {
  t->number[node] = t->low[node] = (int32_t)t->met++;
  t->next[node] = 0;
  t->path[t->path_length++] = node;
  t->on_path[node] = true;
}

/* Takes the component of `root` off the path; returns its size. */
static size_t close_component(tarjan *t, int32_t root) {
  size_t size = 0;
  int32_t node;
  do {
    node = t->path[--t->path_length];
    t->on_path[node] = false;
    size++;
  } while (node != root);
  return size;
}

/* The size of the largest component among those that are found from `start`. */
static size_t explore(tarjan *t, const graph *g, int32_t start) {
  size_t depth = 0, largest = 0;
  t->parents[depth++] = start;
  meet(t, start);
  while (depth > 0) {
    int32_t node = t->parents[depth - 1];
    if ((size_t)t->next[node] < g->k) {
      int32_t other = g->indices[(size_t)node * g->stride + (size_t)t->next[node]++];
      if (g->label[other] != g->label[node]) continue;
      if (t->number[other] < 0) {
        t->parents[depth++] = other;
        meet(t, other);
      } else if (t->on_path[other] && t->number[other] < t->low[node]) {
        t->low[node] = t->number[other];
      }
      continue;
    }
    if (t->low[node] == t->number[node]) {
      size_t size = close_component(t, node);
      if (size > largest) largest = size;
    }
    depth--;
    if (depth > 0 && t->low[node] < t->low[t->parents[depth - 1]]) t->low[t->parents[depth - 1]] = t->low[node];
  }
  return largest;
}

comp_status comp__metric_graph_connectivity(comp__score_cell *out, comp__scoring *s) {
  comp_status status;
  comp__view *v = s->labelled;
  comp__neighborhoods h;
  tarjan t = {0};
  size_t *largest = NULL, *counts = NULL;
  size_t k = v->n < COMP__GRAPH_NEIGHBORS ? v->n : COMP__GRAPH_NEIGHBORS; /* the sample itself is one of them */
  COMP__TRY(comp__view_neighborhoods(&h, s, v, k - 1));
  COMP__TRY(comp__alloc(&t.number, v->n, sizeof *t.number));
  COMP__TRY(comp__alloc(&t.low, v->n, sizeof *t.low));
  COMP__TRY(comp__alloc(&t.path, v->n, sizeof *t.path));
  COMP__TRY(comp__alloc(&t.parents, v->n, sizeof *t.parents));
  COMP__TRY(comp__alloc(&t.next, v->n, sizeof *t.next));
  COMP__TRY(comp__calloc(&t.on_path, v->n, sizeof *t.on_path));
  COMP__TRY(comp__calloc(&largest, s->n_labels, sizeof *largest));
  COMP__TRY(comp__calloc(&counts, s->n_labels, sizeof *counts));
  const graph g = {h.indices, h.stride, h.k, v->label};
  for (size_t i = 0; i < v->n; i++) t.number[i] = -1;
  for (size_t i = 0; i < v->n; i++) {
    counts[v->label[i]]++;
    if (t.number[i] >= 0) continue;
    size_t size = explore(&t, &g, (int32_t)i);
    if (size > largest[v->label[i]]) largest[v->label[i]] = size;
  }
  for (size_t l = 0; l < s->n_labels; l++)
    if (counts[l] > 0)
      COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, counts[l], k, (double)largest[l] / (double)counts[l], NULL));
  COMP__TRY(comp__cell_mean_labels(out));
done:
  comp__free(t.number);
  comp__free(t.low);
  comp__free(t.path);
  comp__free(t.parents);
  comp__free(t.next);
  comp__free(t.on_path);
  comp__free(largest);
  comp__free(counts);
  return status;
}
