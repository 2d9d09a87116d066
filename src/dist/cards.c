/* cards.c: see cards.h. */
#include "dist/cards.h"

#include <stdio.h>
#include <string.h>

#include "comp/version.h"
#include "core/alloc.h"
#include "core/cpu.h"
#include "core/digest.h"
#include "core/error.h"

typedef struct card {
  char version[32], cpu[32];
  uint64_t work; /* digest */
} card;

static comp_status compare(const card *first, const card *other, size_t rank) {
  if (strcmp(first->version, other->version) != 0)
    return comp__error(COMP_ERR_UNAVAILABLE,
                       "rank 0 runs comp %s, rank %zu runs comp %s: install the same version on all machines",
                       first->version, rank, other->version);
  if (strcmp(first->cpu, other->cpu) != 0)
    return comp__error(
        COMP_ERR_UNAVAILABLE,
        "rank 0 computes with the kernels %s, rank %zu with %s: use machines with the same kind of CPU, or "
        "set COMP_CPU to the kind that all have (avx2, say)",
        first->cpu, rank, other->cpu);
  if (first->work != other->work)
    return comp__error(COMP_ERR_DATA, "rank %zu has other options than rank 0: give all ranks the same command", rank);
  return COMP_OK;
}

comp_status comp__cards_compare(comp__comm *comm, comp_context *context, const char *work) {
  const size_t ranks = comp__comm_ranks(comm);
  card *cards;
  comp__digest digest;
  comp_status status = comp__calloc(&cards, ranks, sizeof *cards);
  if (status != COMP_OK) return status;
  card *own = &cards[comp__comm_rank(comm)];
  snprintf(own->version, sizeof own->version, "%s", COMP_VERSION);
  snprintf(own->cpu, sizeof own->cpu, "%s", comp__cpu_name(comp__cpu()));
  comp__digest_init(&digest);
  if (work) comp__digest_add(&digest, work, strlen(work));
  own->work = comp__digest_end(&digest);
  status = comp__comm_gather_even(comm, context, cards, 1, sizeof *cards);
  for (size_t r = 1; r < ranks && status == COMP_OK; r++) status = compare(&cards[0], &cards[r], r);
  comp__free(cards);
  return status;
}
