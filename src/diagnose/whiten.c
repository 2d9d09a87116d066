/* whiten.c: see whiten.h. */
#include "diagnose/whiten.h"

#include <math.h>

#include "core/alloc.h"
#include "core/error.h"
#include "linalg/linalg.h"

comp_status comp__axes_init(comp__axes *out, const double *x, size_t n, size_t dims) {
  comp_status status;
  *out = (comp__axes){.dims = dims};
  COMP__TRY(comp__calloc(&out->mean, dims, sizeof *out->mean));
  COMP__TRY(comp__alloc(&out->variances, dims, sizeof *out->variances));
  COMP__TRY(comp__calloc(&out->vectors, dims * dims, sizeof *out->vectors));
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) out->mean[d] += x[i * dims + d];
  for (size_t d = 0; d < dims; d++) out->mean[d] /= (double)n;
  for (size_t i = 0; i < n; i++)
    for (size_t a = 0; a < dims; a++) {
      double value = (x[i * dims + a] - out->mean[a]) / (double)n;
      for (size_t b = 0; b <= a; b++) out->vectors[a * dims + b] += value * (x[i * dims + b] - out->mean[b]);
    }
  for (size_t a = 0; a < dims; a++)
    for (size_t b = a + 1; b < dims; b++) out->vectors[a * dims + b] = out->vectors[b * dims + a];
  COMP__TRY(comp__eigen_symmetric(out->vectors, dims, out->variances));
done:
  if (status != COMP_OK) comp__axes_release(out);
  return status;
}

void comp__axes_release(comp__axes *axes) {
  comp__free(axes->mean);
  comp__free(axes->variances);
  comp__free(axes->vectors);
  *axes = (comp__axes){0};
}

void comp__axes_whiten(double *y, const comp__axes *axes, const double *x, size_t n, size_t kept) {
  size_t dims = axes->dims;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < kept; k++) {
      double sum = 0;
      for (size_t d = 0; d < dims; d++) sum += (x[i * dims + d] - axes->mean[d]) * axes->vectors[k * dims + d];
      y[i * kept + k] = sum / sqrt(axes->variances[k]);
    }
}

size_t comp__axes_above(const comp__axes *axes, double least) {
  size_t kept = 0;
  while (kept < axes->dims && axes->variances[kept] > fmax(least, 1e-12 * axes->variances[0])) kept++;
  return kept;
}

comp_status comp__whiten(double *y, size_t *kept, const double *x, size_t n, size_t dims) {
  comp__axes axes;
  comp_status status = comp__axes_init(&axes, x, n, dims);
  if (status != COMP_OK) return status;
  *kept = comp__axes_above(&axes, 0);
  comp__axes_whiten(y, &axes, x, n, *kept);
  comp__axes_release(&axes);
  return COMP_OK;
}
