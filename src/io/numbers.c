/* numbers.c: numbers of any stored kind to the four that are used in memory, and to text. */
#include "io/numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t comp__as_size(comp__as as) {
  return as == COMP__AS_F32 || as == COMP__AS_I32 ? 4 : 8;
}

comp__number_kind comp__as_kind(comp__as as) {
  static const comp__number_kind kinds[] = {
      [COMP__AS_F32] = COMP__NUMBER_FLOAT, [COMP__AS_F64] = COMP__NUMBER_FLOAT, [COMP__AS_I32] = COMP__NUMBER_INT,
      [COMP__AS_I64] = COMP__NUMBER_INT,   [COMP__AS_U64] = COMP__NUMBER_UINT,  [COMP__AS_RAW] = COMP__NUMBER_RAW};
  return kinds[as];
}

static float half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu, bits;
  if (exponent == 0) { /* zero or subnormal: mantissa x 2^-24 */
    float value = ldexpf((float)mantissa, -24);
    return sign ? -value : value;
  }
  if (exponent == 31)
    bits = sign | 0x7f800000u | mantissa << 13;
  else
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* One loop a pair of types, so that each vectorises. `from` has no alignment to rely on, so it is copied. */
#define CONVERT(from_type, to_type)                                                                                    \
  for (size_t i = 0; i < n; i++) {                                                                                     \
    from_type value;                                                                                                   \
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                                               \
    ((to_type *)to)[i] = (to_type)value;                                                                               \
  }                                                                                                                    \
  return n

/* The same where a value may not fit into the integers it becomes: stops there. */
#define CONVERT_CHECKED(from_type, to_type, fits)                                                                      \
  bool all_fit = true;                                                                                                 \
  for (size_t i = 0; i < n; i++) {                                                                                     \
    from_type value;                                                                                                   \
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                                               \
    all_fit &= (fits);                                                                                                 \
    ((to_type *)to)[i] = (to_type)value;                                                                               \
  }                                                                                                                    \
  for (size_t i = 0; !all_fit && i < n; i++) {                                                                         \
    from_type value;                                                                                                   \
    memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                                               \
    if (!(fits)) return i;                                                                                             \
  }                                                                                                                    \
  return n

/* A kind of number as one value to switch on. */
#define INT_OF(size)   (COMP__NUMBER_INT * 16 + (size))
#define UINT_OF(size)  (COMP__NUMBER_UINT * 16 + (size))
#define FLOAT_OF(size) (COMP__NUMBER_FLOAT * 16 + (size))

static size_t halves_to_f32(float *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint16_t half;
    memcpy(&half, (const char *)from + i * sizeof half, sizeof half);
    to[i] = half_to_float(half);
  }
  return n;
}

static size_t halves_to_f64(double *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint16_t half;
    memcpy(&half, (const char *)from + i * sizeof half, sizeof half);
    to[i] = half_to_float(half);
  }
  return n;
}

static size_t to_f32(void *to, const void *from, unsigned kind, size_t n) {
  switch (kind) {
  case INT_OF(1):
    CONVERT(int8_t, float);
  case INT_OF(2):
    CONVERT(int16_t, float);
  case INT_OF(4):
    CONVERT(int32_t, float);
  case INT_OF(8):
    CONVERT(int64_t, float);
  case UINT_OF(1):
    CONVERT(uint8_t, float);
  case UINT_OF(2):
    CONVERT(uint16_t, float);
  case UINT_OF(4):
    CONVERT(uint32_t, float);
  case UINT_OF(8):
    CONVERT(uint64_t, float);
  case FLOAT_OF(2):
    return halves_to_f32(to, from, n);
  case FLOAT_OF(4):
    CONVERT(float, float);
  case FLOAT_OF(8):
    CONVERT(double, float);
  default:
    return 0;
  }
}

