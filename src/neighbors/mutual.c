/* mutual.c: see mutual.h. */
#include "neighbors/mutual.h"

#include <stdlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "neighbors/options.h"

static bool contains(const int32_t *list, size_t n, size_t value) {
  for (size_t i = 0; i < n; i++)
    if (list[i] == (int32_t)value) return true;
  return false;
}

static int compare_indices(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

comp_status comp__mutual_find(comp__mutual *out, comp_context *context, const comp_matrix *left,
                              const comp_matrix *right, size_t k_left, size_t k_right) {
  *out = (comp__mutual){0};
  comp_status status;
  comp_neighbors *of_right = NULL, *of_left = NULL;
  COMP__TRY(comp__neighbors_nearest(&of_right, context, left, right, k_left));
  COMP__TRY(comp__neighbors_nearest(&of_left, context, right, left, k_right));
  const int32_t *lefts = comp_neighbors_indices(of_right), *rights = comp_neighbors_indices(of_left);
  size_t kl = comp_neighbors_k(of_right), kr = comp_neighbors_k(of_left);
  COMP__TRY(comp__alloc(&out->left, right->rows, kl * sizeof *out->left));
  COMP__TRY(comp__alloc(&out->right, right->rows, kl * sizeof *out->right));
  for (size_t j = 0; j < right->rows; j++) {
    size_t first = out->n;
    for (size_t a = 0; a < kl; a++) {
      size_t i = (size_t)lefts[j * kl + a];
      if (!contains(rights + i * kr, kr, j)) continue;
      out->left[out->n] = (int32_t)i;
      out->right[out->n++] = (int32_t)j;
    }
    qsort(out->left + first, out->n - first, sizeof *out->left, compare_indices);
  }
done:
  comp_neighbors_free(of_right);
  comp_neighbors_free(of_left);
  if (status != COMP_OK) comp__mutual_release(out);
  return status;
}

void comp__mutual_release(comp__mutual *pairs) {
  comp__free(pairs->left);
  comp__free(pairs->right);
  *pairs = (comp__mutual){0};
}
