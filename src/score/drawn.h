/* drawn.h: a sample of the samples, for scores whose time grows faster than the data. */
#ifndef COMP_SCORE_DRAWN_H
#define COMP_SCORE_DRAWN_H

#include "score/options.h"

/* Where the data has more samples than `max_samples`, *out gets as many of them, drawn by the seed, with what scores of
 * embeddings need: tables, obsm, and X if it is one of these. It should be freed via comp_dataset_free(). NULL: all
 * samples count. */
comp_status comp__scores_draw(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                              const comp__scores_options *options);

#endif
