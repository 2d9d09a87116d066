/*
 * params.h: one declaration a tensor. Parameters, gradients and both Adam moments are four vectors with this one
 * layout, so the optimiser, an all-reduce and a checkpoint are one loop each.
 */
#ifndef COMP_MODEL_PARAMS_H
#define COMP_MODEL_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

typedef enum comp__init {
  COMP__INIT_ZERO,
  COMP__INIT_ONE,
  COMP__INIT_UNIFORM /* +-1 / sqrt(fan_in), PyTorch's default for a dense layer */
} comp__init;

typedef struct comp__tensor {
  char name[48];
  size_t rows, cols;
  size_t offset; /* into the flat vector, a multiple of COMP__TENSOR_PAD */
  comp__init init;
  size_t fan_in;
} comp__tensor;

/* Floats to which a tensor's start is rounded up; the gap holds zeros. */
enum { COMP__TENSOR_PAD = 16 };

/* Zero-initialise to start. */
typedef struct comp__layout {
  comp__tensor *tensors;
  size_t count, capacity;
  size_t size; /* of the flat vector */
} comp__layout;

/* Appends a tensor; `*offset` is where it lies. */
comp_status comp__layout_add(comp__layout *layout, size_t *offset, comp__init init, size_t fan_in, size_t rows,
                             size_t cols, const char *format, ...) COMP_PRINTF(7, 8);

/* Fills a flat vector with initial values. */
void comp__layout_initialise(const comp__layout *layout, float *values, uint64_t seed);

void comp__layout_release(comp__layout *layout);

#endif
