/*
 * look.h: what the look at data rests on.
 *
 * The values of a sample are whole numbers times one factor when they come from counts: 1 for counts themselves,
 * another one after normalisation. This survives the choice of genes, and it holds for the logarithm of one base only.
 * A common total of all samples is the second proof; it needs no whole numbers (TPM), but all genes. What neither
 * proves is judged by its shape.
 */
#ifndef COMP_PREP_LOOK_H
#define COMP_PREP_LOOK_H

#include <stdint.h>

#include "comp/prep.h"

/* What the values may have to be undone by. */
typedef enum comp__scale { COMP__LINEAR, COMP__LOG_E, COMP__LOG_2, COMP__LOG_10, COMP__SCALES } comp__scale;

/* x on the linear scale. */
double comp__scale_undo(comp__scale scale, double value);

/* e, 2 or 10; 0 for the linear scale. */
double comp__scale_base(comp__scale scale);

/* The scale of a base. */
comp__scale comp__scale_of(double base);

/* The step of which all values other than 0 of a sample are whole multiples; 0: there is none; NaN: it cannot be known,
 * since they are all the same. `stored` values, on the given scale. */
double comp__row_step(const float *values, size_t stored, comp__scale scale);

/* Whether the values of a sample were rounded to three decimals or fewer, but not to whole numbers: then they are
 * multiples of the last decimal, whatever they are, and a step proves nothing. */
bool comp__row_is_rounded(const float *values, size_t stored);

/* What is known of every sample. */
typedef struct comp__row_look {
  float min, max; /* of the values stored */
  uint32_t nonzero, fractions, negatives, stored;
} comp__row_look;

/* What is known of some samples. */
typedef struct comp__evidence {
  size_t rows;
  double min, max;
  size_t values, zeros, fractions, negatives;
  double steps[COMP__SCALES];  /* share of the samples that have a step; NaN: too few to tell */
  double common[COMP__SCALES]; /* the total that all samples have; 0: none */
  double spread;               /* of the totals: 95 % quantile / 5 % quantile; NaN: too few samples */
  double median;               /* of the values that are not 0 */
  double unit[COMP__SCALES];   /* of these, the share whose step is 1 */
  double centre, deviation;    /* medians over the features: |mean| / sd, and sd; only where there are negatives */
  bool binary;
} comp__evidence;

/* Judges. `out` gets all but the counts of values. */
void comp__look_judge(comp_data_look *out, const comp__evidence *evidence);

/* Whether what one says holds for the other: kind, base and total. */
bool comp__looks_alike(const comp_data_look *a, const comp_data_look *b);

/* Puts looks of several sets of samples together; names[i] is the condition. */
void comp__look_combine(comp_data_look *out, const comp_data_look *looks, const char *const *names, size_t n);

/* The looks at the samples of one condition that hold whole numbers only, and at its others; the same twice where
 * they are not of different kinds. */
typedef struct comp__look_parts {
  comp_data_look whole, other;
} comp__look_parts;

/* comp_data_look_by(), and what each sample has to be taken for: parts[level], the last one of samples of no condition
 * (without groups: of all). `parts` has room for the levels and 1; a level without samples stays as it is. `each` may
 * be NULL. */
comp_status comp__look_parts_by(comp_data_look *out, comp_data_look *each, comp__look_parts *parts,
                                comp_context *context, const comp_matrix *matrix, const comp_groups *groups);

#endif
