/*
 * lanczos.c: the largest eigenvalues of a symmetric matrix that is known by its products alone.
 *
 * A basis grows by blocks: each is the last one times the matrix, made orthogonal to all before. Within the basis the
 * matrix is small, and its eigenvectors approximate those of the whole; when the basis is full the best of them are
 * kept and it grows on from there. That takes a fraction of the products of an iteration that keeps nothing but its
 * last block, and what products cost decides.
 */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/rng.h"
#include "core/threads.h"
#include "linalg/linalg.h"

enum {
  BLOCK = COMP__EIGEN_BLOCK, /* fewer vectors at once would need fewer in all, but slower products */
  SPARE = 96,                /* of a full basis, besides three vectors a component */
  CHECKS = 2,                /* of what is found so far, from one full basis to the next */
  CHUNK_ROWS = 32,           /* of the basis, for a thread */
  CHUNK_COLUMNS = 512
};
static const double MOST_VECTORS = 150.0; /* multiplied for a component, before it gives up */
static const double ROUNDING = 1e-6;      /* of a residual, against the largest value: what single precision leaves */
static const double STALLED = 0.7;        /* residuals that shrink by less, and are small, will not shrink further */

typedef struct lanczos {
  comp_context *context;
  size_t n, most, keep, filled; /* length of vectors; of a full basis; of the one it goes on with; now */
  size_t width, last;           /* vectors of the next block, and of the last one in the basis */
  double *q;                    /* [most + BLOCK, n]: the basis and the next block */
  double *w, *left;             /* [BLOCK, n]: products; what is outside of the basis */
  double *small;                /* [most, most]: q a q^T */
  double *link;                 /* [BLOCK, BLOCK]: of the last block (rows) to the next one (columns) */
  double *vectors, *values;     /* of small: [most, most], [most] */
  double *along;                /* [BLOCK, most + BLOCK] */
  double *turned;               /* [keep, n] */
} lanczos;

/* ---- Products with the basis, cut by shape alone ---- */

typedef struct part {
  const lanczos *l;
  const double *block; /* [rows, n] */
  size_t rows, vectors;
} part;

static void dot_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const part *p = arg;
  const lanczos *l = p->l;
  comp__multiply(l->along + begin, p->vectors, p->block, l->n, l->q + begin * l->n, l->n, p->rows, end - begin, l->n,
                 COMP__SECOND_TRANSPOSED);
}

/* along [rows, vectors] = block [rows, n] times the first vectors of the basis, transposed. */
static void dots(const lanczos *l, const double *block, size_t rows, size_t vectors) {
  part p = {l, block, rows, vectors};
  comp__parallel_for(l->context, vectors, CHUNK_ROWS, dot_chunk, &p);
}

static void subtract_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const part *p = arg;
  const lanczos *l = p->l;
  comp__multiply(l->left + begin, l->n, l->along, p->vectors, l->q + begin, l->n, p->rows, end - begin, p->vectors,
                 COMP__SUBTRACT);
}

static void turn_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const part *p = arg;
  const lanczos *l = p->l;
  comp__multiply(l->turned + begin, l->n, l->vectors, l->filled, l->q + begin, l->n, p->rows, end - begin, l->filled,
                 0);
}

/* turned [rows, n]: the best approximations of eigenvectors. */
static void turn(const lanczos *l, size_t rows) {
  part p = {.l = l, .rows = rows};
  comp__parallel_for(l->context, l->n, CHUNK_COLUMNS, turn_chunk, &p);
}

/* ---- The basis ---- */

/* Takes the next block, of which w is the product, into the basis: its row and column of the small matrix. */
static void take(lanczos *l) {
  const size_t all = l->filled + l->width;
  dots(l, l->w, l->width, all);
  for (size_t i = 0; i < l->width; i++)
    for (size_t j = 0; j < l->filled; j++) {
      const double value = l->along[i * all + j];
      l->small[(l->filled + i) * l->most + j] = l->small[j * l->most + l->filled + i] = value;
    }
  for (size_t i = 0; i < l->width; i++)
    for (size_t j = 0; j < l->width; j++) /* equal but for rounding */
      l->small[(l->filled + i) * l->most + l->filled + j] =
          0.5 * (l->along[i * all + l->filled + j] + l->along[j * all + l->filled + i]);
  l->filled = all;
  l->last = l->width;
}

/* What w has outside of the basis becomes the next block. What is left may be small, or nothing: then rounding shows,
 * or any vectors take its place, which lie in the basis in part. So it is done twice. */
static comp_status find_next(lanczos *l) {
  l->width = l->n - l->filled < l->last ? l->n - l->filled : l->last;
  memcpy(l->left, l->w, l->last * l->n * sizeof *l->left);
  for (int time = 0; time < 2 && l->width > 0; time++) {
    part p = {.l = l, .rows = l->width, .vectors = l->filled};
    if (time > 0) dots(l, l->left, l->width, l->filled); /* the first time, take() has done it */
    comp__parallel_for(l->context, l->n, CHUNK_COLUMNS, subtract_chunk, &p);
    comp_status status = comp__orthonormalize(l->left, l->width, l->n);
    if (status != COMP_OK) return status;
  }
  memcpy(l->q + l->filled * l->n, l->left, l->width * l->n * sizeof *l->q);
  comp__multiply(l->link, BLOCK, l->w, l->n, l->left, l->n, l->last, l->width, l->n, COMP__SECOND_TRANSPOSED);
  return COMP_OK;
}

