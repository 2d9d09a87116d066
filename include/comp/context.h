/*
 * context.h: threads, messages, progress and interruption.
 *
 * A context is what a long-running call needs besides its data: how many threads to use, whom to tell about progress,
 * and whether somebody asked it to stop. There is no global state: two contexts in one process do not know of each
 * other. One context serves one call at a time; comp_context_interrupt() alone may be called from anywhere.
 *
 * Callbacks are called on the thread that made the library call, while that call runs, never on a thread of the
 * library: a binding needs no lock of its own. A callback may call comp_context_interrupt(), but no other function with
 * the same context.
 *
 *     comp_context *context;
 *     if (comp_context_new(&context, NULL) != COMP_OK) { puts(comp_error_message()); return 1; }
 *     ...
 *     comp_context_free(context);
 *
 * Results never depend on the number of threads: the same input and seed give the same bytes at 1 and at 64.
 */
#ifndef COMP_CONTEXT_H
#define COMP_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "comp/options.h"
#include "comp/status.h"

typedef struct comp_context comp_context;

typedef enum comp_log_level {
  COMP_LOG_NONE = 0,
  COMP_LOG_WARNING, /* the result may not be what the user expects */
  COMP_LOG_INFO,    /* what is being done, and decisions made for the user */
  COMP_LOG_DEBUG    /* timings and internals */
} comp_log_level;

/* "none", "warning", "info", "debug"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_log_level_name(comp_log_level level);
COMP_API comp_status comp_log_level_parse(comp_log_level *out, const char *name);

/* Receives one message, without a newline. Called on the thread that made the library call. */
typedef void (*comp_log_fn)(void *user, comp_log_level level, const char *message);

/* The state of a job. `total` is 0 when it is not known; `note` may be NULL (during training it holds the losses). */
typedef struct comp_progress {
  const char *task; /* what is being done: "reading kang.h5ad" */
  const char *unit; /* what is counted: "cells", "steps" */
  uint64_t done;
  uint64_t total;
  const char *note;
  bool finished; /* the last report of this task */
} comp_progress;

/* Receives progress reports, some 20 a second at most, on the thread that made the library call. */
typedef void (*comp_progress_fn)(void *user, const comp_progress *progress);

/* The parts of a loss, means over samples: total = likelihood + beta x kl + gamma x penalty, to be minimised. */
typedef struct comp_losses {
  double total;
  double likelihood; /* negative log-likelihood */
  double kl;         /* KL(posterior || prior) */
  double penalty;    /* what keeps z independent of the condition; not multiplied by gamma */
} comp_losses;

/* An epoch of training that has ended. Fields are only ever added at the end. */
typedef struct comp_epoch {
  uint64_t epoch;         /* from 1 */
  uint64_t epochs;        /* the run has at most so many */
  uint64_t steps;         /* done since the start of the run, of all epochs */
  uint64_t total_steps;   /* of the whole run, at most */
  comp_losses train;      /* over the steps of this epoch */
  comp_losses validation; /* on the samples held out; NaN when there are none */
  bool best;              /* the lowest validation loss so far, warm-up aside (train loss, if none are held out) */
  double gamma;           /* weight of the penalty after the epoch */
  double rate;            /* learning rate after the epoch */
  double blur;            /* noise in CoMP's penalty after the epoch; 0: none */
  double seconds;         /* since the run was started or resumed */
} comp_epoch;

/* Receives the numbers of each epoch. Returns whether training goes on: after false it ends as if its time were up. */
typedef bool (*comp_epoch_fn)(void *user, const comp_epoch *epoch);

/* The largest accepted number of threads. */
#define COMP_MAX_THREADS 1024

/* Creates a context and its threads. Options are of the kind "context": the number of threads, and the level beyond
 * which no messages are made. It should be freed via comp_context_free(). */
COMP_API comp_status comp_context_new(comp_context **out, const comp_options *options);

/* Stops the threads and frees the context. NULL is allowed. */
COMP_API void comp_context_free(comp_context *context);

/* The number of threads in use, at least 1. */
COMP_API int comp_context_thread_count(const comp_context *context);

/* The memory that calls may take, about, in bytes: the option "memory", the environment variable COMP_MEMORY, or half
 * of the memory of the machine (or of the control group, where that has less). A matrix larger than a quarter of it is
 * kept in a scratch file without a name in the folder that TMPDIR names (else /var/tmp); results are the same bytes. */
COMP_API size_t comp_context_memory(const comp_context *context);

/* Asks the running call to stop soon and return COMP_ERR_INTERRUPTED, leaving its data in good order.
 * Safe in a signal handler and from another thread. */
COMP_API void comp_context_interrupt(comp_context *context);

/* Whether comp_context_interrupt() has been called since the context was made or reset. */
COMP_API bool comp_context_interrupted(const comp_context *context);

/* Makes an interrupted context usable again. Must not be called while a call with this context runs. */
COMP_API void comp_context_reset(comp_context *context);

/* Sets the functions that receive messages and progress, and the one that comp_train() calls after each epoch; NULL:
 * none. `user` is passed to it. */
COMP_API void comp_context_on_log(comp_context *context, comp_log_fn log, void *user);
COMP_API void comp_context_on_progress(comp_context *context, comp_progress_fn progress, void *user);
COMP_API void comp_context_on_epoch(comp_context *context, comp_epoch_fn epoch, void *user);

#endif
