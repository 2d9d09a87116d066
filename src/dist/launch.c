/* launch.c: what a launcher says in the environment of the processes that it starts. */
#include <stdbool.h>
#include <stdlib.h>

#include "comp/dist.h"

/* Open MPI; MPICH and srun --mpi=pmi2; srun --mpi=pmix, which says how many only in Slurm's own words. In a batch
 * script outside srun Slurm's are set, too, but none of the ranks'. */
static const struct launcher {
  const char *rank, *ranks, *or_ranks;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL},
    {"PMI_RANK", "PMI_SIZE", NULL},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
};

/* A number in the environment. False: there is none. */
static bool number(size_t *out, const char *name) {
  const char *text = name ? getenv(name) : NULL;
  char *end;
  if (!text || text[0] < '0' || text[0] > '9') return false;
  unsigned long value = strtoul(text, &end, 10);
  if (*end != '\0' || value > 1000000) return false;
  *out = value;
  return true;
}

static void look(size_t *rank, size_t *ranks) {
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    const struct launcher *l = &launchers[i];
    if (number(rank, l->rank) && (number(ranks, l->ranks) || number(ranks, l->or_ranks)) && *rank < *ranks) return;
  }
  *rank = 0;
  *ranks = 1;
}

size_t comp_rank_count(void) {
  size_t rank, ranks;
  look(&rank, &ranks);
  return ranks;
}

size_t comp_rank(void) {
  size_t rank, ranks;
  look(&rank, &ranks);
  return rank;
}
