/* vet_data.c: data that HDF5 itself will decode or follow: chunks of the right length, references that lead somewhere.
 */
#include <libdeflate.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/filters.h"
#include "io/h5/vet.h"

enum { BLOCK = 1 << 20 };

/* The chunks of one dataset. */
typedef struct decoding {
  comp__vet *vet;
  const comp__vet_object *object;
  uint64_t at;
  size_t bytes; /* of a chunk */
  unsigned char *a, *b;
  size_t capacity;
  struct libdeflate_decompressor *inflater;
} decoding;

static comp_status decode(decoding *d, const unsigned char *stored, size_t size, unsigned skipped) {
  const comp__vet_filters *f = &d->object->filters;
  const unsigned char *data = stored;
  size_t room = size > d->bytes ? size : d->bytes; /* of HDF5's buffers, one of which does not grow */
  for (int i = f->count - 1; i >= 0; i--) {
    if (skipped >> i & 1) continue;
    if (f->unusable[i]) return comp__vet_damage(d->vet, d->at, "a filter with impossible parameters");
    const char *wrong =
        comp__h5_undo(f->ids[i], f->parameter[i], d->inflater, &data, &size, data == d->a ? d->b : d->a, d->capacity);
    if (wrong) return comp__vet_damage(d->vet, d->at, "a chunk of data that cannot be decompressed");
    if (d->object->type.n_refs > 0 && size > room) return comp__vet_unusual("texts of variable length, packed twice");
  }
  if (size != d->bytes) return comp__vet_damage(d->vet, d->at, "a chunk of data of the wrong length");
  uint64_t count = size / d->object->type.size;
  return comp__vet_element_refs(d->vet, &d->object->type, data, count, d->at);
}

static comp_status check_chunk(void *user, uint64_t address, uint64_t size, unsigned skipped) {
  decoding *d = user;
  unsigned char *stored = NULL;
  comp_status status = comp__vet_read_data(&stored, d->vet, address, (size_t)size);
  if (status == COMP_OK) status = decode(d, stored, (size_t)size, skipped);
  comp__free(stored);
  return status;
}

/* Chunks that follow one another without an index. */
static comp_status check_implicit(decoding *d) {
  const comp__vet_object *o = d->object;
  uint64_t count = 1;
  comp_status status = COMP_OK;
  for (int i = 0; i < o->space.rank; i++) count *= (o->space.dims[i] + o->layout.chunk[i] - 1) / o->layout.chunk[i];
  for (uint64_t i = 0; i < count && status == COMP_OK; i++)
    status = check_chunk(d, o->layout.address + i * d->bytes, d->bytes, 0);
  return status;
}

static comp_status check_chunks(comp__vet *vet, const comp__vet_object *o, uint64_t at) {
  decoding d = {.vet = vet, .object = o, .at = at, .bytes = 1};
  const comp__vet_layout *l = &o->layout;
  comp_status status;
  for (int i = 0; i < l->rank; i++) d.bytes *= (size_t)l->chunk[i];
  d.capacity = d.bytes + 4 * COMP__VET_FILTERS;
  COMP__TRY(comp__alloc(&d.a, d.capacity, 1));
  COMP__TRY(comp__alloc(&d.b, d.capacity, 1));
  d.inflater = libdeflate_alloc_decompressor();
  if (!d.inflater) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  if (l->version < 4)
    COMP__TRY(comp__vet_each_chunk(vet, l->address, l->rank, check_chunk, &d));
  else if (l->index == 1)
    COMP__TRY(check_chunk(&d, l->address, l->single ? l->single : d.bytes, l->single ? l->skipped : 0));
  else if (l->index == 2)
    COMP__TRY(check_implicit(&d));
  else if (o->type.n_refs > 0)
    COMP__TRY(comp__vet_unusual("texts of variable length in chunks of HDF5's newest layout"));
done:
  if (d.inflater) libdeflate_free_decompressor(d.inflater);
  comp__free(d.a);
  comp__free(d.b);
  return status;
}

