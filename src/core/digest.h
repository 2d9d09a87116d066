/*
 * digest.h: a digest of 64 bits that tells whether bytes were changed by accident: XXH64 of the public xxHash
 * specification, with seed 0, at some gigabytes a second. It keeps nobody from changing them on purpose.
 *
 *     comp__digest digest;
 *     comp__digest_init(&digest);
 *     comp__digest_add(&digest, bytes, size);   // in as many parts as there are
 *     uint64_t value = comp__digest_end(&digest);
 */
#ifndef COMP_CORE_DIGEST_H
#define COMP_CORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

typedef struct comp__digest {
  uint64_t lanes[4];
  uint64_t length; /* bytes so far */
  uint8_t block[32];
} comp__digest;

void comp__digest_init(comp__digest *digest);
void comp__digest_add(comp__digest *digest, const void *data, size_t size);

/* The value of all that was added; more may follow. */
uint64_t comp__digest_end(const comp__digest *digest);

/* A simpler one, for hash tables and to tell one set of data from another: the bytes after those that gave `seed`.
 * Models, checkpoints and run folders keep its values: they stay the same from version to version, on machines of one
 * byte order. */
uint64_t comp__mix(uint64_t seed, const void *data, size_t size);

#endif
