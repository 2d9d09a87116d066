/* options.c: the table of the kind "run". */
#include "pipeline/options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/baseline.h"
#include "core/error.h"

static const char *const as_names[] = {"auto", "omics", "table", NULL};
static const char *const values_names[] = {"auto", "counts", "log", "normalized", "centered", NULL};
static const char *const predict_names[] = {"cells", "residual", "decoded", NULL};
static const char *const clip_names[] = {"auto", "yes", "no", NULL};
static const char *const endings[] = {"svg", "png", "pdf", NULL};

/* Options of the training that the run itself decides on. */
#define RUN_DECIDES   "memory log resume checkpoint-epochs checkpoint-minutes"
#define FIELD(member) COMP__FIELD(comp__run_options, member)
static const comp_option table[] = {
    {"input", 'i', COMP_OPTION_FILE, .required = true, FIELD(input), .metavar = "IN", .group = "Options",
     .help = "the data: .h5ad, .zarr, 10x .h5, a MEX folder, .csv or .tsv (also .gz)"},
    {"output", 'o', COMP_OPTION_FILE, .required = true, FIELD(output), .metavar = "DIR", .group = "Options",
     .help = "the folder for all results; it is made if it is not there"},
    {.rows = &comp__train_kind, .only = "condition", .group = "Options", FIELD(train)},
    {"label", 'l', COMP_OPTION_TEXT, FIELD(label), .metavar = "COL", .group = "Options",
     .help = "the column of labels that must stay separate, such as cell types",
     .unset = "nothing is measured within labels"},
    {"to", 't', COMP_OPTION_TEXT, FIELD(to), .metavar = "VALUE", .group = "Options",
     .unset = "each condition, of many the first", .help = "predict samples under this condition only"},
    {"from", 'f', COMP_OPTION_TEXT, FIELD(from), .metavar = "VALUE", .group = "Options",
     .unset = "each other condition", .help = "score predictions of samples of this condition only"},
    {"reference", .type = COMP_OPTION_TEXT, FIELD(reference), .metavar = "VALUE", .group = "Options",
     .unset = "a control by its name, else the first",
     .help = "the condition that the others are compared with: corrected values are samples as if of this condition"},
    {"protect", .type = COMP_OPTION_BOOL, FIELD(protect), .group = "Options",
     .help = "the condition is a protected attribute: measure how well it is hidden, on samples that were not trained "
             "on, and predict no samples under other conditions"},
    {"target", .type = COMP_OPTION_TEXT, FIELD(target), .metavar = "COL", .group = "Options",
     .help = "with --protect: the column that the data is used to predict, such as income. Training keeps it "
             "(--target-weight); scores are its accuracy, and differences between groups"},
    {"test-share", .type = COMP_OPTION_REAL, FIELD(test_share), .metavar = "X", .value = "0.3", .max = 0.5,
     .group = "Options",
     .help = "with --protect: the part of the samples that is kept out of training. What is hidden and what is kept is "
             "measured on it (comp audit); 0: all samples are trained on, and nothing is measured on new ones"},
    {"compare", .type = COMP_OPTION_TEXT, FIELD(compare), .metavar = "A,B,...", .group = "Options",
     .help = "also run and score these methods (comp baseline), such as harmony,combat"},
    {"force", .type = COMP_OPTION_BOOL, FIELD(force), .group = "Options",
     .help = "run even when every label is in one condition only, so that nothing can be learned"},
    {"fresh", .type = COMP_OPTION_BOOL, FIELD(fresh), .group = "Options",
     .help = "do every step again, also those that are done"},

    {"as", .type = COMP_OPTION_CHOICE, FIELD(as), .metavar = "KIND", .choices = as_names, .value = "auto",
     .group = "Preparation",
     .help =
         "what the data is: measurements of genes, or a table of numbers and names; auto: a .csv or .tsv is a table"},
    {"values", .type = COMP_OPTION_CHOICE, FIELD(values), .metavar = "KIND", .choices = values_names, .value = "auto",
     .group = "Preparation",
     .help = "what the values are: counts, logarithms, normalised but not logged, centred; auto: looks at them"},
    {.rows = &comp__prep_kind, .only = "keep", .group = "Preparation", FIELD(prep)},
    {.rows = &comp__prep_kind,
     .only = "hvg",
     .group = "Preparation",
     .unset = "auto:2000, of more than 2000 features",
     FIELD(prep)},
    {"no-hvg", .type = COMP_OPTION_BOOL, FIELD(no_hvg), .group = "Preparation", .help = "all features, however many"},
    {.rows = &comp__tabular_kind, .only = "drop drop-missing", .group = "Preparation", FIELD(tabular)},

    {.rows = &comp__train_kind, .only = "preset", .unset = "default; protect for a table with --protect", FIELD(train)},
    {.rows = &comp__train_kind, .without = "condition preset target target-hold unseen " RUN_DECIDES, FIELD(train)},

    {"k", 'k', COMP_OPTION_INT, FIELD(k), .metavar = "N", .min = 1, .max = 1e9, .group = "Results",
     .unset = "100; fewer for less than 1000 samples", .help = "neighbours of the metrics of the paper"},
    {"alpha", 'a', COMP_OPTION_REAL, FIELD(alpha), .metavar = "A", .min = 1e-300, .max = 0.999999, .value = "0.1",
     .group = "Results", .help = "a neighbourhood fails kBET's test when its p is below this"},
    {"predict", .type = COMP_OPTION_CHOICE, FIELD(predict), .metavar = "HOW", .choices = predict_names,
     .value = "cells", .group = "Results",
     .help = "predictions of another condition: cells that vary as measured ones do (comp counterfactual --cells); "
             "residual: the sample plus its change; decoded: the decoder's own means, which vary little"},
    {"clip-values", .type = COMP_OPTION_CHOICE, FIELD(clip), .metavar = "WHEN", .choices = clip_names, .value = "auto",
     .group = "Results",
     .help = "corrected and predicted values below 0 become 0; auto: where the data has no value below 0"},
    {"no-counterfactual", .type = COMP_OPTION_BOOL, FIELD(no_counterfactual), .group = "Results",
     .help = "no predictions of samples under other conditions"},
    {"all-counterfactuals", .type = COMP_OPTION_BOOL, FIELD(all_counterfactuals), .group = "Results",
     .help = "predictions for every condition, however many and however large"},
    {"no-umap", .type = COMP_OPTION_BOOL, FIELD(no_umap), .group = "Results", .help = "no maps"},
    {"no-correct", .type = COMP_OPTION_BOOL, FIELD(no_correct), .group = "Results", .help = "no corrected values"},
    {"no-diagnose", .type = COMP_OPTION_BOOL, FIELD(no_diagnose), .group = "Results",
     .help = "do not check whether the model can be trusted"},
    {"figures", .type = COMP_OPTION_CHOICE, FIELD(figures), .metavar = "KIND", .choices = endings, .value = "svg",
     .group = "Results", .help = "the format of the figures"},

    {.rows = &comp__read_kind, FIELD(read)},
    {0},
};

