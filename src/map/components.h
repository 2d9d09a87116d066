/* components.h: reference and query in principal components of the data. */
#ifndef COMP_MAP_COMPONENTS_H
#define COMP_MAP_COMPONENTS_H

#include "task/aligned.h"

/* Both sides [samples, components]: what the encoder reads, less the mean of the sample's condition, along the
 * principal components of samples of both. Features that the query lacks are left out. Where one side has too few
 * samples, both are NULL. They should be freed via comp_matrix_free(). */
comp_status comp__components(comp_matrix **reference, comp_matrix **query, comp_context *context,
                             const comp__aligned *reference_data, const comp__aligned *query_data);

#endif