static size_t to_f64(void *to, const void *from, unsigned kind, size_t n) {
  switch (kind) {
  case INT_OF(1):
    CONVERT(int8_t, double);
  case INT_OF(2):
    CONVERT(int16_t, double);
  case INT_OF(4):
    CONVERT(int32_t, double);
  case INT_OF(8):
    CONVERT(int64_t, double);
  case UINT_OF(1):
    CONVERT(uint8_t, double);
  case UINT_OF(2):
    CONVERT(uint16_t, double);
  case UINT_OF(4):
    CONVERT(uint32_t, double);
  case UINT_OF(8):
    CONVERT(uint64_t, double);
  case FLOAT_OF(2):
    return halves_to_f64(to, from, n);
  case FLOAT_OF(4):
    CONVERT(float, double);
  case FLOAT_OF(8):
    CONVERT(double, double);
  default:
    return 0;
  }
}

static size_t to_i32(void *to, const void *from, unsigned kind, size_t n) {
  switch (kind) {
  case INT_OF(1):
    CONVERT(int8_t, int32_t);
  case INT_OF(2):
    CONVERT(int16_t, int32_t);
  case INT_OF(4):
    CONVERT(int32_t, int32_t);
  case INT_OF(8): {
    CONVERT_CHECKED(int64_t, int32_t, value >= INT32_MIN && value <= INT32_MAX);
  }
  case UINT_OF(1):
    CONVERT(uint8_t, int32_t);
  case UINT_OF(2):
    CONVERT(uint16_t, int32_t);
  case UINT_OF(4): {
    CONVERT_CHECKED(uint32_t, int32_t, value <= INT32_MAX);
  }
  case UINT_OF(8): {
    CONVERT_CHECKED(uint64_t, int32_t, value <= INT32_MAX);
  }
  default:
    return 0;
  }
}

static size_t to_i64(void *to, const void *from, unsigned kind, size_t n) {
  switch (kind) {
  case INT_OF(1):
    CONVERT(int8_t, int64_t);
  case INT_OF(2):
    CONVERT(int16_t, int64_t);
  case INT_OF(4):
    CONVERT(int32_t, int64_t);
  case INT_OF(8):
    CONVERT(int64_t, int64_t);
  case UINT_OF(1):
    CONVERT(uint8_t, int64_t);
  case UINT_OF(2):
    CONVERT(uint16_t, int64_t);
  case UINT_OF(4):
    CONVERT(uint32_t, int64_t);
  case UINT_OF(8): {
    CONVERT_CHECKED(uint64_t, int64_t, value <= INT64_MAX);
  }
  default:
    return 0;
  }
}

size_t comp__numbers_convert(void *to, comp__as as, const void *from, comp__number number, size_t n) {
  if (as == COMP__AS_RAW) {
    memcpy(to, from, n * number.size);
    return n;
  }
  unsigned kind = (unsigned)number.kind * 16 + (unsigned)number.size;
  switch (as) {
  case COMP__AS_F32:
    return to_f32(to, from, kind, n);
  case COMP__AS_F64:
    return to_f64(to, from, kind, n);
  case COMP__AS_I32:
    return to_i32(to, from, kind, n);
  case COMP__AS_I64:
    return to_i64(to, from, kind, n);
  case COMP__AS_U64:
    if (kind != UINT_OF(8)) return 0;
    memcpy(to, from, n * sizeof(uint64_t));
    return n;
  case COMP__AS_RAW:
    break;
  }
  return 0;
}

void comp__numbers_swap(void *numbers, size_t size, size_t n) {
  unsigned char *p = numbers;
  for (size_t i = 0; i < n; i++, p += size)
    for (size_t a = 0, b = size - 1; a < b; a++, b--) {
      unsigned char byte = p[a];
      p[a] = p[b];
      p[b] = byte;
    }
}

static comp_status append_number(comp__strings *out, double value) {
  char text[40];
  if (value >= -1e15 && value <= 1e15 && value == (double)(long long)value)
    snprintf(text, sizeof text, "%lld", (long long)value);
  else
    for (int digits = 6; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, value);
      if (strtod(text, NULL) == value) break;
    }
  return comp__strings_append(out, text, strlen(text));
}

