/* cmd_run.c: `comp run`: from a data file to a folder with everything in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run.h"
#include "cli/sha256.h"

static const run_options defaults = {.as = "auto", .k = OPT_UNSET_INT, .alpha = 0.1, .figures = "svg"};

static const char *const kinds[] = {"auto", "omics", "table", NULL};
static const char *const endings[] = {"svg", "png", "pdf", NULL};

/* Options of the training that the run itself decides on. */
#define RUN_DECIDES   "memory stream stream-layer log checkpoint resume checkpoint-epochs checkpoint-minutes"
#define FIELD(member) OPT_FIELD(run_options, member)
static const opt_spec options[] = {
    CLI_INPUT_FILE(run_options, input),
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "DIR",
     .help = "the folder for all results; it is made if it is not there"},
    {.rows = "train", .only = "condition", .group = "Options", FIELD(train)},
    {"label", 'l', OPT_STRING, FIELD(label), .metavar = "COL",
     .help = "the column of what must be kept apart, such as cell types", .unset = "nothing is measured within labels"},
    {"to", 't', OPT_STRING, FIELD(to), .metavar = "VALUE", .unset = "each condition",
     .help = "predict samples under this condition only"},
    {"from", 'f', OPT_STRING, FIELD(from), .metavar = "VALUE", .unset = "each other condition",
     .help = "score predictions of samples of this condition only"},
    {"protect", .kind = OPT_FLAG, FIELD(protect),
     .help = "the condition is a protected attribute: look into how well it is hidden, in place of predicting it"},
    {"target", .kind = OPT_STRING, FIELD(target), .metavar = "COL",
     .help = "with --protect: what the data is used to predict; accuracy, and differences between the groups"},
    {"compare", .kind = OPT_STRING, FIELD(compare), .metavar = "A,B,...",
     .help = "also run and score these methods (comp baseline), such as harmony,combat"},
    {"fresh", .kind = OPT_FLAG, FIELD(fresh), .help = "do every step again, also those that are there"},

    {"as", .kind = OPT_CHOICE, FIELD(as), .metavar = "KIND", .choices = kinds, .group = "Preparation",
     .help =
         "what the data is: measurements of genes, or a table of numbers and names; auto: a .csv or .tsv is a table"},
    {.rows = "prep", .only = "keep", .group = "Preparation", FIELD(prep)},
    {.rows = "prep",
     .only = "hvg",
     .group = "Preparation",
     .unset = "seurat:2000, of more than 2000 features",
     FIELD(prep)},
    {"no-hvg", .kind = OPT_FLAG, FIELD(no_hvg), .group = "Preparation", .help = "all features, however many"},
    {.rows = "tabular", .only = "drop drop-missing", .group = "Preparation", FIELD(tabular)},

    {.rows = "train",
     .only = "preset",
     .unset = "default; protect for a table of 20 or more features with --protect",
     FIELD(train)},
    {.rows = "train", .without = "condition preset " RUN_DECIDES, FIELD(train)},

    {"k", 'k', OPT_INT, FIELD(k), .metavar = "N", .min = 1, .max = 1e9, .group = "Results",
     .unset = "100; fewer for less than 1000 samples", .help = "neighbours of the metrics of the paper"},
    {"alpha", 'a', OPT_REAL, FIELD(alpha), .metavar = "A", .min = 1e-300, .max = 0.999999, .group = "Results",
     .help = "a neighbourhood fails kBET's test when its p is below this"},
    {"no-umap", .kind = OPT_FLAG, FIELD(no_umap), .group = "Results", .help = "no maps"},
    {"no-correct", .kind = OPT_FLAG, FIELD(no_correct), .group = "Results", .help = "no corrected values"},
    {"no-diagnose", .kind = OPT_FLAG, FIELD(no_diagnose), .group = "Results",
     .help = "do not check whether the model can be trusted"},
    {"figures", .kind = OPT_CHOICE, FIELD(figures), .metavar = "KIND", .choices = endings, .group = "Results",
     .help = "the format of the figures"},
    CLI_INPUT_ROWS(run_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp run -i cells.h5ad --condition stim --label cell_type -o out", "everything, with no choices made"},
    {"comp run -i cells.h5ad -c batch -l cell_type --compare harmony,combat -o out", "beside two other methods"},
    {"comp run -i people.csv -c sex --protect --target income -o out",
     "a table: how well sex is hidden, and what is left of the income"},
    {NULL, NULL},
};

