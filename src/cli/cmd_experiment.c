/* cmd_experiment.c: `comp experiment`: the experiments of the paper, with its tables beside ours. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/seeds.h"
#include "experiment/experiment.h"

typedef struct experiment_options {
  const char *name, *data, *output, *models, *baselines, *tables, *preset, *seeds;
  opt_list embeddings;
  int64_t epochs, jobs;
  bool estimate;
} experiment_options;

static const experiment_options defaults = {.preset = "default", .seeds = "0-2"};

static const char *const presets[] = {"default", "paper", NULL};

static const char *const *names(void) {
  static const char *list[16];
  size_t n = comp_experiment_count();
  for (size_t i = 0; i < n && i < 15; i++) list[i] = comp_experiment_name(i);
  return list;
}

static const opt_spec options[] = {
    {"data", 'd', OPT_FILE, .required = true, OPT_FIELD(experiment_options, data), .metavar = "DIR",
     .help = "the folder with the data; docs/experiments.md says where it comes from"},
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(experiment_options, output), .metavar = "DIR",
     .help = "the folder for models, figures and tables; what is there already is not done again"},
    {"tables", .kind = OPT_STRING, OPT_FIELD(experiment_options, tables), .metavar = "LIST", .unset = "models",
     .help = "which tables to make, separated by commas: models; kang also has gamma (the weight of the penalty), mmd "
             "(that of vfae and trvae) and holdout (cell types never seen stimulated)"},
    {"models", .kind = OPT_STRING, OPT_FIELD(experiment_options, models), .metavar = "LIST", .unset = "all five",
     .help = "which models, separated by commas"},
    {"baselines", .kind = OPT_STRING, OPT_FIELD(experiment_options, baselines), .metavar = "LIST",
     .unset = "without --models those of the paper's table, with it none",
     .help = "which methods of comp baseline are rows of table models, too, separated by commas, or none; they "
             "come on top of what --models names"},
    {"seeds", .kind = OPT_STRING, OPT_FIELD(experiment_options, seeds), .metavar = "LIST",
     .help = "seeds, such as 0-9 or 1,5,7: each is a run of each model"},
    {"preset", .kind = OPT_CHOICE, OPT_FIELD(experiment_options, preset), .metavar = "NAME", .choices = presets,
     .help = "the recipe: default, or the paper's own, which takes hours to days; its cost is said first"},
    {"epochs", .kind = OPT_INT, OPT_FIELD(experiment_options, epochs), .metavar = "N", .max = 1e9,
     .help = "passes over the data in place of the recipe's; 0: the recipe's"},
    {"jobs", .kind = OPT_INT, OPT_FIELD(experiment_options, jobs), .metavar = "N", .max = COMP_MAX_THREADS,
     .help = "trainings side by side, each on its share of the threads; no number depends on it; 0: by the size of the "
             "data"},
    {"embedding", .kind = OPT_STRING, .repeat = true, OPT_FIELD(experiment_options, embeddings),
     .metavar = "NAME=FILE[:KEY]",
     .help = "another row: an embedding in obsm of an .h5ad, with the same samples, as from comp baseline"},
    {"estimate", .kind = OPT_FLAG, OPT_FIELD(experiment_options, estimate), .help = "only say what it would take"},
    {0},
};

static const opt_spec positionals[] = {
    {"NAME", .kind = OPT_CHOICE, .required = true, OPT_FIELD(experiment_options, name), .choices_from = names,
     .help = "the experiment"},
    {0},
};

static const cli_example examples[] = {
    {"comp experiment kang --data data -o kang", "five models, three seeds each"},
    {"comp experiment kang --data data -o kang --tables gamma,holdout --seeds 0", "two more tables, one seed"},
    {"comp experiment pbmc --data data -o pbmc --models comp --embedding harmony=harmony.h5ad:X_harmony",
     "CoMP compared with the embedding of another program"},
    {"comp experiment adult --data data -o adult --preset paper --estimate", "what the paper's recipe would take here"},
    {NULL, NULL},
};

static int run(cli_session *session, const void *values) {
  const experiment_options *o = values;
  comp_experiment_options e = COMP_EXPERIMENT_OPTIONS_INIT;
  uint64_t seeds[CLI_MOST_SEEDS];
  char *text = NULL;
  if (!cli_seeds_parse(seeds, &e.n_seeds, o->seeds))
    return cli_error(session, EXIT_USAGE, CLI_SEEDS_WRONG, o->seeds, CLI_MOST_SEEDS);
  e.name = o->name;
  e.data = o->data;
  e.out = o->output;
  e.models = o->models;
  e.baselines = o->baselines;
  e.tables = o->tables;
  e.preset = o->preset;
  e.embeddings = o->embeddings.items;
  e.n_embeddings = o->embeddings.count;
  e.seeds = seeds;
  e.epochs = (size_t)o->epochs;
  e.jobs = (int)o->jobs;
  e.estimate_only = o->estimate;
  int code = 0;
  comp_status status = comp_experiment_options_check(&e);
  if (status != COMP_OK) {
    code = cli_option_error(session, status);
  } else {
    status = comp_experiment_run(&text, session->context, &e);
    if (status != COMP_OK) code = cli_fail(session, status);
    if (text) fputs(text, stdout);
  }
  free(text);
  return code;
}

const cli_command cli_experiment = {
    .name = "experiment",
    .group = "Results",
    .summary = "run an experiment of the paper, with the paper's numbers next to ours",
    .description = "Prepares the data of one of the paper's four experiments, fits every model with every seed, scores "
                   "them, and writes tables as text, "
                   "CSV, JSON and Markdown: mean and standard error over seeds, and what the paper reports. A run that "
                   "was stopped goes on where it was.",
    .examples = examples,
    .options = options,
    .positionals = positionals,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
