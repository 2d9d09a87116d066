/* vet_index.c: groups (B-trees, symbol nodes, local heaps of names) and indices of chunks. */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/h5/vet.h"

enum { DEEPEST = 32, ENTRY = 40, NODE_HEADER = 24, SYMBOLS_HEADER = 8, HEAP_HEADER = 32 };

/* ---- Names of a group ---- */

typedef struct names {
  unsigned char *bytes;
  size_t size;
  uint64_t tree; /* the root of the group's tree */
} names;

/* A name has to end within the heap. */
static bool is_name(const names *n, uint64_t offset) {
  return offset < n->size && memchr(n->bytes + offset, 0, n->size - (size_t)offset);
}

/* Free blocks: 16 bytes at least each, none twice; 1 ends the list. More steps than blocks fit are a circle. */
static bool free_list_is_sound(const names *n, uint64_t head) {
  size_t steps = 0;
  while (head != 1) {
    if (head > n->size || n->size - head < 16 || ++steps > n->size / 16) return false;
    comp__bytes b = {n->bytes + head, n->bytes + n->size, false};
    uint64_t next = comp__bytes_take(&b, 8), size = comp__bytes_take(&b, 8);
    if (size < 16 || size > n->size - head) return false;
    head = next;
  }
  return true;
}

/* Reads the local heap of a group. out->bytes should be freed via comp__free(). */
static comp_status read_names(names *out, comp__vet *vet, uint64_t at) {
  static const char what[] = "a damaged list of names";
  unsigned char *head = NULL;
  bool seen;
  comp_status status;
  *out = (names){NULL, 0, COMP__VET_NONE};
  COMP__TRY(comp__vet_read(&head, vet, at, HEAP_HEADER));
  comp__bytes b = {head + 8, head + HEAP_HEADER, false};
  uint64_t size = comp__bytes_take(&b, 8), first = comp__bytes_take(&b, 8), data = comp__bytes_take(&b, 8);
  if (memcmp(head, "HEAP\0", 5) != 0 || !comp__vet_inside(vet, data, size)) COMP__TRY(comp__vet_damage(vet, at, what));
  COMP__TRY(comp__vet_note(vet, at, COMP__VET_HEAP, &seen));
  comp__vet_find(vet, at)->size = data == at + HEAP_HEADER ? HEAP_HEADER + size : HEAP_HEADER;
  COMP__TRY(comp__vet_note(vet, data, COMP__VET_NAMES, &seen));
  COMP__TRY(comp__vet_read(&out->bytes, vet, data, (size_t)size));
  out->size = (size_t)size;
  if (!free_list_is_sound(out, first)) COMP__TRY(comp__vet_damage(vet, at, what));
done:
  comp__free(head);
  return status;
}

/* ---- Members of a group ---- */

/* An entry: offset of the name, object header, kind of what is kept with it, reserved, 16 bytes of that. */
static comp_status check_entry(comp__vet *vet, const names *n, const unsigned char *entry, uint64_t at) {
  comp__bytes b = {entry, entry + ENTRY, false};
  uint64_t name = comp__bytes_take(&b, 8), header = comp__bytes_take(&b, 8), kind = comp__bytes_take(&b, 4);
  comp__bytes_skip(&b, 4);
  uint64_t first = comp__bytes_take(&b, 4);
  if (!is_name(n, name) || kind > 2) return comp__vet_damage(vet, at, "a member of a group without a name");
  if (kind == 2) /* a soft link: the offset of its text */
    return is_name(n, first) ? COMP_OK : comp__vet_damage(vet, at, "a link that leads outside");
  if (header == COMP__VET_NONE) return comp__vet_damage(vet, at, "a member of a group without an object");
  if (kind == 1) {
    b.at -= 4;
    uint64_t tree = comp__bytes_take(&b, 8), heap = comp__bytes_take(&b, 8);
    comp_status status = comp__vet_group(vet, header, tree, heap, false);
    if (status != COMP_OK) return status;
  }
  return comp__vet_link(vet, header, n->tree);
}

