/* safetensors.c: writing and reading. */
#include "io/safetensors.h"

#include <assert.h>
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
#include "core/digest.h"
#include "core/error.h"
#include "core/file.h"

/* A header longer than this is not one that we or any sane writer made. */
static const uint64_t MOST_HEADER = (uint64_t)1 << 30;

static comp_status no_memory(void) {
  return comp__error(COMP_ERR_MEMORY, "out of memory");
}

/* How a header of ours begins. The digits of the digest are 0 while it is taken. */
static const char SEAL[] = "{\"__metadata__\":{\"digest\":\"xxh64:";
enum { SEAL_LENGTH = sizeof SEAL - 1, DIGITS = 16 };
static const char NO_DIGEST[] = "xxh64:0000000000000000";

static comp_status make_header(char **out, const comp__array *arrays, size_t n_arrays, const comp__text *texts,
                               size_t n_texts) {
  json_t *root = json_object(), *map = json_object();
  int failed = !root || !map || json_object_set_new(map, "digest", json_string(NO_DIGEST));
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

/* All that comes before the arrays: the length, the header, spaces up to a multiple of 8. */
static comp_status make_start(char **out, size_t *size, const char *header) {
  size_t length = strlen(header), padded = (length + 7) / 8 * 8;
  comp_status status = comp__alloc(out, 8 + padded, 1);
  if (status != COMP_OK) return status;
  for (int b = 0; b < 8; b++) (*out)[b] = (char)((uint64_t)padded >> (8 * b));
  memcpy(*out + 8, header, length);
  memset(*out + 8 + length, ' ', padded - length);
  *size = 8 + padded;
  return COMP_OK;
}

static void seal(char *start, size_t size, const comp__array *arrays, size_t n_arrays) {
  comp__digest digest;
  char digits[DIGITS + 1];
  assert(memcmp(start + 8, SEAL, SEAL_LENGTH) == 0);
  comp__digest_init(&digest);
  comp__digest_add(&digest, start, size);
  for (size_t i = 0; i < n_arrays; i++)
    comp__digest_add(&digest, arrays[i].values, arrays[i].rows * arrays[i].cols * sizeof(float));
  snprintf(digits, sizeof digits, "%016" PRIx64, comp__digest_end(&digest));
  memcpy(start + 8 + SEAL_LENGTH, digits, DIGITS);
}

static comp_status write_file(const char *path, const char *start, size_t size, const comp__array *arrays,
                              size_t n_arrays) {
  FILE *file = fopen(path, "wb");
  if (!file) return comp__error_errno("cannot write '%s'", path);
  bool good = fwrite(start, 1, size, file) == size;
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

/* All before the arrays, with the digest of everything. */
static comp_status make_sealed_start(char **out, size_t *size, const comp__array *arrays, size_t n_arrays,
                                     const comp__text *texts, size_t n_texts) {
  char *header = NULL;
  comp_status status = make_header(&header, arrays, n_arrays, texts, n_texts);
  if (status == COMP_OK) status = make_start(out, size, header);
  if (status == COMP_OK) seal(*out, *size, arrays, n_arrays);
  free(header);
  return status;
}

comp_status comp__safetensors_encode(char **out, size_t *size, const comp__array *arrays, size_t n_arrays,
                                     const comp__text *texts, size_t n_texts) {
  *out = NULL;
  char *start = NULL;
  size_t before, total;
  comp_status status;
  COMP__TRY(make_sealed_start(&start, &before, arrays, n_arrays, texts, n_texts));
  total = before;
  for (size_t i = 0; i < n_arrays; i++) total += arrays[i].rows * arrays[i].cols * sizeof(float);
  COMP__TRY(comp__alloc(out, total, 1));
  memcpy(*out, start, before);
  *size = before;
  for (size_t i = 0; i < n_arrays; i++) {
    size_t bytes = arrays[i].rows * arrays[i].cols * sizeof(float);
    memcpy(*out + *size, arrays[i].values, bytes);
    *size += bytes;
  }
done:
  comp__free(start);
  return status;
}

comp_status comp__safetensors_write(const char *path, const comp__array *arrays, size_t n_arrays,
                                    const comp__text *texts, size_t n_texts) {
  comp__output output = {0};
  char *start = NULL;
  size_t size;
  comp_status status;
  COMP__TRY(make_sealed_start(&start, &size, arrays, n_arrays, texts, n_texts));
  COMP__TRY(comp__output_begin(&output, path));
  COMP__TRY(write_file(output.temporary, start, size, arrays, n_arrays));
  COMP__TRY(comp__output_commit(&output));
done:
  comp__output_abort(&output);
  comp__free(start);
  return status;
}

struct comp__safetensors {
  char *path;
  char *bytes; /* what lies behind the header */
  size_t size;
  json_t *header;
  char digest[sizeof NO_DIGEST]; /* "": it has none */
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

static comp_status changed(const comp__safetensors *file, const char *how) {
  return comp__error(COMP_ERR_FORMAT,
                     "'%s' was changed or damaged since it was written: %s; take another copy, or make it again",
                     file->path, how);
}

/* The arrays lie one behind the other and end where the file ends, as safetensors wants it. */
static comp_status check_extent(const comp__safetensors *file) {
  const char *name;
  json_t *entry;
  uint64_t sum = 0;
  json_object_foreach(file->header, name, entry) {
    if (strcmp(name, "__metadata__") == 0) continue;
    const json_t *offsets = json_object_get(entry, "data_offsets");
    json_int_t begin = json_integer_value(json_array_get(offsets, 0)),
               end = json_integer_value(json_array_get(offsets, 1));
    if (begin < 0 || end < begin || (uint64_t)end > file->size)
      return comp__error(COMP_ERR_FORMAT, "'%s': array '%s' lies outside of the file, which is cut short or damaged",
                         file->path, name);
    sum += (uint64_t)(end - begin);
  }
  if (sum == file->size) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT,
                     "'%s' is damaged: its arrays have %" PRIu64 " bytes together, and there are %zu behind its header",
                     file->path, sum, file->size);
}

/* Compares the digest, where there is one, with the content. `start` is all before the arrays; its digits become 0. */
static comp_status check_digest(comp__safetensors *file, char *start, size_t size) {
  comp__digest digest;
  char digits[DIGITS + 1], *found = start + 8 + SEAL_LENGTH;
  if (!comp__safetensors_text(file, "digest")) return COMP_OK;
  if (size < 8 + SEAL_LENGTH + DIGITS || memcmp(start + 8, SEAL, SEAL_LENGTH) != 0)
    return changed(file, "its digest is not where it was put");
  memcpy(file->digest, NO_DIGEST, sizeof NO_DIGEST);
  memcpy(file->digest + sizeof NO_DIGEST - 1 - DIGITS, found, DIGITS);
  memset(found, '0', DIGITS);
  comp__digest_init(&digest);
  comp__digest_add(&digest, start, size);
  comp__digest_add(&digest, file->bytes, file->size);
  snprintf(digits, sizeof digits, "%016" PRIx64, comp__digest_end(&digest));
  if (strcmp(file->digest + sizeof NO_DIGEST - 1 - DIGITS, digits) == 0) return COMP_OK;
  return changed(file, "its digest does not agree with its content");
}

static comp_status parse_header(comp__safetensors *file, const char *text, size_t length) {
  json_error_t error;
  file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
  if (json_is_object(file->header)) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "'%s' is not a safetensors file: its header is damaged (%s)", file->path,
                     file->header ? "not an object" : error.text);
}

static comp_status header_length(uint64_t *out, const comp__safetensors *file, const char size[8], uint64_t available) {
  *out = 0;
  for (int b = 0; b < 8; b++) *out |= (uint64_t)(unsigned char)size[b] << (8 * b);
  if (*out <= MOST_HEADER && *out <= available) return COMP_OK;
  if (memcmp(size, "\x89HDF\r\n\x1a\n", 8) == 0)
    return comp__error(COMP_ERR_FORMAT,
                       "'%s' is an HDF5 file, such as an .h5ad, and not a model; name a file that comp train wrote",
                       file->path);
  return comp__error(COMP_ERR_FORMAT,
                     "'%s' is not a safetensors file, or it is cut short: its header should have %" PRIu64 " bytes",
                     file->path, *out);
}

/* The checks of all that was read: `start` is what comes before the arrays. */
static comp_status check_parts(comp__safetensors *file, char *start, size_t size) {
  comp_status status = parse_header(file, start + 8, size - 8);
  if (status == COMP_OK) status = check_extent(file);
  if (status == COMP_OK) status = check_digest(file, start, size);
  return status;
}

static comp_status too_short(const comp__safetensors *file) {
  return comp__error(COMP_ERR_FORMAT, "'%s' is not a safetensors file: it is too short", file->path);
}

static comp_status read_parts(comp__safetensors *file, int fd) {
  comp_status status;
  struct stat info;
  char size[8], *start = NULL;
  uint64_t length;
  if (fstat(fd, &info) != 0) return comp__error_errno("cannot read '%s'", file->path);
  if (!S_ISREG(info.st_mode)) return comp__error(COMP_ERR_IO, "'%s' is not a regular file", file->path);
  if (info.st_size < 8) return too_short(file);
  COMP__TRY(read_exactly(fd, size, 8, file->path));
  COMP__TRY(header_length(&length, file, size, (uint64_t)info.st_size - 8));
  COMP__TRY(comp__alloc(&start, 8 + length, 1));
  memcpy(start, size, 8);
  COMP__TRY(read_exactly(fd, start + 8, length, file->path));
  file->size = (size_t)info.st_size - 8 - length;
  COMP__TRY(comp__alloc(&file->bytes, file->size, 1));
  COMP__TRY(read_exactly(fd, file->bytes, file->size, file->path));
  COMP__TRY(check_parts(file, start, 8 + length));
done:
  comp__free(start);
  return status;
}

static comp_status copy_parts(comp__safetensors *file, const char *bytes, size_t size) {
  comp_status status;
  char *start = NULL;
  uint64_t length;
  if (size < 8) return too_short(file);
  COMP__TRY(header_length(&length, file, bytes, size - 8));
  COMP__TRY(comp__alloc(&start, 8 + length, 1));
  memcpy(start, bytes, 8 + length);
  file->size = size - 8 - length;
  COMP__TRY(comp__alloc(&file->bytes, file->size, 1));
  memcpy(file->bytes, bytes + 8 + length, file->size);
  COMP__TRY(check_parts(file, start, 8 + length));
done:
  comp__free(start);
  return status;
}

comp_status comp__safetensors_decode(comp__safetensors **out, const void *bytes, size_t size, const char *name) {
  *out = NULL;
  comp__safetensors *file;
  comp_status status = comp__calloc(&file, 1, sizeof *file);
  if (status != COMP_OK) return status;
  status = comp__strdup(&file->path, name);
  if (status == COMP_OK) status = copy_parts(file, bytes, size);
  if (status == COMP_OK)
    *out = file;
  else
    comp__safetensors_free(file);
  return status;
}

bool comp__safetensors_probe(const char *path) {
  unsigned char head[9];
  FILE *file = fopen(path, "rb");
  bool whole = file && fread(head, 1, sizeof head, file) == sizeof head;
  if (file) fclose(file);
  /* No text begins so, and none of the formats of data. */
  return whole && head[3] < 64 && head[4] == 0 && head[5] == 0 && head[6] == 0 && head[7] == 0 && head[8] == '{';
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

const char *comp__safetensors_digest(const comp__safetensors *file) {
  return file->digest[0] ? file->digest : NULL;
}

static comp_status damaged(const comp__safetensors *file, const char *name, const char *why) {
  return comp__error(COMP_ERR_FORMAT, "'%s': array '%s' %s", file->path, name, why);
}

/* Where an array of exactly this shape is. */
static comp_status find_array(const char **out, const comp__safetensors *file, const char *name, size_t rows,
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
  if (begin < 0 || end < begin || (uint64_t)end > file->size || (uint64_t)(end - begin) != rows * cols * sizeof(float))
    return damaged(file, name, "lies outside of the file, or has the wrong size");
  *out = file->bytes + begin;
  return COMP_OK;
}

comp_status comp__safetensors_has(const comp__safetensors *file, const char *name, size_t rows, size_t cols) {
  const char *from = NULL;
  return find_array(&from, file, name, rows, cols);
}

comp_status comp__safetensors_array(float *out, const comp__safetensors *file, const char *name, size_t rows,
                                    size_t cols) {
  const char *from = NULL;
  comp_status status = find_array(&from, file, name, rows, cols);
  if (status != COMP_OK) return status;
  memcpy(out, from, rows * cols * sizeof(float));
  for (size_t i = 0; i < rows * cols; i++)
    if (!isfinite(out[i])) return damaged(file, name, "holds a value that is not a finite number");
  return COMP_OK;
}
