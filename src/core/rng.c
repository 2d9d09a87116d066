/* rng.c: Philox4x64-10 (Random123) behind a few distributions. */
#include "core/rng.h"

#include <math.h>

/* Random123 warns under our flags; it is not ours to mend. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <Random123/philox.h>
#pragma GCC diagnostic pop

#include "core/alloc.h"

/* The last word of the counter tells the streams of the functions below apart. */
enum { STREAM_SCALAR = 0, STREAM_UNIFORM = 1, STREAM_NORMAL = 2 };

static philox4x64_ctr_t block(comp__rng rng, uint64_t column, uint64_t stream) {
  philox4x64_ctr_t counter = {{column, rng.row, rng.step, stream}};
  philox4x64_key_t key = {{rng.seed, rng.purpose}};
  return philox4x64(counter, key);
}

/* The 53 high bits, moved by half a step away from 0. */
static double to_uniform(uint64_t bits) {
  return ((double)(bits >> 11) + 0.5) * 0x1p-53;
}

/* 23 bits, so that the result plus half a step is exact in a float and never 1. */
static float to_uniform_f32(uint32_t bits) {
  return ((float)(bits >> 9) + 0.5f) * 0x1p-23f;
}

uint64_t comp__rng_bits(comp__rng rng, uint64_t column) {
  return block(rng, column, STREAM_SCALAR).v[0];
}

double comp__rng_uniform(comp__rng rng, uint64_t column) {
  return to_uniform(comp__rng_bits(rng, column));
}

uint64_t comp__rng_below(comp__rng rng, uint64_t column, uint64_t n) {
  return (uint64_t)(((unsigned __int128)comp__rng_bits(rng, column) * n) >> 64);
}

double comp__rng_normal(comp__rng rng, uint64_t column) {
  philox4x64_ctr_t bits = block(rng, column, STREAM_SCALAR);
  return sqrt(-2.0 * log(to_uniform(bits.v[0]))) * cos(2.0 * M_PI * to_uniform(bits.v[1]));
}

/* Eight 32-bit words a block; word w of a column lies in block column / 8. */
static uint32_t word(const philox4x64_ctr_t *bits, uint64_t column) {
  return (uint32_t)(bits->v[(column % 8) / 2] >> (32 * (column % 2)));
}

void comp__rng_fill_uniform(float *out, size_t n, comp__rng rng, uint64_t first) {
  philox4x64_ctr_t bits = {{0}};
  for (size_t i = 0; i < n; i++) {
    uint64_t column = first + i;
    if (i == 0 || column % 8 == 0) bits = block(rng, column / 8, STREAM_UNIFORM);
    out[i] = to_uniform_f32(word(&bits, column));
  }
}

/* Box-Muller on pairs of columns (2p, 2p + 1), which share a radius and an angle. */
void comp__rng_fill_normal(float *out, size_t n, comp__rng rng, uint64_t first) {
  philox4x64_ctr_t bits = {{0}};
  size_t i = 0;
  while (i < n) {
    uint64_t column = first + i;
    if (i == 0 || column % 8 < 2) bits = block(rng, column / 8, STREAM_NORMAL);
    uint32_t radius_bits = word(&bits, column & ~(uint64_t)1), angle_bits = word(&bits, column | 1);
    float radius = sqrtf(-2.0f * logf(((float)radius_bits + 0.5f) * 0x1p-32f));
    float angle = (float)(2.0 * M_PI) * to_uniform_f32(angle_bits);
    if (column % 2 == 0) out[i++] = radius * cosf(angle);
    if (i < n) out[i++] = radius * sinf(angle);
  }
}

void comp__rng_permutation(size_t *out, size_t n, comp__rng rng) {
  for (size_t i = 0; i < n; i++) out[i] = i;
  for (size_t i = n; i > 1; i--) {
    size_t j = (size_t)comp__rng_below(rng, i - 1, i), kept = out[i - 1];
    out[i - 1] = out[j];
    out[j] = kept;
  }
}

comp_status comp__rng_draw(size_t *out, size_t count, size_t n, comp__rng rng) {
  uint8_t *drawn = NULL;
  size_t first = 0, other = count;
  comp_status status = comp__calloc(&drawn, n, sizeof *drawn);
  if (status != COMP_OK) return status;
  comp__rng_permutation(out, n, rng);
  for (size_t i = 0; i < count; i++) drawn[out[i]] = 1;
  for (size_t i = 0; i < n; i++) out[drawn[i] ? first++ : other++] = i;
  comp__free(drawn);
  return COMP_OK;
}
