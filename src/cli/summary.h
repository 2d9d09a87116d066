/* summary.h: what `comp run` found: a table of scores for people, the findings, and where the page is. */
#ifndef CLI_SUMMARY_H
#define CLI_SUMMARY_H

#include "comp/pipeline.h"

/* Prints it on stdout. `options` are those of the run. */
void cli_summary_print(const comp_run_result *result, const comp_options *options);

#endif
