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

#include "comp/context.h"
#include "comp/dataset.h"
#include "comp/options.h"

/* Makes a data set in memory: X as CSR. Options are of the kind "simulate". It should be freed via comp_dataset_free().
 */
COMP_API comp_status comp_simulate(comp_dataset **out, comp_context *context, const comp_options *options);

/* Makes the same data set as an .h5ad file, a block of cells at a time: memory does not grow with the matrix. The file
 * appears complete or not at all. `write` is of the kind "write", of which the compression counts. */
COMP_API comp_status comp_simulate_file(comp_context *context, const char *path, const comp_options *options,
                                        const comp_options *write);

#endif
