/* harmony.h: the part of harmony.c that oracles look at. */
#ifndef COMP_BASELINE_HARMONY_H
#define COMP_BASELINE_HARMONY_H

#include <stddef.h>
#include <stdint.h>

/* The order [n] in which the samples are updated in a clustering step, the steps of a run counted from 0. */
void comp__harmony_order(size_t *out, size_t n, uint64_t seed, size_t step);

#endif
