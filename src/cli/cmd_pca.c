/* cmd_pca.c: `comp pca`: principal components into obsm. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/streams.h"

typedef struct pca_options {
  cli_input input;
  const char *output;
  comp_options *pca, *write;
  const char *json;
} pca_options;

static const pca_options defaults = {.output = NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(pca_options, input),
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(pca_options, output), .metavar = "OUT",
     .help = "the .h5ad to write: the data with the scores in obsm"},
    {.rows = "pca", OPT_FIELD(pca_options, pca)},
    {.rows = "write", OPT_FIELD(pca_options, write)},
    {"json", .kind = OPT_FILE, OPT_FIELD(pca_options, json), .metavar = "FILE",
     .help = "also write the variances to this file, as JSON; '-' writes them to stdout in place of the table"},
    CLI_INPUT_ROWS(pca_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp pca -i ready.h5ad -o ready.h5ad", "50 components of the data, added to the file"},
    {"comp pca -i people.h5ad -o pca.h5ad -n 9 --key X_pca9", "9 components under another name"},
    {NULL, NULL},
};

static void print_table(const comp_pca *pca) {
  double sum = 0.0;
  fputs("component\tvariance\tvariance_ratio\tcumulative_ratio\n", stdout);
  for (size_t i = 0; i < pca->components; i++) {
    sum += pca->ratios[i];
    printf("%zu\t%.6g\t%.6g\t%.6g\n", i + 1, pca->variances[i], pca->ratios[i], sum);
  }
}

static void put_list(FILE *out, const char *name, const double *values, size_t n) {
  fprintf(out, ",\n  \"%s\": [", name);
  for (size_t i = 0; i < n; i++) {
    if (i) fputs(", ", out);
    json_put_number(out, values[i]);
  }
  fputc(']', out);
}

static void put_json(FILE *out, const comp_pca *pca, const char *key) {
  fputs("{\n  \"key\": ", out);
  json_put_string(out, key);
  fprintf(out, ",\n  \"components\": %zu,\n  \"features\": %zu,\n  \"total_variance\": ", pca->components,
          pca->features);
  json_put_number(out, pca->total_variance);
  put_list(out, "variance", pca->variances, pca->components);
  put_list(out, "variance_ratio", pca->ratios, pca->components);
  fputs("\n}\n", out);
}

static int show(cli_session *session, const comp_pca *pca, const pca_options *o) {
  if (!o->json || !cli_output_is_stdout(o->json)) print_table(pca);
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why */
  if (!o->json) return 0;
  cli_output output;
  if (!cli_output_open(&output, o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  put_json(output.file, pca, comp_options_get(o->pca, "key", NULL, 0));
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static int run(cli_session *session, const void *values) {
  const pca_options *o = values;
  comp_status status = comp_options_check(o->pca);
  if (status != COMP_OK) return cli_option_error(session, status);
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_dataset *dataset = NULL;
  comp_pca pca = {0};
  status = comp_dataset_check_write(NULL, o->output, o->write);
  if (status == COMP_OK) status = cli_input_carry(o->write, o->input.read, o->input.path);
  if (status != COMP_OK) return cli_fail(session, status);
  status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_pca_run(&pca, session->context, dataset, o->pca);
  int code = status == COMP_OK ? show(session, &pca, o) : 0;
  if (status == COMP_OK && code == 0) status = comp_dataset_write(session->context, dataset, o->output, o->write);
  comp_pca_release(&pca);
  comp_dataset_free(dataset);
  return status == COMP_OK ? code : cli_fail_in(session, status, o->input.path);
}

const cli_command cli_pca = {
    .name = "pca",
    .group = "Data",
    .summary = "principal components",
    .description =
        "Computes principal components of the data, centred and if asked for scaled, and keeps the scores in obsm of "
        "the file that it writes. Prints the variance of each component and its share, with tabs between the columns. "
        "Sparse data is not made dense as a whole. The sign of a component is such that its largest loading is "
        "positive.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
