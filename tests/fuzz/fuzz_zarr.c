/*
 * fuzz_zarr.c: any bytes as a zip file that holds a zarr store: metadata, chunks, shards, and the zip file itself.
 *
 * The input is a list of values, "KEY\0", two bytes of length (low first), the bytes; they are put into a zip file, so
 * that the fuzzer need not find checksums and offsets. An input that begins with "PK" is a zip file as it is.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comp/comp.h"
#include "core/context.h"
#include "io/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A zip file that grows. */
typedef struct zip {
  uint8_t *bytes;
  size_t size;
  uint8_t *list; /* the central directory */
  size_t list_size;
  unsigned count;
} zip;

static void add(uint8_t **to, size_t *used, const void *from, size_t size) {
  *to = realloc(*to, *used + size + 1);
  if (!*to) abort();
  memcpy(*to + *used, from, size);
  *used += size;
}

static void add_number(uint8_t **to, size_t *used, size_t value, int bytes) {
  for (int i = 0; i < bytes; i++, value >>= 8) {
    uint8_t byte = (uint8_t)value;
    add(to, used, &byte, 1);
  }
}

/* The part that both headers of an entry share: flags to the length of the extra field. */
static void add_header(uint8_t **to, size_t *used, size_t name, size_t size) {
  add_number(to, used, 20, 2);
  add_number(to, used, 0, 12); /* flags, method, time, checksum */
  add_number(to, used, size, 4);
  add_number(to, used, size, 4);
  add_number(to, used, name, 2);
  add_number(to, used, 0, 2);
}

static void add_entry(zip *z, const char *name, const uint8_t *data, size_t size) {
  size_t offset = z->size, length = strlen(name);
  add_number(&z->bytes, &z->size, 0x04034b50, 4);
  add_header(&z->bytes, &z->size, length, size);
  add(&z->bytes, &z->size, name, length);
  add(&z->bytes, &z->size, data, size);
  add_number(&z->list, &z->list_size, 0x02014b50, 4);
  add_number(&z->list, &z->list_size, 20, 2);
  add_header(&z->list, &z->list_size, length, size);
  add_number(&z->list, &z->list_size, 0, 10); /* comment, disk, attributes */
  add_number(&z->list, &z->list_size, offset, 4);
  add(&z->list, &z->list_size, name, length);
  z->count++;
}

static void make_zip(zip *z, const uint8_t *data, size_t size) {
  while (size > 0) {
    const uint8_t *end = memchr(data, 0, size);
    size_t name = end ? (size_t)(end - data) : size;
    if (!end || size - name < 3 || name == 0 || z->count > 200) break;
    size_t length = (size_t)end[1] | (size_t)end[2] << 8;
    if (length > size - name - 3) length = size - name - 3;
    add_entry(z, (const char *)data, end + 3, length);
    data = end + 3 + length;
    size -= name + 3 + length;
  }
  size_t offset = z->size;
  add(&z->bytes, &z->size, z->list ? z->list : (const uint8_t *)"", z->list_size);
  add_number(&z->bytes, &z->size, 0x06054b50, 4);
  add_number(&z->bytes, &z->size, 0, 4);
  add_number(&z->bytes, &z->size, z->count, 2);
  add_number(&z->bytes, &z->size, z->count, 2);
  add_number(&z->bytes, &z->size, z->list_size, 4);
  add_number(&z->bytes, &z->size, offset, 4);
  add_number(&z->bytes, &z->size, 0, 2);
}

/* All that comp convert would carry: every array, of any type and shape, and all attributes. */
static void load_below(comp_context *context, const comp__tree *tree, const char *path, int depth) {
  comp__strings members = {0};
  comp__tree_value value = {0};
  comp__tree_path below;
  json_t *attributes = NULL;
  if (tree->ops->attributes(&attributes, tree, path) == COMP_OK) json_decref(attributes);
  if (tree->ops->find(tree, path) == COMP__NODE_ARRAY) {
    tree->ops->load(&value, context, tree, path);
    comp__tree_value_release(&value);
  } else if (depth < 6 && tree->ops->members(&members, tree, path) == COMP_OK) {
    for (size_t i = 0; i < members.count && i < 50; i++)
      if (comp__tree_join(&below, path, comp__strings_get(&members, i)) == COMP_OK)
        load_below(context, tree, below.text, depth + 1);
  }
  comp__strings_release(&members);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static comp_context *context;
  comp__context_options options = comp__context_defaults();
  options.threads = 1;
  if (!context && comp__context_new(&context, &options) != COMP_OK) abort();
  zip z = {0};
  char path[64];
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0) abort();
  if (size > 1 && data[0] == 'P' && data[1] == 'K')
    add(&z.bytes, &z.size, data, size);
  else
    make_zip(&z, data, size);
  if (write(fd, z.bytes, z.size) != (ssize_t)z.size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const comp__read_options read = {0};
  comp_dataset *dataset = NULL;
  if (comp__format_zarr.read(&dataset, context, path, &read) == COMP_OK) {
    if (comp_dataset_x(dataset) && comp_matrix_check(context, comp_dataset_x(dataset)) == COMP_ERR_FORMAT) abort();
    comp_dataset_free(dataset);
  }
  comp__tree *tree = NULL;
  if (comp__format_zarr.open_tree(&tree, path) == COMP_OK) load_below(context, tree, "", 0);
  comp__tree_free(tree);
  close(fd);
  free(z.bytes);
  free(z.list);
  return 0;
}
