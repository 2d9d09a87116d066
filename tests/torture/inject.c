/*
 * inject.c: makes single calls of a program fail, for tests of what it does then. A shared object for LD_PRELOAD.
 *
 * COMP_INJECT is a list, separated by spaces, of
 *
 *     CALL:N[:ERROR[:PATH]]   the Nth call fails (N-: that one and all after it). CALL: open, read, write, sync,
 *                             rename, stat, truncate, map, close, memory. ERROR: EIO (when left out), EACCES, EMFILE,
 *                             ENOSPC, ENOMEM; KILL: the process ends there. PATH: only calls on files whose name
 * contains it, as far as open, stat and rename go; other calls: of descriptors that were opened under such a name.
 *     clock:FACTOR            the monotonic clock runs that much faster.
 *
 * Calls are counted from main() on. COMP_INJECT_COUNT names a file that gets one line at the end: how often each call
 * was made, "open 12 read 40 ...". Memory: calls made from the program itself, not from libraries, unless
 * COMP_INJECT_ALL is set. Mappings of oneDNN (for code that it generates) are not counted and do not fail alone, since
 * oneDNN writes to them unseen; they fail with all others (N-) once the Nth of the others has failed.
 * COMP_INJECT_WHERE names a file that gets the stack of the first call that failed: a line "OBJECT SYMBOL" a frame.
 * COMP_INJECT_STACKS names a file that gets a number of 8 bytes for each allocation at the end: the same stack, the
 * same number. COMP_INJECT_NO_SYNC: fsync() succeeds and does nothing. COMP_INJECT_FILL: the first 4 kB of every block
 * that is allocated or freed are overwritten. (MALLOC_PERTURB_ of glibc fills blocks of any size, which took most of
 * the time of a case.)
 *
 * COMP_INJECT_SERVER=PREFIX: the program is loaded once and run many times. Before main() it reads such lists, one a
 * line, from stdin. For each it forks; the child runs main() with stdout and stderr in PREFIX.out and PREFIX.err and
 * with 20 seconds of CPU time and 600 seconds to live; the parent prints "CODE KB MS": exit code (negative: a signal),
 * peak memory, time. COMP_INJECT_WHERE is PREFIX.where then.
 * COMP_INJECT_REPEAT=N: a child runs main() N times, one line each, before the next one is forked. What main() leaves
 * in the process stays for the next run; a call of _exit() ends only the run. The line "each FIRST END" is a run in
 * each of the folders FIRST to END - 1. Its answers have a fourth number, 1: stderr begins with "comp ". An answer
 * without it comes from the parent: the child has ended, and the rest of the runs was not made.
 * COMP_INJECT_WALK=FOLDER, with a server: a child runs main() once in FOLDER for many lists. Where the call of a list
 * would fail it prints "at" and waits for a line, while FOLDER is moved to FOLDER.walk and a copy of it put in its
 * place. Then it forks: in the copy the call fails; the walk itself waits for the end of that, prints how it ended as
 * above, reads the next list (of the same call, with a number that is no smaller), and goes on as if nothing had
 * failed. So a case costs only what comes after the failure. Where that cannot be done, because a library is being
 * loaded, it prints "no" and reads the next list. The monotonic clock goes on by 1 ms
 * each time that it is asked, so that walks do not differ.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FILE_OFFSET_BITS /* both kinds of names are defined here */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  OPEN,
  READ,
  WRITE,
  SYNC,
  RENAME,
  STAT,
  TRUNCATE,
  MAP,
  CLOSE,
  MEMORY,
  CALLS,
  MOST_FILES = 4096,
  MOST_FRAMES = 40,
  LIFE = 600,
  WORK = 20,
  NEXT_CHILD = 97, /* exit code of a child that ended between two runs */
  KILLED = -1
};
static const char *const call_names[CALLS] = {"open", "read",     "write", "sync",  "rename",
                                              "stat", "truncate", "map",   "close", "memory"};

