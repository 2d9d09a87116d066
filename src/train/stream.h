/*
 * stream.h: a data file larger than memory, a window at a time: blocks of neighbouring rows in an order that is drawn
 * again each epoch, as many at once as the memory allows. What a window holds is a pure function of the seed and the
 * epoch. The next window is read on a thread of its own while the current one is used.
 *
 * Several ranks share the reading (comp__stream_share): each has a part of every window in memory, of neighbouring rows
 * of it, and rows go to the rank that needs them. Windows are the same at any number of ranks.
 */
#ifndef COMP_TRAIN_STREAM_H
#define COMP_TRAIN_STREAM_H

#include "dist/comm.h"
#include "io/options.h"

typedef struct comp__stream comp__stream;

/* For `memory`: all rows are one window, in the order of the file, which is read once and kept. For ranks: such a
 * window has the order of data in memory. */
#define COMP__STREAM_KEPT ((size_t)0)

/* Opens the X of a data file; windows take at most about `memory` bytes, those of all ranks together. It should be
 * freed via comp__stream_close(). */
comp_status comp__stream_open(comp__stream **out, comp_context *context, const char *path,
                              const comp__read_options *options, size_t memory, uint64_t seed);
void comp__stream_close(comp__stream *stream);

size_t comp__stream_rows(const comp__stream *stream);
size_t comp__stream_cols(const comp__stream *stream);
size_t comp__stream_windows(const comp__stream *stream);

/* The most rows that a window can have: the last one is smaller than the others. */
size_t comp__stream_window_rows(const comp__stream *stream, size_t window);

/* Whether there is one window, which is kept. */
bool comp__stream_is_kept(const comp__stream *stream);

/* Reads a window of an epoch: *x, of which only this rank's rows if ranks share the reading, and the number of each of
 * all its rows in the file (owned by the stream, until the next call). */
comp_status comp__stream_window(const comp_matrix **x, const size_t **ids, comp_context *context, comp__stream *stream,
                                uint64_t epoch, size_t window);

/* Rows of the window that was read last, those of all ranks together. */
size_t comp__stream_rows_now(const comp__stream *stream);

/* From now on the ranks of comm, which must outlive the stream, share the reading; one rank or NULL changes nothing.
 * All ranks then make the same calls. */
comp_status comp__stream_share(comp__stream *stream, comp__comm *comm);
bool comp__stream_is_shared(const comp__stream *stream);

/* Tells whether ranks have the same file, without reading all of it: by its shape, the lengths of all rows
 * of sparse data, and the first 1,000 rows. */
comp_status comp__stream_digest(uint64_t *out, comp_context *context, comp__stream *stream);

/* Rows of the current window over ranks: rank r gets rows[from[r]] .. rows[to[r] - 1], in that order, wherever they
 * are. *out is the stream's, until the next call. */
comp_status comp__stream_take(const comp_matrix **out, comp_context *context, comp__stream *stream, const size_t *rows,
                              const size_t *from, const size_t *to);

/* Reads the whole file in its order, block by block; `first` is the number of a block's first row. */
typedef comp_status (*comp__stream_fn)(void *arg, const comp_matrix *block, size_t first);
comp_status comp__stream_scan(comp_context *context, comp__stream *stream, comp__stream_fn fn, void *arg);

/* The same, or without a stream x as one block. */
comp_status comp__scan(comp_context *context, const comp_matrix *x, comp__stream *stream, comp__stream_fn fn,
                       void *arg);

#endif
