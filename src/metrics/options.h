/*
 * options.h: what is asked of metrics of embeddings and of predictions of another condition. The rows are in the table
 * of the kind "score" (src/score/options.c), which also has the defaults.
 */
#ifndef COMP_METRICS_OPTIONS_H
#define COMP_METRICS_OPTIONS_H

#include "comp/counterfactual_score.h"
#include "comp/dataset.h"
#include "comp/metrics.h"
#include "neighbors/options.h"

/* Where m_kbet and s_label look for neighbours. */
typedef enum comp__score_scope {
  COMP__SCOPE_LABEL, /* within the label */
  COMP__SCOPE_GLOBAL /* among all samples; those of other labels then do not count */
} comp__score_scope;

/* Which labels are large enough for m_kbet and s_label. */
typedef enum comp__score_small {
  COMP__SMALL_LEAVE_OUT, /* those with at least 4 k samples */
  COMP__SMALL_SHRINK     /* those with at least min_label samples, with k = min(k, samples / 4) */
} comp__score_small;

typedef struct comp__score_options {
  const char *const *embeddings; /* names in obsm; "X": the data itself. None: X_comp if there, else all */
  size_t n_embeddings;
  const char *condition;      /* a column of obs */
  const char *label;          /* a column of obs; NULL: only metrics that need none */
  const char *const *metrics; /* names and families; also "scib" (batch, bio and total) and "all". None: "paper" */
  size_t n_metrics;
  size_t k;     /* neighbours, of the metrics of family "paper" */
  double alpha; /* a neighbourhood fails when its p is below this */
  comp__score_scope scope;
  comp__score_small small_labels;
  size_t min_label;   /* with COMP__SMALL_SHRINK */
  const char *before; /* what pcr compares with: a name in obsm, or "X" */
  comp_search search; /* how neighbours are found */
  uint64_t seed;      /* of the starting points of clustering */
} comp__score_options;

/* Checks what no range can say. The message names the option. */
comp_status comp__score_check(const comp__score_options *options);

/* Whether X of the data set is needed: as an embedding, or to compare with. */
comp_status comp__score_needs_x(bool *out, const comp__score_options *options);

/* Computes the metrics of every embedding. X of the data set may be NULL unless it is asked for. A metric that needs a
 * label is left out when no label was given, unless it was asked for by name, which is an error. A warning names the
 * labels that were left out. It should be freed via comp__score_free(). */
comp_status comp__score_run(comp_score **out, comp_context *context, const comp_dataset *dataset,
                            const comp__score_options *options);

/* NULL is allowed. */
void comp__score_free(comp_score *score);

/* The matrix of an embedding: one of obsm, or X; NULL when there is none. */
const comp_matrix *comp__score_matrix(const comp_dataset *dataset, const char *name);

/* One change of condition whose predictions are scored. */
typedef struct comp__counterfactual_score_options {
  const char *condition; /* a column of obs */
  const char *label;     /* a column of obs; NULL: all samples together */
  const char *layer;     /* the predictions; NULL: counterfactual_TO */
  const char *from;      /* values of `condition` */
  const char *to;
  const char *pair;   /* a column of obs; NULL: no pairs */
  const char *truth;  /* a layer; NULL: truth_TO if it is there */
  size_t n_de;        /* top DE genes */
  size_t min_samples; /* labels with fewer samples on either side are left out, with a warning */
  size_t n_top;       /* genes whose scores are farthest from 0: r_change_top, common_de */
  size_t max_cells;   /* on a side, for e_distance, wasserstein and common_de; 0: no limit */
  uint64_t seed;      /* of the choice of these cells */
  bool silent;        /* no warning of labels that are left out: the caller says it */
} comp__counterfactual_score_options;

/* Whether the layer (which must be named), both conditions and all columns are in the data: to be asked before anything
 * is computed. */
comp_status comp__counterfactual_score_look(const comp_dataset *dataset,
                                            const comp__counterfactual_score_options *options);

/* Scores the predictions. It should be freed via comp__counterfactual_score_free(). */
comp_status comp__counterfactual_score_run(comp_counterfactual_score **out, comp_context *context,
                                           const comp_dataset *dataset,
                                           const comp__counterfactual_score_options *options);

/* NULL is allowed. */
void comp__counterfactual_score_free(comp_counterfactual_score *score);

/* As JSON text: {"from", "to", "layer", "labels": [{"label", "n_from", "n_to", "n_pairs", "prediction": {...},
 * "no_change": {...}, "mean_shift": {...}, "ceiling": {...}}], "mean": {...}}, undefined values as null. It should be
 * freed via comp__free(). */
comp_status comp__counterfactual_score_json(char **out, const comp_counterfactual_score *score);

#endif
