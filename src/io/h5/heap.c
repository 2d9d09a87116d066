/* heap.c: variable-length text from HDF5's global heap. */
#include "io/h5/heap.h"

#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/pages.h"

/* A collection: "GCOL", version 1, 3 bytes reserved, its size (8 bytes); then objects: number (2), uses (2), reserved
 * (4), size (8), content, filled up to a multiple of 8. Number 0 is free space up to the end. */
enum { COLLECTION_HEADER = COMP__H5_COLLECTION_HEADER, OBJECT_HEADER = 16 };

static uint64_t read_le(const unsigned char *bytes, int n) {
  uint64_t value = 0;
  for (int i = n - 1; i >= 0; i--) value = value << 8 | bytes[i];
  return value;
}

uint64_t comp__h5_collection_size(const unsigned char *bytes) {
  return read_le(bytes + 8, 8);
}

/* Walks as HDF5 does: every step has to move on, and the last one to end at the end. */
bool comp__h5_collection_is_sound(const unsigned char *bytes, size_t size) {
  size_t at = COLLECTION_HEADER;
  while (size - at >= OBJECT_HEADER) {
    uint64_t number = read_le(bytes + at, 2), object = read_le(bytes + at + 8, 8), room = size - at;
    if (number == 0 ? object < OBJECT_HEADER || object > room : object > room - OBJECT_HEADER) return false;
    uint64_t step = number == 0 ? object : OBJECT_HEADER + (object + 7) / 8 * 8;
    if (step > room) return false;
    at += (size_t)step;
  }
  return true;
}

/* Files of addresses and sizes of 8 bytes, opened for reading through plain system calls. */
static bool usual_file(comp__h5_heap *heap, hid_t file) {
  hid_t creation = H5Fget_create_plist(file);
  size_t address_size = 0, size_size = 0;
  hsize_t base = 0;
  unsigned intent = H5F_ACC_RDWR;
  void *handle = NULL;
  struct stat info;
  bool good = creation >= 0 && H5Pget_sizes(creation, &address_size, &size_size) >= 0 && address_size == 8 &&
              size_size == 8 && H5Pget_userblock(creation, &base) >= 0 && H5Fget_intent(file, &intent) >= 0 &&
              intent == H5F_ACC_RDONLY && H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle;
  if (good) {
    heap->fd = ((const comp__h5_handle *)handle)->fd;
    heap->base = base;
    good = fstat(heap->fd, &info) == 0;
    heap->file_size = good ? (uint64_t)info.st_size : 0;
  }
  comp__h5_close(&creation);
  return good;
}

void comp__h5_heap_init(comp__h5_heap *out, int fd, uint64_t base, uint64_t file_size) {
  *out = (comp__h5_heap){.fd = fd, .base = base, .file_size = file_size};
  for (int i = 0; i < COMP__H5_COLLECTIONS; i++) out->cache[i].address = UINT64_MAX;
}

bool comp__h5_heap_open(comp__h5_heap *out, hid_t dataset) {
  comp__h5_heap_init(out, -1, 0, 0);
  hid_t file = H5Iget_file_id(dataset);
  bool good = file >= 0 && usual_file(out, file);
  if (file >= 0) H5Fclose(file);
  H5Eclear2(H5E_DEFAULT);
  return good;
}

void comp__h5_heap_release(comp__h5_heap *heap) {
  for (int i = 0; i < COMP__H5_COLLECTIONS; i++) {
    comp__free(heap->cache[i].bytes);
    comp__free(heap->cache[i].offsets);
  }
  *heap = (comp__h5_heap){.fd = -1};
}

static comp_status check_inside(const comp__h5_heap *heap, uint64_t offset, size_t size) {
  if (offset <= heap->file_size && size <= heap->file_size - offset) return COMP_OK;
  return comp__error(COMP_ERR_FORMAT, "it lies beyond the end of the file: the file is damaged or cut short");
}

/* A part of a collection. */
static comp_status read_at(const comp__h5_heap *heap, void *out, uint64_t offset, size_t size) {
  comp_status status = check_inside(heap, offset, size);
  if (status != COMP_OK) return status;
  if (heap->pages) return comp__h5_pages_read(heap->pages, out, offset, size);
  return comp__h5_read_at(heap->fd, out, offset, size);
}

comp_status comp__h5_heap_read_stored(const comp__h5_heap *heap, hid_t dataset, size_t size, size_t first, size_t n,
                                      void *out) {
  haddr_t offset = H5Dget_offset(dataset);
  if (offset == HADDR_UNDEF) { /* never written */
    H5Eclear2(H5E_DEFAULT);
    memset(out, 0, n * size);
    return COMP_OK;
  }
  comp_status status = check_inside(heap, offset + first * size, n * size);
  return status == COMP_OK ? comp__h5_read_at(heap->fd, out, offset + first * size, n * size) : status;
}

