/*
 * array.h: arrays of a store, read by blocks of rows, with the chunks read and decoded on all threads.
 *
 * A shape is believed only when enough chunks are stored: chunks that are not there have the fill value, so that a few
 * bytes could claim any size.
 */
#ifndef COMP_IO_ZARR_ARRAY_H
#define COMP_IO_ZARR_ARRAY_H

#include "comp/context.h"
#include "io/tree.h"
#include "io/zarr/meta.h"

typedef struct comp__zarr_array {
  const comp__zarr_store *store;
  char *path; /* in the store; "" is the root */
  comp__zarr_meta meta;
  bool told; /* that chunks of it are not there */
} comp__zarr_array;

/* Reads the metadata, which stays the caller's. The store must live longer. It should be closed via
 * comp__zarr_array_close(), also when it fails. */
comp_status comp__zarr_array_open(comp__zarr_array *out, const comp__zarr_store *store, const char *path,
                                  const json_t *json);
void comp__zarr_array_close(comp__zarr_array *array);

/* How many values there are in all. */
size_t comp__zarr_array_count(const comp__zarr_array *array);

/* Reads rows first .. first + rows - 1 (first dimension; a single value counts as one row) of an array of numbers or
 * bools into `out`, in C order. COMP__AS_RAW: bytes as they are stored, of any type of one length.
 * Chunks that are not there have the fill value: see comp__zarr_array_tell_missing(). */
comp_status comp__zarr_array_read(comp_context *context, const comp__zarr_array *array, comp__as as, size_t first,
                                  size_t rows, void *out);

/* text.c: appends all values of an array of text of at most one dimension. */
comp_status comp__zarr_array_read_texts(comp__strings *out, comp_context *context, const comp__zarr_array *array);

/* records.c: all fields of a list of records, for writing them again. */
comp_status comp__zarr_records_load(comp__tree_value *out, comp_context *context, const comp__zarr_array *array);

/* ---- for the files of this folder ---- */

/* Says that an array lacks chunks, whose values are `fill`, once. Writers may leave out chunks that hold nothing but
 * the fill value, and a copy that was interrupted lacks chunks, too: nothing distinguishes the two, so the user must
 * know. A warning; of bools a message, since masks without any missing value are left out so often. */
void comp__zarr_array_tell_missing(comp_context *context, const comp__zarr_array *array, size_t missing, size_t total,
                                   const char *fill);

/* text.c: appends n texts of one length, which are one behind the other; they may be changed there. */
comp_status comp__zarr_append_fixed(comp__strings *out, comp__zarr_type type, unsigned char *data, size_t n);

/* A chunk: its place in the grid of chunks, and which of its values lie within the array. */
typedef struct comp__zarr_unit {
  size_t place[COMP__ZARR_MOST_DIMS];
} comp__zarr_unit;

/* The chunks of some rows. In shards, the chunks within them. */
typedef struct comp__zarr_grid {
  const comp__zarr_array *array;
  const size_t *unit;                 /* the shape of a chunk */
  size_t begin[COMP__ZARR_MOST_DIMS]; /* the first chunk, each dimension */
  size_t count[COMP__ZARR_MOST_DIMS]; /* how many there are */
  size_t total;
  size_t values; /* in a chunk */
  struct comp__zarr_shards *shards;
} comp__zarr_grid;

/* Also reads the indices of the shards. It should be released via comp__zarr_grid_release(), also when it fails. */
comp_status comp__zarr_grid_init(comp__zarr_grid *out, comp_context *context, const comp__zarr_array *array,
                                 size_t first, size_t rows);
void comp__zarr_grid_release(comp__zarr_grid *grid);

/* The place of a chunk by its number, 0 .. total - 1, the last dimension the fastest. */
comp__zarr_unit comp__zarr_grid_unit(const comp__zarr_grid *grid, size_t number);

/* Reads and decodes a chunk: *data is in the scratch or the target (codec.h), NULL when there is no such chunk.
 * `expected`: its bytes, or SIZE_MAX. The errors name array and chunk. */
comp_status comp__zarr_grid_load(unsigned char **data, size_t *size, const comp__zarr_grid *grid,
                                 const comp__zarr_unit *unit, comp__zarr_scratch *scratch, size_t expected,
                                 unsigned char *target);

/* The key of what is stored at that place of the grid of keys. */
comp_status comp__zarr_array_key(char *out, size_t size, const comp__zarr_array *array, const size_t *place);

/* shard.c: the indices of all shards that hold chunks of the grid. */
comp_status comp__zarr_shards_open(struct comp__zarr_shards **out, comp_context *context, const comp__zarr_grid *grid);
void comp__zarr_shards_close(struct comp__zarr_shards *shards);

/* Reads the stored bytes of a chunk in a shard to the scratch. */
comp_status comp__zarr_shards_get(bool *found, const comp__zarr_grid *grid, const comp__zarr_unit *unit,
                                  comp__zarr_scratch *scratch);

/* Scratches, one a thread. They should be freed via comp__zarr_scratches_free(). */
comp_status comp__zarr_scratches_new(comp__zarr_scratch **out, comp_context *context);
void comp__zarr_scratches_free(comp__zarr_scratch *scratches, comp_context *context);

#endif
