/*
 * inject.c: makes single calls of a program fail, for tests of what it does then. A shared object for LD_PRELOAD.
 *
 * COMP_INJECT is a list, separated by spaces, of
 *
 *     CALL:N[:ERROR[:PATH]]   the Nth call fails (N-: that one and all after it). CALL: open, read, write, sync,
 * rename, stat, memory. ERROR: EIO (when left out), EACCES, EMFILE, ENOSPC. PATH: only calls on files whose name
 * contains it, as far as open, stat and rename go; reads, writes and syncs of descriptors that were opened under such a
 * name. clock:FACTOR            the monotonic clock runs that much faster.
 *
 * COMP_INJECT_COUNT names a file that gets one line at the end: how often each call was made, "open 12 read 40 ...".
 * Memory: calls made from the program or libcomp itself, not from libraries, unless COMP_INJECT_ALL is set.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FILE_OFFSET_BITS /* both kinds of names are defined here */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPEN, READ, WRITE, SYNC, RENAME, STAT, MEMORY, CALLS, MOST_FILES = 4096 };
static const char *const call_names[CALLS] = {"open", "read", "write", "sync", "rename", "stat", "memory"};

typedef struct rule {
  long first; /* 0: none */
  bool on;    /* all after it fail too */
  int code;
  char path[256];
} rule;

static rule rules[CALLS];
static atomic_long counts[CALLS];
static double clock_factor = 1.0;
static bool all_memory, started;
static atomic_bool watched[MOST_FILES]; /* by descriptor: opened under a name that matches */

static int error_of(const char *name) {
  if (strncmp(name, "EACCES", 6) == 0) return EACCES;
  if (strncmp(name, "EMFILE", 6) == 0) return EMFILE;
  if (strncmp(name, "ENOSPC", 6) == 0) return ENOSPC;
  return EIO;
}

/* One item of COMP_INJECT. */
static void parse(char *item) {
  char *parts[4] = {0}, *save = NULL;
  int n = 0;
  for (char *p = strtok_r(item, ":", &save); p && n < 4; p = strtok_r(NULL, ":", &save)) parts[n++] = p;
  if (n < 2) return;
  if (strcmp(parts[0], "clock") == 0) clock_factor = atof(parts[1]);
  for (int i = 0; i < CALLS; i++) {
    if (strcmp(parts[0], call_names[i]) != 0) continue;
    char *end;
    rules[i].first = strtol(parts[1], &end, 10);
    rules[i].on = *end == '-';
    rules[i].code = i == MEMORY ? ENOMEM : error_of(n > 2 ? parts[2] : "EIO");
    snprintf(rules[i].path, sizeof rules[i].path, "%s", n > 3 ? parts[3] : "");
  }
}

__attribute__((constructor)) static void start(void) {
  static char text[1024];
  char *save = NULL;
  snprintf(text, sizeof text, "%s", getenv("COMP_INJECT") ? getenv("COMP_INJECT") : "");
  for (char *item = strtok_r(text, " ", &save); item; item = strtok_r(NULL, " ", &save)) parse(item);
  all_memory = getenv("COMP_INJECT_ALL") != NULL;
  started = true;
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("COMP_INJECT_COUNT");
  char line[256];
  int used = 0;
  started = false;
  if (!path) return;
  for (int i = 0; i < CALLS; i++)
    used += snprintf(line + used, sizeof line - (size_t)used, "%s %ld ", call_names[i], counts[i]);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0) return;
  line[used - 1] = '\n';
  if (write(fd, line, (size_t)used) < 0) abort();
  close(fd);
}

/* Counts a call; true: it is to fail, with errno set. */
static bool fails(int call, const char *path) {
  const rule *r = &rules[call];
  if (!started || (r->path[0] && !strstr(path, r->path))) return false;
  long n = atomic_fetch_add(&counts[call], 1) + 1;
  if (r->first == 0 || n < r->first || (n > r->first && !r->on)) return false;
  errno = r->code;
  return true;
}

/* Calls that know a descriptor only. */
static bool fd_fails(int call, int fd) {
  bool known = fd >= 0 && fd < MOST_FILES && watched[fd];
  return (known || !rules[call].path[0]) && fails(call, rules[call].path);
}

