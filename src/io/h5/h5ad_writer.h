/*
 * h5ad_writer.h: writing an .h5ad block by block, in bounded memory, for data that never is in memory as a whole.
 *
 *     COMP__TRY(comp__h5ad_writer_open(&writer, path, cells, genes, 4));
 *     COMP__TRY(comp__h5ad_writer_add(&x, writer, "X", COMP_CSR, genes));
 *     COMP__TRY(comp__h5ad_writer_add(&truth, writer, "layers/truth_A", COMP_DENSE, genes));
 *     for each block of rows, in order: COMP__TRY(comp__h5ad_writer_append(context, writer, x, block)); ...
 *     COMP__TRY(comp__h5ad_writer_finish(context, writer, &tables));
 *   done:
 *     comp__h5ad_writer_free(writer);
 *
 * The file takes its name in comp__h5ad_writer_finish(): until then an older file of that name stays as it was, and
 * comp__h5ad_writer_free() without it removes what was written. Blocks are compressed on all of the context's threads.
 * The bytes written do not depend on the number of threads, and what is read back not on how rows were cut into blocks.
 */
#ifndef COMP_IO_H5_H5AD_WRITER_H
#define COMP_IO_H5_H5AD_WRITER_H

#include "comp/dataset.h"
#include "core/strings.h"

typedef struct comp__h5ad_writer comp__h5ad_writer;

/* Begins a file of `rows` x `cols`; `compression` is a gzip level, 0 .. 9. It should be freed via
 * comp__h5ad_writer_free(). */
comp_status comp__h5ad_writer_open(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols,
                                   int compression);

/* Declares a matrix: "X", "layers/NAME" (both with the file's cols), "obsm/NAME" (dense, any cols) or "raw/X" (any
 * cols). `*out` is its number for appending. Several may be open at once and be appended to in turn. */
comp_status comp__h5ad_writer_add(size_t *out, comp__h5ad_writer *writer, const char *name, comp_matrix_kind kind,
                                  size_t cols);

/* Appends the rows of `block` (of the declared kind and columns) after those appended so far. It keeps nothing of it.
 */
comp_status comp__h5ad_writer_append(comp_context *context, comp__h5ad_writer *writer, size_t matrix,
                                     const comp_matrix *block);

/* What goes beside the matrices. Names may be NULL: "0", "1", ...; tables may be NULL: no columns. */
typedef struct comp__h5ad_tables {
  const comp__strings *obs_names; /* as many as the file has rows */
  const comp_table *obs;
  const comp__strings *var_names; /* as many as the file has cols */
  const comp_table *var;
  const char *record; /* JSON text for uns/comp; NULL: none */
} comp__h5ad_tables;

/* Writes the tables, checks that every matrix got all its rows, and gives the file its name. */
comp_status comp__h5ad_writer_finish(comp_context *context, comp__h5ad_writer *writer, const comp__h5ad_tables *tables);

/* NULL is allowed. Removes an unfinished file. */
void comp__h5ad_writer_free(comp__h5ad_writer *writer);

#endif
