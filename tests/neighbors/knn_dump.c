/* knn_dump.c: neighbours of the rows of a file, for oracles and measurements: knn_dump POINTS K
 * euclidean|cosine exact|approximate|auto THREADS OUT [QUERIES]. Writes indices (i32) then distances (f32) to OUT
 * and prints seconds, recall and CPU seconds; says on stderr which way a search took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comp/comp.h"
#include "core/context.h"
#include "neighbors/options.h"

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* An f32 matrix, [rows, cols], as "ROWS COLS" in text on the first line and raw values after it. */
static comp_matrix *read_matrix(const char *path) {
  FILE *file = fopen(path, "rb");
  size_t rows, cols;
  comp_matrix *matrix = NULL;
  if (!file || fscanf(file, "%zu %zu", &rows, &cols) != 2 || fgetc(file) != '\n' ||
      comp_matrix_new_dense(&matrix, rows, cols) != COMP_OK ||
      fread(comp_matrix_values(matrix), sizeof(float), rows * cols, file) != rows * cols) {
    fprintf(stderr, "%s: cannot read\n", path);
    exit(1);
  }
  fclose(file);
  return matrix;
}

static void show(void *user, comp_log_level level, const char *message) {
  (void)user;
  (void)level;
  fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv) {
  if (argc < 7) return 2;
  comp_matrix *points = read_matrix(argv[1]), *queries = argc > 7 ? read_matrix(argv[7]) : NULL;
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = (size_t)atol(argv[2]);
  options.metric = strcmp(argv[3], "cosine") ? COMP_DISTANCE_EUCLIDEAN : COMP_DISTANCE_COSINE;
  options.search = !strcmp(argv[4], "exact")         ? COMP_SEARCH_EXACT
                   : !strcmp(argv[4], "approximate") ? COMP_SEARCH_APPROXIMATE
                                                     : COMP_SEARCH_AUTO;
  comp__context_options context_options = comp__context_defaults();
  context_options.threads = atoi(argv[5]);
  context_options.log_level = COMP_LOG_DEBUG;
  comp_context *context = NULL;
  comp_neighbors *neighbors = NULL;
  comp_status status = comp__context_new(&context, &context_options);
  if (status == COMP_OK) comp_context_on_log(context, show, NULL);
  double start = seconds(CLOCK_MONOTONIC), start_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
  if (status == COMP_OK)
    status = queries ? comp__neighbors_query(&neighbors, context, points, queries, &options)
                     : comp__neighbors_find(&neighbors, context, points, &options);
  if (status != COMP_OK) {
    fprintf(stderr, "%s\n", comp_error_message());
    return 1;
  }
  printf("%.6f %.6f %.6f\n", seconds(CLOCK_MONOTONIC) - start, comp_neighbors_recall(neighbors),
         seconds(CLOCK_PROCESS_CPUTIME_ID) - start_cpu);
  FILE *file = fopen(argv[6], "wb");
  size_t count = comp_neighbors_rows(neighbors) * options.k;
  bool written = file && fwrite(comp_neighbors_indices(neighbors), 4, count, file) == count &&
                 fwrite(comp_neighbors_distances(neighbors), 4, count, file) == count;
  if (!file || fclose(file) != 0) written = false;
  comp_neighbors_free(neighbors);
  comp_matrix_free(points);
  comp_matrix_free(queries);
  comp_context_free(context);
  return written ? 0 : 1;
}
