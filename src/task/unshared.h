/* unshared.h: which samples of a data set have counterparts in other conditions, by an embedding. */
#ifndef COMP_TASK_UNSHARED_H
#define COMP_TASK_UNSHARED_H

#include "comp/context.h"
#include "comp/matrix.h"
#include "comp/table.h"

/* Fills codes[rows]: 1 where a sample's population is unshared (neighbors/overlap.h), else 0; -1 where its condition is
 * missing. */
comp_status comp__unshared_codes(int32_t *codes, comp_context *context, const comp_matrix *z,
                                 const comp_groups *conditions);

#endif
