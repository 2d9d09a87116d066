/* context.c: the pool, messages, progress and the stop flag of one user. */
#include "core/context.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comp/machine.h"
#include "core/alloc.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/json.h"

/* At most this often, in seconds, a progress report is made. */
static const double PROGRESS_PERIOD = 0.05;

static const char *const level_names[] = {"none", "warning", "info", "debug", NULL};

#define FIELD(member) COMP__FIELD(comp__context_options, member)
static const comp_option rows[] = {
    {"threads", .type = COMP_OPTION_INT, FIELD(threads), .metavar = "N", .value = "0", .max = COMP_MAX_THREADS,
     .help = "number of threads; 0: all CPUs that this process may use"},
    {"log-level", .type = COMP_OPTION_CHOICE, FIELD(log_level), .metavar = "LEVEL", .value = "warning",
     .choices = level_names, .help = "which messages are made: those of this level and of the levels before it",
     .library_only = "the program has --quiet and --verbose"},
    {"memory", .type = COMP_OPTION_BYTES, FIELD(memory), .metavar = "SIZE", .unset = "half of the machine's memory",
     .help = "memory to take, about (2G): a matrix larger than a quarter of it is kept in a scratch file in TMPDIR"},
    {0},
};

const comp__options_kind comp__context_kind = {
    .name = "context",
    .summary = "threads, memory and messages",
    .size = sizeof(comp__context_options),
    .rows = rows,
};

comp__context_options comp__context_defaults(void) {
  comp__context_options options;
  comp__options_defaults(&options, &comp__context_kind);
  return options;
}

COMP__ENUM_NAMES(comp_log_level, level_names, "level of messages")

struct comp_context {
  comp__context_options options;
  comp_log_fn log;
  void *log_user;
  comp_progress_fn on_progress;
  void *progress_user;
  comp_epoch_fn epoch;
  void *epoch_user;
  comp__pool *pool;
  comp__pager *pager;
  void *attached;
  void (*release_attached)(void *thing);
  pthread_mutex_t *guard; /* of the caller's functions; NULL: none */
  atomic_bool interrupted;
  comp_progress progress;
  bool muted;
  double last_report;
  bool in_task;
  char task[128];
  char unit[32];
  char note[160];
};

comp_status comp_context_new(comp_context **out, const comp_options *options) {
  COMP__NEED(out);
  comp__context_options plain;
  *out = NULL;
  comp__json_start();
  comp_status status = comp__options_resolve(&plain, &comp__context_kind, options);
  return status == COMP_OK ? comp__context_new(out, &plain) : status;
}

/* What a run may take: as it was asked for, in the environment too, or half of what there is. */
static comp_status new_pager(comp__pager **out, const comp__context_options *asked) {
  comp__context_options options = *asked;
  const char *text = getenv("COMP_MEMORY");
  if (options.memory == 0 && text && text[0]) {
    const comp_option *row;
    comp_status status = comp__options_row(&row, &comp__context_kind, "memory");
    if (status == COMP_OK) status = comp__option_parse(row, &options, text);
    if (status != COMP_OK) return comp__error_context(status, "the environment variable COMP_MEMORY");
  }
  if (options.memory > 0) return comp__pager_new(out, options.memory, true);
  const size_t memory = comp__machine_memory() / 2;
  return comp__pager_new(out, memory > 0 ? memory : SIZE_MAX, false);
}

comp_status comp__context_new(comp_context **out, const comp__context_options *options) {
  *out = NULL;
  comp_status status = comp__cpu_check();
  if (status != COMP_OK) return status;
  comp_context *context;
  status = comp__calloc(&context, 1, sizeof *context);
  if (status != COMP_OK) return status;
  context->options = *options;
  if (context->options.threads == 0) context->options.threads = comp_cpu_count();
  COMP__TRY(new_pager(&context->pager, options));
  COMP__TRY(comp__pool_new(&context->pool, context->options.threads));
  *out = context;
done:
  if (status != COMP_OK) comp_context_free(context);
  return status;
}

