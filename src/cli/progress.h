/*
 * progress.h: progress and messages of the library on stderr: a bar on a terminal, a plain line now and then elsewhere.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/context.h"

typedef struct cli_progress {
  bool terminal;    /* draw a bar */
  bool bar_shown;   /* the cursor stands on a line with a bar */
  bool running;     /* a task has begun and not finished */
  double started;   /* when the task began */
  double last_line; /* when a plain line was last written */
  uint64_t first;   /* what was done at its first report: a resumed task does not begin at 0 */
  char task[200];
} cli_progress;

/* Looks at what stderr is. */
void cli_progress_init(cli_progress *progress);

/* One report of the library. */
void cli_progress_show(cli_progress *progress, const comp_progress *report);

/* Removes the bar, so that a message can be written. */
void cli_progress_clear(cli_progress *progress);

/* One report as text: a bar that fills at most `width` columns; a plain line; the last line of a task. `rate` is units
 * a second, 0 when not known yet. Each returns `buffer`. */
char *cli_progress_bar(char *buffer, size_t size, const comp_progress *report, double rate, int width);
char *cli_progress_line(char *buffer, size_t size, const comp_progress *report, double rate);
char *cli_progress_last(char *buffer, size_t size, const comp_progress *report, double elapsed);

/* Seconds on a clock that only goes forward. */
double cli_now(void);

#endif
