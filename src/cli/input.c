/* input.c: what commands set in the library's options of reading and writing. */
#include "cli/input.h"

#include <stdlib.h>
#include <string.h>

comp_status cli_input_skip(comp_options *read, bool x, bool slots) {
  comp_status status = comp_options_set_bool(read, "skip-x", x);
  if (status == COMP_OK) status = comp_options_set_bool(read, "skip-layers", x);
  return status == COMP_OK ? comp_options_set_bool(read, "skip-slots", slots) : status;
}

bool cli_is_anndata(const char *format) {
  return strcmp(format, "h5ad") == 0 || strcmp(format, "zarr") == 0;
}

comp_status cli_input_carry(comp_options *write, const comp_options *read, const char *path) {
  const char *format;
  comp_status status = comp_file_format(&format, path);
  if (status != COMP_OK || !cli_is_anndata(format) || comp_options_given(read, "raw")) return status;
  return comp_options_set(write, "carry-from", path);
}

comp_status cli_input_add_obsm(comp_context *context, const comp_dataset *dataset, const char *key, comp_matrix *matrix,
                               const cli_input *input, const char *output) {
  const size_t n = comp_matrix_rows(matrix);
  comp_dataset *results = NULL;
  comp_matrix *empty = NULL;
  const char **names = calloc(n + 1, sizeof *names);
  comp_status status = names ? comp_matrix_new_dense(&empty, n, 0) : COMP_ERR_MEMORY;
  if (status == COMP_OK) {
    for (size_t i = 0; i < n; i++) names[i] = comp_dataset_obs_name(dataset, i);
    status = comp_dataset_new(&results, empty, names, NULL);
  }
  if (status == COMP_OK)
    status = comp_dataset_set_matrix(results, COMP_SLOT_OBSM, key, matrix);
  else
    comp_matrix_free(matrix);
  if (status == COMP_OK) status = cli_input_skip(input->read, false, false);
  if (status == COMP_OK) status = comp_dataset_update(context, results, input->path, output, input->read);
  comp_dataset_free(results);
  free(names);
  return status;
}
