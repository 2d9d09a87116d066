/* codec.c: decompressing chunks, with full checks. */
#include "io/zarr/codec.h"

#include <blosc.h>
#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

#include "core/alloc.h"
#include "core/error.h"

/* How many bytes one stored byte can become at most: zstd says 128 KB in 4 bytes. And what text may have. */
enum { MOST_RATIO = 40000, SLACK = 1 << 16, MOST_INFLATED = 1032 };
static const size_t MOST_UNKNOWN = (size_t)1 << 31;

comp_status comp__zarr_codecs_add(comp__zarr_codecs *codecs, const char *name) {
  static const char *const names[] = {[COMP__ZARR_GZIP] = "gzip",
                                      [COMP__ZARR_ZLIB] = "zlib",
                                      [COMP__ZARR_ZSTD] = "zstd",
                                      [COMP__ZARR_BLOSC] = "blosc",
                                      [COMP__ZARR_CRC32C] = "crc32c"};
  static const char prefix[] = "numcodecs.";
  if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
  if (codecs->count == COMP__ZARR_MOST_CODECS) return comp__error(COMP_ERR_FORMAT, "it has too many codecs");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0) {
      codecs->list[codecs->count++] = (comp__zarr_codec)i;
      return COMP_OK;
    }
  return comp__error(COMP_ERR_UNAVAILABLE,
                     "its chunks are compressed by '%s', which is not known here (gzip, zlib, zstd, blosc are); write "
                     "it again with one of these",
                     name);
}

void comp__zarr_scratch_release(comp__zarr_scratch *scratch) {
  comp__zarr_buffer_release(&scratch->stored);
  comp__zarr_buffer_release(&scratch->buffers[0]);
  comp__zarr_buffer_release(&scratch->buffers[1]);
  if (scratch->inflater) libdeflate_free_decompressor(scratch->inflater);
  ZSTD_freeDCtx(scratch->zstd);
  *scratch = (comp__zarr_scratch){0};
}

/* Bytes that are being decoded, and where the next codec's result goes. */
typedef struct decoding {
  unsigned char *data;
  size_t size;
  size_t expected; /* of this codec's result; SIZE_MAX: not known */
  comp__zarr_scratch *scratch;
  unsigned char *target; /* where a result of the expected size may go; NULL: to the scratch */
} decoding;

static comp_status damaged(const char *what) {
  return comp__error(COMP_ERR_FORMAT, "it %s: the store is damaged", what);
}

/* The buffer that the data is not in, with room for `size` bytes, which the data can become. */
static comp_status reserve_buffer(comp__zarr_buffer **out, const decoding *d, size_t size, size_t ratio) {
  comp__zarr_buffer *buffers = d->scratch->buffers;
  *out = &buffers[d->data == buffers[0].data];
  if (size > SLACK && (size - SLACK) / ratio > d->size)
    return comp__error(COMP_ERR_FORMAT, "its %zu bytes cannot become the %zu that it should hold: the store is damaged",
                       d->size, size);
  return d->target && size == d->expected ? COMP_OK : comp__zarr_buffer_reserve(*out, size);
}

/* The same, or the target. */
static comp_status reserve(unsigned char **out, const decoding *d, size_t size, size_t ratio) {
  comp__zarr_buffer *buffer;
  comp_status status = reserve_buffer(&buffer, d, size, ratio);
  *out = d->target && size == d->expected ? d->target : buffer->data;
  return status;
}

static void take(decoding *d, unsigned char *data, size_t size) {
  d->data = data;
  d->size = size;
}

/* gzip and zlib do not say what they become: a guess, doubled while it is too little. */
static comp_status inflate(decoding *d, bool gzip) {
  comp__zarr_scratch *s = d->scratch;
  unsigned char *to;
  size_t size = d->expected != SIZE_MAX ? d->expected : d->size < SLACK ? SLACK : d->size * 4, actual = 0;
  if (!s->inflater) s->inflater = libdeflate_alloc_decompressor();
  if (!s->inflater) return comp__error(COMP_ERR_MEMORY, "out of memory");
  for (;; size *= 2) {
    comp_status status = reserve(&to, d, size, MOST_INFLATED * 2);
    if (status != COMP_OK) return status;
    enum libdeflate_result result = gzip ? libdeflate_gzip_decompress(s->inflater, d->data, d->size, to, size, &actual)
                                         : libdeflate_zlib_decompress(s->inflater, d->data, d->size, to, size, &actual);
    if (result == LIBDEFLATE_SUCCESS) break;
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE || d->expected != SIZE_MAX || size > MOST_UNKNOWN)
      return damaged("cannot be decompressed");
  }
  take(d, to, actual);
  return COMP_OK;
}

