/* sha256.c: FIPS 180-4, sections 4.1.2 to 6.2. */
#include "core/sha256.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void comp__sha256_init(comp__sha256 *d) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(d->state, start, sizeof start);
  d->length = 0;
}

static uint32_t turn(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static void add_block(comp__sha256 *d, const uint8_t *p) {
  uint32_t w[64], s[8];
  for (int i = 0; i < 16; i++, p += 4)
    w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
  for (int i = 16; i < 64; i++) {
    uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + a + w[i - 7] + b;
  }
  memcpy(s, d->state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t e = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25), choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t a = turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t t = s[7] + e + choice + constants[i] + w[i];
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t;
    s[0] = t + a + majority;
  }
  for (int i = 0; i < 8; i++) d->state[i] += s[i];
}

void comp__sha256_add(comp__sha256 *d, const void *data, size_t size) {
  const uint8_t *p = data;
  size_t used = (size_t)(d->length % 64);
  d->length += size;
  if (used) {
    size_t part = size < 64 - used ? size : 64 - used;
    memcpy(d->block + used, p, part);
    p += part;
    size -= part;
    if (used + part < 64) return;
    add_block(d, d->block);
  }
  for (; size >= 64; p += 64, size -= 64) add_block(d, p);
  memcpy(d->block, p, size);
}

void comp__sha256_end(comp__sha256 *d, char out[65]) {
  uint8_t tail[72] = {0x80};
  uint64_t bits = d->length * 8;
  size_t pad = 1 + (119 - (size_t)(d->length % 64)) % 64;
  for (int i = 0; i < 8; i++) tail[pad + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
  comp__sha256_add(d, tail, pad + 8);
  for (int i = 0; i < 8; i++) snprintf(out + 8 * i, 9, "%08x", (unsigned)d->state[i]);
}

static comp_status add_file(comp__sha256 *d, const char *path) {
  enum { SIZE = 1 << 16 };
  uint8_t *buffer = NULL;
  size_t got;
  FILE *file = fopen(path, "rb");
  if (!file) return comp__error_errno("cannot read '%s'", path);
  comp_status status = comp__alloc(&buffer, SIZE, 1);
  while (buffer && (got = fread(buffer, 1, SIZE, file)) > 0) comp__sha256_add(d, buffer, got);
  if (status == COMP_OK && ferror(file)) status = comp__error_errno("cannot read '%s'", path);
  comp__free(buffer);
  fclose(file);
  return status;
}

static comp_status add_folder(comp__sha256 *d, const char *path, bool deep);

/* `deep`: names count, and folders. Links to folders are not followed. */
static comp_status add_entry(comp__sha256 *d, const char *folder, const char *name, bool deep) {
  struct stat info;
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return comp__error(COMP_ERR_IO, "cannot read '%.200s...': its name is too long", path);
  if (stat(path, &info) != 0) return comp__error_errno("cannot read '%s'", path);
  if (S_ISREG(info.st_mode)) {
    if (deep) comp__sha256_add(d, name, strlen(name) + 1);
    return add_file(d, path);
  }
  if (!deep || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
    return COMP_OK;
  comp__sha256_add(d, name, strlen(name) + 1);
  return add_folder(d, path, true);
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static comp_status add_folder(comp__sha256 *d, const char *path, bool deep) {
  struct dirent **entries;
  int n = scandir(path, &entries, NULL, deep ? by_bytes : alphasort);
  if (n < 0) return comp__error_errno("cannot read '%s'", path);
  comp_status status = COMP_OK;
  for (int i = 0; i < n; i++) {
    if (status == COMP_OK) status = add_entry(d, path, entries[i]->d_name, deep);
    free(entries[i]);
  }
  free(entries);
  return status;
}

comp_status comp__sha256_add_path(comp__sha256 *d, const char *path, bool deep) {
  struct stat info;
  if (stat(path, &info) != 0) return comp__error_errno("cannot read '%s'", path);
  return S_ISDIR(info.st_mode) ? add_folder(d, path, deep) : add_file(d, path);
}
