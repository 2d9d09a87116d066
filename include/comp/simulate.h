/*
 * simulate.h: single cells under several conditions, with the truth known.
 *
 * Every cell i has a label l (a cell type), a state s (P numbers, not Gaussian: an arc, two modes, a skewed tail, a
 * flat stretch, by turns, differently in each label) and a condition c, which depends on neither. What it would express
 * under any condition c' is
 *
 *     rho_ig(c') = softmax over genes g of  [ base_g + marker_lg + sum_p s_ip W_pg + delta_ig(c') ]
 *
 * with delta = 0 under the first condition ("control"), and elsewhere
 *
 *     delta_ig(c') = effect * sum_m r_im(c') * R_lg(c')      m: the response module of gene g, one of two
 *     r_im(c')     = 1 + heterogeneity * tanh(1.5 d_m(c') . s_i)
 *
 * R holds genes that answer in every label (more in one label than in another) and genes that answer in one label only.
 * How strongly a cell answers depends on its own state: no shift per label reproduces it. The counts in X are
 *
 *     x_ig ~ negative binomial, mean mu_ig = L_i rho_ig(c_i), variance mu + dispersion mu^2,
 *
 * with the library sizes L_i log-normal around the median `library`.
 *
 * The truth, in layers/truth_<condition> (dense), is `library` * rho_ig(c'): the expected counts of this cell under
 * that condition, had it the median library size. Every row of it sums to `library`, so log1p(truth) is on the scale of
 * counts that were normalised to that total (or, nearly, to the median total) and logged. It is the logarithm of the
 * expectation: the mean of logged counts lies below it, by Jensen's inequality.
 *
 * Besides: obs `condition`, `label`, `library_size` (L_i); var `response_<condition>` (the gene answers in some label);
 * obsm `truth_state` (s); the parameters in the record, under "simulate".
 *
 * Every number depends on the options and its own row and column alone: the same bytes at any number of threads, in
 * memory or on disk.
 */
#ifndef COMP_SIMULATE_H
#define COMP_SIMULATE_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/dataset.h"

typedef enum comp_simulate_truth {
  COMP_TRUTH_AUTO, /* when all truth layers together take less than COMP_TRUTH_AUTO_BYTES */
  COMP_TRUTH_ON,
  COMP_TRUTH_OFF
} comp_simulate_truth;

#define COMP_TRUTH_AUTO_BYTES ((size_t)2 << 30)

typedef struct comp_simulate_options {
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
} comp_simulate_options;

#define COMP_SIMULATE_OPTIONS_INIT                                                                                     \
  {                                                                                                                    \
    .cells = 5000, .genes = 1000, .conditions = 2, .labels = 5, .seed = 0, .programs = 5, .separation = 1.5,           \
    .effect = 1.0, .effect_genes = 0.1, .specific = 0.5, .heterogeneity = 0.75, .library = 0, .library_sd = 0.35,      \
    .dispersion = 0.2, .imbalance = 0, .composition = 0, .absent = NULL, .truth = COMP_TRUTH_AUTO                      \
  }

/* Whether the options can be used; the message names the first one that cannot. */
COMP_API comp_status comp_simulate_check(const comp_simulate_options *options);

/* Makes a data set in memory: X as CSR. It should be freed via comp_dataset_free(). */
COMP_API comp_status comp_simulate_dataset(comp_dataset **out, comp_context *context,
                                           const comp_simulate_options *options);

/* Makes the same data set as an .h5ad file, a block of cells at a time: memory does not grow with the matrix. The file
 * appears complete or not at all. `compression` is a gzip level, 0 .. 9. */
COMP_API comp_status comp_simulate(comp_context *context, const char *path, const comp_simulate_options *options,
                                   int compression);

#endif
