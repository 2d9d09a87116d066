/* thread_memory.h: blocks of memory that belong to the calling thread, so that products need not allocate each time.
 * They grow as needed and are freed when the thread ends. */
#ifndef COMP_NN_THREAD_MEMORY_H
#define COMP_NN_THREAD_MEMORY_H

#include <stddef.h>

#include "comp/status.h"

typedef enum comp__memory_use {
  COMP__MEMORY_TILE,    /* of the current tile */
  COMP__MEMORY_PRODUCT, /* of a whole product: held by the thread that started it, used by all */
  COMP__MEMORY_USES
} comp__memory_use;

/* `*out`: at least count x size bytes, not initialised, valid until the thread asks for more of the same use. */
comp_status comp__thread_memory(void *out, comp__memory_use use, size_t count, size_t size);

#endif
