/* vet.c: an HDF5 file as a whole: superblock, object headers one after the other, references in data. */
#include "io/h5/vet.h"

#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"

enum { MOST_PIECES = 1024 }; /* of one object header */

/* ---- Pieces of the file ---- */

comp_status comp__vet_damage(const comp__vet *vet, uint64_t at, const char *what) {
  return comp__error(COMP_ERR_FORMAT, "the file is damaged: %s (at byte %llu); copy it again, or make it again", what,
                     (unsigned long long)(vet->base + at));
}

comp_status comp__vet_unusual(const char *what) {
  return comp__error(COMP_ERR_UNAVAILABLE,
                     "the file has %s, which are not read here; write it again with AnnData or h5py", what);
}

bool comp__vet_inside(const comp__vet *vet, uint64_t at, uint64_t size) {
  uint64_t room = vet->file_size - vet->base;
  return at <= room && size <= room - at;
}

comp_status comp__vet_read(unsigned char **out, const comp__vet *vet, uint64_t at, size_t size) {
  *out = NULL;
  if (!comp__vet_inside(vet, at, size)) return comp__vet_damage(vet, at, "a part beyond the end of the file");
  comp_status status = comp__alloc(out, size, 1);
  return status == COMP_OK ? comp__h5_pages_read(vet->pages, *out, vet->base + at, size) : status;
}

comp_status comp__vet_read_data(unsigned char **out, const comp__vet *vet, uint64_t at, size_t size) {
  *out = NULL;
  if (!comp__vet_inside(vet, at, size)) return comp__vet_damage(vet, at, "a part beyond the end of the file");
  comp_status status = comp__alloc(out, size, 1);
  return status == COMP_OK ? comp__h5_read_at(vet->fd, *out, vet->base + at, size) : status;
}

/* ---- What was looked through ---- */

static size_t place_of(const comp__vet *vet, uint64_t at) {
  size_t place = (size_t)((at * 0x9e3779b97f4a7c15u) >> 20) & (vet->known_size - 1);
  while (vet->known[place].kinds != 0 && vet->known[place].at != at) place = (place + 1) & (vet->known_size - 1);
  return place;
}

comp__vet_piece *comp__vet_find(const comp__vet *vet, uint64_t at) {
  comp__vet_piece *piece = vet->known ? &vet->known[place_of(vet, at)] : NULL;
  return piece && piece->kinds ? piece : NULL;
}

/* HDF5 first reads 512 bytes of headers and heaps, and then the rest. */
bool comp__vet_knows(const comp__vet *vet, uint64_t at) {
  enum { FIRST = 512 };
  if (at < vet->base || vet->broken) return false;
  at -= vet->base;
  const comp__vet_piece *before = at >= FIRST ? comp__vet_find(vet, at - FIRST) : NULL;
  const comp__vet_piece *here = comp__vet_find(vet, at);
  return (here && here->kinds != COMP__VET_LINKS) || (before && before->size > FIRST);
}

/* Objects that only such a structure knows are looked through when HDF5 comes to them. */
bool comp__vet_late(comp__vet *vet, uint64_t at, const unsigned char *bytes, size_t size, bool header) {
  static const char *const ours[] = {"TREE", "SNOD", "HEAP", "OCHK"};
  if (!vet->sealed || vet->broken || at < vet->base || size < 4) return false;
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    if (memcmp(bytes, ours[i], 4) == 0) return false; /* belongs to an object, which comes first */
  if (!header || (bytes[0] != 1 && memcmp(bytes, "OHDR", 4) != 0)) return true;
  vet->broken = comp__vet_queue(vet, at - vet->base);
  if (vet->broken == COMP_OK) vet->broken = comp__vet_queued(vet);
  return vet->broken == COMP_OK;
}

static comp_status grow_known(comp__vet *vet) {
  comp__vet_piece *old = vet->known;
  size_t count = vet->known_size;
  vet->known_size = count ? 2 * count : 256;
  comp_status status = comp__calloc(&vet->known, vet->known_size, sizeof *vet->known);
  if (status != COMP_OK) {
    vet->known = old;
    vet->known_size = count;
    return status;
  }
  for (size_t i = 0; i < count; i++)
    if (old[i].kinds) vet->known[place_of(vet, old[i].at)] = old[i];
  comp__free(old);
  return COMP_OK;
}

