/*
 * metrics.h: how well embeddings mix conditions and keep labels apart: a table, one row a metric, one column an
 * embedding. comp_scores_run() (comp/score.h) computes it; docs/metrics.md has the formulas.
 */
#ifndef COMP_METRICS_H
#define COMP_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

/* Which values are better; unknown only of scores that other programs wrote. */
typedef enum comp_better { COMP_BETTER_UNKNOWN, COMP_BETTER_LOWER, COMP_BETTER_HIGHER, COMP_BETTER_ZERO } comp_better;

/* "", "lower", "higher", "zero"; NULL: there is no such value. Parsing an unknown name is an error. */
COMP_API const char *comp_better_name(comp_better better);
COMP_API comp_status comp_better_parse(comp_better *out, const char *name);

/* What is known of a metric before it is computed. */
typedef struct comp_score_metric {
  const char *name;    /* as in the list of options, and in documents: "m_kbet" */
  const char *title;   /* as people write it: "m-kBET" */
  const char *brief;   /* the same for a narrow place; NULL: the title */
  const char *family;  /* "paper", "batch" and "bio" (after scib-metrics), "total", "other"; "counterfactual" */
  const char *summary; /* what it is, in one sentence */
  const char *help;    /* how to read it; NULL: the summary says it */
  comp_better better;
  double min, max; /* the values that it can have */
  bool needs_label;
} comp_score_metric;

/* All metrics of embeddings that this build has; NULL past the last. */
COMP_API size_t comp_score_known_count(void);
COMP_API const comp_score_metric *comp_score_known_at(size_t index);

/* The metric of that name, also one of predictions (comp/counterfactual_score.h). Letters and digits alone count:
 * "m-kBET" is m_kbet. NULL: there is none. */
COMP_API const comp_score_metric *comp_score_known_find(const char *name);

/* The title of a family of metrics, "Mixing of conditions"; NULL: there is none of that name. */
COMP_API const char *comp_score_family_title(const char *family);

/* A value of one label, one condition, or both. */
typedef struct comp_score_part {
  const char *label;     /* NULL: all labels */
  const char *condition; /* NULL: all conditions */
  size_t samples;
  size_t k;             /* neighbours that were looked at; 0: none */
  double value;         /* NaN when it was left out */
  const char *left_out; /* why; NULL when it was not */
} comp_score_part;

typedef struct comp_score comp_score;

COMP_API size_t comp_score_metric_count(const comp_score *score);
COMP_API size_t comp_score_embedding_count(const comp_score *score);
COMP_API const comp_score_metric *comp_score_metric_at(const comp_score *score, size_t metric);
COMP_API const char *comp_score_embedding_name(const comp_score *score, size_t embedding);

/* Dimensions of an embedding. */
COMP_API size_t comp_score_dims(const comp_score *score, size_t embedding);

/* The samples that have a condition. */
COMP_API size_t comp_score_sample_count(const comp_score *score);

/* NaN when it could not be computed: comp_score_note() says why (NULL otherwise). */
COMP_API double comp_score_value(const comp_score *score, size_t metric, size_t embedding);
COMP_API const char *comp_score_note(const comp_score *score, size_t metric, size_t embedding);

/* The 95 % interval of a value: what other samples of the same conditions and labels
 * would give, by this embedding. NaN for scores whose
 * uncertainty is not known (those of graphs and of variance, and totals). docs/metrics.md says how it is found. */
COMP_API void comp_score_interval(double *low, double *high, const comp_score *score, size_t metric, size_t embedding);

/* What perfect mixing has, of "kbet" and "m_kbet" (NaN for others): the mean score when the conditions are exchanged
 * between the samples at random (m_kbet: within each label), with the same neighbours. By chance alone some
 * neighbourhoods fail, about alpha of them, so this is not 0. */
COMP_API double comp_score_chance(const comp_score *score, size_t metric, size_t embedding);

/* The parts that a value is the mean of: labels, conditions. */
COMP_API size_t comp_score_part_count(const comp_score *score, size_t metric, size_t embedding);
COMP_API const comp_score_part *comp_score_part_at(const comp_score *score, size_t metric, size_t embedding,
                                                   size_t part);

#endif
