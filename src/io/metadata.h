/* metadata.h: joining a loaded table of samples to the obs of a data set (comp_dataset_join_metadata() without a file).
 */
#ifndef COMP_IO_METADATA_H
#define COMP_IO_METADATA_H

#include "comp/dataset.h"
#include "io/text.h"

comp_status comp__metadata_join(comp_dataset *dataset, comp_context *context, const comp__text *text);

#endif
