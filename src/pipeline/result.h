/* result.h: what a run gives back. */
#ifndef COMP_PIPELINE_RESULT_H
#define COMP_PIPELINE_RESULT_H

#include <jansson.h>

#include "comp/pipeline.h"

/* Reads a folder that a run has filled, and judges it. It should be freed via comp_run_result_free(). */
comp_status comp__run_result_new(comp_run_result **out, const char *folder, json_t *record);

#endif
