/* log.c: the file with a line of JSON for each epoch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "train/training.h"

/* Whether a line tells of an epoch that is still to come. */
static bool is_ahead(const char *line, size_t size, uint64_t epochs) {
  json_t *entry = json_loadb(line, size, 0, NULL);
  const json_t *epoch = json_object_get(entry, "epoch");
  bool ahead = json_is_integer(epoch) && json_integer_value(epoch) > (json_int_t)epochs;
  json_decref(entry);
  return ahead;
}

/* The lines of `from` that are not ahead, to `to`; *dropped tells whether there were others. A last line without an end
 * was not written whole. */
static comp_status copy_lines(bool *dropped, FILE *to, FILE *from, uint64_t epochs, const char *path) {
  char *line = NULL;
  size_t room = 0;
  ssize_t size;
  bool good = true;
  *dropped = false;
  while (good && (size = getline(&line, &room, from)) > 0)
    if (line[size - 1] != '\n' || is_ahead(line, (size_t)size, epochs))
      *dropped = true;
    else
      good = fwrite(line, 1, (size_t)size, to) == (size_t)size;
  good = good && !ferror(from);
  free(line);
  return good ? COMP_OK : comp__error_errno("cannot write '%s'", path);
}

/* A run that was killed has written lines after its last checkpoint: those epochs come again. */
static comp_status drop_lines(const char *path, uint64_t epochs) {
  comp_status status = COMP_OK;
  comp__output output = {0};
  FILE *from = NULL, *to = NULL;
  struct stat info;
  bool dropped;
  if (stat(path, &info) != 0) return errno == ENOENT ? COMP_OK : comp__error_errno("cannot read '%s'", path);
  if (!S_ISREG(info.st_mode)) return COMP_OK;
  from = fopen(path, "r");
  if (!from) COMP__TRY(comp__error_errno("cannot read '%s'", path));
  COMP__TRY(comp__output_begin(&output, path));
  to = fopen(output.temporary, "w");
  if (!to) COMP__TRY(comp__error_errno("cannot write '%s'", path));
  COMP__TRY(copy_lines(&dropped, to, from, epochs, path));
  int closed = fclose(to);
  to = NULL;
  if (closed != 0) COMP__TRY(comp__error_errno("cannot write '%s'", path));
  if (dropped) COMP__TRY(comp__output_commit(&output));
done:
  if (to) fclose(to);
  if (from) fclose(from);
  comp__output_abort(&output);
  return status;
}

comp_status comp__log_open(comp__training *t) {
  const char *path = t->options->log;
  if (!path || !comp__training_writes(t)) return COMP_OK;
  comp__output_sweep_of(path);
  if (t->now.step > 0) {
    comp_status status = drop_lines(path, t->now.epoch);
    if (status != COMP_OK) return status;
  }
  t->log = fopen(path, t->now.step > 0 ? "a" : "w");
  return t->log ? COMP_OK : comp__error_errno("cannot write '%s'", path);
}
