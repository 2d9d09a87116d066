/* paged.c: arrays in scratch files, and the thread that keeps few of their pages in memory. */
#include "core/paged.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"

/* A matrix beyond 1 / SHARE of the memory is in a file, and pages of files may take as much. */
enum { SHARE = 4 };

/* How often the pages are counted, in nanoseconds: a machine that reads 5 GB a second takes some 20 MB meanwhile. */
enum { PERIOD = 4000000 };

struct comp__paged {
  comp__pager *pager;
  comp__paged *previous, *next;
  void *block;
  size_t bytes;
};

struct comp__pager {
  size_t memory;
  bool asked;
  atomic_int users; /* the context, and each array */
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  comp__paged *first; /* the arrays; guarded by the mutex, as all below */
  pthread_t keeper;
  bool running, stop;
  pid_t process; /* a child made by fork() has the arrays, but not the keeper, and the mutex as it was then */
};

static bool is_ours(const comp__pager *pager) {
  return pager->process == getpid();
}

/* ---- The memory that may be taken ---- */

/* The limit in a file of a control group; 0: none. */
static size_t limit_in(const char *folder, const char *name) {
  char path[PATH_MAX];
  unsigned long long limit = 0;
  if (snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s", folder, name) >= (int)sizeof path) return 0;
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  if (fscanf(file, "%llu", &limit) != 1) limit = 0; /* "max" */
  fclose(file);
  return limit < (1ull << 60) ? (size_t)limit : 0;
}

static void take_less(size_t *memory, size_t limit) {
  if (limit > 0 && (*memory == 0 || limit < *memory)) *memory = limit;
}

size_t comp__machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  size_t memory = pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
  char line[PATH_MAX];
  FILE *file = fopen("/proc/self/cgroup", "re");
  while (file && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    const char *group = strchr(line, ':');
    if (!group) continue;
    const bool second = strncmp(group, "::", 2) == 0; /* of version 2 */
    if (second) take_less(&memory, limit_in(group + 2, "memory.max"));
    if (strncmp(group, ":memory:", 8) == 0) {
      char folder[PATH_MAX];
      snprintf(folder, sizeof folder, "memory%s", group + 8);
      take_less(&memory, limit_in(folder, "memory.limit_in_bytes"));
    }
  }
  if (file) fclose(file);
  take_less(&memory, limit_in(".", "memory.max")); /* in a container the group's own path may not be seen */
  return memory;
}

comp_status comp__pager_new(comp__pager **out, size_t memory, bool asked) {
  comp__pager *pager;
  *out = NULL;
  comp_status status = comp__calloc(&pager, 1, sizeof *pager);
  if (status != COMP_OK) return status;
  pager->memory = memory;
  pager->asked = asked;
  pager->process = getpid();
  atomic_init(&pager->users, 1);
  pthread_mutex_init(&pager->mutex, NULL);
  pthread_cond_init(&pager->wake, NULL);
  *out = pager;
  return COMP_OK;
}

static void stop_keeper(comp__pager *pager) {
  pthread_mutex_lock(&pager->mutex);
  pager->stop = true;
  pthread_cond_signal(&pager->wake);
  pthread_mutex_unlock(&pager->mutex);
  pthread_join(pager->keeper, NULL);
}

void comp__pager_leave(comp__pager *pager) {
  if (!pager || atomic_fetch_sub(&pager->users, 1) > 1) return;
  if (is_ours(pager)) {
    if (pager->running) stop_keeper(pager);
    pthread_cond_destroy(&pager->wake);
    pthread_mutex_destroy(&pager->mutex);
  }
  comp__free(pager);
}

size_t comp__pager_memory(const comp__pager *pager) {
  return pager->memory;
}

bool comp__pager_asked(const comp__pager *pager) {
  return pager->asked;
}

bool comp__pager_wants(const comp__pager *pager, size_t bytes) {
  return bytes > pager->memory / SHARE;
}

/* ---- The keeper ---- */

