/* cmd_info.c: `comp info`: what is in a data file. What is said of it is in describe.c. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/describe.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/text.h"

typedef struct info_options {
  cli_input input;
  const char *json;
} info_options;

static const info_options defaults = {.input = CLI_INPUT_INIT};

static const opt_spec options[] = {
    {"json", .kind = OPT_FILE, OPT_FIELD(info_options, json), .metavar = "FILE",
     .help = "also write it to this file, as JSON; '-' writes it to stdout in place of the text"},
    CLI_INPUT_ROWS(info_options, input),
    {0},
};

static const opt_spec positionals[] = {
    {"FILE", .kind = OPT_FILE, .required = true, OPT_FIELD(info_options, input.path),
     .help = "the data: .h5ad, 10x .h5, a MEX folder, .csv or .tsv (also .gz)"},
    {0},
};

static const cli_example examples[] = {
    {"comp info cells.h5ad", "shows its size, columns with their levels, layers, and whether it holds counts or logs"},
    {"comp info cells.h5ad --json -", "the same for a script"},
    {NULL, NULL},
};

static int write_json(cli_session *session, const char *path, const describe_subject *subject) {
  cli_output output;
  if (!cli_output_open(&output, path)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_status status = describe_json(output.file, subject);
  if (status != COMP_OK) {
    cli_output_abort(&output);
    return cli_fail(session, status);
  }
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  return 0;
}

static int show(cli_session *session, const char *json, const describe_subject *subject) {
  if (!json || !cli_output_is_stdout(json)) {
    comp_status status = describe_text(stdout, subject, text_columns(STDOUT_FILENO, 120));
    if (status != COMP_OK) return cli_fail(session, status);
  }
  return json ? write_json(session, json, subject) : 0;
}

static int run(cli_session *session, const void *values) {
  const info_options *o = values;
  comp_read_options read;
  if (!cli_input_options(&read, &o->input)) return cli_usage_error(session, "--comment takes one character");
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_dataset *dataset = NULL;
  describe_subject subject = {.path = o->input.path};
  comp_status status = comp_file_format(&subject.format, o->input.path);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, &read);
  if (status == COMP_OK) status = comp_data_look_at(&subject.look, session->context, comp_dataset_x(dataset));
  subject.dataset = dataset;
  int code = status == COMP_OK ? show(session, o->json, &subject) : cli_fail(session, status);
  comp_dataset_free(dataset);
  return code;
}

const cli_command cli_info = {
    .name = "info",
    .group = "Data",
    .summary = "show what is in a data file",
    .description = "Shows the size of a data file, how sparse it is, its columns with their levels and how often each "
                   "occurs, its layers and embeddings, what comp did to it so far, and what the values look like: "
                   "counts, logarithms, scaled or centred values.",
    .examples = examples,
    .options = options,
    .positionals = positionals,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
