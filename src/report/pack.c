/* pack.c: deflate and base64. */
#include "report/pack.h"

#include <libdeflate.h>
#include <stdint.h>

#include "core/alloc.h"
#include "core/error.h"

static comp_status to_base64(char **out, const uint8_t *data, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char *text;
  comp_status status = comp__alloc(&text, (size + 2) / 3 * 4 + 1, 1);
  if (status != COMP_OK) return status;
  char *c = text;
  for (size_t i = 0; i < size; i += 3) {
    uint32_t three = (uint32_t)data[i] << 16;
    if (i + 1 < size) three |= (uint32_t)data[i + 1] << 8;
    if (i + 2 < size) three |= data[i + 2];
    *c++ = digits[three >> 18];
    *c++ = digits[three >> 12 & 63];
    *c++ = i + 1 < size ? digits[three >> 6 & 63] : '=';
    *c++ = i + 2 < size ? digits[three & 63] : '=';
  }
  *c = '\0';
  *out = text;
  return COMP_OK;
}

comp_status comp__pack(char **out, const void *data, size_t size) {
  struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
  if (!compressor) return comp__error(COMP_ERR_MEMORY, "out of memory");
  uint8_t *packed = NULL;
  size_t bound = libdeflate_zlib_compress_bound(compressor, size);
  comp_status status = comp__alloc(&packed, bound, 1);
  if (status == COMP_OK) {
    size_t used = libdeflate_zlib_compress(compressor, data, size, packed, bound);
    status = to_base64(out, packed, used);
  }
  comp__free(packed);
  libdeflate_free_compressor(compressor);
  return status;
}
