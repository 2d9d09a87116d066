/* describe_model.h: what a model file is, for a person and for a script. */
#ifndef CLI_DESCRIBE_MODEL_H
#define CLI_DESCRIBE_MODEL_H

#include <stdio.h>

#include "comp/train.h"

/* Text of lines of at most `width` columns. */
comp_status describe_model_text(FILE *out, const char *path, const comp_model *model, int width);

/* One JSON object. */
comp_status describe_model_json(FILE *out, const char *path, const comp_model *model);

#endif
