/* context.h: the inner side of comp/context.h: messages, progress, interruption. */
#ifndef COMP_CORE_CONTEXT_H
#define COMP_CORE_CONTEXT_H

#include <pthread.h>

#include "comp/context.h"
#include "core/options.h"
#include "core/paged.h"
#include "core/threads.h"

/* The kind "context". */
typedef struct comp__context_options {
  int threads;              /* 0: as many as the CPUs that this process may run on */
  comp_log_level log_level; /* messages beyond this level are not made */
  size_t memory;            /* bytes that the run may take; 0: COMP_MEMORY, or else half of the machine's memory */
} comp__context_options;

extern const comp__options_kind comp__context_kind;

comp__context_options comp__context_defaults(void);

/* As comp_context_new(). */
comp_status comp__context_new(comp_context **out, const comp__context_options *options);

comp__pool *comp__context_pool(comp_context *context);

/* What goes with the context: the other processes of a run (dist/comm.h). `release` (NULL: none) is called with it when
 * the context is freed. NULL: nothing was attached. */
void comp__context_attach(comp_context *context, void *thing, void (*release)(void *thing));
void *comp__context_attached(const comp_context *context);

/* Where matrices that are too large for memory go. */
comp__pager *comp__context_pager(comp_context *context);

/* Makes a message when the level is wanted. Only on the thread that made the library call. */
void comp__log(comp_context *context, comp_log_level level, const char *format, ...) COMP_PRINTF(3, 4);

/* Drops all messages but warnings until it is called with false: for work on the side. */
void comp__log_mute(comp_context *context, bool muted);

#define comp__warn(context, ...)  comp__log(context, COMP_LOG_WARNING, __VA_ARGS__)
#define comp__info(context, ...)  comp__log(context, COMP_LOG_INFO, __VA_ARGS__)
#define comp__debug(context, ...) comp__log(context, COMP_LOG_DEBUG, __VA_ARGS__)

/* Progress of one task at a time; starting another ends the one before. Updates cost little: most are dropped by time.
 * `task`, `unit` and `note` are copied. */
void comp__progress_begin(comp_context *context, const char *task, const char *unit, uint64_t total);
void comp__progress_update(comp_context *context, uint64_t done, const char *note);
void comp__progress_end(comp_context *context);

/* While a lock is set, the caller's functions (messages, progress, epochs) are called under it: another thread that
 * works for this call holds it when it uses what they might use, too, such as HDF5. NULL: none. */
void comp__context_guard(comp_context *context, pthread_mutex_t *lock);

/* Tells the caller of an epoch; false: training should end. */
bool comp__report_epoch(comp_context *context, const comp_epoch *epoch);

/* COMP_ERR_INTERRUPTED with a message when somebody asked to stop, else COMP_OK. Ask a few times a second. */
comp_status comp__check_interrupt(comp_context *context);

/* Seconds from some fixed point: for measuring time. */
double comp__seconds(void);

#endif
