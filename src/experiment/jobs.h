/*
 * jobs.h: several pieces of work side by side, each with a context and threads of its own.
 *
 * A loop of src/core/threads.h splits one piece of work. Training on little data does not fill many threads, however it
 * is split; two trainings at once do. Results do not depend on threads, so they do not depend on this either.
 */
#ifndef COMP_EXPERIMENT_JOBS_H
#define COMP_EXPERIMENT_JOBS_H

#include <stddef.h>

#include "comp/context.h"

typedef struct comp__jobs {
  size_t count; /* pieces of work: 0 .. count - 1, begun in this order */
  int jobs;     /* how many at once */
  void *user;
  /* Does one piece. `job` (0 .. jobs - 1) names what nobody else uses meanwhile. On a thread of its own. */
  comp_status (*work)(void *user, comp_context *context, size_t item, int job);
  /* A piece is done. On the calling thread, one at a time. */
  comp_status (*finished)(void *user, size_t item);
  /* Its name, for progress. */
  const char *(*name)(const void *user, size_t item);
} comp__jobs;

/* Does all pieces on the threads of the context: with jobs = 1 one after the other on all of them, else each on its
 * share. Messages come from the calling thread, with the name of the piece. An interruption or a failure interrupts
 * every piece that is under way; the failure of the lowest piece is returned. */
comp_status comp__jobs_run(comp_context *context, const comp__jobs *jobs);

#endif
