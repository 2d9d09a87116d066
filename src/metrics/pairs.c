/* pairs.c: all pairs of samples, a tile of rows x columns at a time. */
#include "metrics/pairs.h"

#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "nn/kernels.h"

enum { ROWS = COMP__VISIT_ROWS, COLUMNS = 256 };

typedef struct visit {
  comp_context *context;
  const comp__kernels *kernels;
  const float *points;
  size_t n, dims, padded;
  float *transposed; /* [dims, padded] */
  float *tiles;      /* [threads, ROWS, COLUMNS] */
  comp__pair_fn fn;
  void *arg;
} visit;

static comp_status visit_chunk(void *arg, size_t begin, size_t end, int thread) {
  visit *v = arg;
  float *tile = v->tiles + (size_t)thread * ROWS * COLUMNS;
  if (comp_context_interrupted(v->context)) return comp__check_interrupt(v->context);
  for (size_t first = 0; first < v->n; first += COLUMNS) {
    size_t count = v->n - first < COLUMNS ? v->n - first : COLUMNS;
    v->kernels->distances(tile, COLUMNS, v->points + begin * v->dims, v->transposed, v->padded, v->dims, end - begin,
                          first, count);
    for (size_t i = begin; i < end; i++) v->fn(v->arg, i, first, count, tile + (i - begin) * COLUMNS, thread);
  }
  return COMP_OK;
}

comp_status comp__pairs_visit(comp_context *context, const float *points, size_t n, size_t dims, comp__pair_fn fn,
                              void *arg) {
  comp_status status;
  visit v = {.context = context,
             .kernels = comp__kernels_get(),
             .points = points,
             .n = n,
             .dims = dims,
             .padded = (n + COLUMNS - 1) / COLUMNS * COLUMNS,
             .fn = fn,
             .arg = arg};
  COMP__TRY(comp__calloc(&v.transposed, v.padded * dims, sizeof *v.transposed));
  COMP__TRY(comp__alloc(&v.tiles, (size_t)comp_context_thread_count(context) * ROWS * COLUMNS, sizeof *v.tiles));
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) v.transposed[d * v.padded + i] = points[i * dims + d];
  COMP__TRY(comp__parallel_try(context, n, ROWS, visit_chunk, &v));
done:
  comp__free(v.transposed);
  comp__free(v.tiles);
  return status;
}

comp_status comp__sorted_init(comp__sorted *out, const float *points, size_t n, size_t dims, const int32_t *group,
                              size_t groups) {
  comp_status status;
  *out = (comp__sorted){.n = n, .dims = dims, .groups = groups};
  COMP__TRY(comp__alloc(&out->order, n, sizeof *out->order));
  COMP__TRY(comp__calloc(&out->starts, groups + 1, sizeof *out->starts));
  COMP__TRY(comp__alloc(&out->points, n * dims, sizeof *out->points));
  for (size_t i = 0; i < n; i++) out->starts[group[i] + 1]++;
  for (size_t g = 0; g < groups; g++) out->starts[g + 1] += out->starts[g];
  for (size_t i = 0; i < n; i++) out->order[out->starts[group[i]]++] = i;
  for (size_t g = groups; g > 0; g--) out->starts[g] = out->starts[g - 1];
  out->starts[0] = 0;
  for (size_t i = 0; i < n; i++) memcpy(out->points + i * dims, points + out->order[i] * dims, dims * sizeof *points);
done:
  return status;
}

void comp__sorted_release(comp__sorted *sorted) {
  comp__free(sorted->order);
  comp__free(sorted->starts);
  comp__free(sorted->points);
  *sorted = (comp__sorted){0};
}
