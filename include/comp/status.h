/*
 * status.h: how functions of libcomp report failure.
 *
 * A function that can fail returns a comp_status. When it is not COMP_OK, comp_error_message() gives one sentence
 * for a person: what went wrong, in which file and which part of it, and what to do. The message belongs to the calling
 * thread and stays valid until the next failing call on that thread. The library never prints, exits or aborts.
 */
#ifndef COMP_STATUS_H
#define COMP_STATUS_H

#include "comp/export.h"

typedef enum comp_status {
  COMP_OK = 0,
  COMP_ERR_ARGUMENT,    /* the caller asked for something impossible: a bad option, an unknown name */
  COMP_ERR_MEMORY,      /* an allocation failed, or its size would overflow */
  COMP_ERR_IO,          /* the operating system refused: no such file, no permission, disk full */
  COMP_ERR_FORMAT,      /* a file is damaged or is not what it should be */
  COMP_ERR_DATA,        /* a file is well formed, but its content cannot be used */
  COMP_ERR_NUMERIC,     /* a computation gave NaN or infinity, or did not converge */
  COMP_ERR_INTERRUPTED, /* comp_context_interrupt() was called */
  COMP_ERR_UNAVAILABLE  /* this build or this CPU cannot do it */
} comp_status;

/* The message of the last failure on this thread; an empty string when there was none. Owned by the library. */
COMP_API const char *comp_error_message(void);

/* Frees text or bytes that a function handed out to the caller, where its comment says so. NULL is allowed. */
COMP_API void comp_free(void *block);

/* A short name for a status, such as "bad format". Never NULL. */
COMP_API const char *comp_status_name(comp_status status);

#endif
