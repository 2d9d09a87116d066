/*
 * fuzz_csv.c: any bytes as a text table, and as metadata. The first byte picks the options; the rest is the file, which
 * may be gzip.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "comp/comp.h"
#include "comp/io.h"
#include "core/context.h"
#include "io/csv.h"
#include "io/metadata.h"
#include "io/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(comp_context *context, const comp__text *text, const comp__read_options *options) {
  comp_table *table = NULL;
  comp_dataset *dataset = NULL;
  if (comp__csv_to_table(&table, context, text, options, false) == COMP_OK) comp_table_free(table);
  if (comp__csv_to_dataset(&dataset, context, text, options) != COMP_OK) return;
  if (comp_matrix_check(context, comp_dataset_x(dataset)) == COMP_ERR_FORMAT) abort(); /* infinite values are allowed */
  (void)comp__metadata_join(dataset, context, text);
  comp_dataset_free(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static comp_context *context;
  comp__context_options context_options = comp__context_defaults();
  context_options.threads = 1;
  if (!context && comp__context_new(&context, &context_options) != COMP_OK) abort();
  if (size == 0) return 0;
  comp__read_options options = {0};
  options.no_header = data[0] & 1;
  options.transpose = data[0] & 2;
  options.comment = data[0] & 4 ? '#' : 0;
  options.missing = data[0] & 8 ? "?,-99" : NULL;
  options.names = data[0] & 16 ? "a,b,c" : NULL;
  comp__source *source;
  comp__text text;
  if (comp__source_open_memory(&source, data + 1, size - 1, "fuzz.csv") != COMP_OK) return 0;
  if (comp__text_load(&text, source) == COMP_OK) {
    read_all(context, &text, &options);
    comp__text_release(&text);
  }
  comp__source_close(source);
  return 0;
}
