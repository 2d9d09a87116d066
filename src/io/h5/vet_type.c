/* vet_type.c: types of elements and shapes, as they are stored in messages. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/vet.h"

enum { DEEPEST = 12, LARGEST_NUMBER = 16 };

uint64_t comp__bytes_take(comp__bytes *bytes, size_t n) {
  const unsigned char *from = comp__bytes_skip(bytes, n);
  uint64_t value = 0;
  for (size_t i = n; from && i > 0; i--) value = value << 8 | from[i - 1];
  return value;
}

const unsigned char *comp__bytes_skip(comp__bytes *bytes, size_t n) {
  const unsigned char *at = bytes->at;
  if ((size_t)(bytes->end - at) < n) {
    bytes->bad = true;
    bytes->at = bytes->end;
    return NULL;
  }
  bytes->at += n;
  return at;
}

/* A text with its end; before version 3 it is filled up to a multiple of 8. */
static bool skip_name(comp__bytes *bytes, int version) {
  const unsigned char *end = memchr(bytes->at, 0, (size_t)(bytes->end - bytes->at));
  if (!end) return false;
  size_t length = (size_t)(end - bytes->at);
  return comp__bytes_skip(bytes, version >= 3 ? length + 1 : (length + 8) / 8 * 8) != NULL;
}

/* How many bytes HDF5 takes for an offset within a compound of that size. */
static size_t offset_bytes(uint64_t size) {
  size_t n = 1;
  while (n < 8 && size >> (8 * n)) n++;
  return n;
}

typedef struct parsing {
  comp__vet *vet;
  comp__bytes *bytes;
  uint64_t at;
  int depth;
} parsing;

static comp_status parse_type(comp__vet_type *out, parsing *p);

static comp_status bad_type(const parsing *p) {
  return comp__vet_damage(p->vet, p->at, "an impossible type of data");
}

static comp_status add_ref(comp__vet_type *out, size_t offset, size_t base) {
  if (out->n_refs == COMP__VET_REFS) return comp__vet_unusual("a type with very many texts of variable length");
  out->refs[out->n_refs++] = (comp__vet_ref){offset, base};
  return COMP_OK;
}

/* The references of a part, `count` times from `offset` on. */
static comp_status add_part(comp__vet_type *out, const comp__vet_type *part, size_t offset, uint64_t count) {
  comp_status status = COMP_OK;
  for (uint64_t i = 0; part->n_refs > 0 && i < count && status == COMP_OK; i++)
    for (size_t r = 0; r < part->n_refs && status == COMP_OK; r++)
      status = add_ref(out, offset + (size_t)i * part->size + part->refs[r].offset, part->refs[r].base);
  return status;
}

static comp_status parse_integer(const comp__vet_type *out, parsing *p) {
  uint64_t offset = comp__bytes_take(p->bytes, 2), precision = comp__bytes_take(p->bytes, 2);
  bool good = out->size <= LARGEST_NUMBER && precision > 0 && offset + precision <= 8 * out->size;
  return good ? COMP_OK : bad_type(p);
}

static comp_status parse_float(const comp__vet_type *out, parsing *p, unsigned bits) {
  uint64_t offset = comp__bytes_take(p->bytes, 2), precision = comp__bytes_take(p->bytes, 2);
  uint64_t exponent = comp__bytes_take(p->bytes, 1), exponent_size = comp__bytes_take(p->bytes, 1);
  uint64_t mantissa = comp__bytes_take(p->bytes, 1), mantissa_size = comp__bytes_take(p->bytes, 1);
  comp__bytes_take(p->bytes, 4);
  uint64_t most = 8 * out->size, sign = bits >> 8 & 0xff;
  bool good = out->size <= LARGEST_NUMBER && precision > 0 && offset + precision <= most && sign < most &&
              exponent_size > 0 && exponent_size < 64 && exponent + exponent_size <= most && mantissa_size > 0 &&
              mantissa + mantissa_size <= most;
  return good ? COMP_OK : bad_type(p);
}

/* The array that a member of a compound of version 1 may be: how many elements. */
static uint64_t member_count(parsing *p, int version) {
  uint64_t count = 1;
  if (version != 1) return 1;
  uint64_t rank = comp__bytes_take(p->bytes, 1);
  comp__bytes_skip(p->bytes, 11);
  for (uint64_t i = 0; i < 4; i++) {
    uint64_t dim = comp__bytes_take(p->bytes, 4);
    if (i < rank && (dim == 0 || __builtin_mul_overflow(count, dim, &count))) p->bytes->bad = true;
  }
  if (rank > 4) p->bytes->bad = true;
  return count;
}

