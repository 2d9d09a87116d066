/* sink.c: writing bytes to a file. */
#include "io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"

enum { LARGEST_WRITE = 1 << 30 };

comp_status comp__sink_open(comp__sink *sink, const char *path, const char *name) {
  sink->name = name;
  sink->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return sink->fd < 0 ? comp__error_errno("cannot write %s", name) : COMP_OK;
}

comp_status comp__sink_write(comp__sink *sink, const void *data, size_t size) {
  const char *p = data;
  while (size > 0) {
    ssize_t n = write(sink->fd, p, size < LARGEST_WRITE ? size : LARGEST_WRITE);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot write %s", sink->name);
    p += n;
    size -= (size_t)n;
  }
  return COMP_OK;
}

comp_status comp__sink_close(comp__sink *sink) {
  int fd = sink->fd;
  sink->fd = -1;
  return close(fd) == 0 ? COMP_OK : comp__error_errno("cannot write %s", sink->name);
}

void comp__sink_abort(comp__sink *sink) {
  if (sink->fd >= 0) close(sink->fd);
  sink->fd = -1;
}
