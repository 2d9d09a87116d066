/* counterparts.h: which samples of a query have counterparts in the reference, and the other way round. */
#ifndef COMP_MAP_COUNTERPARTS_H
#define COMP_MAP_COUNTERPARTS_H

#include "map/sampled.h"

/* The log of the share that a sample's population has on its own side, reference or query, over the share on the other
 * side (neighbors/overlap.h): out[reference->n + query->n], in that order.
 *
 * In the data: where all conditions, the query among them, are laid on each other (train/counterparts.h). */
comp_status comp__counterparts_in_data(float *out, comp_context *context, const comp__sampled *reference,
                                       const comp__sampled *query);

/* In z [n_reference + n_query, dims]. */
comp_status comp__counterparts_in_z(float *out, comp_context *context, const float *z, size_t n_reference,
                                    size_t n_query, size_t dims);

/* What a ratio means: the weight of a sample in the penalty, and in means over samples that should have the same
 * composition on both sides. Both are 1 up to a ratio that is within the noise. */
float comp__counterpart_weight(float ratio);
float comp__counterpart_share(float ratio);

#endif
