/* safetensors.c: writing and reading. */
#include "io/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"

/* A header longer than this is not one that we or any sane writer made. */
static const uint64_t MOST_HEADER = (uint64_t)1 << 30;

static comp_status no_memory(void) {
  return comp__error(COMP_ERR_MEMORY, "out of memory");
}

static comp_status make_header(char **out, const comp__array *arrays, size_t n_arrays, const comp__text *texts,
                               size_t n_texts) {
  json_t *root = json_object(), *map = json_object();
  int failed = !root || !map;
  for (size_t i = 0; !failed && i < n_texts; i++)
    if (texts[i].value) failed |= json_object_set_new(map, texts[i].key, json_string(texts[i].value));
  failed |= json_object_set_new(root, "__metadata__", map);
  size_t at = 0;
  for (size_t i = 0; !failed && i < n_arrays; i++) {
    size_t end = at + arrays[i].rows * arrays[i].cols * sizeof(float);
    failed |=
        json_object_set_new(root, arrays[i].name,
                            json_pack("{s:s, s:[I,I], s:[I,I]}", "dtype", "F32", "shape", (json_int_t)arrays[i].rows,
                                      (json_int_t)arrays[i].cols, "data_offsets", (json_int_t)at, (json_int_t)end));
    at = end;
  }
  *out = failed ? NULL : json_dumps(root, JSON_COMPACT);
  json_decref(root);
  return *out ? COMP_OK : no_memory();
}

static comp_status write_file(const char *path, const char *header, const comp__array *arrays, size_t n_arrays) {
  FILE *file = fopen(path, "wb");
  if (!file) return comp__error_errno("cannot write '%s'", path);
  size_t length = strlen(header), padded = (length + 7) / 8 * 8;
  unsigned char size[8];
  for (int b = 0; b < 8; b++) size[b] = (unsigned char)((uint64_t)padded >> (8 * b));
  bool good = fwrite(size, 1, 8, file) == 8 && fwrite(header, 1, length, file) == length;
  for (; good && length < padded; length++) good = fputc(' ', file) == ' ';
  for (size_t i = 0; good && i < n_arrays; i++) {
    size_t n = arrays[i].rows * arrays[i].cols;
    good = fwrite(arrays[i].values, sizeof(float), n, file) == n;
  }
  int why = errno;
  if (fclose(file) != 0 && good) {
    good = false;
    why = errno;
  }
  errno = why;
  return good ? COMP_OK : comp__error_errno("cannot write '%s'", path);
}

comp_status comp__safetensors_write(const char *path, const comp__array *arrays, size_t n_arrays,
                                    const comp__text *texts, size_t n_texts) {
  comp__output output = {0};
  char *header = NULL;
  comp_status status;
  COMP__TRY(make_header(&header, arrays, n_arrays, texts, n_texts));
  COMP__TRY(comp__output_begin(&output, path));
  COMP__TRY(write_file(output.temporary, header, arrays, n_arrays));
  COMP__TRY(comp__output_commit(&output));
done:
  comp__output_abort(&output);
  free(header);
  return status;
}

struct comp__safetensors {
  char *path;
  char *bytes; /* what lies behind the header */
  size_t size;
  json_t *header;
};

void comp__safetensors_free(comp__safetensors *file) {
  if (!file) return;
  comp__free(file->path);
  comp__free(file->bytes);
  json_decref(file->header);
  comp__free(file);
}

static comp_status read_exactly(int fd, void *to, size_t size, const char *path) {
  char *at = to;
  while (size > 0) {
    ssize_t n = read(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot read '%s'", path);
    if (n == 0) return comp__error(COMP_ERR_FORMAT, "'%s' is cut short", path);
    at += n;
    size -= (size_t)n;
  }
  return COMP_OK;
}

static comp_status read_header(comp__safetensors *file, int fd, uint64_t length) {
  char *text;
  json_error_t error;
  comp_status status = comp__alloc(&text, length, 1);
  if (status != COMP_OK) return status;
  status = read_exactly(fd, text, length, file->path);
  if (status == COMP_OK) {
    file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!file->header || !json_is_object(file->header))
      status = comp__error(COMP_ERR_FORMAT, "'%s' is not a safetensors file: its header is damaged (%s)", file->path,
                           file->header ? "not an object" : error.text);
  }
  comp__free(text);
  return status;
}

