/* predict.h: what `comp counterfactual` and `comp correct` share. */
#ifndef CLI_PREDICT_H
#define CLI_PREDICT_H

#include "cli/command.h"
#include "cli/input.h"

typedef struct predict_options {
  cli_input input;
  const char *model, *output, *to, *from, *key, *precision;
  bool residual, borrow, clip;
  int64_t samples, seed;
  double interval;
} predict_options;

#define PREDICT_OPTIONS_INIT                                                                                           \
  { .input = CLI_INPUT_INIT, .precision = "f32", .interval = 0.95 }

extern const char *const predict_precisions[]; /* cmd_counterfactual.c */

/* clang-format off */
#define PREDICT_FILES                                                                                                  \
  CLI_INPUT_FILE(predict_options, input),                                                                              \
  {"model", 'm', OPT_FILE, .required = true, OPT_FIELD(predict_options, model), .metavar = "MODEL",                    \
   .help = "the model file, from comp train"},                                                                         \
  {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(predict_options, output), .metavar = "OUT",                    \
   .help = "the .h5ad to write: the input with layers added, or, when the input has other features than the model, a " \
           "new file with the model's"}

#define PREDICT_HOW                                                                                                    \
  {"residual", .kind = OPT_FLAG, OPT_FIELD(predict_options, residual),                                                 \
   .help = "add the decoded change to the sample: x + decoded(z, to) - decoded(z, own)"},                              \
  {"clip", .kind = OPT_FLAG, OPT_FIELD(predict_options, clip), .help = "what is below 0 becomes 0"},                   \
  {"key", .kind = OPT_STRING, OPT_FIELD(predict_options, key), .metavar = "NAME", .unset = PREDICT_KEY,                \
   .help = "the name of the result in layers"},                                                                        \
  {"precision", .kind = OPT_CHOICE, OPT_FIELD(predict_options, precision), .metavar = "P",                             \
   .choices = predict_precisions,                                                                                      \
   .help = "of the products: f32, or bf16, which is faster on some CPUs and good for some 3 digits"}
/* clang-format on */

/* Runs a prediction; `key` names the layer unless --key does. NULL: counterfactual_TO. (cmd_counterfactual.c) */
int predict_run(cli_session *session, const predict_options *o, const char *key);

#endif
