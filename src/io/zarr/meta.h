/*
 * meta.h: what the metadata of an array says: its shape, the type of its values, how chunks are named and encoded.
 *
 * Version 2 keeps it in `.zarray`, version 3 in `zarr.json`; both become one struct. Sizes are checked for overflow
 * here, but not whether anything is stored that fills them: see array.h.
 */
#ifndef COMP_IO_ZARR_META_H
#define COMP_IO_ZARR_META_H

#include <jansson.h>

#include "io/numbers.h"
#include "io/zarr/codec.h"

enum { COMP__ZARR_MOST_DIMS = 8 };

typedef enum comp__zarr_kind {
  COMP__ZARR_NUMBER,
  COMP__ZARR_BOOL,
  COMP__ZARR_TEXT,    /* of any length */
  COMP__ZARR_UNICODE, /* of one length: UTF-32, filled up by zeros */
  COMP__ZARR_BYTES,   /* of one length, filled up by zeros: ASCII or UTF-8 */
  COMP__ZARR_RECORDS, /* fields of the kinds above, all of one length */
  COMP__ZARR_OTHER    /* times, ...: it can be there, but not be read */
} comp__zarr_kind;

typedef struct comp__zarr_type {
  comp__zarr_kind kind;
  comp__number number; /* its size is that of any value of one length; swap also of UNICODE */
} comp__zarr_type;

/* A field of records. */
typedef struct comp__zarr_field {
  char *name;
  comp__zarr_type type;
  size_t offset; /* in a record */
} comp__zarr_field;

/* How the values of a chunk become bytes. */
typedef struct comp__zarr_encoding {
  int order[COMP__ZARR_MOST_DIMS]; /* the dimensions of the array from the slowest to the fastest in a chunk */
  bool swap;                       /* version 3: bytes in the other order than this machine's */
  bool vlen;                       /* text of any length, each behind its length */
  comp__zarr_codecs codecs;
} comp__zarr_encoding;

typedef struct comp__zarr_meta {
  int rank;
  size_t shape[COMP__ZARR_MOST_DIMS];
  size_t chunk[COMP__ZARR_MOST_DIMS]; /* what one key holds: a chunk, or a shard */
  comp__zarr_type type;
  comp__zarr_field *fields; /* of records */
  size_t n_fields;
  unsigned char fill[8]; /* the value of chunks that are not there, in this machine's byte order */
  char *fill_text;       /* the same of text; NULL: "" */
  comp__zarr_encoding encoding;
  bool prefix;    /* keys begin with "c" */
  char separator; /* between the numbers of a key: '.' or '/' */
  bool sharded;
  size_t inner[COMP__ZARR_MOST_DIMS]; /* sharded: the shape of the chunks in a shard, encoded by `encoding` */
  bool index_first;                   /* sharded: the index is at the beginning of a shard, not at its end */
  bool index_swap;                    /* its bytes are in the other order */
  comp__zarr_codecs index_codecs;     /* checksums only: it has a fixed length */
} comp__zarr_meta;

/* Reads metadata of either version. It should be released via comp__zarr_meta_release(), also when it fails. */
comp_status comp__zarr_meta_read(comp__zarr_meta *out, const json_t *json);
void comp__zarr_meta_release(comp__zarr_meta *meta);

/* ---- parts ---- */

/* meta_v2.c, meta_v3.c */
comp_status comp__zarr_meta_read_v2(comp__zarr_meta *out, const json_t *json);
comp_status comp__zarr_meta_read_v3(comp__zarr_meta *out, const json_t *json);

/* A list of sizes, all of them at least `least`; *rank gets how many, or is what there must be when it is not -1. */
comp_status comp__zarr_read_sizes(size_t *out, int *rank, const json_t *list, const char *what, size_t least);

/* dtype.c: "<f4" and the like of version 2; "float32" and the like of version 3. Types that are not known are OTHER. */
void comp__zarr_type_v2(comp__zarr_type *out, const char *name);
void comp__zarr_type_v3(comp__zarr_type *out, const json_t *json);

/* records.c: the list of fields that version 2 has as a dtype, or version 3 in the configuration of one. The type
 * becomes RECORDS, or OTHER when a field is none that is read here. */
comp_status comp__zarr_read_fields(comp__zarr_meta *out, const json_t *list, int version);

/* Whether the fill value of records is zeros. */
bool comp__zarr_fill_is_zero(const json_t *fill);

/* The fill value; null means zero. The type is known. */
comp_status comp__zarr_read_fill(comp__zarr_meta *out, const json_t *fill);

#endif
