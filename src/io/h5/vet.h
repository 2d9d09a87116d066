/*
 * vet.h: looks through the structure of an HDF5 file before HDF5 sees it.
 *
 * HDF5 1.10 trusts what a file says about itself: counts, offsets and lengths in a damaged file make it read and write
 * beyond its buffers, run in circles or take all memory. So everything that HDF5 will read of a file's structure is
 * read and checked here first: superblock, object headers and their messages, groups (B-trees, symbol nodes, local
 * heaps), indices of chunks, and the references to variable-length text in attributes. The file driver (guard.c) then
 * lets HDF5 read as structure only what was checked.
 *
 * Not checked: what HDF5's newest layout protects by checksums of its own (fractal heaps, B-trees of version 2, arrays
 * of chunks); and data, other than by comp__vet_references().
 *
 * vet.c: the file as a whole and object headers; vet_message.c: the messages in them; vet_type.c: types and shapes;
 * vet_index.c: groups, chunks, heaps; vet_data.c: data.
 */
#ifndef COMP_IO_H5_VET_H
#define COMP_IO_H5_VET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"
#include "io/h5/heap.h"
#include "io/h5/pages.h"

typedef struct comp__vet comp__vet;

/* Reads through an open file from its beginning. An error says what is wrong and where. It should be freed via
 * comp__vet_free(). */
comp_status comp__vet_new(comp__vet **out, int fd);

void comp__vet_free(comp__vet *vet);

/* Whether a piece of structure that begins at that byte of the file was looked through. */
bool comp__vet_knows(const comp__vet *vet, uint64_t at);

/* Whether HDF5 may read a piece that was not, `bytes` being its beginning: what has a checksum of its own, and objects
 * that only such a piece leads to, which are looked through now. `header`: HDF5 takes it for an object header or the
 * like, and not for a part of an array or heap, which may begin with any byte. */
bool comp__vet_late(comp__vet *vet, uint64_t at, const unsigned char *bytes, size_t size, bool header);

/* Looks through the data of all datasets that refer to other parts of the file (variable-length text, references to
 * objects): HDF5 would follow such references blindly when it copies, and HDF5 1.10 frees a type twice when copying
 * the data of a dataset (H5Ocopy) fails for any reason. Done once; later calls cost nothing. */
comp_status comp__vet_references(comp__vet *vet);

/* Looks through the data of one dataset before HDF5 decodes it: every chunk has to have its full length. `header` is
 * the address of its object header. Done once, as above. */
comp_status comp__vet_data(comp__vet *vet, uint64_t header);

/* ---- For vet*.c ---- */

#define COMP__VET_NONE   UINT64_MAX /* HDF5's address of nothing */
#define COMP__VET_REGION SIZE_MAX

/* COMP__VET_DEPTH: groups within groups. HDF5 and the functions here call themselves for each. */
enum { COMP__VET_DEPTH = 200, COMP__VET_RANK = 32, COMP__VET_REFS = 512, COMP__VET_FILTERS = 32 };

/* Bytes that are taken one after the other. Beyond the end everything is 0, and `bad` is set. */
typedef struct comp__bytes {
  const unsigned char *at, *end;
  bool bad;
} comp__bytes;

/* A little-endian number of n bytes (n <= 8). */
uint64_t comp__bytes_take(comp__bytes *bytes, size_t n);

/* The next n bytes; NULL when there are not as many. */
const unsigned char *comp__bytes_skip(comp__bytes *bytes, size_t n);

/* A place within an element of a type that refers to another place of the file. */
typedef struct comp__vet_ref {
  size_t offset;
  size_t base; /* variable length: bytes of one element there; 0: an object; COMP__VET_REGION: a part of a dataset */
} comp__vet_ref;

typedef struct comp__vet_type {
  int class;   /* as in the file: 0 integer, 1 float, 3 text, ... */
  size_t size; /* of an element, > 0 */
  comp__vet_ref refs[COMP__VET_REFS];
  size_t n_refs;
} comp__vet_type;

