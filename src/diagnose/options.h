/* options.h: how a model is checked (kind "diagnose"). */
#ifndef COMP_DIAGNOSE_OPTIONS_H
#define COMP_DIAGNOSE_OPTIONS_H

#include "comp/model.h"
#include "core/options.h"

typedef struct comp__diagnose_options {
  const char *label;         /* obs column with what must not be lost, such as the cell type; NULL: none */
  const comp_model *against; /* a model without a penalty (gamma 0), to compare reconstructions with; NULL: none */
  const char *const *names;  /* what error messages call the models, such as their files; NULL: "model 1", ... */
  size_t n_names;
  const char *against_name; /* and `against`; NULL: "the model to compare with" */
  double alpha;             /* level of the tests */
  size_t samples;           /* at most so many samples where time grows with their square */
  size_t permutations;      /* of the tests of symmetry and of prediction; more are made where alpha needs them */
  size_t draws;             /* from each posterior, for the divergence */
  uint64_t seed;            /* of all random numbers */
} comp__diagnose_options;

extern const comp__options_kind comp__diagnose_kind;
comp__diagnose_options comp__diagnose_defaults(void);

#endif
