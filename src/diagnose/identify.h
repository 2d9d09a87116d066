/*
 * identify.h: is the distribution of z one from which counterfactuals can be identified: not normal, not symmetric?
 *
 * It looks at draws from the posteriors, q(z), along those principal axes of the means that carry more variance than
 * the posteriors themselves: an axis below is noise that the decoder has learned to ignore, and normal by construction.
 */
#ifndef COMP_DIAGNOSE_IDENTIFY_H
#define COMP_DIAGNOSE_IDENTIFY_H

#include "diagnose/components.h"
#include "diagnose/latent.h"
#include "diagnose/multivariate.h"

enum { COMP__PROJECTIONS = 20, COMP__HZ_DIMS = 10, COMP__UNIVARIATE = 3 };

/* Zero-initialise to start. */
typedef struct comp__identify {
  size_t dims, active;      /* dimensions of z, and axes that carry signal */
  size_t rows;              /* samples looked at */
  bool joint;               /* whether there were samples enough for the tests of many variables */
  comp__multivariate all;   /* on all active axes: Mardia */
  comp__test henze_zirkler; /* on the first hz_dims of them: it has no power in many dimensions */
  size_t hz_dims;
  size_t coordinates, projections;   /* variables tested one by one */
  size_t rejected[COMP__UNIVARIATE]; /* of them, by Anderson-Darling, Lilliefors, Shapiro-Wilk, adjusted by Holm */
  double least_p;                    /* of all tests, adjusted for all tests */
  double largest_kurtosis, largest_skewness; /* by magnitude, over the variables: how far from normal */
  bool has_components;
  comp__components components;
  size_t symmetry_rows, symmetry_permutations;
  comp__test mirror, rotation; /* energy: z against -z, z against a random rotation of z */
} comp__identify;

/* At most `rows` samples are looked at. It should be released via comp__identify_release(). */
comp_status comp__identify_run(comp__identify *out, comp_context *context, const comp__latent *latent, size_t rows,
                               double alpha, size_t permutations, uint64_t seed);
void comp__identify_release(comp__identify *identify);

#endif
