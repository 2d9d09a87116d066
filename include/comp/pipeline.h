/*
 * pipeline.h: a whole run, as `comp run` does it: from data to a folder with everything in it.
 *
 *     comp_options *options;
 *     comp_run_result *result;
 *     comp_options_new(&options, "run");
 *     comp_options_set(options, "input", "cells.h5ad");
 *     comp_options_set(options, "condition", "batch");
 *     comp_options_set(options, "label", "cell_type");
 *     comp_options_set(options, "output", "out");
 *     comp_status status = comp_run(&result, context, options);
 *
 * The run looks at the data, decides how to prepare it, prepares, trains, embeds, draws maps, predicts each sample
 * under each condition, scores it all and writes the folder: data.h5ad, model.safetensors, scores.json, diagnose.json,
 * figures, report.html and run.json, the record of every step (docs/formats.md). What it does and why it tells through
 * the messages of the context, each step as the command that does the same alone.
 *
 * Steps whose results are in the folder already are not done again. A run that fails or is interrupted leaves earlier
 * results as they were; the same call goes on where it stopped.
 */
#ifndef COMP_PIPELINE_H
#define COMP_PIPELINE_H

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"
#include "comp/verdict.h"

typedef struct comp_run_result comp_run_result;

/* Runs everything on the file that the options (kind "run") name as `input`. The result should be freed via
 * comp_run_result_free(). */
COMP_API comp_status comp_run(comp_run_result **out, comp_context *context, const comp_options *options);

/* The same for data in memory, which is copied. `input` is then only what messages, the record and the page call the
 * data. Options about reading a file have no effect. Whether the folder holds results of the same data is decided by
 * what the data set holds. */
COMP_API comp_status comp_run_dataset(comp_run_result **out, comp_context *context, const comp_dataset *dataset,
                                      const comp_options *options);

/* NULL is allowed. */
COMP_API void comp_run_result_free(comp_run_result *result);

/* Texts are owned by the result. */
COMP_API const char *comp_run_result_folder(const comp_run_result *result);
COMP_API const char *comp_run_result_page(const comp_run_result *result);   /* the path of report.html */
COMP_API const char *comp_run_result_record(const comp_run_result *result); /* run.json, as text */
COMP_API const char *comp_run_result_scores(const comp_run_result *result); /* scores.json, as text */

/* What the numbers mean: the findings that the page shows. Owned by the result. */
COMP_API const comp_verdict *comp_run_result_verdict(const comp_run_result *result);

#endif
