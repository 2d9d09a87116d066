/*
 * output.h: a result file that is either complete or not there (comp/file.h), or stdout when it is named "-".
 *
 *     cli_output output;
 *     if (!cli_output_check(path)) ...                  before the work: can it be written at all?
 *     if (!cli_output_open(&output, path)) ...
 *     fprintf(output.file, ...);                        or cli_output_abort(&output) to give up
 *     if (!cli_output_commit(&output)) ...
 *
 * When a call gives false, comp_error_message() tells why and names the file.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct cli_output {
  FILE *file; /* write here */
  const char *path;
  char *text; /* what was written, once the file is closed, unless it is stdout */
  size_t size;
} cli_output;

/* Whether the path means stdout. */
bool cli_output_is_stdout(const char *path);

/* Whether a result could be written there now. Leaves nothing behind and changes nothing. */
bool cli_output_check(const char *path);

/* A success must be followed by cli_output_commit() or cli_output_abort(). `path` must stay valid until then. */
bool cli_output_open(cli_output *output, const char *path);

/* Writes and releases. When false, an earlier file is as it was. */
bool cli_output_commit(cli_output *output);

/* Why one of these failed. */
const char *cli_output_error(void);

/* Forgets what was written and releases. */
void cli_output_abort(cli_output *output);

#endif
