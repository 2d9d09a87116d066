/* comm.c: the table of communicators, and what they have in common. */
#include "dist/comm.h"

#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/module.h"

struct comp__comm {
  const comp__transport *transport;
  void *state;
  size_t rank, ranks;
  size_t bytes[2][COMP__MOST_RANKS + 1];
  double received, seconds; /* so far */
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

static bool is_interrupted(void *arg) {
  return comp_context_interrupted(arg);
}

static comp_status end_call(const comp__comm *comm, comp_context *context, const char *problem) {
  if (!problem) return COMP_OK;
  if (comp_context_interrupted(context)) return comp__error(COMP_ERR_INTERRUPTED, "interrupted");
  return comp__error(COMP_ERR_UNAVAILABLE, "rank %zu of %zu lost the others (%s): %s", comm->rank, comm->ranks,
                     comm->transport->name, problem);
}

void comp__comm_traffic(double *bytes, double *seconds, const comp__comm *comm) {
  *bytes = comm ? comm->received : 0.0;
  *seconds = comm ? comm->seconds : 0.0;
}

/* Items as bytes, in half `half` of comm->bytes. */
static size_t *to_bytes(comp__comm *comm, const size_t *begin, size_t size, size_t half) {
  size_t *bytes = comm->bytes[half];
  for (size_t r = 0; r <= comm->ranks; r++) bytes[r] = begin[r] * size;
  return bytes;
}

/* Bytes that come from others when each rank r has those from begin[r] on. */
static double from_others(const comp__comm *comm, const size_t *begin) {
  return (double)(begin[comm->ranks] - begin[0]) - (double)(begin[comm->rank + 1] - begin[comm->rank]);
}

static comp_status gather(comp__comm *comm, comp_context *context, void *all) {
  const comp__giving_up giving_up = {is_interrupted, context};
  const double began = comp__seconds();
  const char *problem = comm->transport->gather(comm->state, all, comm->bytes[0], &giving_up);
  comm->received += from_others(comm, comm->bytes[0]);
  comm->seconds += comp__seconds() - began;
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
  comm->received += from_others(comm, wanted);
  comm->seconds += comp__seconds() - began;
  return end_call(comm, context, problem);
}