comp_status comp__vet_note(comp__vet *vet, uint64_t at, comp__vet_kind kind, bool *seen) {
  *seen = false;
  if (2 * (vet->known_count + 1) > vet->known_size) {
    comp_status status = grow_known(vet);
    if (status != COMP_OK) return status;
  }
  comp__vet_piece *piece = &vet->known[place_of(vet, at)];
  if (piece->kinds == 0) {
    *piece = (comp__vet_piece){.at = at, .heap = COMP__VET_NONE, .owner = COMP__VET_NONE};
    vet->known_count++;
  }
  *seen = (piece->kinds & kind) != 0;
  piece->kinds |= kind;
  return COMP_OK;
}

comp_status comp__vet_queue(comp__vet *vet, uint64_t at) {
  bool seen;
  comp_status status;
  COMP__TRY(comp__vet_note(vet, at, COMP__VET_HEADER, &seen));
  if (seen) return COMP_OK;
  COMP__TRY(comp__grow(&vet->queue, &vet->queue_capacity, vet->queue_count, vet->queue_count + 1, sizeof *vet->queue));
  vet->queue[vet->queue_count++] = at;
done:
  return status;
}

comp_status comp__vet_link(comp__vet *vet, uint64_t at, uint64_t tree) {
  comp_status status;
  COMP__TRY(comp__vet_queue(vet, at));
  COMP__TRY(comp__grow(&vet->links, &vet->link_capacity, vet->link_count, vet->link_count + 1, sizeof *vet->links));
  vet->links[vet->link_count++] = (comp__vet_link_to){at, tree};
done:
  return status;
}

/* All headers that links lead to have been read. */
static comp_status count_links(comp__vet *vet) {
  for (size_t i = 0; i < vet->link_count; i++) {
    const comp__vet_link_to *link = &vet->links[i];
    comp__vet_piece *to = comp__vet_find(vet, link->at);
    if (link->tree != COMP__VET_NONE && !comp__vet_find(vet, link->tree)->claimed) continue;
    if (to->links < UINT32_MAX) to->links++;
    if (to->group && to->links > 1 && to->links > to->said)
      return comp__vet_damage(vet, to->at, "a group that more links lead to than it says");
  }
  vet->link_count = 0;
  return COMP_OK;
}

comp_status comp__vet_own(comp__vet *vet, uint64_t at, comp__vet_kind kind, uint64_t owner) {
  bool seen;
  comp_status status = comp__vet_note(vet, at, kind, &seen);
  if (status != COMP_OK) return status;
  comp__vet_piece *piece = comp__vet_find(vet, at);
  if (piece->owner == COMP__VET_NONE) piece->owner = owner;
  return piece->owner == owner ? COMP_OK : comp__vet_damage(vet, at, "members that belong to two groups");
}

/* ---- Object headers ---- */

typedef comp_status (*message_fn)(void *user, comp__vet *vet, const comp__vet_message *message);

/* An object header that is being read: its pieces in the order in which they are found. */
typedef struct header {
  comp__vet *vet;
  uint64_t at;
  int version;
  bool ordered; /* version 2: messages have a number of their own */
  bool counted; /* it was said how many links lead to the object */
  uint32_t said;
  message_fn fn;
  void *user;
  size_t count;
  struct {
    uint64_t at, size;
  } pieces[MOST_PIECES];
} header;

static comp_status bad_header(const header *h) {
  return comp__vet_damage(h->vet, h->at, "an impossible object header");
}

static comp_status add_piece(header *h, uint64_t at, uint64_t size) {
  bool seen;
  for (size_t i = 0; i < h->count; i++)
    if (h->pieces[i].at == at) return comp__vet_damage(h->vet, h->at, "an object header that runs in circles");
  if (h->count == MOST_PIECES || size > UINT32_MAX || !comp__vet_inside(h->vet, at, size)) return bad_header(h);
  h->pieces[h->count].at = at;
  h->pieces[h->count++].size = size;
  comp_status status = comp__vet_note(h->vet, at, h->count > 1 ? COMP__VET_MORE : COMP__VET_HEADER, &seen);
  if (status == COMP_OK && h->count == 1) comp__vet_find(h->vet, at)->size = size;
  return status;
}

/* Of several numbers the smallest: which one counts for HDF5 does not matter then. */
static void take_links(header *h, comp__bytes b) {
  uint32_t said = (uint32_t)comp__bytes_take(&b, 4);
  if (!h->counted || said < h->said) h->said = said;
  h->counted = true;
}

