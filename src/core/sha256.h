/* sha256.h: the digest that tells one file from another (FIPS 180-4), as sha256sum prints it. */
#ifndef COMP_CORE_SHA256_H
#define COMP_CORE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

typedef struct comp__sha256 {
  uint32_t state[8];
  uint64_t length; /* bytes so far */
  uint8_t block[64];
} comp__sha256;

void comp__sha256_init(comp__sha256 *digest);
void comp__sha256_add(comp__sha256 *digest, const void *data, size_t size);

/* 64 hexadecimal digits and a NUL. */
void comp__sha256_end(comp__sha256 *digest, char out[65]);

/* Adds the content of a file, or of the files of a folder in the order of their names. With `deep`, also
 * of all folders in it, and their names. */
comp_status comp__sha256_add_path(comp__sha256 *digest, const char *path, bool deep);

#endif
