/* options.h: what is simulated (kind "simulate"). */
#ifndef COMP_SIMULATE_OPTIONS_H
#define COMP_SIMULATE_OPTIONS_H

#include "comp/simulate.h"
#include "core/options.h"

typedef enum comp_simulate_truth {
  COMP_TRUTH_AUTO, /* when all truth layers together take less than COMP_TRUTH_AUTO_BYTES */
  COMP_TRUTH_ON,
  COMP_TRUTH_OFF
} comp_simulate_truth;

#define COMP_TRUTH_AUTO_BYTES ((size_t)2 << 30)

typedef struct comp__simulate_options {
  size_t cells;
  size_t genes;
  size_t conditions; /* >= 2: "control", "treated", or "control", "treated1", "treated2", ... */
  size_t labels;     /* "type1", "type2", ... */
  uint64_t seed;
  size_t programs;           /* P, the dimensions of the state */
  double separation;         /* how far labels are apart: log fold change of a typical marker gene, 0 .. 5 */
  double effect;             /* log fold change of a typical response gene, 0 .. 5 */
  double effect_genes;       /* share of genes that answer to a condition in one label, 0 .. 1 */
  double specific;           /* how much of the response is the label's own: 0 none of it .. 1 all */
  double heterogeneity;      /* how much the response depends on the cell's state: 0 not at all .. 1 */
  double library;            /* median library size, in counts; 0: 0.4 counts a gene */
  double library_sd;         /* standard deviation of log library size */
  double dispersion;         /* of the negative binomial; 0: Poisson */
  double imbalance;          /* 0: conditions of equal size .. < 1: each is smaller than the one before by this share */
  double composition;        /* 0: the same share of every label in all conditions; else the sd of its log */
  const char *absent;        /* "LABEL:CONDITION": no such cells; NULL: none are left out */
  comp_simulate_truth truth; /* whether to make the truth layers */
  bool with_truth, without_truth; /* the options that decide on it */
} comp__simulate_options;

extern const comp__options_kind comp__simulate_kind;
comp__simulate_options comp__simulate_defaults(void);

#endif