static comp_status handle_message(header *h, const comp__vet_message *m) {
  enum { REFERENCES = 0x16 };
  comp__bytes b = m->bytes;
  if (m->id == REFERENCES && b.at < b.end) take_links(h, (comp__bytes){b.at + 1, b.end, false});
  if (m->id != 0x10) return h->fn(h->user, h->vet, m);
  uint64_t at = comp__bytes_take(&b, 8), size = comp__bytes_take(&b, 8);
  return b.bad || m->flags & 2 ? bad_header(h) : add_piece(h, at, size);
}

static comp_status read_messages(header *h, comp__bytes b) {
  size_t least = h->version == 1 ? 8 : h->ordered ? 6 : 4;
  comp_status status = COMP_OK;
  while (status == COMP_OK && (size_t)(b.end - b.at) >= least) {
    comp__vet_message m = {.at = h->at, .id = (int)comp__bytes_take(&b, h->version == 1 ? 2 : 1)};
    uint64_t size = comp__bytes_take(&b, 2);
    m.flags = (unsigned)comp__bytes_take(&b, 1);
    comp__bytes_skip(&b, least - (h->version == 1 ? 5 : 4));
    const unsigned char *data = comp__bytes_skip(&b, (size_t)size);
    if (!data || (h->version == 1 && size % 8)) return bad_header(h);
    m.bytes = (comp__bytes){data, data + size, false};
    status = handle_message(h, &m);
  }
  return status;
}

/* The first piece: where its messages begin and how long they are. */
static comp_status read_prefix(header *h, size_t *skip) {
  unsigned char *head = NULL;
  comp_status status;
  /* The longest prefix has 34 bytes; a file may end after a shorter one. */
  uint64_t room = comp__vet_inside(h->vet, h->at, 0) ? h->vet->file_size - h->vet->base - h->at : 0;
  size_t have = room < 34 ? (size_t)room : 34;
  if (have < 16) return bad_header(h);
  COMP__TRY(comp__vet_read(&head, h->vet, h->at, have));
  comp__bytes b = {head, head + have, false};
  uint64_t size;
  if (memcmp(head, "OHDR\2", 5) == 0) {
    comp__bytes_skip(&b, 5);
    uint64_t flags = comp__bytes_take(&b, 1);
    comp__bytes_skip(&b, (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0));
    size = comp__bytes_take(&b, (size_t)1 << (flags & 3));
    h->version = 2;
    h->ordered = flags & 4;
    *skip = (size_t)(b.at - head);
    if (flags & 0xc0 || b.bad || size > UINT32_MAX) COMP__TRY(bad_header(h));
    size += *skip + 4; /* and the checksum */
  } else {
    h->version = (int)comp__bytes_take(&b, 1);
    comp__bytes_skip(&b, 3);
    take_links(h, b);
    comp__bytes_skip(&b, 4);
    *skip = 16;
    size = comp__bytes_take(&b, 4) + 16;
    if (h->version != 1) COMP__TRY(bad_header(h));
  }
  COMP__TRY(add_piece(h, h->at, size));
done:
  comp__free(head);
  return status;
}

static comp_status read_piece(header *h, size_t i, size_t skip) {
  unsigned char *bytes = NULL;
  size_t size = (size_t)h->pieces[i].size, tail = h->version == 2 ? 4 : 0;
  comp_status status;
  COMP__TRY(comp__vet_read(&bytes, h->vet, h->pieces[i].at, size));
  if (i > 0 && h->version == 2) {
    if (size < 8 || memcmp(bytes, "OCHK", 4) != 0) COMP__TRY(bad_header(h));
    skip = 4;
  }
  if (size < skip + tail) COMP__TRY(bad_header(h));
  COMP__TRY(read_messages(h, (comp__bytes){bytes + skip, bytes + size - tail, false}));
done:
  comp__free(bytes);
  return status;
}

/* Gives every message of an object header to `fn`. */
static comp_status read_header(comp__vet *vet, uint64_t at, message_fn fn, void *user) {
  header *h = NULL;
  size_t skip = 0;
  comp_status status;
  COMP__TRY(comp__alloc(&h, 1, sizeof *h));
  h->vet = vet, h->at = at, h->fn = fn, h->user = user, h->count = 0, h->ordered = false;
  h->counted = false, h->said = 1; /* unless a message says otherwise */
  COMP__TRY(read_prefix(h, &skip));
  for (size_t i = 0; i < h->count; i++) COMP__TRY(read_piece(h, i, i == 0 ? skip : 0));
  comp__vet_find(vet, at)->said = h->said;
done:
  comp__free(h);
  return status;
}

