/*
 * score.h: what metrics are made of: the table, views of the data, and where values go.
 *
 * A metric is a row of table.c with a function that fills one comp__score_cell from a comp__scoring. Neighbour searches
 * are shared: they are made when the first metric asks, and kept while one embedding is scored.
 */
#ifndef COMP_METRICS_SCORE_H
#define COMP_METRICS_SCORE_H

#include "metrics/interval.h"
#include "metrics/neighborhood.h"
#include "metrics/options.h"

/* Samples of an embedding, with what is known of them. */
typedef struct comp__view {
  size_t n, dims;
  const comp_matrix *matrix; /* dense [n, dims] */
  comp_matrix *owned;        /* the same when this view made it, else NULL */
  int32_t *condition;        /* [n], never missing */
  int32_t *label;            /* [n], -1: missing; NULL without labels */
  size_t *rows;              /* [n]: rows of the data set */
  size_t *condition_counts;  /* [conditions] */
  size_t present;            /* conditions with at least one sample */
  comp_neighbors *neighbors; /* NULL until asked for */
  size_t *by_label;          /* [samples with a label]: samples, label by label; NULL until asked for */
  size_t *label_starts;      /* [labels + 1]: where each label begins in by_label */
} comp__view;

/* A value and the parts that it is made of. */
typedef struct comp__score_cell {
  double value;
  comp__interval interval; /* 95 %; NaN: not known */
  double chance;           /* what perfect mixing has; NaN: not known */
  char *note;
  comp_score_part *parts; /* names are those of the groups in comp_score; left_out is a literal */
  size_t n_parts, capacity;
} comp__score_cell;

/* One embedding being scored. */
typedef struct comp__scoring {
  comp_context *context;
  const comp__score_options *options;
  const char *embedding;
  size_t n_conditions, n_labels;
  char *const *condition_names;
  char *const *label_names;
  comp__view all;               /* samples with a condition */
  comp__view some;              /* those that have a label too; not made when all have one */
  comp__view *labelled;         /* one of the two; NULL without labels */
  comp__view *by_label;         /* [n_labels], made when first asked for: n is 0 before */
  bool has_by_label;            /* whether they are there */
  size_t wanted_k[2];           /* largest number of neighbours that chosen metrics need: of all, of labelled */
  const comp_matrix *points;    /* the embedding, dense, all samples of the data set */
  const comp_matrix *before;    /* what pcr compares with, all samples of the data set; NULL when it is not wanted */
  double *label_widths;         /* [labelled->n]: silhouettes of labels; see asw.c */
  bool has_label_widths;        /* whether they are there */
  int32_t *clusters;            /* [labelled->n]: k-means */
  int32_t *leiden;              /* [labelled->n]: Leiden at the best resolution */
  const comp__score_cell *done; /* [chosen]: what was computed before, for totals */
  const size_t *chosen;         /* [n_chosen] rows of the table */
  size_t n_chosen;
} comp__scoring;

enum { COMP__K_NONE = 0, COMP__K_OPTION = 1, COMP__LISI_NEIGHBORS = 90, COMP__GRAPH_NEIGHBORS = 15 };

/* A row of the table: all that is known of a metric. */
typedef struct comp__metric {
  comp_score_metric info;
  size_t k;             /* of the neighbours that it takes from the whole view: COMP__K_OPTION: options.k */
  bool in_total;        /* whether it is part of its family's total */
  bool before;          /* whether it compares with the data as it was (options.before) */
  const char *total_of; /* the families that it is a mean over, with spaces between; NULL: it is no total */
  comp_status (*run)(comp__score_cell *out, comp__scoring *scoring);
} comp__metric;

/* The table, and its length. */
size_t comp__metrics_count(void);
const comp__metric *comp__metric_at(size_t index);

typedef struct comp__metric_family {
  const char *name, *title;
  bool scib; /* whether it is one of scib-metrics */
} comp__metric_family;

