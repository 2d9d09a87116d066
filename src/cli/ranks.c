/* ranks.c: see ranks.h. */
#include "cli/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

bool cli_ranks_first(void) {
  return comp_rank() == 0;
}

int cli_ranks_check(cli_session *session) {
  if (comp_rank_count() == 1 || session->command->over_ranks || !session->command->computes) return 0;
  return cli_usage_error(
      session,
      "it was started %zu times at once, by mpirun or srun, and would write its files as often: it does not work over "
      "ranks. Start it once",
      comp_rank_count());
}

int cli_ranks_join(cli_session *session) {
  char work[4096] = "";
  size_t used = 0;
  if (!session->command->over_ranks) return 0;
  for (int i = 1; !session->command->compares_ranks && i < session->argc && used < sizeof work; i++)
    used += (size_t)snprintf(work + used, sizeof work - used, "%s\n", session->argv[i]);
  comp_status status = comp_context_join_ranks(session->context, work);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

/* Settings of Open MPI, where the user has not set others. Other launchers do not know these variables. */
static const char *const settings[][2] = {
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},     /* more ranks than cores: it was asked for */
    {"OMPI_MCA_hwloc_base_binding_policy", "none"}, /* ranks have threads */
    {"OMPI_MCA_mpi_yield_when_idle", "1"},          /* a rank that waits leaves its core to others */
    {"OMPI_MCA_odls_base_sigkill_timeout", "3"},    /* seconds for rank 0 to save its state when another is killed */
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},                /* whoever runs comp as root means it */
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
};

/* Replaces this process by mpirun, which runs the same command `ranks` times on this machine. The CPUs are shared out,
 * unless the number of threads is given. Returns only when that fails: after a message, an exit code. */
static int launch(cli_session *session, size_t ranks) {
  char own[4096], count[32], threads[32];
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  if (length <= 0) return cli_error(session, EXIT_FAILED, "--ranks: this program cannot be found: %s", strerror(errno));
  own[length] = '\0';
  const size_t cpus = (size_t)comp_cpu_count(), share = cpus / ranks > 0 ? cpus / ranks : 1;
  snprintf(count, sizeof count, "%zu", ranks);
  snprintf(threads, sizeof threads, "%zu", share);
  const char **arguments = calloc((size_t)session->argc + 8, sizeof *arguments);
  if (!arguments) return cli_error(session, EXIT_FAILED, "out of memory");
  size_t n = 0;
  arguments[n++] = "mpirun";
  arguments[n++] = "-n";
  arguments[n++] = count;
  arguments[n++] = own;
  arguments[n++] = session->argv[1]; /* the command */
  if (!comp_options_given(session->common.context, "threads")) {
    arguments[n++] = "--threads";
    arguments[n++] = threads;
  }
  for (int i = 2; i < session->argc; i++) arguments[n++] = session->argv[i];
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 0);
  cli_session_end(session, EXIT_FAILED); /* threads and handlers of signals are not for mpirun */
  execvp(arguments[0], (char *const *)(const void *)arguments);
  const int reason = errno;
  free(arguments);
  return cli_error(session, EXIT_FAILED, "--ranks: mpirun cannot be started: %s%s", strerror(reason),
                   reason == ENOENT ? " (Debian: openmpi-bin)" : "");
}

int cli_ranks_start(cli_session *session, int asked) {
  const size_t started = comp_rank_count();
  if (started == 1 && asked > 1) return launch(session, (size_t)asked);
  if (started > 1 && asked != OPT_UNSET_INT && (size_t)asked != started)
    return cli_usage_error(session, "--ranks: mpirun or srun has started %zu processes already", started);
  return 0;
}
