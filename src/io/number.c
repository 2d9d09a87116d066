/*
 * number.c: numbers from text and back.
 *
 * Reading: up to 19 digits fit an integer m, and the value is m x 10^e. For small m and e one double operation is
 * exact; for the rest of -19 <= e <= 19 a 128-bit integer product or quotient with a sticky bit is, so that strtod() is
 * left with the rare long ones.
 */
#include "io/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef unsigned __int128 u128;

enum { MOST_DIGITS = 19, MOST_TENS = 22, MOST_WIDE_TENS = 19 };

static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t WHOLE_TENS[] = {1u,
                                      10u,
                                      100u,
                                      1000u,
                                      10000u,
                                      100000u,
                                      1000000u,
                                      10000000u,
                                      100000000u,
                                      1000000000u,
                                      10000000000u,
                                      100000000000u,
                                      1000000000000u,
                                      10000000000000u,
                                      100000000000000u,
                                      1000000000000000u,
                                      10000000000000000u,
                                      100000000000000000u,
                                      1000000000000000000u,
                                      10000000000000000000u};

/* The nearest double to value x 2^exponent; `sticky`: the true value is a little larger, by less than one unit. */
static double round_wide(u128 value, int exponent, bool sticky) {
  uint64_t high = (uint64_t)(value >> 64);
  int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)value);
  int drop = bits - 54; /* keep 53 and the one that decides */
  if (drop > 0) {
    sticky |= (value & (((u128)1 << drop) - 1)) != 0;
    value >>= drop;
    exponent += drop;
  }
  uint64_t m = (uint64_t)value;
  if (bits >= 54) {
    bool up = (m & 1) && (sticky || (m & 2));
    m = (m >> 1) + up;
    exponent++;
  }
  return ldexp((double)m, exponent);
}

/* m x 10^e rounded once; |e| <= 19 and m > 0. */
static double scale_wide(uint64_t m, int e) {
  if (e >= 0) return round_wide((u128)m * WHOLE_TENS[e], 0, false);
  int shift = __builtin_clzll(m);
  u128 dividend = (u128)(m << shift) << 64; /* so that the quotient has 63 bits or more */
  uint64_t divisor = WHOLE_TENS[-e];
  u128 quotient = dividend / divisor;
  return round_wide(quotient, -64 - shift, quotient * divisor != dividend);
}

static locale_t plain_locale;
static pthread_once_t plain_locale_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void) {
  plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* For what is too long or too far out: slow, and right. The host program's locale must not change the point. */
static double parse_slow(const char *text) {
  pthread_once(&plain_locale_once, make_plain_locale);
  return plain_locale ? strtod_l(text, NULL, plain_locale) : strtod(text, NULL);
}

static const char *parse_infinity(const char *p) {
  if (strncasecmp(p, "inf", 3) != 0) return NULL;
  return strncasecmp(p + 3, "inity", 5) == 0 ? p + 8 : p + 3;
}

/* Reads an exponent's digits after the 'e'; NULL when there are none. */
static const char *parse_exponent(int *out, const char *p) {
  bool negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  const char *start = p;
  int value = 0;
  for (; *p >= '0' && *p <= '9'; p++)
    if (value < 100000) value = value * 10 + (*p - '0');
  *out = negative ? -value : value;
  return p == start ? NULL : p;
}

comp__number_kind comp__number_parse(double *out, const char **end, const char *text) {
  const char *p = text;
  bool negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  const char *start = p;
  uint64_t m = 0;
  unsigned digit;
  while ((digit = (unsigned)(*p - '0')) < 10) {
    m = m * 10 + digit;
    p++;
  }
  size_t digits = (size_t)(p - start);
  int exponent = 0;
  bool whole = true;
  if (*p == '.') {
    const char *point = p++;
    while ((digit = (unsigned)(*p - '0')) < 10) {
      m = m * 10 + digit;
      p++;
    }
    size_t decimals = (size_t)(p - point) - 1;
    digits += decimals;
    exponent = decimals > 100000 ? -100000 : -(int)decimals;
    whole = false;
  }
  if (digits == 0) {
    const char *after = whole ? parse_infinity(p) : NULL;
    *end = after ? after : text;
    *out = negative ? -INFINITY : INFINITY;
    return after ? COMP__NUMBER_REAL : COMP__NUMBER_NONE;
  }
  if ((*p | 0x20) == 'e') {
    int written;
    const char *after = parse_exponent(&written, p + 1);
    if (after) {
      p = after;
      exponent += written;
      whole = false;
    }
  }
  *end = p;
  if (digits > MOST_DIGITS || exponent < -MOST_TENS || exponent > MOST_TENS) {
    *out = parse_slow(text);
    return COMP__NUMBER_REAL;
  }
  double value;
  if (m <= (uint64_t)1 << 53)
    value = exponent < 0 ? (double)m / TENS[-exponent] : (double)m * TENS[exponent];
  else if (exponent == 0)
    value = (double)m;
  else if (exponent >= -MOST_WIDE_TENS && exponent <= MOST_WIDE_TENS)
    value = scale_wide(m, exponent);
  else {
    *out = parse_slow(text);
    return COMP__NUMBER_REAL;
  }
  *out = negative ? -value : value;
  return whole && m <= (uint64_t)1 << 53 ? COMP__NUMBER_WHOLE : COMP__NUMBER_REAL;
}

/* Eight digits (as values 0 .. 9, the first in the lowest byte) to a number, by pairs, fours and eights. */
static uint64_t join_digits(uint64_t digits) {
  digits = digits * 10 + (digits >> 8);
  const uint64_t mask = 0x000000ff000000ffu;
  return ((digits & mask) * 0x000f424000000064u + ((digits >> 16) & mask) * 0x0000271000000001u) >> 32;
}

/* All in one word and without a branch on the lengths: these vary from field to field, and a branch that cannot be
 * foreseen costs more than everything else here. */
comp__number_kind comp__number_parse_short(double *out, const char **end, const char *text) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t word;
  memcpy(&word, text, sizeof word);
  const uint64_t digits = word ^ 0x3030303030303030u;
  /* The high bit of each byte that is no digit; no sum leaves its byte. */
  uint64_t other = ((digits & 0x7f7f7f7f7f7f7f7fu) + 0x7676767676767676u) | digits;
  other &= 0x8080808080808080u;
  if (other == 0 || (other & 0x80)) return comp__number_parse(out, end, text); /* too long, or a sign */
  int whole = __builtin_ctzll(other) >> 3;                                     /* digits before what is no digit */
  uint64_t low = ((uint64_t)1 << (8 * whole)) - 1;
  uint64_t rest = other & (other - 1);
  bool point = text[whole] == '.';
  if (point && rest == 0) return comp__number_parse(out, end, text);
  int length = point ? __builtin_ctzll(rest) >> 3 : whole;
  char after = text[length];
  if ((after | 0x20) == 'e' || after == '.') return comp__number_parse(out, end, text);
  int n = point ? length - 1 : length; /* digits */
  uint64_t packed = point ? (digits & low) | (digits >> 8 & ~low) : digits;
  uint64_t m = join_digits(packed << (8 * (8 - n)));
  *out = (double)m / TENS[point ? length - whole - 1 : 0];
  *end = text + length;
  return point ? COMP__NUMBER_REAL : COMP__NUMBER_WHOLE;
#else
  return comp__number_parse(out, end, text);
#endif
}

