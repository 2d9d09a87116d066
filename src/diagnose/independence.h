/*
 * independence.h: how far is z from independent of the condition c, by the densities that the posteriors make?
 *
 *   q(z | c) = mean over the samples of c of their posteriors        q(z | not c) = the same over all others
 *   kl       = sum_c p(c) KL[q(z | c) || q(z | not c)]               information = sum_c p(c) KL[q(z | c) || q(z)]
 *
 * Both are expectations over z drawn from the posteriors, estimated by such draws, with all posteriors of the data as
 * mixture: in tiles with a running log sum exp, nothing of size n x n.
 *
 * With a sample's own posterior in its own mixture they are those of these mixtures, without bias; as statements
 * on the distribution that the samples come from they are upper bounds (Theorem 1 with a batch of all data), and loose
 * ones in many dimensions, where a draw lies nearer to its own posterior than to any other.
 *
 * With the own posterior left out (`_apart`) both mixtures are made of others. The KL is near 0 then when z does not
 * depend on c and conditions have one size; else the smaller mixture is the rougher one, a bias that shuffled
 * conditions have too (comp__independence_shuffled()). The information becomes what a kernel classifier knows of c: a
 * lower bound, which may be far below 0. comp__information_least() makes the best of it.
 */
#ifndef COMP_DIAGNOSE_INDEPENDENCE_H
#define COMP_DIAGNOSE_INDEPENDENCE_H

#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"
#include "comp/model.h"

/* The posteriors of a data set, sorted by condition and in random order within one. Zero-initialise to start. */
typedef struct comp__posteriors {
  size_t n, dims, conditions;
  size_t *start;  /* [conditions + 1]: condition k has the rows start[k] .. start[k + 1] - 1, at least 2 */
  size_t *sample; /* [n]: row in the data set */
  float *mean;    /* [n, dims] */
  float *scale;   /* [n, dims] standard deviations */
} comp__posteriors;

/* Sorts posteriors given in the order of the data: mean and scale [n, dims], codes [n] with no negative one. A
 * condition with fewer than 2 samples is an error. They should be released via comp__posteriors_release(). */
comp_status comp__posteriors_init(comp__posteriors *out, const float *mean, const float *scale, const int32_t *codes,
                                  size_t n, size_t dims, size_t conditions, uint64_t seed);
void comp__posteriors_release(comp__posteriors *posteriors);

/* A Monte-Carlo estimate and its standard error, in nats. */
typedef struct comp__estimate {
  double value, error;
} comp__estimate;

typedef struct comp__independence {
  comp__estimate kl, information;             /* own posterior included */
  comp__estimate kl_apart, information_apart; /* left out */
  double *kl_by_condition;                    /* [conditions]: KL[q(z | c) || q(z | not c)], own posterior left out */
  double entropy;                             /* of c: what the information cannot exceed */
  size_t rows, draws;                         /* samples that were drawn from, and draws from each */
} comp__independence;

/* Draws from at most `rows` samples (each condition in proportion), `draws` >= 2 times each. It should be released via
 * comp__independence_release(). */
comp_status comp__independence_estimate(comp__independence *out, comp_context *context,
                                        const comp__posteriors *posteriors, size_t rows, size_t draws, uint64_t seed);
void comp__independence_release(comp__independence *independence);

/* The largest lower bound of the information over kernels wider than the posteriors, at least 0, on draws from at most
 * `rows` samples with all posteriors as mixture. */
comp_status comp__information_least(comp__estimate *out, comp_context *context, const comp__posteriors *posteriors,
                                    size_t rows, uint64_t seed);

/* The KL with the own posterior left out against its values when conditions are given to samples at random. */
typedef struct comp__null {
  double kl;              /* of the samples that were used */
  double mean, deviation; /* over the shuffles */
  double excess;          /* kl - mean: 0 when z does not depend on c */
  double p;               /* (1 + shuffles with a kl at least as large) / (1 + shuffles) */
  size_t rows, shuffles;
} comp__null;

/* On at most `rows` samples (each condition in proportion, at least 2), as mixture too. */
comp_status comp__independence_shuffled(comp__null *out, comp_context *context, const comp__posteriors *posteriors,
                                        size_t rows, size_t shuffles, uint64_t seed);

/* The mean of the CoMP penalty (own posterior included: Theorem 1's bound) over random batches of at most `batch`
 * samples, as training sees them, and its standard error (NaN with a single batch). */
comp_status comp__training_bound(comp__estimate *out, comp_context *context, const comp__posteriors *posteriors,
                                 size_t batch, size_t batches, uint64_t seed);

#endif
