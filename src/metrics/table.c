/* table.c: the table of metrics of embeddings, in the order in which they are shown. Totals come after what they are
 * the mean of. Metrics of predictions are rows of counterfactual.c. */
#include <ctype.h>
#include <string.h>

#include "core/options.h"
#include "metrics/score.h"

#define LOWER  COMP_BETTER_LOWER
#define HIGHER COMP_BETTER_HIGHER
#define ZERO   COMP_BETTER_ZERO

static const char ARI_HELP[] = "How well clusters agree with the labels, by pairs of samples; 0: chance, 1: exactly.";
static const char NMI_HELP[] =
    "Mutual information of clusters and labels, normalised; 0: none, 1: clusters equal labels.";

/* clang-format off */
static const comp__metric table[] = {
    {{"kbet", "kBET", NULL, "paper",
      "share of samples whose neighbourhood has other shares of conditions than all samples (kBET)",
      "Share of samples whose neighbours do not have the conditions in the proportions of the whole data. Perfect "
      "mixing has about the level of the test (alpha), by chance; 1: not mixed.",
      LOWER, 0, 1, false}, .k = COMP__K_OPTION, .run = comp__metric_kbet},
    {{"m_kbet", "m-kBET", NULL, "paper",
      "the same within each label, mean over labels (m-kBET)",
      "kBET inside of each label, averaged over labels. Perfect mixing within every label has about the level of the test "
      "(alpha), by chance; 1: not mixed.",
      LOWER, 0, 1, true}, .run = comp__metric_m_kbet},
    {{"s", "s, local silhouette", NULL, "paper",
      "local silhouette: whether neighbours of the own condition are nearer than the others (s_k)",
      "Local silhouette of the condition. 0: neighbours of both conditions are equally near; above 0: conditions are "
      "not mixed; below 0: neighbours are of the other condition more than they should be.",
      ZERO, -1, 1, false}, .k = COMP__K_OPTION, .run = comp__metric_s},
    {{"s_label", "s~, local silhouette within labels", NULL, "paper",
      "the same within each label, mean over labels (s~_k)",
      "Local silhouette of the condition inside of each label, averaged over labels. Far from 0: samples of one label "
      "are not mixed as they should be.",
      ZERO, -1, 1, true}, .run = comp__metric_s_label},

    {{"ilisi", "iLISI", NULL, "batch",
      "effective number of conditions among neighbours, scaled: 1 when all are equally common",
      "Effective number of conditions among neighbours, scaled. 0: one condition only; 1: all conditions are equally "
      "common.",
      HIGHER, 0, 1, false}, .k = COMP__LISI_NEIGHBORS, .in_total = true, .run = comp__metric_ilisi},
    {{"kbet_label", "kBET accepted, within labels", NULL, "batch",
      "share of samples whose neighbourhood within their label passes kBET's test", NULL,
      HIGHER, 0, 1, true}, .in_total = true, .run = comp__metric_kbet_label},
    {{"asw_batch", "silhouette of conditions", NULL, "batch",
      "1 - |silhouette| of the conditions within each label, mean over labels",
      "Mixing of the conditions within each label, by distances: 1 minus the absolute silhouette of the conditions, mean "
      "over labels. 1: mixed.",
      HIGHER, 0, 1, true}, .in_total = true, .run = comp__metric_asw_batch},
    {{"graph_connectivity", "graph connectivity", NULL, "batch",
      "share of a label's samples in its largest connected part of the kNN graph",
      "Samples are joined to their nearest neighbours. Share of a label's samples that are joined with each other in one "
      "piece, mean over labels. 1: no label is split, for example by condition.",
      HIGHER, 0, 1, true}, .k = COMP__GRAPH_NEIGHBORS, .in_total = true, .run = comp__metric_graph_connectivity},
    {{"pcr", "PC regression", NULL, "batch",
      "how much of the variance that conditions explained is gone (principal component regression)",
      "How much of the variance that the conditions explained before is gone (principal component regression). 0: "
      "nothing; 1: all of it.",
      HIGHER, 0, 1, false}, .in_total = true, .before = true, .run = comp__metric_pcr},

    {{"clisi", "cLISI", NULL, "bio",
      "purity of labels among neighbours, 1 when all neighbours have the same label",
      "Purity of labels among neighbours. 1: all neighbours have the same label.",
      HIGHER, 0, 1, true}, .k = COMP__LISI_NEIGHBORS, .in_total = true, .run = comp__metric_clisi},
    {{"label_knn", "neighbours share the label (kNN)", NULL, "bio",
      "share of samples whose 15 nearest neighbours mostly have their label (kNN)",
      "Share of samples whose nearest neighbours mostly have their label. Lower than before: labels were mixed with "
      "each other (over-correction).",
      HIGHER, 0, 1, true}, .k = COMP__GRAPH_NEIGHBORS, .run = comp__metric_label_knn},
    {{"asw_label", "silhouette of labels", NULL, "bio",
      "silhouette of the labels, scaled to 0 .. 1",
      "Silhouette of the labels, scaled to 0 .. 1: how compact labels are, and how far from each other. 0.5: labels "
      "overlap; 1: compact and separate.",
      HIGHER, 0, 1, true}, .in_total = true, .run = comp__metric_asw_label},
    {{"isolated", "isolated labels", NULL, "bio",
      "silhouette of those labels that the fewest conditions have, scaled to 0 .. 1",
      "Silhouette of the labels that are in the fewest conditions, scaled to 0 .. 1. Such labels are lost most easily.",
      HIGHER, 0, 1, true}, .in_total = true, .run = comp__metric_isolated},
    {{"nmi_kmeans", "NMI, k-means", NULL, "bio",
      "mutual information of labels and k-means clusters", NMI_HELP,
      HIGHER, 0, 1, true}, .in_total = true, .run = comp__metric_nmi_kmeans},
    {{"ari_kmeans", "ARI, k-means", NULL, "bio",
      "agreement of pairs between labels and k-means clusters (adjusted Rand index)", ARI_HELP,
      HIGHER, -0.5, 1, true}, .in_total = true, .run = comp__metric_ari_kmeans},
    {{"nmi_leiden", "NMI, Leiden", NULL, "bio",
      "mutual information of labels and Leiden clusters at the best resolution", NMI_HELP,
      HIGHER, 0, 1, true}, .k = COMP__GRAPH_NEIGHBORS, .run = comp__metric_nmi_leiden},
    {{"ari_leiden", "ARI, Leiden", NULL, "bio",
      "agreement of pairs between labels and the same Leiden clusters (adjusted Rand index)", ARI_HELP,
      HIGHER, -0.5, 1, true}, .k = COMP__GRAPH_NEIGHBORS, .run = comp__metric_ari_leiden},

    {{"total_batch", "total, mixing", NULL, "total",
      "mean of the metrics of batch mixing",
      "Mean of iLISI, kBET accepted, silhouette of conditions, graph connectivity and PC regression, as far as they were "
      "computed (as scib does).",
      HIGHER, 0, 1, true}, .total_of = "batch", .run = comp__metric_total_batch},
    {{"total_bio", "total, labels", NULL, "total",
      "mean of the metrics of kept biology (without Leiden)",
      "Mean of cLISI, silhouette of labels, isolated labels, NMI and ARI of k-means, as far as they were computed (as "
      "scib does).",
      HIGHER, 0, 1, true}, .total_of = "bio", .run = comp__metric_total_bio},
    {{"total", "total", NULL, "total",
      "0.4 total_batch + 0.6 total_bio",
      "0.4 times 'total, mixing' plus 0.6 times 'total, labels' (as scib does).",
      HIGHER, 0, 1, true}, .total_of = "batch bio", .run = comp__metric_total},

    {{"mmd", "mmd", NULL, "other",
      "maximum mean discrepancy between conditions, 19 scales, squared, mean over pairs", NULL,
      LOWER, 0, 2, false}, .run = comp__metric_mmd},
#ifdef COMP__ONE_MORE_METRIC /* tests/metrics/test_row.c */
    COMP__ONE_MORE_METRIC
#endif
};

