/*
 * components.h: independent components of z, which are what Theorem 2 is about.
 *
 * The theorem wants z = B s with independent s, none of them normal (Comon: at most one), and no permutation or change
 * of sign that leaves the distribution of s as it is. A joint test of normality is not enough: one odd direction makes
 * it reject, while rotations among the normal ones stay free. So the components are estimated on one half of the
 * samples (FastICA), and looked at one by one on the other half, where their choice has not bent them.
 */
#ifndef COMP_DIAGNOSE_COMPONENTS_H
#define COMP_DIAGNOSE_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "diagnose/symmetry.h"

typedef struct comp__components {
  size_t count;      /* of components */
  size_t iterations; /* of FastICA */
  bool converged;
  double found_again; /* smallest share of the components that another search, as good, has too; 1: they are unique */
  double *p;          /* [count]: Anderson-Darling, adjusted by Holm, on the half that did not choose them */
  size_t normal;      /* components that may be normal: adjusted p > alpha */
  double dependence;  /* largest |correlation| between the squares of two components: 0 when they are independent */
  comp__symmetries symmetries; /* changes of signs and exchanges that may leave z as it is */
} comp__components;

/* Components of whitened y [n, dims], whose rows are in random order. It should be released via
 * comp__components_release(). */
comp_status comp__components_find(comp__components *out, comp_context *context, const double *y, size_t n, size_t dims,
                                  double alpha, uint64_t seed);
void comp__components_release(comp__components *components);

/* FastICA: w [dims, dims], one component a row, of whitened y [n, dims]; w comes in as the place to start from. At most
 * `most` iterations. */
comp_status comp__fast_ica(double *w, size_t *iterations, bool *converged, comp_context *context, const double *y,
                           size_t n, size_t dims, size_t most);

#endif
