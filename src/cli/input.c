/* input.c: what commands set in the library's options of reading and writing. */
#include "cli/input.h"

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
