/*
 * start.c: before anything else of the program runs, also before the libraries that it is linked with start.
 *
 * OpenBLAS takes buffers when it is loaded, and under a limit of address space (ulimit -v, as batch systems set it) it
 * tries for ever to get them. That would be before main(): so the limit is checked and reported here.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What OpenBLAS 0.3.21 takes with one thread: two buffers of 128 MB at its start, a third one at its first product (see
 * src/linalg/lapack.c), and a little beside them. */
enum { WANTED_MB = 480, TOLD_MB = 768 };

static int is_openblas(struct dl_phdr_info *info, size_t size, void *user) {
  (void)size, (void)user;
  return info->dlpi_name && strstr(info->dlpi_name, "openblas") != NULL;
}

/* Bytes of address space in use; 0: unknown. */
static rlim_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return 0;
  if (fscanf(file, "%lu", &pages) != 1) pages = 0;
  fclose(file);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void check_space(int argc, char **argv, char **environment) {
  (void)argc, (void)argv, (void)environment;
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (!dl_iterate_phdr(is_openblas, NULL)) return;
  setenv("OPENBLAS_NUM_THREADS", "1", 1); /* fewer buffers; its threads are not used here */
  setenv("OMP_NUM_THREADS", "1", 0);
  if (address_space() + ((rlim_t)WANTED_MB << 20) <= limit.rlim_cur) return;
  fprintf(stderr,
          "comp: only %llu MB of address space are allowed (ulimit -v), which is too little to start: allow %d MB or "
          "more\n",
          (unsigned long long)(limit.rlim_cur >> 20), TOLD_MB);
  fflush(stderr);
  _exit(1);
}

/* Run before the start of any shared library. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = check_space;
