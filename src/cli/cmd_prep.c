/* cmd_prep.c: `comp prep`: from counts, or from a table of mixed columns, to what a model trains on. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"

typedef struct prep_options {
  opt_list paths;
  cli_input input; /* how to read; its path is not used */
  const char *output;
  int compression;
  opt_list keep, drop_genes;
  bool drop_empty_genes;
  double min_gene_counts, min_cell_counts;
  int64_t min_gene_cells, min_cell_genes;
  const char *normalize;
  bool log1p;
  const char *hvg, *hvg_batch;
  bool all_genes, keep_counts, force;
  opt_list obs, drop, drop_features, merge;
  const char *row_names;
  bool drop_missing, no_standardize;
} prep_options;

static const prep_options defaults = {.input = CLI_INPUT_INIT, .compression = 4};

/* clang-format off */
static const opt_spec options[] = {
    {"input", 'i', OPT_FILE, .required = true, .repeat = true, OPT_FIELD(prep_options, paths), .metavar = "IN",
     .help = "the data: .h5ad, 10x .h5, a MEX folder, .csv or .tsv (also .gz); several tables are put below each other"},
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(prep_options, output), .metavar = "OUT",
     .help = "the file to write, usually an .h5ad"},
    {"compression", .kind = OPT_INT, OPT_FIELD(prep_options, compression), .metavar = "N", .max = 9,
     .help = "gzip level of an .h5ad, 0 (none) to 9"},
    {"force", .kind = OPT_FLAG, OPT_FIELD(prep_options, force),
     .help = "normalise, log or choose genes even when the data does not look right for it"},
    {"keep", .kind = OPT_STRING, .repeat = true, OPT_FIELD(prep_options, keep), .metavar = "COL=VALUE", .group = "Filters",
     .help = "keep samples whose column COL has this value, or one of several: COL=A,B"},
    {"drop-genes", .kind = OPT_STRING, .repeat = true, OPT_FIELD(prep_options, drop_genes), .metavar = "REGEX", .group = "Filters",
     .help = "drop genes whose name matches this extended regular expression, such as '^MT-'"},
    {"drop-empty-genes", .kind = OPT_FLAG, OPT_FIELD(prep_options, drop_empty_genes), .group = "Filters",
     .help = "drop genes that are 0 in all samples kept"},
    {"min-gene-counts", .kind = OPT_REAL, OPT_FIELD(prep_options, min_gene_counts), .metavar = "N", .max = 1e30, .group = "Filters",
     .help = "drop genes with a smaller total"},
    {"min-gene-cells", .kind = OPT_INT, OPT_FIELD(prep_options, min_gene_cells), .metavar = "N", .max = 1e15, .group = "Filters",
     .help = "drop genes that are not 0 in fewer samples"},
    {"min-cell-counts", .kind = OPT_REAL, OPT_FIELD(prep_options, min_cell_counts), .metavar = "N", .max = 1e30, .group = "Filters",
     .help = "drop samples with a smaller total"},
    {"min-cell-genes", .kind = OPT_INT, OPT_FIELD(prep_options, min_cell_genes), .metavar = "N", .max = 1e15, .group = "Filters",
     .help = "drop samples with fewer genes that are not 0"},
    {"normalize-total", .kind = OPT_STRING, OPT_FIELD(prep_options, normalize), .metavar = "median|N", .group = "Counts",
     .help = "scale every sample to the same total: the median of the totals, or a number"},
    {"log1p", .kind = OPT_FLAG, OPT_FIELD(prep_options, log1p), .group = "Counts", .help = "take log(1 + x)"},
    {"keep-counts", .kind = OPT_FLAG, OPT_FIELD(prep_options, keep_counts), .group = "Counts",
     .help = "keep the counts in layers/counts"},
    {"hvg", .kind = OPT_STRING, OPT_FIELD(prep_options, hvg), .metavar = "FLAVOR[:N]", .group = "Counts",
     .help = "leave the N (2000) most variable genes: seurat (as scanpy, on log data), vst (as Seurat v3, on counts), "
             "variance (on log data)"},
    {"hvg-batch", .kind = OPT_STRING, OPT_FIELD(prep_options, hvg_batch), .metavar = "COL", .group = "Counts",
     .help = "choose them in each batch and merge: by number of batches and rank; variance: N of each, all of them"},
    {"all-genes", .kind = OPT_FLAG, OPT_FIELD(prep_options, all_genes), .group = "Counts",
     .help = "mark the variable genes in var, but leave the others in"},
    {"obs", .kind = OPT_STRING, .repeat = true, OPT_FIELD(prep_options, obs), .metavar = "COL", .group = "Tables",
     .help = "a column that is no feature, but a condition or label: it goes to obs"},
    {"drop", .kind = OPT_STRING, .repeat = true, OPT_FIELD(prep_options, drop), .metavar = "COL", .group = "Tables",
     .help = "leave this column out"},
    {"drop-feature", .kind = OPT_STRING, .repeat = true, OPT_FIELD(prep_options, drop_features), .metavar = "NAME", .group = "Tables",
     .help = "leave a feature out after encoding, such as COL_VALUE"},
    {"merge", .kind = OPT_STRING, .repeat = true, OPT_FIELD(prep_options, merge), .metavar = "COL=A,B:NEW", .group = "Tables",
     .help = "values A and B of a column become NEW"},
    {"row-names", .kind = OPT_STRING, OPT_FIELD(prep_options, row_names), .metavar = "COL", .group = "Tables",
     .help = "the column with the names of the rows", .unset = "their numbers"},
    {"drop-missing", .kind = OPT_FLAG, OPT_FIELD(prep_options, drop_missing), .group = "Tables",
     .help = "leave out rows with missing values, in place of an error"},
    {"no-standardize", .kind = OPT_FLAG, OPT_FIELD(prep_options, no_standardize), .group = "Tables",
     .help = "leave numbers and 0/1 as they are, in place of mean 0 and variance 1"},
    CLI_INPUT_ROWS(prep_options, input),
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