/* The families; NULL past the last. */
const comp__metric_family *comp__metric_family_at(size_t index);

/* The family of that name; NULL: there is none. */
const comp__metric_family *comp__metric_family_find(const char *name);

/* The neighbours of a view, at least `k` of them (fewer only when there are not as many samples). Owned by the view. */
comp_status comp__view_neighbors(const comp_neighbors **out, comp__scoring *scoring, comp__view *view, size_t k);

/* The samples of one label, each label made once. Fails when somebody asked to stop: there may be thousands. */
comp_status comp__scoring_label(comp__view **out, comp__scoring *scoring, size_t label);

/* The samples of a view that have this label, in their order; owned by the view. */
comp_status comp__view_members(const size_t **out, size_t *n, comp__view *view, size_t labels, size_t label);

/* The neighbourhoods of a view with its first k neighbours. */
comp_status comp__view_neighborhoods(comp__neighborhoods *out, comp__scoring *scoring, comp__view *view, size_t k);

/* Adds a part; `label` and `condition` are numbers, COMP_NOT_FOUND: all. */
comp_status comp__cell_add(comp__score_cell *cell, const comp__scoring *scoring, size_t label, size_t condition,
                           size_t samples, size_t k, double value, const char *left_out);

/* The mean of the parts that were not left out and have a label but no condition; NaN and a note when there are none.
 */
comp_status comp__cell_mean_labels(comp__score_cell *cell);

/* Sets the note; the value becomes NaN. */
comp_status comp__cell_fail(comp__score_cell *cell, const char *format, ...) COMP_PRINTF(2, 3);

/* The metrics, one family a file. */
comp_status comp__metric_kbet(comp__score_cell *out, comp__scoring *s);               /* mixing.c */
comp_status comp__metric_m_kbet(comp__score_cell *out, comp__scoring *s);             /* mixing.c */
comp_status comp__metric_kbet_label(comp__score_cell *out, comp__scoring *s);         /* mixing.c */
comp_status comp__metric_s(comp__score_cell *out, comp__scoring *s);                  /* mixing.c */
comp_status comp__metric_s_label(comp__score_cell *out, comp__scoring *s);            /* mixing.c */
comp_status comp__metric_asw_label(comp__score_cell *out, comp__scoring *s);          /* asw.c */
comp_status comp__metric_asw_batch(comp__score_cell *out, comp__scoring *s);          /* asw.c */
comp_status comp__metric_isolated(comp__score_cell *out, comp__scoring *s);           /* asw.c */
comp_status comp__metric_ilisi(comp__score_cell *out, comp__scoring *s);              /* lisi.c */
comp_status comp__metric_clisi(comp__score_cell *out, comp__scoring *s);              /* lisi.c */
comp_status comp__metric_label_knn(comp__score_cell *out, comp__scoring *s);          /* purity.c */
comp_status comp__metric_graph_connectivity(comp__score_cell *out, comp__scoring *s); /* graph.c */
comp_status comp__metric_pcr(comp__score_cell *out, comp__scoring *s);                /* pcr.c */
comp_status comp__metric_mmd(comp__score_cell *out, comp__scoring *s);                /* mmd.c */
comp_status comp__metric_nmi_kmeans(comp__score_cell *out, comp__scoring *s);         /* partition.c */
comp_status comp__metric_ari_kmeans(comp__score_cell *out, comp__scoring *s);         /* partition.c */
comp_status comp__metric_nmi_leiden(comp__score_cell *out, comp__scoring *s);         /* partition.c */
comp_status comp__metric_ari_leiden(comp__score_cell *out, comp__scoring *s);         /* partition.c */
comp_status comp__metric_total_batch(comp__score_cell *out, comp__scoring *s);        /* total.c */
comp_status comp__metric_total_bio(comp__score_cell *out, comp__scoring *s);          /* total.c */
comp_status comp__metric_total(comp__score_cell *out, comp__scoring *s);              /* total.c */

#endif
