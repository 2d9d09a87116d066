/*
 * codec.h: undoing what was done to the bytes of a chunk when it was written: compression and checksums.
 */
#ifndef COMP_IO_ZARR_CODEC_H
#define COMP_IO_ZARR_CODEC_H

#include "io/zarr/store.h"

/* Codecs from bytes to bytes. */
typedef enum comp__zarr_codec {
  COMP__ZARR_GZIP,
  COMP__ZARR_ZLIB,
  COMP__ZARR_ZSTD,
  COMP__ZARR_BLOSC,
  COMP__ZARR_CRC32C
} comp__zarr_codec;

enum { COMP__ZARR_MOST_CODECS = 8 };

/* In the order of writing. */
typedef struct comp__zarr_codecs {
  int count;
  comp__zarr_codec list[COMP__ZARR_MOST_CODECS];
} comp__zarr_codecs;

/* The codec of that name, in metadata of either version. An error when it is not known, or when there are too many. */
comp_status comp__zarr_codecs_add(comp__zarr_codecs *codecs, const char *name);

/* What one thread decodes with: memory that is used again for the next chunk. Zero-initialise to start. */
typedef struct comp__zarr_scratch {
  comp__zarr_buffer stored; /* a chunk as the store has it */
  comp__zarr_buffer buffers[2];
  struct libdeflate_decompressor *inflater;
  struct ZSTD_DCtx_s *zstd;
} comp__zarr_scratch;

void comp__zarr_scratch_release(comp__zarr_scratch *scratch);

/* Decodes scratch->stored. The result is somewhere in the scratch, may be changed there, and lasts until its next use;
 * or, where that spares a copy, in `target`, which has room for `expected` bytes (NULL: none).
 * `expected`: how many bytes it must have; SIZE_MAX: not known (text). Nothing is allocated that the stored bytes could
 * not fill. The errors do not name the chunk. */
comp_status comp__zarr_decode(unsigned char **out, size_t *size, const comp__zarr_codecs *codecs,
                              comp__zarr_scratch *scratch, size_t expected, unsigned char *target);

/* The checksum of the codec crc32c. */
uint32_t comp__crc32c(const unsigned char *data, size_t size);

#endif
