/*
 * array.h: datasets of numbers, 1-D or 2-D, read and written by blocks of rows with the filters run on all threads.
 *
 * HDF5 runs a dataset's filters on one thread. Here chunks are read as they are stored, and decompression and
 * conversion (or compression, when writing) run in parallel; the calls into HDF5 stay on the calling thread.
 */
#ifndef COMP_IO_H5_ARRAY_H
#define COMP_IO_H5_ARRAY_H

#include <stdint.h>

#include "comp/context.h"
#include "io/h5/h5.h"
#include "io/numbers.h"

/* A filter of a chunk, in the order of writing. */
typedef struct comp__h5_filter {
  H5Z_filter_t id;
  size_t shuffle; /* the size of elements that the shuffle filter was given */
} comp__h5_filter;

enum { COMP__H5_MOST_FILTERS = 8 };

/* An open dataset of numbers. 1-D counts as a 2-D one of one column. */
typedef struct comp__h5_array {
  hid_t dataset;
  char where[128]; /* its path, for messages */
  int rank;
  size_t rows;
  size_t cols;
  comp__number number;
  bool integer;    /* whole numbers (or bools) are stored */
  bool boolean;    /* h5py's bool */
  bool contiguous; /* in one piece in the file */
  bool chunked;
  size_t chunk_rows; /* the shape of a chunk, when chunked */
  size_t chunk_cols;
  bool direct; /* chunks can be decoded here */
  int n_filters;
  comp__h5_filter filters[COMP__H5_MOST_FILTERS];
} comp__h5_array;

#define COMP__H5_ARRAY_INIT                                                                                            \
  { .dataset = H5I_INVALID_HID }

/* It should be released via comp__h5_array_close(), also when it fails. */
comp_status comp__h5_array_open(comp__h5_array *out, hid_t parent, const char *path);
void comp__h5_array_close(comp__h5_array *array);

/* How the numbers of a dataset are stored; an error when it holds others. */
comp_status comp__h5_array_type(comp__number *out, bool *boolean, hid_t dataset);

/* A 1-D dataset (or a single value) of any type, to be read as it is stored (COMP__AS_RAW) when
 * comp__h5_array_is_raw(). It should be released via comp__h5_array_close(), also when it fails. */
comp_status comp__h5_array_open_raw(comp__h5_array *out, hid_t dataset);
bool comp__h5_array_is_raw(const comp__h5_array *array);

/* Reads rows first .. first + rows - 1 into `out` (rows x cols numbers). */
comp_status comp__h5_array_read(comp_context *context, const comp__h5_array *array, comp__as as, size_t first,
                                size_t rows, void *out);

/* The part of reading that decodes chunks itself (chunks.c); the array must be `direct`. */
comp_status comp__h5_chunks_read(comp_context *context, const comp__h5_array *array, comp__as as, size_t first,
                                 size_t rows, void *out);

/* The error of a number that does not fit. */
comp_status comp__h5_misfit(const comp__h5_array *array, size_t row);

#endif
