/* sink.h: writing bytes to a file that exists (the temporary file of an output). */
#ifndef COMP_IO_SINK_H
#define COMP_IO_SINK_H

#include <stddef.h>

#include "comp/status.h"

typedef struct comp__sink {
  int fd;
  const char *name; /* for messages; not owned */
} comp__sink;

#define COMP__SINK_INIT                                                                                                \
  { -1, NULL }

/* It should be ended via comp__sink_close() or comp__sink_abort(). */
comp_status comp__sink_open(comp__sink *sink, const char *path, const char *name);
comp_status comp__sink_write(comp__sink *sink, const void *data, size_t size);

/* Closes; a write that the system put off may fail only here. */
comp_status comp__sink_close(comp__sink *sink);

/* Closes without a check. Does nothing on a sink that has ended or never begun. */
void comp__sink_abort(comp__sink *sink);

#endif