/* ---- Objects ---- */

typedef struct type_search {
  comp__vet_type *out;
  bool found;
} type_search;

static comp_status take_type(void *user, comp__vet *vet, const comp__vet_message *m) {
  type_search *s = user;
  comp__bytes b = m->bytes;
  if (m->id != 3 || s->found) return COMP_OK;
  s->found = true;
  if (m->flags & 2) return comp__vet_damage(vet, m->at, "a type that refers to another");
  return comp__vet_read_type(s->out, vet, &b, m->at);
}

comp_status comp__vet_named_type(comp__vet_type *out, comp__vet *vet, uint64_t at) {
  type_search s = {out, false};
  comp_status status = comp__vet_queue(vet, at);
  if (status == COMP_OK) status = read_header(vet, at, take_type, &s);
  return status == COMP_OK && !s.found ? comp__vet_damage(vet, at, "a type that is not there") : status;
}

static comp_status check_message(void *user, comp__vet *vet, const comp__vet_message *m) {
  return comp__vet_message_check(user, vet, m);
}

static comp_status keep_dataset(comp__vet *vet, const comp__vet_object *o, uint64_t at) {
  if (o->type.n_refs == 0) return COMP_OK;
  comp_status status = comp__grow(&vet->datasets, &vet->dataset_capacity, vet->dataset_count, vet->dataset_count + 1,
                                  sizeof *vet->datasets);
  if (status != COMP_OK) return status;
  vet->datasets[vet->dataset_count++] = at;
  return COMP_OK;
}

/* The parts of a dataset have to fit together. */
static comp_status check_dataset(comp__vet *vet, const comp__vet_object *o, uint64_t at) {
  comp_status status = COMP_OK;
  uint64_t bytes;
  if (!o->has_type || !o->has_space || __builtin_mul_overflow(o->space.points, (uint64_t)o->type.size, &bytes))
    return comp__vet_damage(vet, at, "a dataset without a type or a shape");
  if (o->fill_size && o->fill_size != o->type.size) return comp__vet_damage(vet, at, "a fill value of another type");
  if (o->fill_size) status = comp__vet_element_refs(vet, &o->type, o->fill, 1, at);
  if (status != COMP_OK) return status;
  if (o->has_filters && o->layout.kind != COMP__VET_CHUNKED)
    return comp__vet_damage(vet, at, "filters of data that is not in chunks");
  switch (o->layout.kind) {
  case COMP__VET_COMPACT:
    if (o->layout.size != bytes) status = comp__vet_damage(vet, at, "data of another length than its shape");
    if (status == COMP_OK) status = comp__vet_element_refs(vet, &o->type, o->compact, o->space.points, at);
    return status;
  case COMP__VET_CONTIGUOUS:
    if (o->layout.size != COMP__VET_NONE && o->layout.size < bytes && o->layout.address != COMP__VET_NONE)
      return comp__vet_damage(vet, at, "data that is shorter than its shape");
    if (o->layout.address != COMP__VET_NONE && !comp__vet_inside(vet, o->layout.address, bytes))
      return comp__vet_damage(vet, at, "data beyond the end of the file");
    if (o->layout.address != COMP__VET_NONE && o->layout.size != COMP__VET_NONE &&
        !comp__vet_inside(vet, o->layout.address, o->layout.size))
      return comp__vet_damage(vet, at, "data beyond the end of the file");
    break;
  case COMP__VET_CHUNKED:
    status = comp__vet_chunks(vet, o, at);
    break;
  }
  return status == COMP_OK ? keep_dataset(vet, o, at) : status;
}

comp_status comp__vet_object_read(comp__vet_object *out, comp__vet *vet, uint64_t at) {
  *out = (comp__vet_object){0};
  return read_header(vet, at, check_message, out);
}

void comp__vet_object_release(comp__vet_object *object) {
  comp__free(object->compact);
  comp__free(object->fill);
}

