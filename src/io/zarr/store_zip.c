/*
 * store_zip.c: a zip file as a store.
 *
 * Its list of entries (the central directory) is read once; entries are read from their place, stored or deflated. Of
 * two entries of one name the later one counts, as in Python's zipfile. When everything is in one folder of the zip
 * file (`zip -r cells.zarr.zip cells.zarr`), that folder is the store.
 */
#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/zarr/store.h"

typedef struct zip_entry {
  const char *name; /* in names of comp__zip */
  size_t order;     /* in the list */
  uint64_t offset;  /* of its header */
  uint64_t stored;
  uint64_t size;
  unsigned method;
  uint32_t checksum; /* CRC-32 of its content */
} zip_entry;

struct comp__zip {
  uint64_t file_size;
  comp__strings names;
  zip_entry *entries; /* sorted by name, each name once */
  size_t count;
};

enum { END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20, ENTRY_SIZE = 46, HEADER_SIZE = 30, STORED = 0, DEFLATED = 8 };
enum { LONGEST_COMMENT = 65535, INFLATED_MOST = 1032 };

static uint64_t little(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

static comp_status damaged(const char *what) {
  return comp__error(COMP_ERR_FORMAT, "%s: the zip file is damaged or not complete", what);
}

static comp_status read_at(int fd, unsigned char *to, size_t size, uint64_t offset) {
  while (size > 0) {
    ssize_t n = pread(fd, to, size, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot read");
    if (n == 0) return damaged("it ends too early");
    to += n;
    offset += (uint64_t)n;
    size -= (size_t)n;
  }
  return COMP_OK;
}

/* Where the list of entries is. */
typedef struct zip_list {
  uint64_t offset;
  uint64_t size;
  uint64_t count;
} zip_list;

/* The record that large zip files have instead; `end` is at `end_offset`. */
static comp_status find_list64(zip_list *out, int fd, uint64_t end_offset) {
  unsigned char locator[LOCATOR_SIZE], end[END64_SIZE];
  if (end_offset < LOCATOR_SIZE) return COMP_OK;
  comp_status status = read_at(fd, locator, sizeof locator, end_offset - LOCATOR_SIZE);
  if (status != COMP_OK || little(locator, 4) != 0x07064b50) return status;
  uint64_t at = little(locator + 8, 8);
  if (at > end_offset || end_offset - at < END64_SIZE) return damaged("its end record is outside of it");
  status = read_at(fd, end, sizeof end, at);
  if (status != COMP_OK) return status;
  if (little(end, 4) != 0x06064b50) return damaged("its end record is missing");
  *out = (zip_list){little(end + 48, 8), little(end + 40, 8), little(end + 32, 8)};
  return COMP_OK;
}

static comp_status find_list(zip_list *out, int fd, uint64_t file_size) {
  unsigned char *tail = NULL;
  size_t size = file_size < END_SIZE + LONGEST_COMMENT ? (size_t)file_size : END_SIZE + LONGEST_COMMENT;
  comp_status status;
  if (size < END_SIZE) return damaged("it is too short");
  COMP__TRY(comp__alloc(&tail, size, 1));
  COMP__TRY(read_at(fd, tail, size, file_size - size));
  size_t at = size - END_SIZE + 1;
  while (at > 0 && little(tail + at - 1, 4) != 0x06054b50) at--;
  if (at == 0) {
    status = damaged("it has no end record");
    goto done;
  }
  const unsigned char *end = tail + at - 1;
  *out = (zip_list){little(end + 16, 4), little(end + 12, 4), little(end + 10, 2)};
  COMP__TRY(find_list64(out, fd, file_size - size + at - 1));
  if (out->offset > file_size || out->size > file_size - out->offset || out->count > out->size / ENTRY_SIZE)
    status = damaged("its list of entries is outside of it");
done:
  comp__free(tail);
  return status;
}

/* Sizes and offset that do not fit into 32 bits are in a field of their own, in this order, only those. */
static void read_extra(zip_entry *e, const unsigned char *extra, size_t size) {
  while (size >= 4) {
    size_t length = (size_t)little(extra + 2, 2);
    if (length > size - 4) return;
    if (little(extra, 2) == 1) {
      uint64_t *const fields[] = {&e->size, &e->stored, &e->offset};
      const unsigned char *at = extra + 4, *end = at + length;
      for (int i = 0; i < 3; i++)
        if (*fields[i] == UINT32_MAX && end - at >= 8) {
          *fields[i] = little(at, 8);
          at += 8;
        }
    }
    extra += 4 + length;
    size -= 4 + length;
  }
}

static comp_status check_entry(const struct comp__zip *zip, const zip_entry *e, const char *name, unsigned flags) {
  if (!comp__zarr_key_is_good(name) || strchr(name, '\\') || !comp__utf8_valid(name, strlen(name), NULL)) {
    char shown[200];
    return comp__error(COMP_ERR_FORMAT, "the zip file has an entry '%s', which could lead out of the store: refused",
                       comp__utf8_show(shown, sizeof shown, name));
  }
  if (flags & 1) return comp__error(COMP_ERR_UNAVAILABLE, "%s is encrypted: unpack the zip file first", name);
  if (e->method != STORED && e->method != DEFLATED)
    return comp__error(COMP_ERR_UNAVAILABLE, "%s is packed in a way that is not known here: unpack the zip file first",
                       name);
  bool sizes = e->method == STORED ? e->size == e->stored : e->size / INFLATED_MOST <= e->stored;
  if (e->offset > zip->file_size || e->stored > zip->file_size - e->offset || !sizes) return damaged(name);
  return COMP_OK;
}

/* Reads the entry at `at`; returns its length in *length. Folders, whose names end in '/', are left out. */
static comp_status add_entry(struct comp__zip *zip, const unsigned char *at, size_t left, size_t *length) {
  char name[4096];
  if (left < ENTRY_SIZE || little(at, 4) != 0x02014b50) return damaged("its list of entries is not readable");
  size_t name_size = (size_t)little(at + 28, 2), extra = (size_t)little(at + 30, 2);
  *length = ENTRY_SIZE + name_size + extra + (size_t)little(at + 32, 2);
  if (*length > left || name_size == 0 || name_size >= sizeof name || memchr(at + ENTRY_SIZE, 0, name_size))
    return damaged("its list of entries is not readable");
  memcpy(name, at + ENTRY_SIZE, name_size);
  name[name_size] = '\0';
  bool folder = name[name_size - 1] == '/';
  if (folder) name[name_size - 1] = '\0';
  zip_entry e = {.order = zip->names.count,
                 .offset = little(at + 42, 4),
                 .stored = little(at + 20, 4),
                 .size = little(at + 24, 4),
                 .method = (unsigned)little(at + 10, 2),
                 .checksum = (uint32_t)little(at + 16, 4)};
  read_extra(&e, at + ENTRY_SIZE + name_size, extra);
  comp_status status = check_entry(zip, &e, name, (unsigned)little(at + 8, 2));
  if (status != COMP_OK || folder) return status;
  zip->entries[zip->count++] = e;
  return comp__strings_append(&zip->names, name, name_size);
}

static int compare_entries(const void *a, const void *b) {
  const zip_entry *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* The names without the folder that all of them are in, if there is one. */
static void enter_folder(struct comp__zip *zip) {
  size_t length = zip->count > 0 ? strcspn(zip->entries[0].name, "/") : 0;
  for (size_t i = 0; i < zip->count; i++) {
    const char *name = zip->entries[i].name;
    if (strncmp(name, zip->entries[0].name, length) != 0 || name[length] != '/') return;
  }
  for (size_t i = 0; i < zip->count; i++) zip->entries[i].name += length + 1;
}

static void sort_entries(struct comp__zip *zip) {
  size_t kept = 0;
  for (size_t i = 0; i < zip->count; i++) zip->entries[i].name = comp__strings_get(&zip->names, zip->entries[i].order);
  enter_folder(zip);
  qsort(zip->entries, zip->count, sizeof *zip->entries, compare_entries);
  for (size_t i = 0; i < zip->count; i++)
    if (i + 1 == zip->count || strcmp(zip->entries[i].name, zip->entries[i + 1].name) != 0)
      zip->entries[kept++] = zip->entries[i];
  zip->count = kept;
}

static comp_status read_list(struct comp__zip *zip, int fd, const zip_list *list) {
  unsigned char *bytes = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&bytes, (size_t)list->size, 1));
  COMP__TRY(read_at(fd, bytes, (size_t)list->size, list->offset));
  COMP__TRY(comp__alloc(&zip->entries, (size_t)list->count, sizeof *zip->entries));
  size_t at = 0, length;
  for (uint64_t i = 0; i < list->count; i++, at += length)
    COMP__TRY(add_entry(zip, bytes + at, (size_t)list->size - at, &length));
  sort_entries(zip);
done:
  comp__free(bytes);
  return status;
}

/* The first entry whose name is not below `name`. */
static size_t find_place(const struct comp__zip *zip, const char *name) {
  size_t low = 0, high = zip->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(zip->entries[middle].name, name) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static const zip_entry *find(const comp__zarr_store *store, const char *key) {
  size_t i = find_place(store->zip, key);
  return i < store->zip->count && strcmp(store->zip->entries[i].name, key) == 0 ? &store->zip->entries[i] : NULL;
}

static comp_status zip_size(bool *found, uint64_t *size, const comp__zarr_store *store, const char *key) {
  const zip_entry *e = find(store, key);
  *found = e != NULL;
  *size = e ? e->size : 0;
  return COMP_OK;
}

/* Where the bytes of an entry begin: behind its header, which has lengths of its own. */
static comp_status find_data(uint64_t *out, const comp__zarr_store *store, const zip_entry *e) {
  unsigned char header[HEADER_SIZE];
  comp_status status = read_at(store->fd, header, sizeof header, e->offset);
  if (status != COMP_OK) return status;
  if (little(header, 4) != 0x04034b50) return damaged(e->name);
  *out = e->offset + HEADER_SIZE + little(header + 26, 2) + little(header + 28, 2);
  return *out > store->zip->file_size || e->stored > store->zip->file_size - *out ? damaged(e->name) : COMP_OK;
}

/* The content of a whole entry. */
static comp_status check_content(const zip_entry *e, const unsigned char *content) {
  return libdeflate_crc32(0, content, (size_t)e->size) == e->checksum ? COMP_OK : damaged(e->name);
}

/* Inflates a whole entry and keeps `size` bytes from `offset`. */
static comp_status inflate_part(comp__zarr_buffer *out, const comp__zarr_store *store, const zip_entry *e,
                                uint64_t data, size_t offset, size_t size) {
  struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
  comp__zarr_buffer stored = {0}, whole = {0};
  comp_status status;
  if (!inflater) return comp__error(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(comp__zarr_buffer_reserve(&stored, (size_t)e->stored));
  COMP__TRY(read_at(store->fd, stored.data, stored.size, data));
  COMP__TRY(comp__zarr_buffer_reserve(&whole, (size_t)e->size));
  if (libdeflate_deflate_decompress(inflater, stored.data, stored.size, whole.data, whole.size, NULL) !=
      LIBDEFLATE_SUCCESS) {
    status = damaged(e->name);
    goto done;
  }
  COMP__TRY(check_content(e, whole.data));
  COMP__TRY(comp__zarr_buffer_reserve(out, size));
  memcpy(out->data, whole.data + offset, size);
done:
  libdeflate_free_decompressor(inflater);
  comp__zarr_buffer_release(&stored);
  comp__zarr_buffer_release(&whole);
  return status;
}

static comp_status zip_get(bool *found, comp__zarr_buffer *out, const comp__zarr_store *store, const char *key,
                           uint64_t offset, size_t size, size_t most) {
  const zip_entry *e = find(store, key);
  uint64_t data = 0;
  *found = e != NULL;
  if (!e) return COMP_OK;
  if (size == SIZE_MAX) size = (size_t)e->size;
  if (offset > e->size || size > e->size - offset)
    return comp__error(COMP_ERR_FORMAT, "%s has %llu bytes, fewer than are needed: the store is damaged", key,
                       (unsigned long long)e->size);
  if (size > most)
    return comp__error(COMP_ERR_FORMAT, "%s has %zu bytes, more than it can need (%zu)", key, size, most);
  comp_status status = find_data(&data, store, e);
  if (status != COMP_OK) return status;
  if (e->method == DEFLATED) return inflate_part(out, store, e, data, (size_t)offset, size);
  status = comp__zarr_buffer_reserve(out, size);
  if (status == COMP_OK) status = read_at(store->fd, out->data, size, data + offset);
  /* A part, as of a shard, has checksums of its own if any. */
  return status == COMP_OK && size == e->size ? check_content(e, out->data) : status;
}

/* The part of an entry's name behind "KEY/", when it is below the key; NULL otherwise. */
static const char *name_below(const zip_entry *e, const char *key) {
  size_t length = strlen(key);
  if (length == 0) return e->name;
  return strncmp(e->name, key, length) == 0 && e->name[length] == '/' ? e->name + length + 1 : NULL;
}

/* Where the entries below a key begin: "KEY/". */
static comp_status find_below(size_t *out, const struct comp__zip *zip, const char *key) {
  char prefix[4100];
  if (snprintf(prefix, sizeof prefix, "%s/", key) >= (int)sizeof prefix)
    return comp__error(COMP_ERR_FORMAT, "a name in the store is too long");
  *out = key[0] ? find_place(zip, prefix) : 0;
  return COMP_OK;
}

static comp_status zip_list_names(comp__strings *out, const comp__zarr_store *store, const char *key) {
  const struct comp__zip *zip = store->zip;
  const char *name, *last = NULL;
  size_t i, last_length = 0;
  comp_status status = find_below(&i, zip, key);
  for (; status == COMP_OK && i < zip->count && (name = name_below(&zip->entries[i], key)); i++) {
    size_t length = strcspn(name, "/");
    if (last && length == last_length && strncmp(name, last, length) == 0) continue;
    last = name;
    last_length = length;
    status = comp__strings_append(out, name, length);
  }
  return status;
}

static comp_status zip_count(size_t *out, const comp__zarr_store *store, const char *key, size_t enough) {
  const struct comp__zip *zip = store->zip;
  size_t i;
  comp_status status = find_below(&i, zip, key);
  for (; status == COMP_OK && *out < enough && i < zip->count && name_below(&zip->entries[i], key); i++)
    *out += !comp__zarr_key_is_metadata(zip->entries[i].name);
  return status;
}

static void zip_close(comp__zarr_store *store) {
  if (!store->zip) return;
  comp__strings_release(&store->zip->names);
  comp__free(store->zip->entries);
  comp__free(store->zip);
}

comp_status comp__zarr_zip_open(comp__zarr_store *store, int fd) {
  static const comp__zarr_store_ops ops = {zip_get, zip_size, zip_list_names, zip_count, zip_close};
  struct stat info;
  zip_list list = {0, 0, 0};
  store->ops = &ops;
  store->fd = fd;
  if (fstat(fd, &info) != 0) return comp__error_errno("cannot open");
  comp_status status = comp__calloc(&store->zip, 1, sizeof *store->zip);
  if (status != COMP_OK) return status;
  store->zip->file_size = (uint64_t)info.st_size;
  status = find_list(&list, fd, store->zip->file_size);
  return status == COMP_OK ? read_list(store->zip, fd, &list) : status;
}
