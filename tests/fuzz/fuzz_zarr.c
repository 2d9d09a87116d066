/*
 * fuzz_zarr.c: any bytes as a zip file that holds a zarr store: metadata, chunks, shards, and the zip file itself.
 *
 * The input is a list of values, "KEY\0", two bytes of length (low first), the bytes; they are put into a zip file, so
 * that the fuzzer need not find checksums and offsets. An input that begins with "PK" is a zip file as it is.
 */
#include <libdeflate.h>
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

/* Bytes that grow. The memory is kept for the next input: with one allocation a byte, most of the time went there. */
typedef struct bytes {
  uint8_t *data;
  size_t size;
  size_t capacity;
} bytes;

typedef struct zip {
  bytes file;
  bytes list; /* the central directory */
  unsigned count;
} zip;

static void add(bytes *to, const void *from, size_t size) {
  if (size > to->capacity - to->size) {
    to->capacity = (to->size + size) * 2;
    to->data = realloc(to->data, to->capacity);
    if (!to->data) abort();
  }
  if (size > 0) memcpy(to->data + to->size, from, size);
  to->size += size;
}

static void add_number(bytes *to, size_t value, int n) {
  uint8_t low[12];
  for (int i = 0; i < n; i++) low[i] = i < 8 ? (uint8_t)(value >> 8 * i) : 0;
  add(to, low, (size_t)n);
}

/* The part that both headers of an entry share: flags to the length of the extra field. */
static void add_header(bytes *to, size_t name, const uint8_t *data, size_t size) {
  add_number(to, 20, 2);
  add_number(to, 0, 8); /* flags, method, time */
  add_number(to, libdeflate_crc32(0, data, size), 4);
  add_number(to, size, 4);
  add_number(to, size, 4);
  add_number(to, name, 2);
  add_number(to, 0, 2);
}

static void add_entry(zip *z, const char *name, const uint8_t *data, size_t size) {
  size_t offset = z->file.size, length = strlen(name);
  add_number(&z->file, 0x04034b50, 4);
  add_header(&z->file, length, data, size);
  add(&z->file, name, length);
  add(&z->file, data, size);
  add_number(&z->list, 0x02014b50, 4);
  add_number(&z->list, 20, 2);
  add_header(&z->list, length, data, size);
  add_number(&z->list, 0, 10); /* comment, disk, attributes */
  add_number(&z->list, offset, 4);
  add(&z->list, name, length);
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
  size_t offset = z->file.size;
  add(&z->file, z->list.data, z->list.size);
  add_number(&z->file, 0x06054b50, 4);
  add_number(&z->file, 0, 4);
  add_number(&z->file, z->count, 2);
  add_number(&z->file, z->count, 2);
  add_number(&z->file, z->list.size, 4);
  add_number(&z->file, offset, 4);
  add_number(&z->file, 0, 2);
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
  static zip z;
  static int fd = -1;
  char path[64];
  if (fd < 0) fd = memfd_create("fuzz", MFD_CLOEXEC);
  z.file.size = z.list.size = z.count = 0;
  if (size > 1 && data[0] == 'P' && data[1] == 'K')
    add(&z.file, data, size);
  else
    make_zip(&z, data, size);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, z.file.data, z.file.size, 0) != (ssize_t)z.file.size) abort();
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
  return 0;
}
