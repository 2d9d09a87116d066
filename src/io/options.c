/* options.c: the tables of the kinds "read" and "write". */
#include "io/options.h"

#include "core/error.h"

#define READ(member) COMP__FIELD(comp__read_options, member), .group = "Input"
static const comp_option read_rows[] = {
    {"metadata", .type = COMP_OPTION_FILE, READ(metadata), .metavar = "FILE",
     .help = "a table whose columns are joined to the samples by name"},
    {"layer", .type = COMP_OPTION_TEXT, READ(layer), .metavar = "NAME", .help = "take this layer in place of X"},
    {"raw", .type = COMP_OPTION_BOOL, READ(raw), .help = "take raw/X with its features in place of X"},
    {"transpose", .type = COMP_OPTION_BOOL, READ(transpose), .help = "a text table has features as rows"},
    {"no-header", .type = COMP_OPTION_BOOL, READ(no_header), .help = "a text table has no line of column names"},
    {"names", .type = COMP_OPTION_TEXT, READ(names), .metavar = "A,B,...",
     .help = "column names of a text table, which has no line of them"},
    {"missing", .type = COMP_OPTION_TEXT, READ(missing), .metavar = "A,B,...",
     .help = "further text that means a missing value in a text table, such as '?'"},
    {"comment", .type = COMP_OPTION_TEXT, READ(comment), .metavar = "C",
     .help = "lines of a text table that start with this character are skipped"},
    {"skip-x", .type = COMP_OPTION_BOOL, READ(skip_x), .help = "read names and tables only: there is no X then",
     .library_only = "commands read what they need"},
    {"skip-layers", .type = COMP_OPTION_BOOL, READ(skip_layers), .help = "leave layers out",
     .library_only = "commands read what they need"},
    {"skip-slots", .type = COMP_OPTION_BOOL, READ(skip_slots), .help = "leave layers and obsm out",
     .library_only = "commands read what they need"},
    {"skip-damaged", .type = COMP_OPTION_BOOL, READ(skip_damaged),
     .help = "leave out layers and entries of obsm that are damaged, with a warning: for a look at a file",
     .library_only = "comp info sets it"},
    {"copy", .type = COMP_OPTION_BOOL, READ(copy),
     .help = "read only to write all of it again: no warning about values that do not fit 32-bit floats",
     .library_only = "comp convert sets it"},
    {0},
};

/* Names are of no use to a table that has a line of them. */
static comp_status finish_read(void *out, const comp_options *options) {
  comp__read_options *o = out;
  (void)options;
  if (o->names) o->no_header = true;
  return COMP_OK;
}

const comp__options_kind comp__read_kind = {
    .name = "read",
    .summary = "how a data file is read",
    .size = sizeof(comp__read_options),
    .rows = read_rows,
    .finish = finish_read,
};

#define WRITE(member) COMP__FIELD(comp__write_options, member)
static const comp_option write_rows[] = {
    {"compression", .type = COMP_OPTION_INT, WRITE(compression), .metavar = "N", .value = "4", .max = 9,
     .help = "level of gzip in an .h5ad, of zstd in a .zarr, 0 (none) to 9"},
    {"zarr", .type = COMP_OPTION_INT, WRITE(zarr), .metavar = "N", .value = "2", .min = 2, .max = 3,
     .help = "version of a .zarr: 2, which all programs read, or 3"},
    {"shards", .type = COMP_OPTION_BOOL, WRITE(shards),
     .help = "write a .zarr of version 3 whose chunks are in shards: fewer files"},
    {"carry-from", .type = COMP_OPTION_FILE, WRITE(carry_from), .metavar = "FILE",
     .help = "an .h5ad or .zarr: what the data set does not hold (uns, ...) is copied from it to a new .h5ad or .zarr",
     .library_only = "commands that write a new .h5ad or .zarr carry over what their input holds"},
    {"unchanged", .type = COMP_OPTION_BOOL, WRITE(unchanged),
     .help =
         "samples, features and X are those of carry-from: X is copied from there, too, with the type of its values",
     .library_only = "comp convert sets it"},
    {0},
};

/* Version 2 has no shards. */
static comp_status finish_write(void *out, const comp_options *options) {
  const comp__write_options *o = out;
  if (o->shards && o->zarr == 2 && options && comp_options_given(options, "zarr"))
    return comp__error(COMP_ERR_ARGUMENT,
                       "shards: there are none in version 2; choose version 3, or leave the version out (--zarr)");
  return COMP_OK;
}

const comp__options_kind comp__write_kind = {
    .name = "write",
    .summary = "how a data file is written",
    .size = sizeof(comp__write_options),
    .rows = write_rows,
    .finish = finish_write,
};

comp__write_options comp__write_defaults(void) {
  comp__write_options options;
  comp__options_defaults(&options, &comp__write_kind);
  return options;
}
