/* sha256.h: the digest that tells one file from another (FIPS 180-4), as sha256sum prints it. */
#ifndef CLI_SHA256_H
#define CLI_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sha256 {
  uint32_t state[8];
  uint64_t length; /* bytes so far */
  uint8_t block[64];
} sha256;

void sha256_init(sha256 *digest);
void sha256_add(sha256 *digest, const void *data, size_t size);

/* 64 hexadecimal digits and a NUL. */
void sha256_end(sha256 *digest, char out[65]);

/* Adds the content of a file, or of the files of a folder in the order of their names. False: errno says why. */
bool sha256_add_path(sha256 *digest, const char *path);

#endif
