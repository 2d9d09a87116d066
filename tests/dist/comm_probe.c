/* comm_probe.c BYTES MESSAGES ROUNDS: what messages cost between the ranks of mpirun, through the communicator that
 * training uses: for netns.py. In each round all ranks make MESSAGES small all-gathers, then an exchange and an
 * all-gather in which each receives BYTES from the others altogether. Rank 0 prints the seconds of both, a line a
 * round. */
#include <stdio.h>
#include <stdlib.h>

#include "comp/context.h"
#include "core/context.h"
#include "dist/comm.h"

static int fail(const char *what) {
  fprintf(stderr, "comm_probe: %s: %s\n", what, comp_error_message());
  return 1;
}

int main(int argc, char **argv) {
  comp_context *context;
  comp__comm *comm;
  if (argc != 4) return 2;
  const size_t half = strtoull(argv[1], NULL, 10) / 2, messages = strtoull(argv[2], NULL, 10);
  const int rounds = atoi(argv[3]);
  if (comp_context_new(&context, NULL) != COMP_OK) return fail("context");
  if (comp__comm_open(&comm, "mpi") != COMP_OK) return fail("mpi");
  const size_t ranks = comp__comm_ranks(comm), rank = comp__comm_rank(comm), piece = half / (ranks - 1);
  char *all = calloc(ranks, piece), *received = calloc(ranks, piece), small[COMP__MOST_RANKS];
  size_t begin[COMP__MOST_RANKS + 1];
  for (size_t r = 0; r <= ranks; r++) begin[r] = r * piece;
  for (int round = 0; all && received && round < rounds; round++) {
    const double began = comp__seconds();
    for (size_t m = 0; m < messages; m++)
      if (comp__comm_gather_even(comm, context, small, 1, 1) != COMP_OK) return fail("small");
    const double middle = comp__seconds();
    if (comp__comm_exchange(comm, context, all, begin, received, begin, 1) != COMP_OK) return fail("exchange");
    if (comp__comm_gather_even(comm, context, all, piece, 1) != COMP_OK) return fail("gather");
    if (rank == 0) printf("%.6f %.6f\n", middle - began, comp__seconds() - middle);
  }
  free(all);
  free(received);
  comp__comm_close(comm);
  comp_context_free(context);
  return 0;
}
