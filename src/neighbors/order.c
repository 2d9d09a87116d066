/* order.c: a k-d tree that is only an order, and bounds of its leaves. */
#include "neighbors/order.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "neighbors/topk.h"

typedef struct splitting {
  const float *x;
  size_t dims, leaf, fine;
  comp__candidate *list; /* [n]: value along the splitting dimension, row */
  double *sums;          /* [2 dims] */
} splitting;

static size_t widest(const splitting *s, const comp__candidate *list, size_t n) {
  double *sum = s->sums, *square = s->sums + s->dims;
  const float *origin = s->x + (size_t)list[0].index * s->dims;
  for (size_t d = 0; d < s->dims; d++) sum[d] = square[d] = 0.0;
  for (size_t i = 0; i < n; i++) {
    const float *row = s->x + (size_t)list[i].index * s->dims;
    for (size_t d = 0; d < s->dims; d++) {
      double value = (double)row[d] - (double)origin[d];
      sum[d] += value;
      square[d] += value * value;
    }
  }
  size_t best = 0;
  double high = -1.0;
  for (size_t d = 0; d < s->dims; d++) {
    double variance = square[d] - sum[d] * sum[d] / (double)n;
    if (variance > high) {
      high = variance;
      best = d;
    }
  }
  return best;
}

/* Halves at a multiple of the leaf size, so that leaves are full but for the last; leaves likewise. */
static void split(const splitting *s, comp__candidate *list, size_t n) {
  assert(s->fine > 0 && s->leaf > 0);
  while (n > s->fine) {
    size_t unit = n > s->leaf ? s->leaf : s->fine;
    size_t dimension = widest(s, list, n);
    for (size_t i = 0; i < n; i++) list[i].distance = (double)s->x[(size_t)list[i].index * s->dims + dimension];
    size_t units = (n + unit - 1) / unit, half = units / 2 * unit;
    comp__candidates_select(list, n, half);
    split(s, list, half);
    list += half;
    n -= half;
  }
}

comp_status comp__order_points(int32_t *order, const float *x, size_t n, size_t dims, size_t leaf, size_t fine) {
  splitting s = {.x = x, .dims = dims, .leaf = leaf, .fine = fine};
  comp_status status;
  COMP__TRY(comp__alloc(&s.list, n, sizeof *s.list));
  COMP__TRY(comp__alloc(&s.sums, dims, 2 * sizeof *s.sums));
  for (size_t i = 0; i < n; i++) s.list[i] = (comp__candidate){0.0, (int32_t)i};
  split(&s, s.list, n);
  for (size_t i = 0; i < n; i++) order[i] = s.list[i].index;
done:
  comp__free(s.list);
  comp__free(s.sums);
  return status;
}

static void place(comp__places *p, size_t piece, const float *x, size_t n) {
  float *low = p->low + piece * p->dims, *high = p->high + piece * p->dims, *centre = p->centre + piece * p->dims;
  for (size_t d = 0; d < p->dims; d++) {
    double sum = 0.0;
    low[d] = high[d] = x[d];
    for (size_t i = 0; i < n; i++) {
      float value = x[i * p->dims + d];
      low[d] = value < low[d] ? value : low[d];
      high[d] = value > high[d] ? value : high[d];
      sum += (double)value;
    }
    centre[d] = (float)(sum / (double)n);
  }
  double most = 0.0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t d = 0; d < p->dims; d++) {
      double difference = (double)x[i * p->dims + d] - (double)centre[d];
      sum += difference * difference;
    }
    most = fmax(most, sum);
  }
  p->radius[piece] = nextafterf((float)(sqrt(most) * (1.0 + 1e-9)), INFINITY);
}

comp_status comp__places_init(comp__places *out, const float *x, size_t n, size_t dims, size_t size) {
  *out = (comp__places){.count = (n + size - 1) / size, .dims = dims};
  comp_status status;
  COMP__TRY(comp__alloc(&out->low, out->count, dims * sizeof *out->low));
  COMP__TRY(comp__alloc(&out->high, out->count, dims * sizeof *out->high));
  COMP__TRY(comp__alloc(&out->centre, out->count, dims * sizeof *out->centre));
  COMP__TRY(comp__alloc(&out->radius, out->count, sizeof *out->radius));
  for (size_t piece = 0; piece < out->count; piece++) {
    size_t first = piece * size;
    place(out, piece, x + first * dims, n - first < size ? n - first : size);
  }
done:
  if (status != COMP_OK) comp__places_release(out);
  return status;
}

void comp__places_release(comp__places *places) {
  comp__free(places->low);
  comp__free(places->high);
  comp__free(places->centre);
  comp__free(places->radius);
  *places = (comp__places){0};
}

double comp__places_apart(const comp__places *a, size_t i, const comp__places *b, size_t j) {
  enum { LANES = 8 };
  const float *x = a->centre + i * a->dims, *y = b->centre + j * a->dims;
  float sums[LANES] = {0}; /* side by side, so that they become one vector */
  size_t d = 0;
  for (; d + LANES <= a->dims; d += LANES)
    for (size_t l = 0; l < LANES; l++) sums[l] += (x[d + l] - y[d + l]) * (x[d + l] - y[d + l]);
  for (; d < a->dims; d++) sums[0] += (x[d] - y[d]) * (x[d] - y[d]);
  double sum = 0.0;
  for (size_t l = 0; l < LANES; l++) sum += (double)sums[l];
  return sum;
}

double comp__places_least(const comp__places *a, size_t i, const comp__places *b, size_t j) {
  const size_t dims = a->dims;
  const float *low_a = a->low + i * dims, *high_a = a->high + i * dims, *centre_a = a->centre + i * dims;
  const float *low_b = b->low + j * dims, *high_b = b->high + j * dims, *centre_b = b->centre + j * dims;
  double box = 0.0, centres = 0.0;
  for (size_t d = 0; d < dims; d++) {
    float gap = fmaxf(fmaxf(low_a[d] - high_b[d], low_b[d] - high_a[d]), 0.0f);
    float difference = centre_a[d] - centre_b[d];
    box += (double)gap * (double)gap;
    centres += (double)difference * (double)difference;
  }
  double ball = sqrt(centres) * (1.0 - 1e-6) - (double)a->radius[i] - (double)b->radius[j];
  return (ball > 0.0 ? fmax(box, ball * ball) : box) * (1.0 - 1e-6);
}
