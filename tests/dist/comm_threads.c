/* comm_threads.c: see comm_threads.h. */
#include "dist/comm_threads.h"

#include "testing.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST = 16 };

typedef struct group {
  size_t ranks;
  atomic_size_t arrived; /* goes up with each rank at each meeting */
  const void *data[MOST];
  const size_t *begin[MOST];
} group;

typedef struct member {
  group *group;
  size_t rank, meetings;
} member;

static _Thread_local member *joining;

static const char *open_threads(void **out, size_t *rank, size_t *ranks) {
  *out = joining;
  *rank = joining->rank;
  *ranks = joining->group->ranks;
  return NULL;
}

/* Waits for all ranks. */
static const char *meet(member *m, const comp__giving_up *giving_up) {
  const size_t all = ++m->meetings * m->group->ranks;
  atomic_fetch_add(&m->group->arrived, 1);
  while (atomic_load(&m->group->arrived) < all) {
    if (giving_up->ask(giving_up->arg)) return COMP__GAVE_UP;
    sched_yield();
  }
  return NULL;
}

static const char *show(member *m, const void *data, const size_t *begin, const comp__giving_up *giving_up) {
  m->group->data[m->rank] = data;
  m->group->begin[m->rank] = begin;
  return meet(m, giving_up);
}

static const char *gather(void *state, void *all, const size_t *begin, const comp__giving_up *giving_up) {
  member *m = state;
  const char *problem = show(m, all, begin, giving_up);
  for (size_t r = 0; r < m->group->ranks && !problem; r++)
    if (r != m->rank)
      memcpy((char *)all + begin[r], (const char *)m->group->data[r] + begin[r], begin[r + 1] - begin[r]);
  return problem ? problem : meet(m, giving_up);
}

static const char *exchange(void *state, const void *send, const size_t *send_begin, void *received,
                            const size_t *receive_begin, const comp__giving_up *giving_up) {
  member *m = state;
  const char *problem = show(m, send, send_begin, giving_up);
  for (size_t r = 0; r < m->group->ranks && !problem; r++) {
    const size_t at = m->group->begin[r][m->rank], bytes = m->group->begin[r][m->rank + 1] - at;
    if (bytes != receive_begin[r + 1] - receive_begin[r]) return "other sizes";
    memcpy((char *)received + receive_begin[r], (const char *)m->group->data[r] + at, bytes);
  }
  return problem ? problem : meet(m, giving_up);
}

static void close_threads(void *state) {
  (void)state;
}

static const comp__transport threads = {
    .name = "threads", .open = open_threads, .gather = gather, .exchange = exchange, .close = close_threads};

typedef struct rank_job {
  member member;
  ranks_fn fn;
  void *arg;
} rank_job;

static void *run_rank(void *arg) {
  rank_job *job = arg;
  comp__comm *comm;
  joining = &job->member;
  if (comp__comm_open_with(&comm, &threads) != COMP_OK) abort();
  job->fn(job->arg, comm);
  comp__comm_close(comm);
  return NULL;
}

void run_ranks(size_t ranks, ranks_fn fn, void *arg) {
  group all = {.ranks = ranks};
  rank_job jobs[MOST];
  pthread_t handles[MOST];
  assert_true(ranks <= MOST);
  for (size_t r = 0; r < ranks; r++) {
    jobs[r] = (rank_job){{&all, r, 0}, fn, arg};
    assert_int_equal(pthread_create(&handles[r], NULL, run_rank, &jobs[r]), 0);
  }
  for (size_t r = 0; r < ranks; r++) pthread_join(handles[r], NULL);
}