static comp_status damaged(void) {
  return comp__error(COMP_ERR_FORMAT, "its text cannot be found: the file is damaged");
}

/* Notes where each object of a sound collection is. */
static comp_status index_objects(comp__h5_collection *c) {
  size_t at = COLLECTION_HEADER;
  c->n_offsets = 0;
  while (c->size - at >= OBJECT_HEADER) {
    size_t number = (size_t)read_le(c->bytes + at, 2);
    uint64_t size = read_le(c->bytes + at + 8, 8);
    if (number == 0) { /* HDF5 goes on behind free space, and the last object of a number counts */
      at += (size_t)size;
      continue;
    }
    if (number >= c->n_offsets) {
      comp_status status = comp__grow(&c->offsets, &c->offsets_capacity, c->n_offsets, number + 1, sizeof *c->offsets);
      if (status != COMP_OK) return status;
      memset(c->offsets + c->n_offsets, 0, (number + 1 - c->n_offsets) * sizeof *c->offsets);
      c->n_offsets = number + 1;
    }
    c->offsets[number] = (uint32_t)at;
    at += OBJECT_HEADER + (size_t)((size + 7) / 8 * 8);
  }
  return COMP_OK;
}

static comp_status load(comp__h5_heap *heap, comp__h5_collection *c, uint64_t address) {
  unsigned char header[COLLECTION_HEADER];
  uint64_t offset = heap->base + address;
  comp_status status;
  c->address = UINT64_MAX;
  if (address > heap->file_size) return damaged();
  COMP__TRY(read_at(heap, header, offset, sizeof header));
  uint64_t size = read_le(header + 8, 8);
  if (memcmp(header, "GCOL\1", 5) != 0 || size < COLLECTION_HEADER || size > UINT32_MAX) return damaged();
  if (offset + size > heap->file_size) return damaged();
  COMP__TRY(comp__grow(&c->bytes, &c->capacity, 0, (size_t)size, 1));
  COMP__TRY(read_at(heap, c->bytes, offset, (size_t)size));
  c->size = (size_t)size;
  if (!comp__h5_collection_is_sound(c->bytes, c->size)) return damaged(); /* HDF5 would not get it either */
  COMP__TRY(index_objects(c));
  c->address = address;
done:
  return status;
}

comp_status comp__h5_heap_object(const unsigned char **content, uint64_t *size, comp__h5_heap *heap,
                                 const unsigned char *place) {
  uint64_t address = read_le(place, 8), number = read_le(place + 8, 4);
  *content = NULL;
  *size = 0;
  comp__h5_collection *c = &heap->cache[address / 4096 % COMP__H5_COLLECTIONS];
  if (c->address != address) {
    comp_status status = load(heap, c, address);
    if (status != COMP_OK) return status;
  }
  if (number >= c->n_offsets || c->offsets[number] == 0) return damaged();
  *size = read_le(c->bytes + c->offsets[number] + 8, 8);
  *content = c->bytes + c->offsets[number] + OBJECT_HEADER;
  return COMP_OK;
}

/* HDF5 follows every address but 0, also for an empty value (which has an object of no bytes), and copies the whole
 * object into room for what the value says: the two have to be the same. */
comp_status comp__h5_heap_check(comp__h5_heap *heap, const unsigned char *reference, size_t element) {
  const unsigned char *content;
  uint64_t size;
  if (read_le(reference + 4, 8) == 0) return COMP_OK;
  comp_status status = comp__h5_heap_object(&content, &size, heap, reference + 4);
  if (status != COMP_OK) return status;
  return size == read_le(reference, 4) * element ? COMP_OK : damaged();
}

comp_status comp__h5_heap_text(comp__h5_heap *heap, const unsigned char *reference, const char **text, size_t *length) {
  const unsigned char *content;
  uint64_t wanted = read_le(reference, 4), address = read_le(reference + 4, 8), size;
  *text = "";
  *length = 0;
  if (wanted == 0 || address == 0 || address == UINT64_MAX) return COMP_OK;
  comp_status status = comp__h5_heap_object(&content, &size, heap, reference + 4);
  if (status != COMP_OK) return status;
  if (wanted > size) return damaged();
  *text = (const char *)content;
  *length = strnlen(*text, (size_t)wanted);
  return COMP_OK;
}
