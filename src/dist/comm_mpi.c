/*
 * comm_mpi.c: the module `mpi`, the only caller of MPI.
 *
 * All calls are the non-blocking ones, and waiting is a loop of its own. It sees when this process must stop, as
 * mpirun asks for after another rank died; a blocking call would wait for that rank until the process is killed. It
 * also sleeps after a while: ranks that wait leave their cores to those that work.
 *
 * MPI is started once a process. A process that ends well finalises it; one that fails does not: a launcher takes that
 * for what it is, and ends the other ranks, which would wait for ever.
 */
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/module.h"
#include "dist/transport.h"

typedef struct state {
  MPI_Comm comm;
  int ranks;
  int *counts; /* [4][ranks]: counts and places of both sides */
} state;

/* Ends MPI together with the process, unless it failed or somebody else did already. */
static void finalise(int code, void *arg) {
  (void)arg;
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (!finalised && code == 0) MPI_Finalize();
}

static const char *text_of(int code) {
  static _Thread_local char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "MPI error %d", code);
  return text;
}

static const char *start(void) {
  int running = 0, ended = 0, level;
  MPI_Initialized(&running);
  MPI_Finalized(&ended);
  if (ended) return "MPI was finalised already in this process";
  if (running) return NULL;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
  if (code != MPI_SUCCESS) return text_of(code);
  return on_exit(finalise, NULL) == 0 ? NULL : "the end of the process cannot be watched";
}

static void close_mpi(void *arg) {
  state *s = arg;
  /* MPI_Comm_free() waits for the others, which may be gone. What it would free ends with the process. */
  if (s) free(s->counts);
  free(s);
}

static const char *open_mpi(void **out, size_t *rank, size_t *ranks) {
  int own, code;
  const char *problem = start();
  if (problem) return problem;
  state *s = calloc(1, sizeof *s);
  if (!s) return "out of memory";
  code = MPI_Comm_dup(MPI_COMM_WORLD, &s->comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(s->comm, &own);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(s->comm, &s->ranks);
  if (code != MPI_SUCCESS) {
    free(s);
    return text_of(code);
  }
  s->counts = calloc((size_t)s->ranks, 4 * sizeof *s->counts);
  if (!s->counts) {
    free(s);
    return "out of memory";
  }
  *out = s;
  *rank = (size_t)own;
  *ranks = (size_t)s->ranks;
  return NULL;
}

/* How often a waiting rank looks before it lets others run between looks, and before it sleeps between them; and how
 * long it then sleeps, in nanoseconds. */
enum { LOOKS = 100, POLITE_LOOKS = 2000, PAUSE = 20000 };

static const char *wait_for(MPI_Request *request, const comp__giving_up *giving_up) {
  for (int looks = 0;; looks++) {
    int done = 0;
    int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return text_of(code);
    if (done) return NULL;
    if (giving_up->ask(giving_up->arg)) return COMP__GAVE_UP;
    if (looks >= POLITE_LOOKS)
      nanosleep(&(struct timespec){0, PAUSE}, NULL);
    else if (looks >= LOOKS)
      sched_yield();
  }
}

/* Bytes as MPI counts them. Half 0 is what is sent, half 1 what is received. */
static bool count_bytes(state *s, const size_t *begin, int half) {
  int *counts = s->counts + (size_t)(2 * half) * (size_t)s->ranks, *places = counts + s->ranks;
  if (begin[s->ranks] > INT_MAX) return false;
  for (int r = 0; r < s->ranks; r++) {
    counts[r] = (int)(begin[r + 1] - begin[r]);
    places[r] = (int)begin[r];
  }
  return true;
}

static const char too_long[] = "a message of 2 GB or more";

static const char *gather(void *arg, void *all, const size_t *begin, const comp__giving_up *giving_up) {
  state *s = arg;
  MPI_Request request;
  if (!count_bytes(s, begin, 0)) return too_long;
  int code = MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, s->counts, s->counts + s->ranks, MPI_BYTE,
                             s->comm, &request);
  return code == MPI_SUCCESS ? wait_for(&request, giving_up) : text_of(code);
}

static const char *exchange(void *arg, const void *send, const size_t *send_begin, void *received,
                            const size_t *receive_begin, const comp__giving_up *giving_up) {
  state *s = arg;
  MPI_Request request;
  const int n = s->ranks;
  if (!count_bytes(s, send_begin, 0) || !count_bytes(s, receive_begin, 1)) return too_long;
  int code = MPI_Ialltoallv(send, s->counts, s->counts + n, MPI_BYTE, received, s->counts + (size_t)2 * (size_t)n,
                            s->counts + (size_t)3 * (size_t)n, MPI_BYTE, s->comm, &request);
  return code == MPI_SUCCESS ? wait_for(&request, giving_up) : text_of(code);
}

static const comp__transport table = {"mpi", open_mpi, gather, exchange, close_mpi};
#if defined(OPEN_MPI)
COMP__MODULE_EXPORT(table, "Open MPI " COMP_LIBRARY_VERSION);
#elif defined(MPICH_VERSION)
COMP__MODULE_EXPORT(table, "MPICH " MPICH_VERSION);
#else
COMP__MODULE_EXPORT(table, "MPI " COMP_LIBRARY_VERSION);
#endif
