/* text.c: arrays of text: of any length (vlen-utf8), or of one length (UTF-32 or bytes). */
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"
#include "io/zarr/array.h"

/* Chunks that are decoded before their texts are appended. */
enum { BATCH = 64 };

typedef struct text_reading {
  const comp__zarr_array *array;
  comp__zarr_grid grid;
  size_t base;
  comp__zarr_scratch *scratches;
  comp__zarr_buffer decoded[BATCH];
  bool found[BATCH];
} text_reading;

static comp_status load_units(void *arg, size_t begin, size_t end, int thread) {
  text_reading *r = arg;
  size_t width = r->array->meta.type.number.size;
  for (size_t i = begin; i < end; i++) {
    comp__zarr_unit unit = comp__zarr_grid_unit(&r->grid, r->base + i);
    unsigned char *data;
    size_t size;
    comp_status status = comp__zarr_grid_load(&data, &size, &r->grid, &unit, &r->scratches[thread],
                                              r->array->meta.encoding.vlen ? SIZE_MAX : r->grid.values * width, NULL);
    if (status != COMP_OK) return status;
    r->found[i] = data != NULL;
    if (!data) continue;
    status = comp__zarr_buffer_reserve(&r->decoded[i], size);
    if (status != COMP_OK) return status;
    memcpy(r->decoded[i].data, data, size);
  }
  return COMP_OK;
}

static comp_status append(comp__strings *out, const char *text, size_t length) {
  if (memchr(text, 0, length) || !comp__utf8_valid(text, length, NULL))
    return comp__error(COMP_ERR_FORMAT, "row %zu is not valid UTF-8 text", out->count);
  return comp__strings_append(out, text, length);
}

static uint32_t little32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* How many there are, then each behind its length. A chunk at the end may hold more than the array does. */
static comp_status append_vlen(comp__strings *out, const comp__zarr_buffer *chunk, size_t held, size_t wanted) {
  const unsigned char *at = chunk->data, *end = at + chunk->size;
  if (chunk->size < 4 || little32(at) != held)
    return comp__error(COMP_ERR_FORMAT, "a chunk does not hold %zu texts: the store is damaged", held);
  at += 4;
  for (size_t i = 0; i < wanted; i++) {
    size_t length = end - at < 4 ? SIZE_MAX : little32(at);
    if (length > (size_t)(end - at) - 4 || end - at < 4)
      return comp__error(COMP_ERR_FORMAT, "row %zu is cut off: the store is damaged", out->count);
    comp_status status = append(out, (const char *)at + 4, length);
    if (status != COMP_OK) return status;
    at += 4 + length;
  }
  return COMP_OK;
}

/* Writes a code point as UTF-8; returns its bytes, 0 when there is no such code point. */
static size_t put_utf8(char *to, uint32_t code) {
  if (code < 0x80) {
    to[0] = (char)code;
    return 1;
  }
  if (code > 0x10ffff) return 0;
  size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
  to[0] = (char)(lead[n] | code);
  return n;
}

static comp_status append_unicode(comp__strings *out, unsigned char *text, size_t width, bool swap, char *buffer) {
  size_t length = 0;
  if (swap) comp__numbers_swap(text, 4, width / 4);
  for (size_t i = 0; i < width / 4; i++) {
    uint32_t code;
    memcpy(&code, text + i * 4, 4);
    if (code == 0) break;
    size_t n = put_utf8(buffer + length, code);
    if (n == 0) return comp__error(COMP_ERR_FORMAT, "row %zu is not valid text", out->count);
    length += n;
  }
  return append(out, buffer, length);
}

comp_status comp__zarr_append_fixed(comp__strings *out, comp__zarr_type type, unsigned char *data, size_t n) {
  char *buffer = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&buffer, type.number.size + 1, 1)); /* UTF-8 is not longer than UTF-32 */
  for (size_t i = 0; i < n; i++) {
    unsigned char *text = data + i * type.number.size;
    if (type.kind == COMP__ZARR_UNICODE)
      COMP__TRY(append_unicode(out, text, type.number.size, type.number.swap, buffer));
    else
      COMP__TRY(append(out, (const char *)text, strnlen((const char *)text, type.number.size)));
  }
done:
  comp__free(buffer);
  return status;
}

static comp_status append_unit(comp__strings *out, text_reading *r, size_t i) {
  const comp__zarr_meta *meta = &r->array->meta;
  comp__zarr_unit unit = comp__zarr_grid_unit(&r->grid, r->base + i);
  size_t held = r->grid.values, origin = meta->rank ? unit.place[0] * held : 0;
  size_t rows = meta->rank ? meta->shape[0] : 1, wanted = rows - origin < held ? rows - origin : held;
  const char *fill = meta->fill_text ? meta->fill_text : "";
  comp_status status = COMP_OK;
  if (r->found[i])
    return meta->encoding.vlen ? append_vlen(out, &r->decoded[i], held, wanted)
                               : comp__zarr_append_fixed(out, meta->type, r->decoded[i].data, wanted);
  for (size_t k = 0; k < wanted && status == COMP_OK; k++) status = append(out, fill, strlen(fill));
  return status;
}

static comp_status read_batches(comp__strings *out, comp_context *context, text_reading *r) {
  const char *fill = r->array->meta.fill_text;
  size_t missing = 0;
  comp_status status = COMP_OK;
  for (; r->base < r->grid.total; r->base += BATCH) {
    size_t n = r->grid.total - r->base < BATCH ? r->grid.total - r->base : BATCH;
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(comp__parallel_try(context, n, 1, load_units, r));
    for (size_t i = 0; i < n; i++) {
      missing += !r->found[i];
      status = append_unit(out, r, i);
      if (status != COMP_OK) return comp__error_context(status, "%s", r->array->path);
    }
  }
  comp__zarr_array_tell_missing(context, r->array, missing, r->grid.total, fill && fill[0] ? fill : "empty text");
done:
  return status;
}

comp_status comp__zarr_array_read_texts(comp__strings *out, comp_context *context, const comp__zarr_array *array) {
  const comp__zarr_meta *meta = &array->meta;
  text_reading *r = NULL;
  bool text = meta->type.kind == COMP__ZARR_TEXT || meta->type.kind == COMP__ZARR_UNICODE ||
              meta->type.kind == COMP__ZARR_BYTES;
  comp_status status;
  if (!text) return comp__error(COMP_ERR_FORMAT, "%s does not hold text", array->path);
  if (meta->rank > 1) return comp__error(COMP_ERR_FORMAT, "%s has %d dimensions, not 1", array->path, meta->rank);
  COMP__TRY(comp__calloc(&r, 1, sizeof *r));
  r->array = array;
  COMP__TRY(comp__zarr_grid_init(&r->grid, context, array, 0, meta->rank ? meta->shape[0] : 1));
  COMP__TRY(comp__zarr_scratches_new(&r->scratches, context));
  COMP__TRY(read_batches(out, context, r));
done:
  if (r) {
    comp__zarr_scratches_free(r->scratches, context);
    comp__zarr_grid_release(&r->grid);
    for (size_t i = 0; i < BATCH; i++) comp__zarr_buffer_release(&r->decoded[i]);
    comp__free(r);
  }
  return status;
}
