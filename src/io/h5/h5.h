/*
 * h5.h: what the HDF5 files of this folder share: opening and closing, errors with HDF5's own words folded in,
 * attributes, strings. The only headers that include hdf5.h are h5*.h, and only h5*.c include those.
 *
 * A failing HDF5 call never prints: comp__h5_open() and comp__h5_create() silence it until comp__h5_close_file().
 */
#ifndef COMP_IO_H5_H5_H
#define COMP_IO_H5_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "core/strings.h"

/* h5py's lzf filter, registered by comp__h5_open(). */
#define COMP__H5_LZF 32000

/* An open file. Initialise with COMP__H5_FILE_INIT. */
typedef struct comp__h5_file {
  hid_t id;
  bool quiet; /* printing was turned off and is to be restored */
  H5E_auto2_t print;
  void *print_data;
  int *failed;           /* errno of a failure to write, known after closing; NULL when only read */
  struct comp__vet *vet; /* what was found of its structure; NULL of a file that was created */
  int vet_fd;
} comp__h5_file;

#define COMP__H5_FILE_INIT                                                                                             \
  { H5I_INVALID_HID, false, NULL, NULL, NULL, NULL, -1 }

/* Opens for reading, or for changing when `write`, after its structure has been looked through (vet.h). It should be
 * closed via comp__h5_close_file(), also when it fails.
 */
comp_status comp__h5_open(comp__h5_file *out, const char *path, bool write);

/* Creates (or empties) a file. It should be closed via comp__h5_close_file(), also when it fails. */
comp_status comp__h5_create(comp__h5_file *out, const char *path);

/* What H5Fget_vfd_handle() gives of the files opened here. */
typedef struct comp__h5_handle {
  int fd;
  int failed;            /* errno of the first failure to write; 0: none */
  int doubt;             /* errno of the first failure to read, after which no answer is certain; 0: none */
  struct comp__vet *vet; /* NULL when the file may be changed: what was found does not hold for long then */
} comp__h5_handle;

/* guard.c: makes an access list use the driver of this library. *failed gets the errno of a failure to write when
 * the file is closed; it has to live until then, as `vet` has. The list opens the file that was looked through and no
 * other; without `vet`, it only creates. */
bool comp__h5_guard(hid_t list, int *failed, struct comp__vet *vet);

/* Calls `fn` for an object and for all that is below it, as H5Ovisit() does, once for each. Negative: `fn` has failed,
 * or a group is below itself in a file that says otherwise, in which HDF5 would go round for ever. */
typedef herr_t (*comp__h5_visit_fn)(hid_t root, const char *name, const H5O_info_t *info, void *user);
herr_t comp__h5_visit(hid_t object, comp__h5_visit_fn fn, void *user);

/* Looks through the data of a dataset that HDF5 is to read: see vet.h. */
comp_status comp__h5_check_data(hid_t dataset);

/* Looks through what HDF5 follows when it copies from the object's file. It has to come before any H5Ocopy(), in which
 * a failure crashes HDF5 1.10. */
comp_status comp__h5_check_copy(hid_t object);

/* Whether all was written so far to the file of this object. HDF5's own calls do not tell: see guard.c. */
comp_status comp__h5_written(hid_t object);

/* Whether all that was asked of the file of this object could be found out: an error when reading failed somewhere,
 * also where a function below gave an answer without a status. To be asked before anything is made of the answers. */
comp_status comp__h5_certain(hid_t object);

/* Notes that something could not be found out, for comp__h5_certain(); errno says why (0: it is not known). */
void comp__h5_doubt(hid_t object, int code);

/* Writes everything out and closes: the errors of a full disk show here at the latest. */
comp_status comp__h5_finish_file(comp__h5_file *file);

/* Closes, whatever the state. */
void comp__h5_close_file(comp__h5_file *file);

/* Closes any handle and sets it to H5I_INVALID_HID; invalid ones are allowed. */
void comp__h5_close(hid_t *id);

/* Closes a dataset that was written; what HDF5 still held back is written then, and that may fail. */
comp_status comp__h5_end(hid_t *dataset);

/* Takes away the link of that name, when there is one. */
comp_status comp__h5_unlink(hid_t parent, const char *path);

/* Sets this thread's message and adds what HDF5 has to say; forgets the latter. Any call into HDF5
 * but comp__h5_close() does so too: find the arguments before the call that may fail. */