typedef struct comp__vet_space {
  int rank;
  uint64_t dims[COMP__VET_RANK];
  uint64_t points; /* 0: empty */
} comp__vet_space;

typedef enum comp__vet_layout_kind { COMP__VET_COMPACT, COMP__VET_CONTIGUOUS, COMP__VET_CHUNKED } comp__vet_layout_kind;

typedef struct comp__vet_layout {
  comp__vet_layout_kind kind;
  int version;
  uint64_t address; /* of the data, or of the index of chunks */
  uint64_t size;    /* of the data; COMP__VET_NONE: the message does not say */
  int rank;         /* chunks: that of the dataset and 1 */
  uint64_t chunk[COMP__VET_RANK + 1];
  int index;        /* version 4: the kind of index */
  uint64_t single;  /* version 4: stored bytes of the only chunk; 0: as they are */
  unsigned skipped; /* of it: filters that were not applied */
} comp__vet_layout;

typedef struct comp__vet_filters {
  int count;
  int ids[COMP__VET_FILTERS];
  unsigned parameter[COMP__VET_FILTERS]; /* the first one */
  bool optional[COMP__VET_FILTERS];      /* may fail when it is applied */
  bool unusable[COMP__VET_FILTERS];      /* HDF5 refuses its parameters: a chunk may only skip it */
} comp__vet_filters;

typedef enum comp__vet_kind {
  COMP__VET_HEADER = 1,
  COMP__VET_MORE = 2, /* an object header that goes on elsewhere */
  COMP__VET_NODE = 4,
  COMP__VET_SYMBOLS = 8,
  COMP__VET_HEAP = 16,
  COMP__VET_NAMES = 32,
  COMP__VET_DATA = 64,   /* a header whose data was looked through */
  COMP__VET_LINKS = 128, /* a heap of links, which has checksums */
} comp__vet_kind;

/* A piece of structure. One address may be taken for several kinds. */
typedef struct comp__vet_piece {
  uint64_t at;    /* address */
  unsigned kinds; /* bits of comp__vet_kind; 0: a free place of the table */
  uint64_t size;  /* of a header or heap: how much HDF5 reads of it */
  uint64_t heap;  /* of the root of a group's tree: where its names are */
  uint64_t owner; /* of that, or of a heap of links: the header of the group */
  uint32_t links; /* of a header: how many links to it were found */
  uint32_t said;  /* of a header: how many there are by its own account */
  bool group;     /* it is the header of a group, which was looked through */
  bool claimed;   /* its owner's header names this tree, and not only what the parent keeps of it, which may be old */
} comp__vet_piece;

/* A link: what it leads to, and the tree of members that it is in. */
typedef struct comp__vet_link_to {
  uint64_t at, tree;
} comp__vet_link_to;

struct comp__vet {
  int fd;
  uint64_t file_size, base; /* file_size: no more than the superblock says, where HDF5 ends reading */
  size_t leaf_k, group_k, chunk_k;
  comp_status broken; /* why an object that was found late cannot be looked through */
  size_t groups;
  int depth;              /* of the group that is looked through within others */
  bool sealed;            /* there is structure that only checksums protect */
  comp__vet_piece *known; /* hash table; its size is a power of 2 */
  size_t known_size, known_count;
  uint64_t *queue; /* object headers that are still to be looked through */
  size_t queue_count, queue_capacity, queue_at;
  comp__vet_link_to *links; /* that are still to be counted */
  size_t link_count, link_capacity;
  uint64_t *datasets; /* object headers of datasets that refer to other parts of the file */
  size_t dataset_count, dataset_capacity;
  bool referenced; /* comp__vet_references() has been through */
  comp__h5_heap heap;
  comp__h5_pages *pages; /* what was read of the structure */
};

/* The error of damage at an address. */
comp_status comp__vet_damage(const comp__vet *vet, uint64_t at, const char *what);

/* The error of something sound that is not read here. */
comp_status comp__vet_unusual(const char *what);