static int take_digest(run_job *job) {
  const char *paths[] = {job->options->input.path, comp_options_get(job->read, "metadata", NULL, 0)};
  sha256 digest;
  sha256_init(&digest);
  for (int i = 0; i < 2 && paths[i]; i++)
    if (!sha256_add_path(&digest, paths[i]))
      return cli_error(job->session, EXIT_FAILED, "cannot read '%s': %s", paths[i], strerror(errno));
  sha256_end(&digest, job->digest);
  return 0;
}

/* The value of a row of the command itself. */
static json_t *own_value(const opt_spec *spec, const run_options *o) {
  const void *field = (const char *)o + spec->offset;
  if (spec->repeat) {
    const opt_list *list = field;
    json_t *items = json_array();
    for (size_t i = 0; i < list->count; i++) json_array_append_new(items, json_string(list->items[i]));
    return items;
  }
  if (spec->kind == OPT_FLAG) return json_boolean(*(const bool *)field);
  if (spec->kind == OPT_INT) {
    int64_t number = *(const int64_t *)field;
    return number == OPT_UNSET_INT ? json_null() : json_integer(number);
  }
  if (spec->kind == OPT_REAL) {
    double number = *(const double *)field;
    return isnan(number) ? json_null() : json_real(number);
  }
  const char *text = *(const char *const *)field;
  return text ? json_string(text) : json_null();
}

/* The value of a row of the library. What a preset decides on is null until it is set: which preset depends on the
 * data. */
static json_t *library_value(const opt_spec *spec, const run_options *o) {
  const comp_options *set = *(comp_options *const *)(const void *)((const char *)o + spec->offset);
  bool open = spec->unset || comp_option_unset(spec->option) || comp_option_varies(spec->option);
  char *text = NULL;
  if (open && !comp_options_given(set, spec->name)) return json_null();
  if (comp_options_to_json(&text, set) != COMP_OK) return NULL;
  json_t *all = json_loads(text, 0, NULL), *value = json_incref(json_object_get(all, spec->name));
  json_decref(all);
  comp_free(text);
  return value;
}

/* Every option of the command, or those under the headings; NULL: a text is not UTF-8. */
static json_t *list_options(const run_options *o, const char *const *groups) {
  json_t *out = json_object();
  for (const opt_spec *spec = cli_rows(options); spec->name; spec++) {
    bool wanted = !groups;
    for (size_t i = 0; groups && groups[i]; i++)
      wanted = wanted || (spec->group && strcmp(spec->group, groups[i]) == 0);
    if (wanted &&
        json_object_set_new(out, spec->name, spec->option ? library_value(spec, o) : own_value(spec, o)) != 0) {
      json_decref(out);
      return NULL;
    }
  }
  return out;
}

char *run_options_text(const run_job *job, const char *const *groups) {
  json_t *list = list_options(job->options, groups);
  json_object_del(list, "output");
  json_object_del(list, "fresh");
  char *text = list ? json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(list);
  return text;
}

/* The program, the data and every option that decides on the result, as one number. */
static uint64_t identity(const run_job *job) {
  char *text = run_options_text(job, NULL);
  uint64_t id = run_mix_text(run_mix_text(run_mix_text(1, comp_version()), job->digest), text);
  free(text);
  return id;
}

