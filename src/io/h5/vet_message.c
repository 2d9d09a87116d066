/* vet_message.c: the messages of object headers: what HDF5 decodes of them, and how far it would read. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/vet.h"

/* The numbers of HDF5's format. */
enum {
  NIL = 0x00,
  SPACE = 0x01,
  LINK_INFO = 0x02,
  TYPE = 0x03,
  OLD_FILL = 0x04,
  FILL = 0x05,
  LINK = 0x06,
  EXTERNAL = 0x07,
  LAYOUT = 0x08,
  BOGUS = 0x09,
  GROUP_INFO = 0x0a,
  FILTERS = 0x0b,
  ATTRIBUTE = 0x0c,
  COMMENT = 0x0d,
  OLD_TIME = 0x0e,
  SHARED_TABLE = 0x0f,
  CONTINUATION = 0x10,
  SYMBOL_TABLE = 0x11,
  TIME = 0x12,
  TREE_K = 0x13,
  DRIVER = 0x14,
  ATTRIBUTE_INFO = 0x15,
  REFERENCES = 0x16,
  FREE_SPACE = 0x17,
  CACHE_IMAGE = 0x18,
};

enum { SHARED = 2 }; /* flag of a message: it is kept elsewhere */

/* An address in a message: nothing, or within the file. */
static bool take_address(uint64_t *out, const comp__vet *vet, comp__bytes *bytes) {
  *out = comp__bytes_take(bytes, 8);
  return !bytes->bad && (*out == COMP__VET_NONE || comp__vet_inside(vet, *out, 1));
}

comp_status comp__vet_committed_type(comp__vet_type *out, comp__vet *vet, comp__bytes *bytes, uint64_t at) {
  uint64_t version = comp__bytes_take(bytes, 1), kind = comp__bytes_take(bytes, 1), address;
  if (version == 1) comp__bytes_skip(bytes, 14);
  if (version == 3 && kind == 1) return comp__vet_unusual("messages that several objects share");
  if (version < 1 || version > 3 || !take_address(&address, vet, bytes) || address == COMP__VET_NONE)
    return comp__vet_damage(vet, at, "a type that is kept elsewhere and cannot be found");
  return comp__vet_named_type(out, vet, address);
}

static comp_status check_type(comp__vet_type *out, comp__vet *vet, comp__bytes *bytes, bool shared, uint64_t at) {
  return shared ? comp__vet_committed_type(out, vet, bytes, at) : comp__vet_read_type(out, vet, bytes, at);
}

/* ---- Fill values ---- */

/* It is checked when the whole header is known: its type may come later. */
static comp_status keep_fill(comp__vet_object *object, const unsigned char *value, uint64_t size) {
  comp__free(object->fill);
  comp_status status = comp__alloc(&object->fill, (size_t)size, 1);
  if (status == COMP_OK) memcpy(object->fill, value, (size_t)size);
  object->fill_size = status == COMP_OK ? size : 0;
  return status;
}

static comp_status check_fill(comp__vet_object *object, const comp__vet *vet, comp__bytes b, uint64_t at) {
  uint64_t version = comp__bytes_take(&b, 1), size = 0;
  bool stored;
  if (version == 3) {
    uint64_t flags = comp__bytes_take(&b, 1);
    stored = flags & 0x20;
    if (flags & 0xc0) b.bad = true;
  } else {
    comp__bytes_skip(&b, 2);
    stored = comp__bytes_take(&b, 1) != 0 || version == 1;
  }
  if (stored) size = comp__bytes_take(&b, 4);
  if (version == 1 && size == UINT32_MAX) size = 0;
  const unsigned char *value = comp__bytes_skip(&b, (size_t)size);
  if (version < 1 || version > 3 || b.bad) return comp__vet_damage(vet, at, "a fill value beyond its message");
  return size > 0 ? keep_fill(object, value, size) : COMP_OK;
}

static comp_status check_old_fill(comp__vet_object *object, const comp__vet *vet, comp__bytes b, uint64_t at) {
  uint64_t size = comp__bytes_take(&b, 4);
  const unsigned char *value = comp__bytes_skip(&b, (size_t)size);
  if (b.bad) return comp__vet_damage(vet, at, "a fill value beyond its message");
  return size > 0 ? keep_fill(object, value, size) : COMP_OK;
}

