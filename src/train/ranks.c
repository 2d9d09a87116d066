/* ranks.c: several processes in one training: joined, compared, and agreed on when to stop. */
#include "train/ranks.h"

#include <stdio.h>
#include <string.h>

#include "comp/dist.h"
#include "core/context.h"
#include "core/digest.h"
#include "core/error.h"
#include "dist/cards.h"
#include "nn/kernels.h"
#include "train/config.h"

static const char advice[] = "give all ranks the same command and the same files";

/* Digests as texts, which is what cards have. */
static void text_of(char out[17], uint64_t digest) {
  snprintf(out, 17, "%016llx", (unsigned long long)digest);
}

comp_status comp__ranks_compare_start(comp__training *t, const comp_groups *groups, comp__stream *stream) {
  char *config = NULL, *options = NULL, data[17];
  uint64_t digest = comp__mix(groups->n_levels, groups->codes, groups->rows * sizeof *groups->codes), file = 0;
  comp_status status = COMP_OK;
  if (comp__comm_ranks(t->comm) == 1) return COMP_OK;
  COMP__TRY(comp__config_write(&config, t->options));
  if (stream) COMP__TRY(comp__stream_digest(&file, t->context, stream));
  text_of(data, comp__mix(digest, &file, sizeof file));
  const size_t size = strlen(config) + 64; /* with what decides on windows, which the configuration does not have */
  COMP__TRY(comp__alloc(&options, size, 1));
  snprintf(options, size, "%s %d %zu", config, stream != NULL, t->options->memory);
  const comp__card cards[] = {
      {.other = "other options", .advice = advice, .text = options, .status = COMP_ERR_DATA},
      {.other = "other data", .advice = advice, .text = data, .status = COMP_ERR_DATA},
  };
  COMP__TRY(comp__cards_compare(t->comm, t->context, cards, sizeof cards / sizeof *cards));
  if (stream) COMP__TRY(comp__stream_share(stream, t->comm));
done:
  comp__free(config);
  comp__free(options);
  return status;
}

comp_status comp__ranks_compare(comp__training *t, uint64_t digest) {
  char kernels[64], data[17], step[32];
  text_of(data, digest);
  snprintf(kernels, sizeof kernels, "%s, %s", t->model->kernel, comp__kernels_get()->name);
  snprintf(step, sizeof step, "%llu", (unsigned long long)t->now.step);
  const comp__card cards[] = {
      {.shown = "computes with the kernels",
       .advice = "use machines with the same CPUs and libraries",
       .text = kernels,
       .status = COMP_ERR_UNAVAILABLE},
      {.other = "other data", .advice = advice, .text = data, .status = COMP_ERR_DATA},
      {.other = "other options", .advice = advice, .text = t->model->config, .status = COMP_ERR_DATA},
      {.shown = "goes on after step",
       .advice = "all ranks must see the same checkpoint file",
       .text = step,
       .status = COMP_ERR_DATA},
  };
  return comp__cards_compare(t->comm, t->context, cards, sizeof cards / sizeof *cards);
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
