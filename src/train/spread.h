/*
 * spread.h: the rows of a batch that lie with different ranks: each rank has read a part of a window, and gets the rows
 * of its shards from those that have them. All ranks know which rows a batch has and how long they are, so nothing but
 * their contents is sent.
 */
#ifndef COMP_TRAIN_SPREAD_H
#define COMP_TRAIN_SPREAD_H

#include "comp/matrix.h"
#include "dist/comm.h"

typedef struct comp__spread comp__spread;

/* What a rank has of a window: rows part[rank] .. part[rank + 1] - 1 of it, as a matrix. */
typedef struct comp__spread_window {
  const comp_matrix *x;
  const size_t *part;                            /* [ranks + 1] */
  size_t (*length)(const void *arg, size_t row); /* entries of any row of the window */
  const void *arg;
} comp__spread_window;

/* It should be freed via comp__spread_free(). */
comp_status comp__spread_new(comp__spread **out, comp__comm *comm);
void comp__spread_free(comp__spread *spread);

/* Rank r wants rows[from[r]] .. rows[to[r] - 1], numbers of rows of the window. *out has this rank's in that order; it
 * is the spread's, until the next call. All ranks make the same call. */
comp_status comp__spread_take(const comp_matrix **out, comp_context *context, comp__spread *spread,
                              const comp__spread_window *window, const size_t *rows, const size_t *from,
                              const size_t *to);

#endif
