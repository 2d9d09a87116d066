/*
 * cases.c: what `comp info` and `comp convert` do with a data file, for many files: reads it and writes it to another,
 * in a child process with limits. fuzz.py --inside uses it, since starting the program takes longer than reading.
 *
 * Takes "IN OUT" in lines on stdin. Prints for each: exit code (negative: a signal), peak memory in kB, the message.
 */
#include <comp/comp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static comp_status convert(const char *in, const char *out) {
  comp_context *context = NULL;
  comp_options *threads = NULL, *write = NULL;
  comp_dataset *dataset = NULL;
  const char *format;
  comp_status status = comp_options_new(&threads, "context");
  if (status == COMP_OK) status = comp_options_set_int(threads, "threads", 1);
  if (status == COMP_OK) status = comp_context_new(&context, threads);
  if (status == COMP_OK) status = comp_options_new(&write, "write");
  if (status == COMP_OK) status = comp_file_format(&format, in);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, context, in, NULL);
  if (status == COMP_OK && strcmp(format, "h5ad") == 0) status = comp_options_set(write, "carry-from", in);
  if (status == COMP_OK) status = comp_dataset_write(context, dataset, out, write);
  comp_dataset_free(dataset);
  comp_options_free(write);
  comp_options_free(threads);
  comp_context_free(context);
  return status;
}

static void run_child(const char *in, const char *out, int pipe_end) {
  struct rlimit space = {3ul << 30, 3ul << 30}, time = {10, 11}, core = {0, 0};
  setrlimit(RLIMIT_AS, &space);
  setrlimit(RLIMIT_CPU, &time);
  setrlimit(RLIMIT_CORE, &core);
  comp_status status = convert(in, out);
  if (status == COMP_OK) _exit(0);
  const char *message = comp_error_message();
  ssize_t n = write(pipe_end, message, strlen(message));
  _exit(n > 0 ? 1 : 3);
}

static void run(const char *in, const char *out) {
  int ends[2], code;
  char message[1024] = "";
  struct rusage usage;
  if (pipe(ends) != 0) exit(2);
  pid_t child = fork();
  if (child < 0) exit(2);
  if (child == 0) run_child(in, out, ends[1]);
  close(ends[1]);
  ssize_t n = read(ends[0], message, sizeof message - 1);
  close(ends[0]);
  wait4(child, &code, 0, &usage);
  for (char *c = message; n > 0 && *c; c++)
    if (*c == '\n') *c = ' ';
  printf("%d %ld %s\n", WIFSIGNALED(code) ? -WTERMSIG(code) : WEXITSTATUS(code), usage.ru_maxrss, message);
  fflush(stdout);
}

int main(void) {
  char in[1024], out[1024];
  while (scanf("%1023s %1023s", in, out) == 2) run(in, out);
  return 0;
}
