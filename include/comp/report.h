/*
 * report.h: one HTML page that shows the results: findings with advice, the design (samples by label and condition),
 * linked maps before and after, scores, genes by label and condition, predicted against real changes, training curves,
 * and how it was made.
 *
 * The page is one file with everything in it. It opens from disk, without a network and without a server. What it shows
 * is what the data set holds: maps (obsm), counterfactuals (layers counterfactual_VALUE), columns of obs, values of
 * genes. It also shows what it is given: a model (its training), files of scores (comp score --json), and of findings
 * (comp diagnose). What is missing is left out, and the page says what would show it.
 *
 *     comp_options *options;
 *     comp_options_new(&options, "report");
 *     comp_options_set(options, "condition", "stim");
 *     comp_options_set(options, "label", "cell_type");
 *     if (comp_report_write(context, dataset, model, "report.html", options) != COMP_OK) puts(comp_error_message());
 */
#ifndef COMP_REPORT_H
#define COMP_REPORT_H

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"
#include "comp/train.h"

/* Writes the page, whole or not at all. `model` may be NULL: then its training is not shown. Options are of the kind
 * "report". */
COMP_API comp_status comp_report_write(comp_context *context, const comp_dataset *dataset, const comp_model *model,
                                       const char *path, const comp_options *options);

#endif
