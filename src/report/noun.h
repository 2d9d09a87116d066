/* noun.h: what the features of a data set are called: genes, unless its record says that it was a table of numbers and
 * names (a step `tabular`). */
#ifndef COMP_REPORT_NOUN_H
#define COMP_REPORT_NOUN_H

#include "comp/dataset.h"

/* "gene" or "feature"; the plural takes an s. */
const char *comp__noun(const comp_dataset *dataset);

/* The text with the words "gene" and "genes" put as the noun has them, in any case. It should be freed via
 * comp__free().
 */
comp_status comp__noun_put(char **out, const char *text, const char *noun);

#endif
