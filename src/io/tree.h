/*
 * tree.h: a file that holds groups, arrays and their attributes by path, whatever its format: HDF5 or zarr.
 *
 * What AnnData keeps where is known once, in anndata*.c and tree_matrix.c, which read any tree. A tree is a pointer to
 * a table of functions; h5/h5_tree.c and zarr/tree.c have one each. Paths have parts with '/' between them and none in
 * front: "obs/_index". "" is the root. A tree is used by one thread at a time; the arrays are read on all threads.
 */
#ifndef COMP_IO_TREE_H
#define COMP_IO_TREE_H

#include <jansson.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "core/paged.h"
#include "core/strings.h"
#include "io/numbers.h"

typedef enum comp__node { COMP__NODE_NONE, COMP__NODE_GROUP, COMP__NODE_ARRAY, COMP__NODE_OTHER } comp__node;

/* What an array holds. */
typedef enum comp__content {
  COMP__CONTENT_OTHER,
  COMP__CONTENT_TEXT,
  COMP__CONTENT_INTEGERS,
  COMP__CONTENT_FLOATS,
  COMP__CONTENT_BOOLS,
  COMP__CONTENT_RECORDS /* of numbers, bools and text */
} comp__content;

typedef struct comp__tree comp__tree;

/* An open array of numbers, 1-D or 2-D. 1-D counts as a 2-D one of one column. Zero-initialise to start. */
typedef struct comp__tree_array {
  const comp__tree *tree;
  void *handle;    /* of the tree */
  char where[128]; /* its path, for messages */
  int rank;
  size_t rows;
  size_t cols;
  size_t bytes; /* of a number as it is stored */
  bool integer; /* whole numbers (or bools) are stored */
  bool boolean;
} comp__tree_array;

enum { COMP__TREE_MOST_DIMS = 8 };

/* A whole array of any number of dimensions, for writing it again. Zero-initialise to start. */
typedef struct comp__tree_value {
  bool null;    /* it holds nothing: None of Python */
  bool is_text; /* of at most one dimension */
  int rank;     /* 0: a single value */
  size_t shape[COMP__TREE_MOST_DIMS];
  size_t count; /* of all values */
  comp__stored type;
  void *numbers;      /* of that type */
  comp__paged *paged; /* where they are too large for memory */
  comp__strings texts;
  struct comp__tree_value *fields; /* a list of records: their fields, each a list of `count` values; NULL: none */
  size_t n_fields;
  comp__strings names; /* of the fields */
} comp__tree_value;

void comp__tree_value_release(comp__tree_value *value);

/* Room for its `count` numbers of `size` bytes, in a scratch file where it is too large for memory (core/paged.h). */
comp_status comp__tree_value_reserve(comp__tree_value *value, comp_context *context, size_t size);

typedef struct comp__tree_ops {
  /* What is there. When it cannot be found out, that is noted: see `certain`. */
  comp__node (*find)(const comp__tree *tree, const char *path);
  /* The names of the members of a group, sorted by name. */
  comp_status (*members)(comp__strings *out, const comp__tree *tree, const char *path);
  /* Appends the names of what is stored in a group, but has lost its metadata, so that it is no member. NULL: there can
   * be none. */
  comp_status (*lost)(comp__strings *out, const comp__tree *tree, const char *path);
  /* Whether two paths lead to one group: links can. NULL: they cannot. */
  bool (*same)(const comp__tree *tree, const char *a, const char *b);

  /* Attributes: *out = NULL or *found = false when there is no such attribute; a wrong type is an error. */
  comp_status (*get_text)(char **out, const comp__tree *tree, const char *path, const char *name);
  comp_status (*get_texts)(comp__strings *out, bool *found, const comp__tree *tree, const char *path, const char *name);
  comp_status (*get_pair)(size_t out[2], bool *found, const comp__tree *tree, const char *path, const char *name);
  bool (*has)(const comp__tree *tree, const char *path, const char *name);
  /* A bool, or a number; false when there is none. */
  comp_status (*get_truth)(bool *out, const comp__tree *tree, const char *path, const char *name);

  /* What an array holds, and how many dimensions it has. */
  comp__content (*content)(int *rank, const comp__tree *tree, const char *path);
  /* The shape of any array, of at most COMP__TREE_MOST_DIMS dimensions. An error also where what is said of the array
   * makes no sense. */
  comp_status (*shape)(size_t *out, int *rank, const comp__tree *tree, const char *path);
  /* Opens an array of numbers; it should be closed via `close`, also when it fails. Reads rows first .. first + rows -
   * 1 of it to rows x cols numbers. */
  comp_status (*open)(comp__tree_array *out, const comp__tree *tree, const char *path);
  comp_status (*read)(comp_context *context, const comp__tree_array *array, comp__as as, size_t first, size_t rows,
                      void *out);
  void (*close)(comp__tree_array *array);
  /* Appends all values of a list of text, or of a single text; numbers and bools become text when `any`. */
  comp_status (*read_texts)(comp__strings *out, comp_context *context, const comp__tree *tree, const char *path,
                            bool any);

  /* Reads a whole array: bools, numbers of at most COMP__TREE_MOST_DIMS dimensions, texts of at most one, records of
   * one; others are an error. It should be released via comp__tree_value_release(), also when it fails. */
  comp_status (*load)(comp__tree_value *out, comp_context *context, const comp__tree *tree, const char *path);
  /* All attributes that are texts, numbers, bools and lists of these, as a JSON object. It should be freed via
   * json_decref(). */
  comp_status (*attributes)(json_t **out, const comp__tree *tree, const char *path);

  /* AnnData 0.7: the path of the categories of a column, an array, that are not under __categories. NULL: there can be
   * none. They are appended as text. */
  comp_status (*read_categories)(comp__strings *out, comp_context *context, const comp__tree *tree, const char *path);
  /* Tables that are one array each, from before AnnData 0.7, and obsm in that form. NULL: there can be none. */
  comp_status (*legacy_names)(comp__strings *out, comp_context *context, const comp__tree *tree, const char *table);
  comp_status (*legacy_table)(comp_table *out, comp_context *context, const comp__tree *tree, const char *table);
  comp_status (*legacy_obsm)(comp_dataset *dataset, comp_context *context, const comp__tree *tree);

  /* Whether all that was asked so far could be found out. To be asked before anything is made of the answers. */
  comp_status (*certain)(const comp__tree *tree);
  void (*free)(comp__tree *tree);
} comp__tree_ops;

/* The first member of what a format has of its own. */
struct comp__tree {
  const comp__tree_ops *ops;
  bool quiet; /* what is missing in arrays that are opened now has been said before */
};

/* NULL is allowed. */
void comp__tree_free(comp__tree *tree);

/* A path of two parts, either of which may be empty. */
typedef struct comp__tree_path {
  char text[1024];
} comp__tree_path;
comp_status comp__tree_join(comp__tree_path *out, const char *folder, const char *name);

/* As `open`, of an array of one dimension. */
comp_status comp__tree_open_list(comp__tree_array *out, const comp__tree *tree, const char *path);

/* A single text. It should be freed via comp__free(). */
comp_status comp__tree_read_text(char **out, comp_context *context, const comp__tree *tree, const char *path);

/* Whether the attribute is this text. */
bool comp__tree_text_is(const comp__tree *tree, const char *path, const char *name, const char *value);

#endif
