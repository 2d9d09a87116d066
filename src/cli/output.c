/* output.c: results for a file are collected in memory and handed to the library's writer in one piece. */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "comp/file.h"
#include "comp/status.h"
#include "text/stream.h"

bool cli_output_is_stdout(const char *path) {
  return strcmp(path, "-") == 0;
}

bool cli_output_check(const char *path) {
  return cli_output_is_stdout(path) || comp_file_check_writable(path) == COMP_OK;
}

bool cli_output_open(cli_output *output, const char *path) {
  *output = (cli_output){.path = path, .file = stdout};
  if (!cli_output_is_stdout(path)) output->file = comp__text_stream(&output->text, &output->size);
  return output->file != NULL;
}

void cli_output_abort(cli_output *output) {
  if (output->file && output->file != stdout) fclose(output->file);
  free(output->text);
  *output = (cli_output){0};
}

const char *cli_output_error(void) {
  return *comp_error_message() ? comp_error_message() : "out of memory";
}

bool cli_output_commit(cli_output *output) {
  bool good = json_complete();
  if (output->file != stdout) { /* what stdout cannot take shows when the program closes it */
    good = fclose(output->file) == 0 && good && comp_file_write(output->path, output->text, output->size) == COMP_OK;
    output->file = NULL;
  }
  cli_output_abort(output);
  return good;
}