static comp_status check_symbols(comp__vet *vet, const names *n, uint64_t at) {
  unsigned char *node = NULL;
  bool seen;
  size_t size = SYMBOLS_HEADER + 2 * vet->leaf_k * ENTRY;
  comp_status status;
  COMP__TRY(comp__vet_note(vet, at, COMP__VET_SYMBOLS, &seen));
  if (seen) COMP__TRY(comp__vet_damage(vet, at, "members of a group that belong to two"));
  COMP__TRY(comp__vet_read(&node, vet, at, size));
  size_t count = (size_t)node[6] | (size_t)node[7] << 8;
  if (memcmp(node, "SNOD\1", 5) != 0 || count > 2 * vet->leaf_k)
    COMP__TRY(comp__vet_damage(vet, at, "a damaged list of members"));
  for (size_t i = 0; i < count; i++) COMP__TRY(check_entry(vet, n, node + SYMBOLS_HEADER + i * ENTRY, at));
done:
  comp__free(node);
  return status;
}

/* ---- B-trees ---- */

/* A node that was read: keys and children take turns, a key more than children. */
typedef struct node {
  unsigned char *bytes;
  int level;
  size_t count, key;
  uint64_t at;
} node;

static const unsigned char *key_of(const node *n, size_t i) {
  return n->bytes + NODE_HEADER + i * (n->key + 8);
}

static uint64_t child_of(const node *n, size_t i) {
  comp__bytes b = {key_of(n, i) + n->key, key_of(n, i) + n->key + 8, false};
  return comp__bytes_take(&b, 8);
}

/* kind: 0 a group, 1 chunks. level: what it has to be; -1: the root, any. out->bytes should be freed via comp__free().
 */
static comp_status read_node(node *out, comp__vet *vet, uint64_t at, int kind, int level, size_t key) {
  size_t k = kind == 0 ? vet->group_k : vet->chunk_k, size = NODE_HEADER + 2 * k * (key + 8) + key;
  bool seen;
  *out = (node){.key = key, .at = at};
  comp_status status = comp__vet_read(&out->bytes, vet, at, size);
  if (status == COMP_OK) status = comp__vet_note(vet, at, COMP__VET_NODE, &seen);
  if (status != COMP_OK) return status;
  out->level = out->bytes[5];
  out->count = (size_t)out->bytes[6] | (size_t)out->bytes[7] << 8;
  if (memcmp(out->bytes, "TREE", 4) != 0 || out->bytes[4] != kind || out->count > 2 * k ||
      (level < 0 ? out->level >= DEEPEST : out->level != level) || (out->count == 0 && level >= 0))
    return comp__vet_damage(vet, at, "a damaged tree");
  if (seen && level >= 0) return comp__vet_damage(vet, at, "a tree that runs in circles");
  return COMP_OK;
}

static comp_status check_group_node(comp__vet *vet, const names *n, uint64_t at, int level) {
  node t;
  comp_status status;
  COMP__TRY(read_node(&t, vet, at, 0, level, 8));
  for (size_t i = 0; i <= t.count && t.count > 0; i++) {
    comp__bytes b = {key_of(&t, i), key_of(&t, i) + 8, false};
    if (!is_name(n, comp__bytes_take(&b, 8))) COMP__TRY(comp__vet_damage(vet, at, "a damaged tree of names"));
  }
  for (size_t i = 0; i < t.count; i++) {
    uint64_t child = child_of(&t, i);
    COMP__TRY(t.level > 0 ? check_group_node(vet, n, child, t.level - 1) : check_symbols(vet, n, child));
  }
done:
  comp__free(t.bytes);
  return status;
}

comp_status comp__vet_group(comp__vet *vet, uint64_t header, uint64_t tree, uint64_t heap, bool claimed) {
  names n = {NULL, 0, COMP__VET_NONE};
  comp_status status = COMP_OK;
  comp__vet_piece *root = comp__vet_find(vet, tree);
  /* A group is reached by its header and by what its parent keeps of it. */
  if (root && root->kinds & COMP__VET_NODE) {
    root->claimed |= claimed;
    return root->heap == heap && root->owner == header
               ? COMP_OK
               : comp__vet_damage(vet, tree, "members that belong to two groups");
  }
  COMP__TRY(comp__vet_own(vet, tree, COMP__VET_NODE, header));
  root = comp__vet_find(vet, tree);
  root->heap = heap;
  root->claimed = claimed;
  if (vet->depth == COMP__VET_DEPTH) COMP__TRY(comp__vet_unusual("groups within very many others"));
  COMP__TRY(read_names(&n, vet, heap));
  n.tree = tree;
  vet->depth++;
  status = check_group_node(vet, &n, tree, -1);
  vet->depth--;
done:
  comp__free(n.bytes);
  return status;
}

/* ---- Chunks ---- */