typedef struct rule {
  long first; /* 0: none */
  bool on;    /* all after it fail too */
  int code;
  char path[256];
} rule;

static rule rules[CALLS];
static atomic_long counts[CALLS];
static double clock_factor = 1.0;
static bool all_memory, started, no_sync, fill;
static char where[1024];                /* COMP_INJECT_WHERE */
static int stacks = -1;                 /* COMP_INJECT_STACKS */
static atomic_bool watched[MOST_FILES]; /* by descriptor: opened under a name that matches */

static int error_of(const char *name) {
  static const struct {
    const char *name;
    int code;
  } known[] = {{"EACCES", EACCES}, {"EMFILE", EMFILE}, {"ENOSPC", ENOSPC}, {"ENOMEM", ENOMEM}, {"KILL", KILLED}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(name, known[i].name) == 0) return known[i].code;
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
    rules[i].code = error_of(n > 2 ? parts[2] : i == MEMORY ? "ENOMEM" : "EIO");
    snprintf(rules[i].path, sizeof rules[i].path, "%s", n > 3 ? parts[3] : "");
  }
}

static void parse_list(const char *list) {
  static char text[1024];
  char *save = NULL;
  snprintf(text, sizeof text, "%s", list);
  for (char *item = strtok_r(text, " \n", &save); item; item = strtok_r(NULL, " \n", &save)) parse(item);
}

static void note_stack(void);

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("COMP_INJECT_COUNT");
  char line[256];
  int used = 0;
  bool ran = started;
  started = false;
  if (ran && stacks >= 0) note_stack();
  if (!path || !ran) return;
  for (int i = 0; i < CALLS; i++)
    used += snprintf(line + used, sizeof line - (size_t)used, "%s %ld ", call_names[i], counts[i]);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0) return;
  line[used - 1] = '\n';
  if (write(fd, line, (size_t)used) < 0) abort();
  close(fd);
}

