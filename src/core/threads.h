/*
 * threads.h: running a loop on all of a context's threads, with results that do not depend on how many there are.
 *
 * Work is cut into chunks whose bounds depend on `n` and `chunk` alone. Threads take chunks as they come; whoever sums
 * up keeps one partial result a chunk and combines them in order. A call from inside a chunk runs in place, on that one
 * thread.
 */
#ifndef COMP_CORE_THREADS_H
#define COMP_CORE_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"

typedef struct comp__pool comp__pool;

/* It should be freed via comp__pool_free(). */
comp_status comp__pool_new(comp__pool **out, int threads);
void comp__pool_free(comp__pool *pool);

/* A piece of a loop: items begin .. end - 1, which are chunk number begin / chunk size. `thread` (0 .. threads - 1)
 * names a scratch space that nobody else uses meanwhile: nothing that outlives the chunk may depend on it. */
typedef void (*comp__chunk_fn)(void *arg, size_t begin, size_t end, int thread);

/* Runs fn over 0 .. n - 1 in chunks of `chunk` items (the last may be shorter) and returns when all are done. */
void comp__parallel_for(comp_context *context, size_t n, size_t chunk, comp__chunk_fn fn, void *arg);

/* Whether this thread runs a chunk: there, nothing may be said to the caller. */
bool comp__in_parallel_loop(void);

/* A chunk that can fail. The error of the lowest failing chunk is returned (with its message), whatever the order in
 * which they ran. */
typedef comp_status (*comp__try_chunk_fn)(void *arg, size_t begin, size_t end, int thread);
comp_status comp__parallel_try(comp_context *context, size_t n, size_t chunk, comp__try_chunk_fn fn, void *arg);

/* The sum of fn over all chunks, combined in order. */
typedef double (*comp__sum_fn)(void *arg, size_t begin, size_t end);
comp_status comp__parallel_sum(double *out, comp_context *context, size_t n, size_t chunk, comp__sum_fn fn, void *arg);

#endif
