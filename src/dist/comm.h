/*
 * comm.h: a communicator: the processes (ranks) that work on one batch together, and what they tell each other.
 *
 * Every rank makes the same calls in the same order. There is no sum here but tree.h's: a sum that a message library
 * makes has an order of its own, and other bytes at another number of ranks.
 *
 * A call that waits for other ranks ends with COMP_ERR_INTERRUPTED when the context is interrupted, or when another
 * rank says that it has failed (comp__comm_tell): then the message is that rank's, and the context is interrupted, too.
 * The communicator is of no use afterwards. A rank that dies says nothing: a launcher such as mpirun then interrupts
 * the others.
 */
#ifndef COMP_DIST_COMM_H
#define COMP_DIST_COMM_H

#include <stddef.h>

#include "comp/context.h"
#include "dist/transport.h"

typedef struct comp__comm comp__comm;

/* More cannot be joined. */
enum { COMP__MOST_RANKS = 256 };

/* Opens a communicator by the name of its row: "self" (this process alone) or "mpi" (all that mpirun or srun started
 * together). It should be freed via comp__comm_close(). */
comp_status comp__comm_open(comp__comm **out, const char *name);

/* The same with a row that is given. */
comp_status comp__comm_open_with(comp__comm **out, const comp__transport *transport);
void comp__comm_close(comp__comm *comm);

/* The index-th row's name; NULL past the last. */
const char *comp__comm_name(size_t index);

/* The communicator of a context that was joined (comp_context_join_ranks, or comp__comm_lend), whose work is shared
 * out; NULL: this process works alone. */
comp__comm *comp__comm_of(const comp_context *context);

/* Makes `comm` the context's, which does not own it; NULL takes it away. */
void comp__comm_lend(comp_context *context, comp__comm *comm);

/* Takes the communicator from its context, which shares nothing out any more, and gives it back. It is the caller's in
 * between. */
comp__comm *comp__comm_take(comp_context *context);
void comp__comm_give(comp_context *context, comp__comm *comm);

/* Tells the other ranks that this one has failed. */
void comp__comm_tell(comp__comm *comm, const char *text);

/* NULL: one rank, this process. */
size_t comp__comm_rank(const comp__comm *comm);
size_t comp__comm_ranks(const comp__comm *comm);

/* What this rank received from others so far. */
typedef struct comp__traffic {
  double bytes, seconds; /* how long its calls took */
  size_t calls;
} comp__traffic;
comp__traffic comp__comm_traffic(const comp__comm *comm);

/* Items begin[r] .. begin[r + 1] - 1 of `all`, each of `size` bytes, are rank r's, and are there on all ranks
 * afterwards. With comm NULL these three do what one rank does. */
comp_status comp__comm_gather(comp__comm *comm, comp_context *context, void *all, const size_t *begin, size_t size);

/* The same with `count` items for each rank. */
comp_status comp__comm_gather_even(comp__comm *comm, comp_context *context, void *all, size_t count, size_t size);

/* Items send_begin[r] .. of `send` go to rank r, and items receive_begin[r] .. of `received` come from rank r. */
comp_status comp__comm_exchange(comp__comm *comm, comp_context *context, const void *send, const size_t *send_begin,
                                void *received, const size_t *receive_begin, size_t size);

/* Cuts n rows into neighbouring parts, one a rank, at multiples of `unit` rows: begin [ranks + 1]. */
void comp__comm_share(size_t *begin, const comp__comm *comm, size_t n, size_t unit);

/* Who gets all rows. */
typedef enum comp__comm_to { COMP__TO_FIRST, COMP__TO_ALL } comp__comm_to;

/* As comp__comm_gather() for any number of bytes, in pieces; on all ranks, or only on the first. */
comp_status comp__comm_collect(comp__comm *comm, comp_context *context, void *all, const size_t *begin, size_t size,
                               comp__comm_to to);

/* The first of n items that rank r has a part of when n are cut into as many neighbouring parts as there are ranks, of
 * which there is one at least. */
static inline size_t comp__comm_cut(size_t n, size_t rank, size_t ranks) {
  return ranks > 1 ? n / ranks * rank + n % ranks * rank / ranks : n * rank;
}

#endif
