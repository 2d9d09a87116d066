/* ranks.h: a command that mpirun or srun started several times, and one that starts itself so. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "cli/session.h"

/* Whether this process may run its command: alone, as rank 0, or with a command that works over ranks. 0, or after a
 * message an exit code. */
int cli_ranks_check(cli_session *session);

/* With a command that works over ranks: joins those that were started, and compares the command line, unless the
 * command compares what matters. 0, or after a message an exit code. */
int cli_ranks_join(cli_session *session);

/* Whether this is the process that speaks and writes: the only one, or rank 0. */
bool cli_ranks_first(void);

/* Replaces this process by mpirun, which runs the same command `ranks` times on this machine. The CPUs are shared out,
 * unless the number of threads is given. Returns only when that fails: after a message, an exit code. */
int cli_ranks_launch(cli_session *session, size_t ranks);

#endif
