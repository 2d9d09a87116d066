/* cmd_prep.c: `comp prep`: from counts, or from a table of mixed columns, to what a model trains on. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/ranks.h"

typedef struct prep_options {
  opt_list paths;
  const char *output;
  int ranks;
  comp_options *read, *write, *prep, *tabular;
} prep_options;

static const prep_options defaults = {.ranks = OPT_UNSET_INT};

/* clang-format off */
static const opt_spec options[] = {
    {"input", 'i', OPT_FILE, .required = true, .repeat = true, OPT_FIELD(prep_options, paths), .metavar = "IN",
     .help = "the data: .h5ad, .zarr, 10x .h5, a MEX folder, .csv or .tsv (also .gz); several tables are put below each other"},
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(prep_options, output), .metavar = "OUT",
     .help = "the file to write, usually an .h5ad"},
    {.rows = "write", OPT_FIELD(prep_options, write)},
    {.rows = "prep", OPT_FIELD(prep_options, prep)},
    {.rows = "tabular", OPT_FIELD(prep_options, tabular)},
    {.rows = "read", OPT_FIELD(prep_options, read)},
    {"ranks", .kind = OPT_INT, OPT_FIELD(prep_options, ranks), .metavar = "N", .group = "Processes", .min = 1, .max = 256,
     .unset = "one, or as many as mpirun or srun started",
     .help = "share the sums over samples out to N processes on this machine, by running mpirun; each of them reads the "
             "input, and the first one writes"},
    {0},
};

static const cli_example examples[] = {
    {"comp prep -i cells.h5ad -o ready.h5ad --normalize-total median --log1p",
     "normalises counts and takes logs; --hvg seurat:2000 adds the choice of genes"},
    {"comp prep -i cells.h5ad -o some.h5ad --keep type=B,NK --drop-genes '^MT-'", "some cells and genes"},
    {"comp prep -i cells.h5ad -o ready.h5ad --hvg vst:3000 --hvg-batch donor",
     "the genes that vary within donors, as Seurat chooses them"},
    {"comp prep -i people.csv -o people.h5ad --obs sex --drop-missing",
     "a table of numbers and names: one-hot encoded, standardised; sex is the condition"},
    {NULL, NULL},
};
/* clang-format on */

/* Whether any option is set, but for one. */
static bool any_given(const comp_options *set, const char *other) {
  const comp_option *option;
  for (size_t i = 0; (option = comp_options_at(set, i)); i++) {
    const char *name = comp_option_name(option);
    if (comp_options_given(set, name) && (!other || strcmp(name, other) != 0)) return true;
  }
  return false;
}

/* ---- Tables ---- */

static comp_status read_tables(comp_table **out, cli_session *session, const prep_options *o) {
  size_t n = o->paths.count, got = 0;
  comp_table **tables = calloc(n, sizeof(void *));
  comp_status status = tables ? COMP_OK : COMP_ERR_MEMORY;
  while (status == COMP_OK && got < n) {
    status = comp_table_read(&tables[got], session->context, o->paths.items[got], o->read);
    if (status == COMP_OK) got++;
  }
  if (status == COMP_OK) status = comp_table_concat(out, (const comp_table *const *)tables, n);
  for (size_t i = 0; i < got; i++) comp_table_free(tables[i]);
  free(tables);
  return status;
}

static comp_status encode(cli_session *session, const prep_options *o) {
  comp_table *table = NULL;
  comp_dataset *dataset = NULL;
  comp_status status = comp_options_check(o->tabular);
  if (status == COMP_OK) status = read_tables(&table, session, o);
  if (status == COMP_OK) status = comp_tabular_encode(&dataset, session->context, table, o->tabular);
  if (status == COMP_OK && cli_ranks_first())
    status = comp_dataset_write(session->context, dataset, o->output, o->write);
  comp_dataset_free(dataset);
  comp_table_free(table);
  return status;
}

/* ---- Counts ---- */

static int prepare(cli_session *session, const prep_options *o) {
  comp_status status = comp_options_check(o->prep);
  if (status != COMP_OK) return cli_option_error(session, status);
  comp_dataset *dataset = NULL;
  status = comp_dataset_read(&dataset, session->context, o->paths.items[0], o->read);
  if (status == COMP_OK) status = comp_prep(&dataset, session->context, o->prep);
  if (status == COMP_OK) status = cli_input_carry(o->write, o->read, o->paths.items[0]);
  if (status == COMP_OK && cli_ranks_first())
    status = comp_dataset_write(session->context, dataset, o->output, o->write);
  comp_dataset_free(dataset);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->paths.items[0]);
}

static int run(cli_session *session, const void *values) {
  const prep_options *o = values;
  const char *format;
  bool counts = any_given(o->prep, "force"), table = any_given(o->tabular, NULL);
  if (counts && table) return cli_usage_error(session, "options for counts and options for tables exclude each other");
  const int code = cli_ranks_start(session, o->ranks);
  if (code != 0) return code;
  comp_status status = cli_ranks_first() ? comp_dataset_check_write(NULL, o->output, o->write) : COMP_OK;
  if (status == COMP_OK) status = comp_file_format(&format, o->paths.items[0]);
  if (status != COMP_OK) return cli_fail(session, status);
  if (table || (!counts && strcmp(format, "csv") == 0)) {
    if (comp_options_given(o->read, "metadata") || comp_options_given(o->read, "layer") ||
        comp_options_given(o->read, "raw") || comp_options_given(o->read, "transpose"))
      return cli_usage_error(session, "--metadata, --layer, --raw and --transpose are not for tables");
    status = encode(session, o);
    if (status == COMP_OK) return 0;
    return o->paths.count > 1 ? cli_fail(session, status) : cli_fail_in(session, status, o->paths.items[0]);
  }
  if (!counts) return cli_usage_error(session, "nothing to do: give a filter, --normalize-total, --log1p or --hvg");
  if (o->paths.count > 1) return cli_usage_error(session, "only tables can be given several times");
  return prepare(session, o);
}

const cli_command cli_prep = {
    .name = "prep",
    .group = "Data",
    .summary = "filter, normalise, choose genes, encode tables",
    .description =
        "Makes data ready for training. Counts: filters samples and genes, keeps library sizes, normalises, takes logs "
        "and chooses highly variable genes, in this order (vst chooses on counts, before normalising), with the same "
        "results as scanpy and Seurat. Tables of numbers and names (a .csv or .tsv without an option for counts): "
        "one-hot encodes names and standardises all. What was done is recorded in the file, so that it can be repeated "
        "on new data. Refuses to normalise what is not counts and to log what is logged already.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .over_ranks = true,
    .run = run,
};
