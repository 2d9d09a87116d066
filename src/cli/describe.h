/* describe.h: what is in a data set, for a person and for a script. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include <stdio.h>

#include "comp/comp.h"
#include "comp/prep.h"

/* What is said besides the data set itself. */
typedef struct describe_subject {
  const char *path;
  const char *format;
  const comp_dataset *dataset;
  comp_data_look look; /* of X */
} describe_subject;

/* Text of lines of at most `width` columns; lists of levels are cut after a few. */
comp_status describe_text(FILE *out, const describe_subject *subject, int width);

/* One JSON object, with all levels of categorical columns. */
comp_status describe_json(FILE *out, const describe_subject *subject);

#endif
