/*
 * threads.c: a pool of POSIX threads that take chunks of a loop.
 *
 * A training step has some hundred short loops, so workers wait for the next one by looking for a while before they
 * sleep. Not OpenMP: the thread sanitizer understands this, and a library should not fight its host over OpenMP
 * settings.
 */
#include "core/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

/* How often a waiting thread looks before it sleeps: some 50 microseconds. */
enum { SPINS = 2000 };

typedef struct job {
  comp__chunk_fn fn;
  void *arg;
  size_t n;
  size_t chunk;
} job;

/*
 * The caller works, too, and waits only for workers that have begun: one that the system has not let run yet comes too
 * late, finds the job closed, and nobody has waited for it. On a busy machine this decides: there, waiting for every
 * worker made two threads slower than one.
 */
struct comp__pool {
  int threads;
  int started; /* workers that run: threads - 1 unless creation failed */
  pthread_t *workers;
  job job;                            /* may be read by a worker that counts as working while the job is open */
  atomic_size_t next;                 /* the next item to hand out */
  atomic_bool open;                   /* whether a worker may begin with the job */
  atomic_int working;                 /* workers that look whether it is open, or run it */
  atomic_uint_least64_t started_jobs; /* goes up with each job: what workers wait for */
  atomic_bool stop;
  pthread_mutex_t mutex; /* guards sleeping only */
  pthread_cond_t wake_workers;
  pthread_cond_t wake_caller;
};

typedef struct worker_arg {
  comp__pool *pool;
  int thread;
} worker_arg;

/* Set while this thread runs a chunk: an inner loop then runs in place. */
static _Thread_local bool inside;

bool comp__in_parallel_loop(void) {
  return inside;
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void run_chunks(comp__pool *pool, int thread) {
  const job work = pool->job;
  inside = true;
  for (;;) {
    size_t begin = atomic_fetch_add(&pool->next, work.chunk);
    if (begin >= work.n) break;
    size_t end = work.n - begin < work.chunk ? work.n : begin + work.chunk;
    work.fn(work.arg, begin, end, thread);
  }
  inside = false;
}

/* Waits for a job after the one of this number. Its number. */
static uint64_t wait_for_job(comp__pool *pool, uint64_t seen) {
  for (int i = 0; i < SPINS; i++) {
    if (atomic_load(&pool->started_jobs) != seen || atomic_load(&pool->stop)) return atomic_load(&pool->started_jobs);
    relax();
  }
  pthread_mutex_lock(&pool->mutex);
  while (atomic_load(&pool->started_jobs) == seen && !atomic_load(&pool->stop))
    pthread_cond_wait(&pool->wake_workers, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
  return atomic_load(&pool->started_jobs);
}

/* The caller closes the job and then looks who is working; a worker says that it works and then looks whether the job
 * is open. So one of the two sees the other. */
static void join_job(comp__pool *pool, int thread) {
  atomic_fetch_add(&pool->working, 1);
  if (atomic_load(&pool->open)) run_chunks(pool, thread);
  if (atomic_fetch_sub(&pool->working, 1) > 1 || atomic_load(&pool->open)) return;
  pthread_mutex_lock(&pool->mutex);
  pthread_cond_signal(&pool->wake_caller);
  pthread_mutex_unlock(&pool->mutex);
}

static void *worker(void *raw) {
  worker_arg *arg = raw;
  comp__pool *pool = arg->pool;
  int thread = arg->thread;
  comp__free(arg);
  for (uint64_t seen = 0;;) {
    seen = wait_for_job(pool, seen);
    if (atomic_load(&pool->stop)) return NULL;
    join_job(pool, thread);
  }
}

static comp_status start_worker(comp__pool *pool, int thread) {
  worker_arg *arg;
  comp_status status = comp__alloc(&arg, 1, sizeof *arg);
  if (status != COMP_OK) return status;
  *arg = (worker_arg){pool, thread};
  int failed = pthread_create(&pool->workers[pool->started], NULL, worker, arg);
  if (failed) {
    comp__free(arg);
    return comp__error(COMP_ERR_UNAVAILABLE, "cannot start thread %d: %s; ask for fewer threads", thread + 1,
                       strerror(failed));
  }
  pool->started++;
  return COMP_OK;
}

comp_status comp__pool_new(comp__pool **out, int threads) {
  *out = NULL;
  comp__pool *pool;
  comp_status status = comp__calloc(&pool, 1, sizeof *pool);
  if (status != COMP_OK) return status;
  pool->threads = threads;
  pthread_mutex_init(&pool->mutex, NULL);
  pthread_cond_init(&pool->wake_workers, NULL);
  pthread_cond_init(&pool->wake_caller, NULL);
  COMP__TRY(comp__alloc(&pool->workers, (size_t)threads, sizeof *pool->workers));
  for (int i = 1; i < threads; i++) COMP__TRY(start_worker(pool, i));
  *out = pool;
done:
  if (status != COMP_OK) comp__pool_free(pool);
  return status;
}

void comp__pool_free(comp__pool *pool) {
  if (!pool) return;
  pthread_mutex_lock(&pool->mutex);
  atomic_store(&pool->stop, true);
  pthread_cond_broadcast(&pool->wake_workers);
  pthread_mutex_unlock(&pool->mutex);
  for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i], NULL);
  pthread_cond_destroy(&pool->wake_caller);
  pthread_cond_destroy(&pool->wake_workers);
  pthread_mutex_destroy(&pool->mutex);
  comp__free(pool->workers);
  comp__free(pool);
}