/* A walk over the stored chunks. A key: bytes (4), skipped filters (4), place of the chunk (8 for each dimension). */
typedef struct walk {
  comp__vet *vet;
  int rank;
  comp__vet_chunk_fn fn;
  void *user;
  bool again; /* the tree is known */
} walk;

static comp_status walk_node(walk *w, uint64_t at, int level) {
  node t;
  comp_status status;
  COMP__TRY(read_node(&t, w->vet, at, 1, w->again ? -1 : level, 8 + 8 * (size_t)w->rank));
  if (level >= 0 && t.level != level) COMP__TRY(comp__vet_damage(w->vet, at, "a damaged tree"));
  for (size_t i = 0; i < t.count; i++) {
    comp__bytes b = {key_of(&t, i), key_of(&t, i) + t.key, false};
    uint64_t size = comp__bytes_take(&b, 4), skipped = comp__bytes_take(&b, 4);
    uint64_t child = child_of(&t, i);
    COMP__TRY(t.level > 0 ? walk_node(w, child, t.level - 1) : w->fn(w->user, child, size, (unsigned)skipped));
  }
done:
  comp__free(t.bytes);
  return status;
}

comp_status comp__vet_each_chunk(comp__vet *vet, uint64_t tree, int rank, comp__vet_chunk_fn fn, void *user) {
  const comp__vet_piece *root = comp__vet_find(vet, tree);
  walk w = {vet, rank, fn, user, root && root->kinds & COMP__VET_NODE};
  return walk_node(&w, tree, -1);
}

typedef struct chunk_check {
  const comp__vet *vet;
  uint64_t at, bytes;
  bool filtered;
} chunk_check;

static comp_status check_chunk(void *user, uint64_t address, uint64_t size, unsigned skipped) {
  const chunk_check *c = user;
  (void)skipped;
  if (comp__vet_inside(c->vet, address, size) && (c->filtered ? size > 0 : size == c->bytes)) return COMP_OK;
  return comp__vet_damage(c->vet, c->at, "a chunk of data that cannot be where it should be");
}

/* More than a chunk of a file of that size can hold, as deflate packs at most 1032:1. */
static bool chunk_is_plausible(const comp__vet *vet, uint64_t bytes) {
  uint64_t most;
  if (__builtin_mul_overflow(vet->file_size, (uint64_t)1100, &most)) most = UINT32_MAX;
  return bytes <= most + (64 << 20) && bytes <= UINT32_MAX;
}

static comp_status check_bytes(uint64_t *bytes, const comp__vet *vet, const comp__vet_object *o, uint64_t at) {
  bool good = o->has_space && o->has_type && o->layout.rank == o->space.rank + 1 &&
              o->layout.chunk[o->space.rank] == o->type.size;
  *bytes = 1;
  for (int i = 0; good && i < o->layout.rank; i++) good = !__builtin_mul_overflow(*bytes, o->layout.chunk[i], bytes);
  if (good && chunk_is_plausible(vet, *bytes)) return COMP_OK;
  return comp__vet_damage(vet, at, "chunks of an impossible size");
}

comp_status comp__vet_chunks(comp__vet *vet, const comp__vet_object *o, uint64_t at) {
  const comp__vet_layout *l = &o->layout;
  chunk_check check = {vet, at, 0, o->has_filters};
  comp_status status = check_bytes(&check.bytes, vet, o, at);
  if (status != COMP_OK || l->address == COMP__VET_NONE) return status;
  if (l->version < 4) {
    const comp__vet_piece *root = comp__vet_find(vet, l->address);
    if (root && root->kinds & COMP__VET_NODE) return comp__vet_damage(vet, at, "chunks that belong to two datasets");
    return comp__vet_each_chunk(vet, l->address, l->rank, check_chunk, &check);
  }
  if (l->index == 1) return check_chunk(&check, l->address, l->single ? l->single : check.bytes, 0);
  if (l->index != 2) return COMP_OK; /* arrays and trees with checksums */
  uint64_t count = 1;
  for (int i = 0; i < o->space.rank; i++)
    if (__builtin_mul_overflow(count, (o->space.dims[i] + l->chunk[i] - 1) / l->chunk[i], &count)) count = UINT64_MAX;
  if (__builtin_mul_overflow(count, check.bytes, &count) || !comp__vet_inside(vet, l->address, count))
    return comp__vet_damage(vet, at, "chunks beyond the end of the file");
  return COMP_OK;
}
