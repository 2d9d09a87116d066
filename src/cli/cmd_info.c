/* cmd_info.c: `comp info`: what is in a data file or a model file; describe.c and describe_model.c say it. */
#include <unistd.h>

#include "cli/command.h"
#include "cli/describe.h"
#include "cli/describe_model.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/text.h"

typedef struct info_options {
  cli_input input;
  const char *json, *condition;
  bool all;
} info_options;

static const info_options defaults = {.json = NULL};

static const opt_spec options[] = {
    {"json", .kind = OPT_FILE, OPT_FIELD(info_options, json), .metavar = "FILE",
     .help = "also write it to this file, as JSON; '-' writes it to stdout in place of the text"},
    {"condition", 'c', OPT_STRING, OPT_FIELD(info_options, condition), .metavar = "COL",
     .help = "look at the values of each condition by itself: are all of them counts, or logarithms?"},
    {"all", .kind = OPT_FLAG, OPT_FIELD(info_options, all),
     .help = "look at every value; otherwise, of an X larger than 64 MB, at those of 4,096 samples"},
    CLI_INPUT_ROWS(info_options, input),
    {0},
};

static const opt_spec positionals[] = {
    {"FILE", .kind = OPT_FILE, .required = true, OPT_FIELD(info_options, input.path),
     .help = "the data: .h5ad, .zarr, 10x .h5, a MEX folder, .csv or .tsv (also .gz); or a model file of comp train"},
    {0},
};

static const cli_example examples[] = {
    {"comp info cells.h5ad", "shows its size, columns with their levels, layers, and whether it holds counts or logs"},
    {"comp info cells.h5ad --json -", "the same for a script"},
    {"comp info cells.h5ad --condition batch", "looks at the values of each batch by itself"},
    {"comp info model.comp", "shows what the model is, how it was trained, and that its file is as it was written"},
    {NULL, NULL},
};

/* What is shown: a data set, or a model. */
typedef struct info_subject {
  const char *path;
  const describe_subject *data;
  const comp_model *model; /* NULL: data */
} info_subject;

static comp_status put_json(FILE *out, const info_subject *subject) {
  return subject->model ? describe_model_json(out, subject->path, subject->model) : describe_json(out, subject->data);
}

static comp_status put_text(FILE *out, const info_subject *subject) {
  int width = text_columns(STDOUT_FILENO, 120);
  return subject->model ? describe_model_text(out, subject->path, subject->model, width)
                        : describe_text(out, subject->data, width);
}

static int write_json(cli_session *session, const char *path, const info_subject *subject) {
  cli_output output;
  if (!cli_output_open(&output, path)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  comp_status status = put_json(output.file, subject);
  if (status != COMP_OK) {
    cli_output_abort(&output);
    return cli_fail(session, status);
  }
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static int show(cli_session *session, const char *json, const info_subject *subject) {
  if (!json || !cli_output_is_stdout(json)) {
    comp_status status = put_text(stdout, subject);
    if (status != COMP_OK) return cli_fail(session, status);
  }
  return json ? write_json(session, json, subject) : 0;
}

static int run_model(cli_session *session, const info_options *o) {
  const comp_option *option;
  if (o->condition) return cli_usage_error(session, "--condition: '%s' is a model file, not data", o->input.path);
  for (size_t i = 0; (option = comp_options_at(o->input.read, i)); i++)
    if (comp_options_given(o->input.read, comp_option_name(option)))
      return cli_usage_error(session, "--%s: '%s' is a model file, not data", comp_option_name(option), o->input.path);
  comp_model *model;
  comp_status status = comp_model_load(&model, o->input.path);
  if (status != COMP_OK) return cli_fail(session, status);
  int code = show(session, o->json, &(info_subject){o->input.path, NULL, model});
  comp_model_free(model);
  return code;
}

/* What the values look like, by condition if there is one. */
static comp_status look(comp_data_look *out, cli_session *session, const comp_dataset *dataset, const char *condition) {
  comp_groups groups = {0};
  size_t column;
  if (!condition) return comp_data_look_at(out, session->context, comp_dataset_x(dataset));
  comp_status status = comp_table_require(&column, comp_dataset_obs(dataset), condition);
  if (status == COMP_OK) status = comp_table_groups(&groups, comp_dataset_obs(dataset), column);
  if (status == COMP_OK) status = comp_data_look_by(out, NULL, session->context, comp_dataset_x(dataset), &groups);
  comp_groups_release(&groups);
  return status;
}

static int run(cli_session *session, const void *values) {
  const info_options *o = values;
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  if (comp_file_is_model(o->input.path)) return run_model(session, o);
  comp_dataset *dataset = NULL, *some = NULL;
  describe_subject subject = {.path = o->input.path};
  comp_status status = comp_file_format(&subject.format, o->input.path);
  if (status == COMP_OK) status = comp_options_set_bool(o->input.read, "skip-damaged", true);
  if (status == COMP_OK)
    status = o->all ? comp_dataset_read(&dataset, session->context, o->input.path, o->input.read)
                    : comp_dataset_glance(&dataset, &some, session->context, o->input.path, o->input.read);
  subject.dataset = dataset;
  subject.values = some ? some : dataset;
  if (status == COMP_OK) status = look(&subject.look, session, subject.values, o->condition);
  int code = status == COMP_OK ? show(session, o->json, &(info_subject){o->input.path, &subject, NULL})
                               : cli_fail(session, status);
  comp_dataset_free(dataset);
  comp_dataset_free(some);
  return code;
}

const cli_command cli_info = {
    .name = "info",
    .group = "Data",
    .summary = "show what is in a data file or a model file",
    .description =
        "Shows the size of a data file, how sparse it is, its columns with their levels and how often each "
        "occurs, its layers and embeddings, what comp did to it so far, and what the values look like: "
        "counts, logarithms, scaled or centred values. Of a large file it reads names, tables and the values of 4,096 "
        "samples, in 16 blocks spread evenly over it. Of a model file: what it is, its condition and features, "
        "how it was trained and on what data, and whether its digest agrees with its content.",
    .examples = examples,
    .options = options,
    .positionals = positionals,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