/* Bytes of files that are in this process: arrays, and the program itself. */
static size_t mapped_bytes(int statm) {
  char text[128];
  unsigned long long all, resident, shared;
  ssize_t n = pread(statm, text, sizeof text - 1, 0);
  if (n <= 0) return 0;
  text[n] = '\0';
  if (sscanf(text, "%llu %llu %llu", &all, &resident, &shared) != 3) return 0;
  return (size_t)shared * (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes all pages of arrays out of the process. Nothing is lost: the mapping is shared with the file. */
static void let_go(const comp__pager *pager) {
  for (const comp__paged *p = pager->first; p; p = p->next) (void)madvise(p->block, p->bytes, MADV_DONTNEED);
}

static void *keep(void *arg) {
  comp__pager *pager = arg;
  const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const size_t before = mapped_bytes(statm), most = pager->memory / SHARE;
  pthread_mutex_lock(&pager->mutex);
  while (!pager->stop) {
    struct timespec until;
    if (!pager->first || statm < 0) {
      pthread_cond_wait(&pager->wake, &pager->mutex);
      continue;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PERIOD;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&pager->wake, &pager->mutex, &until);
    const size_t now = mapped_bytes(statm);
    if (now > before && now - before > most) let_go(pager);
  }
  pthread_mutex_unlock(&pager->mutex);
  if (statm >= 0) close(statm);
  return NULL;
}

/* Signals are for the threads that are there already. */
static int start_keeper(comp__pager *pager) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int failed = pthread_create(&pager->keeper, NULL, keep, pager);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return failed;
}

/* ---- Arrays ---- */

const char *comp__scratch_folder(void) {
  const char *folder = getenv("TMPDIR");
  if (folder && folder[0]) return folder;
  return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

/* A file without a name; -1 and errno when it cannot be made. */
static int open_scratch(const char *folder) {
  int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/comp-XXXXXX", folder) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  file = mkostemp(path, O_CLOEXEC);
  if (file >= 0) unlink(path);
  return file;
}

/* Reserves the room first: a page that finds none later would end the program. */
static comp_status map_scratch(void **out, size_t bytes) {
  const char *folder = comp__scratch_folder();
  int file = open_scratch(folder);
  if (file < 0) return comp__error_errno("cannot make a scratch file in %s (TMPDIR names another folder)", folder);
  int failed;
  do failed = posix_fallocate(file, 0, (off_t)bytes);
  while (failed == EINTR);
  if (failed) {
    close(file);
    errno = failed;
    return comp__error_errno("there is no room for a scratch file of %zu MB in %s (TMPDIR names another folder; with "
                             "more --memory less is put there)",
                             (bytes >> 20) + 1, folder);
  }
  *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  comp_status status =
      *out == MAP_FAILED ? comp__error_errno("cannot map a scratch file of %zu bytes", bytes) : COMP_OK;
  close(file);
  return status;
}

static void join_list(comp__pager *pager, comp__paged *p) {
  pthread_mutex_lock(&pager->mutex);
  p->next = pager->first;
  if (p->next) p->next->previous = p;
  pager->first = p;
  /* Without it all is right, only more pages may stay. */
  if (!pager->running) pager->running = start_keeper(pager) == 0;
  pthread_cond_signal(&pager->wake);
  pthread_mutex_unlock(&pager->mutex);
}

comp_status comp__paged_new(comp__paged **out, void **block, comp__pager *pager, size_t bytes) {
  comp__paged *p;
  *out = NULL;
  *block = NULL;
  comp_status status = comp__calloc(&p, 1, sizeof *p);
  if (status != COMP_OK) return status;
  p->pager = pager;
  p->bytes = bytes > 0 ? bytes : 1;
  status = map_scratch(&p->block, p->bytes);
  if (status != COMP_OK) {
    comp__free(p);
    return status;
  }
  atomic_fetch_add(&pager->users, 1);
  join_list(pager, p);
  *out = p;
  *block = p->block;
  return COMP_OK;
}

void comp__paged_free(comp__paged *p) {
  if (!p) return;
  comp__pager *pager = p->pager;
  if (is_ours(pager)) {
    pthread_mutex_lock(&pager->mutex);
    if (p->previous)
      p->previous->next = p->next;
    else
      pager->first = p->next;
    if (p->next) p->next->previous = p->previous;
    pthread_mutex_unlock(&pager->mutex);
  }
  munmap(p->block, p->bytes);
  comp__free(p);
  comp__pager_leave(pager);
}
