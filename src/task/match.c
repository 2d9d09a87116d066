/* match.c: which populations of two conditions belong together, by their expression. */
#include "task/match.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

enum { ROUNDS = 8 };

typedef struct work {
  const comp__populations *from, *to;
  comp__matching *out;
  double *expected;                 /* [from, features]: E_u */
  double *apart;                    /* [from, from] */
  size_t belongs[COMP__MATCH_MOST]; /* [to]: u of each v */
} work;

static const double *mean_of(const comp__populations *p, size_t i) {
  return p->mean + i * p->features;
}

/* |S_v - C_u - E_u|^2 */
static double off_expected(const work *w, size_t u, size_t v) {
  const double *c = mean_of(w->from, u), *s = mean_of(w->to, v), *e = w->expected + u * w->from->features;
  double sum = 0;
  for (size_t g = 0; g < w->from->features; g++) sum += (s[g] - c[g] - e[g]) * (s[g] - c[g] - e[g]);
  return sum;
}

static void start(work *w) {
  const size_t n = w->from->features, k = w->from->count, m = w->to->count;
  double *first = w->expected;
  memset(first, 0, n * sizeof *first);
  for (size_t v = 0; v < m; v++)
    for (size_t g = 0; g < n; g++) first[g] += mean_of(w->to, v)[g] / (double)m;
  for (size_t u = 0; u < k; u++)
    for (size_t g = 0; g < n; g++) first[g] -= mean_of(w->from, u)[g] / (double)k;
  for (size_t u = 1; u < k; u++) memcpy(w->expected + u * n, first, n * sizeof *first);
  for (size_t u = 0; u < k; u++)
    for (size_t v = 0; v < k; v++) {
      double sum = 0;
      for (size_t g = 0; g < n; g++) {
        double d = mean_of(w->from, u)[g] - mean_of(w->from, v)[g];
        sum += d * d;
      }
      w->apart[u * k + v] = sum;
    }
}

/* Finds u of every v; says whether one is another than before. */
static bool assign(work *w) {
  bool changed = false;
  for (size_t v = 0; v < w->to->count; v++) {
    size_t best = 0;
    double least = INFINITY;
    for (size_t u = 0; u < w->from->count; u++) {
      double d = off_expected(w, u, v);
      if (d < least) least = d, best = u;
    }
    changed = changed || w->belongs[v] != best;
    w->belongs[v] = best;
  }
  return changed;
}

/* D_u of those that are matched. */
static void find_changes(work *w) {
  const size_t n = w->from->features, k = w->from->count;
  double sizes[COMP__MATCH_MOST] = {0};
  memset(w->out->change, 0, k * n * sizeof *w->out->change);
  for (size_t v = 0; v < w->to->count; v++) sizes[w->belongs[v]] += (double)w->to->sizes[v];
  for (size_t v = 0; v < w->to->count; v++) {
    size_t u = w->belongs[v];
    double share = (double)w->to->sizes[v] / sizes[u], *change = w->out->change + u * n;
    for (size_t g = 0; g < n; g++) change[g] += share * (mean_of(w->to, v)[g] - mean_of(w->from, u)[g]);
  }
  for (size_t u = 0; u < k; u++) w->out->matched[u] = sizes[u] > 0.0;
}

/* E_u from the changes near u, its own among them. */
static void expect(work *w, size_t u) {
  const size_t n = w->from->features, k = w->from->count;
  double least = INFINITY, sum = 0, weights[COMP__MATCH_MOST] = {0}, *e = w->expected + u * n;
  for (size_t v = 0; v < k; v++)
    if (v != u && w->out->matched[v] && w->apart[u * k + v] < least) least = w->apart[u * k + v];
  const double width = isfinite(least) && least > 0.0 ? least : 1.0;
  for (size_t v = 0; v < k; v++) {
    if (!w->out->matched[v]) continue;
    weights[v] = exp(-(v == u ? 0.5 * width : w->apart[u * k + v] - (isfinite(least) ? least : 0.0) + width) / width);
    sum += weights[v];
  }
  memset(e, 0, n * sizeof *e);
  for (size_t v = 0; v < k; v++)
    for (size_t g = 0; weights[v] > 0.0 && g < n; g++) e[g] += weights[v] / sum * w->out->change[v * n + g];
}

comp_status comp__match(comp__matching *out, const comp__populations *from, const comp__populations *to) {
  *out = (comp__matching){0};
  work w = {.from = from, .to = to, .out = out};
  comp_status status;
  COMP__TRY(comp__calloc(&out->change, from->count, from->features * sizeof *out->change));
  COMP__TRY(comp__alloc(&w.expected, from->count, from->features * sizeof *w.expected));
  COMP__TRY(comp__alloc(&w.apart, from->count, from->count * sizeof *w.apart));
  start(&w);
  for (int round = 0; round < ROUNDS; round++) {
    if (!assign(&w) && round > 0) break;
    find_changes(&w);
    for (size_t u = 0; u < from->count; u++) expect(&w, u);
  }
  assign(&w);
  find_changes(&w);
done:
  comp__free(w.expected);
  comp__free(w.apart);
  return status;
}

void comp__matching_release(comp__matching *m) {
  comp__free(m->change);
  *m = (comp__matching){0};
}
