/* cmd_baseline.c: `comp baseline`: methods of others that remove the effect of a condition, for comparison. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"

typedef struct baseline_options {
  cli_input input;
  const char *name, *output, *condition;
  const char *covariates, *rep, *order, *reference, *label, *to, *model;
  int64_t components, k, seed, clusters, max_iter, max_cluster;
  double theta, sigma, lambda, tau, block;
  bool nonparametric, mean_only;
} baseline_options;

static const baseline_options defaults = {.input = CLI_INPUT_INIT,
                                          .components = OPT_UNSET_INT,
                                          .k = OPT_UNSET_INT,
                                          .seed = OPT_UNSET_INT,
                                          .clusters = OPT_UNSET_INT,
                                          .max_iter = OPT_UNSET_INT,
                                          .max_cluster = OPT_UNSET_INT,
                                          .theta = OPT_UNSET_REAL,
                                          .sigma = OPT_UNSET_REAL,
                                          .lambda = OPT_UNSET_REAL,
                                          .tau = OPT_UNSET_REAL,
                                          .block = OPT_UNSET_REAL};

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

/* The value that the library has. */
static const char *preset(const opt_spec *spec) {
  static char text[96];
  static const comp_baseline_options b = COMP_BASELINE_OPTIONS_INIT;
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"theta", b.theta},
                 {"sigma", b.sigma},
                 {"lambda", b.lambda},
                 {"tau", b.tau},
                 {"block", b.block},
                 {"max-iter", (double)b.max_iter},
                 {"max-cluster", (double)b.max_cluster}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(spec->name, numbers[i].name) == 0) snprintf(text, sizeof text, "%g", numbers[i].value);
  if (strcmp(spec->name, "components") == 0) {
    const size_t usual = comp_baseline_at(0)->components;
    size_t used = (size_t)snprintf(text, sizeof text, "%zu", usual);
    for (size_t i = 1; i < comp_baseline_count() && used < sizeof text; i++) {
      const comp_baseline_method *m = comp_baseline_at(i);
      if (m->components && m->components != usual)
        used += (size_t)snprintf(text + used, sizeof text - used, "; %zu in %s", m->components, m->name);
    }
  }
  return text;
}

#define FIELD(member) OPT_FIELD(baseline_options, member)