comp_status comp__h5_error(comp_status status, const char *format, ...) COMP_PRINTF(2, 3);

/* The path of an object in its file without the leading slash, for messages: copied into `buffer` and returned. */
const char *comp__h5_where(hid_t object, char *buffer, size_t size);

typedef enum comp__h5_kind { COMP__H5_NONE, COMP__H5_GROUP, COMP__H5_DATASET, COMP__H5_OTHER } comp__h5_kind;

/* What is at that path (which may have several parts); COMP__H5_NONE when nothing is, or a link that leads nowhere.
 * When it cannot be found out that is noted: see comp__h5_certain(). */
comp__h5_kind comp__h5_find(hid_t parent, const char *path);

/* Opens a group or dataset; an error names it when it is missing or of the other kind. Close via comp__h5_close(). */
comp_status comp__h5_open_group(hid_t *out, hid_t parent, const char *path);
comp_status comp__h5_open_dataset(hid_t *out, hid_t parent, const char *path);

/* The names of the members of a group, sorted by name. */
comp_status comp__h5_members(comp__strings *out, hid_t group);

/* The shape of a dataset of at most `most` dimensions (1 or 2); *rank gets how many there are (0: a single value). An
 * error when it claims far more elements than its stored bytes could hold: a damaged file must not make us allocate. */
comp_status comp__h5_shape(size_t *shape, int *rank, int most, hid_t dataset);

/* Attributes. Reading gives *out = NULL or *found = false when there is no such attribute; a wrong type is an error. */
comp_status comp__h5_get_text(char **out, hid_t object, const char *name);
comp_status comp__h5_get_texts(comp__strings *out, bool *found, hid_t object, const char *name);
comp_status comp__h5_get_pair(size_t out[2], bool *found, hid_t object, const char *name);
bool comp__h5_text_is(hid_t object, const char *name, const char *value); /* see comp__h5_certain() */
bool comp__h5_has_attr(hid_t object, const char *name);                   /* see comp__h5_certain() */
comp_status comp__h5_put_text(hid_t object, const char *name, const char *value);
comp_status comp__h5_put_texts(hid_t object, const char *name, const comp__strings *values);
comp_status comp__h5_put_pair(hid_t object, const char *name, const size_t values[2]);
comp_status comp__h5_put_bool(hid_t object, const char *name, bool value);

/* The pair of attributes that AnnData 0.8 wants on everything. */
comp_status comp__h5_put_encoding(hid_t object, const char *type, const char *version);

/* Makes a group with its encoding. Close via comp__h5_close(). */
comp_status comp__h5_make_group(hid_t *out, hid_t parent, const char *path, const char *type, const char *version);

/* Lists for creating: links with UTF-8 names (groups on the way are made), attributes with UTF-8 names, and datasets
 * that do not note the time, so that the same data gives the same file. Negative when one cannot be made as it has to
 * be: creating fails then. Close via comp__h5_close(). */
hid_t comp__h5_link_list(void);
hid_t comp__h5_attribute_list(void);
hid_t comp__h5_dataset_list(void);

/* h5py's bool: an enum of FALSE and TRUE over int8. Close via comp__h5_close(). */
hid_t comp__h5_bool_type(void);

/* Whether the type is an enum of one byte whose members are FALSE, 0, and TRUE, 1. */
bool comp__h5_is_bool(hid_t type);

/* Variable-length UTF-8 text. Close via comp__h5_close(). */
hid_t comp__h5_text_type(void);

/* text.c: datasets of text. Appends all `n` values of a 1-D dataset; numbers and bools become text when `any`. */
comp_status comp__h5_read_texts(comp__strings *out, comp_context *context, hid_t dataset, bool any);

/* One value (a scalar or a single element). It should be freed via comp__free(). */
comp_status comp__h5_read_text(char **out, comp_context *context, hid_t dataset);

/* A string-array (missing values become ""), and a scalar string, with their encodings. */
comp_status comp__h5_write_texts(hid_t parent, const char *path, const comp__strings *values);
comp_status comp__h5_write_text(hid_t parent, const char *path, const char *value);

/* Appends n values that HDF5 left in `buffer` as values of `type` (a string type). Not valid UTF-8: an error that
 * counts rows from `first`. */
comp_status comp__h5_append_texts(comp__strings *out, hid_t type, const void *buffer, size_t stride, size_t n,
                                  size_t first);

#endif