/* What the record says before any step. */
static int start_record(run_job *job) {
  const run_options *o = job->options;
  json_t *libraries = json_array();
  for (const char *const *l = comp_build_libraries(); *l; l++) json_array_append_new(libraries, json_string(*l));
  job->record = json_pack("{s:s, s:o, s:{s:s, s:s, s:s}, s:o, s:[]}", "version", comp_version(), "libraries", libraries,
                          "input", "path", o->input.path, "format", job->format, "sha256", job->digest, "options",
                          list_options(o, NULL), "steps");
  return job->record ? 0 : cli_error(job->session, EXIT_FAILED, "run.json cannot be made: a name is not UTF-8");
}

/* The input may not be what the run would replace. */
static int check_folder(run_job *job) {
  char path[4096];
  struct stat a, b;
  if (strlen(job->options->output) > 3000)
    return cli_usage_error(job->session, "--output: the name of the folder is too long");
  snprintf(job->folder, sizeof job->folder, "%s", job->options->output);
  for (size_t n = strlen(job->folder); n > 1 && job->folder[n - 1] == '/';) job->folder[--n] = '\0';
  snprintf(job->work, sizeof job->work, "%s/.unfinished", job->folder);
  snprintf(path, sizeof path, "%s/data.h5ad", job->folder);
  if (stat(path, &a) == 0 && stat(job->options->input.path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    return cli_usage_error(job->session,
                           "--output: the input is the data.h5ad of that folder, which would be replaced");
  if (stat(job->folder, &a) == 0 && !S_ISDIR(a.st_mode))
    return cli_error(job->session, EXIT_FAILED, "--output: '%s' is there, and is not a folder", job->folder);
  return 0;
}

static int do_steps(run_job *job) {
  int (*const steps[])(run_job *) = {run_prepare,    run_train,   run_represent, run_predict,
                                     run_write_data, run_measure, run_draw,      run_folder_publish};
  int code = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps && !code; i++) code = steps[i](job);
  return code;
}

static int run_all(run_job *job) {
  int code = check_folder(job);
  if (!code) code = run_check_options(job);
  if (!code) code = run_check_data(job);
  if (!code) code = take_digest(job);
  if (!code) code = start_record(job);
  if (!code) code = run_folder_open(job);
  if (code) return code;
  if (run_folder_is_complete(job, identity(job)))
    run_say(job, "nothing to do: %s holds this very run (--fresh repeats it)", job->folder);
  else
    code = do_steps(job);
  return code ? code : run_summary(job);
}

static int run(cli_session *session, const void *values) {
  run_job *job = calloc(1, sizeof *job);
  if (!job) return cli_error(session, EXIT_FAILED, "out of memory");
  job->session = session;
  job->context = session->context;
  job->own = *(const run_options *)values;
  job->own.condition = comp_options_get(job->own.train, "condition", NULL, 0);
  job->own.model = comp_options_get(job->own.train, "model", NULL, 0);
  comp_options_get_int(&job->own.seed, job->own.train, "seed");
  job->own.keep = comp_options_get_list(&job->own.n_keep, job->own.prep, "keep");
  job->own.hvg = comp_options_get(job->own.prep, "hvg", NULL, 0);
  job->options = &job->own;
  job->lock = -1;
  job->read = job->options->input.read;
  int code = run_all(job);
  run_folder_close(job);
  comp_model_free(job->model);
  comp_dataset_free(job->dataset);
  comp_groups_release(&job->conditions);
  free(job->keep_known);
  free(job);
  return code;
}

const cli_command cli_run = {
    .name = "run",
    .group = "Start here",
    .summary = "from a data file to a report, in one command",
    .description =
        "Looks at the data, says what it will do and why, prepares, trains, embeds, draws maps, predicts each sample "
        "under each condition, scores it all, and writes a folder: data.h5ad (the data with X_comp, X_umap, "
        "counterfactual and corrected layers), model.safetensors, scores.json, diagnose.json, figures, report.html and "
        "run.json, which records versions, options, the digest of the data and every step. Each step is shown as the "
        "command that does the same alone. A run that was stopped goes on where it was; after a change of options "
        "only what depends on them is done again, and a run that fails leaves earlier results as they were.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
