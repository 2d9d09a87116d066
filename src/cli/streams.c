/* streams.c: the standard streams: open at the start, and written in full at the end. */
#include "cli/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int flush_errno; /* why a flush failed: the stream itself only knows that it did */

static void guard(int fd, int mode) {
  if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) return;
  int opened = open("/dev/null", mode); /* takes the lowest free number: this one, as the lower ones are open */
  if (opened > STDERR_FILENO) close(opened);
}

void cli_streams_guard(void) {
  /* the wrong way round for the first two: using a stream that the caller closed is an error and must show */
  guard(STDIN_FILENO, O_WRONLY);
  guard(STDOUT_FILENO, O_RDONLY);
  guard(STDERR_FILENO, O_WRONLY);
}

bool cli_stdout_flush(void) {
  if (fflush(stdout) != 0 && !flush_errno) flush_errno = errno;
  return !ferror(stdout);
}

/* Whether stdout is a pipe that nobody reads from any more. */
static bool reader_left(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return flush_errno == EPIPE || (!flush_errno && poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

int cli_stdout_close(int code) {
  bool good = cli_stdout_flush();
  const bool unread = !good && reader_left();
  if (fclose(stdout) != 0 && !flush_errno) flush_errno = errno;
  if (good && !flush_errno) return code;
  if (unread && code == 0) return 128 + SIGPIPE; /* as a program that does not ignore the signal */
  fprintf(stderr, "comp: cannot write standard output: %s\n", flush_errno ? strerror(flush_errno) : "write error");
  return code ? code : 1;
}
