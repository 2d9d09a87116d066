/* digest.c: XXH64, as its specification has it: four lanes over blocks of 32 bytes, then the rest, then a stir; and a
 * simpler mixer. */
#include "core/digest.h"

#include <string.h>

static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;

static uint64_t turn(uint64_t x, int n) {
  return x << n | x >> (64 - n);
}

static uint64_t load(const uint8_t *p, int bytes) {
  uint64_t value = 0;
  for (int b = 0; b < bytes; b++) value |= (uint64_t)p[b] << (8 * b);
  return value;
}

static uint64_t mix(uint64_t lane, uint64_t input) {
  return turn(lane + input * P2, 31) * P1;
}

void comp__digest_init(comp__digest *d) {
  const uint64_t start[4] = {P1 + P2, P2, 0, 0 - P1};
  memcpy(d->lanes, start, sizeof start);
  d->length = 0;
}

/* Whole blocks; returns what is behind them. */
static const uint8_t *add_blocks(comp__digest *d, const uint8_t *p, size_t blocks) {
  uint64_t a = d->lanes[0], b = d->lanes[1], c = d->lanes[2], e = d->lanes[3];
  for (; blocks > 0; blocks--, p += 32) {
    a = mix(a, load(p, 8));
    b = mix(b, load(p + 8, 8));
    c = mix(c, load(p + 16, 8));
    e = mix(e, load(p + 24, 8));
  }
  d->lanes[0] = a, d->lanes[1] = b, d->lanes[2] = c, d->lanes[3] = e;
  return p;
}

void comp__digest_add(comp__digest *d, const void *data, size_t size) {
  const uint8_t *p = data;
  size_t used = (size_t)(d->length % 32);
  if (size == 0) return;
  d->length += size;
  if (used) {
    size_t part = size < 32 - used ? size : 32 - used;
    memcpy(d->block + used, p, part);
    if (used + part < 32) return;
    add_blocks(d, d->block, 1);
    p += part;
    size -= part;
  }
  p = add_blocks(d, p, size / 32);
  memcpy(d->block, p, size % 32);
}

static uint64_t merge_lanes(const uint64_t lanes[4]) {
  uint64_t h = turn(lanes[0], 1) + turn(lanes[1], 7) + turn(lanes[2], 12) + turn(lanes[3], 18);
  for (int i = 0; i < 4; i++) h = (h ^ mix(0, lanes[i])) * P1 + P4;
  return h;
}

uint64_t comp__digest_end(const comp__digest *d) {
  const uint8_t *p = d->block;
  size_t rest = (size_t)(d->length % 32);
  uint64_t h = (d->length >= 32 ? merge_lanes(d->lanes) : P5) + d->length;
  for (; rest >= 8; p += 8, rest -= 8) h = turn(h ^ mix(0, load(p, 8)), 27) * P1 + P4;
  for (; rest >= 4; p += 4, rest -= 4) h = turn(h ^ load(p, 4) * P1, 23) * P2 + P3;
  for (; rest > 0; p++, rest--) h = turn(h ^ *p * P5, 11) * P1;
  h = (h ^ h >> 33) * P2;
  h = (h ^ h >> 29) * P3;
  return h ^ h >> 32;
}

uint64_t comp__mix(uint64_t seed, const void *data, size_t size) {
  const uint8_t *p = data;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    seed = (seed ^ word) * 0x9e3779b97f4a7c15u;
    seed ^= seed >> 29;
  }
  for (; size > 0; size--, p++) seed = (seed ^ *p) * 0x100000001b3u;
  return seed;
}
