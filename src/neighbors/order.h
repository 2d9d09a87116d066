/* order.h: points put in an order in which neighbours stand together, and where tiles of them lie. */
#ifndef COMP_NEIGHBORS_ORDER_H
#define COMP_NEIGHBORS_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

/* A permutation of the n rows of x [n, dims], so that each piece of `leaf` rows is compact, and within it each of
 * `fine` rows (a divisor of it): halves along the dimension of the largest variance, again and again. */
comp_status comp__order_points(int32_t *order, const float *x, size_t n, size_t dims, size_t leaf, size_t fine);

/* Where pieces of consecutive points lie: box, centre and radius around it, of each. */
typedef struct comp__places {
  size_t count, dims;
  float *low, *high; /* [count, dims] */
  float *centre;     /* [count, dims] */
  float *radius;     /* [count], rounded up */
} comp__places;

/* Of pieces of `size` rows of x. It should be released via comp__places_release(). */
comp_status comp__places_init(comp__places *out, const float *x, size_t n, size_t dims, size_t size);
void comp__places_release(comp__places *places);

/* The squared distance between the centres of two pieces, roughly: to put pieces in order. */
double comp__places_apart(const comp__places *a, size_t i, const comp__places *b, size_t j);

/* A squared distance that no two of their points fall below. */
double comp__places_least(const comp__places *a, size_t i, const comp__places *b, size_t j);

#endif
