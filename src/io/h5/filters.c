/* filters.c: undoing the filters of a stored chunk, with full checks. */
#include "io/h5/filters.h"

#include <hdf5.h>
#include <libdeflate.h>
#include <liblzf/lzf.h>
#include <stdint.h>
#include <string.h>

#include "io/h5/h5.h"

/* HDF5's Fletcher checksum: sums of big-endian 16-bit words, an odd byte at the end as the high half of one. */
static uint32_t fletcher32(const unsigned char *data, size_t size) {
  uint32_t sum1 = 0, sum2 = 0;
  size_t words = size / 2;
  while (words > 0) {
    size_t n = words > 360 ? 360 : words; /* as many as cannot overflow 32 bits */
    words -= n;
    for (; n > 0; n--, data += 2) {
      sum1 += (uint32_t)(data[0] << 8 | data[1]);
      sum2 += sum1;
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  }
  if (size % 2) {
    sum1 += (uint32_t)data[0] << 8;
    sum2 += sum1;
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  }
  sum1 = (sum1 & 0xffff) + (sum1 >> 16);
  sum2 = (sum2 & 0xffff) + (sum2 >> 16);
  return sum2 << 16 | sum1;
}

static bool checksum_fits(const unsigned char *data, size_t size) {
  uint32_t sum = fletcher32(data, size), low = (uint32_t)data[size] | (uint32_t)data[size + 1] << 8;
  uint32_t stored = low | (uint32_t)data[size + 2] << 16 | (uint32_t)data[size + 3] << 24;
  /* HDF5 before 1.6.3 wrote the bytes of each half in the other order, and its readers accept both. */
  uint32_t old = (sum & 0x00ff00ffu) << 8 | (sum & 0xff00ff00u) >> 8;
  return sum == stored || old == stored;
}

/* Bytes that were grouped by their place within an element go back to their elements. */
static void unshuffle(unsigned char *to, const unsigned char *from, size_t size, size_t element) {
  size_t n = size / element, rest = n * element;
  if (element == 4) {
    for (size_t i = 0; i < n; i++) {
      to[i * 4] = from[i];
      to[i * 4 + 1] = from[n + i];
      to[i * 4 + 2] = from[2 * n + i];
      to[i * 4 + 3] = from[3 * n + i];
    }
  } else {
    for (size_t byte = 0; byte < element; byte++)
      for (size_t i = 0; i < n; i++) to[i * element + byte] = from[byte * n + i];
  }
  memcpy(to + rest, from + rest, size - rest);
}

bool comp__h5_can_undo(int id) {
  return id == H5Z_FILTER_FLETCHER32 || id == H5Z_FILTER_SHUFFLE || id == H5Z_FILTER_DEFLATE || id == COMP__H5_LZF;
}

const char *comp__h5_undo(int id, size_t element, struct libdeflate_decompressor *inflater, const unsigned char **data,
                          size_t *size, unsigned char *to, size_t capacity) {
  switch (id) {
  case H5Z_FILTER_FLETCHER32:
    if (*size < 4 || !checksum_fits(*data, *size - 4)) return "fails its checksum";
    *size -= 4;
    return NULL;
  case H5Z_FILTER_SHUFFLE:
    if (*size > capacity) return "is too long";
    if (element <= 1) return NULL;
    unshuffle(to, *data, *size, element);
    break;
  case H5Z_FILTER_DEFLATE:
    if (libdeflate_zlib_decompress(inflater, *data, *size, to, capacity, size) != LIBDEFLATE_SUCCESS)
      return "cannot be decompressed";
    break;
  default: /* lzf */
    if (*size > UINT32_MAX || capacity > UINT32_MAX) return "is too long";
    *size = lzf_decompress(*data, (unsigned)*size, to, (unsigned)capacity);
    if (*size == 0) return "cannot be decompressed";
    break;
  }
  *data = to;
  return NULL;
}
