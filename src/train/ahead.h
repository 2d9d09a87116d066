/* ahead.h: one piece of work at a time on a thread of its own, while the caller does something else. */
#ifndef COMP_TRAIN_AHEAD_H
#define COMP_TRAIN_AHEAD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "comp/context.h"
#include "comp/status.h"

typedef struct comp__ahead comp__ahead;

/* Work that can fail. It looks at *stop now and then, and ends soon when that is true. */
typedef comp_status (*comp__ahead_fn)(void *arg, const atomic_bool *stop);

/* Starts the thread. It should be freed via comp__ahead_free(). */
comp_status comp__ahead_new(comp__ahead **out);

/* Stops the work that runs, and waits for its end. NULL is allowed. */
void comp__ahead_free(comp__ahead *ahead);

/* Begins a piece of work; the one before must have been waited for. */
void comp__ahead_start(comp__ahead *ahead, comp__ahead_fn fn, void *arg);

/* Waits for its end and gives its status, with its message; COMP_OK when none was begun. COMP_ERR_INTERRUPTED: the
 * context (may be NULL) was interrupted, and the work may still run. */
comp_status comp__ahead_wait(comp__ahead *ahead, comp_context *context);

#endif
