/* ranks.c: several processes in one training: joined, compared, and agreed on when to stop. */
#include "train/ranks.h"

#include <stdio.h>
#include <string.h>

#include "comp/dist.h"
#include "comp/version.h"
#include "core/context.h"
#include "core/digest.h"
#include "core/error.h"
#include "nn/kernels.h"

/* What must be the same on all ranks: every one of them computes the same weights from the same gradients. */
typedef struct rank_card {
  char version[32], kernel[64];
  uint64_t config, data, step;
} rank_card;

static uint64_t digest_of_text(const char *text) {
  comp__digest digest;
  comp__digest_init(&digest);
  comp__digest_add(&digest, text, strlen(text));
  return comp__digest_end(&digest);
}

static comp_status compare_cards(const rank_card *first, const rank_card *other, size_t rank) {
  const char *advice = "give all ranks the same command and the same files";
  if (strcmp(first->version, other->version) != 0)
    return comp__error(COMP_ERR_UNAVAILABLE,
                       "rank 0 runs comp %s, rank %zu runs comp %s: install the same version on all machines",
                       first->version, rank, other->version);
  if (strcmp(first->kernel, other->kernel) != 0)
    return comp__error(
        COMP_ERR_UNAVAILABLE,
        "rank 0 computes with the kernels %s, rank %zu with %s: use machines with the same kind of CPU, or "
        "set COMP_CPU to the kind that all have (avx2, say)",
        first->kernel, rank, other->kernel);
  if (first->data != other->data)
    return comp__error(COMP_ERR_DATA, "rank %zu has other data than rank 0: %s", rank, advice);
  if (first->config != other->config)
    return comp__error(COMP_ERR_DATA, "rank %zu has other options than rank 0: %s", rank, advice);
  if (first->step != other->step)
    return comp__error(
        COMP_ERR_DATA,
        "rank 0 goes on after %llu steps, rank %zu after %llu: all ranks must see the same checkpoint file",
        (unsigned long long)first->step, rank, (unsigned long long)other->step);
  return COMP_OK;
}

comp_status comp__ranks_compare(comp__training *t, uint64_t digest) {
  const size_t ranks = comp__comm_ranks(t->comm);
  rank_card *cards;
  if (ranks == 1) return COMP_OK;
  comp_status status = comp__calloc(&cards, ranks, sizeof *cards);
  if (status != COMP_OK) return status;
  rank_card *own = &cards[comp__comm_rank(t->comm)];
  snprintf(own->version, sizeof own->version, "%s", COMP_VERSION);
  snprintf(own->kernel, sizeof own->kernel, "%s, %s", t->model->kernel, comp__kernels_get()->name);
  own->config = digest_of_text(t->model->config);
  own->data = digest;
  own->step = t->now.step;
  status = comp__comm_gather_even(t->comm, t->context, cards, 1, sizeof *cards);
  for (size_t r = 1; r < ranks && status == COMP_OK; r++) status = compare_cards(&cards[0], &cards[r], r);
  comp__free(cards);
  return status;
}

/* Shards by default: as many as can be shared out in the usual ways. */
enum { USUAL_SHARDS = 8 };

comp_status comp__ranks_join(comp__training *t, comp__train_options *o) {
  if (!o->over_ranks || comp_rank_count() == 1) return COMP_OK;
  t->joined = !comp__comm_of(t->context);
  comp_status status = comp_context_join_ranks(t->context, NULL);
  t->comm = comp__comm_take(t->context); /* ranks compare their data only later: until then each works alone */
  if (status != COMP_OK) return status;
  const size_t ranks = comp__comm_ranks(t->comm);
  for (size_t s = USUAL_SHARDS; o->shards == 0 && s <= COMP__MOST_SHARDS; s *= 2)
    if (s >= ranks) o->shards = s;
  if (o->shards % ranks != 0)
    return comp__error(
        COMP_ERR_ARGUMENT,
        "shards: %zu shards cannot be shared out evenly to %zu processes: start 1, 2, 4 .. %zu of them, or "
        "give more shards",
        o->shards, ranks, o->shards);
  return COMP_OK;
}

comp_status comp__ranks_cut(comp__training *t) {
  comp_status status;
  if (t->options->shards == 0) return COMP_OK;
  COMP__TRY(comp__shards_new(&t->shards, t->comm, &t->model->network, t->options->shards,
                             comp__loader_largest_batch(t->loader), t->work));
  COMP__TRY(comp__loader_cut(t->loader, t->shards->total, t->shards->first, t->shards->count));
  comp__info(t->context, "each batch is cut into %zu shards, shared out to %zu process%s", t->shards->total,
             comp__comm_ranks(t->comm), comp__comm_ranks(t->comm) == 1 ? "" : "es");
done:
  return status;
}

/* What ranks tell each other after an epoch, and after each step when the time is limited. */
typedef struct rank_state {
  uint64_t weights; /* digest */
  uint64_t stopped;
} rank_state;

static uint64_t digest_of_weights(const comp__training *t) {
  comp__digest digest;
  comp__digest_init(&digest);
  comp__digest_add(&digest, t->state.params, t->model->network.params.size * sizeof(float));
  comp__digest_add(&digest, t->state.buffers, t->model->network.buffers.size * sizeof(float));
  return comp__digest_end(&digest);
}

comp_status comp__ranks_agree(comp__training *t, bool epoch_ended) {
  const size_t ranks = comp__comm_ranks(t->comm), rank = comp__comm_rank(t->comm);
  if (ranks == 1 || (!epoch_ended && !(t->options->max_seconds > 0))) return COMP_OK;
  rank_state all[COMP__MOST_RANKS];
  all[rank] = (rank_state){epoch_ended ? digest_of_weights(t) : 0, t->stopped};
  comp_status status = comp__comm_gather_even(t->comm, t->context, all, 1, sizeof *all);
  for (size_t r = 0; r < ranks && status == COMP_OK; r++) {
    if (all[r].stopped) t->stopped = true;
    if (all[r].weights != all[0].weights)
      status = comp__error(COMP_ERR_NUMERIC,
                           "after epoch %llu rank %zu has other weights than rank 0: the machines compute differently; "
                           "run all ranks on machines with the same CPUs and the same libraries",
                           (unsigned long long)t->now.epoch, r);
  }
  return status;
}
