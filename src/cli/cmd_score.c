/* cmd_score.c: `comp score`: how well embeddings mix conditions and keep labels apart. */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/scores.h"
#include "cli/streams.h"
#include "comp/suggest.h"

typedef struct score_options {
  cli_input input;
  comp_score_options score;
  comp_counterfactual_score_options counterfactual;
  opt_list layers, from, to;
  cli_predict_options predict;
  int64_t k, min_label, seed, n_de;
  const char *neighbors, *small_labels, *search;
  bool per_label;
  const char *json;
} score_options;

static const score_options defaults = {.score = COMP_SCORE_OPTIONS_INIT,
                                       .counterfactual = COMP_COUNTERFACTUAL_SCORE_OPTIONS_INIT,
                                       .predict = {.classifier = "forest", .folds = 5},
                                       .n_de = 50,
                                       .k = 100,
                                       .min_label = OPT_UNSET_INT,
                                       .neighbors = "label",
                                       .small_labels = "leave-out",
                                       .search = "auto"};

static const char *const scopes[] = {"label", "global", NULL};
static const char *const small_choices[] = {"leave-out", "shrink", NULL};
static const char *const classifiers[] = {"logistic", "forest", "boosted", NULL};
static const char *const searches[] = {"auto", "exact", "approximate", NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(score_options, input),
    {"use", 'u', OPT_STRING, OPT_FIELD(score_options, score.embeddings), .metavar = "A,B,...",
     .help = "embeddings to score, by their names in obsm; X is the data itself", .unset = "X_comp, else all of obsm"},
    {"condition", 'c', OPT_STRING, .required = true, OPT_FIELD(score_options, score.condition), .metavar = "COL",
     .help = "the column that holds the condition or batch"},
    {"label", 'l', OPT_STRING, OPT_FIELD(score_options, score.label), .metavar = "COL",
     .help = "the column of labels that should be kept apart, such as cell types",
     .unset = "no metrics that need labels"},
    {"metrics", 'm', OPT_STRING, OPT_FIELD(score_options, score.metrics), .metavar = "A,B,...",
     .help = "names of metrics or families (paper, batch, bio, total, other); scib: batch, bio and total; all"},
    {"k", 'k', OPT_INT, OPT_FIELD(score_options, k), .metavar = "N", .min = 1, .max = 1e9,
     .help = "neighbours of the metrics of the paper"},
    {"alpha", 'a', OPT_REAL, OPT_FIELD(score_options, score.alpha), .metavar = "A", .min = 1e-300, .max = 0.999999,
     .help = "a neighbourhood fails kBET's test when its p is below this"},
    {"neighbors", .kind = OPT_CHOICE, OPT_FIELD(score_options, neighbors), .metavar = "WHERE", .choices = scopes,
     .help = "where m_kbet and s_label look for neighbours: within the label, or among all samples, of which those of "
             "other labels then do not count"},
    {"small-labels", .kind = OPT_CHOICE, OPT_FIELD(score_options, small_labels), .metavar = "HOW",
     .choices = small_choices,
     .help =
         "what m_kbet and s_label do with labels of fewer than 4 k samples: leave them out, or take k = samples / 4"},
    {"min-label", .kind = OPT_INT, OPT_FIELD(score_options, min_label), .metavar = "N", .min = 4, .max = 1e15,
     .help = "with --small-labels shrink, leave out labels with fewer samples than this", .unset = "150"},
    {"before", .kind = OPT_STRING, OPT_FIELD(score_options, score.before), .metavar = "NAME",
     .help = "what pcr compares with: X, or a name in obsm"},
    {"search", .kind = OPT_CHOICE, OPT_FIELD(score_options, search), .metavar = "HOW", .choices = searches,
     .help = "how neighbours are found"},
    {"seed", .kind = OPT_INT, OPT_FIELD(score_options, seed), .metavar = "N", .max = 9e15,
     .help = "seed of the clusterings"},
    {"per-label", .kind = OPT_FLAG, OPT_FIELD(score_options, per_label),
     .help = "also print what each label and condition has"},
    {"json", .kind = OPT_FILE, OPT_FIELD(score_options, json), .metavar = "FILE",
     .help = "also write the result to this file, as JSON; '-' writes it to stdout in place of the table"},
    {"predict", .kind = OPT_STRING, .repeat = true, OPT_FIELD(score_options, predict.columns), .metavar = "COL",
     .group = "Classifiers",
     .help =
         "how well this column can be told from the embedding, by logistic regression and a random forest; name the "
         "condition to see how well it is hidden"},
    {"classifiers", .kind = OPT_STRING, OPT_FIELD(score_options, predict.classifiers), .metavar = "A,B,...",
     .group = "Classifiers", .unset = "logistic,forest", .help = "what --predict uses: logistic, forest, boosted"},
    {"folds", .kind = OPT_INT, OPT_FIELD(score_options, predict.folds), .metavar = "N", .group = "Classifiers",
     .min = 2, .max = 1000, .help = "parts of the cross-validation of --predict"},
    {"permutations", .kind = OPT_INT, OPT_FIELD(score_options, predict.permutations), .metavar = "N",
     .group = "Classifiers", .max = 1e6, .help = "test --predict against so many shuffled columns; 0: no test"},
    {"fairness", .kind = OPT_FLAG, OPT_FIELD(score_options, predict.fairness), .group = "Classifiers",
     .help = "also show how differently a classifier of the --predict columns treats the conditions"},
    {"train-on", .kind = OPT_STRING, OPT_FIELD(score_options, predict.train_on), .metavar = "VALUE",
     .group = "Classifiers", .help = "learn the label on samples of this condition, and test it with --test-on"},
    {"test-on", .kind = OPT_STRING, OPT_FIELD(score_options, predict.test_on), .metavar = "VALUE",
     .group = "Classifiers", .help = "the condition on which the label is predicted"},
    {"classifier", .kind = OPT_CHOICE, OPT_FIELD(score_options, predict.classifier), .metavar = "NAME",
     .group = "Classifiers", .choices = classifiers, .help = "what --train-on and --fairness use"},
    {"counterfactual", .kind = OPT_STRING, .repeat = true, OPT_FIELD(score_options, layers), .metavar = "LAYER",
     .group = "Counterfactuals",
     .help = "score the predictions in this layer, as comp counterfactual writes it; embeddings then only with --use. "
             "Several of them each with its --from and --to, in their order"},
    {"from", .kind = OPT_STRING, .repeat = true, OPT_FIELD(score_options, from), .metavar = "VALUE",
     .group = "Counterfactuals", .help = "the condition of the samples whose predictions are scored"},
    {"to", .kind = OPT_STRING, .repeat = true, OPT_FIELD(score_options, to), .metavar = "VALUE",
     .group = "Counterfactuals", .help = "the condition that was predicted"},
    {"pair", .kind = OPT_STRING, OPT_FIELD(score_options, counterfactual.pair), .metavar = "COL",
     .group = "Counterfactuals", .help = "a column that pairs samples of both conditions, such as a patient",
     .unset = "no pairs"},
    {"n-de", .kind = OPT_INT, OPT_FIELD(score_options, n_de), .metavar = "N", .group = "Counterfactuals", .min = 2,
     .max = 1e9, .help = "genes that differ most, for the measures that end in _de"},
    CLI_INPUT_ROWS(score_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp score -i cells.h5ad -c stim -l type", "the paper's metrics of X_comp"},
    {"comp score -i cells.h5ad -u X_comp,X_pca -c batch -l type -m all --json s.json",
     "all metrics of two embeddings side by side"},
    {"comp score -i cells.h5ad -c stim -l type --small-labels shrink --per-label",
     "labels of at least 150 cells, each by itself"},
    {"comp score -i adult.h5ad -c sex --predict sex --predict income --fairness",
     "what a representation still tells of the sex, and of the income"},
    {"comp score -i out.h5ad -c stim --counterfactual cf --from CTRL --to STIM",
     "how good predictions are, beside two simple ones"},
    {NULL, NULL},
};

static int show(cli_session *session, const score_options *o, const cli_scores *scores) {
  if (!o->json || !cli_output_is_stdout(o->json)) cli_scores_print(scores);
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  if (!o->json) return 0;
  cli_output output;
  if (!cli_output_open(&output, o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  if (cli_scores_put_json(output.file, scores) != COMP_OK) {
    cli_output_abort(&output);
    return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  }
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  return 0;
}

static comp_score_options library_options(const score_options *o) {
  comp_score_options out = o->score;
  out.k = (size_t)o->k;
  if (o->min_label != OPT_UNSET_INT) out.min_label = (size_t)o->min_label;
  out.seed = (uint64_t)o->seed;
  out.scope = strcmp(o->neighbors, "global") == 0 ? COMP_SCOPE_GLOBAL : COMP_SCOPE_LABEL;
  out.small_labels = strcmp(o->small_labels, "shrink") == 0 ? COMP_SMALL_SHRINK : COMP_SMALL_LEAVE_OUT;
  out.search = strcmp(o->search, "exact") == 0         ? COMP_SEARCH_EXACT
               : strcmp(o->search, "approximate") == 0 ? COMP_SEARCH_APPROXIMATE
                                                       : COMP_SEARCH_AUTO;
  return out;
}

static comp_counterfactual_score_options counterfactual_options(const score_options *o) {
  comp_counterfactual_score_options out = o->counterfactual;
  out.condition = o->score.condition;
  out.label = o->score.label;
  out.n_de = (size_t)o->n_de;
  out.seed = (uint64_t)o->seed;
  return out;
}

static int check_changes(cli_session *session, const score_options *o,
                         const comp_counterfactual_score_options *counterfactual) {
  const char *alone = o->from.count ? "--from" : o->to.count ? "--to" : o->counterfactual.pair ? "--pair" : NULL;
  if (o->layers.count == 0) return alone ? cli_usage_error(session, "%s goes with --counterfactual", alone) : 0;
  if (o->from.count != o->layers.count || o->to.count != o->layers.count)
    return cli_usage_error(session, "%s needs --from and --to",
                           o->layers.count > 1 ? "each --counterfactual" : "--counterfactual");
  for (size_t i = 0; i < o->layers.count; i++) {
    comp_counterfactual_score_options c = *counterfactual;
    c.layer = o->layers.items[i];
    c.from = o->from.items[i];
    c.to = o->to.items[i];
    if (comp_counterfactual_score_options_check(&c) != COMP_OK) return cli_option_error(session);
  }
  return 0;
}

/* What does not fit together; 0 when all does. */
static int check(cli_session *session, const score_options *o, const comp_score_options *score,
                 const comp_counterfactual_score_options *counterfactual) {
  const cli_predict_options *p = &o->predict;
  if (comp_score_options_check(score) != COMP_OK) return cli_option_error(session);
  if (!p->train_on != !p->test_on)
    return cli_usage_error(session, "%s needs %s", p->train_on ? "--train-on" : "--test-on",
                           p->train_on ? "--test-on" : "--train-on");
  comp_classifier_kind kinds[COMP_CLASSIFIER_KINDS];
  size_t n_kinds;
  if (cli_predictions_kinds(kinds, &n_kinds, p->classifiers) != COMP_OK)
    return cli_usage_error(session, "--classifiers: %s", comp_error_message());
  if (p->classifiers && p->columns.count == 0) return cli_usage_error(session, "--classifiers goes with --predict");
  if (p->train_on && !o->score.label) return cli_usage_error(session, "--train-on needs --label");
  if (p->fairness && p->columns.count == 0) return cli_usage_error(session, "--fairness goes with --predict");
  return check_changes(session, o, counterfactual);
}

/* A typing error is told before anything is computed. */
static int check_change(cli_session *session, const score_options *o, const comp_dataset *dataset, size_t i) {
  const char *values[] = {o->from.items[i], o->to.items[i]};
  comp_suggest search = {.word = o->layers.items[i]};
  size_t column, n_layers = comp_dataset_count(dataset, COMP_SLOT_LAYERS);
  comp_groups g;
  for (size_t l = 0; l < n_layers; l++)
    comp_suggest_offer(&search, comp_dataset_entry_name(dataset, COMP_SLOT_LAYERS, l));
  if (!comp_dataset_get(dataset, COMP_SLOT_LAYERS, o->layers.items[i]))
    return cli_error(session, EXIT_FAILED, "%s: there is no layer '%s'%s%s%s (comp counterfactual makes predictions)",
                     o->input.path, o->layers.items[i], search.best ? "; did you mean '" : "",
                     search.best ? search.best : "", search.best ? "'?" : "");
  comp_status status = comp_table_require(&column, comp_dataset_obs(dataset), o->score.condition);
  if (status == COMP_OK) status = comp_table_groups(&g, comp_dataset_obs(dataset), column);
  if (status != COMP_OK) return cli_fail_in(session, status, o->input.path);
  int code = 0;
  for (int v = 0; v < 2 && !code; v++) {
    bool found = false;
    comp_suggest nearest = {.word = values[v]};
    for (size_t l = 0; l < g.n_levels; l++) {
      found = found || strcmp(g.levels[l], values[v]) == 0;
      comp_suggest_offer(&nearest, g.levels[l]);
    }
    if (!found)
      code = cli_error(session, EXIT_FAILED, "%s: column '%s' has no value '%s'%s%s%s (--%s)", o->input.path,
                       o->score.condition, values[v], nearest.best ? "; did you mean '" : "",
                       nearest.best ? nearest.best : "", nearest.best ? "'?" : "", v ? "to" : "from");
  }
  comp_groups_release(&g);
  return code;
}

static int run(cli_session *session, const void *values) {
  const score_options *o = values;
  if (o->min_label != OPT_UNSET_INT && strcmp(o->small_labels, "shrink") != 0)
    return cli_usage_error(session, "--min-label goes with --small-labels shrink");
  if (o->score.label && strcmp(o->score.label, o->score.condition) == 0)
    return cli_usage_error(session, "--label: '%s' is the condition", o->score.label);
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_score_options options_score = library_options(o);
  comp_counterfactual_score_options options_counterfactual = counterfactual_options(o);
  int code = check(session, o, &options_score, &options_counterfactual);
  if (code) return code;
  cli_predict_options options_predict = o->predict;
  options_predict.condition = o->score.condition;
  options_predict.label = o->score.label;
  options_predict.seed = o->seed;
  bool counterfactuals = o->layers.count > 0, predictions = cli_predictions_wanted(&options_predict);
  bool embeddings = !counterfactuals || predictions || o->score.embeddings;
  comp_dataset *dataset = NULL;
  comp_score *score = NULL;
  cli_change *changes = calloc(o->layers.count + 1, sizeof *changes);
  cli_predictions predicted = {0};
  if (!changes) return cli_error(session, EXIT_FAILED, "out of memory");
  for (size_t i = 0; i < o->layers.count; i++)
    changes[i] = (cli_change){.layer = o->layers.items[i], .from = o->from.items[i], .to = o->to.items[i]};
  comp_status status = cli_input_skip(o->input.read, !counterfactuals && !comp_score_needs_x(&options_score), false);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK) code = cli_predictions_check(session, o->input.path, dataset, &options_predict);
  for (size_t i = 0; status == COMP_OK && !code && i < o->layers.count; i++)
    code = check_change(session, o, dataset, i);
  if (code) goto done;
  if (status == COMP_OK && embeddings) status = comp_score_run(&score, session->context, dataset, &options_score);
  if (status == COMP_OK && predictions)
    status = cli_predictions_run(&predicted, session->context, dataset, score, &options_predict);
  if (status == COMP_OK && counterfactuals)
    status = cli_changes_run(session, dataset, &options_counterfactual, changes, o->layers.count, !embeddings);
  if (status == COMP_OK)
    code = show(session, o,
                &(cli_scores){.dataset = dataset,
                              .options = &options_score,
                              .score = score,
                              .changes = changes,
                              .n_changes = o->layers.count,
                              .predictions = predictions ? &predicted : NULL,
                              .per_label = o->per_label,
                              .verbose = session->common.verbose});
done:
  cli_predictions_release(&predicted);
  cli_changes_release(changes, o->layers.count);
  free(changes);
  comp_score_free(score);
  comp_dataset_free(dataset);
  return status == COMP_OK ? code : cli_fail_in(session, status, o->input.path);
}

const cli_command cli_score = {
    .name = "score",
    .group = "Results",
    .summary = "measure how well embeddings mix conditions and keep labels",
    .description =
        "Scores embeddings of the samples. Families of metrics: paper (kBET and the local silhouette, over all samples "
        "and within labels), batch, bio and total (as in scib-metrics), other (MMD). Prints a table with a column for "
        "each embedding; the arrow says which way is better. -v adds what each metric means. With --predict and "
        "--train-on, classifiers show what can be told from an embedding. With --counterfactual, predictions of "
        "another condition are compared with real samples of it.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
