/* sort.h: sorting numbers, and their median. Not for what holds NaN. */
#ifndef COMP_CORE_SORT_H
#define COMP_CORE_SORT_H

#include <stddef.h>

/* Ascending. */
void comp__sort_doubles(double *values, size_t n);
void comp__sort_floats(float *values, size_t n);

/* Sorts the values. Of an even number, the mean of the two in the middle; NaN of none. */
double comp__median_doubles(double *values, size_t n);
float comp__median_floats(float *values, size_t n);

#endif
