/* predict.h: what `comp counterfactual` and `comp correct` share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/command.h"
#include "cli/input.h"

typedef struct predict_options {
  cli_input input;
  const char *model, *output, *key;
  comp_options *how;
} predict_options;

/* clang-format off */
#define PREDICT_FILES                                                                                                  \
  CLI_INPUT_FILE(predict_options, input),                                                                              \
  {"model", 'm', OPT_FILE, .required = true, OPT_FIELD(predict_options, model), .metavar = "MODEL",                    \
   .help = "the model file, from comp train"},                                                                         \
  {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(predict_options, output), .metavar = "OUT",                    \
   .help = "the .h5ad or .zarr to write: the input with layers added, or, when the input has other features than "     \
           "the model, a new file with the model's"}

#define PREDICT_LAYER(name)                                                                                            \
  {"key", .kind = OPT_STRING, OPT_FIELD(predict_options, key), .metavar = "NAME", .unset = name,                       \
   .help = "the name of the result in layers"}
/* clang-format on */

/* Runs a prediction; `key` names the layer unless --key does. NULL: counterfactual_TO. (cmd_counterfactual.c) */
int predict_run(cli_session *session, const predict_options *o, const char *key);

#endif
