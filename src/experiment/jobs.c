/*
 * jobs.c: workers that take pieces of work, and a caller that waits.
 *
 * A context speaks on the thread that made the call, and serves one call. So every worker has its own, which is silent:
 * what it would say goes to a list under the lock, and the caller says it.
 */
#include "experiment/jobs.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

/* How often the caller looks for an interruption and shows progress, in nanoseconds. */
enum { LOOK = 100 * 1000 * 1000 };

typedef struct message {
  comp_log_level level;
  size_t item;
  char text[1024];
} message;

typedef struct crew crew;

typedef struct worker {
  crew *crew;
  int job;
  comp_context *context;
  pthread_t thread;
  size_t item;  /* under way; SIZE_MAX: none */
  double share; /* of its present task that is done; NaN: not known */
} worker;

struct crew {
  const comp__jobs *jobs;
  worker *workers;
  int started, running;
  pthread_mutex_t mutex; /* guards all that follows, and items and shares */
  pthread_cond_t news;
  size_t next;
  bool stop;
  message *messages;
  size_t n_messages, message_capacity;
  size_t *done; /* pieces that are done and not yet reported */
  size_t n_done;
  size_t failed; /* the lowest piece that failed; SIZE_MAX: none */
  comp_status status;
  char error[2048];
};

static void keep_message(void *user, comp_log_level level, const char *text) {
  worker *w = user;
  crew *c = w->crew;
  pthread_mutex_lock(&c->mutex);
  /* Without memory a message is lost, and no more. */
  if (comp__grow(&c->messages, &c->message_capacity, c->n_messages, c->n_messages + 1, sizeof *c->messages) ==
      COMP_OK) {
    message *m = &c->messages[c->n_messages++];
    m->level = level;
    m->item = w->item;
    snprintf(m->text, sizeof m->text, "%s", text);
  }
  pthread_cond_signal(&c->news);
  pthread_mutex_unlock(&c->mutex);
}

static void keep_progress(void *user, const comp_progress *progress) {
  worker *w = user;
  pthread_mutex_lock(&w->crew->mutex);
  w->share = progress->total ? (double)progress->done / (double)progress->total : NAN;
  pthread_mutex_unlock(&w->crew->mutex);
}

/* With the lock held. */
static void stop_all(crew *c) {
  c->stop = true;
  for (int j = 0; j < c->started; j++) comp_context_interrupt(c->workers[j].context);
}

/* Keeps the outcome of a piece; with the lock held. A piece that was interrupted because of another is no failure of
 * its own. */
static void keep_outcome(crew *c, size_t item, comp_status status) {
  if (status == COMP_OK) {
    c->done[c->n_done++] = item;
    return;
  }
  bool own = status != COMP_ERR_INTERRUPTED;
  bool none = c->failed == SIZE_MAX, only_interrupted = c->status == COMP_ERR_INTERRUPTED;
  if (none || (own && (only_interrupted || item < c->failed))) {
    c->failed = item;
    c->status = status;
    snprintf(c->error, sizeof c->error, "%s", comp_error_message());
  }
  stop_all(c);
}

static void *work(void *raw) {
  worker *w = raw;
  crew *c = w->crew;
  pthread_mutex_lock(&c->mutex);
  while (!c->stop && c->next < c->jobs->count) {
    size_t item = w->item = c->next++;
    w->share = NAN;
    pthread_mutex_unlock(&c->mutex);
    comp_status status = c->jobs->work(c->jobs->user, w->context, item, w->job);
    pthread_mutex_lock(&c->mutex);
    w->item = SIZE_MAX;
    keep_outcome(c, item, status);
    pthread_cond_signal(&c->news);
  }
  c->running--;
  pthread_cond_signal(&c->news);
  pthread_mutex_unlock(&c->mutex);
  return NULL;
}

/* ---- The caller ------------------------------------------------------------------------------------------------ */

/* "vae 45 %, cvae 12 %"; with the lock held. */
static void describe(const crew *c, char *note, size_t size) {
  size_t used = 0;
  note[0] = '\0';
  for (int j = 0; j < c->started && used + 1 < size; j++) {
    const worker *w = &c->workers[j];
    if (w->item == SIZE_MAX) continue;
    int n = snprintf(note + used, size - used, "%s%s", used ? ", " : "", c->jobs->name(c->jobs->user, w->item));
    used += n > 0 ? (size_t)n : 0;
    if (isnan(w->share) || used + 1 >= size) continue;
    n = snprintf(note + used, size - used, " %.0f %%", 100 * w->share);
    used += n > 0 ? (size_t)n : 0;
  }
}

/* Says what workers had to say, and hands over what is done. The lock is held, and given back meanwhile. */
static comp_status relay(crew *c, comp_context *context, uint64_t *finished) {
  comp_status status = COMP_OK;
  char note[160];
  while (c->n_messages > 0 || c->n_done > 0) {
    if (c->n_messages > 0) {
      message m = c->messages[0];
      memmove(c->messages, c->messages + 1, --c->n_messages * sizeof *c->messages);
      pthread_mutex_unlock(&c->mutex);
      comp__log(context, m.level, "%s: %s", c->jobs->name(c->jobs->user, m.item), m.text);
    } else {
      size_t item = c->done[0];
      memmove(c->done, c->done + 1, --c->n_done * sizeof *c->done);
      pthread_mutex_unlock(&c->mutex);
      ++*finished;
      if (status == COMP_OK) status = c->jobs->finished(c->jobs->user, item);
    }
    pthread_mutex_lock(&c->mutex);
  }
  describe(c, note, sizeof note);
  pthread_mutex_unlock(&c->mutex);
  comp__progress_update(context, *finished, note[0] ? note : NULL);
  pthread_mutex_lock(&c->mutex);
  return status;
}

