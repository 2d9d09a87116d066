/* params.c: the layout of all tensors in one vector. */
#include "model/params.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/rng.h"

comp_status comp__layout_add(comp__layout *layout, size_t *offset, comp__init init, size_t fan_in, size_t rows,
                             size_t cols, const char *format, ...) {
  comp_status status =
      comp__grow(&layout->tensors, &layout->capacity, layout->count, layout->count + 1, sizeof *layout->tensors);
  if (status != COMP_OK) return status;
  comp__tensor *tensor = &layout->tensors[layout->count];
  *tensor = (comp__tensor){.rows = rows, .cols = cols, .offset = layout->size, .init = init, .fan_in = fan_in};
  va_list args;
  va_start(args, format);
  vsnprintf(tensor->name, sizeof tensor->name, format, args);
  va_end(args);
  size_t size;
  if (!comp__size_mul(&size, rows, cols) || !comp__size_add(&size, size, layout->size + COMP__TENSOR_PAD - 1))
    return comp__error(COMP_ERR_MEMORY, "tensor %s of %zu x %zu is too large", tensor->name, rows, cols);
  layout->size = size / COMP__TENSOR_PAD * COMP__TENSOR_PAD;
  layout->count++;
  *offset = tensor->offset;
  return COMP_OK;
}

static void initialise_tensor(const comp__tensor *tensor, float *values, uint64_t seed, uint64_t index) {
  size_t n = tensor->rows * tensor->cols;
  if (tensor->init == COMP__INIT_UNIFORM) {
    float bound = 1.0f / sqrtf((float)tensor->fan_in);
    comp__rng_fill_uniform(values, n, comp__rng_at(seed, COMP__RNG_INIT, index, 0), 0);
    for (size_t i = 0; i < n; i++) values[i] = (2.0f * values[i] - 1.0f) * bound;
    return;
  }
  for (size_t i = 0; i < n; i++) values[i] = tensor->init == COMP__INIT_ONE ? 1.0f : 0.0f;
}

void comp__layout_initialise(const comp__layout *layout, float *values, uint64_t seed) {
  memset(values, 0, layout->size * sizeof *values);
  for (size_t t = 0; t < layout->count; t++)
    initialise_tensor(&layout->tensors[t], values + layout->tensors[t].offset, seed, t);
}

void comp__layout_release(comp__layout *layout) {
  comp__free(layout->tensors);
  *layout = (comp__layout){0};
}
