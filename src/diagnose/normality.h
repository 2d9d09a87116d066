/*
 * normality.h: is one variable normal, with mean and variance unknown?
 *
 * Each function takes n values in ascending order, not all equal, and gives the statistic and p under "it is normal".
 * A p that the published approximation cannot tell from 0 is 0.
 */
#ifndef COMP_DIAGNOSE_NORMALITY_H
#define COMP_DIAGNOSE_NORMALITY_H

#include <stddef.h>

#include "comp/status.h"

typedef struct comp__test {
  double statistic, p;
} comp__test;

/* The fewest values that any of the tests takes, and the most of Shapiro-Wilk's: its p is not known beyond. */
enum { COMP__NORMALITY_LEAST = 8, COMP__SHAPIRO_MOST = 5000 };

/* Anderson-Darling: statistic A^2 (without the correction for n); p by D'Agostino and Stephens' (1986) formulas. */
comp__test comp__anderson_darling(const double *sorted, size_t n);

/* Lilliefors: the largest distance between the distribution functions; p by Dallal and Wilkinson (1986), above 0.1 by
 * Stephens' modified statistic. */
comp__test comp__lilliefors(const double *sorted, size_t n);

/* Shapiro-Wilk: W and p by Royston (1995), algorithm AS R94; n at most COMP__SHAPIRO_MOST. */
comp_status comp__shapiro_wilk(comp__test *out, const double *sorted, size_t n);

#endif
