/*
 * figure.h: figures for print, as files: .svg, .pdf or .png by the name's ending.
 *
 * Sizes are those of a page of a journal: a column of 85 mm or a page of 180 mm wide, as high as the content needs,
 * text of 7 points. Colours can be told apart by red-blind and green-blind eyes too: those of Okabe and Ito for up to 8
 * categories, and beyond chosen to be as far apart as can be; from 13 categories on, each has a number, in the legend
 * and in the picture. Clouds of many points are drawn as an image inside of a vector file, so that it stays small.
 *
 *     comp_figure_options options = COMP_FIGURE_OPTIONS_INIT;
 *     const char *maps[] = {"X_umap_before", "X_umap"}, *columns[] = {"stim", "cell_type"};
 *     comp_figure_scatter(context, dataset, "umap.svg", maps, 2, columns, 2, &options);
 *
 * A figure is written whole or not at all.
 */
#ifndef COMP_FIGURE_H
#define COMP_FIGURE_H

#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/train.h"

typedef struct comp_figure_options {
  double width;      /* millimetres; 0: 85 or 180, by the content */
  double font;       /* size of the text in points */
  double dpi;        /* dots an inch, of .png files and of images inside of the others */
  const char *title; /* above all of it; NULL: none */
} comp_figure_options;

#define COMP_FIGURE_OPTIONS_INIT                                                                                       \
  { 0.0, 7.0, 300.0, NULL }

COMP_API comp_status comp_figure_options_check(const comp_figure_options *options);

/* Whether a figure can be written there: a known ending, and a folder that can be written to. */
COMP_API comp_status comp_figure_check(const char *path);

/* Scatter plots: one row of panels for each obs column (categories or numbers), one panel in it for each embedding (an
 * obsm matrix; its first two columns are taken). With "NAME_before" and "NAME" the panels are titled before and after.
 */
COMP_API comp_status comp_figure_scatter(comp_context *context, const comp_dataset *dataset, const char *path,
                                         const char *const *embeddings, size_t n_embeddings, const char *const *columns,
                                         size_t n_columns, const comp_figure_options *options);

/* The losses of each epoch, from the model's history: training and validation. */
COMP_API comp_status comp_figure_history(const comp_model *model, const char *path, const comp_figure_options *options);

/* Which change of condition the next two figures are about. */
typedef struct comp_figure_effect {
  const char *condition; /* obs column */
  const char *label;     /* obs column: a panel each; NULL: all samples together */
  const char *source;    /* the samples that were changed; NULL: those of the first other condition */
  const char *target;    /* what they were changed to: layers/counterfactual_TARGET; NULL: the last with such a layer */
  size_t n_de;           /* genes to mark in each label: those that differ most in the data (Wilcoxon) */
} comp_figure_effect;

#define COMP_FIGURE_EFFECT_INIT                                                                                        \
  { NULL, NULL, NULL, NULL, 50 }

/* Each gene's mean over the real samples of the target condition against its mean over the counterfactuals: one panel a
 * label, with Pearson's r over all genes and over the differing ones, which are marked. Labels that are not in both
 * conditions are left out. */
COMP_API comp_status comp_figure_counterfactual(comp_context *context, const comp_dataset *dataset, const char *path,
                                                const comp_figure_effect *effect, const comp_figure_options *options);

/* For the genes that differ most in each label: predicted minus real mean, and beside it what is missed by predicting
 * no change at all. */
COMP_API comp_status comp_figure_strip(comp_context *context, const comp_dataset *dataset, const char *path,
                                       const comp_figure_effect *effect, const comp_figure_options *options);

/* Bars of each metric in files of scores (docs/formats.md), one bar for each method: what a score names as its method,
 * else its embedding, else its file. */
COMP_API comp_status comp_figure_metrics(const char *const *score_files, size_t n_files, const char *path,
                                         const comp_figure_options *options);

#endif