/* The table with the rows of the other kinds: it cannot be a constant, because their rows are in other files. */
static comp_option rows[96];

static void fill_rows(void) {
  comp__options_include(rows, sizeof rows / sizeof *rows, table);
}

static void complete(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill_rows);
}

static comp_status base(void *out, const comp_options *options) {
  comp__run_options *o = out;
  comp__options_defaults(o, &comp__run_kind);
  comp__options_defaults(&o->read, &comp__read_kind);
  o->prep = comp__prep_defaults();
  o->tabular = comp__tabular_defaults();
  return comp__train_kind.base(&o->train, options);
}

static comp_status finish(void *out, const comp_options *options) {
  comp__run_options *o = out;
  if (!o->protect && comp__options_text(options, "test-share"))
    return comp__error(COMP_ERR_ARGUMENT, "--test-share goes with --protect");
  comp_status status = comp__read_kind.finish(&o->read, options);
  if (status == COMP_OK) status = comp__prep_kind.finish(&o->prep, options);
  return status == COMP_OK ? comp__train_kind.finish(&o->train, options) : status;
}

/* Whether the first `length` characters of a list with commas hold the name. */
static bool is_before(const char *list, size_t length, const char *name, size_t size) {
  for (const char *at = list; at < list + length; at += strcspn(at, ",") + 1)
    if (strcspn(at, ",") == size && strncmp(at, name, size) == 0) return true;
  return false;
}

