/* pairs.h: distances between all pairs of samples, in tiles: memory grows with the samples, not with their square. */
#ifndef COMP_METRICS_PAIRS_H
#define COMP_METRICS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

/* Rows are visited in blocks of so many, each by one thread from its first column to its last. */
enum { COMP__VISIT_ROWS = 32 };

/* Gets squared distances of sample `row` to samples first .. first + count - 1; may write to them. The calls of one row
 * come one after the other, with `first` ascending, and so do those of all rows of a block; those of different blocks
 * come from different threads. `thread` is below comp_context_thread_count(). */
typedef void (*comp__pair_fn)(void *arg, size_t row, size_t first, size_t count, float *squared, int thread);

/* Calls fn for all pairs of rows of points [n, dims], a sample with itself among them. */
comp_status comp__pairs_visit(comp_context *context, const float *points, size_t n, size_t dims, comp__pair_fn fn,
                              void *arg);

/* Samples by group: order [n] lists them, group after group, starts [groups + 1] where each begins, and sorted
 * [n, dims] holds their points in that order. */
typedef struct comp__sorted {
  size_t n, dims, groups;
  size_t *order;
  size_t *starts;
  float *points;
} comp__sorted;

/* It should be released via comp__sorted_release(). */
comp_status comp__sorted_init(comp__sorted *out, const float *points, size_t n, size_t dims, const int32_t *group,
                              size_t groups);
void comp__sorted_release(comp__sorted *sorted);

#endif