static bool is_about_counts(const prep_options *o) {
  return o->keep.count || o->drop_genes.count || o->drop_empty_genes || o->min_gene_counts > 0 ||
         o->min_cell_counts > 0 || o->min_gene_cells > 0 || o->min_cell_genes > 0 || o->normalize || o->log1p ||
         o->hvg || o->keep_counts;
}

static bool is_about_tables(const prep_options *o) {
  return o->obs.count || o->drop.count || o->drop_features.count || o->merge.count || o->row_names || o->drop_missing ||
         o->no_standardize;
}

static comp_status write_result(cli_session *session, const prep_options *o, const comp_dataset *dataset,
                                const char *carry_from) {
  comp_write_options write = COMP_WRITE_OPTIONS_INIT;
  write.carry_from = carry_from;
  write.compression = o->compression;
  return comp_dataset_write(session->context, dataset, o->output, &write);
}

/* ---- Tables ---- */

static comp_status read_tables(comp_table **out, cli_session *session, const prep_options *o,
                               const comp_read_options *read) {
  size_t n = o->paths.count, got = 0;
  comp_table **tables = calloc(n, sizeof(void *));
  comp_status status = tables ? COMP_OK : COMP_ERR_MEMORY;
  while (status == COMP_OK && got < n) {
    status = comp_table_read(&tables[got], session->context, o->paths.items[got], read);
    if (status == COMP_OK) got++;
  }
  if (status == COMP_OK) status = comp_table_concat(out, (const comp_table *const *)tables, n);
  for (size_t i = 0; i < got; i++) comp_table_free(tables[i]);
  free(tables);
  return status;
}

static comp_status encode(cli_session *session, const prep_options *o, const comp_read_options *read) {
  comp_tabular_options tabular = COMP_TABULAR_OPTIONS_INIT;
  tabular.obs = o->obs.items;
  tabular.n_obs = o->obs.count;
  tabular.drop = o->drop.items;
  tabular.n_drop = o->drop.count;
  tabular.drop_features = o->drop_features.items;
  tabular.n_drop_features = o->drop_features.count;
  tabular.merge = o->merge.items;
  tabular.n_merge = o->merge.count;
  tabular.names = o->row_names;
  tabular.missing = o->drop_missing ? COMP_MISSING_DROP : COMP_MISSING_REFUSE;
  tabular.raw = o->no_standardize;
  comp_table *table = NULL;
  comp_dataset *dataset = NULL;
  comp_status status = comp_tabular_options_check(&tabular);
  if (status == COMP_OK) status = read_tables(&table, session, o, read);
  if (status == COMP_OK) status = comp_tabular_encode(&dataset, session->context, table, &tabular);
  if (status == COMP_OK) status = write_result(session, o, dataset, NULL);
  comp_dataset_free(dataset);
  comp_table_free(table);
  return status;
}

