/* cmd_baseline.c: `comp baseline`: other integration methods that remove the effect of a condition, for comparison. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"

typedef struct baseline_options {
  cli_input input;
  const char *name, *output, *model;
  comp_options *how;
} baseline_options;

static const baseline_options defaults = {.output = NULL};

static const char *const *method_names(void) {
  static const char *names[32];
  for (size_t i = 0; i < comp_baseline_count() && i < 31; i++) names[i] = comp_baseline_at(i)->name;
  return names;
}

static bool list_method(size_t i, const char **name, const char **text) {
  static char line[1024];
  if (i >= comp_baseline_count()) return false;
  const comp_baseline_method *m = comp_baseline_at(i);
  size_t used = (size_t)snprintf(line, sizeof line, "%s. Writes obsm/%s", m->summary, m->embedding);
  if (m->layer) used += (size_t)snprintf(line + used, sizeof line - used, " and layers/%s", m->layer);
  if (m->counterfactual) used += (size_t)snprintf(line + used, sizeof line - used, ", layers/%s", m->counterfactual);
  if (m->components) used += (size_t)snprintf(line + used, sizeof line - used, ". %zu components", m->components);
  used += (size_t)snprintf(line + used, sizeof line - used, ". Options:");
  for (const char *at = m->takes; *at && used < sizeof line;) {
    int length = (int)strcspn(at, " ");
    used += (size_t)snprintf(line + used, sizeof line - used, " --%.*s", length, at);
    at += length + (at[length] == ' ');
  }
  *name = m->name;
  *text = line;
  return true;
}

#define FIELD(member) OPT_FIELD(baseline_options, member)

static const opt_spec options[] = {
    CLI_INPUT_FILE(baseline_options, input),
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "OUT",
     .help = "the .h5ad or .zarr to write: the input with the results added; it may be the input"},
    {.rows = "baseline", FIELD(how)},
    {"model", 'm', OPT_FILE, FIELD(model), .metavar = "MODEL", .group = "Method", .unset = "one is fitted",
     .help = "scgen: a vae that comp train has fitted to the same features"},
    CLI_INPUT_ROWS(baseline_options, input),
    {0},
};

static const opt_spec positionals[] = {
    {"NAME", .kind = OPT_CHOICE, .required = true, FIELD(name), .choices_from = method_names, .help = "the method"},
    {0},
};

static const cli_example examples[] = {
    {"comp baseline combat -i in.h5ad -o out.h5ad -c stim --covariates cell_type",
     "means and variances of genes made equal between conditions, differences between cell types kept"},
    {"comp baseline harmony -i in.h5ad -o out.h5ad -c batch", "mixes batches in principal components"},
    {"comp baseline scgen -i in.h5ad -o out.h5ad -c stim -r CTRL -l cell_type",
     "fits a VAE; layers/scgen_counterfactual predicts every cell under the other condition"},
    {NULL, NULL},
};

static bool takes(const comp_baseline_method *method, const char *word) {
  size_t length = strlen(word);
  for (const char *at = method->takes; (at = strstr(at, word)); at += length)
    if ((at == method->takes || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
  return false;
}

static int run_method(cli_session *session, const baseline_options *o, const comp_model *model) {
  comp_dataset *dataset = NULL, *results = NULL;
  comp_status status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_baseline_run(&results, session->context, dataset, o->name, model, o->how);
  comp_dataset_free(dataset);
  if (status == COMP_OK) status = cli_input_skip(o->input.read, false, false);
  if (status == COMP_OK)
    status = comp_dataset_update(session->context, results, o->input.path, o->output, o->input.read);
  comp_dataset_free(results);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->input.path);
}

static int run(cli_session *session, const void *values) {
  const baseline_options *o = values;
  const comp_baseline_method *method;
  comp_status status = comp_baseline_find(&method, o->name);
  if (status != COMP_OK) return cli_option_error(session, status);
  if (!comp_options_given(o->how, "condition") && !method->no_condition)
    return cli_usage_error(session, "--condition COL is required by %s", o->name);
  if (o->model && !takes(method, "model")) return cli_usage_error(session, "--model: %s does not take it", o->name);
  status = comp_baseline_check(method, o->how);
  if (status != COMP_OK) return cli_option_error(session, status);
  status = comp_dataset_check_update(o->output);
  if (status == COMP_OK && !comp_file_same(o->input.path, o->output))
    status = comp_dataset_check_write(NULL, o->output, NULL);
  const bool from_rep = comp_options_given(o->how, "rep"); /* then X is not needed, nor are layers */
  if (status == COMP_OK) status = cli_input_skip(o->input.read, from_rep, !from_rep);
  comp_model *model = NULL;
  if (status == COMP_OK && o->model) status = comp_model_load(&model, o->model);
  int code = status == COMP_OK ? run_method(session, o, model) : cli_fail(session, status);
  comp_model_free(model);
  return code;
}

const cli_command cli_baseline = {
    .name = "baseline",
    .group = "Models",
    .summary = "remove a condition by other integration methods",
    .description = "Runs an established method that removes the effect of a condition, such as a batch, to compare a "
                   "model with. Adds an embedding, and a corrected matrix where the method makes one, to the data. "
                   "The data should be logged (comp prep).",
    .examples = examples,
    .list_title = "Methods",
    .list = list_method,
    .options = options,
    .positionals = positionals,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
