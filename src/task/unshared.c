/* unshared.c: see unshared.h. */
#include "task/unshared.h"

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "neighbors/overlap.h"

comp_status comp__unshared_codes(int32_t *codes, comp_context *context, const comp_matrix *z,
                                 const comp_groups *conditions) {
  const comp__crowd crowd = {.n = conditions->rows,
                             .conditions = conditions->n_levels,
                             .codes = conditions->codes,
                             .counts = conditions->counts};
  float *ratios = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&ratios, crowd.n, sizeof *ratios));
  COMP__TRY(comp__overlap_all(ratios, context, &crowd, z->values, z->cols));
  for (size_t i = 0; i < crowd.n; i++) codes[i] = crowd.codes[i] < 0 ? -1 : ratios[i] >= COMP__UNSHARED;
done:
  comp__free(ratios);
  return status;
}