static int watch(int fd, const char *path) {
  bool match = false;
  for (int i = 0; i < CALLS; i++) match = match || (rules[i].path[0] && strstr(path, rules[i].path));
  if (fd >= 0 && fd < MOST_FILES) watched[fd] = match;
  return fd;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list arguments) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                                                              \
  int name(const char *path, int flags, ...) {                                                                         \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = mode_of(flags, arguments);                                                                           \
    va_end(arguments);                                                                                                 \
    if (fails(OPEN, path)) return -1;                                                                                  \
    return watch(REAL(int, name, const char *, int, ...)(path, flags, mode), path);                                    \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_FOPEN(name)                                                                                             \
  FILE *name(const char *path, const char *mode) {                                                                     \
    if (fails(OPEN, path)) return NULL;                                                                                \
    FILE *file = REAL(FILE *, name, const char *, const char *)(path, mode);                                           \
    if (file) watch(fileno(file), path);                                                                               \
    return file;                                                                                                       \
  }
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

#define DEFINE_PREAD(name, offset)                                                                                     \
  ssize_t name(int fd, void *to, size_t size, offset at) {                                                             \
    return fd_fails(READ, fd) ? -1 : REAL(ssize_t, name, int, void *, size_t, offset)(fd, to, size, at);               \
  }
DEFINE_PREAD(pread, off_t)
DEFINE_PREAD(pread64, off64_t)

#define DEFINE_PWRITE(name, offset)                                                                                    \
  ssize_t name(int fd, const void *from, size_t size, offset at) {                                                     \
    return fd_fails(WRITE, fd) ? -1 : REAL(ssize_t, name, int, const void *, size_t, offset)(fd, from, size, at);      \
  }
DEFINE_PWRITE(pwrite, off_t)
DEFINE_PWRITE(pwrite64, off64_t)

ssize_t read(int fd, void *to, size_t size) {
  return fd_fails(READ, fd) ? -1 : REAL(ssize_t, read, int, void *, size_t)(fd, to, size);
}

ssize_t write(int fd, const void *from, size_t size) {
  bool standard = fd <= STDERR_FILENO; /* the message about a failure must come through */
  return !standard && fd_fails(WRITE, fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, from, size);
}

size_t fread(void *to, size_t size, size_t n, FILE *file) {
  return fd_fails(READ, fileno(file)) ? 0 : REAL(size_t, fread, void *, size_t, size_t, FILE *)(to, size, n, file);
}

int fsync(int fd) {
  return fd_fails(SYNC, fd) ? -1 : REAL(int, fsync, int)(fd);
}

int rename(const char *from, const char *to) {
  return fails(RENAME, to) ? -1 : REAL(int, rename, const char *, const char *)(from, to);
}

int stat(const char *path, struct stat *out) {
  return fails(STAT, path) ? -1 : REAL(int, stat, const char *, struct stat *)(path, out);
}

int stat64(const char *path, struct stat64 *out) {
  return fails(STAT, path) ? -1 : REAL(int, stat64, const char *, struct stat64 *)(path, out);
}

int access(const char *path, int mode) {
  return fails(STAT, path) ? -1 : REAL(int, access, const char *, int)(path, mode);
}

int clock_gettime(clockid_t id, struct timespec *out) {
  int result = REAL(int, clock_gettime, clockid_t, struct timespec *)(id, out);
  if (clock_factor == 1.0 || id != CLOCK_MONOTONIC) return result;
  double seconds = ((double)out->tv_sec + 1e-9 * (double)out->tv_nsec) * clock_factor;
  out->tv_sec = (time_t)seconds;
  out->tv_nsec = (long)((seconds - (double)out->tv_sec) * 1e9);
  return result;
}

/* ---- Memory: glibc's own names, since dlsym() allocates ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static __thread bool inside; /* dladdr() must not be counted */

/* Whether an address is in the program or in libcomp. */
static bool is_ours(const void *caller) {
  Dl_info info;
  if (inside) return false;
  inside = true;
  bool ours = false;
  if (dladdr(caller, &info) && info.dli_fname) {
    const char *slash = strrchr(info.dli_fname, '/'), *name = slash ? slash + 1 : info.dli_fname;
    ours = strncmp(name, "comp", 4) == 0 || strncmp(name, "libcomp", 7) == 0 || strncmp(name, "core_", 5) == 0;
  }
  inside = false;
  return ours;
}

static bool memory_fails(const void *caller) {
  if (!started || inside) return false;
  return (all_memory || is_ours(caller)) && fails(MEMORY, "");
}

void *malloc(size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *block, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t align, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size) {
  if (memory_fails(__builtin_return_address(0))) return ENOMEM;
  *out = __libc_memalign(align, size);
  return *out ? 0 : ENOMEM;
}
