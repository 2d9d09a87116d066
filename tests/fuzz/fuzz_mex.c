/* fuzz_mex.c: any bytes as the three files of a MEX folder, which follow each other with a 0xff byte between. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comp/comp.h"
#include "core/context.h"
#include "io/mex.h"
#include "io/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes up to the next 0xff. */
static comp__source *next_part(const uint8_t **data, size_t *size, const char *name) {
  const uint8_t *cut = *size ? memchr(*data, 0xff, *size) : NULL;
  size_t n = cut ? (size_t)(cut - *data) : *size;
  comp__source *source = NULL;
  if (comp__source_open_memory(&source, *data, n, name) != COMP_OK) abort();
  *data += cut ? n + 1 : n;
  *size -= cut ? n + 1 : n;
  return source;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static comp_context *context;
  comp__context_options options = comp__context_defaults();
  options.threads = 1;
  if (!context && comp__context_new(&context, &options) != COMP_OK) abort();
  comp__mex_sources sources;
  comp_dataset *dataset = NULL;
  sources.barcodes = next_part(&data, &size, "barcodes.tsv");
  sources.features = next_part(&data, &size, "features.tsv");
  sources.matrix = next_part(&data, &size, "matrix.mtx");
  if (comp__mex_read(&dataset, context, &sources, false) == COMP_OK) {
    if (comp_matrix_check(context, comp_dataset_x(dataset)) == COMP_ERR_FORMAT) abort();
    comp_dataset_free(dataset);
  }
  comp__source_close(sources.matrix);
  comp__source_close(sources.barcodes);
  comp__source_close(sources.features);
  return 0;
}
