/* streams.h: the standard streams: open at the start, and written in full at the end. */
#ifndef CLI_STREAMS_H
#define CLI_STREAMS_H

#include <stdbool.h>

/* Puts /dev/null on those of the descriptors 0, 1, 2 that are closed, so that no data file gets one of these numbers.
 * What a terminal could obey does not get to one through stdout (text_clean()). */
void cli_streams_guard(void);

/* Writes out what stdout holds. Whether all has been written so far. */
bool cli_stdout_flush(void);

/* Closes stdout. Gives the exit code: `code`, or, after a message, 1 when something could not be written. There is no
 * message when all else succeeded and the reader of a pipe left, as `head` does: the code is that of SIGPIPE, 141. */
int cli_stdout_close(int code);

#endif
