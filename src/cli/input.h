/*
 * input.h: the options of commands for the data file that they read.
 *
 * A command's options struct has a member `cli_input input`, and its table the rows
 *
 *     CLI_INPUT_FILE(my_options, input),       -i; or a positional of its own that fills input.path
 *     CLI_INPUT_ROWS(my_options, input),
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli/opt.h"
#include "comp/io.h"

typedef struct cli_input {
  const char *path;
  comp_options *read; /* of the kind "read" */
} cli_input;

#define CLI_INPUT_FILE(type, member)                                                                                   \
  {                                                                                                                    \
    "input", 'i', OPT_FILE, .required = true, OPT_FIELD(type, member.path), .metavar = "IN",                           \
                            .help = "the data: .h5ad, .zarr, 10x .h5, a MEX folder, .csv or .tsv (also .gz)"           \
  }

#define CLI_INPUT_ROWS(type, member)                                                                                   \
  { .rows = "read", OPT_FIELD(type, member.read) }

/* Sets what is not read: X and with it the layers, or layers and obsm. */
comp_status cli_input_skip(comp_options *read, bool x, bool slots);

/* Whether a format, by its name (comp_file_format()), is one of AnnData. */
bool cli_is_anndata(const char *format);

/* What else an .h5ad holds (uns, ...) goes along to another .h5ad, where it still fits the matrix: sets `write`, which
 * is of the kind "write". */
comp_status cli_input_carry(comp_options *write, const comp_options *read, const char *path);

#endif