/* ---- Counts ---- */

/* The library's options; 0, or an exit code after a message. */
static int fill_options(comp_prep_options *out, cli_session *session, const prep_options *o) {
  out->filter.keep = o->keep.items;
  out->filter.n_keep = o->keep.count;
  out->filter.drop_genes = o->drop_genes.items;
  out->filter.n_drop_genes = o->drop_genes.count;
  out->filter.drop_empty_genes = o->drop_empty_genes;
  out->filter.min_gene_counts = o->min_gene_counts;
  out->filter.min_cell_counts = o->min_cell_counts;
  out->filter.min_gene_cells = (size_t)o->min_gene_cells;
  out->filter.min_cell_genes = (size_t)o->min_cell_genes;
  out->normalize = o->normalize != NULL;
  out->log1p = o->log1p;
  out->hvg.batch = o->hvg_batch;
  out->keep_all_genes = o->all_genes;
  out->keep_counts = o->keep_counts;
  out->force = o->force;
  if (o->normalize && strcmp(o->normalize, "median") != 0) {
    char *end;
    out->target_sum = strtod(o->normalize, &end);
    if (end == o->normalize || *end || !(out->target_sum > 0.0))
      return cli_usage_error(session, "--normalize-total takes 'median' or a positive number, not '%s'", o->normalize);
  }
  if (o->hvg && comp_hvg_parse(&out->hvg, o->hvg) != COMP_OK)
    return cli_usage_error(session, "--hvg: %s", comp_error_message());
  if (!o->hvg && (o->hvg_batch || o->all_genes))
    return cli_usage_error(session, "%s needs --hvg", o->hvg_batch ? "--hvg-batch" : "--all-genes");
  if (comp_prep_options_check(out) != COMP_OK) return cli_option_error(session);
  return 0;
}

static int prepare(cli_session *session, const prep_options *o, const comp_read_options *read, const char *format) {
  comp_prep_options prep = COMP_PREP_OPTIONS_INIT;
  int code = fill_options(&prep, session, o);
  if (code) return code;
  bool carry = strcmp(format, "h5ad") == 0 && !read->raw;
  comp_dataset *dataset = NULL;
  comp_status status = comp_dataset_read(&dataset, session->context, o->paths.items[0], read);
  if (status == COMP_OK) status = comp_prep(&dataset, session->context, &prep);
  if (status == COMP_OK) status = write_result(session, o, dataset, carry ? o->paths.items[0] : NULL);
  comp_dataset_free(dataset);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->paths.items[0]);
}

static int run(cli_session *session, const void *values) {
  const prep_options *o = values;
  comp_read_options read;
  const char *format;
  if (!cli_input_options(&read, &o->input)) return cli_usage_error(session, "--comment takes one character");
  bool counts = is_about_counts(o), table = is_about_tables(o);
  if (counts && table) return cli_usage_error(session, "options for counts and options for tables exclude each other");
  comp_status status = comp_file_check_writable(o->output);
  if (status == COMP_OK) status = comp_file_format(&format, o->paths.items[0]);
  if (status != COMP_OK) return cli_fail(session, status);
  if (table || (!counts && strcmp(format, "csv") == 0)) {
    if (read.metadata || read.layer || read.raw || read.transpose)
      return cli_usage_error(session, "--metadata, --layer, --raw and --transpose are not for tables");
    status = encode(session, o, &read);
    if (status == COMP_OK) return 0;
    return o->paths.count > 1 ? cli_fail(session, status) : cli_fail_in(session, status, o->paths.items[0]);
  }
  if (!counts) return cli_usage_error(session, "nothing to do: give a filter, --normalize-total, --log1p or --hvg");
  if (o->paths.count > 1) return cli_usage_error(session, "only tables can be given several times");
  return prepare(session, o, &read, format);
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
    .run = run,
};