static comp_status decompose(lanczos *l) {
  const size_t m = l->filled;
  for (size_t i = 0; i < m; i++) memcpy(l->vectors + i * m, l->small + i * l->most, m * sizeof *l->vectors);
  return comp__eigen_symmetric(l->vectors, m, l->values);
}

/* The best vectors become the basis. */
static void restart(lanczos *l) {
  turn(l, l->keep);
  memcpy(l->q, l->turned, l->keep * l->n * sizeof *l->q);
  memmove(l->q + l->keep * l->n, l->q + l->filled * l->n, l->width * l->n * sizeof *l->q);
  for (size_t i = 0; i < l->keep; i++) {
    memset(l->small + i * l->most, 0, l->keep * sizeof *l->small);
    l->small[i * l->most + i] = l->values[i];
  }
  l->filled = l->keep;
}

/* ---- When to stop ---- */

typedef struct residuals {
  double worst;  /* the largest, against its own value */
  bool rounding; /* whether all are so small against the largest value that rounding may be all there is left */
} residuals;

/* The product of an eigenvector of the small matrix leaves the basis by what its last entries are linked to. */
static residuals residuals_of(const lanczos *l, size_t components) {
  residuals out = {0.0, true};
  for (size_t i = 0; i < components; i++) {
    const double *v = l->vectors + i * l->filled + l->filled - l->last;
    double squares = 0.0;
    for (size_t j = 0; j < l->width; j++) {
      double sum = 0.0;
      for (size_t k = 0; k < l->last; k++) sum += v[k] * l->link[k * BLOCK + j];
      squares += sum * sum;
    }
    const double residual = sqrt(squares);
    if (residual > 0.0) out.worst = fmax(out.worst, residual / fmax(l->values[i], 1e-300));
    out.rounding &= residual <= ROUNDING * l->values[0];
  }
  return out;
}

static comp_status iterate(lanczos *l, comp__eigen_found *found, comp__product_fn times, void *arg,
                           const comp__eigen_options *o) {
  const size_t stride = (l->most - l->keep + CHECKS - 1) / CHECKS;
  size_t multiplied = 0, check = l->most - stride;
  double before = INFINITY;
  for (;;) {
    comp_status status = comp__check_interrupt(l->context);
    if (status == COMP_OK) status = times(arg, l->w, l->q + l->filled * l->n, l->width);
    if (status != COMP_OK) return status;
    found->products++;
    multiplied += l->width;
    take(l);
    status = find_next(l);
    if (status != COMP_OK) return status;
    const bool full = l->filled + l->width > l->most || l->width == 0;
    if (!full && (l->filled < check || l->filled < o->components)) continue;
    status = decompose(l);
    if (status != COMP_OK) return status;
    const residuals now = residuals_of(l, o->components);
    found->settled = now.worst <= o->tolerance || (now.rounding && now.worst > STALLED * before) || l->width == 0;
    if (found->settled || (double)multiplied > MOST_VECTORS * (double)(o->components + BLOCK)) return COMP_OK;
    before = now.worst;
    if (full) restart(l);
    check = l->filled + stride;
  }
}

comp_status comp__eigen_largest(double *vectors, double *values, comp__eigen_found *found, comp_context *context,
                                comp__product_fn times, void *arg, size_t n, const comp__eigen_options *o) {
  *found = (comp__eigen_found){0};
  lanczos l = {.context = context, .n = n, .most = 3 * o->components + SPARE, .width = n < BLOCK ? n : BLOCK};
  if (l.most + 2 * BLOCK > n) l.most = n; /* then there is always a whole block beyond a basis that is not everything */
  l.keep = l.most / 2 > o->components ? l.most / 2 : o->components;
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&l.q, (l.most + BLOCK) * n, sizeof *l.q));
  COMP__TRY(comp__alloc(&l.w, BLOCK * n, sizeof *l.w));
  COMP__TRY(comp__alloc(&l.left, BLOCK * n, sizeof *l.left));
  COMP__TRY(comp__alloc(&l.small, l.most * l.most, sizeof *l.small));
  COMP__TRY(comp__alloc(&l.link, BLOCK * BLOCK, sizeof *l.link));
  COMP__TRY(comp__alloc(&l.vectors, l.most * l.most, sizeof *l.vectors));
  COMP__TRY(comp__alloc(&l.values, l.most, sizeof *l.values));
  COMP__TRY(comp__alloc(&l.along, BLOCK * (l.most + BLOCK), sizeof *l.along));
  COMP__TRY(comp__alloc(&l.turned, l.keep * n, sizeof *l.turned));
  for (size_t i = 0; i < l.width; i++)
    for (size_t j = 0; j < n; j++) l.q[i * n + j] = comp__rng_normal(comp__rng_at(o->seed, COMP__RNG_PCA, 0, i), j);
  COMP__TRY(comp__orthonormalize(l.q, l.width, n));
  COMP__TRY(iterate(&l, found, times, arg, o));
  turn(&l, o->components);
  memcpy(vectors, l.turned, o->components * n * sizeof *vectors);
  memcpy(values, l.values, o->components * sizeof *values);
done:
  comp__free(l.q);
  comp__free(l.w);
  comp__free(l.left);
  comp__free(l.small);
  comp__free(l.link);
  comp__free(l.vectors);
  comp__free(l.values);
  comp__free(l.along);
  comp__free(l.turned);
  return status;
}