static comp_status parse_compound(comp__vet_type *out, parsing *p, int version, unsigned members) {
  size_t width = version >= 3 ? offset_bytes(out->size) : 4;
  uint64_t used = 0;
  comp_status status = members == 0 ? bad_type(p) : COMP_OK;
  for (unsigned i = 0; i < members && status == COMP_OK; i++) {
    comp__vet_type member;
    if (!skip_name(p->bytes, version)) return bad_type(p);
    uint64_t offset = comp__bytes_take(p->bytes, width), count = member_count(p, version), size;
    status = parse_type(&member, p);
    if (status != COMP_OK) return status;
    if (__builtin_mul_overflow(count, (uint64_t)member.size, &size) || offset > out->size || size > out->size - offset)
      return bad_type(p);
    used += size;
    if (used > out->size) return bad_type(p);
    status = add_part(out, &member, (size_t)offset, count);
  }
  return status;
}

static comp_status parse_enum(const comp__vet_type *out, parsing *p, int version, unsigned members) {
  comp__vet_type base;
  comp_status status = parse_type(&base, p);
  if (status != COMP_OK) return status;
  if (base.class != 0 || base.size != out->size || members == 0) return bad_type(p);
  for (unsigned i = 0; i < members; i++)
    if (!skip_name(p->bytes, version)) return bad_type(p);
  comp__bytes_skip(p->bytes, members * base.size);
  return COMP_OK;
}

static comp_status parse_variable(comp__vet_type *out, parsing *p, unsigned bits) {
  comp__vet_type base;
  comp_status status = parse_type(&base, p);
  if (status != COMP_OK) return status;
  if (out->size != COMP__H5_REFERENCE || (bits & 0xf) > 1) return bad_type(p);
  /* References in lists (the scales of dimensions) are copied, but not followed. */
  if (base.n_refs > 0 && base.class != 7) return comp__vet_unusual("lists of variable length that hold such lists");
  return add_ref(out, 0, base.size);
}

static comp_status parse_array(comp__vet_type *out, parsing *p, int version) {
  comp__vet_type base;
  uint64_t rank = comp__bytes_take(p->bytes, 1), count = 1, size;
  if (rank == 0 || rank > COMP__VET_RANK) return bad_type(p);
  if (version < 3) comp__bytes_skip(p->bytes, 3);
  for (uint64_t i = 0; i < rank; i++)
    if (__builtin_mul_overflow(count, comp__bytes_take(p->bytes, 4), &count) || count == 0) return bad_type(p);
  if (version < 3) comp__bytes_skip(p->bytes, (size_t)rank * 4);
  comp_status status = parse_type(&base, p);
  if (status != COMP_OK) return status;
  if (version < 2 || __builtin_mul_overflow(count, (uint64_t)base.size, &size) || size != out->size) return bad_type(p);
  return add_part(out, &base, 0, count);
}

static comp_status parse_class(comp__vet_type *out, parsing *p, int version, unsigned bits) {
  switch (out->class) {
  case 0: /* integer */
  case 4: /* bits */
    return parse_integer(out, p);
  case 1:
    return parse_float(out, p, bits);
  case 3: /* text of a fixed length */
    return (bits & 0xf) > 2 || (bits >> 4 & 0xf) > 1 ? bad_type(p) : COMP_OK;
  case 5: /* opaque, with a name */
    return bits & 7 || !comp__bytes_skip(p->bytes, bits & 0xff) ? bad_type(p) : COMP_OK;
  case 6:
    return parse_compound(out, p, version, bits & 0xffff);
  case 7: /* a reference: to an object, or to a part of a dataset, which only copying follows */
    if ((bits & 0xf) == 1) return out->size != 12 ? bad_type(p) : add_ref(out, 0, COMP__VET_REGION);
    return (bits & 0xf) != 0 || out->size != 8 ? bad_type(p) : add_ref(out, 0, 0);
  case 8:
    return parse_enum(out, p, version, bits & 0xffff);
  case 9:
    return parse_variable(out, p, bits);
  case 10:
    return parse_array(out, p, version);
  case 2:
    return comp__vet_unusual("times in a type of HDF5's own");
  default:
    return bad_type(p);
  }
}

