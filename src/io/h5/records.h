/*
 * records.h: datasets of records (compound): tables from before AnnData 0.7, and record arrays (rec-array), such as
 * uns/rank_genes_groups/names.
 */
#ifndef COMP_IO_H5_RECORDS_H
#define COMP_IO_H5_RECORDS_H

#include "comp/context.h"
#include "io/h5/h5.h"
#include "io/tree.h"

/* A list of records. */
typedef struct comp__h5_records {
  hid_t dataset;
  hid_t type;
  size_t rows;
  int fields;
  size_t size;                /* of a record */
  unsigned char *rows_stored; /* all records as they are stored; NULL: HDF5 reads them, field by field */
  char where[64];
} comp__h5_records;

#define COMP__H5_RECORDS_INIT                                                                                          \
  { .dataset = H5I_INVALID_HID, .type = H5I_INVALID_HID }

/* It should be closed via comp__h5_records_close(), also when it fails. */
comp_status comp__h5_records_open(comp__h5_records *out, comp_context *context, hid_t file, const char *path);
void comp__h5_records_close(comp__h5_records *records);

/* Reads one field of all records as values of `type`; or as text. */
comp_status comp__h5_records_read(const comp__h5_records *records, int field, hid_t type, void *out);
comp_status comp__h5_records_texts(comp__strings *out, const comp__h5_records *records, int field);

/* Whether all fields of a compound type are numbers, bools or text. -1: it could not be found out. */
int comp__h5_records_plain(hid_t type);

/* All fields, for writing them again: comp__tree_ops.load(). */
comp_status comp__h5_records_load(comp__tree_value *out, comp_context *context, hid_t file, const char *path);

/* Writes records; texts get a variable length. The attributes are the caller's to add. */
comp_status comp__h5_records_write(hid_t file, const char *path, const comp__tree_value *value);

/* The type of numbers in memory and in the file; `boolean` is that of bools (comp__h5_bool_type()). */
hid_t comp__h5_stored_type(comp__stored type, hid_t boolean);

#endif
