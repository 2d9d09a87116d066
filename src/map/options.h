/* options.h: how new samples are mapped (kind "map"). */
#ifndef COMP_MAP_OPTIONS_H
#define COMP_MAP_OPTIONS_H

#include "comp/map.h"
#include "core/options.h"

typedef enum comp_map_method {
  COMP_MAP_FIT,    /* the new condition's rows are fitted (fit.h), from those of COMP_MAP_SHIFT */
  COMP_MAP_SHIFT,  /* without training: the means of both sides, weighted to the same composition, are made equal */
  COMP_MAP_NEAREST /* without training: the rows of the known condition under which the query is most likely */
} comp_map_method;

typedef struct comp__map_options {
  const char *label; /* obs column of the reference that is transferred; NULL: none */
  const char *as;    /* name of the query's condition; NULL: as its column says */
  comp_map_method method;
  size_t neighbors;
  double unknown; /* samples with a larger novelty are called unknown */
  size_t steps;
  const char *together; /* reference and query are written to this file, too; NULL: they are not */
  uint64_t seed;
} comp__map_options;

extern const comp__options_kind comp__map_kind;

/* As the public function, with plain options. */
comp_status comp__map(comp_mapping *out, comp_context *context, const comp_model *model, const comp_dataset *reference,
                      const comp_dataset *query, const comp__map_options *options);

#endif
