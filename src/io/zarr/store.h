/*
 * store.h: the bytes of a zarr store by key, such as "obs/_index/.zarray": a folder or a zip file.
 *
 * A key that could lead out of the store (an absolute one, one with a part that is empty, "." or ".."), and a symbolic
 * link that does, are errors. All functions but open and close may be called from several threads at once.
 */
#ifndef COMP_IO_ZARR_STORE_H
#define COMP_IO_ZARR_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/strings.h"

/* Bytes that grow; the memory is kept for the next use. Zero-initialise to start. */
typedef struct comp__zarr_buffer {
  unsigned char *data;
  size_t size;
  size_t capacity;
} comp__zarr_buffer;

/* Room for `size` bytes, what was in it is lost; sets the size. */
comp_status comp__zarr_buffer_reserve(comp__zarr_buffer *buffer, size_t size);
void comp__zarr_buffer_release(comp__zarr_buffer *buffer);

typedef struct comp__zarr_store comp__zarr_store;

/* It should be freed via comp__zarr_store_close(). */
comp_status comp__zarr_store_open(comp__zarr_store **out, const char *path);
void comp__zarr_store_close(comp__zarr_store *store); /* NULL is allowed */

/* How many bytes a value has. *found = false: there is none. */
comp_status comp__zarr_store_size(bool *found, uint64_t *size, const comp__zarr_store *store, const char *key);

/* Reads a value; one of more than `most` bytes is an error. *found = false: there is none. */
comp_status comp__zarr_store_get(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store, const char *key,
                                 size_t most);

/* Reads `size` bytes of a value that has them all: bytes behind its end are an error. */
comp_status comp__zarr_store_get_part(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store,
                                      const char *key, uint64_t offset, size_t size);

/* The names directly below a key ("": the root), sorted; none when there is no such folder. */
comp_status comp__zarr_store_list(comp__strings *out, const comp__zarr_store *store, const char *key);

/* How many values are below a key, whatever the depth, without metadata; counts no further than `enough`. */
comp_status comp__zarr_store_count(size_t *out, const comp__zarr_store *store, const char *key, size_t enough);

/* ---- for the kinds of stores ---- */

typedef struct comp__zarr_store_ops {
  /* offset 0 and size SIZE_MAX: the whole value. The key has been checked. */
  comp_status (*get)(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store, const char *key,
                     uint64_t offset, size_t size, size_t most);
  comp_status (*size)(bool *found, uint64_t *size, const comp__zarr_store *store, const char *key);
  comp_status (*list)(comp__strings *out, const comp__zarr_store *store, const char *key);
  comp_status (*count)(size_t *out, const comp__zarr_store *store, const char *key, size_t enough);
  void (*close)(comp__zarr_store *store);
} comp__zarr_store_ops;

struct comp__zarr_store {
  const comp__zarr_store_ops *ops;
  int fd;
  char *path;            /* for messages */
  struct comp__zip *zip; /* store_zip.c */
};

/* Whether the key cannot lead out of a store. */
bool comp__zarr_key_is_good(const char *key);

/* Whether the last part of a key is that of metadata: .zarray, .zgroup, .zattrs, .zmetadata, zarr.json. */
bool comp__zarr_key_is_metadata(const char *key);

/* They take the descriptor over, also when they fail. */
comp_status comp__zarr_folder_open(comp__zarr_store *store, int fd);
comp_status comp__zarr_zip_open(comp__zarr_store *store, int fd);

#endif
