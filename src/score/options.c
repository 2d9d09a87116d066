/* options.c: the table of the kind "score". */
#include "score/options.h"

#include <string.h>

#include "core/error.h"

enum { MIN_LABEL = 150 };

const char *const comp__scope_names[] = {"label", "global", NULL};
const char *const comp__small_names[] = {"leave-out", "shrink", NULL};

#define FIELD(member)          COMP__FIELD(comp__scores_options, member)
#define LIST(member, n_member) COMP__LIST(comp__scores_options, member, n_member)
static const comp_option rows[] = {
    {"use", 'u', COMP_OPTION_NAMES, LIST(score.embeddings, score.n_embeddings), .metavar = "A,B,...",
     .help = "embeddings to score, by their names in obsm; X is the data itself", .unset = "X_comp, else all of obsm"},
    {"condition", 'c', COMP_OPTION_TEXT, .required = true, FIELD(score.condition), .metavar = "COL",
     .help = "the column that holds the condition or batch"},
    {"label", 'l', COMP_OPTION_TEXT, FIELD(score.label), .metavar = "COL",
     .help = "the column of labels that should stay separate, such as cell types",
     .unset = "no metrics that need labels"},
    {"metrics", 'm', COMP_OPTION_NAMES, LIST(score.metrics, score.n_metrics), .metavar = "A,B,...", .unset = "paper",
     .help = "names of metrics or families (paper, batch, bio, total, other); scib: batch, bio and total; all"},
    {"k", 'k', COMP_OPTION_INT, FIELD(score.k), .metavar = "N", .value = "100", .min = 1, .max = 1e9,
     .help = "neighbours of the metrics of the paper"},
    {"alpha", 'a', COMP_OPTION_REAL, FIELD(score.alpha), .metavar = "A", .value = "0.1", .min = 1e-300, .max = 0.999999,
     .help = "a neighbourhood fails kBET's test when its p is below this"},
    {"neighbors", .type = COMP_OPTION_CHOICE, FIELD(score.scope), .metavar = "WHERE", .value = "label",
     .choices = comp__scope_names,
     .help = "where m_kbet and s_label look for neighbours: within the label, or among all samples, of which those of "
             "other labels then do not count"},
    {"small-labels", .type = COMP_OPTION_CHOICE, FIELD(score.small_labels), .metavar = "HOW", .value = "leave-out",
     .choices = comp__small_names,
     .help =
         "what m_kbet and s_label do with labels of fewer than 4 k samples: leave them out, or take k = samples / 4"},
    {"min-label", .type = COMP_OPTION_INT, FIELD(score.min_label), .metavar = "N", .min = 4, .max = 1e15,
     .help = "with --small-labels shrink, leave out labels with fewer samples than this", .unset = "150"},
    {"before", .type = COMP_OPTION_TEXT, FIELD(score.before), .metavar = "NAME", .value = "X",
     .help = "what pcr compares with: X, or a name in obsm"},
    {"search", .type = COMP_OPTION_CHOICE, FIELD(score.search), .metavar = "HOW", .value = "auto",
     .choices = comp__search_names, .help = "how neighbours are found"},
    {"seed", .type = COMP_OPTION_INT, FIELD(score.seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of the clusterings, the classifiers and the choice of cells"},
    {"max-samples", .type = COMP_OPTION_INT, FIELD(max_samples), .metavar = "N", .value = "0", .max = 1e15,
     .help = "score embeddings, and train classifiers, on at most N samples, drawn at random; 0: on all. Predictions "
             "are scored on all"},
    {"predict", .type = COMP_OPTION_TEXTS, LIST(columns, n_columns), .metavar = "COL", .group = "Classifiers",
     .help = "how well this column can be predicted from the embedding, by cross-validation; name the condition to see "
             "how well it is hidden"},
    COMP__CLASSIFY_ROWS(comp__scores_options, classify.),
    {"unseen", .type = COMP_OPTION_TEXT, FIELD(unseen), .metavar = "COL", .group = "Classifiers",
     .unset = "they are predicted of all samples",
     .help = "a column that is true (or 1) for samples that the model has not seen in training: columns are predicted "
             "of these alone"},
    {"fairness", .type = COMP_OPTION_BOOL, FIELD(fairness), .group = "Classifiers",
     .help = "also show how differently a classifier of the predicted columns treats the conditions"},
    {"protect", .type = COMP_OPTION_BOOL, FIELD(protect), .group = "Classifiers",
     .help = "the condition is a protected attribute: the findings ask how well it is hidden, and not whether the "
             "embedding is over-corrected"},
    {"audit", .type = COMP_OPTION_FILE, FIELD(audit), .metavar = "FILE", .group = "Classifiers",
     .help = "the JSON document of comp audit: its findings take the place of those of the classifiers here, which are "
             "fewer and not tuned"},
    {"train-on", .type = COMP_OPTION_TEXT, FIELD(train_on), .metavar = "VALUE", .group = "Classifiers",
     .help = "learn the label on samples of this condition, and test it with --test-on"},
    {"test-on", .type = COMP_OPTION_TEXT, FIELD(test_on), .metavar = "VALUE", .group = "Classifiers",
     .help = "the condition on which the label is predicted"},
    {"counterfactual", .type = COMP_OPTION_TEXTS, LIST(layers, n_layers), .metavar = "LAYER",
     .group = "Counterfactuals",
     .help = "score the predictions in this layer, as comp counterfactual writes it; embeddings then only with --use. "
             "Several of them each with its --from and --to, in their order"},
    {"from", .type = COMP_OPTION_TEXTS, LIST(from, n_from), .metavar = "VALUE", .group = "Counterfactuals",
     .beside = "counterfactual", .help = "the condition of the samples whose predictions are scored"},
    {"to", .type = COMP_OPTION_TEXTS, LIST(to, n_to), .metavar = "VALUE", .group = "Counterfactuals",
     .beside = "counterfactual", .help = "the condition that was predicted"},
    {"pair", .type = COMP_OPTION_TEXT, FIELD(counterfactual.pair), .metavar = "COL", .group = "Counterfactuals",
     .help = "a column that pairs samples of both conditions, such as a patient", .unset = "no pairs"},
    {"truth", .type = COMP_OPTION_TEXT, FIELD(counterfactual.truth), .metavar = "LAYER", .group = "Counterfactuals",
     .help = "the layer with what every sample would be under the condition", .unset = "truth_TO, if it is there"},
    {"n-de", .type = COMP_OPTION_INT, FIELD(counterfactual.n_de), .metavar = "N", .group = "Counterfactuals",
     .value = "50", .min = 2, .max = 1e9, .help = "top DE genes (Wilcoxon, up), for the measures that end in _de"},
    {"n-top", .type = COMP_OPTION_INT, FIELD(counterfactual.n_top), .metavar = "N", .group = "Counterfactuals",
     .value = "100", .min = 2, .max = 1e9,
     .help = "top DE genes (Wilcoxon, up or down), for r_change_top and common_de"},
    {"min-samples", .type = COMP_OPTION_INT, FIELD(counterfactual.min_samples), .metavar = "N",
     .group = "Counterfactuals", .value = "2", .min = 1, .max = 1e9,
     .help = "leave out labels with fewer samples of either condition"},
    {"max-cells", .type = COMP_OPTION_INT, FIELD(counterfactual.max_cells), .metavar = "N", .group = "Counterfactuals",
     .value = "1000", .max = 1e9,
     .help = "take at most so many samples of a condition for e_distance, wasserstein and common_de; "
             "0: all"},
    {0},
};

/* What all parts share, and the default of --min-label. */
static void share(comp__scores_options *o) {
  if (o->score.min_label == 0) o->score.min_label = MIN_LABEL;
  o->classify.seed = o->counterfactual.seed = o->score.seed;
  o->counterfactual.condition = o->score.condition;
  o->counterfactual.label = o->score.label;
}

static comp_status finish(void *out, const comp_options *options) {
  comp__scores_options *o = out;
  if (o->score.min_label && o->score.small_labels != COMP__SMALL_SHRINK)
    return comp__error(COMP_ERR_ARGUMENT, "min-label: it goes with small-labels shrink");
  if (comp__options_text(options, "test-share") && !o->fairness)
    return comp__error(COMP_ERR_ARGUMENT, "test-share: it goes with fairness");
  share(o);
  return COMP_OK;
}

static comp_status check_predictions(const comp__scores_options *o) {
  if (!o->train_on != !o->test_on)
    return comp__error(COMP_ERR_ARGUMENT, "%s: it needs %s", o->train_on ? "train-on" : "test-on",
                       o->train_on ? "test-on" : "train-on");
  if (o->train_on && !o->score.label) return comp__error(COMP_ERR_ARGUMENT, "train-on: it needs label");
  if (o->train_on && strcmp(o->train_on, o->test_on) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "test-on: '%s' is also the condition to train on", o->test_on);
  if (o->classify.n_classifiers && o->n_columns == 0)
    return comp__error(COMP_ERR_ARGUMENT, "classifiers: they go with predict");
  if (o->unseen && o->n_columns == 0) return comp__error(COMP_ERR_ARGUMENT, "unseen: it goes with predict");
  if (o->fairness && o->n_columns == 0) return comp__error(COMP_ERR_ARGUMENT, "fairness: it goes with predict");
  return comp__classify_check(&o->classify);
}

static comp_status check_changes(const comp__scores_options *o) {
  const char *alone = o->n_from                 ? "from"
                      : o->n_to                 ? "to"
                      : o->counterfactual.pair  ? "pair"
                      : o->counterfactual.truth ? "truth"
                                                : NULL;
  if (o->n_layers == 0 && alone) return comp__error(COMP_ERR_ARGUMENT, "%s: it goes with counterfactual", alone);
  if (o->n_from != o->n_layers || o->n_to != o->n_layers)
    return comp__error(COMP_ERR_ARGUMENT, "counterfactual: %s from and to",
                       o->n_layers > 1 ? "each needs" : "it needs");
  for (size_t i = 0; i < o->n_layers; i++)
    if (strcmp(o->from[i], o->to[i]) == 0)
      return comp__error(COMP_ERR_ARGUMENT, "from and to are the same condition, '%s'", o->to[i]);
  return COMP_OK;
}

static comp_status check(const void *values) {
  const comp__scores_options *o = values;
  comp_status status = comp__score_check(&o->score);
  if (status == COMP_OK) status = check_predictions(o);
  return status == COMP_OK ? check_changes(o) : status;
}

const comp__options_kind comp__scores_kind = {
    .name = "score",
    .summary = "how well embeddings mix conditions and keep labels, and how good predictions are",
    .size = sizeof(comp__scores_options),
    .rows = rows,
    .finish = finish,
    .check = check,
};

comp__scores_options comp__scores_defaults(void) {
  comp__scores_options options;
  comp__options_defaults(&options, &comp__scores_kind);
  options.score.min_label = MIN_LABEL;
  return options;
}

bool comp__scores_has_embeddings(const comp__scores_options *o) {
  return o->n_layers == 0 || o->n_columns > 0 || o->train_on || o->score.n_embeddings > 0;
}

comp__counterfactual_score_options comp__scores_change(const comp__scores_options *o, size_t index) {
  comp__counterfactual_score_options change = o->counterfactual;
  change.layer = o->layers[index];
  change.from = o->from[index];
  change.to = o->to[index];
  return change;
}
