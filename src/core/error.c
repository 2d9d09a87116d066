/* error.c: one message a thread. A fixed buffer, so that reporting "out of memory" needs no memory. */
#define COMP__ERROR_C
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

enum { MESSAGE_SIZE = 2048 };

static _Thread_local char message[MESSAGE_SIZE];

const char *comp_error_message(void) {
  return message;
}

const char *comp_status_name(comp_status status) {
  switch (status) {
  case COMP_OK:
    return "ok";
  case COMP_ERR_ARGUMENT:
    return "bad argument";
  case COMP_ERR_MEMORY:
    return "out of memory";
  case COMP_ERR_IO:
    return "input or output failed";
  case COMP_ERR_FORMAT:
    return "bad format";
  case COMP_ERR_DATA:
    return "unusable data";
  case COMP_ERR_NUMERIC:
    return "numeric failure";
  case COMP_ERR_INTERRUPTED:
    return "interrupted";
  case COMP_ERR_UNAVAILABLE:
    return "not available";
  }
  return "unknown status";
}

/* Formats into a scratch buffer first: an argument may be the old message itself. */
static void set_message(const char *format, va_list args, const char *suffix) {
  char text[MESSAGE_SIZE];
  comp__json_forget();
  vsnprintf(text, sizeof text, format, args);
  snprintf(message, sizeof message, "%s%s%s", text, suffix ? ": " : "", suffix ? suffix : "");
}

comp_status comp__error(comp_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  set_message(format, args, NULL);
  va_end(args);
  return status;
}

comp_status comp__error_errno(const char *format, ...) {
  int saved = errno;
  va_list args;
  va_start(args, format);
  set_message(format, args, strerror(saved));
  va_end(args);
  return saved == ENOMEM ? COMP_ERR_MEMORY : COMP_ERR_IO;
}

comp_status comp__error_context(comp_status status, const char *format, ...) {
  char old[MESSAGE_SIZE];
  memcpy(old, message, sizeof old);
  va_list args;
  va_start(args, format);
  set_message(format, args, old);
  va_end(args);
  return status;
}

comp_status comp__error_in_file(comp_status status, const char *path) {
  if (strncmp(message, path, strlen(path)) == 0) return status;
  return comp__error_context(status, "%s", path);
}

comp_status comp__need(const char *function, const char *names, const bool *given, size_t count) {
  for (size_t i = 0; i < count; i++, names += strcspn(names, ",") + 1)
    if (!given[i]) {
      names += strspn(names, " ");
      return comp__error(COMP_ERR_ARGUMENT, "%s(): %.*s is NULL", function, (int)strcspn(names, ", "), names);
    }
  return COMP_OK;
}

void comp__error_clear(void) {
  message[0] = '\0';
}