static void run_on_pool(comp__pool *pool, job work) {
  pool->job = work;
  atomic_store(&pool->next, 0);
  atomic_store(&pool->open, true);
  pthread_mutex_lock(&pool->mutex);
  atomic_fetch_add(&pool->started_jobs, 1);
  pthread_cond_broadcast(&pool->wake_workers);
  pthread_mutex_unlock(&pool->mutex);

  run_chunks(pool, 0);
  atomic_store(&pool->open, false);
  for (int i = 0; i < SPINS && atomic_load(&pool->working) > 0; i++) relax();
  if (atomic_load(&pool->working) == 0) return;
  pthread_mutex_lock(&pool->mutex);
  while (atomic_load(&pool->working) > 0) pthread_cond_wait(&pool->wake_caller, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
}

void comp__parallel_for(comp_context *context, size_t n, size_t chunk, comp__chunk_fn fn, void *arg) {
  comp__pool *pool = comp__context_pool(context);
  if (chunk == 0) chunk = 1;
  if (n > chunk && pool->started > 0 && !inside) {
    run_on_pool(pool, (job){fn, arg, n, chunk});
    return;
  }
  for (size_t begin = 0; begin < n;) {
    size_t end = n - begin < chunk ? n : begin + chunk;
    fn(arg, begin, end, 0);
    begin = end;
  }
}

/* One slot a failing chunk would be wasteful: only the lowest failure is kept, under a lock that is taken on failure
 * alone. */
typedef struct try_state {
  comp__try_chunk_fn fn;
  void *arg;
  pthread_mutex_t mutex;
  atomic_size_t failed_at; /* begin of the lowest failing chunk */
  comp_status status;
  char message[2048];
} try_state;

static void try_chunk(void *raw, size_t begin, size_t end, int thread) {
  try_state *state = raw;
  if (begin > atomic_load(&state->failed_at)) return; /* its outcome cannot matter any more */
  comp_status status = state->fn(state->arg, begin, end, thread);
  if (status == COMP_OK) return;
  pthread_mutex_lock(&state->mutex);
  if (begin < atomic_load(&state->failed_at)) {
    atomic_store(&state->failed_at, begin);
    state->status = status;
    strncpy(state->message, comp_error_message(), sizeof state->message - 1);
  }
  pthread_mutex_unlock(&state->mutex);
}

comp_status comp__parallel_try(comp_context *context, size_t n, size_t chunk, comp__try_chunk_fn fn, void *arg) {
  try_state state = {.fn = fn, .arg = arg, .failed_at = SIZE_MAX, .status = COMP_OK};
  pthread_mutex_init(&state.mutex, NULL);
  comp__parallel_for(context, n, chunk, try_chunk, &state);
  pthread_mutex_destroy(&state.mutex);
  if (state.status == COMP_OK) return COMP_OK;
  return comp__error(state.status, "%s", state.message);
}

typedef struct sum_state {
  comp__sum_fn fn;
  void *arg;
  size_t chunk;
  double *partial;
} sum_state;

static void sum_chunk(void *raw, size_t begin, size_t end, int thread) {
  (void)thread;
  sum_state *state = raw;
  state->partial[begin / state->chunk] = state->fn(state->arg, begin, end);
}

comp_status comp__parallel_sum(double *out, comp_context *context, size_t n, size_t chunk, comp__sum_fn fn, void *arg) {
  *out = 0.0;
  if (n == 0) return COMP_OK;
  if (chunk == 0) chunk = 1;
  size_t chunks = (n - 1) / chunk + 1;
  sum_state state = {fn, arg, chunk, NULL};
  comp_status status = comp__alloc(&state.partial, chunks, sizeof *state.partial);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, n, chunk, sum_chunk, &state);
  for (size_t i = 0; i < chunks; i++) *out += state.partial[i];
  comp__free(state.partial);
  return COMP_OK;
}
