/*
 * stream.h: a data file larger than memory, a window at a time: blocks of neighbouring rows in an order that is drawn
 * again each epoch, as many at once as the memory allows. What a window holds is a pure function of the seed and the
 * epoch. The next window is read on a thread of its own while the current one is used.
 */
#ifndef COMP_TRAIN_STREAM_H
#define COMP_TRAIN_STREAM_H

#include "io/options.h"

typedef struct comp__stream comp__stream;

/* Opens the X of a data file; windows take at most about `memory` bytes. It should be freed via comp__stream_close().
 */
comp_status comp__stream_open(comp__stream **out, comp_context *context, const char *path,
                              const comp__read_options *options, size_t memory, uint64_t seed);
void comp__stream_close(comp__stream *stream);

size_t comp__stream_rows(const comp__stream *stream);
size_t comp__stream_cols(const comp__stream *stream);
size_t comp__stream_windows(const comp__stream *stream);

/* The most rows that a window can have: the last one is smaller than the others. */
size_t comp__stream_window_rows(const comp__stream *stream, size_t window);

/* Reads a window of an epoch: *x and the number of each of its rows in the file (owned by the stream, until the next
 * call). */
comp_status comp__stream_window(const comp_matrix **x, const size_t **ids, comp_context *context, comp__stream *stream,
                                uint64_t epoch, size_t window);

/* Reads the whole file in its order, block by block; `first` is the number of a block's first row. */
typedef comp_status (*comp__stream_fn)(void *arg, const comp_matrix *block, size_t first);
comp_status comp__stream_scan(comp_context *context, comp__stream *stream, comp__stream_fn fn, void *arg);

/* The same, or without a stream x as one block. */
comp_status comp__scan(comp_context *context, const comp_matrix *x, comp__stream *stream, comp__stream_fn fn,
                       void *arg);

#endif
