/*
 * field.h: the moves in z of a new condition (model/moves.h), found after its vectors (fit.h).
 *
 * Around each k-means centre of the reference, a query differs from the reference by its mean, and by how far samples
 * lie from the mean: less far than those that the network was trained on. Both are made equal, in two rounds, with
 * samples weighted as in the penalty (counterparts.h): a population that the reference lacks decides nothing.
 */
#ifndef COMP_MAP_FIELD_H
#define COMP_MAP_FIELD_H

#include "model/trained.h"

/* Posterior means of both sides [n, latent], and the ratios of counterparts.h [n_reference + n_query]. */
typedef struct comp__meeting {
  const float *reference, *query, *ratio;
  size_t n_reference, n_query;
} comp__meeting;

/* Adds the moves of a level to the model. */
comp_status comp__field_find(comp_context *context, comp_model *model, size_t level, const comp__meeting *meeting,
                             uint64_t seed);

#endif
