/*
 * glue.h: what the files of this folder share.
 *
 *   handles   objects of the library as external pointers with finalisers. A handle is made empty, before the object:
 * so a long jump of R never loses one failures  as R conditions with the library's message calls     the work that
 * takes time, on a thread of its own; R's thread waits, looks for Ctrl-C and runs callbacks values    matrices and
 * tables of the library as R objects
 *
 * Matrices are features x samples in R and samples x features in the library. R stores columns one after the other and
 * the library rows, so both are the same memory.
 */
#ifndef COMP_R_GLUE_H
#define COMP_R_GLUE_H

#ifndef R_NO_REMAP
#define R_NO_REMAP
#endif
#include <Rinternals.h>
#include <stdbool.h>
#include <stddef.h>

#include "comp/comp.h"

/* ---- Handles --------------------------------------------------------------------------------------------------- */

typedef enum handle_kind {
  HANDLE_CONTEXT,
  HANDLE_OPTIONS,
  HANDLE_MATRIX,
  HANDLE_DATASET,
  HANDLE_MODEL,
  HANDLE_TABLE,
  HANDLE_TEXT
} handle_kind;

/* An empty handle. `keep` lives as long as it. The caller protects it. */
SEXP handle_new(handle_kind kind, SEXP keep);

/* Gives the handle its object, which it frees with itself. */
void handle_set(SEXP handle, void *object);

/* The object. An R error when the handle is of another kind, was freed or is of an earlier session. */
void *handle_get(SEXP handle, handle_kind kind);

/* ---- Failures and text ----------------------------------------------------------------------------------------- */

/* Raises the R condition of a status. Nothing that is not in a handle may be held. */
_Noreturn void fail(comp_status status, const char *message);

/* The same with comp_error_message(), if there was a failure. */
void check(comp_status status);

/* A text of the library as a character vector of length 1; NULL becomes NULL. */
SEXP text_value(const char *text);

/* The texts of a character vector as UTF-8, in memory of R that is valid until .Call() returns. NA and R's NULL become
 * NULL. */
const char *text_at(SEXP vector, R_xlen_t i);
const char **texts_of(SEXP vector);

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

#define CALL_MESSAGE 4096

/* How a call ended. */
typedef struct call_end {
  comp_status status;
  char message[CALL_MESSAGE];
  bool jumped; /* R wants to jump: Ctrl-C, or a callback failed */
  SEXP token;
} call_end;

/* Runs work(job), which calls the library with this context, and waits. Never jumps. Functions that receive messages,
 * progress and epochs are those of the handle. */
void call_run(call_end *end, SEXP context, comp_status (*work)(void *job), void *job);

/* Raises what went wrong or goes on with R's jump; returns when all is well. */
void call_finish(const call_end *end);

/* ---- Values ---------------------------------------------------------------------------------------------------- */

/* A dense matrix as a matrix of doubles [cols, rows], a CSR one as list(i, p, x, Dim) for a dgCMatrix. */
SEXP matrix_value(const comp_matrix *matrix);

/* The columns of a table, as a list with names. */
SEXP table_value(const comp_table *table);

/* Everything in a data set, as a list. */
SEXP dataset_value(const comp_dataset *dataset);

#endif
