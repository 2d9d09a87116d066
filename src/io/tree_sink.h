/*
 * tree_sink.h: writing groups and lists to a tree (tree.h), whatever its format.
 *
 * How AnnData encodes tables is known once, in anndata_table_write.c. h5/h5ad_table_write.c and zarr/sink.c have a
 * table of functions each. Paths are as in tree.h; the group that something is in has been written before it.
 */
#ifndef COMP_IO_TREE_SINK_H
#define COMP_IO_TREE_SINK_H

#include <jansson.h>

#include "comp/context.h"
#include "comp/table.h"
#include "core/strings.h"
#include "io/tree.h"

typedef struct comp__tree_sink comp__tree_sink;

typedef struct comp__tree_sink_ops {
  /* Makes a group. Attributes are texts, numbers, bools and lists of these, "encoding-type" and "encoding-version"
   * among them; they stay the caller's. NULL: there was no memory for them. */
  comp_status (*group)(comp__tree_sink *sink, const char *path, const json_t *attributes);
  /* A list of numbers, with AnnData's encoding of an array. */
  comp_status (*list)(comp__tree_sink *sink, const char *path, comp__stored type, const void *values, size_t n);
  /* A list of texts, with its encoding; missing ones become "". */
  comp_status (*texts)(comp__tree_sink *sink, const char *path, const comp__strings *values);
  /* An array as it was read from another tree, with its attributes. */
  comp_status (*value)(comp__tree_sink *sink, const char *path, const comp__tree_value *value,
                       const json_t *attributes);
  /* Whether something has been written at that path. */
  bool (*has)(const comp__tree_sink *sink, const char *path);
} comp__tree_sink_ops;

/* Copying from a tree of the same format as it is, without reading values. */
typedef struct comp__tree_copier {
  /* Before anything is copied: whether it can be. */
  comp_status (*begin)(comp__tree_sink *sink, const comp__tree *from);
  /* Copies all that is at a path. */
  comp_status (*copy)(comp__tree_sink *sink, const comp__tree *from, const char *path);
  /* When all has been copied. `same_obs`: the samples are those of the other tree. */
  comp_status (*end)(comp__tree_sink *sink, const comp__tree *from, bool same_obs);
} comp__tree_copier;

/* The first member of what a format has of its own. */
struct comp__tree_sink {
  const comp__tree_sink_ops *ops;
  const comp__tree_copier *copier; /* NULL: the other tree is of another format, or there is no such way */
  comp_context *context;
  const char *format; /* for messages: ".h5ad" */
};

/* anndata_table_write.c: writes a table; `table` may be NULL: names alone. */
comp_status comp__anndata_write_table(comp__tree_sink *sink, const char *path, const comp__strings *names,
                                      const comp_table *table);

/* Writes the columns of a table into the group at that path. Without `all`, not those that are still what a file holds.
 */
comp_status comp__anndata_write_columns(comp__tree_sink *sink, const char *path, const comp_table *table, bool all);

#endif
