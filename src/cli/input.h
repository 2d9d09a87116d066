/*
 * input.h: how commands are told about the data file that they read.
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
  comp_read_options read;
  const char *comment;
} cli_input;

#define CLI_INPUT_INIT                                                                                                 \
  { NULL, COMP_READ_OPTIONS_INIT, NULL }

#define CLI_INPUT_FILE(type, member)                                                                                   \
  {                                                                                                                    \
    "input", 'i', OPT_FILE, .required = true, OPT_FIELD(type, member.path), .metavar = "IN",                           \
                            .help = "the data: .h5ad, 10x .h5, a MEX folder, .csv or .tsv (also .gz)"                  \
  }

/* clang-format off */
#define CLI_INPUT_ROWS(type, member)                                                                                   \
  {"metadata", .kind = OPT_FILE, OPT_FIELD(type, member.read.metadata), .metavar = "FILE", .group = "Input",           \
   .help = "a table whose columns are joined to the samples by name"},                                                 \
  {"layer", .kind = OPT_STRING, OPT_FIELD(type, member.read.layer), .metavar = "NAME", .group = "Input",               \
   .help = "take this layer in place of X"},                                                                           \
  {"raw", .kind = OPT_FLAG, OPT_FIELD(type, member.read.raw), .group = "Input",                                        \
   .help = "take raw/X with its features in place of X"},                                                              \
  {"transpose", .kind = OPT_FLAG, OPT_FIELD(type, member.read.transpose), .group = "Input",                            \
   .help = "a text table has features as rows"},                                                                       \
  {"no-header", .kind = OPT_FLAG, OPT_FIELD(type, member.read.no_header), .group = "Input",                            \
   .help = "a text table has no line of column names"},                                                                \
  {"names", .kind = OPT_STRING, OPT_FIELD(type, member.read.names), .metavar = "A,B,...", .group = "Input",            \
   .help = "column names of a text table, which has no line of them"},                                                           \
  {"missing", .kind = OPT_STRING, OPT_FIELD(type, member.read.missing), .metavar = "A,B,...", .group = "Input",        \
   .help = "further text that means a missing value in a text table, such as '?'"},                                    \
  {"comment", .kind = OPT_STRING, OPT_FIELD(type, member.comment), .metavar = "C", .group = "Input",                   \
   .help = "lines of a text table that start with this character are skipped"}
/* clang-format on */

/* The options for the library. False when --comment is not one character. */
bool cli_input_options(comp_read_options *out, const cli_input *input);

#endif