/* Frames without a size in front, as streaming writers make them. */
static comp_status stream_zstd(decoding *d) {
  comp__zarr_scratch *s = d->scratch;
  comp__zarr_buffer *to;
  ZSTD_inBuffer in = {d->data, d->size, 0};
  size_t used = 0, left = 1;
  if (ZSTD_isError(ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only))) return damaged("cannot be decompressed");
  d->target = NULL;
  comp_status status = reserve_buffer(&to, d, SLACK, MOST_RATIO);
  if (status != COMP_OK) return status;
  while (left != 0 || in.pos < in.size) {
    if (used == to->size) {
      if (to->size > MOST_UNKNOWN) return damaged("becomes too long");
      status = comp__grow(&to->data, &to->capacity, used, to->size * 2, 1);
      if (status != COMP_OK) return status;
      to->size *= 2;
    }
    ZSTD_outBuffer out = {to->data, to->size, used};
    size_t before = in.pos;
    left = ZSTD_decompressStream(s->zstd, &out, &in);
    if (ZSTD_isError(left) || (left != 0 && in.pos == before && out.pos == used))
      return damaged("cannot be decompressed");
    used = out.pos;
    if (used > d->expected) return damaged("becomes too long");
  }
  take(d, to->data, used);
  return COMP_OK;
}

static comp_status undo_zstd(decoding *d) {
  comp__zarr_scratch *s = d->scratch;
  unsigned char *to;
  if (!s->zstd) s->zstd = ZSTD_createDCtx();
  if (!s->zstd) return comp__error(COMP_ERR_MEMORY, "out of memory");
  unsigned long long size = ZSTD_getFrameContentSize(d->data, d->size);
  if (size == ZSTD_CONTENTSIZE_ERROR) return damaged("is not of zstd");
  if (size == ZSTD_CONTENTSIZE_UNKNOWN) return stream_zstd(d);
  if (d->expected != SIZE_MAX && size != d->expected) return damaged("has the wrong length");
  if (size > MOST_UNKNOWN && d->expected == SIZE_MAX) return damaged("becomes too long");
  comp_status status = reserve(&to, d, (size_t)size, MOST_RATIO);
  if (status != COMP_OK) return status;
  size_t actual = ZSTD_decompressDCtx(s->zstd, to, (size_t)size, d->data, d->size);
  if (ZSTD_isError(actual)) return damaged("cannot be decompressed");
  take(d, to, actual);
  return COMP_OK;
}

static comp_status undo_blosc(decoding *d) {
  unsigned char *to;
  size_t size;
  if (blosc_cbuffer_validate(d->data, d->size, &size) != 0) return damaged("is not of blosc");
  if (d->expected != SIZE_MAX && size != d->expected) return damaged("has the wrong length");
  comp_status status = reserve(&to, d, size, MOST_RATIO);
  if (status != COMP_OK) return status;
  if (blosc_decompress_ctx(d->data, to, size, 1) != (int)size) return damaged("cannot be decompressed");
  take(d, to, size);
  return COMP_OK;
}

uint32_t comp__crc32c(const unsigned char *data, size_t size) {
  uint32_t table[256], crc = UINT32_MAX;
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
    table[i] = value;
  }
  for (size_t i = 0; i < size; i++) crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
  return ~crc;
}

static comp_status undo_crc32c(decoding *d) {
  if (d->size < 4) return damaged("is too short");
  size_t size = d->size - 4;
  const unsigned char *sum = d->data + size;
  uint32_t stored = (uint32_t)sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;
  if (comp__crc32c(d->data, size) != stored) return damaged("fails its checksum");
  d->size = size;
  return COMP_OK;
}

static comp_status undo(decoding *d, comp__zarr_codec codec) {
  switch (codec) {
  case COMP__ZARR_GZIP:
    return inflate(d, true);
  case COMP__ZARR_ZLIB:
    return inflate(d, false);
  case COMP__ZARR_ZSTD:
    return undo_zstd(d);
  case COMP__ZARR_BLOSC:
    return undo_blosc(d);
  case COMP__ZARR_CRC32C:
    return undo_crc32c(d);
  }
  return COMP_OK;
}

/* Whether codecs before this one change the length, so that its result is not that of the whole chain. */
static bool length_is_final(const comp__zarr_codecs *codecs, int codec) {
  for (int i = 0; i < codec; i++)
    if (codecs->list[i] != COMP__ZARR_CRC32C) return false;
  return true;
}

/* What a codec's result has more than the chunk: the checksums that were added before it. */
static size_t checksums_before(const comp__zarr_codecs *codecs, int codec) {
  size_t size = 0;
  for (int i = 0; i < codec; i++) size += codecs->list[i] == COMP__ZARR_CRC32C ? 4 : 0;
  return size;
}

comp_status comp__zarr_decode(unsigned char **out, size_t *size, const comp__zarr_codecs *codecs,
                              comp__zarr_scratch *scratch, size_t expected, unsigned char *target) {
  decoding d = {scratch->stored.data, scratch->stored.size, SIZE_MAX, scratch, NULL};
  comp_status status = COMP_OK;
  for (int i = codecs->count - 1; i >= 0 && status == COMP_OK; i--) {
    d.expected =
        expected == SIZE_MAX || !length_is_final(codecs, i) ? SIZE_MAX : expected + checksums_before(codecs, i);
    d.target = i == 0 && d.expected != SIZE_MAX ? target : NULL;
    status = undo(&d, codecs->list[i]);
  }
  if (status == COMP_OK && expected != SIZE_MAX && d.size != expected)
    status = comp__error(COMP_ERR_FORMAT, "it has %zu bytes in place of %zu: the store is damaged", d.size, expected);
  *out = d.data;
  *size = d.size;
  return status;
}
