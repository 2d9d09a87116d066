/*
 * tree.h: the sum of one vector a shard over all shards of all ranks, in a fixed tree: shards 0 and 1, 2 and 3 .. are
 * added, then these sums in pairs, and so on. A rank has 2^k neighbouring shards, so its own sum is a branch of the
 * tree, and the bytes are the same at any number of ranks.
 */
#ifndef COMP_DIST_TREE_H
#define COMP_DIST_TREE_H

#include "dist/comm.h"

/* Floats of scratch memory that a sum of vectors of n floats needs; 0 for one rank. */
size_t comp__tree_scratch(const comp__comm *comm, size_t n);

/* parts [count] of n floats each are this rank's, in the order of the shards; count is a power of two. Afterwards
 * parts[0] holds the sum over all ranks, on every rank; the others are overwritten. Each rank adds up one piece of the
 * vector, so that no rank receives more than about 2 n floats. */
comp_status comp__tree_sum(comp__comm *comm, comp_context *context, float *const *parts, size_t count, size_t n,
                           float *scratch);

#endif