static const opt_spec options[] = {
    CLI_INPUT_FILE(baseline_options, input),
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "OUT.h5ad",
     .help = "the input with the results added; may be the input itself"},
    {"condition", 'c', OPT_STRING, FIELD(condition), .metavar = "COL",
     .help = "the column whose effect is removed; all methods but pca, which removes nothing, require it"},

    {"components", .kind = OPT_INT, FIELD(components), .metavar = "N", .group = "Method", .min = 1, .max = 10000,
     .unset_from = preset, .help = "principal components; X must have more samples, and as many features that vary"},
    {"seed", .kind = OPT_INT, FIELD(seed), .metavar = "N", .group = "Method", .min = 0, .max = 9e15, .unset = "0",
     .help = "seed of all random numbers"},
    {"covariates", .kind = OPT_STRING, FIELD(covariates), .metavar = "COL,COL", .group = "Method",
     .help = "columns besides the condition: combat keeps their effect (of numbers it fits a slope), harmony removes "
             "it"},
    {"rep", .kind = OPT_STRING, FIELD(rep), .metavar = "NAME", .group = "Method", .unset = "principal components of X",
     .help = "start from this entry of obsm"},
    {"k", 'k', OPT_INT, FIELD(k), .metavar = "N", .group = "Method", .min = 1, .max = 10000,
     .unset = "20; 5 in seurat-cca", .help = "neighbours among which mutual ones are sought"},
    {"order", .kind = OPT_STRING, FIELD(order), .metavar = "A,B,...", .group = "Method", .unset = "the largest first",
     .help = "the order in which conditions are merged: all of them"},
    {"reference", 'r', OPT_STRING, FIELD(reference), .metavar = "VALUE", .group = "Method", .unset = "the largest",
     .help = "the condition that the others are moved to"},
    {"label", 'l', OPT_STRING, FIELD(label), .metavar = "COL", .group = "Method", .unset = "all samples alike",
     .help = "a column, such as a cell type, whose values count the same for the shift between conditions"},
    {"to", .kind = OPT_STRING, FIELD(to), .metavar = "VALUE", .group = "Method",
     .unset = "of two, the one that is no reference",
     .help = "the condition to predict in layers/scgen_counterfactual"},
    {"model", 'm', OPT_FILE, FIELD(model), .metavar = "MODEL", .group = "Method", .unset = "one is fitted",
     .help = "a vae that comp train has fitted to the same features"},
    {"nonparametric", .kind = OPT_FLAG, FIELD(nonparametric), .group = "Method",
     .help = "take the effects on all other genes as the prior, in place of fitted distributions"},
    {"mean-only", .kind = OPT_FLAG, FIELD(mean_only), .group = "Method",
     .help = "correct means, and leave variances as they are"},
    {"theta", .kind = OPT_REAL, FIELD(theta), .metavar = "T", .group = "Method", .max = 1e6, .unset_from = preset,
     .help = "weight of diversity: more mixes more"},
    {"sigma", .kind = OPT_REAL, FIELD(sigma), .metavar = "S", .group = "Method", .min = 1e-4, .max = 1e6,
     .unset_from = preset, .help = "width of soft assignment"},
    {"lambda", .kind = OPT_REAL, FIELD(lambda), .metavar = "L", .group = "Method", .min = 1e-6, .max = 1e9,
     .unset_from = preset, .help = "ridge penalty: more corrects less"},
    {"tau", .kind = OPT_REAL, FIELD(tau), .metavar = "N", .group = "Method", .max = 1e9, .unset_from = preset,
     .help = "levels with fewer samples a cluster count less for diversity; 0: all count the same"},
    {"block", .kind = OPT_REAL, FIELD(block), .metavar = "SHARE", .group = "Method", .min = 1e-4, .max = 1,
     .unset_from = preset, .help = "share of the samples that is assigned at once"},
    {"clusters", .kind = OPT_INT, FIELD(clusters), .metavar = "N", .group = "Method", .min = 1, .max = 1e6,
     .unset = "by method and samples",
     .help =
         "number of clusters: samples / 30 and at most 100 in harmony; in celligner of each condition, by k-means in "
         "place of Leiden"},
    {"max-iter", .kind = OPT_INT, FIELD(max_iter), .metavar = "N", .group = "Method", .min = 1, .max = 1e6,
     .unset_from = preset, .help = "rounds of clustering and correction, at most"},
    {"max-cluster", .kind = OPT_INT, FIELD(max_cluster), .metavar = "N", .group = "Method", .min = 1, .max = 1e6,
     .unset_from = preset, .help = "steps of one clustering, at most"},
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

/* "a,b,c" as a list; its items point into `text`, which is cut up. */
enum { MOST_ITEMS = 64 };

static size_t split(const char **items, char *text) {
  size_t n = 0;
  for (char *rest = text, *item; n < MOST_ITEMS && (item = strsep(&rest, ","));) items[n++] = item;
  return n;
}

