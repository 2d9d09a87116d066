/*
 * heap.h: variable-length text, read without HDF5's help.
 *
 * A stored value of such a dataset is 16 bytes: length, and the place of the text in a "global heap collection" of the
 * file. HDF5 1.10 trusts all of these numbers, so that a damaged file makes it write beyond its buffers; here they are
 * checked. It is also several times faster.
 */
#ifndef COMP_IO_H5_HEAP_H
#define COMP_IO_H5_HEAP_H

#include <stdint.h>

#include "io/h5/h5.h"

enum { COMP__H5_REFERENCE = 16 };

/* A collection that was read. */
typedef struct comp__h5_collection {
  uint64_t address; /* UINT64_MAX: none */
  unsigned char *bytes;
  size_t size;
  size_t capacity;
  uint32_t *offsets; /* of object i's header in bytes; 0: there is none */
  size_t n_offsets;
  size_t offsets_capacity;
} comp__h5_collection;

enum { COMP__H5_COLLECTIONS = 16 };

typedef struct comp__h5_heap {
  int fd; /* owned by HDF5 */
  uint64_t base;
  uint64_t file_size;
  struct comp__h5_pages *pages; /* collections stay known there; NULL: they do not */
  comp__h5_collection cache[COMP__H5_COLLECTIONS];
} comp__h5_heap;

/* A collection: its size as its header says, and whether all that HDF5 would follow in it stays within it. */
enum { COMP__H5_COLLECTION_HEADER = 16 };
uint64_t comp__h5_collection_size(const unsigned char *bytes);
bool comp__h5_collection_is_sound(const unsigned char *bytes, size_t size);

/* False when this file or dataset is of a kind that has to be left to HDF5. Release via comp__h5_heap_release(). */
bool comp__h5_heap_open(comp__h5_heap *out, hid_t dataset);
void comp__h5_heap_release(comp__h5_heap *heap);

/* The same of a file that is open as `fd`, without HDF5. */
void comp__h5_heap_init(comp__h5_heap *out, int fd, uint64_t base, uint64_t file_size);

/* The object of a heap at a place: address of its collection (8 bytes) and number (4). It stays until the next call. */
comp_status comp__h5_heap_object(const unsigned char **content, uint64_t *size, comp__h5_heap *heap,
                                 const unsigned char *place);

/* Whether a stored value leads to as many elements of `element` bytes as it says, as HDF5 would take for granted. */
comp_status comp__h5_heap_check(comp__h5_heap *heap, const unsigned char *reference, size_t element);

/* Reads the stored values first .. first + n - 1, of `size` bytes each, of a contiguous 1-D dataset. */
comp_status comp__h5_heap_read_stored(const comp__h5_heap *heap, hid_t dataset, size_t size, size_t first, size_t n,
                                      void *out);

/* The text of a stored value; valid until the next call. */
comp_status comp__h5_heap_text(comp__h5_heap *heap, const unsigned char *reference, const char **text, size_t *length);

#endif
