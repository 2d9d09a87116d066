/*
 * figure.h: figures for print, as files: .svg, .pdf or .png by the name's ending.
 *
 * Sizes are those of a page of a journal: a column of 85 mm or a page of 180 mm wide, as high as the content needs,
 * text of 7 points. Red-blind and green-blind readers can distinguish the colours: those of Okabe and Ito for up to 8
 * categories, and beyond chosen to be as far apart as can be; from 13 categories on, each has a number, in the legend
 * and in the picture. Clouds of many points are drawn as an image inside of a vector file, so that it stays small.
 *
 *     const char *maps[] = {"X_umap_before", "X_umap"}, *columns[] = {"stim", "cell_type"};
 *     comp_figure_scatter(context, dataset, "umap.svg", maps, 2, columns, 2, NULL);
 *
 * Options are of the kind "figure". A figure is written whole or not at all.
 */
#ifndef COMP_FIGURE_H
#define COMP_FIGURE_H

#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"
#include "comp/train.h"

/* Whether a figure can be written there: a known ending, and a folder that can be written to. */
COMP_API comp_status comp_figure_check(const char *path);

/* Scatter plots: one row of panels for each obs column (categories or numbers), one panel in it for each embedding (an
 * obsm matrix; its first two columns are taken). With "NAME_before" and "NAME" the panels are titled before and after.
 */
COMP_API comp_status comp_figure_scatter(comp_context *context, const comp_dataset *dataset, const char *path,
                                         const char *const *embeddings, size_t n_embeddings, const char *const *columns,
                                         size_t n_columns, const comp_options *options);

/* The losses of each epoch, from the model's history: training and validation. */
COMP_API comp_status comp_figure_history(const comp_model *model, const char *path, const comp_options *options);

/* Each gene's mean over the real samples of the target condition against its mean over the counterfactuals: one panel a
 * label, with Pearson's r over all genes and over the differing ones, which are marked (Wilcoxon). Labels that are not
 * in both conditions are left out. The options "condition" (which must be set), "label", "from" and "to" say which
 * change of condition this and the next figure are about. */
COMP_API comp_status comp_figure_counterfactual(comp_context *context, const comp_dataset *dataset, const char *path,
                                                const comp_options *options);

/* For the top DE genes of each label: predicted minus real mean, and beside it the error of predicting
 * no change at all. */
COMP_API comp_status comp_figure_strip(comp_context *context, const comp_dataset *dataset, const char *path,
                                       const comp_options *options);

/* The trade-off of a frontier, the document of comp_audit_frontier() (comp/audit.h) as text: how well the attribute is
 * found against how well the target is predicted, one point a gamma, with the bounds where there are any. */
COMP_API comp_status comp_figure_frontier(const char *json, const char *path, const comp_options *options);

/* Bars of each metric in files of scores (docs/formats.md), one bar for each method: what a score names as its method,
 * else its embedding, else its file. */
COMP_API comp_status comp_figure_metrics(const char *const *score_files, size_t n_files, const char *path,
                                         const comp_options *options);

#endif
