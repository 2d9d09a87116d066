/* cmd_convert.c: `comp convert`: from any format that is read to any that is written. */
#include "cli/command.h"
#include "cli/input.h"

typedef struct convert_options {
  cli_input input;
  const char *output;
  comp_options *write;
} convert_options;

static const convert_options defaults = {.output = NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(convert_options, input),
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(convert_options, output), .metavar = "OUT",
     .help = "the file to write; the end of its name decides the format: .h5ad, .zarr, .zarr.zip, .csv, .tsv (also "
             ".gz), .npy (X alone)"},
    {.rows = "write", OPT_FIELD(convert_options, write)},
    CLI_INPUT_ROWS(convert_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp convert -i filtered_feature_bc_matrix/ -o cells.h5ad --metadata cells.csv",
     "a MEX folder and a table of the cells, in one file"},
    {"comp convert -i cells.h5ad --layer counts -o counts.tsv.gz", "a layer as text"},
    {"comp convert -i cells.h5ad -o cells.zarr --shards", "a zarr store of version 3, in few files"},
    {NULL, NULL},
};

/* Where all of the file goes to another .h5ad or .zarr, values keep their type. */
static comp_status prepare(const convert_options *o, const char *format) {
  comp_status status = cli_input_carry(o->write, o->input.read, o->input.path);
  bool carries = status == COMP_OK && comp_options_given(o->write, "carry-from");
  bool plain = carries && cli_is_anndata(format) && !comp_options_given(o->input.read, "layer");
  if (plain) status = comp_options_set_bool(o->write, "unchanged", true);
  if (plain && status == COMP_OK) status = comp_options_set_bool(o->input.read, "copy", true);
  return status;
}

static int run(cli_session *session, const void *values) {
  const convert_options *o = values;
  comp_dataset *dataset = NULL;
  const char *format;
  comp_status status = comp_dataset_check_write(&format, o->output, o->write);
  if (status == COMP_OK) status = prepare(o, format);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_dataset_write(session->context, dataset, o->output, o->write);
  comp_dataset_free(dataset);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

const cli_command cli_convert = {
    .name = "convert",
    .group = "Data",
    .summary = "write a data file in another format",
    .description =
        "Reads a data file of any format and writes it in the format that the name of the output ends in. The format "
        "of the input is found by looking into it. Sparse data stays sparse in .h5ad and .zarr. Between "
        ".h5ad and .zarr all that is in the file goes along (uns, obsp, varm, varp, raw), and a message names what "
        "cannot; with --raw only what belongs to the raw matrix goes along.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