static comp_status check_object(comp__vet *vet, uint64_t at) {
  comp__vet_object *o = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&o, 1, sizeof *o));
  COMP__TRY(comp__vet_object_read(o, vet, at));
  if ((o->has_table || o->has_links) && (o->has_layout || o->has_space))
    COMP__TRY(comp__vet_damage(vet, at, "an object that is a group and a dataset"));
  if (o->has_table && o->has_links) COMP__TRY(comp__vet_damage(vet, at, "a group of two kinds"));
  if (!o->has_layout && o->has_space) COMP__TRY(comp__vet_damage(vet, at, "a dataset without data"));
  if (!o->has_table && !o->has_links && !o->has_layout && !o->has_type)
    COMP__TRY(comp__vet_damage(vet, at, "an object that is no group, dataset or type"));
  if (o->has_table || o->has_links) {
    vet->groups++;
    comp__vet_find(vet, at)->group = true;
  }
  if (o->has_layout) COMP__TRY(check_dataset(vet, o, at));
done:
  if (o) comp__vet_object_release(o);
  comp__free(o);
  return status;
}

comp_status comp__vet_queued(comp__vet *vet) {
  comp_status status = COMP_OK;
  while (status == COMP_OK && vet->queue_at < vet->queue_count) status = check_object(vet, vet->queue[vet->queue_at++]);
  return status == COMP_OK ? count_links(vet) : status;
}

/* ---- The file ---- */

/* The signature is at the beginning, or at byte 512, 1024, ... */
static comp_status find_signature(comp__vet *vet) {
  static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  unsigned char head[sizeof signature];
  for (uint64_t at = 0; at < vet->file_size && vet->file_size - at >= sizeof head; at = at ? 2 * at : 512) {
    comp_status status = comp__h5_pages_read(vet->pages, head, at, sizeof head);
    vet->base = at;
    if (status != COMP_OK || memcmp(head, signature, sizeof head) == 0) return status;
  }
  return comp__error(COMP_ERR_FORMAT, "it is not an HDF5 file");
}

static comp_status bad_superblock(const comp__vet *vet) {
  return comp__vet_damage(vet, 0, "an impossible beginning");
}

/* What lies beyond the end that the superblock tells, HDF5 does not read, even if the file goes on. */
static comp_status set_end(comp__vet *vet, uint64_t base, uint64_t end) {
  if (end < base) return bad_superblock(vet);
  if (end - base < vet->file_size - vet->base) vet->file_size = vet->base + (end - base);
  vet->heap.file_size = vet->file_size;
  return COMP_OK;
}

/* Versions 0 and 1: the root is an entry as of a group. */
static comp_status read_superblock1(comp__vet *vet, comp__bytes *b, uint64_t version) {
  comp__bytes_skip(b, 4);
  uint64_t offsets = comp__bytes_take(b, 1), lengths = comp__bytes_take(b, 1);
  comp__bytes_skip(b, 1);
  vet->leaf_k = (size_t)comp__bytes_take(b, 2);
  vet->group_k = (size_t)comp__bytes_take(b, 2);
  comp__bytes_skip(b, 4);
  vet->chunk_k = 32;
  if (version == 1) {
    vet->chunk_k = (size_t)comp__bytes_take(b, 2);
    comp__bytes_skip(b, 2);
  }
  if (offsets != 8 || lengths != 8) return comp__vet_unusual("addresses of other than 8 bytes");
  uint64_t base = comp__bytes_take(b, 8);
  comp__bytes_skip(b, 8);
  uint64_t end = comp__bytes_take(b, 8), driver = comp__bytes_take(b, 8);
  comp__bytes_skip(b, 8);
  uint64_t root = comp__bytes_take(b, 8), kind = comp__bytes_take(b, 4);
  comp__bytes_skip(b, 4);
  uint64_t tree = comp__bytes_take(b, 8), heap = comp__bytes_take(b, 8);
  if (b->bad || vet->leaf_k == 0 || vet->group_k == 0 || vet->chunk_k == 0 || vet->leaf_k > 4096 || kind > 1)
    return bad_superblock(vet);
  if (driver != COMP__VET_NONE) return comp__vet_unusual("parts in several files");
  comp_status status = set_end(vet, base, end);
  if (status == COMP_OK && kind == 1) status = comp__vet_group(vet, root, tree, heap, false);
  return status == COMP_OK ? comp__vet_link(vet, root, COMP__VET_NONE) : status;
}

