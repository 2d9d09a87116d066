/* survey.h: what a model must know of its data before it is trained. */
#ifndef COMP_TRAIN_SURVEY_H
#define COMP_TRAIN_SURVEY_H

#include "model/trained.h"
#include "train/stream.h"

/* One pass over the data, in memory (x) or streamed: are the values good, what are the features' means and, of counts,
 * the median total? *digest tells a checkpoint of other data. */
comp_status comp__survey(comp_model *model, uint64_t *digest, comp_context *context, const comp_matrix *x,
                         comp__stream *stream, size_t samples, const comp_groups *groups);

#endif
