/* cmd_diagnose.c: `comp diagnose`: can a model be trusted? */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/streams.h"
#include "cli/text.h"

typedef struct diagnose_options {
  cli_input input;
  opt_list models;
  const char *against, *json;
  comp_options *how;
} diagnose_options;

static const diagnose_options defaults = {.json = NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(diagnose_options, input),
    {"model", 'm', OPT_FILE, .repeat = true, .required = true, OPT_FIELD(diagnose_options, models), .metavar = "MODEL",
     .help = "the model file; further ones, trained with other seeds, are compared with it"},
    {"against", .kind = OPT_FILE, OPT_FIELD(diagnose_options, against), .metavar = "MODEL",
     .help = "a model of the same data trained with --gamma 0, to compare reconstructions with",
     .unset = "that is not checked"},
    {"json", .kind = OPT_FILE, OPT_FIELD(diagnose_options, json), .metavar = "FILE",
     .help = "also write all numbers to this file, as JSON; '-' writes them to stdout in place of the table"},
    {.rows = "diagnose", OPT_FIELD(diagnose_options, how)},
    CLI_INPUT_ROWS(diagnose_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp diagnose -i ready.h5ad -m model.comp --label cell_type", "one model"},
    {"comp diagnose -i ready.h5ad -m s0.comp -m s1.comp -l type --against g0.comp", "everything that can be checked"},
    {NULL, NULL},
};

static void print_text(int column, int indent, int width, const char *before, const char *text) {
  text_flow flow = text_flow_start(stdout, column, indent, width);
  text_flow_add(&flow, before);
  text_flow_add(&flow, text);
  text_flow_end(&flow);
}

/* A level in the words of a check. */
static const char *level_words(comp_finding_level level) {
  static const char *const words[] = {"pass", "not checked", "caution", "fail"};
  return words[level];
}

/* "pass  normality    1e-300  reason", the reason flowing at the right, the advice below it. */
static void print_finding(const comp_finding *f, int width) {
  enum { INDENT = 42 };
  char value[32] = "";
  if (f->n_numbers && isfinite(f->numbers[0].value)) snprintf(value, sizeof value, "%.3g", f->numbers[0].value);
  int column = printf("  %-12s %-16s %9s ", level_words(f->level), f->id, value);
  print_text(column, INDENT, width, "", f->text);
  if (!f->advice[0]) return;
  column = printf("%*s", INDENT, "");
  print_text(column, INDENT, width, "-> ", f->advice);
}

static void print_table(const comp_diagnosis *d) {
  int width = text_columns(STDOUT_FILENO, 120);
  if (width < 80) width = 80;
  size_t counts[4] = {0};
  print_text(
      0, 0, width, "",
      "z is the embedding of a sample; a counterfactual is z decoded under another condition. Each line has the level, "
      "the check, a number, and why; -> what to do.");
  putchar('\n');
  for (size_t i = 0; i < comp_diagnosis_finding_count(d); i++) {
    const comp_finding *f = comp_diagnosis_finding_at(d, i);
    if (i == 0 || strcmp(f->question, comp_diagnosis_finding_at(d, i - 1)->question) != 0)
      printf("%s%s\n", i ? "\n" : "", f->question);
    print_finding(f, width);
    counts[f->level]++;
  }
  printf("\n%zu passed, %zu need caution, %zu failed, %zu not checked\n", counts[COMP_FINDING_OK],
         counts[COMP_FINDING_CAUTION], counts[COMP_FINDING_PROBLEM], counts[COMP_FINDING_NOTE]);
}

static int show(cli_session *session, const comp_diagnosis *d, const char *json) {
  if (!json || !cli_output_is_stdout(json)) print_table(d);
  if (!json) return 0;
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  cli_output output;
  if (!cli_output_open(&output, json)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  fprintf(output.file, "%s\n", comp_diagnosis_json(d));
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static comp_status diagnose(comp_diagnosis **out, cli_session *session, const diagnose_options *o,
                            comp_model **models) {
  comp_dataset *dataset = NULL;
  comp_model *against = NULL;
  comp_status status = comp_options_set_list(o->how, "names", o->models.items, o->models.count);
  if (status == COMP_OK) status = comp_options_set(o->how, "against-name", o->against);
  for (size_t m = 0; status == COMP_OK && m < o->models.count; m++)
    status = comp_model_load(&models[m], o->models.items[m]);
  if (status == COMP_OK && o->against) status = comp_model_load(&against, o->against);
  if (status == COMP_OK) status = cli_input_skip(o->input.read, false, true);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK)
    status = comp_diagnose(out, session->context, dataset, (const comp_model *const *)models, o->models.count, against,
                           o->how);
  comp_model_free(against);
  comp_dataset_free(dataset);
  return status;
}

static int run(cli_session *session, const void *values) {
  const diagnose_options *o = values;
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_model **models = calloc(o->models.count, sizeof(comp_model *));
  if (!models) return cli_error(session, EXIT_FAILED, "out of memory");
  comp_diagnosis *diagnosis = NULL;
  comp_status status = diagnose(&diagnosis, session, o, models);
  int code = 0;
  if (status == COMP_OK)
    code = show(session, diagnosis, o->json);
  else if (status == COMP_ERR_DATA)
    code = cli_fail_in(session, status, o->input.path); /* not over a model */
  else
    code = cli_fail(session, status);
  comp_diagnosis_free(diagnosis);
  for (size_t m = 0; m < o->models.count; m++) comp_model_free(models[m]);
  free(models);
  return code;
}

const cli_command cli_diagnose = {
    .name = "diagnose",
    .group = "Models",
    .summary = "check whether a model can be trusted",
    .description =
        "Asks of a trained model what the paper's theory asks: is z neither normal nor symmetric (else counterfactuals "
        "are not identifiable), does it not depend on the condition, do models of other seeds agree, and is nothing "
        "lost "
        "but the condition. Prints one line a check: pass, caution or fail, the number, the reason and what to do. "
        "Caution means that nothing is proved wrong, but that you should read the reason before you rely on the model. "
        "The first model is judged; further ones show whether it is stable. What could not be checked, such as a test "
        "with too few samples, is said and does not count as passed. The exit code is 0 whatever was found, and not 0 "
        "only when the checks could not be made; scripts read \"worst\" in the file of --json: ok, caution or problem. "
        "docs/theory.md explains every line.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
