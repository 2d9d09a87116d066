/* dtype.c: types of values, and fill values. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/zarr/meta.h"

static bool is_big_endian_machine(void) {
  const uint16_t one = 1;
  return *(const unsigned char *)&one == 0;
}

/* A length of fixed text that no sane store exceeds; more is a type that is not read. */
enum { LONGEST_TEXT = 1 << 20 };

static bool parse_length(size_t *out, const char *digits) {
  char *end;
  if (!isdigit((unsigned char)digits[0])) return false;
  unsigned long long value = strtoull(digits, &end, 10);
  *out = (size_t)value;
  return *end == '\0' && value <= LONGEST_TEXT;
}

static bool good_size(comp__number_kind kind, size_t size) {
  return size == 2 || size == 4 || size == 8 || (size == 1 && kind != COMP__NUMBER_FLOAT);
}

void comp__zarr_type_v2(comp__zarr_type *out, const char *name) {
  size_t size;
  bool swap = (name[0] == '>') != is_big_endian_machine();
  *out = (comp__zarr_type){COMP__ZARR_OTHER, {COMP__NUMBER_OTHER, 0, false}};
  if (strcmp(name, "|O") == 0) {
    out->kind = COMP__ZARR_TEXT; /* if its filter says so */
    return;
  }
  if (!name[0] || !strchr("<>|", name[0]) || !name[1] || !parse_length(&size, name + 2)) return;
  if (name[0] == '|') swap = false;
  switch (name[1]) {
  case 'b':
    if (size == 1) *out = (comp__zarr_type){COMP__ZARR_BOOL, {COMP__NUMBER_UINT, 1, false}};
    return;
  case 'i':
  case 'u':
  case 'f': {
    comp__number_kind kind = name[1] == 'i'   ? COMP__NUMBER_INT
                             : name[1] == 'u' ? COMP__NUMBER_UINT
                                              : COMP__NUMBER_FLOAT;
    if (good_size(kind, size)) *out = (comp__zarr_type){COMP__ZARR_NUMBER, {kind, size, swap && size > 1}};
    return;
  }
  case 'U':
    *out = (comp__zarr_type){COMP__ZARR_UNICODE, {COMP__NUMBER_RAW, size * 4, swap}};
    return;
  case 'S':
    *out = (comp__zarr_type){COMP__ZARR_BYTES, {COMP__NUMBER_RAW, size, false}};
    return;
  default:
    return;
  }
}

void comp__zarr_type_v3(comp__zarr_type *out, const json_t *json) {
  static const struct {
    const char *name;
    comp__zarr_type type;
  } types[] = {
      {"bool", {COMP__ZARR_BOOL, {COMP__NUMBER_UINT, 1, false}}},
      {"int8", {COMP__ZARR_NUMBER, {COMP__NUMBER_INT, 1, false}}},
      {"int16", {COMP__ZARR_NUMBER, {COMP__NUMBER_INT, 2, false}}},
      {"int32", {COMP__ZARR_NUMBER, {COMP__NUMBER_INT, 4, false}}},
      {"int64", {COMP__ZARR_NUMBER, {COMP__NUMBER_INT, 8, false}}},
      {"uint8", {COMP__ZARR_NUMBER, {COMP__NUMBER_UINT, 1, false}}},
      {"uint16", {COMP__ZARR_NUMBER, {COMP__NUMBER_UINT, 2, false}}},
      {"uint32", {COMP__ZARR_NUMBER, {COMP__NUMBER_UINT, 4, false}}},
      {"uint64", {COMP__ZARR_NUMBER, {COMP__NUMBER_UINT, 8, false}}},
      {"float16", {COMP__ZARR_NUMBER, {COMP__NUMBER_FLOAT, 2, false}}},
      {"float32", {COMP__ZARR_NUMBER, {COMP__NUMBER_FLOAT, 4, false}}},
      {"float64", {COMP__ZARR_NUMBER, {COMP__NUMBER_FLOAT, 8, false}}},
      {"string", {COMP__ZARR_TEXT, {COMP__NUMBER_OTHER, 0, false}}},
      {"variable_length_utf8", {COMP__ZARR_TEXT, {COMP__NUMBER_OTHER, 0, false}}},
  };
  const json_t *configuration = json_object_get(json, "configuration");
  const char *name = json_string_value(json_is_object(json) ? json_object_get(json, "name") : json);
  json_int_t bytes = json_integer_value(json_object_get(configuration, "length_bytes"));
  *out = (comp__zarr_type){COMP__ZARR_OTHER, {COMP__NUMBER_OTHER, 0, false}};
  for (size_t i = 0; name && i < sizeof types / sizeof *types; i++)
    if (strcmp(name, types[i].name) == 0) *out = types[i].type;
  if (!name || bytes < 0 || bytes > LONGEST_TEXT * 4) return;
  if (strcmp(name, "fixed_length_utf32") == 0 && bytes % 4 == 0)
    *out = (comp__zarr_type){COMP__ZARR_UNICODE, {COMP__NUMBER_RAW, (size_t)bytes, false}};
  else if (strcmp(name, "null_terminated_bytes") == 0 || strcmp(name, "fixed_length_bytes") == 0)
    *out = (comp__zarr_type){COMP__ZARR_BYTES, {COMP__NUMBER_RAW, (size_t)bytes, false}};
}