static comp_status check_contiguous(comp__vet *vet, const comp__vet_object *o, uint64_t at) {
  unsigned char *block = NULL;
  uint64_t most = BLOCK / o->type.size > 0 ? BLOCK / o->type.size : 1;
  comp_status status = COMP_OK;
  /* HDF5 copies by this size, and would follow what comes after the last element. It has no storage for no elements,
   * and fails there. */
  if (o->space.points == 0 || (o->layout.size != COMP__VET_NONE && o->layout.size != o->space.points * o->type.size))
    return comp__vet_damage(vet, at, "data of the wrong length");
  /* HDF5 copies by blocks of 1 MB: an element has to fit, and references of 12 bytes end in between. */
  if (o->type.size > BLOCK) return comp__vet_unusual("records of more than 1 MB with texts of variable length");
  if (o->type.class == 7 && BLOCK % o->type.size != 0 && o->space.points > most)
    return comp__vet_unusual("very many references to parts of datasets");
  for (uint64_t first = 0; first < o->space.points && status == COMP_OK; first += most) {
    uint64_t n = o->space.points - first < most ? o->space.points - first : most;
    status = comp__vet_read_data(&block, vet, o->layout.address + first * o->type.size, (size_t)(n * o->type.size));
    if (status == COMP_OK) status = comp__vet_element_refs(vet, &o->type, block, n, at);
    comp__free(block);
  }
  return status;
}

/* Filters of other libraries are the business of whoever installed them. */
static bool can_decode(const comp__vet_filters *f) {
  for (int i = 0; i < f->count; i++)
    if (!comp__h5_can_undo(f->ids[i])) return false;
  return true;
}

/* HDF5 applies the filters again when it copies texts. It does not write texts with checksums, and would write 4 bytes
 * beyond a buffer; lzf fails for what it cannot make smaller, which only an optional filter may. */
static bool can_be_copied(const comp__vet_filters *f) {
  for (int i = 0; i < f->count; i++)
    if (f->ids[i] == H5Z_FILTER_FLETCHER32 || (f->ids[i] == COMP__H5_LZF && !f->optional[i])) return false;
  return true;
}

comp_status comp__vet_data(comp__vet *vet, uint64_t header) {
  comp__vet_object *o = NULL;
  const comp__vet_piece *piece = comp__vet_find(vet, header);
  bool seen;
  comp_status status = COMP_OK;
  if (piece && piece->kinds & COMP__VET_DATA) return COMP_OK;
  COMP__TRY(comp__calloc(&o, 1, sizeof *o));
  COMP__TRY(comp__vet_object_read(o, vet, header));
  if (!o->has_layout) goto done;
  /* Of no elements, too: HDF5 copies all that an index of chunks leads to. */
  bool refers = o->type.n_refs > 0, stored = o->layout.address != COMP__VET_NONE;
  if (refers && !can_decode(&o->filters)) COMP__TRY(comp__vet_unusual("texts under filters of other libraries"));
  if (refers && !can_be_copied(&o->filters)) COMP__TRY(comp__vet_unusual("texts under filters that do not suit them"));
  if (stored && o->layout.kind == COMP__VET_CONTIGUOUS && refers)
    COMP__TRY(check_contiguous(vet, o, header));
  else if (stored && o->layout.kind == COMP__VET_CHUNKED && can_decode(&o->filters) && (refers || o->has_filters))
    COMP__TRY(check_chunks(vet, o, header));
  COMP__TRY(comp__vet_queued(vet));
  COMP__TRY(comp__vet_note(vet, header, COMP__VET_DATA, &seen));
done:
  if (o) comp__vet_object_release(o);
  comp__free(o);
  return status;
}

comp_status comp__vet_references(comp__vet *vet) {
  comp_status status = COMP_OK;
  /* Objects that are found by reference may hold references themselves: the list grows. */
  for (size_t i = 0; i < vet->dataset_count && !vet->referenced && status == COMP_OK; i++)
    status = comp__vet_data(vet, vet->datasets[i]);
  vet->referenced = status == COMP_OK;
  return status;
}
