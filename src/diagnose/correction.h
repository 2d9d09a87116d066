/*
 * correction.h: what did the correction take away besides the condition? Labels that were laid over other labels, and
 * what reconstruction lost. Labels are codes, -1 where they are not known.
 */
#ifndef COMP_DIAGNOSE_CORRECTION_H
#define COMP_DIAGNOSE_CORRECTION_H

#include "diagnose/latent.h"
#include "diagnose/stray.h"

/* One label. */
typedef struct comp__label_fate {
  size_t *counts;   /* [conditions] */
  size_t in;        /* conditions that it has in earnest: at least 1 % of its samples, and 2 */
  size_t present;   /* conditions that it has at all */
  size_t looked_at; /* samples with neighbours */
  double mixing;    /* neighbours of other conditions, relative to the share of other conditions in the data: 0 when it
                       stays among its own condition, 1 when the condition makes no difference */
  double same;      /* of its neighbours in other conditions, the share of this label; NaN when there are none */
  size_t mostly;    /* the label that most of those neighbours have */
  double mostly_share;
} comp__label_fate;

/* Zero-initialise to start. */
typedef struct comp__fates {
  size_t n_labels, conditions, rows, k;
  comp__label_fate *labels; /* [n_labels] */
} comp__fates;

/* Neighbours among the posterior means of at most `rows` samples. It should be released via comp__fates_release(). */
comp_status comp__fates_find(comp__fates *out, comp_context *context, const comp__latent *latent, const int32_t *labels,
                             size_t n_labels, size_t rows, size_t k, uint64_t seed);
void comp__fates_release(comp__fates *fates);

/* The share of the variance of the data (around the mean of each feature) that decoding the posterior means under each
 * sample's own condition explains, on at most `rows` samples without those that are stray. May be below 0. */
comp_status comp__reconstruction(double *out, comp_context *context, const comp__latent *latent,
                                 const comp__strays *strays, size_t rows, uint64_t seed);

#endif
