/*
 * sink.h: writing a dataset of numbers from its first row to its last, with chunks compressed on all threads.
 * What is in memory is bounded, whatever the length.
 */
#ifndef COMP_IO_H5_SINK_H
#define COMP_IO_H5_SINK_H

#include "comp/context.h"
#include "io/h5/h5.h"

typedef struct comp__h5_sink {
  hid_t dataset;
  size_t row_bytes;
  size_t element; /* bytes of a number */
  bool flat;      /* 1-D */
  bool growing;   /* the number of rows was not known at first */
  int level;      /* of gzip; 0: not compressed */
  size_t chunk_rows;
  size_t written; /* rows in the file */
  size_t pending; /* rows in the buffer */
  char *buffer;   /* a batch of whole chunks */
  struct comp__h5_packer *packer;
} comp__h5_sink;

#define COMP__H5_SINK_INIT                                                                                             \
  { .dataset = H5I_INVALID_HID }

/* The number of rows is not known before the end. */
#define COMP__H5_GROWING ((size_t)-1)

/* Creates a dataset of `type` (as in memory and in the file) of `rows` x `cols`; cols 0 with `flat`: 1-D. Compression
 * is gzip behind a byte shuffle. It should be released via comp__h5_sink_release(), also when it fails. */
comp_status comp__h5_sink_open(comp__h5_sink *out, hid_t parent, const char *path, hid_t type, size_t rows, size_t cols,
                               bool flat, int level);

/* Appends rows. */
comp_status comp__h5_sink_append(comp_context *context, comp__h5_sink *sink, const void *rows, size_t count);

/* Writes what is left, and closes the dataset. */
comp_status comp__h5_sink_finish(comp_context *context, comp__h5_sink *sink);

void comp__h5_sink_release(comp__h5_sink *sink);

/* A whole 1-D dataset at once, with AnnData's encoding of an array when `encoded`. */
comp_status comp__h5_write_list(comp_context *context, hid_t parent, const char *path, hid_t type, const void *values,
                                size_t count, int level, bool encoded);

#endif