static bool takes(const comp_baseline_method *method, const char *word) {
  size_t length = strlen(word);
  for (const char *at = method->takes; (at = strstr(at, word)); at += length)
    if ((at == method->takes || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
  return false;
}

/* The first option that was given and that the method does not read; NULL when there is none. */
static const char *stray_option(const comp_baseline_method *method, const baseline_options *o) {
  for (const opt_spec *spec = options; spec->name; spec++) {
    if (!spec->group || strcmp(spec->group, "Method") != 0 || takes(method, spec->name)) continue;
    const char *value = (const char *)o + spec->offset, *unset = (const char *)&defaults + spec->offset;
    if (memcmp(value, unset, spec->size) != 0) return spec->name;
  }
  return NULL;
}

static void fill(comp_baseline_options *b, const baseline_options *o) {
  b->condition = o->condition;
  if (o->components != OPT_UNSET_INT) b->components = (size_t)o->components;
  if (o->k != OPT_UNSET_INT) b->k = (size_t)o->k;
  if (o->seed != OPT_UNSET_INT) b->seed = (uint64_t)o->seed;
  if (o->clusters != OPT_UNSET_INT) b->clusters = (size_t)o->clusters;
  if (o->max_iter != OPT_UNSET_INT) b->max_iter = (size_t)o->max_iter;
  if (o->max_cluster != OPT_UNSET_INT) b->max_cluster = (size_t)o->max_cluster;
  if (!isnan(o->theta)) b->theta = o->theta;
  if (!isnan(o->sigma)) b->sigma = o->sigma;
  if (!isnan(o->lambda)) b->lambda = o->lambda;
  if (!isnan(o->tau)) b->tau = o->tau;
  if (!isnan(o->block)) b->block = o->block;
  b->rep = o->rep;
  b->reference = o->reference;
  b->label = o->label;
  b->to = o->to;
  b->nonparametric = o->nonparametric;
  b->mean_only = o->mean_only;
}

static int run_method(cli_session *session, const baseline_options *o, const comp_baseline_options *b,
                      const comp_read_options *read) {
  comp_dataset *dataset = NULL, *results = NULL;
  comp_status status = comp_dataset_read(&dataset, session->context, o->input.path, read);
  if (status == COMP_OK) status = comp_baseline_run(&results, session->context, dataset, o->name, b);
  comp_dataset_free(dataset);
  if (status == COMP_OK) status = comp_dataset_update(session->context, results, o->input.path, o->output, read);
  comp_dataset_free(results);
  return status == COMP_OK ? 0 : cli_fail_in(session, status, o->input.path);
}

static int run(cli_session *session, const void *values) {
  const baseline_options *o = values;
  comp_read_options read;
  const comp_baseline_method *method;
  comp_baseline_options b = COMP_BASELINE_OPTIONS_INIT;
  const char *covariates[MOST_ITEMS], *order[MOST_ITEMS];
  if (!cli_input_options(&read, &o->input)) return cli_usage_error(session, "--comment takes one character");
  if (comp_baseline_find(&method, o->name) != COMP_OK) return cli_option_error(session);
  if (!o->condition && !method->no_condition)
    return cli_usage_error(session, "--condition COL is required by %s", o->name);
  const char *stray = stray_option(method, o);
  if (stray) return cli_usage_error(session, "--%s: %s does not take it", stray, o->name);
  fill(&b, o);
  char *texts[] = {o->covariates ? strdup(o->covariates) : NULL, o->order ? strdup(o->order) : NULL};
  if (texts[0]) {
    b.covariates = covariates;
    b.n_covariates = split(covariates, texts[0]);
  }
  if (texts[1]) {
    b.order = order;
    b.n_order = split(order, texts[1]);
  }
  int code = 0;
  if (comp_baseline_options_check(method, &b) != COMP_OK) code = cli_option_error(session);
  comp_status writable = code == 0 ? comp_dataset_check_update(o->output) : COMP_OK;
  if (writable != COMP_OK) code = cli_fail(session, writable);
  read.skip_slots = !o->rep;
  comp_model *model = NULL;
  if (code == 0 && o->model) {
    comp_status status = comp_model_load(&model, o->model);
    if (status != COMP_OK) code = cli_fail(session, status);
    b.model = model;
  }
  if (code == 0) code = run_method(session, o, &b, &read);
  comp_model_free(model);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) free(texts[i]);
  return code;
}

const cli_command cli_baseline = {
    .name = "baseline",
    .group = "Models",
    .summary = "remove a condition by methods of others",
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
