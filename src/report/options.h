/*
 * options.h: how figures and the page look, and what they are about: the kinds "figure" and "report".
 */
#ifndef COMP_REPORT_OPTIONS_H
#define COMP_REPORT_OPTIONS_H

#include "comp/figure.h"
#include "comp/report.h"
#include "core/options.h"

typedef struct comp__figure_options {
  const char *condition; /* obs column */
  const char *label;     /* obs column: a panel each; NULL: all samples together */
  const char *from;      /* the samples that were changed; NULL: those of the first other condition */
  const char *to;        /* what they were changed to: layers/counterfactual_TO; NULL: the last with such a layer */
  size_t n_de;           /* top DE genes (Wilcoxon) to mark in each label */
  double width;          /* millimetres; 0: 85 or 180, by the content */
  double font;           /* size of the text in points */
  double dpi;            /* dots an inch, of .png files and of images inside of the others */
  const char *title;     /* above all of it; NULL: none */
} comp__figure_options;

typedef struct comp__report_options {
  const char *title;         /* NULL: made from the file and the condition */
  const char *source;        /* where the data came from, to be named on the page; NULL: not named */
  const char *condition;     /* obs column; NULL: the model's, if there is a model and the data has it */
  const char *label;         /* obs column; NULL: none */
  const char *before;        /* map (obsm) of the data as it was; NULL: AFTER_before, else X_pca, where there is one */
  const char *after;         /* map of the embedding; NULL: X_umap, else another one that is there */
  const char *const *scores; /* files of scores (docs/formats.md) */
  size_t n_scores;
  const char *diagnose;  /* file of findings; NULL: none */
  const char *command;   /* the command line that made all of it, to be named on the page; NULL: not named */
  const char *created;   /* when, to be named on the page; NULL: not named */
  size_t max_samples;    /* more samples are thinned out at random for the map; all other numbers are of all samples */
  size_t max_gene_bytes; /* genes to colour by are packed until they take this much: the top DE genes first */
  size_t n_de;           /* genes to mark in each label */
} comp__report_options;

extern const comp__options_kind comp__figure_kind, comp__report_kind;

comp__figure_options comp__figure_defaults(void);
comp__report_options comp__report_defaults(void);

/* As the public functions (comp/figure.h, comp/report.h), whose names have one '_'. */
comp_status comp__figure_scatter(comp_context *context, const comp_dataset *dataset, const char *path,
                                 const char *const *embeddings, size_t n_embeddings, const char *const *columns,
                                 size_t n_columns, const comp__figure_options *options);
comp_status comp__figure_frontier(const char *json, const char *path, const comp__figure_options *options);
comp_status comp__figure_history(const comp_model *model, const char *path, const comp__figure_options *options);
comp_status comp__figure_counterfactual(comp_context *context, const comp_dataset *dataset, const char *path,
                                        const comp__figure_options *options);
comp_status comp__figure_strip(comp_context *context, const comp_dataset *dataset, const char *path,
                               const comp__figure_options *options);
comp_status comp__figure_metrics(const char *const *score_files, size_t n_files, const char *path,
                                 const comp__figure_options *options);
comp_status comp__report_write(comp_context *context, const comp_dataset *dataset, const comp_model *model,
                               const char *path, const comp__report_options *options);

#endif
