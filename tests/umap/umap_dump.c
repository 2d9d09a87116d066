/* umap_dump.c: UMAP of raw points, for oracles and measurements. The first argument says what:
 *   curve MIN_DIST SPREAD                                        prints a and b
 *   graph POINTS NEIGHBORS METRIC                                prints the edges: from, to, weight
 *   run POINTS NEIGHBORS METRIC A B EPOCHS INIT SEED THREADS OUT prints seconds; A = 0: by default
 *   new POINTS LAYOUT QUERIES NEIGHBORS OUT                      new points among old ones
 * A file of points is a line "ROWS COLS" and f32 values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comp/comp.h"
#include "core/context.h"
#include "neighbors/options.h"
#include "umap/options.h"
#include "umap/umap.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, comp_error_message());
  exit(1);
}

static comp_matrix *read_matrix(const char *path) {
  FILE *file = fopen(path, "rb");
  size_t rows, cols;
  comp_matrix *matrix = NULL;
  must(file && fscanf(file, "%zu %zu", &rows, &cols) == 2 && fgetc(file) == '\n' &&
           comp_matrix_new_dense(&matrix, rows, cols) == COMP_OK &&
           fread(comp_matrix_values(matrix), sizeof(float), rows * cols, file) == rows * cols,
       path);
  fclose(file);
  return matrix;
}

static void write_matrix(const char *path, const comp_matrix *matrix) {
  FILE *file = fopen(path, "wb");
  must(file, path);
  size_t count = comp_matrix_nnz(matrix);
  fprintf(file, "%zu %zu\n", comp_matrix_rows(matrix), comp_matrix_cols(matrix));
  must(fwrite(comp_matrix_const_values(matrix), sizeof(float), count, file) == count, path);
  must(fclose(file) == 0, path);
}

static void print_graph(comp_context *context, const comp_matrix *points, size_t neighbors, comp_distance metric) {
  comp__neighbors_options options = {neighbors - 1, metric, COMP_SEARCH_EXACT};
  comp_neighbors *found;
  must(comp__neighbors_find(&found, context, points, &options) == COMP_OK, "neighbors");
  size_t n = comp_matrix_rows(points), k = options.k;
  float *weights = malloc(n * k * sizeof *weights);
  comp__graph graph;
  must(weights && comp__umap_strengths(weights, context, comp_neighbors_distances(found), n, k, true) == COMP_OK &&
           comp__umap_union(&graph, comp_neighbors_indices(found), weights, n, k) == COMP_OK,
       "graph");
  for (size_t i = 0; i < n; i++)
    for (size_t e = graph.indptr[i]; e < graph.indptr[i + 1]; e++)
      printf("%zu %d %.9g\n", i, (int)graph.indices[e], (double)graph.weights[e]);
  comp__graph_release(&graph);
  comp_neighbors_free(found);
  free(weights);
}

static comp_distance metric_of(const char *name) {
  return strcmp(name, "cosine") ? COMP_DISTANCE_EUCLIDEAN : COMP_DISTANCE_COSINE;
}

int main(int argc, char **argv) {
  comp__context_options context_options = comp__context_defaults();
  if (argc == 12) context_options.threads = atoi(argv[10]);
  comp_context *context;
  must(comp__context_new(&context, &context_options) == COMP_OK, "context");
  comp__umap_options options = comp__umap_defaults();
  if (argc == 4 && !strcmp(argv[1], "curve")) {
    double a, b;
    must(comp_umap_curve(&a, &b, atof(argv[2]), atof(argv[3])) == COMP_OK, "curve");
    printf("%.12g %.12g\n", a, b);
  } else if (argc == 5 && !strcmp(argv[1], "graph")) {
    comp_matrix *points = read_matrix(argv[2]);
    print_graph(context, points, (size_t)atol(argv[3]), metric_of(argv[4]));
    comp_matrix_free(points);
  } else if (argc == 12 && !strcmp(argv[1], "run")) {
    comp_matrix *points = read_matrix(argv[2]), *layout;
    options.neighbors = (size_t)atol(argv[3]);
    options.metric = metric_of(argv[4]);
    if (atof(argv[5]) > 0.0) {
      options.a = atof(argv[5]);
      options.b = atof(argv[6]);
    }
    options.epochs = (size_t)atol(argv[7]);
    options.init = !strcmp(argv[8], "spectral") ? COMP_UMAP_SPECTRAL
                   : !strcmp(argv[8], "pca")    ? COMP_UMAP_PCA
                                                : COMP_UMAP_RANDOM;
    options.seed = (uint64_t)atol(argv[9]);
    double start = seconds();
    must(comp__umap_run(&layout, NULL, context, points, &options) == COMP_OK, "umap");
    printf("%.6f\n", seconds() - start);
    write_matrix(argv[11], layout);
    comp_matrix_free(points);
    comp_matrix_free(layout);
  } else if (argc == 7 && !strcmp(argv[1], "new")) {
    comp_matrix *points = read_matrix(argv[2]), *layout = read_matrix(argv[3]), *queries = read_matrix(argv[4]), *moved;
    options.neighbors = (size_t)atol(argv[5]);
    must(comp__umap_transform(&moved, NULL, context, points, layout, queries, &options) == COMP_OK, "umap");
    write_matrix(argv[6], moved);
    comp_matrix_free(points);
    comp_matrix_free(layout);
    comp_matrix_free(queries);
    comp_matrix_free(moved);
  } else {
    return 2;
  }
  comp_context_free(context);
  return 0;
}