/* How free space is managed: strategy, whether it is kept in the file, sizes, and then where. */
static bool is_space_info(comp__bytes b) {
  uint64_t version = comp__bytes_take(&b, 1), strategy = comp__bytes_take(&b, 1), kept = comp__bytes_take(&b, 1);
  comp__bytes_skip(&b, 8);
  uint64_t page = comp__bytes_take(&b, 8);
  comp__bytes_skip(&b, 10 + (kept ? 12 * 8 : 0));
  return !b.bad && version == 1 && strategy <= 3 && kept <= 1 && page >= 512 && page <= 1 << 30;
}

/* What a superblock of version 2 keeps elsewhere: files in pages, and other sizes of nodes. */
static comp_status check_extension(void *user, comp__vet *vet, const comp__vet_message *m) {
  (void)user;
  enum { TREE_K = 0x13, FREE_SPACE = 0x17 };
  comp__bytes b = m->bytes;
  if (m->flags & 2) return comp__vet_unusual("settings that few programs make");
  if (m->id == 0 || (m->id == FREE_SPACE && is_space_info(b))) return COMP_OK;
  if (m->id != TREE_K) return comp__vet_unusual("settings that few programs make");
  uint64_t version = comp__bytes_take(&b, 1);
  vet->chunk_k = (size_t)comp__bytes_take(&b, 2);
  vet->group_k = (size_t)comp__bytes_take(&b, 2);
  vet->leaf_k = (size_t)comp__bytes_take(&b, 2);
  bool good = !b.bad && version == 0 && vet->leaf_k > 0 && vet->leaf_k <= 4096 && vet->group_k > 0 && vet->chunk_k > 0;
  return good ? COMP_OK : bad_superblock(vet);
}

static comp_status read_superblock2(comp__vet *vet, comp__bytes *b) {
  uint64_t offsets = comp__bytes_take(b, 1), lengths = comp__bytes_take(b, 1);
  comp__bytes_skip(b, 1);
  uint64_t base = comp__bytes_take(b, 8), extension = comp__bytes_take(b, 8), end = comp__bytes_take(b, 8);
  uint64_t root = comp__bytes_take(b, 8);
  vet->leaf_k = 4, vet->group_k = 16, vet->chunk_k = 32;
  if (b->bad || root == COMP__VET_NONE) return bad_superblock(vet);
  if (offsets != 8 || lengths != 8) return comp__vet_unusual("addresses of other than 8 bytes");
  comp_status status = set_end(vet, base, end);
  if (status == COMP_OK && extension != COMP__VET_NONE) status = read_header(vet, extension, check_extension, NULL);
  return status == COMP_OK ? comp__vet_link(vet, root, COMP__VET_NONE) : status;
}

static comp_status read_superblock(comp__vet *vet) {
  unsigned char *head = NULL;
  uint64_t room = vet->file_size - vet->base;
  size_t have = room < 104 ? (size_t)room : 104;
  comp_status status;
  COMP__TRY(comp__vet_read(&head, vet, 0, have));
  comp__bytes b = {head + 8, head + have, false};
  uint64_t version = have > 8 ? comp__bytes_take(&b, 1) : 99;
  if (version <= 1)
    COMP__TRY(read_superblock1(vet, &b, version));
  else if (version <= 3)
    COMP__TRY(read_superblock2(vet, &b));
  else
    COMP__TRY(bad_superblock(vet));
done:
  comp__free(head);
  return status;
}

comp_status comp__vet_new(comp__vet **out, int fd) {
  comp__vet *vet = NULL;
  struct stat info;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&vet, 1, sizeof *vet));
  vet->fd = fd;
  if (fstat(fd, &info) != 0) COMP__TRY(comp__error_errno("cannot read"));
  vet->file_size = (uint64_t)info.st_size;
  COMP__TRY(comp__h5_pages_new(&vet->pages, fd, vet->file_size));
  COMP__TRY(find_signature(vet));
  comp__h5_heap_init(&vet->heap, fd, vet->base, vet->file_size);
  vet->heap.pages = vet->pages;
  COMP__TRY(read_superblock(vet));
  COMP__TRY(comp__vet_queued(vet));
  *out = vet;
done:
  if (status != COMP_OK) comp__vet_free(vet);
  return status;
}

void comp__vet_free(comp__vet *vet) {
  if (!vet) return;
  comp__h5_heap_release(&vet->heap);
  comp__h5_pages_free(vet->pages);
  comp__free(vet->known);
  comp__free(vet->queue);
  comp__free(vet->links);
  comp__free(vet->datasets);
  comp__free(vet);
}