void comp_context_free(comp_context *context) {
  if (!context) return;
  if (context->release_attached) context->release_attached(context->attached);
  comp__pool_free(context->pool);
  comp__pager_leave(context->pager);
  comp__free(context);
}

size_t comp_context_memory(const comp_context *context) {
  return comp__pager_memory(context->pager);
}

comp__pager *comp__context_pager(comp_context *context) {
  return context->pager;
}

void comp__context_attach(comp_context *context, void *thing, void (*release)(void *thing)) {
  context->attached = thing;
  context->release_attached = release;
}

void *comp__context_attached(const comp_context *context) {
  return context->attached;
}

int comp_context_thread_count(const comp_context *context) {
  return context->options.threads;
}

comp__pool *comp__context_pool(comp_context *context) {
  return context->pool;
}

void comp_context_interrupt(comp_context *context) {
  atomic_store(&context->interrupted, true);
}

bool comp_context_interrupted(const comp_context *context) {
  return atomic_load(&context->interrupted);
}

void comp_context_reset(comp_context *context) {
  comp__progress_end(context); /* of a task that did not come to its end */
  context->muted = false;
  atomic_store(&context->interrupted, false);
}

void comp_context_on_log(comp_context *context, comp_log_fn log, void *user) {
  context->log = log;
  context->log_user = user;
}

void comp_context_on_progress(comp_context *context, comp_progress_fn progress, void *user) {
  context->on_progress = progress;
  context->progress_user = user;
}

void comp_context_on_epoch(comp_context *context, comp_epoch_fn epoch, void *user) {
  context->epoch = epoch;
  context->epoch_user = user;
}

void comp__context_guard(comp_context *context, pthread_mutex_t *lock) {
  context->guard = lock;
}

/* Before and after a function of the caller's. */
static void enter(comp_context *context) {
  if (context->guard) pthread_mutex_lock(context->guard);
}

static void leave(comp_context *context) {
  if (context->guard) pthread_mutex_unlock(context->guard);
}

bool comp__report_epoch(comp_context *context, const comp_epoch *epoch) {
  assert(!comp__in_parallel_loop());
  if (!context->epoch) return true;
  enter(context);
  bool go_on = context->epoch(context->epoch_user, epoch);
  leave(context);
  return go_on;
}

comp_status comp__check_interrupt(comp_context *context) {
  if (!atomic_load(&context->interrupted)) return COMP_OK;
  return comp__error(COMP_ERR_INTERRUPTED, "interrupted");
}

void comp__log_mute(comp_context *context, bool muted) {
  context->muted = muted;
}

void comp__log(comp_context *context, comp_log_level level, const char *format, ...) {
  if (!context->log || level > context->options.log_level) return;
  if (context->muted && level > COMP_LOG_WARNING) return;
  assert(!comp__in_parallel_loop());
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  enter(context);
  context->log(context->log_user, level, text);
  leave(context);
}

static void report(comp_context *context, bool finished) {
  if (!context->on_progress) return;
  assert(!comp__in_parallel_loop());
  context->progress.finished = finished;
  context->last_report = comp__seconds();
  enter(context);
  context->on_progress(context->progress_user, &context->progress);
  leave(context);
}

void comp__progress_begin(comp_context *context, const char *task, const char *unit, uint64_t total) {
  comp__progress_end(context);
  snprintf(context->task, sizeof context->task, "%s", task);
  snprintf(context->unit, sizeof context->unit, "%s", unit);
  context->progress = (comp_progress){context->task, context->unit, 0, total, NULL, false};
  context->in_task = true;
  report(context, false);
}

void comp__progress_update(comp_context *context, uint64_t done, const char *note) {
  context->progress.done = done;
  if (!context->on_progress || comp__seconds() - context->last_report < PROGRESS_PERIOD) return;
  if (note) snprintf(context->note, sizeof context->note, "%s", note);
  context->progress.note = note ? context->note : NULL;
  report(context, false);
}

void comp__progress_end(comp_context *context) {
  if (!context->in_task) return;
  context->in_task = false;
  report(context, true);
}

double comp__seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
