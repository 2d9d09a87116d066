/* cmd_run.c: `comp run`: from a data file to a folder with everything in it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run.h"
#include "cli/sha256.h"

static const run_options defaults = {.input = CLI_INPUT_INIT,
                                     .as = "auto",
                                     .model = "comp",
                                     .precision = "auto",
                                     .epochs = OPT_UNSET_INT,
                                     .batch = OPT_UNSET_INT,
                                     .latent = OPT_UNSET_INT,
                                     .patience = OPT_UNSET_INT,
                                     .gamma = OPT_UNSET_REAL,
                                     .beta = OPT_UNSET_REAL,
                                     .scale = OPT_UNSET_REAL,
                                     .rate = OPT_UNSET_REAL,
                                     .k = OPT_UNSET_INT,
                                     .alpha = 0.1,
                                     .figures = "svg"};

static const char *const kinds[] = {"auto", "omics", "table", NULL};
static const char *const precisions[] = {"auto", "f32", "bf16", NULL};
static const char *const endings[] = {"svg", "png", "pdf", NULL};

static const char *const *model_names(void) {
  static const char *names[16];
  for (size_t i = 0; i < comp_model_count() && i < 15; i++) names[i] = comp_model_name(i);
  return names;
}

static const char *const *preset_names(void) {
  static const char *names[16];
  for (size_t i = 0; i < comp_preset_count() && i < 15; i++) names[i] = comp_preset_name(i);
  return names;
}

#define FIELD(member) OPT_FIELD(run_options, member)
static const opt_spec options[] = {
    CLI_INPUT_FILE(run_options, input),
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "DIR",
     .help = "the folder for all results; it is made if it is not there"},
    {"condition", 'c', OPT_STRING, .required = true, FIELD(condition), .metavar = "COL",
     .help = "the column that holds the condition: a batch, a treatment, a group"},
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
    {"keep", .kind = OPT_STRING, .repeat = true, FIELD(keep), .metavar = "COL=VALUE", .group = "Preparation",
     .help = "only samples whose column COL has this value, or one of several: COL=A,B"},
    {"hvg", .kind = OPT_STRING, FIELD(hvg), .metavar = "FLAVOR[:N]", .group = "Preparation",
     .unset = "seurat:2000, of more than 2000 features", .help = "the most variable genes: seurat, vst, variance"},
    {"no-hvg", .kind = OPT_FLAG, FIELD(no_hvg), .group = "Preparation", .help = "all features, however many"},
    {"drop", .kind = OPT_STRING, .repeat = true, FIELD(drop), .metavar = "COL", .group = "Preparation",
     .help = "leave this column of a table out"},
    {"drop-missing", .kind = OPT_FLAG, FIELD(drop_missing), .group = "Preparation",
     .help = "leave out rows of a table with missing values, in place of an error"},

    {"model", .kind = OPT_CHOICE, FIELD(model), .metavar = "NAME", .choices_from = model_names, .group = "Training",
     .help = "the model"},
    {"preset", .kind = OPT_CHOICE, FIELD(preset), .metavar = "NAME", .choices_from = preset_names, .group = "Training",
     .unset = "default; protect for a table of 20 or more features with --protect",
     .help = "the recipe (see comp help train); what follows changes parts of it"},
    {"epochs", .kind = OPT_INT, FIELD(epochs), .metavar = "N", .group = "Training", .min = 1, .max = 1e9,
     .unset = "by the size of the data", .help = "passes over the data"},
    {"gamma", .kind = OPT_REAL, FIELD(gamma), .metavar = "G", .group = "Training", .max = 1e9, .unset = "the recipe's",
     .help = "weight of the penalty: more aligns more"},
    {"latent", .kind = OPT_INT, FIELD(latent), .metavar = "D", .group = "Training", .min = 1, .max = COMP_MAX_LATENT,
     .unset = "the recipe's", .help = "dimensions of the representation"},
    {"hidden", .kind = OPT_STRING, FIELD(hidden), .metavar = "LIST", .group = "Training", .unset = "the recipe's",
     .help = "widths of the encoder's layers, as in 512,512,512"},
    {"scale", .kind = OPT_REAL, FIELD(scale), .metavar = "S", .group = "Training", .min = 0.001, .max = 100,
     .unset = "the recipe's", .help = "standard deviation of every posterior"},
    {"beta", .kind = OPT_REAL, FIELD(beta), .metavar = "B", .group = "Training", .max = 1e9, .unset = "the recipe's",
     .help = "weight of the KL divergence from the prior"},
    {"batch", .kind = OPT_INT, FIELD(batch), .metavar = "B", .group = "Training", .min = 2, .max = 1e9,
     .unset = "the recipe's", .help = "samples a step"},
    {"lr", .kind = OPT_REAL, FIELD(rate), .metavar = "R", .group = "Training", .min = 1e-12, .max = 100,
     .unset = "the recipe's", .help = "learning rate"},
    {"patience", .kind = OPT_INT, FIELD(patience), .metavar = "N", .group = "Training", .max = 1e9,
     .unset = "the recipe's", .help = "stop after N epochs without a better validation loss; 0 never stops early"},
    {"precision", .kind = OPT_CHOICE, FIELD(precision), .metavar = "NAME", .choices = precisions, .group = "Training",
     .help = "how matrices are multiplied: f32, bf16, or auto: what is faster on this CPU"},
    {"seed", .kind = OPT_INT, FIELD(seed), .metavar = "N", .group = "Training", .max = 9e15,
     .help = "seed of all random numbers"},

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

/* Every option that decides on the result, as one number. */
static uint64_t identity(const run_job *job) {
  const run_options *o = job->options;
  const comp_read_options *r = &job->read;
  const char *texts[] = {
      comp_version(), job->digest, o->condition, o->label,    o->target,        o->from,       o->to,
      o->compare,     o->as,       o->hvg,       o->model,    o->preset,        o->hidden,     o->figures,
      r->layer,       r->names,    r->missing,   r->metadata, o->input.comment, o->input.path, o->precision};
  const double numbers[] = {o->protect,
                            (double)o->no_hvg,
                            o->drop_missing,
                            (double)o->epochs,
                            (double)o->batch,
                            (double)o->latent,
                            (double)o->patience,
                            (double)o->seed,
                            (double)o->k,
                            isnan(o->gamma) ? -1.0 : o->gamma,
                            isnan(o->beta) ? -1.0 : o->beta,
                            isnan(o->scale) ? -1.0 : o->scale,
                            isnan(o->rate) ? -1.0 : o->rate,
                            o->alpha,
                            o->no_umap,
                            o->no_correct,
                            o->no_diagnose,
                            r->raw,
                            r->transpose,
                            r->no_header};
  uint64_t id = 1;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) id = run_mix_text(id, texts[i]);
  return run_mix(run_mix_filters(id, o), numbers, sizeof numbers);
}