/* ---- Filters ---- */

/* Whether the filters of HDF5 itself take their parameters. It writes shuffle without any for text, and skips it. */
static bool filter_is_usable(int id, uint64_t values, unsigned parameter) {
  enum { DEFLATE = 1, SHUFFLE = 2 };
  if (id == DEFLATE) return values == 1 && parameter <= 9;
  return id != SHUFFLE || (values == 1 && parameter > 0);
}

/* HDF5's own decoders of packed integers and floats and of szip read beyond damaged chunks. */
static comp_status check_filter(int id) {
  if (id >= 4 && id <= 6)
    return comp__vet_unusual(id == 4   ? "values packed by the filter szip"
                             : id == 5 ? "values packed by the filter nbit"
                                       : "values packed by the filter scaleoffset");
  return COMP_OK;
}

static comp_status check_filters(comp__vet_filters *out, const comp__vet *vet, comp__bytes b, uint64_t at) {
  static const char what[] = "an impossible list of filters";
  uint64_t version = comp__bytes_take(&b, 1), count = comp__bytes_take(&b, 1);
  *out = (comp__vet_filters){.count = (int)count};
  if (version == 1) comp__bytes_skip(&b, 6);
  if (version < 1 || version > 2 || count == 0 || count > COMP__VET_FILTERS) return comp__vet_damage(vet, at, what);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t id = comp__bytes_take(&b, 2), length = version == 1 || id >= 256 ? comp__bytes_take(&b, 2) : 0;
    uint64_t flags = comp__bytes_take(&b, 2), values = comp__bytes_take(&b, 2);
    if (version == 1 && length % 8) return comp__vet_damage(vet, at, what);
    const unsigned char *name = comp__bytes_skip(&b, (size_t)length);
    if (length > 0 && (!name || !memchr(name, 0, (size_t)length))) return comp__vet_damage(vet, at, what);
    for (uint64_t v = 0; v < values; v++) {
      unsigned value = (unsigned)comp__bytes_take(&b, 4);
      if (v == 0) out->parameter[i] = value;
    }
    if (version == 1 && values % 2) comp__bytes_skip(&b, 4);
    if (b.bad) return comp__vet_damage(vet, at, what);
    out->ids[i] = (int)id;
    out->optional[i] = flags & 1;
    out->unusable[i] = !filter_is_usable((int)id, values, out->parameter[i]);
    comp_status status = check_filter((int)id);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* ---- Layouts ---- */

static comp_status bad_layout(const comp__vet *vet, uint64_t at) {
  return comp__vet_damage(vet, at, "an impossible layout of data");
}

static comp_status check_compact(comp__vet_object *o, const comp__vet *vet, comp__bytes *b, size_t width, uint64_t at) {
  o->layout.size = comp__bytes_take(b, width);
  const unsigned char *data = comp__bytes_skip(b, (size_t)o->layout.size);
  if (!data) return bad_layout(vet, at);
  comp_status status = comp__alloc(&o->compact, (size_t)o->layout.size, 1);
  if (status == COMP_OK) memcpy(o->compact, data, (size_t)o->layout.size);
  return status;
}

/* Versions 1 and 2. */
static comp_status check_layout1(comp__vet_object *o, const comp__vet *vet, comp__bytes *b, uint64_t at) {
  comp__vet_layout *out = &o->layout;
  uint64_t rank = comp__bytes_take(b, 1), kind = comp__bytes_take(b, 1);
  comp__bytes_skip(b, 5);
  if (rank == 0 || rank > COMP__VET_RANK + 1 || kind > 2) return bad_layout(vet, at);
  out->kind = (comp__vet_layout_kind)kind;
  out->rank = (int)rank;
  if (kind > 0 && !take_address(&out->address, vet, b)) return bad_layout(vet, at);
  for (uint64_t i = 0; i < rank; i++) {
    out->chunk[i] = comp__bytes_take(b, 4);
    if (kind == COMP__VET_CHUNKED && out->chunk[i] == 0) return bad_layout(vet, at);
  }
  if (kind == 0) return check_compact(o, vet, b, 4, at);
  return b->bad ? bad_layout(vet, at) : COMP_OK;
}

static comp_status check_chunk_index(comp__vet_layout *out, comp__vet *vet, comp__bytes *b, uint64_t flags,
                                     uint64_t at) {
  static const int parameters[] = {0, 0, 0, 1, 5, 2}; /* bytes that each kind of index has of its own */
  out->index = (int)comp__bytes_take(b, 1);
  if (out->index < 1 || out->index > 5) return bad_layout(vet, at);
  if (out->index == 1 && flags & 2) {
    out->single = comp__bytes_take(b, 8);
    out->skipped = (unsigned)comp__bytes_take(b, 4);
    if (out->single == 0) return bad_layout(vet, at);
  }
  if (out->index == 5 && comp__bytes_take(b, 4) == 0) return bad_layout(vet, at); /* bytes of a node */
  for (int i = 0; i < parameters[out->index]; i++)
    if (comp__bytes_take(b, 1) == 0) return bad_layout(vet, at);
  if (out->index > 2) vet->sealed = true;
  return take_address(&out->address, vet, b) ? COMP_OK : bad_layout(vet, at);
}

static comp_status check_chunked(comp__vet_layout *out, comp__vet *vet, comp__bytes *b, uint64_t at) {
  uint64_t flags = out->version == 4 ? comp__bytes_take(b, 1) : 0, rank = comp__bytes_take(b, 1);
  size_t width = 4;
  if (rank < 2 || rank > COMP__VET_RANK + 1 || flags > 3) return bad_layout(vet, at);
  out->rank = (int)rank;
  if (out->version == 4)
    width = (size_t)comp__bytes_take(b, 1);
  else if (!take_address(&out->address, vet, b))
    return bad_layout(vet, at);
  if (width == 0 || width > 8) return bad_layout(vet, at);
  for (uint64_t i = 0; i < rank; i++) {
    out->chunk[i] = comp__bytes_take(b, width);
    if (out->chunk[i] == 0 || out->chunk[i] > UINT32_MAX) return bad_layout(vet, at);
  }
  if (out->version == 4) return check_chunk_index(out, vet, b, flags, at);
  return b->bad ? bad_layout(vet, at) : COMP_OK;
}

static comp_status check_layout(comp__vet_object *o, comp__vet *vet, comp__bytes b, uint64_t at) {
  comp__vet_layout *out = &o->layout;
  uint64_t version = comp__bytes_take(&b, 1);
  *out = (comp__vet_layout){.version = (int)version, .address = COMP__VET_NONE, .size = COMP__VET_NONE};
  if (version == 1 || version == 2) return check_layout1(o, vet, &b, at);
  if (version < 3 || version > 4) return bad_layout(vet, at);
  uint64_t kind = comp__bytes_take(&b, 1);
  if (kind == 3) return comp__vet_unusual("virtual datasets, whose data is in other files");
  if (kind > 3) return bad_layout(vet, at);
  out->kind = (comp__vet_layout_kind)kind;
  if (kind == COMP__VET_COMPACT) return check_compact(o, vet, &b, 2, at);
  if (kind == COMP__VET_CHUNKED) return check_chunked(out, vet, &b, at);
  bool good = take_address(&out->address, vet, &b);
  out->size = comp__bytes_take(&b, 8);
  return good && !b.bad ? COMP_OK : bad_layout(vet, at);
}

/* ---- Attributes ---- */

static size_t padded(uint64_t size, uint64_t version) {
  return (size_t)(version == 1 ? (size + 7) / 8 * 8 : size);
}

/* A part of an attribute: its bytes are set apart, and may not be exceeded. */
static comp__bytes take_part(comp__bytes *b, uint64_t size, uint64_t version) {
  const unsigned char *at = comp__bytes_skip(b, padded(size, version));
  return at ? (comp__bytes){at, at + size, false} : (comp__bytes){b->end, b->end, true};
}

static comp_status check_attribute(comp__vet *vet, comp__bytes b, uint64_t at) {
  static const char what[] = "an impossible attribute";
  comp__vet_type type = {0};
  comp__vet_space space = {0};
  uint64_t version = comp__bytes_take(&b, 1), flags = comp__bytes_take(&b, 1), name = comp__bytes_take(&b, 2);
  uint64_t type_size = comp__bytes_take(&b, 2), space_size = comp__bytes_take(&b, 2), bytes;
  if (version < 1 || version > 3 || (version > 1 && flags > 3)) return comp__vet_damage(vet, at, what);
  if (version == 3) comp__bytes_skip(&b, 1);
  if (version == 1) flags = 0;
  if (flags & 2) return comp__vet_unusual("messages that several objects share");
  comp__bytes text = take_part(&b, name, version), of_type = take_part(&b, type_size, version);
  comp__bytes of_space = take_part(&b, space_size, version);
  if (b.bad || name == 0 || memchr(text.at, 0, (size_t)name) != text.at + name - 1)
    return comp__vet_damage(vet, at, what);
  comp_status status = check_type(&type, vet, &of_type, flags & 1, at);
  if (status == COMP_OK) status = comp__vet_read_space(&space, vet, &of_space, at);
  if (status != COMP_OK) return status;
  if (__builtin_mul_overflow(space.points, (uint64_t)type.size, &bytes) || bytes > (uint64_t)(b.end - b.at))
    return comp__vet_damage(vet, at, what);
  return comp__vet_element_refs(vet, &type, b.at, space.points, at);
}

/* ---- Links ---- */

/* The two texts of a link to another file. */
static bool external_is_sound(comp__bytes text) {
  comp__bytes_skip(&text, 1);
  for (int i = 0; i < 2; i++) {
    const unsigned char *end = memchr(text.at, 0, (size_t)(text.end - text.at));
    if (!end) return false;
    text.at = end + 1;
  }
  return true;
}

static comp_status check_link(comp__vet *vet, comp__bytes b, uint64_t at) {
  static const char what[] = "an impossible link";
  uint64_t version = comp__bytes_take(&b, 1), flags = comp__bytes_take(&b, 1), address;
  uint64_t kind = flags & 8 ? comp__bytes_take(&b, 1) : 0;
  if (version != 1 || flags > 0x1f) return comp__vet_damage(vet, at, what);
  if (flags & 4) comp__bytes_skip(&b, 8);
  if (flags & 0x10) comp__bytes_skip(&b, 1);
  uint64_t length = comp__bytes_take(&b, (size_t)1 << (flags & 3));
  const unsigned char *name = length <= (uint64_t)(b.end - b.at) ? comp__bytes_skip(&b, (size_t)length) : NULL;
  if (!name || length == 0 || memchr(name, 0, (size_t)length)) return comp__vet_damage(vet, at, what);
  if (kind == 0) {
    if (!take_address(&address, vet, &b) || address == COMP__VET_NONE) return comp__vet_damage(vet, at, what);
    return comp__vet_link(vet, address, COMP__VET_NONE);
  }
  uint64_t size = comp__bytes_take(&b, 2);
  const unsigned char *value = comp__bytes_skip(&b, (size_t)size);
  bool good = value && size > 0 && (kind == 1 || kind >= 64);
  if (good && kind == 64) good = external_is_sound((comp__bytes){value, value + size, false});
  return good ? COMP_OK : comp__vet_damage(vet, at, what);
}

/* Links or attributes in a fractal heap, which has checksums. */
static comp_status check_dense(comp__vet *vet, comp__bytes b, bool links, uint64_t at) {
  uint64_t version = comp__bytes_take(&b, 1), flags = comp__bytes_take(&b, 1), heap, tree, order = COMP__VET_NONE;
  if (flags & 1) comp__bytes_skip(&b, links ? 8 : 2);
  bool good = version == 0 && flags <= 3 && take_address(&heap, vet, &b) && take_address(&tree, vet, &b);
  if (good && flags & 2) good = take_address(&order, vet, &b);
  if (!good) return comp__vet_damage(vet, at, "an impossible list of links or attributes");
  if (heap == COMP__VET_NONE) return COMP_OK;
  vet->sealed = true;
  return links ? comp__vet_own(vet, heap, COMP__VET_LINKS, at) : COMP_OK;
}

static comp_status check_symbol_table(comp__vet *vet, comp__bytes b, uint64_t at) {
  uint64_t tree, heap;
  if (!take_address(&tree, vet, &b) || !take_address(&heap, vet, &b) || tree == COMP__VET_NONE ||
      heap == COMP__VET_NONE)
    return comp__vet_damage(vet, at, "a group without its parts");
  return comp__vet_group(vet, at, tree, heap, true);
}

/* ---- All ---- */

static comp_status check_small(const comp__vet *vet, const comp__vet_message *m) {
  comp__bytes b = m->bytes;
  uint64_t version = 0;
  bool good = true;
  switch (m->id) {
  case GROUP_INFO: {
    version = comp__bytes_take(&b, 1);
    uint64_t flags = comp__bytes_take(&b, 1);
    comp__bytes_skip(&b, (flags & 1 ? 4 : 0) + (flags & 2 ? 4 : 0));
    good = version == 0 && flags <= 3;
    break;
  }
  case COMMENT:
    good = memchr(b.at, 0, (size_t)(b.end - b.at)) != NULL;
    break;
  case OLD_TIME:
    comp__bytes_skip(&b, 16);
    break;
  case TIME:
    good = comp__bytes_take(&b, 1) == 1;
    comp__bytes_skip(&b, 7);
    break;
  case REFERENCES:
    good = comp__bytes_take(&b, 1) == 0;
    comp__bytes_skip(&b, 4);
    break;
  default:
    break;
  }
  return good && !b.bad ? COMP_OK : comp__vet_damage(vet, m->at, "an impossible message in an object header");
}

static comp_status check_type_message(comp__vet_object *object, comp__vet *vet, const comp__vet_message *m) {
  comp__vet_type type;
  comp__bytes b = m->bytes;
  comp_status status = check_type(&type, vet, &b, m->flags & SHARED, m->at);
  if (!object->has_type) object->type = type; /* HDF5 takes the first */
  object->has_type = true;
  return status;
}

static comp_status check_space_message(comp__vet_object *object, const comp__vet *vet, const comp__vet_message *m) {
  comp__vet_space space;
  comp__bytes b = m->bytes;
  comp_status status = comp__vet_read_space(&space, vet, &b, m->at);
  if (!object->has_space) object->space = space;
  object->has_space = true;
  return status;
}

static comp_status check_layout_message(comp__vet_object *object, comp__vet *vet, const comp__vet_message *m) {
  if (object->has_layout) return comp__vet_damage(vet, m->at, "two layouts of one dataset");
  object->has_layout = true;
  return check_layout(object, vet, m->bytes, m->at);
}

static comp_status check_filters_message(comp__vet_object *object, comp__vet *vet, const comp__vet_message *m) {
  if (object->has_filters) return comp__vet_damage(vet, m->at, "two lists of filters of one dataset");
  object->has_filters = true;
  return check_filters(&object->filters, vet, m->bytes, m->at);
}

comp_status comp__vet_message_check(comp__vet_object *object, comp__vet *vet, const comp__vet_message *m) {
  if (m->flags & SHARED && m->id != TYPE) return comp__vet_unusual("messages that several objects share");
  switch (m->id) {
  case SPACE:
    return check_space_message(object, vet, m);
  case TYPE:
    return check_type_message(object, vet, m);
  case LAYOUT:
    return check_layout_message(object, vet, m);
  case FILTERS:
    return check_filters_message(object, vet, m);
  case FILL:
    return check_fill(object, vet, m->bytes, m->at);
  case OLD_FILL:
    return check_old_fill(object, vet, m->bytes, m->at);
  case ATTRIBUTE:
    return check_attribute(vet, m->bytes, m->at);
  case LINK:
    object->has_links = true;
    return check_link(vet, m->bytes, m->at);
  case LINK_INFO:
    object->has_links = true;
    return check_dense(vet, m->bytes, true, m->at);
  case ATTRIBUTE_INFO:
    return check_dense(vet, m->bytes, false, m->at);
  case SYMBOL_TABLE:
    if (object->has_table) return comp__vet_damage(vet, m->at, "two tables of one group");
    object->has_table = true;
    return check_symbol_table(vet, m->bytes, m->at);
  case EXTERNAL:
    return comp__vet_unusual("datasets whose data is in other files");
  case BOGUS:
  case SHARED_TABLE:
  case TREE_K:
  case DRIVER:
  case FREE_SPACE:
  case CACHE_IMAGE:
    return comp__vet_unusual("settings that few programs make");
  default:
    return check_small(vet, m);
  }
}
