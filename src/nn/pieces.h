/* pieces.h: how many pieces something is cut into, and how long they are. */
#ifndef COMP_NN_PIECES_H
#define COMP_NN_PIECES_H

#include <stddef.h>

/* How many pieces of length b cover a. */
static inline size_t comp__ceil_div(size_t a, size_t b) {
  return (a + b - 1) / b;
}

/* n rounded up to a multiple of unit. */
static inline size_t comp__round_up(size_t n, size_t unit) {
  return comp__ceil_div(n, unit) * unit;
}

/* The length of the piece that begins at `begin`: the last one may be shorter. */
static inline size_t comp__piece_size(size_t total, size_t piece, size_t begin) {
  return total - begin < piece ? total - begin : piece;
}

#endif
