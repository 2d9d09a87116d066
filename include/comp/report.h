/*
 * report.h: one HTML page that shows what came out: a summary in words with its warnings, maps of the samples to
 * explore, training curves, tables of scores, predicted against real means of genes, and where it all came from.
 *
 * The page is one file with everything in it. It opens from disk, without a network and without a server. What it shows
 * is what the data set holds: maps (obsm), counterfactuals (layers counterfactual_VALUE), columns of obs, values of
 * genes; and what it is given besides: a model (its training), files of scores (comp score --json), and of findings
 * (comp diagnose). What is missing is left out, and the page says what would show it.
 *
 *     comp_report_options options = COMP_REPORT_OPTIONS_INIT;
 *     options.condition = "stim";
 *     options.label = "cell_type";
 *     if (comp_report_write(context, dataset, "report.html", &options) != COMP_OK) puts(comp_error_message());
 */
#ifndef COMP_REPORT_H
#define COMP_REPORT_H

#include <stddef.h>

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/train.h"

typedef struct comp_report_options {
  const char *title;         /* NULL: made from the file and the condition */
  const char *source;        /* where the data came from, to be named on the page; NULL: not named */
  const char *condition;     /* obs column; NULL: the model's, if there is a model and the data has it */
  const char *label;         /* obs column; NULL: none */
  const char *before;        /* map (obsm) of the data as it was; NULL: AFTER_before, else X_pca, where there is one */
  const char *after;         /* map of the representation; NULL: X_umap, else another one that is there */
  const comp_model *model;   /* NULL: none */
  const char *const *scores; /* files of scores (docs/formats.md) */
  size_t n_scores;
  const char *diagnose;  /* file of findings; NULL: none */
  const char *created;   /* when, to be named on the page; NULL: not named */
  size_t max_samples;    /* more samples are thinned out at random for the map; all others figures are of all samples */
  size_t max_gene_bytes; /* genes to colour by are packed until they take this much: the most differing ones first */
  size_t n_de;           /* genes to mark in each label */
} comp_report_options;

#define COMP_REPORT_OPTIONS_INIT                                                                                       \
  { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 100000, (size_t)12 << 20, 50 }

COMP_API comp_status comp_report_options_check(const comp_report_options *options);

/* Writes the page, whole or not at all. */
COMP_API comp_status comp_report_write(comp_context *context, const comp_dataset *dataset, const char *path,
                                       const comp_report_options *options);

#endif
