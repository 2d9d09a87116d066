/* mex.h: the three parts of a MEX folder, wherever they come from. */
#ifndef COMP_IO_MEX_H
#define COMP_IO_MEX_H

#include "comp/dataset.h"
#include "io/text.h"

typedef struct comp__mex_sources {
  comp__source *matrix;   /* features x barcodes */
  comp__source *barcodes; /* one a line */
  comp__source *features; /* identifier [tab symbol [tab type]] */
} comp__mex_sources;

/* Reads them to a data set. It should be freed via comp_dataset_free(). */
comp_status comp__mex_read(comp_dataset **out, comp_context *context, const comp__mex_sources *sources, bool skip_x);

#endif