/* Writes the stack to COMP_INJECT_WHERE, by calls that are not counted. */
static void note_where(void) {
  void *frames[MOST_FRAMES];
  started = false; /* what the unwinder calls does not count */
  int n = backtrace(frames, MOST_FRAMES), fd = (int)syscall(SYS_open, where, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  for (int i = 0; i < n && fd >= 0; i++) {
    char line[512];
    Dl_info info = {0};
    if (!dladdr(frames[i], &info) || !info.dli_fname) info.dli_fname = "?";
    const char *slash = strrchr(info.dli_fname, '/');
    int size = snprintf(line, sizeof line, "%s %s+0x%lx\n", slash ? slash + 1 : info.dli_fname,
                        info.dli_sname ? info.dli_sname : "?",
                        (unsigned long)((uintptr_t)frames[i] - (uintptr_t)info.dli_fbase));
    if (syscall(SYS_write, fd, line, (size_t)size) < 0) break;
  }
  if (fd >= 0) syscall(SYS_close, fd);
  started = true;
}

/* Adds the stack of an allocation to COMP_INJECT_STACKS. */
static void note_stack(void) {
  static uint64_t noted[4096];
  static size_t n_noted;
  void *frames[MOST_FRAMES];
  bool flush = !started; /* at the end */
  started = false;
  int n = flush ? 0 : backtrace(frames, MOST_FRAMES);
  uint64_t digest = 0xcbf29ce484222325u;
  for (int i = 0; i < n; i++) digest = (digest ^ (uintptr_t)frames[i]) * 0x100000001b3u;
  if (!flush) noted[n_noted++] = digest;
  if (flush || n_noted == sizeof noted / sizeof *noted) {
    if (syscall(SYS_write, stacks, noted, n_noted * sizeof *noted) < 0) abort();
    n_noted = 0;
  }
  started = !flush;
}

static const char *walk; /* COMP_INJECT_WALK */
static long walk_ms;     /* its clock; 0: the real one */
static bool leave_walk(const rule *r, long n);

/* True: this call, the Nth of its kind, is to fail, with errno set. */
static bool fails_as(const rule *r, long n) {
  if (r->first == 0 || n < r->first || (n > r->first && !r->on)) return false;
  if (walk && !leave_walk(r, n)) return false;
  if (r->code == KILLED) kill(getpid(), SIGKILL);
  if (where[0] && n == r->first) note_where();
  errno = r->code;
  return true;
}

/* Counts a call; true: it is to fail. */
static bool fails(int call, const char *path) {
  const rule *r = &rules[call];
  if (!started || (r->path[0] && !strstr(path, r->path))) return false;
  return fails_as(r, atomic_fetch_add(&counts[call], 1) + 1);
}

/* Calls that know a descriptor only. The message about a failure must come through: the standard ones do not fail. */
static bool fd_fails(int call, int fd) {
  if (fd <= STDERR_FILENO) return false;
  bool known = fd < MOST_FILES && watched[fd];
  return (known || !rules[call].path[0]) && fails(call, rules[call].path);
}

static int watch(int fd, const char *path) {
  bool match = false;
  for (int i = 0; i < CALLS; i++) match = match || (rules[i].path[0] && strstr(path, rules[i].path));
  if (fd >= 0 && fd < MOST_FILES) watched[fd] = match;
  return fd;
}

/* ---- Who calls ---- */

typedef struct object {
  uintptr_t begin, end;
} object;

static object program, onednn, loader;

static bool is_in(const object *o, const void *address) {
  return (uintptr_t)address >= o->begin && (uintptr_t)address < o->end;
}

static int find_objects(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size, (void)user;
  object found = {info->dlpi_addr, 0};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    uintptr_t last = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && last > found.end) found.end = last;
  }
  if (!program.end) program = found; /* it comes first */
  if (strstr(info->dlpi_name, "/libdnnl.")) onednn = found;
  if (strstr(info->dlpi_name, "/ld-linux")) loader = found;
  return 0;
}

static bool map_fails(const void *caller) {
  if (!is_in(&onednn, caller)) return fails(MAP, "");
  const rule *r = &rules[MAP];
  return started && r->on && counts[MAP] >= r->first && fails_as(r, counts[MAP] + 1);
}

static bool repeats(void);

/* The definition that comes after the one here, looked up once. */
#define REAL(type, name, ...)                                                                                          \
  (__extension__({                                                                                                     \
    static type (*next)(__VA_ARGS__);                                                                                  \
    if (!next) next = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);                                                   \
    next;                                                                                                              \
  }))

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

