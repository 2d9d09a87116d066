/* alloc.h: memory. All of it is aligned for the widest vectors, and no size computation can overflow. */
#ifndef COMP_CORE_ALLOC_H
#define COMP_CORE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

/* The alignment of every block, in bytes: a cache line and an AVX-512 vector. */
#define COMP__ALIGN 64

/* `*out` = count x size bytes, not initialised; a size of 0 gives a valid pointer. It should be freed via comp__free().
 */
comp_status comp__alloc(void *out, size_t count, size_t size);

/* As comp__alloc(), filled with zeros. */
comp_status comp__calloc(void *out, size_t count, size_t size);

/* Makes room for at least `needed` elements in a growing array: `*array` (NULL at first) and `*capacity` (0 at first)
 * are updated, the first `used` elements are kept. Grows by half at least, so that appending is linear. */
comp_status comp__grow(void *array, size_t *capacity, size_t used, size_t needed, size_t size);

/* Copies a string. It should be freed via comp__free(). NULL gives NULL. */
comp_status comp__strdup(char **out, const char *text);

/* NULL is allowed. */
void comp__free(void *block);

/* COMP_ERR_MEMORY when the process cannot get `size` more bytes now: for libraries that crash when they run out, before
 * they are called. Nothing is kept. */
comp_status comp__room(size_t size);

/* a + b and a * b; false when the result does not fit. */
bool comp__size_add(size_t *out, size_t a, size_t b);
bool comp__size_mul(size_t *out, size_t a, size_t b);

/*
 * One block that is handed out in pieces, sized once before a hot loop so that nothing is allocated inside it.
 * Usage: measure with comp__workspace_size(), init, take pieces, and give them back together with a mark.
 */
typedef struct comp__workspace {
  char *base;
  size_t size;
  size_t used;
} comp__workspace;

/* It should be released via comp__workspace_release(). */
comp_status comp__workspace_init(comp__workspace *workspace, size_t size);
void comp__workspace_release(comp__workspace *workspace);

/* The bytes that a piece of count x size takes, alignment included; SIZE_MAX on overflow. */
size_t comp__workspace_size(size_t count, size_t size);

/* A piece, not initialised. Running out is a bug in the caller's sizing: it asserts. */
void *comp__workspace_take(comp__workspace *workspace, size_t count, size_t size);

/* Remembers, and returns to, a fill level. */
size_t comp__workspace_mark(const comp__workspace *workspace);
void comp__workspace_reset(comp__workspace *workspace, size_t mark);

#endif
