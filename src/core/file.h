/* file.h: the inner side of comp/file.h: a temporary file that takes its final name when it is complete. */
#ifndef COMP_CORE_FILE_H
#define COMP_CORE_FILE_H

#include "comp/context.h"
#include "comp/file.h"

/* Zero-initialise to start. */
typedef struct comp__output {
  char *path;      /* the final name, symbolic links resolved */
  char *temporary; /* in the same folder; what the writer opens (it exists and is empty) */
  int lock;        /* descriptor whose lock says that the temporary file is in use; means nothing while path is NULL */
} comp__output;

/* Creates the temporary file. What a killed process left of the same output is removed first; the temporary file of a
 * process that still runs is not. It should be ended via comp__output_commit() or comp__output_abort(). */
comp_status comp__output_begin(comp__output *output, const char *path);

/* Syncs the temporary file (closed by the writer before) and gives it the final name and the older file's permissions.
 * On failure the temporary file is removed. Either way the output is ended. */
comp_status comp__output_commit(comp__output *output);

/* Removes the temporary files of killed processes from a folder that this process has for itself, whatever their
 * output. */
void comp__output_sweep(const char *folder);

/* Removes what killed processes left of one output; comp__output_begin() does that too. */
void comp__output_sweep_of(const char *path);

/* Removes the temporary file. Does nothing on an output that has ended or never begun. */
void comp__output_abort(comp__output *output);

/* The same for a folder. Zero-initialise to start. */
typedef struct comp__folder_output {
  char *path;      /* the final name */
  char *temporary; /* beside it; an empty folder for the writer */
  int lock;        /* as in comp__output */
} comp__folder_output;

/* Makes the temporary folder. What a killed process left of the same output is removed first. A folder (or file) that
 * has the final name already is an error: nothing of the user's is removed. It should be ended via
 * comp__folder_output_commit() or comp__folder_output_abort(). */
comp_status comp__folder_output_begin(comp__folder_output *output, const char *path);
comp_status comp__folder_output_commit(comp__folder_output *output);

/* The same for a new folder that takes the place of the one at `path`, which must be there (symbolic links are
 * resolved) and stays as it is until comp__folder_output_exchange(). It should be ended via that or
 * comp__folder_output_abort(). */
comp_status comp__folder_output_begin_over(comp__folder_output *output, const char *path);

/* A folder for what is made on the way to the file `path`, whatever is there now. It should be ended via
 * comp__folder_output_abort(), which removes it. */
comp_status comp__folder_output_begin_scratch(comp__folder_output *output, const char *path);

/* Whether comp__folder_output_begin_over() could, for a check before long work. Changes nothing. */
comp_status comp__folder_check_replaceable(const char *path);

/* Gives the new folder the name and the permissions of the old one in one step, then removes the old one: a process
 * that is killed leaves one of them whole under that name, and at most the other under a temporary one. An error,
 * with everything as it was, where the file system has no such step. */
comp_status comp__folder_output_exchange(comp__folder_output *output);

/* Removes what was written. Also after a commit. */
void comp__folder_output_abort(comp__folder_output *output);

/* Waits until no other process changes the file or folder at `path` in place, and keeps others waiting until the
 * descriptor `*out` is closed: each adds its results to what the one before has left. -1: nothing was locked, because
 * the file cannot be opened for writing or its file system has no locks. */
comp_status comp__file_hold(int *out, comp_context *context, const char *path);

/* Removes a folder with all that is in it; symbolic links are removed, not followed. */
void comp__remove_folder(int parent, const char *name);

#endif
