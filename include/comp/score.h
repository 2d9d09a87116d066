/*
 * score.h: how well an embedding mixes conditions and keeps labels apart.
 *
 *     comp_score_options options = COMP_SCORE_OPTIONS_INIT;
 *     options.condition = "stim";
 *     options.label = "cell_type";
 *     comp_score *score;
 *     if (comp_score_run(&score, context, dataset, &options) != COMP_OK) puts(comp_error_message());
 *     for (size_t m = 0; m < comp_score_metrics(score); m++)
 *       printf("%s %g\n", comp_score_metric_at(score, m)->name, comp_score_value(score, m, 0));
 *     comp_score_free(score);
 *
 * A result is a table: one row a metric, one column an embedding, and to each value the parts that it is the mean of:
 * labels, conditions. docs/metrics.md has the formulas. Samples without a condition take no part; samples without a
 * label take no part in metrics that need one. The same data and options give the same bytes at any number of threads.
 */
#ifndef COMP_SCORE_H
#define COMP_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/neighbors.h"

typedef enum comp_better { COMP_BETTER_LOWER, COMP_BETTER_HIGHER, COMP_BETTER_ZERO } comp_better;

/* What is known of a metric before it is computed. */
typedef struct comp_score_metric {
  const char *name;    /* as in the list of options: "kbet" */
  const char *family;  /* "paper", "batch" and "bio" (after scib-metrics), "total", "other" */
  const char *summary; /* one sentence */
  comp_better better;
  double min, max; /* the values that it can have */
  bool needs_label;
} comp_score_metric;

/* All metrics that this build has. */
COMP_API size_t comp_score_known(void);
COMP_API const comp_score_metric *comp_score_known_at(size_t index);

/* Where m_kbet and s_label look for neighbours. */
typedef enum comp_score_scope {
  COMP_SCOPE_LABEL, /* within the label */
  COMP_SCOPE_GLOBAL /* among all samples; those of other labels then do not count */
} comp_score_scope;

/* Which labels are large enough for m_kbet and s_label. */
typedef enum comp_score_small {
  COMP_SMALL_LEAVE_OUT, /* those with at least 4 k samples */
  COMP_SMALL_SHRINK     /* those with at least min_label samples, with k = min(k, samples / 4) */
} comp_score_small;

typedef struct comp_score_options {
  const char
      *embeddings;       /* names in obsm, separated by commas; "X": the data itself. NULL: X_comp if there, else all */
  const char *condition; /* a column of obs */
  const char *label;     /* a column of obs; NULL: only metrics that need none */
  const char *metrics;   /* names and families, separated by commas; also "scib" (batch, bio and total) and "all" */
  size_t k;              /* neighbours, of the metrics of family "paper" */
  double alpha;          /* a neighbourhood fails when its p is below this */
  comp_score_scope scope;
  comp_score_small small_labels;
  size_t min_label;   /* with COMP_SMALL_SHRINK */
  const char *before; /* what pcr compares with: a name in obsm, or "X" */
  comp_search search; /* how neighbours are found */
  uint64_t seed;      /* of the starting points of clustering */
} comp_score_options;

#define COMP_SCORE_OPTIONS_INIT                                                                                        \
  { NULL, NULL, NULL, "paper", 100, 0.1, COMP_SCOPE_LABEL, COMP_SMALL_LEAVE_OUT, 150, "X", COMP_SEARCH_AUTO, 0 }

/* Checks all that can be checked without data. The message names the field. */
COMP_API comp_status comp_score_options_check(const comp_score_options *options);

/* Whether X of the data set is needed: as an embedding, or to compare with. The options must be good ones. */
COMP_API bool comp_score_needs_x(const comp_score_options *options);

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

/* Computes the metrics of every embedding. X of the data set may be NULL unless it is asked for. A metric that needs a
 * label is left out when no label was given, unless it was asked for by name, which is an error. A warning names the
 * labels that were left out. It should be freed via comp_score_free(). */
COMP_API comp_status comp_score_run(comp_score **out, comp_context *context, const comp_dataset *dataset,
                                    const comp_score_options *options);

/* NULL is allowed. */
COMP_API void comp_score_free(comp_score *score);

COMP_API size_t comp_score_metrics(const comp_score *score);
COMP_API size_t comp_score_embeddings(const comp_score *score);
COMP_API const comp_score_metric *comp_score_metric_at(const comp_score *score, size_t metric);
COMP_API const char *comp_score_embedding(const comp_score *score, size_t embedding);

/* Dimensions of an embedding. */
COMP_API size_t comp_score_dims(const comp_score *score, size_t embedding);

/* The samples that have a condition. */
COMP_API size_t comp_score_samples(const comp_score *score);

/* NaN when it could not be computed: comp_score_note() says why (NULL otherwise). */
COMP_API double comp_score_value(const comp_score *score, size_t metric, size_t embedding);
COMP_API const char *comp_score_note(const comp_score *score, size_t metric, size_t embedding);

COMP_API size_t comp_score_parts(const comp_score *score, size_t metric, size_t embedding);
COMP_API const comp_score_part *comp_score_part_at(const comp_score *score, size_t metric, size_t embedding,
                                                   size_t part);

#endif
