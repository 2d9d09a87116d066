/*
 * sink.h: writing a zarr store, as a folder: arrays in chunks that are compressed (zstd) and written on all threads.
 *
 * What is written does not depend on the number of threads. Chunks whose shape does not divide the array's are filled
 * up by zeros at its end, as zarr has it.
 */
#ifndef COMP_IO_ZARR_SINK_H
#define COMP_IO_ZARR_SINK_H

#include "io/tree_sink.h"
#include "io/zarr/store.h"

typedef struct comp__zarr_sink {
  comp__tree_sink sink;
  int fd; /* the folder */
  int version;
  bool sharded; /* version 3: the chunks of an array are in shards */
  int level;    /* of zstd; 0: not compressed */
} comp__zarr_sink;

/* Begins a store in an empty folder. It should be closed via comp__zarr_sink_close(), also when it fails. */
comp_status comp__zarr_sink_open(comp__zarr_sink *out, comp_context *context, const char *folder, int version,
                                 bool sharded, int level);
void comp__zarr_sink_close(comp__zarr_sink *sink);

/* records.c: records as they are stored, with what the metadata says of them: the dtype of version 2, or the data_type
 * of version 3, and the fill value. Texts get one length. It should be released via comp__zarr_packed_release(), also
 * when it fails. */
typedef struct comp__zarr_packed {
  unsigned char *data;
  size_t size; /* of a record */
  json_t *type;
  json_t *fill;
} comp__zarr_packed;
comp_status comp__zarr_records_pack(comp__zarr_packed *out, const comp__tree_value *value, int version);
void comp__zarr_packed_release(comp__zarr_packed *packed);

/* The names of a type of numbers, in version 2 or 3. */
const char *comp__zarr_type_name(comp__stored type, int version);

/* An array of numbers of one or two dimensions (cols = 0: one), with AnnData's encoding when `encoded`. */
comp_status comp__zarr_sink_array(comp__zarr_sink *sink, const char *path, comp__stored type, const void *values,
                                  size_t rows, size_t cols, bool encoded);

/* A single text, with its encoding. */
comp_status comp__zarr_sink_text(comp__zarr_sink *sink, const char *path, const char *text);

/* Removes a value, or a folder with all that is below it; nothing there is no error. */
comp_status comp__zarr_sink_drop(const comp__zarr_sink *sink, const char *path);

/* Writes JSON in place of a value, which is removed first: the file that it was may have other names (links). */
comp_status comp__zarr_sink_replace(const comp__zarr_sink *sink, const char *folder, const char *name,
                                    const json_t *json);

/* Writes a value; folders on the way are made. */
comp_status comp__zarr_sink_put(const comp__zarr_sink *sink, const char *key, const void *data, size_t size);

#endif
