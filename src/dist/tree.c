/* tree.c: see tree.h. */
#include "dist/tree.h"

#include <assert.h>
#include <string.h>

#include "core/threads.h"

enum { CHUNK = 8192 };

typedef struct tree_job {
  float *const *parts;
  size_t count;
} tree_job;

/* parts[0] becomes the sum of some values, level by level. */
static void sum_values(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const tree_job *job = arg;
  for (size_t width = 1; width < job->count; width *= 2)
    for (size_t p = 0; p + width < job->count; p += 2 * width) {
      float *to = job->parts[p];
      const float *from = job->parts[p + width];
      for (size_t i = begin; i < end; i++) to[i] += from[i];
    }
}

static void sum_parts(comp_context *context, float *const *parts, size_t count, size_t n) {
  tree_job job = {parts, count};
  if (count > 1) comp__parallel_for(context, n, CHUNK, sum_values, &job);
}

/* Where the piece of rank r begins. */
static size_t piece_begin(size_t n, size_t rank, size_t ranks) {
  return rank == ranks ? n : comp__comm_cut(n, rank, ranks) / 16 * 16;
}

static size_t longest_piece(size_t n, size_t ranks) {
  size_t longest = 0;
  for (size_t r = 0; r < ranks; r++) {
    const size_t length = piece_begin(n, r + 1, ranks) - piece_begin(n, r, ranks);
    if (length > longest) longest = length;
  }
  return longest;
}

size_t comp__tree_scratch(const comp__comm *comm, size_t n) {
  const size_t ranks = comp__comm_ranks(comm);
  return ranks > 1 ? ranks * longest_piece(n, ranks) : 0;
}

comp_status comp__tree_sum(comp__comm *comm, comp_context *context, float *const *parts, size_t count, size_t n,
                           float *scratch) {
  const size_t ranks = comp__comm_ranks(comm), rank = comp__comm_rank(comm);
  size_t begin[COMP__MOST_RANKS + 1], received[COMP__MOST_RANKS + 1];
  float *pieces[COMP__MOST_RANKS];
  assert(count > 0 && (count & (count - 1)) == 0);
  sum_parts(context, parts, count, n);
  if (ranks == 1) return COMP_OK;
  for (size_t r = 0; r <= ranks; r++) begin[r] = piece_begin(n, r, ranks);
  const size_t own = begin[rank + 1] - begin[rank];
  for (size_t r = 0; r <= ranks; r++) received[r] = r * own;
  for (size_t r = 0; r < ranks; r++) pieces[r] = scratch + r * own;
  comp_status status = comp__comm_exchange(comm, context, parts[0], begin, scratch, received, sizeof(float));
  if (status != COMP_OK) return status;
  sum_parts(context, pieces, ranks, own);
  memcpy(parts[0] + begin[rank], scratch, own * sizeof *scratch);
  return comp__comm_gather(comm, context, parts[0], begin, sizeof(float));
}