comp__as comp__as_text(comp__number number, bool boolean) {
  if (boolean || (number.kind != COMP__NUMBER_INT && number.kind != COMP__NUMBER_UINT)) return COMP__AS_F64;
  return number.kind == COMP__NUMBER_UINT && number.size == 8 ? COMP__AS_U64 : COMP__AS_I64;
}

comp_status comp__numbers_append_texts(comp__strings *out, const void *values, comp__as as, size_t n, bool boolean) {
  const double *floats = values;
  const int64_t *whole = values;
  const uint64_t *positive = values;
  comp_status status = COMP_OK;
  char text[32];
  for (size_t i = 0; i < n && status == COMP_OK; i++) {
    if (as == COMP__AS_F64 && !boolean) {
      status = append_number(out, floats[i]);
      continue;
    }
    if (as == COMP__AS_F64)
      snprintf(text, sizeof text, "%s", floats[i] != 0 ? "True" : "False");
    else if (as == COMP__AS_U64)
      snprintf(text, sizeof text, "%" PRIu64, positive[i]);
    else
      snprintf(text, sizeof text, "%" PRId64, whole[i]);
    status = comp__strings_append(out, text, strlen(text));
  }
  return status;
}

comp__stored comp__stored_of(comp__as *as, comp__number number, bool boolean) {
  static const comp__stored of_int[] = {[1] = COMP__STORED_I8, [2] = COMP__STORED_I16, [4] = COMP__STORED_I32},
                            of_uint[] = {[1] = COMP__STORED_U8, [2] = COMP__STORED_U16, [4] = COMP__STORED_U32};
  bool is_unsigned = number.kind == COMP__NUMBER_UINT;
  if (number.kind != COMP__NUMBER_INT && !is_unsigned) {
    *as = number.kind == COMP__NUMBER_FLOAT && number.size <= 4 ? COMP__AS_F32 : COMP__AS_F64;
    return *as == COMP__AS_F32 ? COMP__STORED_F32 : COMP__STORED_F64;
  }
  *as = number.size > 4 || (is_unsigned && number.size == 4) ? COMP__AS_I64 : COMP__AS_I32;
  if (boolean) return COMP__STORED_BOOL;
  if (number.size > 4 && is_unsigned) *as = COMP__AS_U64;
  if (number.size > 4) return is_unsigned ? COMP__STORED_U64 : COMP__STORED_I64;
  return is_unsigned ? of_uint[number.size] : of_int[number.size];
}

size_t comp__stored_size(comp__stored type) {
  static const unsigned char sizes[] = {
      [COMP__STORED_BOOL] = 1, [COMP__STORED_I8] = 1,  [COMP__STORED_I16] = 2, [COMP__STORED_I32] = 4,
      [COMP__STORED_I64] = 8,  [COMP__STORED_U8] = 1,  [COMP__STORED_U16] = 2, [COMP__STORED_U32] = 4,
      [COMP__STORED_U64] = 8,  [COMP__STORED_F32] = 4, [COMP__STORED_F64] = 8};
  return sizes[type];
}

void comp__stored_narrow(void *numbers, comp__stored type, comp__as as, size_t n) {
  const int32_t *narrow = numbers;
  const int64_t *wide = numbers;
  int8_t *bytes = numbers;
  int16_t *words = numbers;
  uint32_t *longs = numbers;
  if (as == COMP__AS_I32 && (type == COMP__STORED_BOOL || type == COMP__STORED_I8 || type == COMP__STORED_U8))
    for (size_t i = 0; i < n; i++) bytes[i] = (int8_t)narrow[i];
  else if (as == COMP__AS_I32 && (type == COMP__STORED_I16 || type == COMP__STORED_U16))
    for (size_t i = 0; i < n; i++) words[i] = (int16_t)narrow[i];
  else if (as == COMP__AS_I64 && type == COMP__STORED_U32)
    for (size_t i = 0; i < n; i++) longs[i] = (uint32_t)wide[i];
}