static void look_again(struct timespec *when) {
  clock_gettime(CLOCK_REALTIME, when);
  when->tv_nsec += LOOK;
  if (when->tv_nsec >= 1000000000) {
    when->tv_nsec -= 1000000000;
    when->tv_sec++;
  }
}

static comp_status supervise(crew *c, comp_context *context) {
  comp_status status = COMP_OK;
  uint64_t finished = 0;
  comp__progress_begin(context, "runs", "runs", c->jobs->count);
  pthread_mutex_lock(&c->mutex);
  for (;;) {
    comp_status reported = relay(c, context, &finished);
    if (status == COMP_OK) status = reported;
    if (status != COMP_OK || comp_context_interrupted(context)) stop_all(c);
    if (c->running == 0 && c->n_messages == 0 && c->n_done == 0) break;
    struct timespec when;
    look_again(&when);
    if (c->running > 0 && c->n_messages == 0 && c->n_done == 0) pthread_cond_timedwait(&c->news, &c->mutex, &when);
  }
  pthread_mutex_unlock(&c->mutex);
  comp__progress_end(context);
  return status;
}

/* The worker's share of the threads; the first ones take what is left over. */
static int share_of(int threads, int jobs, int job) {
  int share = threads / jobs + (job < threads % jobs);
  return share > 0 ? share : 1;
}

static comp_status start(crew *c, int threads) {
  for (int j = 0; j < c->jobs->jobs; j++) {
    worker *w = &c->workers[j];
    comp__context_options options = comp__context_defaults();
    *w = (worker){.crew = c, .job = j, .item = SIZE_MAX, .share = NAN};
    options.threads = share_of(threads, c->jobs->jobs, j);
    options.log_level = COMP_LOG_DEBUG; /* the caller's context knows what is wanted */
    comp_status status = comp__context_new(&w->context, &options);
    if (status != COMP_OK) return status;
    comp_context_on_log(w->context, keep_message, w);
    comp_context_on_progress(w->context, keep_progress, w);
    pthread_mutex_lock(&c->mutex);
    int failed = pthread_create(&w->thread, NULL, work, w);
    if (!failed) {
      c->started++;
      c->running++;
    }
    pthread_mutex_unlock(&c->mutex);
    if (failed) {
      comp_context_free(w->context);
      return comp__error(COMP_ERR_UNAVAILABLE, "cannot start a thread: %s; ask for fewer jobs", strerror(failed));
    }
  }
  return COMP_OK;
}

static comp_status one_by_one(comp_context *context, const comp__jobs *jobs) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < jobs->count && status == COMP_OK; i++) {
    status = jobs->work(jobs->user, context, i, 0);
    if (status == COMP_OK) status = jobs->finished(jobs->user, i);
  }
  return status;
}

comp_status comp__jobs_run(comp_context *context, const comp__jobs *jobs) {
  crew c = {.jobs = jobs, .failed = SIZE_MAX};
  comp_status status;
  if (jobs->jobs <= 1) return one_by_one(context, jobs);
  pthread_mutex_init(&c.mutex, NULL);
  pthread_cond_init(&c.news, NULL);
  COMP__TRY(comp__calloc(&c.workers, (size_t)jobs->jobs, sizeof *c.workers));
  COMP__TRY(comp__alloc(&c.done, jobs->count, sizeof *c.done));
  status = start(&c, comp_context_thread_count(context));
  if (status != COMP_OK) {
    pthread_mutex_lock(&c.mutex);
    stop_all(&c);
    pthread_mutex_unlock(&c.mutex);
  }
  /* The message of a failed start or report is this thread's and would be lost to what comes after. */
  char error[2048];
  snprintf(error, sizeof error, "%s", status == COMP_OK ? "" : comp_error_message());
  comp_status reported = supervise(&c, context);
  if (status == COMP_OK && reported != COMP_OK) {
    status = reported;
    snprintf(error, sizeof error, "%s", comp_error_message());
  }
  for (int j = 0; j < c.started; j++) pthread_join(c.workers[j].thread, NULL);
  for (int j = 0; j < c.started; j++) comp_context_free(c.workers[j].context);
  if (status != COMP_OK)
    comp__error(status, "%s", error);
  else if (c.failed != SIZE_MAX)
    status = comp__error(c.status, "%s", c.error);
  else if (c.next < jobs->count)
    status = comp__check_interrupt(context); /* between two pieces */
done:
  comp__free(c.messages);
  comp__free(c.done);
  comp__free(c.workers);
  pthread_cond_destroy(&c.news);
  pthread_mutex_destroy(&c.mutex);
  return status;
}
