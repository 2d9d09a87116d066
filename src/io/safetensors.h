/*
 * safetensors.h: named arrays of f32 with a map of texts, in the safetensors format: 8 bytes (the header's length,
 * little-endian), a JSON header, the raw arrays. Other programs can open it without this one.
 *
 * The first of the texts is "digest": "xxh64:" and 16 hexadecimal digits, the digest of the whole file with these
 * digits as zeros.
 */
#ifndef COMP_IO_SAFETENSORS_H
#define COMP_IO_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

typedef struct comp__array {
  const char *name;
  const float *values; /* [rows, cols] */
  size_t rows, cols;
} comp__array;

typedef struct comp__text {
  const char *key, *value;
} comp__text;

/* Writes a file, complete or not at all. */
comp_status comp__safetensors_write(const char *path, const comp__array *arrays, size_t n_arrays,
                                    const comp__text *texts, size_t n_texts);

/* The same bytes in memory. They should be freed via comp__free(). */
comp_status comp__safetensors_encode(char **out, size_t *size, const comp__array *arrays, size_t n_arrays,
                                     const comp__text *texts, size_t n_texts);

typedef struct comp__safetensors comp__safetensors;

/* Whether a file looks like one, by its first bytes; false also when it cannot be read. */
bool comp__safetensors_probe(const char *path);

/* Reads and checks a whole file: the header, that the arrays fill what is behind it, and the digest, if there is one.
 * It should be freed via comp__safetensors_free(). */
comp_status comp__safetensors_read(comp__safetensors **out, const char *path);

/* As comp__safetensors_read() for bytes in memory, which are copied. `name` stands for the path in messages. */
comp_status comp__safetensors_decode(comp__safetensors **out, const void *bytes, size_t size, const char *name);
void comp__safetensors_free(comp__safetensors *file);

/* The text of a key, owned by the file; NULL when there is none. */
const char *comp__safetensors_text(const comp__safetensors *file, const char *key);

/* "xxh64:...", which agreed with the content, owned by the file; NULL when it has none. */
const char *comp__safetensors_digest(const comp__safetensors *file);

/* Whether there is an array of exactly this shape: the errors of comp__safetensors_array() but for its values, before
 * memory is taken for it. */
comp_status comp__safetensors_has(const comp__safetensors *file, const char *name, size_t rows, size_t cols);

/* Copies an array of exactly this shape. A missing one, one of another shape, or one with a value that is not finite is
 * an error that names it. */
comp_status comp__safetensors_array(float *out, const comp__safetensors *file, const char *name, size_t rows,
                                    size_t cols);

#endif