static int take_digest(run_job *job) {
  const char *paths[] = {job->options->input.path, job->read.metadata};
  sha256 digest;
  sha256_init(&digest);
  for (int i = 0; i < 2 && paths[i]; i++)
    if (!sha256_add_path(&digest, paths[i]))
      return cli_error(job->session, EXIT_FAILED, "cannot read '%s': %s", paths[i], strerror(errno));
  sha256_end(&digest, job->digest);
  return 0;
}

/* Every option that was given or has a default, as in the table above. */
static void record_options(json_t *out, const run_options *o) {
  for (const opt_spec *spec = options; spec->name; spec++) {
    const char *field = (const char *)o + spec->offset;
    json_t *value = NULL;
    if (spec->repeat) {
      const opt_list *list = (const void *)field;
      value = json_array();
      for (size_t i = 0; i < list->count; i++) json_array_append_new(value, json_string(list->items[i]));
    } else if (spec->kind == OPT_FLAG) {
      value = json_boolean(*(const bool *)field);
    } else if (spec->kind == OPT_INT) {
      int64_t number = *(const int64_t *)(const void *)field;
      value = number == OPT_UNSET_INT ? json_null() : json_integer(number);
    } else if (spec->kind == OPT_REAL) {
      double number = *(const double *)(const void *)field;
      value = isnan(number) ? json_null() : json_real(number);
    } else {
      const char *text = *(const char *const *)(const void *)field;
      value = text ? json_string(text) : json_null();
    }
    if (value) json_object_set_new(out, spec->name, value);
  }
}

/* What the record says before any step. */
static int start_record(run_job *job) {
  const run_options *o = job->options;
  json_t *libraries = json_array();
  for (const char *const *l = comp_build_libraries(); *l; l++) json_array_append_new(libraries, json_string(*l));
  job->record =
      json_pack("{s:s, s:o, s:{s:s, s:s, s:s}, s:{}, s:[]}", "version", comp_version(), "libraries", libraries, "input",
                "path", o->input.path, "format", job->format, "sha256", job->digest, "options", "steps");
  record_options(json_object_get(job->record, "options"), o);
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
  job->options = values;
  job->lock = -1;
  int code = cli_input_options(&job->read, &job->options->input)
                 ? run_all(job)
                 : cli_usage_error(session, "--comment takes one character");
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
