/*
 * amx_emulated.h: the tile instructions of gemm_amx.c in software. Included before it, it takes the place of
 * nn/amx_tiles.h. It gives the hardware's bytes:
 *   - TDPBF16PS sums the even and the odd elements of k apart, each from 0 with fused multiply-adds in order of k, adds
 * the two sums, and adds that to C;
 *   - operands that are subnormal count as 0 of their sign, subnormal results become 0 of their sign, rounding is to
 * nearest even, and the thread's own floating-point settings do not matter (here they must be the default ones);
 *   - a NaN operand comes out quiet; inf - inf and 0 inf make 0xffc00000.
 * What the hardware would fault on (no configuration, shapes that do not fit) traps.
 */
#ifndef TESTS_AMX_EMULATED_H
#define TESTS_AMX_EMULATED_H

#include "nn/avx512_emulated.h"

#define COMP_NN_AMX_TILES_H
#define AMX_TARGET

typedef struct tile_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} tile_config;

/* Of the calling thread. */
typedef struct tile_state {
  tile_config config;
  uint8_t row[8][16][64];
} tile_state;

static _Thread_local tile_state tiles_here;

static inline void tile_expect(int fine) {
  if (!fine) __builtin_trap();
}

static inline void tile_check(int t) {
  tile_expect(tiles_here.config.palette == 1 && tiles_here.config.rows[t] > 0);
}

static inline void tile_configure(const tile_config *config) {
  tile_expect(config->palette <= 1 && config->start_row == 0);
  for (int i = 0; i < 14; i++) tile_expect(config->reserved[i] == 0);
  for (int t = 0; t < 16; t++) {
    tile_expect(config->rows[t] <= 16 && config->row_bytes[t] <= 64);
    tile_expect(!config->rows[t] == !config->row_bytes[t] && (t < 8 || config->rows[t] == 0));
  }
  memset(&tiles_here, 0, sizeof tiles_here); /* LDTILECFG zeroes the tiles */
  tiles_here.config = *config;
}

static inline void tile_release(void) {
  memset(&tiles_here, 0, sizeof tiles_here);
}

static inline void tile_zero(int t) {
  tile_check(t);
  memset(tiles_here.row[t], 0, sizeof tiles_here.row[t]);
}

static inline void tile_load(int t, const void *at, size_t stride) {
  tile_check(t);
  for (size_t r = 0; r < tiles_here.config.rows[t]; r++)
    memcpy(tiles_here.row[t][r], (const char *)at + r * stride, tiles_here.config.row_bytes[t]);
}

static inline void tile_store(int t, void *at, size_t stride) {
  tile_check(t);
  for (size_t r = 0; r < tiles_here.config.rows[t]; r++)
    memcpy((char *)at + r * stride, tiles_here.row[t][r], tiles_here.config.row_bytes[t]);
}

static inline uint32_t tile_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float tile_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline float tile_flush(float x) {
  const uint32_t bits = tile_bits(x);
  return bits & 0x7f800000u ? x : tile_float(bits & 0x80000000u);
}

static inline float tile_quiet(float x) {
  return tile_float(tile_bits(x) | 0x00400000u);
}

static const uint32_t tile_no_number = 0xffc00000u;

/* a b + c of factors that hold bf16, rounded once, where the result is not plainly normal. The product is exact in
 * double; its sum with c is rounded to odd there and then to float, which is one rounding. */
static inline float tile_fma_special(float a, float b, float c) {
  if (isnan(a)) return tile_quiet(a);
  if (isnan(b)) return tile_quiet(b);
  if (isnan(c)) return tile_quiet(c);
  if ((isinf(a) && b == 0) || (isinf(b) && a == 0)) return tile_float(tile_no_number);
  const double p = (double)a * (double)b;
  if (isinf(p) && isinf(c) && !signbit(p) != !signbit(c)) return tile_float(tile_no_number);
  double s = p + (double)c;
  if (isfinite(s) && s != 0) {
    const double part = s - p, error = (p - (s - part)) + ((double)c - part); /* exact */
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    if (error != 0 && !(bits & 1)) {
      bits += (error > 0) == (s > 0) ? 1u : (uint64_t)-1;
      memcpy(&s, &bits, sizeof s);
    }
  }
  if (fabs(s) < 0x1p-126) /* whether it is too small is asked after rounding, as if exponents had no end */
    s = fabsf((float)(s * 0x1p100)) < 0x1p-26f ? copysign(0, s) : copysign(0x1p-126, s);
  return (float)s;
}

static inline float tile_fma(float a, float b, float c) {
  a = tile_flush(a), b = tile_flush(b), c = tile_flush(c);
  const float plain = fmaf(a, b, c);
  return fabsf(plain) > 0x1p-126f && isfinite(plain) ? plain : tile_fma_special(a, b, c);
}

static inline float tile_add(float a, float b) {
  a = tile_flush(a), b = tile_flush(b);
  if (isnan(a)) return tile_quiet(a);
  if (isnan(b)) return tile_quiet(b);
  if (isinf(a) && isinf(b) && !signbit(a) != !signbit(b)) return tile_float(tile_no_number);
  return tile_flush(a + b);
}

static inline float tile_half(const uint8_t *at) {
  uint16_t half;
  memcpy(&half, at, sizeof half);
  return emulated_bf16(half);
}

static inline float tile_dot(const uint8_t *row_a, int b, size_t column, size_t pairs) {
  float even = 0, odd = 0;
  for (size_t k = 0; k < pairs; k++) {
    const uint8_t *x = row_a + 4 * k, *y = tiles_here.row[b][k] + 4 * column;
    even = tile_fma(tile_half(x), tile_half(y), even);
    odd = tile_fma(tile_half(x + 2), tile_half(y + 2), odd);
  }
  return tile_add(even, odd);
}

static inline void tile_dot_bf16(int c, int a, int b) {
  tile_check(c), tile_check(a), tile_check(b);
  const tile_config *by = &tiles_here.config;
  tile_expect(c != a && c != b && a != b && by->rows[a] == by->rows[c] && by->row_bytes[b] == by->row_bytes[c] &&
              by->row_bytes[a] / 4 == by->rows[b]);
  for (size_t m = 0; m < by->rows[c]; m++)
    for (size_t n = 0; n < by->row_bytes[c] / 4u; n++) {
      float to;
      uint8_t *at = tiles_here.row[c][m] + 4 * n;
      memcpy(&to, at, sizeof to);
      to = tile_add(to, tile_dot(tiles_here.row[a][m], b, n, by->row_bytes[a] / 4u));
      memcpy(at, &to, sizeof to);
    }
}

#endif