static comp_status check_compare(const char *list) {
  for (const char *at = list; at; at = at[strcspn(at, ",")] ? at + strcspn(at, ",") + 1 : NULL) {
    char name[64];
    const comp_baseline_method *method;
    size_t length = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    comp_status status = comp_baseline_find(&method, name);
    if (status != COMP_OK) return comp__error_context(status, "compare");
    if (is_before(list, (size_t)(at - list), at, length))
      return comp__error(COMP_ERR_ARGUMENT, "compare: %s is named twice", name);
  }
  return COMP_OK;
}

static comp_status check(const void *values) {
  const comp__run_options *o = values;
  if (!o->output) return comp__error(COMP_ERR_ARGUMENT, "output: no folder is named");
  if (o->target && !o->protect) return comp__error(COMP_ERR_ARGUMENT, "--target goes with --protect");
  if (o->no_counterfactual && (o->to || o->all_counterfactuals))
    return comp__error(COMP_ERR_ARGUMENT, "--no-counterfactual and --%s exclude each other",
                       o->to ? "to" : "all-counterfactuals");
  if (o->to && o->all_counterfactuals)
    return comp__error(COMP_ERR_ARGUMENT, "--to and --all-counterfactuals exclude each other");
  if (o->prep.hvg.flavor != COMP_HVG_NONE && o->no_hvg)
    return comp__error(COMP_ERR_ARGUMENT, "--hvg and --no-hvg exclude each other");
  comp_status status = check_compare(o->compare);
  if (status == COMP_OK) status = comp__prep_kind.check(&o->prep);
  return status == COMP_OK ? comp__train_kind.check(&o->train) : status;
}

const comp__options_kind comp__run_kind = {
    .name = "run",
    .summary = "a whole run: from data to a folder with everything in it",
    .size = sizeof(comp__run_options),
    .rows = rows,
    .base = base,
    .finish = finish,
    .check = check,
    .complete = complete,
};

/* ---- as JSON ---- */

static bool is_wanted(const comp_option *option, const char *const *groups) {
  for (size_t i = 0; groups && groups[i]; i++)
    if (strcmp(comp_option_group(option), groups[i]) == 0) return true;
  return !groups;
}

/* Whether something else than its default decides on an option: then it is not known before the run. */
static bool is_open(const comp_options *options, const comp_option *option) {
  return (comp_option_unset(option) || comp_option_varies(option)) &&
         !comp_options_given(options, comp_option_name(option));
}

comp_status comp__run_options_list(json_t **out, const comp_options *options, const char *const *groups) {
  char *text;
  const comp_option *option;
  *out = NULL;
  comp_status status = comp_options_to_json(&text, options);
  if (status != COMP_OK) return status;
  json_t *all = json_loads(text, 0, NULL);
  *out = json_object();
  for (size_t i = 0; (option = comp_options_at(options, i)); i++) {
    const char *name = comp_option_name(option);
    if (!is_wanted(option, groups)) continue;
    json_object_set_new(*out, name, is_open(options, option) ? json_null() : json_incref(json_object_get(all, name)));
  }
  json_decref(all);
  comp_free(text);
  return *out ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}

comp_status comp__run_options_text(char **out, const comp_options *options, const char *const *groups) {
  json_t *list;
  *out = NULL;
  comp_status status = comp__run_options_list(&list, options, groups);
  if (status != COMP_OK) return status;
  json_object_del(list, "output");
  json_object_del(list, "fresh");
  json_object_del(list, "force");
  *out = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  json_decref(list);
  return *out ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}