static size_t put_digits(char *out, uint64_t value) {
  char reversed[24];
  size_t n = 0;
  do reversed[n++] = (char)('0' + value % 10);
  while (value /= 10);
  for (size_t i = 0; i < n; i++) out[i] = reversed[n - 1 - i];
  return n;
}

static char *put_zeros(char *p, int n) {
  for (; n > 0; n--) *p++ = '0';
  return p;
}

static char *put_text(char *p, const char *text, int n) {
  if (n <= 0) return p;
  memcpy(p, text, (size_t)n);
  return p + n;
}

/* Writes 0.digits x 10^point with a plain point where that is readable, else with an exponent. */
static size_t put_decimal(char *out, uint64_t digits, int point) {
  char text[24] = {0};
  while (digits % 10 == 0) digits /= 10;
  int n = (int)put_digits(text, digits);
  char *p = out;
  if (point <= -4 || point > 9) {
    *p++ = text[0];
    if (n > 1) *p++ = '.';
    p = put_text(p, text + 1, n - 1);
    p += sprintf(p, "e%+03d", point - 1);
  } else if (point <= 0) {
    p = put_zeros(put_text(p, "0.", 2), -point);
    p = put_text(p, text, n);
  } else {
    p = put_zeros(put_text(p, text, n < point ? n : point), point - n);
    if (n > point) *p++ = '.';
    p = put_text(p, text + point, n - point);
  }
  return (size_t)(p - out);
}

/* The shortest digits for a value in 1e-12 .. 1e12, where the powers of ten of the search are exact doubles. */
static size_t put_shortest(char *out, float value) {
  int point = (int)floor(log10((double)value)) + 1;
  for (int n = 1; n <= 9; n++) {
    int scale = n - point;
    double digits = nearbyint(scale >= 0 ? (double)value * TENS[scale] : (double)value / TENS[-scale]);
    double back = scale >= 0 ? digits / TENS[scale] : digits * TENS[-scale];
    if ((float)back != value) continue;
    uint64_t whole = (uint64_t)digits;
    int length = 0;
    for (uint64_t rest = whole; rest; rest /= 10) length++;
    return put_decimal(out, whole, point + length - n);
  }
  return 0;
}

size_t comp__number_format(char *out, float value) {
  char *p = out;
  if (isnan(value)) return (size_t)(put_text(out, "nan", 3) - out);
  if (signbit(value)) {
    *p++ = '-';
    value = -value;
  }
  if (value < 16777216.0f && value == (float)(int32_t)value)
    return (size_t)(p - out) + put_digits(p, (uint64_t)(int32_t)value);
  size_t n = value >= 1e-12f && value < 1e12f ? put_shortest(p, value) : 0;
  for (int digits = 1; n == 0 && digits <= 9; digits++) { /* the far ends; also infinity, as "inf" */
    int length = snprintf(p, COMP__NUMBER_SIZE - 1, "%.*g", digits, (double)value);
    if (digits == 9 || (float)parse_slow(p) == value) n = (size_t)length;
  }
  return (size_t)(p - out) + n;
}
