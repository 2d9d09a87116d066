/*
 * comm_mpi.c: the module `mpi`, the only caller of MPI.
 *
 * All calls are the non-blocking ones, and waiting is a loop of its own. It sees when this process must stop, as
 * mpirun asks for after another rank died; a blocking call would wait for that rank until the process is killed. It
 * also sleeps after a while: ranks that wait leave their cores to those that work.
 *
 * MPI is started once a process. A rank that fails tells the others, on a communicator for this alone, and waiting
 * ranks look there, too. So all ranks come to their end, where they wait for each other a last time and finalise MPI.
 * Where one does not come, because it was killed, MPI is not finalised: a launcher takes that for what it is, and ends
 * the other ranks, which would wait for ever.
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

enum { NEWS_SIZE = 1024 };

/* How this process ends: there is one of it. */
typedef struct ending {
  MPI_Comm comm;
  int rank, ranks, received; /* messages of ranks that failed */
  int warned;                /* 1: this one has sent such messages */
  MPI_Request *sending;      /* [ranks] */
  char text[NEWS_SIZE], news[NEWS_SIZE + 32];
} ending;

static ending last;

typedef struct state {
  MPI_Comm comm;
  int ranks;
  int *counts; /* [4][ranks]: counts and places of both sides */
} state;

static const char *text_of(int code) {
  static _Thread_local char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) snprintf(text, sizeof text, "MPI error %d", code);
  return text;
}

/* ---- The end ---- */

/* How long a rank that failed waits for the others at the end, in seconds: until they see it, at their next exchange;
 * and after a signal, which the others have had, too. */
static const double PATIENCE = 60, PATIENCE_AFTER_SIGNAL = 1;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void tell(void *arg, const char *text) {
  (void)arg;
  if (last.warned) return;
  last.warned = 1;
  snprintf(last.text, sizeof last.text, "%s", text);
  for (int r = 0; r < last.ranks; r++)
    if (r != last.rank) MPI_Isend(last.text, NEWS_SIZE, MPI_CHAR, r, 0, last.comm, &last.sending[r]);
}

static void receive_news(int from) {
  char text[NEWS_SIZE];
  MPI_Status status;
  if (MPI_Recv(text, NEWS_SIZE, MPI_CHAR, from, 0, last.comm, &status) != MPI_SUCCESS) return;
  if (last.received++ == 0) snprintf(last.news, sizeof last.news, "rank %d: %s", status.MPI_SOURCE, text);
}

/* What the first rank that failed said; NULL: none has. */
static const char *news(void *arg) {
  (void)arg;
  int there = 0;
  MPI_Status status;
  if (last.received == 0 && MPI_Iprobe(MPI_ANY_SOURCE, 0, last.comm, &there, &status) == MPI_SUCCESS && there)
    receive_news(status.MPI_SOURCE);
  return last.received > 0 ? last.news : NULL;
}

/* Waits for all ranks, after a failure only for a while; whether they came. */
static bool wait_for_all(MPI_Request *request, int code) {
  int done = 0;
  const double began = now(), patience = code > 128 ? PATIENCE_AFTER_SIGNAL : PATIENCE;
  while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
    if (code != 0 && now() - began > patience) return false;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  return done;
}

/* All ranks count those that have failed: each has sent one message to all. Whether they came. */
static bool gather_all(int code, int *tellers) {
  MPI_Request request;
  int begun = MPI_Iallreduce(&last.warned, tellers, 1, MPI_INT, MPI_SUM, last.comm, &request);
  return begun == MPI_SUCCESS && wait_for_all(&request, code); /* NOLINT: MPI_Test() ends the request */
}

/* Ends MPI together with the process, unless somebody else did already. */
static void finalise(int code, void *arg) {
  int finalised = 0, tellers = 0;
  (void)arg;
  MPI_Finalized(&finalised);
  if (finalised) return;
  if (code != 0) tell(NULL, "the process ended with an error");
  if (!gather_all(code, &tellers)) return;
  while (last.received < tellers - last.warned) receive_news(MPI_ANY_SOURCE);
  MPI_Waitall(last.ranks, last.sending, MPI_STATUSES_IGNORE);
  MPI_Finalize();
}

/* ---- The start ---- */

static const char *start(void) {
  int running = 0, ended = 0, level;
  MPI_Initialized(&running);
  MPI_Finalized(&ended);
  if (ended) return "MPI was finalised already in this process";
  if (last.sending) return NULL;
  int code = running ? MPI_SUCCESS : MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &last.comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(last.comm, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(last.comm, &last.rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(last.comm, &last.ranks);
  if (code != MPI_SUCCESS) return text_of(code);
  last.sending = malloc((size_t)last.ranks * sizeof *last.sending);
  if (!last.sending) return "out of memory";
  for (int r = 0; r < last.ranks; r++) last.sending[r] = MPI_REQUEST_NULL;
  return running || on_exit(finalise, NULL) == 0 ? NULL : "the end of the process cannot be watched";
}

static void close_mpi(void *arg) {
  state *s = arg;
  /* MPI_Comm_free() waits for the others, which may be gone. What it would free ends with the process. */
  if (s) free(s->counts);
  free(s);
}

static const char *open_mpi(void **out, size_t *rank, size_t *ranks) {
  int code;
  const char *problem = start();
  if (problem) return problem;
  state *s = calloc(1, sizeof *s);
  if (!s) return "out of memory";
  code = MPI_Comm_dup(MPI_COMM_WORLD, &s->comm);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
  if (code != MPI_SUCCESS) {
    free(s);
    return text_of(code);
  }
  s->ranks = last.ranks;
  s->counts = calloc((size_t)s->ranks, 4 * sizeof *s->counts);
  if (!s->counts) {
    free(s);
    return "out of memory";
  }
  *out = s;
  *rank = (size_t)last.rank;
  *ranks = (size_t)s->ranks;
  return NULL;
}

/* ---- Messages ---- */

/* How often a waiting rank looks before it lets others run between looks, and before it sleeps between them; and how
 * long it then sleeps, in nanoseconds; and every which look is one for news, too. */
enum { LOOKS = 100, POLITE_LOOKS = 2000, PAUSE = 20000, NEWS_LOOKS = 16 };

static const char *wait_for(MPI_Request *request, const comp__giving_up *giving_up) {
  for (int looks = 0;; looks++) {
    int done = 0;
    int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return text_of(code);
    if (done) return NULL;
    if (giving_up->ask(giving_up->arg) || (looks % NEWS_LOOKS == NEWS_LOOKS - 1 && news(NULL))) return COMP__GAVE_UP;
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

static const comp__transport table = {"mpi", open_mpi, gather, exchange, close_mpi, tell, news};
#if defined(OPEN_MPI)
COMP__MODULE_EXPORT(table, "Open MPI " COMP_LIBRARY_VERSION);
#elif defined(MPICH_VERSION)
COMP__MODULE_EXPORT(table, "MPICH " MPICH_VERSION);
#else
COMP__MODULE_EXPORT(table, "MPI " COMP_LIBRARY_VERSION);
#endif