/* Reads a piece of structure, which stays known (pages.h), or of data. It should be freed via comp__free(). */
comp_status comp__vet_read(unsigned char **out, const comp__vet *vet, uint64_t at, size_t size);
comp_status comp__vet_read_data(unsigned char **out, const comp__vet *vet, uint64_t at, size_t size);

/* Whether that much lies within the file. */
bool comp__vet_inside(const comp__vet *vet, uint64_t at, uint64_t size);

/* Notes a piece of structure; *seen: it had been noted before as of that kind. */
comp_status comp__vet_note(comp__vet *vet, uint64_t at, comp__vet_kind kind, bool *seen);

/* The piece that was noted at an address; NULL: none. */
comp__vet_piece *comp__vet_find(const comp__vet *vet, uint64_t at);

/* Notes an object header that is to be looked through later. */
comp_status comp__vet_queue(comp__vet *vet, uint64_t at);

/* The same for a header that a link leads to, which is in a tree of members (COMP__VET_NONE: in none). HDF5 remembers
 * where it has been only of objects that have several links by their own account: it would go round for ever in a group
 * that has more links than it says. */
comp_status comp__vet_link(comp__vet *vet, uint64_t at, uint64_t tree);

/* Notes what holds the members of a group, whose header is `owner`: two groups cannot have the same members. */
comp_status comp__vet_own(comp__vet *vet, uint64_t at, comp__vet_kind kind, uint64_t owner);

/* vet_type.c */
comp_status comp__vet_read_type(comp__vet_type *out, comp__vet *vet, comp__bytes *bytes, uint64_t at);
comp_status comp__vet_read_space(comp__vet_space *out, const comp__vet *vet, comp__bytes *bytes, uint64_t at);
comp_status comp__vet_element_refs(comp__vet *vet, const comp__vet_type *type, const unsigned char *data,
                                   uint64_t count, uint64_t at);

/* vet_message.c. A message of an object header. */
typedef struct comp__vet_message {
  int id;
  unsigned flags;
  comp__bytes bytes;
  uint64_t at; /* of the header: for messages */
} comp__vet_message;

/* What the messages of one object have said. */
typedef struct comp__vet_object {
  bool has_type, has_space, has_layout, has_filters, has_table, has_links;
  comp__vet_type type;
  comp__vet_space space;
  comp__vet_layout layout;
  comp__vet_filters filters;
  uint64_t fill_size;     /* 0: none is stored */
  unsigned char *fill;    /* its bytes */
  unsigned char *compact; /* data that is in the header itself; NULL: none */
} comp__vet_object;

comp_status comp__vet_message_check(comp__vet_object *object, comp__vet *vet, const comp__vet_message *message);
comp_status comp__vet_committed_type(comp__vet_type *out, comp__vet *vet, comp__bytes *bytes, uint64_t at);

/* vet.c: reads the messages of an object header. It should be released via comp__vet_object_release(), also when it
 * fails. */
comp_status comp__vet_object_read(comp__vet_object *out, comp__vet *vet, uint64_t at);
void comp__vet_object_release(comp__vet_object *object);

/* vet.c: looks through the headers that have been noted since. */
comp_status comp__vet_queued(comp__vet *vet);

/* vet.c: the type of the object header at an address, which holds a type. */
comp_status comp__vet_named_type(comp__vet_type *out, comp__vet *vet, uint64_t at);

/* vet_index.c */
/* header: of the object that has these members; claimed: the header itself says so. */
comp_status comp__vet_group(comp__vet *vet, uint64_t header, uint64_t tree, uint64_t heap, bool claimed);
comp_status comp__vet_chunks(comp__vet *vet, const comp__vet_object *object, uint64_t at);

/* What to do with each stored chunk: its place, its bytes, which filters were skipped. */
typedef comp_status (*comp__vet_chunk_fn)(void *user, uint64_t address, uint64_t size, unsigned skipped);
comp_status comp__vet_each_chunk(comp__vet *vet, uint64_t tree, int rank, comp__vet_chunk_fn fn, void *user);

#endif
