/*
 * score_dump.c: what tests/oracle/test_score.py cannot see through the program: single p-values, single silhouettes,
 * clusters.
 *
 *   score_dump tail               reads lines "x dof", prints the chi-square tail of each
 *   score_dump samples FILE OBSM CONDITION K    p-value, local silhouette and LISI of conditions (k 90) of each sample
 *   score_dump seconds FILE OBSM CONDITION K    seconds for the neighbours, and for p-values and silhouettes from them
 *   score_dump kmeans FILE OBSM CLUSTERS        the cluster of each sample, after a first line with the inertia
 *   score_dump connectivity FILE OBSM K         edges of the graph of K neighbours: a, b, weight
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/connectivity.h"
#include "cluster/kmeans.h"
#include "comp/comp.h"
#include "core/context.h"
#include "io/options.h"
#include "metrics/neighborhood.h"
#include "neighbors/options.h"

static void require(comp_status status) {
  if (status == COMP_OK) return;
  fprintf(stderr, "%s\n", comp_error_message());
  exit(1);
}

static void dump_tail(void) {
  double x, dof;
  while (scanf("%lf %lf", &x, &dof) == 2) printf("%.17g\n", comp__chi_square_tail(x, dof));
}

static comp_neighbors *find(comp_context *context, const comp_matrix *points, size_t k) {
  comp__neighbors_options options = comp__neighbors_defaults();
  comp_neighbors *neighbors;
  options.k = k;
  options.search = COMP_SEARCH_EXACT;
  require(comp__neighbors_find(&neighbors, context, points, &options));
  return neighbors;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void dump_samples(comp_context *context, const comp_dataset *d, const comp_matrix *points, const char *condition,
                         size_t k, bool seconds) {
  comp_groups groups;
  size_t column, n = comp_matrix_rows(points), stored = k < 89 ? 89 : k;
  require(comp_table_require(&column, comp_dataset_obs(d), condition));
  require(comp_table_groups(&groups, comp_dataset_obs(d), column));
  double start = now();
  comp_neighbors *neighbors = find(context, points, stored);
  double found = now();
  comp__neighborhoods h = {.n = n,
                           .k = k,
                           .stride = stored,
                           .indices = comp_neighbors_indices(neighbors),
                           .distances = comp_neighbors_distances(neighbors),
                           .group = groups.codes,
                           .groups = groups.n_levels,
                           .counts = groups.counts,
                           .n_rows = n};
  double *p = calloc(3 * n, sizeof *p), *s = p + n, *lisi = s + n;
  require(comp__kbet_pvals(p, context, &h));
  require(comp__local_silhouettes(s, context, &h));
  if (seconds) printf("%.6f %.6f\n", found - start, now() - found);
  h.k = 89; /* and the sample itself */
  require(comp__lisi(lisi, context, &h));
  for (size_t i = 0; !seconds && i < n; i++) printf("%.17g %.17g %.17g\n", p[i], s[i], lisi[i]);
  free(p);
  comp_neighbors_free(neighbors);
  comp_groups_release(&groups);
}

static void dump_kmeans(comp_context *context, const comp_matrix *points, size_t clusters) {
  comp__kmeans_options options = COMP__KMEANS_OPTIONS_INIT;
  size_t n = comp_matrix_rows(points);
  int32_t *found = calloc(n, sizeof *found);
  double inertia;
  options.clusters = clusters;
  require(comp__kmeans(found, NULL, &inertia, context, comp_matrix_const_values(points), n, comp_matrix_cols(points),
                       &options));
  printf("%.17g\n", inertia);
  for (size_t i = 0; i < n; i++) printf("%d\n", (int)found[i]);
  free(found);
}

static void dump_connectivity(comp_context *context, const comp_matrix *points, size_t k) {
  comp_neighbors *neighbors = find(context, points, k);
  comp__weighted_graph graph;
  require(comp__connectivity(&graph, context, comp_neighbors_indices(neighbors), comp_neighbors_distances(neighbors),
                             comp_neighbors_rows(neighbors), k, k));
  for (size_t e = 0; e < graph.n_edges; e++)
    printf("%d %d %.17g\n", (int)graph.edges[e].a, (int)graph.edges[e].b, graph.edges[e].weight);
  comp__weighted_graph_release(&graph);
  comp_neighbors_free(neighbors);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "tail") == 0) {
    dump_tail();
    return 0;
  }
  if (argc < 5) {
    fputs("usage: score_dump tail | samples|seconds FILE OBSM CONDITION K | kmeans FILE OBSM K | connectivity FILE "
          "OBSM K\n",
          stderr);
    return 2;
  }
  comp__context_options options = comp__context_defaults();
  comp__read_options read = {0};
  comp_context *context;
  comp_dataset *d;
  require(comp__context_new(&context, &options));
  read.skip_x = true;
  require(comp__dataset_read(&d, context, argv[2], &read));
  const comp_matrix *points = comp_dataset_matrix(d, COMP_SLOT_OBSM, argv[3]);
  if (!points) return 1;
  size_t number = strtoul(argv[argc - 1], NULL, 10);
  if (strcmp(argv[1], "samples") == 0) dump_samples(context, d, points, argv[4], number, false);
  if (strcmp(argv[1], "seconds") == 0) dump_samples(context, d, points, argv[4], number, true);
  if (strcmp(argv[1], "kmeans") == 0) dump_kmeans(context, points, number);
  if (strcmp(argv[1], "connectivity") == 0) dump_connectivity(context, points, number);
  comp_dataset_free(d);
  comp_context_free(context);
  return 0;
}
