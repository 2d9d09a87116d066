/* ahead.c: a thread that does one piece of work at a time. */
#include "train/ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

/* How often a waiting caller looks for an interruption, in nanoseconds. */
enum { PERIOD = 100000000 };

struct comp__ahead {
  pthread_t thread;
  pthread_mutex_t mutex; /* guards all below */
  pthread_cond_t changed;
  comp__ahead_fn fn; /* NULL: nothing to do */
  void *arg;
  bool end;
  atomic_bool stop; /* read without the mutex */
  comp_status status;
  char message[2048];
};

static void *run(void *raw) {
  comp__ahead *a = raw;
  pthread_mutex_lock(&a->mutex);
  while (!a->end) {
    if (!a->fn) {
      pthread_cond_wait(&a->changed, &a->mutex);
      continue;
    }
    comp__ahead_fn fn = a->fn;
    void *arg = a->arg;
    pthread_mutex_unlock(&a->mutex);
    comp_status status = fn(arg, &a->stop);
    pthread_mutex_lock(&a->mutex);
    a->status = status;
    if (status != COMP_OK) snprintf(a->message, sizeof a->message, "%s", comp_error_message());
    a->fn = NULL;
    pthread_cond_broadcast(&a->changed);
  }
  pthread_mutex_unlock(&a->mutex);
  return NULL;
}

comp_status comp__ahead_new(comp__ahead **out) {
  comp__ahead *a;
  sigset_t all, old;
  *out = NULL;
  comp_status status = comp__calloc(&a, 1, sizeof *a);
  if (status != COMP_OK) return status;
  pthread_mutex_init(&a->mutex, NULL);
  pthread_cond_init(&a->changed, NULL);
  sigfillset(&all); /* signals are for the threads that are there already */
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int failed = pthread_create(&a->thread, NULL, run, a);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (failed) {
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
    comp__free(a);
    return comp__error(COMP_ERR_UNAVAILABLE, "cannot start the thread that reads ahead: %s", strerror(failed));
  }
  *out = a;
  return COMP_OK;
}

void comp__ahead_free(comp__ahead *a) {
  if (!a) return;
  pthread_mutex_lock(&a->mutex);
  a->end = true;
  atomic_store(&a->stop, true);
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&a->mutex);
  pthread_join(a->thread, NULL);
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->mutex);
  comp__free(a);
}

void comp__ahead_start(comp__ahead *a, comp__ahead_fn fn, void *arg) {
  pthread_mutex_lock(&a->mutex);
  a->status = COMP_OK;
  a->fn = fn;
  a->arg = arg;
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&a->mutex);
}

comp_status comp__ahead_wait(comp__ahead *a, comp_context *context) {
  pthread_mutex_lock(&a->mutex);
  while (a->fn && !(context && comp_context_interrupted(context))) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PERIOD;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&a->changed, &a->mutex, &until);
  }
  if (a->fn) {
    pthread_mutex_unlock(&a->mutex);
    return comp__check_interrupt(context);
  }
  comp_status status = a->status;
  a->status = COMP_OK;
  pthread_mutex_unlock(&a->mutex);
  return status == COMP_OK ? COMP_OK : comp__error(status, "%s", a->message);
}
