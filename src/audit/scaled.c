/* scaled.c: standardised copies of rows. */
#include "audit/scaled.h"

#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"

comp_status comp__scaling_init(comp__scaling *out, const comp__examples *e) {
  *out = (comp__scaling){.features = e->features};
  comp_status status = comp__alloc(&out->mean, e->features, sizeof *out->mean);
  if (status == COMP_OK) status = comp__alloc(&out->inverse, e->features, sizeof *out->inverse);
  if (status != COMP_OK) {
    comp__scaling_release(out);
    return status;
  }
  for (size_t j = 0; j < e->features; j++) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < e->n; i++) sum += (double)e->x[e->rows[i] * e->features + j];
    const double mean = sum / (double)e->n;
    for (size_t i = 0; i < e->n; i++) {
      const double x = (double)e->x[e->rows[i] * e->features + j] - mean;
      squares += x * x;
    }
    const double deviation = sqrt(squares / (double)e->n);
    out->mean[j] = (float)mean;
    out->inverse[j] = deviation > 1e-6 * fabs(mean) ? (float)(1 / deviation) : 0.0f;
  }
  return COMP_OK;
}

void comp__scaling_release(comp__scaling *scaling) {
  comp__free(scaling->mean);
  comp__free(scaling->inverse);
  *scaling = (comp__scaling){0};
}

comp_status comp__scaling_apply(comp_matrix **out, const comp__scaling *scaling, const comp__examples *e) {
  const size_t d = scaling->features;
  comp_status status = comp__matrix_new_dense_raw(out, e->n, d);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < e->n; i++)
    for (size_t j = 0; j < d; j++)
      (*out)->values[i * d + j] = (e->x[e->rows[i] * d + j] - scaling->mean[j]) * scaling->inverse[j];
  return COMP_OK;
}
