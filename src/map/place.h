/* place.h: the rows of a new condition: without training, or fitted. */
#ifndef COMP_MAP_PLACE_H
#define COMP_MAP_PLACE_H

#include "map/fit.h"
#include "map/options.h"
#include "map/sampled.h"

typedef struct comp__place {
  comp_model *model; /* with the new levels: what belongs to `level` is written */
  size_t known;      /* levels of the reference are 0 .. known - 1 */
  const comp__sampled *reference;
  const comp__posteriors *posteriors; /* of its samples */
} comp__place;

/* Finds what belongs to a level, of which `query` are samples. ratio [reference->n + query->n] gets the ratios of
 * counterparts.h, as they are at the end. Of few samples the method is COMP_MAP_NEAREST, with a warning; *used is the
 * method. */
comp_status comp__place_level(comp_map_method *used, float *ratio, comp_context *context, const comp__place *place,
                              size_t level, const comp__sampled *query, const comp__map_options *options);

#endif