/* The nearest half-precision number, ties to even. */
static uint16_t half_of(double value) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  double size = fabs(value);
  if (isnan(value)) return 0x7e00;
  if (size >= 65520) return (uint16_t)(sign | 0x7c00);
  int exponent;
  frexp(size, &exponent);
  if (exponent < -13) exponent = -13;
  double steps = nearbyint(ldexp(size, 11 - exponent)); /* of the last place; 1024 .. 2048, fewer when subnormal */
  unsigned bits = (unsigned)(exponent + 13) * 1024 + (unsigned)steps;
  return (uint16_t)(sign | bits);
}

static void put_float(unsigned char *fill, size_t size, double value) {
  uint16_t half = half_of(value);
  float single = (float)value;
  if (size == 2) memcpy(fill, &half, 2);
  if (size == 4) memcpy(fill, &single, 4);
  if (size == 8) memcpy(fill, &value, 8);
}

static void put_int(unsigned char *fill, size_t size, uint64_t bits) {
  uint8_t one = (uint8_t)bits;
  uint16_t two = (uint16_t)bits;
  uint32_t four = (uint32_t)bits;
  if (size == 1) memcpy(fill, &one, 1);
  if (size == 2) memcpy(fill, &two, 2);
  if (size == 4) memcpy(fill, &four, 4);
  if (size == 8) memcpy(fill, &bits, 8);
}

/* "NaN", "Infinity", or the bytes as a hexadecimal number. */
static bool put_named(comp__zarr_meta *meta, const char *text) {
  comp__number number = meta->type.number;
  char *end;
  if (strcmp(text, "NaN") == 0)
    put_float(meta->fill, number.size, NAN);
  else if (strcmp(text, "Infinity") == 0)
    put_float(meta->fill, number.size, INFINITY);
  else if (strcmp(text, "-Infinity") == 0)
    put_float(meta->fill, number.size, -INFINITY);
  else if (strncmp(text, "0x", 2) == 0 && isxdigit((unsigned char)text[2])) {
    put_int(meta->fill, number.size, strtoull(text + 2, &end, 16));
    return *end == '\0';
  } else
    return false;
  return number.kind == COMP__NUMBER_FLOAT;
}

/* Whether a whole number fits into an integer type. */
static bool fits(comp__number number, long long value) {
  if (number.kind == COMP__NUMBER_UINT) return value >= 0 && (number.size == 8 || value >> (8 * number.size) == 0);
  if (number.size == 8) return true;
  long long most = 1LL << (8 * number.size - 1);
  return value >= -most && value < most;
}

comp_status comp__zarr_read_fill(comp__zarr_meta *meta, const json_t *fill) {
  comp__number number = meta->type.number;
  bool good = true;
  memset(meta->fill, 0, sizeof meta->fill);
  if (!fill || json_is_null(fill)) return COMP_OK;
  switch (meta->type.kind) {
  case COMP__ZARR_TEXT:
    /* A number is what version 2 writes for "nothing". */
    if (json_is_string(fill)) return comp__strdup(&meta->fill_text, json_string_value(fill));
    return COMP_OK;
  case COMP__ZARR_BOOL:
    meta->fill[0] = json_is_true(fill) || json_integer_value(fill) != 0;
    return COMP_OK;
  case COMP__ZARR_NUMBER:
    if (json_is_string(fill))
      good = put_named(meta, json_string_value(fill));
    else if (number.kind == COMP__NUMBER_FLOAT)
      put_float(meta->fill, number.size, json_number_value(fill));
    else if (json_is_integer(fill) && fits(number, json_integer_value(fill)))
      put_int(meta->fill, number.size, (uint64_t)json_integer_value(fill));
    else
      good = json_is_real(fill) && json_real_value(fill) == 0;
    break;
  case COMP__ZARR_RECORDS:
    if (!comp__zarr_fill_is_zero(fill)) meta->type.kind = COMP__ZARR_OTHER;
    return COMP_OK;
  default: /* missing chunks of these are empty text */
    return COMP_OK;
  }
  return good ? COMP_OK : comp__error(COMP_ERR_FORMAT, "its fill value is not one of its type");
}
