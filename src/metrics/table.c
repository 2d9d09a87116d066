/* table.c: the table of metrics, in the order in which they are shown. Totals come after what they are the mean of. */
#include "metrics/score.h"

#define LOWER  COMP_BETTER_LOWER
#define HIGHER COMP_BETTER_HIGHER
#define ZERO   COMP_BETTER_ZERO

/* clang-format off */
static const comp__metric table[] = {
    {{"kbet", "paper", "share of samples whose neighbourhood has other shares of conditions than all samples (kBET)",
      LOWER, 0, 1, false}, COMP__K_OPTION, false, false, comp__metric_kbet},
    {{"m_kbet", "paper", "the same within each label, mean over labels (m-kBET)",
      LOWER, 0, 1, true}, COMP__K_NONE, false, false, comp__metric_m_kbet},
    {{"s", "paper", "local silhouette: whether neighbours of the own condition are nearer than the others (s_k)",
      ZERO, -1, 1, false}, COMP__K_OPTION, false, false, comp__metric_s},
    {{"s_label", "paper", "the same within each label, mean over labels (s~_k)",
      ZERO, -1, 1, true}, COMP__K_NONE, false, false, comp__metric_s_label},

    {{"ilisi", "batch", "effective number of conditions among neighbours, 1 when all are met equally",
      HIGHER, 0, 1, false}, COMP__LISI_NEIGHBORS, true, false, comp__metric_ilisi},
    {{"kbet_label", "batch", "share of samples whose neighbourhood within their label passes kBET's test",
      HIGHER, 0, 1, true}, COMP__K_NONE, true, false, comp__metric_kbet_label},
    {{"asw_batch", "batch", "1 - |silhouette| of the conditions within each label, mean over labels",
      HIGHER, 0, 1, true}, COMP__K_NONE, true, false, comp__metric_asw_batch},
    {{"graph_connectivity", "batch", "share of a label's samples that hang together among nearest neighbours",
      HIGHER, 0, 1, true}, COMP__GRAPH_NEIGHBORS, true, false, comp__metric_graph_connectivity},
    {{"pcr", "batch", "how much of the variance that conditions explained is gone (principal component regression)",
      HIGHER, 0, 1, false}, COMP__K_NONE, true, true, comp__metric_pcr},

    {{"clisi", "bio", "how pure in labels neighbourhoods are, 1 when neighbours share the label",
      HIGHER, 0, 1, true}, COMP__LISI_NEIGHBORS, true, false, comp__metric_clisi},
    {{"label_knn", "bio", "share of samples whose 15 nearest neighbours mostly have their label (kNN)",
      HIGHER, 0, 1, true}, COMP__GRAPH_NEIGHBORS, false, false, comp__metric_label_knn},
    {{"asw_label", "bio", "silhouette of the labels, scaled to 0 .. 1",
      HIGHER, 0, 1, true}, COMP__K_NONE, true, false, comp__metric_asw_label},
    {{"isolated", "bio", "silhouette of those labels that the fewest conditions have, scaled to 0 .. 1",
      HIGHER, 0, 1, true}, COMP__K_NONE, true, false, comp__metric_isolated},
    {{"nmi_kmeans", "bio", "mutual information of labels and k-means clusters",
      HIGHER, 0, 1, true}, COMP__K_NONE, true, false, comp__metric_nmi_kmeans},
    {{"ari_kmeans", "bio", "agreement of pairs between labels and k-means clusters (adjusted Rand index)",
      HIGHER, -0.5, 1, true}, COMP__K_NONE, true, false, comp__metric_ari_kmeans},
    {{"nmi_leiden", "bio", "mutual information of labels and Leiden clusters at the best resolution",
      HIGHER, 0, 1, true}, COMP__GRAPH_NEIGHBORS, false, false, comp__metric_nmi_leiden},
    {{"ari_leiden", "bio", "agreement of pairs between labels and the same Leiden clusters (adjusted Rand index)",
      HIGHER, -0.5, 1, true}, COMP__GRAPH_NEIGHBORS, false, false, comp__metric_ari_leiden},

    {{"total_batch", "total", "mean of the metrics of batch mixing",
      HIGHER, 0, 1, true}, COMP__K_NONE, false, false, comp__metric_total_batch},
    {{"total_bio", "total", "mean of the metrics of kept biology (without Leiden)",
      HIGHER, 0, 1, true}, COMP__K_NONE, false, false, comp__metric_total_bio},
    {{"total", "total", "0.4 total_batch + 0.6 total_bio",
      HIGHER, 0, 1, true}, COMP__K_NONE, false, false, comp__metric_total},

    {{"mmd", "other", "maximum mean discrepancy between conditions, 19 scales, squared, mean over pairs",
      LOWER, 0, 2, false}, COMP__K_NONE, false, false, comp__metric_mmd},
};
/* clang-format on */

size_t comp__metrics_count(void) {
  return sizeof table / sizeof *table;
}

const comp__metric *comp__metric_at(size_t index) {
  return &table[index];
}

size_t comp_score_known_count(void) {
  return comp__metrics_count();
}

const comp_score_metric *comp_score_known_at(size_t index) {
  return index < comp__metrics_count() ? &table[index].info : NULL;
}

const char *comp_better_name(comp_better better) {
  static const char *const names[] = {"lower", "higher", "zero"};
  return names[better];
}
