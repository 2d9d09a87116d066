/* purity.c: how many samples of each label have neighbours that mostly share it. */
#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"
#include "metrics/score.h"

enum { CHUNK = 512 };

typedef struct job {
  const comp__neighborhoods *hoods;
  bool *right; /* [n]: no label is more common among the neighbours than the own one */
} job;

/* Counts each neighbour's label among all k of them: k is small, and labels may be thousands. */
static bool is_right(const comp__neighborhoods *h, size_t i) {
  const int32_t *near = h->indices + i * h->stride;
  size_t own = 0;
  for (size_t a = 0; a < h->k; a++) own += h->group[near[a]] == h->group[i];
  for (size_t a = 0; a < h->k; a++) {
    size_t other = 0;
    for (size_t b = 0; b < h->k; b++) other += h->group[near[b]] == h->group[near[a]];
    if (other > own) return false;
  }
  return true;
}

static void purity_chunk(void *arg, size_t begin, size_t end, int thread) {
  job *j = arg;
  (void)thread;
  for (size_t i = begin; i < end; i++) j->right[i] = is_right(j->hoods, i);
}

comp_status comp__metric_label_knn(comp__score_cell *out, comp__scoring *s) {
  comp__view *view = s->labelled;
  comp__neighborhoods h;
  comp_status status;
  bool *right = NULL;
  size_t all = 0, k = COMP__GRAPH_NEIGHBORS < view->n ? COMP__GRAPH_NEIGHBORS : view->n - 1;
  COMP__TRY(comp__view_neighborhoods(&h, s, view, k));
  h.group = view->label;
  h.groups = s->n_labels;
  COMP__TRY(comp__alloc(&right, view->n, sizeof *right));
  comp__parallel_for(s->context, view->n, CHUNK, purity_chunk, &(job){&h, right});
  for (size_t l = 0; l < s->n_labels; l++) {
    const size_t *members;
    size_t n, found = 0;
    COMP__TRY(comp__view_members(&members, &n, view, s->n_labels, l));
    for (size_t i = 0; i < n; i++) found += right[members[i]];
    all += found;
    if (n > 0) COMP__TRY(comp__cell_add(out, s, l, COMP_NOT_FOUND, n, k, (double)found / (double)n, NULL));
  }
  out->value = (double)all / (double)view->n;
  out->interval = comp__share_interval(out->value, (double)view->n);
done:
  comp__free(right);
  return status;
}
