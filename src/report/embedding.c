/* embedding.c: maps of samples. */
#include "report/embedding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"

static void list_entries(char *out, size_t size, const comp_dataset *dataset) {
  size_t used = 0, n = comp_dataset_matrix_count(dataset, COMP_SLOT_OBSM);
  snprintf(out, size, "%s", n ? "" : "none");
  for (size_t i = 0; i < n && used + 1 < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                             comp_dataset_matrix_name(dataset, COMP_SLOT_OBSM, i));
}

comp_status comp__embedding_require(const comp_matrix **out, const comp_dataset *dataset, const char *name) {
  const comp_matrix *found = comp_dataset_matrix(dataset, COMP_SLOT_OBSM, name);
  if (!found) {
    char there[512];
    list_entries(there, sizeof there, dataset);
    return comp__error(COMP_ERR_DATA, "there is no obsm/%s to draw (there is: %s); comp umap makes X_umap", name,
                       there);
  }
  if (comp_matrix_cols(found) < 2) return comp__error(COMP_ERR_DATA, "obsm/%s has one column: a map needs two", name);
  const float *v = comp_matrix_const_values(found);
  size_t cols = comp_matrix_cols(found);
  for (size_t i = 0; i < comp_matrix_rows(found); i++)
    if (!isfinite(v[i * cols]) || !isfinite(v[i * cols + 1]))
      return comp__error(COMP_ERR_DATA, "obsm/%s: row %zu ('%s') is not a finite number", name, i + 1,
                         comp_dataset_obs_name(dataset, i));
  *out = found;
  return COMP_OK;
}

static bool is_before_of(const char *before, const char *name) {
  size_t length = strlen(name);
  return strncmp(before, name, length) == 0 && strcmp(before + length, "_before") == 0;
}

const char *comp__embedding_title(const char *const *names, size_t n_names, size_t index) {
  for (size_t i = 0; i < n_names; i++) {
    if (is_before_of(names[index], names[i])) return "before";
    if (is_before_of(names[i], names[index])) return "after";
  }
  return names[index];
}

void comp__embedding_range(double *min, double *max, const comp_matrix *embedding, size_t dim) {
  const float *v = comp_matrix_const_values(embedding);
  size_t cols = comp_matrix_cols(embedding), rows = comp_matrix_rows(embedding);
  *min = rows ? INFINITY : 0;
  *max = rows ? -INFINITY : 1;
  for (size_t i = 0; i < rows; i++) {
    *min = fmin(*min, (double)v[i * cols + dim]);
    *max = fmax(*max, (double)v[i * cols + dim]);
  }
}
