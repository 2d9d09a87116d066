/* topk.h: the k best of many candidates: a list that is cut down now and then. */
#ifndef COMP_NEIGHBORS_TOPK_H
#define COMP_NEIGHBORS_TOPK_H

#include <stddef.h>
#include <stdint.h>

/* A candidate. Nearer ones come first; of two at the same distance the one with the lower index. */
typedef struct comp__candidate {
  double distance;
  int32_t index;
} comp__candidate;

/* Reorders so that the k first (1 <= k <= n) are the k best, in any order, with the worst of them at k - 1. */
void comp__candidates_select(comp__candidate *list, size_t n, size_t k);

/* The same for whole numbers, without branches that depend on them: faster. */
void comp__keys_select(uint64_t *keys, size_t n, size_t k);

/* Sorts, best first. Indices must differ. */
void comp__candidates_sort(comp__candidate *list, size_t n);

#endif
