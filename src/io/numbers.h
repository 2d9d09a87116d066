/*
 * numbers.h: numbers of any stored kind (HDF5, zarr) to the four that are used in memory, and to text.
 */
#ifndef COMP_IO_NUMBERS_H
#define COMP_IO_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/strings.h"

/* How numbers are stored in a file. */
typedef enum comp__number_kind {
  COMP__NUMBER_OTHER,
  COMP__NUMBER_INT,
  COMP__NUMBER_UINT,
  COMP__NUMBER_FLOAT,
  COMP__NUMBER_RAW
} comp__number_kind;

typedef struct comp__number {
  comp__number_kind kind; /* OTHER: HDF5 converts it; RAW: bytes that are not looked at */
  size_t size;            /* bytes: 1, 2, 4, 8; any when RAW */
  bool swap;              /* in the other byte order */
} comp__number;

/* Numbers as they are written: in memory and in the file alike. */
typedef enum comp__stored {
  COMP__STORED_BOOL, /* int8_t, 0 or 1 */
  COMP__STORED_I8,
  COMP__STORED_I16,
  COMP__STORED_I32,
  COMP__STORED_I64,
  COMP__STORED_U8,
  COMP__STORED_U16,
  COMP__STORED_U32,
  COMP__STORED_U64,
  COMP__STORED_F32,
  COMP__STORED_F64
} comp__stored;

/* What numbers become in memory. */
typedef enum comp__as {
  COMP__AS_F32,
  COMP__AS_F64,
  COMP__AS_I32,
  COMP__AS_I64,
  COMP__AS_U64, /* of unsigned numbers of 8 bytes alone */
  COMP__AS_RAW
} comp__as;

/* Bytes a number in memory; not of COMP__AS_RAW. */
size_t comp__as_size(comp__as as);

/* The kind of number that it is in memory. */
comp__number_kind comp__as_kind(comp__as as);

/* Converts n numbers (already in this machine's byte order). Returns the index of the first that does not fit into an
 * integer target, or n. Floats do not become integers: the caller sees to it. */
size_t comp__numbers_convert(void *to, comp__as as, const void *from, comp__number number, size_t n);

/* Turns the bytes of n numbers around, in place. */
void comp__numbers_swap(void *numbers, size_t size, size_t n);

/* Appends numbers (or bools: True, False) as text, as Python shows them; whole floats keep no ".0", since codes and
 * clusters are meant. Numbers of a kind are read `as` what comp__as_text() says, of 8 bytes each: two that differ have
 * different texts. */
comp__as comp__as_text(comp__number number, bool boolean);
comp_status comp__numbers_append_texts(comp__strings *out, const void *values, comp__as as, size_t n, bool boolean);

/* The type in which numbers of a kind are written again, and in which they are read before. Halves become single
 * precision. */
comp__stored comp__stored_of(comp__as *as, comp__number number, bool boolean);

/* Bytes a number of that type. */
size_t comp__stored_size(comp__stored type);

/* Turns n numbers that were read so into that type, in place. */
void comp__stored_narrow(void *numbers, comp__stored type, comp__as as, size_t n);

#endif
