/*
 * zip_write.c: a folder packed into a zip file, its entries stored as they are: chunks are compressed already.
 *
 * Entries come in the order of their names and bear no time: the same folder gives the same bytes. Sizes, offsets and
 * counts that do not fit the old fields are in those of zip64.
 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/sink.h"
#include "io/zarr/zarr_write.h"

enum { DEEPEST = 64, LARGEST = 64, EARLIEST_DATE = 0x21, VERSION = 20, VERSION64 = 45 };

typedef struct packing {
  comp__sink to;
  uint64_t written;
  comp__zarr_buffer list; /* of entries, for the end of the file */
  uint64_t count;
  comp__zarr_buffer value;
} packing;

/* A record that is being made. */
typedef struct record {
  unsigned char bytes[LARGEST];
  size_t size;
} record;

static void put(record *r, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++, value >>= 8) r->bytes[r->size++] = (unsigned char)value;
}

/* A field of 4 bytes; what does not fit is said elsewhere. */
static void put_bounded(record *r, uint64_t value) {
  put(r, value < UINT32_MAX ? value : UINT32_MAX, 4);
}

static comp_status write_bytes(packing *p, const void *data, size_t size) {
  comp_status status = comp__sink_write(&p->to, data, size);
  p->written += size;
  return status;
}

static comp_status keep(packing *p, const void *data, size_t size) {
  comp_status status = comp__grow(&p->list.data, &p->list.capacity, p->list.size, p->list.size + size, 1);
  if (status != COMP_OK) return status;
  memcpy(p->list.data + p->list.size, data, size);
  p->list.size += size;
  return COMP_OK;
}

/* What both headers of an entry have: version, flags (names are UTF-8), method, time, checksum, sizes. */
static void put_entry(record *r, bool large, uint32_t checksum, uint64_t size, size_t name, size_t extra) {
  put(r, large ? VERSION64 : VERSION, 2);
  put(r, 0x800, 2);
  put(r, 0, 2);
  put(r, 0, 2);
  put(r, EARLIEST_DATE, 2);
  put(r, checksum, 4);
  put_bounded(r, size);
  put_bounded(r, size);
  put(r, name, 2);
  put(r, extra, 2);
}

static comp_status pack_value(packing *p, const char *key) {
  const uint64_t size = p->value.size, offset = p->written;
  const bool large = size >= UINT32_MAX, far = offset >= UINT32_MAX;
  size_t length = strlen(key);
  uint32_t checksum = (uint32_t)crc32_z(0, p->value.data, p->value.size);
  record head = {.size = 0}, entry = {.size = 0};
  comp_status status;
  put(&head, 0x04034b50, 4);
  put_entry(&head, large, checksum, size, length, large ? 20 : 0);
  COMP__TRY(write_bytes(p, head.bytes, head.size));
  COMP__TRY(write_bytes(p, key, length));
  if (large) {
    record extra = {.size = 0};
    put(&extra, 1, 2);
    put(&extra, 16, 2);
    put(&extra, size, 8);
    put(&extra, size, 8);
    COMP__TRY(write_bytes(p, extra.bytes, extra.size));
  }
  COMP__TRY(write_bytes(p, p->value.data, p->value.size));
  size_t fields = (large ? 16U : 0U) + (far ? 8U : 0U);
  put(&entry, 0x02014b50, 4);
  put(&entry, 3 << 8 | VERSION64, 2); /* made on Unix, whose permissions are below */
  put_entry(&entry, large || far, checksum, size, length, fields ? fields + 4 : 0);
  put(&entry, 0, 6); /* comment, disk, internal attributes */
  put(&entry, (uint64_t)0100644 << 16, 4);
  put_bounded(&entry, offset);
  COMP__TRY(keep(p, entry.bytes, entry.size));
  COMP__TRY(keep(p, key, length));
  if (fields) {
    record extra = {.size = 0};
    put(&extra, 1, 2);
    put(&extra, fields, 2);
    if (large) {
      put(&extra, size, 8);
      put(&extra, size, 8);
    }
    if (far) put(&extra, offset, 8);
    COMP__TRY(keep(p, extra.bytes, extra.size));
  }
  p->count++;
done:
  return status;
}

/* The list of entries, and the records behind it. */
static comp_status pack_end(packing *p) {
  const uint64_t offset = p->written, size = p->list.size;
  const bool large = offset >= UINT32_MAX || size >= UINT32_MAX || p->count >= UINT16_MAX;
  record end = {.size = 0};
  comp_status status;
  COMP__TRY(write_bytes(p, p->list.data, p->list.size));
  if (large) {
    record far = {.size = 0}, locator = {.size = 0};
    put(&far, 0x06064b50, 4);
    put(&far, 44, 8);
    put(&far, 3 << 8 | VERSION64, 2);
    put(&far, VERSION64, 2);
    put(&far, 0, 8);
    put(&far, p->count, 8);
    put(&far, p->count, 8);
    put(&far, size, 8);
    put(&far, offset, 8);
    put(&locator, 0x07064b50, 4);
    put(&locator, 0, 4);
    put(&locator, p->written, 8);
    put(&locator, 1, 4);
    COMP__TRY(write_bytes(p, far.bytes, far.size));
    COMP__TRY(write_bytes(p, locator.bytes, locator.size));
  }
  uint64_t count = p->count < UINT16_MAX ? p->count : UINT16_MAX;
  put(&end, 0x06054b50, 4);
  put(&end, 0, 4);
  put(&end, count, 2);
  put(&end, count, 2);
  put_bounded(&end, size);
  put_bounded(&end, offset);
  put(&end, 0, 2);
  COMP__TRY(write_bytes(p, end.bytes, end.size));
done:
  return status;
}

static comp_status pack_below(packing *p, const comp__zarr_store *store, const char *key, int depth) {
  comp__strings names = {0};
  char below[4096];
  comp_status status;
  if (depth > DEEPEST) return comp__error(COMP_ERR_DATA, "%s: too many folders in folders", key);
  COMP__TRY(comp__zarr_store_list(&names, store, key));
  for (size_t i = 0; i < names.count; i++) {
    bool found;
    if (snprintf(below, sizeof below, "%s%s%s", key, key[0] ? "/" : "", comp__strings_get(&names, i)) >=
        (int)sizeof below)
      COMP__FAIL(COMP_ERR_DATA, "%.60s...: its name is too long", below);
    COMP__TRY(comp__zarr_store_get(&found, &p->value, store, below, SIZE_MAX));
    COMP__TRY(found ? pack_value(p, below) : pack_below(p, store, below, depth + 1));
  }
done:
  comp__strings_release(&names);
  return status;
}

comp_status comp__zarr_pack(const char *path, const char *folder, const char *name) {
  packing p = {.to = COMP__SINK_INIT};
  comp__zarr_store *store = NULL;
  comp_status status;
  COMP__TRY(comp__zarr_store_open(&store, folder));
  COMP__TRY(comp__sink_open(&p.to, path, name));
  COMP__TRY(pack_below(&p, store, "", 0));
  COMP__TRY(pack_end(&p));
  COMP__TRY(comp__sink_close(&p.to));
done:
  comp__sink_abort(&p.to);
  comp__zarr_store_close(store);
  comp__zarr_buffer_release(&p.list);
  comp__zarr_buffer_release(&p.value);
  return status;
}