static comp_status read_parts(comp__safetensors *file, int fd) {
  struct stat info;
  unsigned char size[8];
  uint64_t length = 0;
  if (fstat(fd, &info) != 0) return comp__error_errno("cannot read '%s'", file->path);
  if (!S_ISREG(info.st_mode)) return comp__error(COMP_ERR_IO, "'%s' is not a regular file", file->path);
  if (info.st_size < 8)
    return comp__error(COMP_ERR_FORMAT, "'%s' is not a safetensors file: it is too short", file->path);
  comp_status status = read_exactly(fd, size, 8, file->path);
  if (status != COMP_OK) return status;
  for (int b = 0; b < 8; b++) length |= (uint64_t)size[b] << (8 * b);
  if (length > MOST_HEADER || length > (uint64_t)info.st_size - 8)
    return comp__error(COMP_ERR_FORMAT,
                       "'%s' is not a safetensors file, or it is cut short: its header should have %" PRIu64 " bytes",
                       file->path, length);
  status = read_header(file, fd, length);
  if (status != COMP_OK) return status;
  file->size = (size_t)info.st_size - 8 - length;
  status = comp__alloc(&file->bytes, file->size, 1);
  return status == COMP_OK ? read_exactly(fd, file->bytes, file->size, file->path) : status;
}

comp_status comp__safetensors_read(comp__safetensors **out, const char *path) {
  *out = NULL;
  comp__safetensors *file;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return comp__error_errno("cannot read '%s'", path);
  comp_status status = comp__calloc(&file, 1, sizeof *file);
  if (status == COMP_OK) status = comp__strdup(&file->path, path);
  if (status == COMP_OK) status = read_parts(file, fd);
  close(fd);
  if (status == COMP_OK)
    *out = file;
  else
    comp__safetensors_free(file);
  return status;
}

const char *comp__safetensors_text(const comp__safetensors *file, const char *key) {
  return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

static comp_status damaged(const comp__safetensors *file, const char *name, const char *why) {
  return comp__error(COMP_ERR_FORMAT, "'%s': array '%s' %s", file->path, name, why);
}

comp_status comp__safetensors_array(float *out, const comp__safetensors *file, const char *name, size_t rows,
                                    size_t cols) {
  const json_t *entry = json_object_get(file->header, name);
  if (!entry) return damaged(file, name, "is missing");
  const char *type = json_string_value(json_object_get(entry, "dtype"));
  if (!type || strcmp(type, "F32") != 0) return damaged(file, name, "is not of type F32");
  const json_t *shape = json_object_get(entry, "shape"), *offsets = json_object_get(entry, "data_offsets");
  if (json_array_size(shape) != 2 || json_array_size(offsets) != 2)
    return damaged(file, name, "has no shape of two numbers");
  json_int_t n = json_integer_value(json_array_get(shape, 0)), m = json_integer_value(json_array_get(shape, 1));
  json_int_t begin = json_integer_value(json_array_get(offsets, 0)),
             end = json_integer_value(json_array_get(offsets, 1));
  if (n < 0 || m < 0 || (uint64_t)n != rows || (uint64_t)m != cols) {
    char why[128];
    snprintf(why, sizeof why, "has shape %lld x %lld, expected %zu x %zu", (long long)n, (long long)m, rows, cols);
    return damaged(file, name, why);
  }
  size_t bytes = rows * cols * sizeof(float);
  if (begin < 0 || end < begin || (uint64_t)end > file->size || (uint64_t)(end - begin) != bytes)
    return damaged(file, name, "lies outside of the file, or has the wrong size");
  memcpy(out, file->bytes + begin, bytes);
  for (size_t i = 0; i < rows * cols; i++)
    if (!isfinite(out[i])) return damaged(file, name, "holds a value that is not a finite number");
  return COMP_OK;
}
