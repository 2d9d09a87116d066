/* hold.c: a random part of the samples, with the same mix of an attribute. */
#include "audit/hold.h"

#include <string.h>

#include "classify/examples.h"
#include "core/alloc.h"
#include "core/error.h"

comp_status comp__hold_out(bool *held, const int32_t *codes, size_t n, size_t n_levels, double share, uint64_t seed) {
  size_t *strata = NULL, *rows = NULL, known = 0;
  bool *test = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&strata, n, sizeof *strata));
  COMP__TRY(comp__alloc(&rows, n, sizeof *rows));
  COMP__TRY(comp__alloc(&test, n, sizeof *test));
  for (size_t i = 0; i < n; i++) {
    if (codes[i] < 0) continue;
    strata[known] = (size_t)codes[i];
    rows[known++] = i;
  }
  COMP__TRY(comp__split(test, strata, known, n_levels, share, seed));
  memset(held, 0, n * sizeof *held);
  for (size_t k = 0; k < known; k++) held[rows[k]] = test[k];
done:
  comp__free(strata);
  comp__free(rows);
  comp__free(test);
  return status;
}
