/* filters.h: undoing the filters of a stored chunk: deflate, shuffle, Fletcher's checksum, h5py's lzf. */
#ifndef COMP_IO_H5_FILTERS_H
#define COMP_IO_H5_FILTERS_H

#include <stdbool.h>
#include <stddef.h>

struct libdeflate_decompressor;

/* Whether a filter can be undone here. */
bool comp__h5_can_undo(int id);

/* Undoes one filter. *data and *size change to the result, which is in `to` (room for `capacity` bytes; it must not be
 * *data) or, where nothing moves, where the data was. `element` is the parameter of shuffle. NULL, or what is wrong
 * with the chunk, to be put after "it". */
const char *comp__h5_undo(int id, size_t element, struct libdeflate_decompressor *inflater, const unsigned char **data,
                          size_t *size, unsigned char *to, size_t capacity);

#endif