#define DEFINE_OPENAT(name)                                                                                            \
  int name(int folder, const char *path, int flags, ...) {                                                             \
    va_list arguments;                                                                                                 \
    va_start(arguments, flags);                                                                                        \
    mode_t mode = mode_of(flags, arguments);                                                                           \
    va_end(arguments);                                                                                                 \
    if (fails(OPEN, path)) return -1;                                                                                  \
    return watch(REAL(int, name, int, const char *, int, ...)(folder, path, flags, mode), path);                       \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

#define DEFINE_FOPEN(name)                                                                                             \
  FILE *name(const char *path, const char *mode) {                                                                     \
    if (fails(OPEN, path)) return NULL;                                                                                \
    FILE *file = REAL(FILE *, name, const char *, const char *)(path, mode);                                           \
    if (file) watch(fileno(file), path);                                                                               \
    return file;                                                                                                       \
  }
DEFINE_FOPEN(fopen)
DEFINE_FOPEN(fopen64)

#define DEFINE_TEMPORARY(name)                                                                                         \
  int name(char *path, int flags) {                                                                                    \
    return fails(OPEN, path) ? -1 : watch(REAL(int, name, char *, int)(path, flags), path);                            \
  }
DEFINE_TEMPORARY(mkostemp)
DEFINE_TEMPORARY(mkostemp64)

DIR *opendir(const char *path) {
  return fails(OPEN, path) ? NULL : REAL(DIR *, opendir, const char *)(path);
}

int mkdir(const char *path, mode_t mode) {
  return fails(OPEN, path) ? -1 : REAL(int, mkdir, const char *, mode_t)(path, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
  return fails(OPEN, path) ? -1 : REAL(int, mkdirat, int, const char *, mode_t)(folder, path, mode);
}

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
  return fd_fails(WRITE, fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, from, size);
}

/* A stream remembers its failure: ferror(). */
static bool stream_fails(int call, FILE *file) {
  enum { ERROR_SEEN = 0x20 }; /* of glibc */
  if (!fd_fails(call, fileno(file))) return false;
  file->_flags |= ERROR_SEEN;
  return true;
}

size_t fread(void *to, size_t size, size_t n, FILE *file) {
  return stream_fails(READ, file) ? 0 : REAL(size_t, fread, void *, size_t, size_t, FILE *)(to, size, n, file);
}

#define DEFINE_DELIMITED(name)                                                                                         \
  ssize_t name(char **line, size_t *room, int mark, FILE *file) {                                                      \
    return stream_fails(READ, file) ? -1                                                                               \
                                    : REAL(ssize_t, name, char **, size_t *, int, FILE *)(line, room, mark, file);     \
  }
DEFINE_DELIMITED(getdelim)
DEFINE_DELIMITED(__getdelim)

size_t fwrite(const void *from, size_t size, size_t n, FILE *file) {
  return stream_fails(WRITE, file) ? 0
                                   : REAL(size_t, fwrite, const void *, size_t, size_t, FILE *)(from, size, n, file);
}

int fflush(FILE *file) {
  return file && stream_fails(WRITE, file) ? EOF : REAL(int, fflush, FILE *)(file);
}

int fclose(FILE *file) {
  if (file == stdout && repeats()) return fflush(file);
  bool fail = fd_fails(CLOSE, fileno(file));
  int code = errno, result = REAL(int, fclose, FILE *)(file);
  if (fail) errno = code;
  return fail ? EOF : result;
}

int close(int fd) {
  bool fail = fd_fails(CLOSE, fd);
  int code = errno, result = REAL(int, close, int)(fd);
  if (fail) errno = code;
  return fail ? -1 : result;
}

int fsync(int fd) {
  return fd_fails(SYNC, fd) ? -1 : no_sync ? 0 : REAL(int, fsync, int)(fd);
}

#define DEFINE_TRUNCATE(name, offset)                                                                                  \
  int name(int fd, offset size) {                                                                                      \
    return fd_fails(TRUNCATE, fd) ? -1 : REAL(int, name, int, offset)(fd, size);                                       \
  }
DEFINE_TRUNCATE(ftruncate, off_t)
DEFINE_TRUNCATE(ftruncate64, off64_t)

#define DEFINE_MAP(name, offset)                                                                                       \
  void *name(void *at, size_t size, int protection, int flags, int fd, offset from) {                                  \
    if (map_fails(__builtin_return_address(0))) return MAP_FAILED;                                                     \
    return REAL(void *, name, void *, size_t, int, int, int, offset)(at, size, protection, flags, fd, from);           \
  }
DEFINE_MAP(mmap, off_t)
DEFINE_MAP(mmap64, off64_t)

int rename(const char *from, const char *to) {
  return fails(RENAME, to) ? -1 : REAL(int, rename, const char *, const char *)(from, to);
}

int link(const char *from, const char *to) {
  return fails(RENAME, to) ? -1 : REAL(int, link, const char *, const char *)(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return fails(RENAME, to)
             ? -1
             : REAL(int, linkat, int, const char *, int, const char *, int)(from_folder, from, to_folder, to, flags);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
  return fails(RENAME, to) ? -1
                           : REAL(int, renameat2, int, const char *, int, const char *, unsigned)(from_folder, from,
                                                                                                  to_folder, to, flags);
}

int unlinkat(int folder, const char *path, int flags) {
  return fails(RENAME, path) ? -1 : REAL(int, unlinkat, int, const char *, int)(folder, path, flags);
}

int stat(const char *path, struct stat *out) {
  return fails(STAT, path) ? -1 : REAL(int, stat, const char *, struct stat *)(path, out);
}

int stat64(const char *path, struct stat64 *out) {
  return fails(STAT, path) ? -1 : REAL(int, stat64, const char *, struct stat64 *)(path, out);
}

int lstat64(const char *path, struct stat64 *out) {
  return fails(STAT, path) ? -1 : REAL(int, lstat64, const char *, struct stat64 *)(path, out);
}

int fstat64(int fd, struct stat64 *out) {
  return fd_fails(STAT, fd) ? -1 : REAL(int, fstat64, int, struct stat64 *)(fd, out);
}

int access(const char *path, int mode) {
  return fails(STAT, path) ? -1 : REAL(int, access, const char *, int)(path, mode);
}

char *realpath(const char *path, char *out) {
  return fails(STAT, path) ? NULL : REAL(char *, realpath, const char *, char *)(path, out);
}

int clock_gettime(clockid_t id, struct timespec *out) {
  int result = REAL(int, clock_gettime, clockid_t, struct timespec *)(id, out);
  if (walk_ms > 0 && id == CLOCK_MONOTONIC) {
    long ms = walk_ms++;
    *out = (struct timespec){ms / 1000, ms % 1000 * 1000000};
  }
  if (clock_factor == 1.0 || id != CLOCK_MONOTONIC) return result;
  double seconds = ((double)out->tv_sec + 1e-9 * (double)out->tv_nsec) * clock_factor;
  out->tv_sec = (time_t)seconds;
  out->tv_nsec = (long)((seconds - (double)out->tv_sec) * 1e9);
  return result;
}

/* ---- Memory. The next definition is glibc's or that of a sanitizer ---- */

static bool memory_fails(const void *caller) {
  if (!started || !(all_memory || is_in(&program, caller))) return false;
  if (stacks >= 0) note_stack();
  return fails(MEMORY, "");
}

static void *filled(void *block, size_t size, int with) {
  enum { MOST = 4096 };
  if (fill && block) memset(block, with, size < MOST ? size : MOST);
  return block;
}

void *malloc(size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : filled(REAL(void *, malloc, size_t)(size), size, 0x5a);
}

void *calloc(size_t n, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : REAL(void *, calloc, size_t, size_t)(n, size);
}

void *realloc(void *block, size_t size) {
  return memory_fails(__builtin_return_address(0)) ? NULL : REAL(void *, realloc, void *, size_t)(block, size);
}

void *aligned_alloc(size_t align, size_t size) {
  if (memory_fails(__builtin_return_address(0))) return NULL;
  return filled(REAL(void *, aligned_alloc, size_t, size_t)(align, size), size, 0x5a);
}

int posix_memalign(void **out, size_t align, size_t size) {
  if (memory_fails(__builtin_return_address(0))) return ENOMEM;
  int result = REAL(int, posix_memalign, void **, size_t, size_t)(out, align, size);
  if (result == 0) filled(*out, size, 0x5a);
  return result;
}

void free(void *block) {
  static void (*real)(void *);
  static bool looking;
  if (!real) {           /* at the start, with one thread */
    if (looking) return; /* dlsym() frees the text of a failure before it, which sanitizers leave */
    looking = true;
    real = REAL(void, free, void *);
    looking = false;
  }
  if (fill && block) filled(block, malloc_usable_size(block), 0xa5);
  real(block);
}

/* ---- The start of the program ---- */

typedef int main_function(int, char **, char **);
static main_function *real_main;

/* COMP_INJECT_REPEAT. */
static long most_repeats, runs;
static int control, reply, exit_code;
static jmp_buf run_end;

static bool repeats(void) {
  return most_repeats > 0;
}

void _exit(int code) {
  if (repeats() && started) {
    exit_code = code;
    longjmp(run_end, 1);
  }
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}

static void redirect(const char *prefix, const char *suffix, int fd) {
  char path[1024];
  snprintf(path, sizeof path, "%s%s", prefix, suffix);
  /* With repeats each run empties the files when its line has come: the text of the last run may not have been read. */
  int flags = O_RDWR | O_CREAT | (repeats() ? 0 : O_TRUNC);
  int from = fd == STDIN_FILENO ? open("/dev/null", O_RDONLY) : open(path, flags, 0666);
  if (from < 0 || dup2(from, fd) < 0) _exit(99);
  close(from);
}

static long in_ms(const struct timeval *t) {
  return t->tv_sec * 1000 + t->tv_usec / 1000;
}

static long work_of(const struct rusage *usage) {
  return in_ms(&usage->ru_utime) + in_ms(&usage->ru_stime);
}

static void answer(int code, long kb, long ms) {
  dprintf(reply, "%d %ld %ld\n", code, kb, ms);
}

/* Limits of the run that begins. */
static void limit_run(const struct rusage *until_now) {
  rlim_t most = (rlim_t)(work_of(until_now) / 1000 + 1 + WORK);
  alarm(LIFE);
  setrlimit(RLIMIT_CPU, &(struct rlimit){most, RLIM_INFINITY});
}

static void enter_child(const char *prefix) {
  redirect(prefix, "", STDIN_FILENO);
  redirect(prefix, walk ? ".walk.out" : ".out", STDOUT_FILENO);
  redirect(prefix, walk ? ".walk.err" : ".err", STDERR_FILENO);
}

/* ---- COMP_INJECT_WALK ---- */

static void copy_bytes(const char *path, int to) {
  char block[4096];
  int from = open(path, O_RDONLY);
  ssize_t n = from < 0 ? -1 : 1;
  while (n > 0 && (n = read(from, block, sizeof block)) > 0)
    if (write(to, block, (size_t)n) != n) n = -1;
  if (n < 0) syscall(SYS_exit_group, 98);
  close(from);
}

static bool holds_lock(int fd) {
  char path[64], text[1024] = "";
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  int info = open(path, O_RDONLY);
  ssize_t n = info < 0 ? 0 : read(info, text, sizeof text - 1);
  if (info >= 0) close(info);
  return n > 0 && strstr(text, "FLOCK");
}

/* A descriptor of a file in FOLDER.walk becomes one of the same file in FOLDER, with its lock. */
static void move_descriptor(int fd, const char *link, const char *path) {
  static const char gone[] = " (deleted)";
  char to[1024];
  size_t used = strlen(walk) + strlen(".walk"), size = strlen(path);
  int flags = fcntl(fd, F_GETFL), copy;
  bool deleted = size > sizeof gone && strcmp(path + size - (sizeof gone - 1), gone) == 0, locked = holds_lock(fd);
  off_t at = lseek(fd, 0, SEEK_CUR);
  snprintf(to, sizeof to, "%s%s", walk, deleted ? "/inject-XXXXXX" : path + used);
  copy = deleted ? mkstemp(to) : open(to, (flags & (O_ACCMODE | O_APPEND | O_DIRECTORY)) | O_CLOEXEC);
  if (deleted) copy_bytes(link, copy), unlink(to);
  if (copy < 0 || dup3(copy, fd, O_CLOEXEC) < 0 || (locked && flock(fd, LOCK_EX | LOCK_NB) != 0))
    syscall(SYS_exit_group, 98);
  if (at > 0) lseek(fd, at, SEEK_SET);
  close(copy);
}

static void move_descriptors(void) {
  size_t length = strlen(walk);
  for (int fd = STDERR_FILENO + 1; fd < 256; fd++) {
    char link[64], path[1024];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    if (strncmp(path, walk, length) == 0 && strncmp(path + length, ".walk/", 6) == 0) move_descriptor(fd, link, path);
  }
}

static void next_line(char *line, size_t size) {
  ssize_t n = REAL(ssize_t, read, int, void *, size_t)(control, line, size - 1);
  if (n <= 0) syscall(SYS_exit_group, 0);
  line[n] = 0;
}

/* The process that the call fails in. */
static void leave_as_child(void) {
  char path[1024];
  const char *prefix = getenv("COMP_INJECT_SERVER");
  struct rusage usage;
  if (chdir(walk) != 0) syscall(SYS_exit_group, 98);
  move_descriptors();
  snprintf(path, sizeof path, "%s.walk.err", prefix);
  walk = NULL;
  redirect(prefix, ".out", STDOUT_FILENO);
  redirect(prefix, ".err", STDERR_FILENO);
  copy_bytes(path, STDERR_FILENO);
  getrusage(RUSAGE_SELF, &usage);
  limit_run(&usage);
}

/* Whether a library is being loaded: its lock is this process's, and a fork could not give it back. */
static bool is_loading(void) {
  void *frames[MOST_FRAMES];
  for (int n = backtrace(frames, MOST_FRAMES), i = 0; i < n; i++)
    if (is_in(&loader, frames[i])) return true;
  return false;
}

/* The walk has come to a call that is to fail. True in the process that it fails in; the walk goes on. */
static bool leave_walk(const rule *r, long n) {
  char line[1024];
  struct rusage usage;
  int code, error = errno;
  started = false;
  bool loading = is_loading();
  while (r->first == n) {
    const char *told = loading ? "no\n" : "at\n";
    if (REAL(ssize_t, write, int, const void *, size_t)(reply, told, 3) != 3) syscall(SYS_exit_group, 98);
    next_line(line, sizeof line);
    if (loading) {
      memset(rules, 0, sizeof rules);
      parse_list(line);
      continue;
    }
    pid_t child = _Fork();
    if (child < 0) syscall(SYS_exit_group, 98);
    if (child == 0) {
      leave_as_child();
      started = true;
      return true;
    }
    while (wait4(child, &code, 0, &usage) < 0 && errno == EINTR) {
    }
    answer(WIFSIGNALED(code) ? -WTERMSIG(code) : WEXITSTATUS(code), usage.ru_maxrss, work_of(&usage));
    next_line(line, sizeof line);
    memset(rules, 0, sizeof rules);
    parse_list(line);
  }
  started = true;
  errno = error;
  return false;
}

/* A program with counters for llvm-cov writes them in exit(). */
static _Noreturn void leave(int code) {
  if (getenv("LLVM_PROFILE_FILE")) exit(code);
  syscall(SYS_exit_group, code);
  __builtin_unreachable();
}

/* One run of main(). */
static void run_once(int argc, char **argv, char **environment) {
  struct rusage before, after;
  char begin[5] = "";
  for (int i = 0; i < CALLS; i++) counts[i] = 0;
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
    if (REAL(int, ftruncate, int, off_t)(fd, 0) || lseek(fd, 0, SEEK_SET)) syscall(SYS_exit_group, 99);
  int peak = (int)syscall(SYS_open, "/proc/self/clear_refs", O_WRONLY);
  if (peak >= 0) syscall(SYS_write, peak, "5", 1), syscall(SYS_close, peak); /* forgets the peak of memory */
  getrusage(RUSAGE_SELF, &before);
  limit_run(&before);
  started = true;
  if (setjmp(run_end) == 0) exit_code = real_main(argc, argv, environment);
  started = false;
  fflush(NULL);
  getrusage(RUSAGE_SELF, &after);
  bool told = pread(STDERR_FILENO, begin, sizeof begin, 0) == sizeof begin && memcmp(begin, "comp ", 5) == 0;
  dprintf(reply, "%d %ld %ld %d\n", exit_code, after.ru_maxrss, work_of(&after) - work_of(&before), told);
}

/* One run of main() after another in this process. */
static _Noreturn void repeat(int argc, char **argv, char **environment) {
  char line[1024], folder[32];
  int first, end, home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (runs = 0; runs < most_repeats;) {
    ssize_t n = REAL(ssize_t, read, int, void *, size_t)(control, line, sizeof line - 1);
    if (n <= 0) leave(0);
    line[n] = 0;
    memset(rules, 0, sizeof rules);
    parse_list(line);
    bool each = sscanf(line, "each %d %d", &first, &end) == 2;
    for (int i = each ? first : 0; i < (each ? end : 1); i++, runs++) {
      snprintf(folder, sizeof folder, "%d", i);
      if (each && (fchdir(home) != 0 || chdir(folder) != 0)) syscall(SYS_exit_group, 99);
      run_once(argc, argv, environment);
    }
    if (each && fchdir(home) != 0) syscall(SYS_exit_group, 99);
  }
  leave(NEXT_CHILD);
}

/* Returns in a child that is to run main(); the parent ends with its input. */
static void serve(const char *prefix, int argc, char **argv, char **environment) {
  char line[1024] = "";
  struct rusage usage;
  int code;
  reply = dup(STDOUT_FILENO);
  control = dup(STDIN_FILENO);
  while (most_repeats > 0 || fgets(line, sizeof line, stdin)) {
    pid_t child = fork();
    if (child < 0) _exit(99);
    if (child == 0) {
      enter_child(prefix);
      if (most_repeats > 0) repeat(argc, argv, environment);
      getrusage(RUSAGE_SELF, &usage);
      if (!walk) limit_run(&usage);
      parse_list(line);
      return;
    }
    wait4(child, &code, 0, &usage);
    if (most_repeats > 0 && WIFEXITED(code) && WEXITSTATUS(code) == NEXT_CHILD) continue;
    if (most_repeats > 0 && WIFEXITED(code) && WEXITSTATUS(code) == 0) break; /* the end of the input */
    answer(WIFSIGNALED(code) ? -WTERMSIG(code) : WEXITSTATUS(code), usage.ru_maxrss, work_of(&usage));
  }
  syscall(SYS_exit_group, 0);
}

static int run_main(int argc, char **argv, char **environment) {
  const char *list = getenv("COMP_INJECT"), *server = getenv("COMP_INJECT_SERVER"), *path = getenv("COMP_INJECT_WHERE");
  const char *times = getenv("COMP_INJECT_REPEAT"), *stack_file = getenv("COMP_INJECT_STACKS");
  void *frame;
  if (list) parse_list(list);
  all_memory = getenv("COMP_INJECT_ALL") != NULL;
  no_sync = getenv("COMP_INJECT_NO_SYNC") != NULL;
  fill = getenv("COMP_INJECT_FILL") != NULL;
  most_repeats = server && times ? atol(times) : 0;
  walk = server ? getenv("COMP_INJECT_WALK") : NULL;
  walk_ms = walk ? 1 : 0;
  if (server || path) snprintf(where, sizeof where, "%s%s", server ? server : path, server ? ".where" : "");
  if (stack_file) stacks = (int)syscall(SYS_open, stack_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dl_iterate_phdr(find_objects, NULL);
  backtrace(&frame, 1); /* loads what it needs */
  if (server) serve(server, argc, argv, environment);
  started = true;
  return real_main(argc, argv, environment);
}

int __libc_start_main(main_function *function, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack);

int __libc_start_main(main_function *function, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack) {
  real_main = function;
  return REAL(int, __libc_start_main, main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
              void *)(run_main, argc, argv, init, fini, loader_fini, stack);
}
