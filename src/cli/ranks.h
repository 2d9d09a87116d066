/* ranks.h: a command that mpirun or srun started several times, and one that starts itself so. */
#ifndef CLI_RANKS_H
#define CLI_RANKS_H

#include "cli/opt.h"
#include "cli/session.h"

/* Whether this process may run its command: alone, as rank 0, or with a command that works over ranks. 0, or after a
 * message an exit code. */
int cli_ranks_check(cli_session *session);

/* With a command that works over ranks: joins those that were started, and compares the command line, unless the
 * command compares what matters. 0, or after a message an exit code. */
int cli_ranks_join(cli_session *session);

/* Whether this is the process that speaks and writes: the only one, or rank 0. */
bool cli_ranks_first(void);

/* With an option --ranks: starts as many ranks as it asks for (OPT_UNSET_INT: it was not given), unless mpirun or srun
 * has started them. 0: goes on in this process, which is one of comp_rank_count(); or after a message an exit code. */
int cli_ranks_start(cli_session *session, int asked);

#endif
