/* comm.c: the table of communicators, and what they have in common. */
#include "dist/comm.h"

#include <string.h>

#include "comp/dist.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/module.h"
#include "dist/cards.h"

struct comp__comm {
  const comp__transport *transport;
  void *state;
  size_t rank, ranks;
  size_t bytes[2][COMP__MOST_RANKS + 1];
  comp__traffic traffic; /* so far */
};

static comp_status find_self(const comp__transport **out) {
  *out = &comp__transport_self;
  return COMP_OK;
}

static comp_status find_mpi(const comp__transport **out) {
  const void *table;
  comp_status status = comp__module_table(&table, COMP__MODULE_MPI, sizeof **out);
  *out = table;
  return status;
}

static const struct row {
  const char *name;
  comp_status (*find)(const comp__transport **out);
} rows[] = {
    {"self", find_self},
    {"mpi", find_mpi},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *comp__comm_name(size_t index) {
  return index < ROWS ? rows[index].name : NULL;
}

comp_status comp__comm_open(comp__comm **out, const char *name) {
  *out = NULL;
  for (size_t i = 0; i < ROWS; i++) {
    const comp__transport *transport;
    if (strcmp(rows[i].name, name) != 0) continue;
    comp_status status = rows[i].find(&transport);
    return status == COMP_OK ? comp__comm_open_with(out, transport) : status;
  }
  return comp__error(COMP_ERR_ARGUMENT, "there is no communicator '%s'", name);
}

comp_status comp__comm_open_with(comp__comm **out, const comp__transport *transport) {
  *out = NULL;
  comp__comm *comm;
  comp_status status = comp__calloc(&comm, 1, sizeof *comm);
  if (status != COMP_OK) return status;
  const char *problem = transport->open(&comm->state, &comm->rank, &comm->ranks);
  if (problem) {
    comp__free(comm);
    return comp__error(COMP_ERR_UNAVAILABLE, "the ranks cannot be joined (%s): %s", transport->name, problem);
  }
  comm->transport = transport;
  if (comm->ranks <= COMP__MOST_RANKS) {
    *out = comm;
    return COMP_OK;
  }
  status = comp__error(COMP_ERR_UNAVAILABLE, "%zu ranks: at most %d can work together", comm->ranks, COMP__MOST_RANKS);
  comp__comm_close(comm);
  return status;
}

void comp__comm_close(comp__comm *comm) {
  if (!comm) return;
  comm->transport->close(comm->state);
  comp__free(comm);
}

size_t comp__comm_rank(const comp__comm *comm) {
  return comm ? comm->rank : 0;
}

size_t comp__comm_ranks(const comp__comm *comm) {
  return comm ? comm->ranks : 1;
}

static void release_comm(void *comm) {
  comp__comm_close(comm);
}

comp_status comp_context_join_ranks(comp_context *context, const char *work) {
  COMP__NEED(context);
  if (comp_rank_count() == 1 || comp__comm_of(context)) return COMP_OK;
  comp__comm *comm;
  comp_status status = comp__comm_open(&comm, "mpi");
  if (status != COMP_OK) return status;
  comp__context_attach(context, comm, release_comm);
  if (comm->ranks == 1)
    return comp__error(
        COMP_ERR_UNAVAILABLE,
        "%zu processes were started together, but each finds itself alone: the launcher is of another MPI "
        "than comp's module 'mpi'",
        comp_rank_count());
  const comp__card card = {
      .other = "other options", .advice = "give all ranks the same command", .text = work, .status = COMP_ERR_DATA};
  return comp__cards_compare(comm, context, &card, work ? 1 : 0);
}

bool comp_context_tell_ranks(comp_context *context, const char *message) {
  comp__comm *comm = context ? comp__comm_of(context) : NULL;
  if (!comm || comm->ranks == 1) return false;
  comp__comm_tell(comm, message);
  return true;
}

comp__comm *comp__comm_of(const comp_context *context) {
  return comp__context_attached(context);
}

void comp__comm_lend(comp_context *context, comp__comm *comm) {
  comp__context_attach(context, comm, NULL);
}

comp__comm *comp__comm_take(comp_context *context) {
  comp__comm *comm = comp__comm_of(context);
  comp__context_attach(context, NULL, NULL);
  return comm;
}

void comp__comm_give(comp_context *context, comp__comm *comm) {
  comp__context_attach(context, comm, release_comm);
}

void comp__comm_tell(comp__comm *comm, const char *text) {
  if (comm && comm->transport->tell) comm->transport->tell(comm->state, text);
}

static bool is_interrupted(void *arg) {
  return comp_context_interrupted(arg);
}

static comp_status end_call(const comp__comm *comm, comp_context *context, const char *problem) {
  if (!problem) return COMP_OK;
  const char *news = comm->transport->news ? comm->transport->news(comm->state) : NULL;
  if (news) {
    comp_context_interrupt(context);
    return comp__error(COMP_ERR_INTERRUPTED, "%s", news);
  }
  if (comp_context_interrupted(context)) return comp__error(COMP_ERR_INTERRUPTED, "interrupted");
  return comp__error(COMP_ERR_UNAVAILABLE, "rank %zu of %zu lost the others (%s): %s", comm->rank, comm->ranks,
                     comm->transport->name, problem);
}

comp__traffic comp__comm_traffic(const comp__comm *comm) {
  return comm ? comm->traffic : (comp__traffic){0};
}

/* A call is over that began at `began` and got bytes `begin` [ranks + 1] of all ranks. */
static void count_call(comp__comm *comm, const size_t *begin, double began) {
  /* its own are not from others */
  comm->traffic.bytes += (double)(begin[comm->ranks] - begin[0]) - (double)(begin[comm->rank + 1] - begin[comm->rank]);
  comm->traffic.seconds += comp__seconds() - began;
  comm->traffic.calls++;
}

/* Items as bytes, in half `half` of comm->bytes. */
static size_t *to_bytes(comp__comm *comm, const size_t *begin, size_t size, size_t half) {
  size_t *bytes = comm->bytes[half];
  for (size_t r = 0; r <= comm->ranks; r++) bytes[r] = begin[r] * size;
  return bytes;
}

static comp_status gather(comp__comm *comm, comp_context *context, void *all) {
  const comp__giving_up giving_up = {is_interrupted, context};
  const double began = comp__seconds();
  const char *problem = comm->transport->gather(comm->state, all, comm->bytes[0], &giving_up);
  count_call(comm, comm->bytes[0], began);
  return end_call(comm, context, problem);
}

comp_status comp__comm_gather(comp__comm *comm, comp_context *context, void *all, const size_t *begin, size_t size) {
  if (!comm) return COMP_OK;
  to_bytes(comm, begin, size, 0);
  return gather(comm, context, all);
}

comp_status comp__comm_gather_even(comp__comm *comm, comp_context *context, void *all, size_t count, size_t size) {
  if (!comm) return COMP_OK;
  for (size_t r = 0; r <= comm->ranks; r++) comm->bytes[0][r] = r * count * size;
  return gather(comm, context, all);
}

comp_status comp__comm_exchange(comp__comm *comm, comp_context *context, const void *send, const size_t *send_begin,
                                void *received, const size_t *receive_begin, size_t size) {
  if (!comm) {
    memcpy((char *)received + receive_begin[0] * size, (const char *)send + send_begin[0] * size,
           (send_begin[1] - send_begin[0]) * size);
    return COMP_OK;
  }
  const comp__giving_up giving_up = {is_interrupted, context};
  const double began = comp__seconds();
  const size_t *sent = to_bytes(comm, send_begin, size, 0), *wanted = to_bytes(comm, receive_begin, size, 1);
  const char *problem = comm->transport->exchange(comm->state, send, sent, received, wanted, &giving_up);
  count_call(comm, wanted, began);
  return end_call(comm, context, problem);
}

void comp__comm_share(size_t *begin, const comp__comm *comm, size_t n, size_t unit) {
  const size_t ranks = comp__comm_ranks(comm), units = (n + unit - 1) / unit;
  for (size_t r = 0; r < ranks; r++) begin[r] = comp__comm_cut(units, r, ranks) * unit;
  begin[ranks] = n;
  for (size_t r = ranks; r-- > 0;)
    if (begin[r] > n) begin[r] = n;
}

/* Bytes that all ranks send at once. */
enum { PIECE = 64 << 20 };

typedef struct collecting {
  char *all;
  const size_t *begin; /* [ranks + 1], in bytes */
  size_t piece, done;  /* bytes of each rank: at once, and so far */
  size_t sent[COMP__MOST_RANKS + 1], received[COMP__MOST_RANKS + 1];
} collecting;

/* Bytes of rank r in this turn. */
static size_t turn_of(const collecting *c, size_t r) {
  const size_t bytes = c->begin[r + 1] - c->begin[r], left = bytes > c->done ? bytes - c->done : 0;
  return left < c->piece ? left : c->piece;
}

/* One turn: what each rank has goes to the first, or to all, through `scratch`. */
static comp_status collect_piece(comp__comm *comm, comp_context *context, collecting *c, char *scratch,
                                 comp__comm_to to) {
  const size_t own = turn_of(c, comm->rank);
  const bool receives = to == COMP__TO_ALL || comm->rank == 0;
  c->received[0] = 0;
  for (size_t r = 0; r < comm->ranks; r++) c->received[r + 1] = c->received[r] + (receives ? turn_of(c, r) : 0);
  char *source = c->all + c->begin[comm->rank] + c->done;
  comp_status status;
  if (to == COMP__TO_ALL) {
    if (own > 0) memcpy(scratch + c->received[comm->rank], source, own);
    status = comp__comm_gather(comm, context, scratch, c->received, 1);
  } else {
    c->sent[0] = 0;
    for (size_t r = 1; r <= comm->ranks; r++) c->sent[r] = own;
    status = comp__comm_exchange(comm, context, source, c->sent, scratch, c->received, 1);
  }
  for (size_t r = 0; status == COMP_OK && receives && r < comm->ranks; r++)
    if (r != comm->rank) memcpy(c->all + c->begin[r] + c->done, scratch + c->received[r], turn_of(c, r));
  return status;
}

comp_status comp__comm_collect(comp__comm *comm, comp_context *context, void *all, const size_t *begin, size_t size,
                               comp__comm_to to) {
  if (!comm || comm->ranks <= 1) return COMP_OK;
  size_t bytes[COMP__MOST_RANKS + 1] = {0}, most = 0;
  char *scratch = NULL;
  for (size_t r = 0; r <= comm->ranks; r++) bytes[r] = begin[r] * size;
  for (size_t r = 0; r < comm->ranks; r++)
    if (bytes[r + 1] - bytes[r] > most) most = bytes[r + 1] - bytes[r];
  collecting c = {.all = all, .begin = bytes, .piece = PIECE / comm->ranks};
  if (c.piece > most) c.piece = most;
  comp_status status = comp__alloc(&scratch, comm->ranks, c.piece);
  for (; status == COMP_OK && c.done < most; c.done += c.piece) status = collect_piece(comm, context, &c, scratch, to);
  comp__free(scratch);
  return status;
}
