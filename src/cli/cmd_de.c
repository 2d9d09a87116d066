/* cmd_de.c: `comp de`: which genes differ between two groups of samples. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/streams.h"

typedef struct de_options {
  cli_input input;
  comp_options *de;
  int64_t n;
  const char *json;
} de_options;

static const de_options defaults = {.n = 50};

static const opt_spec options[] = {
    CLI_INPUT_FILE(de_options, input),
    {.rows = "de", OPT_FIELD(de_options, de)},
    {"top", 'n', OPT_INT, OPT_FIELD(de_options, n), .metavar = "N", .max = 1e9,
     .help = "genes to print for each label, by score; 0: all"},
    {"json", .kind = OPT_FILE, OPT_FIELD(de_options, json), .metavar = "FILE",
     .help = "also write the result to this file, as JSON; '-' writes it to stdout in place of the table"},
    CLI_INPUT_ROWS(de_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp de -i ready.h5ad -g stim -t STIM -r CTRL --label cell_type",
     "the top DE genes of stimulation (up), in each cell type"},
    {"comp de -i ready.h5ad -g cell_type -t B -n 0 > b.tsv", "all genes, one cell type against the rest"},
    {NULL, NULL},
};

/* A result and where its genes have their names. */
typedef struct result {
  const comp_de *de;
  const comp_dataset *dataset;
  const de_options *options;
  const char *label; /* column; NULL: none */
  size_t n;          /* genes to show */
} result;

static void print_table(const result *r) {
  bool labels = r->label;
  printf("%snames\tscores\tlogfoldchanges\tpvals\tpvals_adj\n", labels ? "label\t" : "");
  for (size_t l = 0; l < comp_de_label_count(r->de); l++)
    for (size_t k = 0; k < r->n; k++) {
      size_t gene = comp_de_order(r->de, l)[k];
      if (labels) printf("%s\t", comp_de_label_name(r->de, l));
      printf("%s\t%.10g\t%.10g\t%.10g\t%.10g\n", comp_dataset_var_name(r->dataset, gene),
             comp_de_scores(r->de, l)[gene], comp_de_log2_folds(r->de, l)[gene], comp_de_pvals(r->de, l)[gene],
             comp_de_pvals_adj(r->de, l)[gene]);
    }
}

static void put_member(FILE *out, const char *before, const char *name, double value) {
  fprintf(out, "%s\"%s\": ", before, name);
  json_put_number(out, value);
}

static void put_label(FILE *out, const result *r, size_t l) {
  fputs("    {\"label\": ", out);
  json_put_string(out, r->label ? comp_de_label_name(r->de, l) : NULL);
  fprintf(out, ", \"target_samples\": %zu, \"reference_samples\": %zu, \"genes\": [", comp_de_target_count(r->de, l),
          comp_de_reference_count(r->de, l));
  for (size_t k = 0; k < r->n; k++) {
    size_t gene = comp_de_order(r->de, l)[k];
    fprintf(out, "%s\n      {\"name\": ", k ? "," : "");
    json_put_string(out, comp_dataset_var_name(r->dataset, gene));
    put_member(out, ", ", "score", comp_de_scores(r->de, l)[gene]);
    put_member(out, ", ", "logfoldchange", comp_de_log2_folds(r->de, l)[gene]);
    put_member(out, ", ", "pval", comp_de_pvals(r->de, l)[gene]);
    put_member(out, ", ", "pval_adj", comp_de_pvals_adj(r->de, l)[gene]);
    fputc('}', out);
  }
  fputs("]}", out);
}

static void put_json(FILE *out, const result *r) {
  static const char *const names[] = {"groupby", "target", "reference", "label"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fprintf(out, "%s\n  \"%s\": ", i ? "," : "{", names[i]);
    json_put_string(out, comp_options_get(r->options->de, names[i], NULL, 0));
  }
  fputs(",\n  \"labels\": [\n", out);
  for (size_t l = 0; l < comp_de_label_count(r->de); l++) {
    if (l) fputs(",\n", out);
    put_label(out, r, l);
  }
  fputs("\n  ]\n}\n", out);
}

static int show(cli_session *session, const result *r) {
  const char *json = r->options->json;
  if (!json || !cli_output_is_stdout(json)) print_table(r);
  if (!json) return 0;
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  cli_output output;
  if (!cli_output_open(&output, json)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  put_json(output.file, r);
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static int run(cli_session *session, const void *values) {
  const de_options *o = values;
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_status status = comp_options_check(o->de);
  if (status != COMP_OK) return cli_option_error(session, status);
  comp_dataset *dataset = NULL;
  comp_de *de = NULL;
  status = cli_input_skip(o->input.read, false, true);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_de_run(&de, session->context, dataset, o->de);
  int code = 0;
  if (status == COMP_OK) {
    size_t genes = comp_de_gene_count(de), n = (size_t)o->n;
    code = show(session,
                &(result){de, dataset, o, comp_options_get(o->de, "label", NULL, 0), n == 0 || n > genes ? genes : n});
  }
  comp_de_free(de);
  comp_dataset_free(dataset);
  return status == COMP_OK ? code : cli_fail_in(session, status, o->input.path);
}

const cli_command cli_de = {
    .name = "de",
    .group = "Data",
    .summary = "find genes that differ between two groups",
    .description =
        "Compares every gene between two groups of samples by Wilcoxon's rank-sum test, as scanpy's rank_genes_groups "
        "with method wilcoxon: scores (z), log2 fold changes, two-sided p and Benjamini-Hochberg adjusted p, the "
        "highest "
        "score first. Prints a table with tabs between its columns. The data should be logged (comp prep).",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
