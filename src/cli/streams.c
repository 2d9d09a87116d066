/* streams.c: the standard streams: open at the start, and written in full at the end. */
#include "cli/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/text.h"

static int flush_errno; /* why a flush failed: the stream itself only knows that it did */

static void guard(int fd, int mode) {
  if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) return;
  int opened = open("/dev/null", mode); /* takes the lowest free number: this one, as the lower ones are open */
  if (opened > STDERR_FILENO) close(opened);
}

/* A character on its way to a terminal: one write may end in the middle of it. */
static struct {
  char bytes[5];
  size_t held, length;
} character;

static size_t length_of(unsigned char first) {
  return first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 && first < 0xe0 ? 2 : 1;
}

static bool put(const char *text, size_t size) {
  while (size > 0) {
    const ssize_t n = write(STDOUT_FILENO, text, size);
    if (n < 0) return false;
    text += n;
    size -= (size_t)n;
  }
  return true;
}

/* Adds what is held, made harmless, to `out`; gives its new length. */
static size_t end_character(char *out, size_t n) {
  character.bytes[character.held] = '\0';
  text_clean(character.bytes);
  const size_t length = strlen(character.bytes);
  memcpy(out + n, character.bytes, length);
  character.held = 0;
  return n + length;
}

static ssize_t write_clean(void *cookie, const char *data, size_t size) {
  enum { ROOM = 4096 };
  char out[ROOM + 8];
  size_t n = 0;
  (void)cookie;
  for (size_t i = 0; i < size; i++) {
    const unsigned char c = (unsigned char)data[i];
    if (character.held && (c & 0xc0) != 0x80) n = end_character(out, n); /* it was cut short */
    if (c == '\n' || c == '\t') {
      out[n++] = (char)c;
    } else {
      if (!character.held) character.length = length_of(c);
      character.bytes[character.held++] = c ? (char)c : '?';
      if (character.held == character.length) n = end_character(out, n);
    }
    if (n >= ROOM && !put(out, n)) return 0;
    if (n >= ROOM) n = 0;
  }
  return put(out, n) ? (ssize_t)size : 0;
}

static int close_clean(void *cookie) {
  (void)cookie;
  return close(STDOUT_FILENO);
}

/* Names in files may hold what a terminal obeys. Programs that read a pipe get them as they are. */
static void clean_terminal(void) {
  static const cookie_io_functions_t functions = {.write = write_clean, .close = close_clean};
  if (!isatty(STDOUT_FILENO)) return;
  FILE *stream = fopencookie(NULL, "w", functions);
  if (!stream) return; /* no memory: nothing else will work either */
  setvbuf(stream, NULL, _IOLBF, 0);
  stdout = stream;
}

void cli_streams_guard(void) {
  /* the wrong way round for the first two: using a stream that the caller closed is an error and must show */
  guard(STDIN_FILENO, O_WRONLY);
  guard(STDOUT_FILENO, O_RDONLY);
  guard(STDERR_FILENO, O_WRONLY);
  clean_terminal();
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
