/* mapping.h: what comp map says of new samples, for the page's section on them. */
#ifndef COMP_REPORT_MAPPING_H
#define COMP_REPORT_MAPPING_H

#include "report/gather.h"

/* The column of a file in which comp map put reference and query together: "reference", "query", and "query, not in the
 * reference". */
#define COMP__ROLE "comp_role"

/* Samples by true and by predicted label, of the query; null where the data is no such file (docs/formats.md). */
comp_status comp__gather_mapping(json_t **out, const comp__subject *subject);

#endif
