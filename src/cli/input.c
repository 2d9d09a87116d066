/* input.c: from command line to the library's reading options. */
#include "cli/input.h"

bool cli_input_options(comp_read_options *out, const cli_input *input) {
  *out = input->read;
  if (out->names) out->no_header = true; /* they are of no use to a table that has names */
  if (!input->comment) return true;
  out->comment = input->comment[0];
  return input->comment[0] && !input->comment[1];
}