static const comp__metric_family families[] = {
    {"paper", "Mixing of conditions", false},
    {"batch", "Mixing of conditions, after scib-metrics", true},
    {"bio", "Labels kept separate, after scib-metrics", true},
    {"total", "Totals, after scib-metrics", true},
    {"other", "Other", false},
};
/* clang-format on */

size_t comp__metrics_count(void) {
  return sizeof table / sizeof *table;
}

const comp__metric *comp__metric_at(size_t index) {
  return &table[index];
}

const comp__metric_family *comp__metric_family_at(size_t index) {
  return index < sizeof families / sizeof *families ? &families[index] : NULL;
}

const comp__metric_family *comp__metric_family_find(const char *name) {
  for (size_t i = 0; comp__metric_family_at(i); i++)
    if (strcmp(families[i].name, name) == 0) return &families[i];
  return NULL;
}

size_t comp_score_known_count(void) {
  return comp__metrics_count();
}

const comp_score_metric *comp_score_known_at(size_t index) {
  return index < comp__metrics_count() ? &table[index].info : NULL;
}

const char *comp_score_family_title(const char *family) {
  const comp__metric_family *row = comp__metric_family_find(family);
  return row ? row->title : NULL;
}

/* Whether two names have the same letters and digits. */
static bool is_same_name(const char *a, const char *b) {
  for (;; a++, b++) {
    while (*a && !isalnum((unsigned char)*a)) a++;
    while (*b && !isalnum((unsigned char)*b)) b++;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
    if (!*a) return true;
  }
}

const comp_score_metric *comp_score_known_find(const char *name) {
  const comp_score_metric *row;
  for (size_t i = 0; (row = comp_score_known_at(i)); i++)
    if (is_same_name(row->name, name)) return row;
  for (size_t i = 0; (row = comp_counterfactual_measure_at(i)); i++)
    if (is_same_name(row->name, name)) return row;
  return NULL;
}

static const char *const better_names[] = {"", "lower", "higher", "zero", NULL};
COMP__ENUM_NAMES(comp_better, better_names, "direction")
