/* options.c: the tables of the kinds "embed" and "counterfactual". */
#include "task/options.h"

#include "core/error.h"
#include "train/precision.h"

static const char precision_help[] =
    "of the products: f32 (auto is the same), or bf16, which is faster on some CPUs and good for some 3 digits";

/* ---- embed ---- */

#define FIELD(member) COMP__FIELD(comp__embed_options, member)
static const comp_option embed_rows[] = {
    {"sample", .type = COMP_OPTION_BOOL, FIELD(sample),
     .help = "write one draw from each posterior in place of its mean"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of the draw"},
    {"precision", .type = COMP_OPTION_CHOICE, FIELD(precision), .metavar = "P", .value = "f32",
     .choice_at = comp__precision_name, .help = precision_help},
    {0},
};
#undef FIELD

const comp__options_kind comp__embed_kind = {
    .name = "embed", .summary = "embeddings of samples", .size = sizeof(comp__embed_options), .rows = embed_rows};

comp__embed_options comp__embed_defaults(void) {
  comp__embed_options options;
  comp__options_defaults(&options, &comp__embed_kind);
  return options;
}

/* ---- counterfactual ---- */

#define FIELD(member) COMP__FIELD(comp__counterfactual_options, member)
static const comp_option counterfactual_rows[] = {
    {"to", 't', COMP_OPTION_TEXT, .required = true, FIELD(to), .metavar = "VALUE",
     .help = "the condition under which samples are decoded"},
    {"from", 'f', COMP_OPTION_TEXT, FIELD(from), .metavar = "VALUE", .unset = "all samples",
     .help = "predict the samples of this condition only; the others keep their own values"},
    {"samples", 'n', COMP_OPTION_INT, FIELD(samples), .metavar = "N", .value = "0", .max = COMP_MAX_DRAWS,
     .help = "average over N draws from each posterior, and write sd, lower and upper too; 0: decode the mean"},
    {"interval", .type = COMP_OPTION_REAL, FIELD(interval), .metavar = "P", .value = "0.95", .min = 0.001, .max = 0.999,
     .help = "share of the draws between lower and upper"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of the draws, and of the chance of cells"},
    {"borrow", .type = COMP_OPTION_BOOL, FIELD(borrow),
     .help = "where the data has few samples of the other condition like this one, predict its change from populations "
             "that were seen under both; implies residual. For cell types that were never seen under that condition"},
    {"rarer", .type = COMP_OPTION_REAL, FIELD(rarer), .metavar = "N", .value = "2", .min = 1, .max = 1e6,
     .help = "with borrow: a population counts as never seen when it is at least N times rarer under the other "
             "condition"},
    {"cells", .type = COMP_OPTION_BOOL, FIELD(cells),
     .help =
         "write values as a measured cell has them: add the change to the sample, but what is less than its smallest "
         "value above 0 becomes that value or 0, by chance, with the same mean; implies residual"},
    {"residual", .type = COMP_OPTION_BOOL, FIELD(residual),
     .help = "add the decoded change to the sample: x + decoded(z, to) - decoded(z, own)"},
    {"clip", .type = COMP_OPTION_BOOL, FIELD(clip), .help = "what is below 0 becomes 0"},
    {"precision", .type = COMP_OPTION_CHOICE, FIELD(precision), .metavar = "P", .value = "f32",
     .choice_at = comp__precision_name, .help = precision_help},
    {0},
};

static comp_status finish(void *out, const comp_options *options) {
  comp__counterfactual_options *o = out;
  (void)options;
  if (o->borrow || o->cells) o->residual = true;
  return COMP_OK;
}

static comp_status check(const void *values) {
  const comp__counterfactual_options *o = values;
  if (!o->to || !o->to[0]) return comp__error(COMP_ERR_ARGUMENT, "to: the condition to predict is not given");
  if (o->samples == 1)
    return comp__error(COMP_ERR_ARGUMENT, "samples: 1 is neither 0 nor between 2 and %d", COMP_MAX_DRAWS);
  if (o->borrow && (!o->residual || o->samples > 0))
    return comp__error(COMP_ERR_ARGUMENT,
                       "borrowed changes are added to the samples' own values: they go with residual, and "
                       "not with draws");
  if (o->cells && (!o->residual || o->samples > 0))
    return comp__error(COMP_ERR_ARGUMENT, "cells: goes with residual, and not with draws");
  return COMP_OK;
}

const comp__options_kind comp__counterfactual_kind = {
    .name = "counterfactual",
    .summary = "predictions of samples under another condition",
    .size = sizeof(comp__counterfactual_options),
    .rows = counterfactual_rows,
    .finish = finish,
    .check = check,
};

comp__counterfactual_options comp__counterfactual_defaults(void) {
  comp__counterfactual_options options;
  comp__options_defaults(&options, &comp__counterfactual_kind);
  return options;
}
