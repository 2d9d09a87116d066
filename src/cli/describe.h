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
  const comp_dataset *dataset; /* all names and tables */
  const comp_dataset *values;  /* what X, layers and obsm are shown of: the same, or some of its samples */
  comp_data_look look;         /* of the X of `values` */
} describe_subject;

/* Text of lines of at most `width` columns; lists of levels are cut after a few. */
comp_status describe_text(FILE *out, const describe_subject *subject, int width);

/* One JSON object, with all levels of categorical columns. */
comp_status describe_json(FILE *out, const describe_subject *subject);

#endif
