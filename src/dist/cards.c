/* cards.c: see cards.h. */
#include "dist/cards.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "comp/version.h"
#include "core/alloc.h"
#include "core/cpu.h"
#include "core/digest.h"
#include "core/error.h"

enum { MOST_CARDS = 10 };

/* What ranks send of a card. */
typedef struct entry {
  char text[64]; /* its beginning */
  uint64_t digest;
} entry;

typedef struct hand {
  entry entries[MOST_CARDS];
} hand;

static entry entry_of(const char *text) {
  entry e = {0};
  comp__digest digest;
  comp__digest_init(&digest);
  comp__digest_add(&digest, text, strlen(text));
  e.digest = comp__digest_end(&digest);
  snprintf(e.text, sizeof e.text, "%s", text);
  return e;
}

static comp_status compare(const comp__card *card, const entry *first, const entry *other, size_t rank) {
  if (first->digest == other->digest) return COMP_OK;
  if (card->shown)
    return comp__error(card->status, "rank 0 %s %s, rank %zu %s %s: %s", card->shown, first->text, rank, card->shown,
                       other->text, card->advice);
  return comp__error(card->status, "rank %zu has %s than rank 0: %s", rank, card->other, card->advice);
}

comp_status comp__cards_compare(comp__comm *comm, comp_context *context, const comp__card *cards, size_t n) {
  const size_t ranks = comp__comm_ranks(comm);
  const comp__card machine[] = {
      {.shown = "runs comp",
       .text = COMP_VERSION,
       .advice = "install the same version on all machines",
       .status = COMP_ERR_UNAVAILABLE},
      {.shown = "computes with the kernels",
       .text = comp__cpu_name(comp__cpu()),
       .advice = "use machines with the same kind of CPU, or set COMP_CPU to the kind that all have (avx2, say)",
       .status = COMP_ERR_UNAVAILABLE},
  };
  enum { MACHINE = sizeof machine / sizeof *machine };
  hand *hands;
  if (ranks == 1) return COMP_OK;
  assert(n + MACHINE <= MOST_CARDS);
  comp_status status = comp__calloc(&hands, ranks, sizeof *hands);
  if (status != COMP_OK) return status;
  hand *own = &hands[comp__comm_rank(comm)];
  for (size_t i = 0; i < n + MACHINE; i++)
    own->entries[i] = entry_of(i < MACHINE ? machine[i].text : cards[i - MACHINE].text);
  status = comp__comm_gather_even(comm, context, hands, 1, sizeof *hands);
  for (size_t r = 1; r < ranks; r++)
    for (size_t i = 0; i < n + MACHINE && status == COMP_OK; i++)
      status = compare(i < MACHINE ? &machine[i] : &cards[i - MACHINE], &hands[0].entries[i], &hands[r].entries[i], r);
  comp__free(hands);
  return status;
}
