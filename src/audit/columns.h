/* columns.h: columns of a text table that an audit names, but that were read as features. */
#ifndef COMP_AUDIT_COLUMNS_H
#define COMP_AUDIT_COLUMNS_H

#include "audit/options.h"

/* A reader of text takes columns of numbers for features, also 0 and 1 for yes and no. Where an option names a feature
 * that is no column of obs, and its values are a few whole numbers, *out is a copy of the data in which it is a column
 * of obs and no feature; else NULL. It should be freed via comp_dataset_free(). */
comp_status comp__audit_columns(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                const comp__audit_options *options);

#endif