static comp_status parse_type(comp__vet_type *out, parsing *p) {
  unsigned head = (unsigned)comp__bytes_take(p->bytes, 4);
  int version = (int)(head >> 4 & 0xf);
  *out = (comp__vet_type){.class = (int)(head & 0xf), .size = (size_t)comp__bytes_take(p->bytes, 4)};
  if (!p->bytes->bad && (version == 4 || version == 5))
    return comp__vet_unusual("types of data that a newer HDF5 has written in its newest layout");
  if (p->bytes->bad || version < 1 || version > 3 || out->size == 0 || out->size > INT32_MAX) return bad_type(p);
  if (++p->depth > DEEPEST) return bad_type(p);
  comp_status status = parse_class(out, p, version, head >> 8);
  p->depth--;
  return status == COMP_OK && p->bytes->bad ? bad_type(p) : status;
}

comp_status comp__vet_read_type(comp__vet_type *out, comp__vet *vet, comp__bytes *bytes, uint64_t at) {
  parsing p = {vet, bytes, at, 0};
  return parse_type(out, &p);
}

comp_status comp__vet_read_space(comp__vet_space *out, const comp__vet *vet, comp__bytes *bytes, uint64_t at) {
  static const char what[] = "an impossible shape";
  uint64_t version = comp__bytes_take(bytes, 1), rank = comp__bytes_take(bytes, 1), flags = comp__bytes_take(bytes, 1);
  uint64_t kind = comp__bytes_take(bytes, 1); /* version 2: 0 one value, 1 an array, 2 nothing */
  *out = (comp__vet_space){.rank = (int)rank, .points = 1};
  if (version == 1) {
    comp__bytes_skip(bytes, 4);
    kind = rank > 0;
  }
  if (version < 1 || version > 2 || rank > COMP__VET_RANK || kind > 2 || flags > 1 || (kind != 1 && rank > 0))
    return comp__vet_damage(vet, at, what);
  if (kind == 2) out->points = 0;
  for (uint64_t i = 0; i < rank; i++) {
    out->dims[i] = comp__bytes_take(bytes, 8);
    if (__builtin_mul_overflow(out->points, out->dims[i], &out->points)) return comp__vet_damage(vet, at, what);
  }
  for (uint64_t i = 0; i < rank && flags & 1; i++)
    if (comp__bytes_take(bytes, 8) < out->dims[i]) return comp__vet_damage(vet, at, what);
  return bytes->bad || out->points > INT64_MAX ? comp__vet_damage(vet, at, what) : COMP_OK;
}

/* One reference to an object: 0, or an object header that was looked through or will be. */
static comp_status check_object(comp__vet *vet, const unsigned char *data) {
  comp__bytes bytes = {data, data + 8, false};
  uint64_t address = comp__bytes_take(&bytes, 8);
  return address == 0 ? COMP_OK : comp__vet_queue(vet, address);
}

/* One reference to a part of a dataset: 0, or where the heap has the address of the object, and then which part.
 * *others: one came before in the same data. HDF5 1.10 frees that one again at a 0. */
static comp_status check_region(comp__vet *vet, const unsigned char *data, bool *others) {
  const unsigned char *content;
  uint64_t size;
  comp__bytes place = {data, data + 8, false};
  if (comp__bytes_take(&place, 8) == 0)
    return *others ? comp__vet_unusual("empty references to parts of datasets") : COMP_OK;
  *others = true;
  comp_status status = comp__h5_heap_object(&content, &size, &vet->heap, data);
  if (status != COMP_OK) return status;
  comp__bytes b = {content, content + size, false};
  uint64_t address = comp__bytes_take(&b, 8);
  return address == 0 ? comp__error(COMP_ERR_FORMAT, "a reference to nothing") : comp__vet_queue(vet, address);
}

comp_status comp__vet_element_refs(comp__vet *vet, const comp__vet_type *type, const unsigned char *data,
                                   uint64_t count, uint64_t at) {
  comp_status status = COMP_OK;
  bool regions = false;
  for (uint64_t i = 0; i < count && status == COMP_OK; i++)
    for (size_t r = 0; r < type->n_refs && status == COMP_OK; r++) {
      const unsigned char *value = data + i * type->size + type->refs[r].offset;
      if (type->refs[r].base == 0)
        status = check_object(vet, value);
      else if (type->refs[r].base == COMP__VET_REGION)
        status = check_region(vet, value, &regions);
      else
        status = comp__h5_heap_check(&vet->heap, value, type->refs[r].base);
      if (status == COMP_ERR_FORMAT) status = comp__vet_damage(vet, at, "a text that is not where it should be");
    }
  return status;
}
