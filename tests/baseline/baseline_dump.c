/*
 * baseline_dump.c: runs a baseline with what the program has no option for, for oracles and benchmarks. Not installed.
 *
 *     baseline_dump IN.h5ad METHOD CONDITION OUT.bin [NAME=VALUE ...]
 *
 * OUT.bin gets the embedding (float32, row after row); seconds, rows and columns are printed. Names: rep, covariate,
 * reference, components, clusters, max_iter, seed, threads; centroids (a file of float32, clusters x dimensions);
 * orders=N:FILE (the orders of the first N clustering steps of harmony, as int64); layer=FILE (gets the corrected
 * matrix, as float32); anchors=FILE (gets the anchors of seurat-cca: two rows and the score of each, as double).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "baseline/anchors.h"
#include "baseline/harmony.h"
#include "comp/comp.h"
#include "core/context.h"

static void die(const char *what) {
  fprintf(stderr, "baseline_dump: %s\n", what);
  exit(1);
}

static void must(comp_status status) {
  if (status != COMP_OK) die(comp_error_message());
}

static void put(const char *path, const void *data, size_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) die(path);
}

/* The whole file as a matrix of so many rows. */
static comp_matrix *get_centroids(const char *path, size_t rows) {
  FILE *file = fopen(path, "rb");
  if (!file || rows == 0) die("centroids: a file, and clusters=N before it");
  fseek(file, 0, SEEK_END);
  size_t n = (size_t)ftell(file) / sizeof(float);
  rewind(file);
  comp_matrix *matrix;
  must(comp_matrix_new_dense(&matrix, rows, n / rows));
  if (fread(comp_matrix_values(matrix), sizeof(float), n / rows * rows, file) != n / rows * rows) die(path);
  fclose(file);
  return matrix;
}

static void put_orders(const char *value, size_t n, uint64_t seed) {
  char *path;
  size_t steps = strtoul(value, &path, 10);
  FILE *file = fopen(path + 1, "wb");
  size_t *order = malloc(n * sizeof *order);
  if (!file || !order) die(value);
  for (size_t s = 0; s < steps; s++) {
    comp__harmony_order(order, n, seed, s);
    for (size_t i = 0; i < n; i++) {
      int64_t at = (int64_t)order[i];
      if (fwrite(&at, sizeof at, 1, file) != 1) die(value);
    }
  }
  fclose(file);
  free(order);
}

static void put_anchors(const char *path, comp_context *context, const comp_dataset *dataset,
                        const comp__baseline_options *o) {
  comp__anchors anchors;
  must(comp__seurat_anchors(&anchors, context, dataset, o));
  double *all = malloc((3 * anchors.n + 1) * sizeof *all);
  if (!all) die(path);
  for (size_t i = 0; i < anchors.n; i++) {
    all[3 * i] = (double)anchors.list[i].left;
    all[3 * i + 1] = (double)anchors.list[i].right;
    all[3 * i + 2] = anchors.list[i].score;
  }
  put(path, all, 3 * anchors.n * sizeof *all);
  free(all);
  comp__anchors_release(&anchors);
}

/* What a method says of its own time, for benchmarks. */
static void show(void *user, comp_log_level level, const char *message) {
  (void)user;
  (void)level;
  fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv) {
  comp__context_options co = comp__context_defaults();
  co.log_level = COMP_LOG_DEBUG;
  comp__baseline_options o = comp__baseline_defaults();
  comp_context *context;
  comp_dataset *dataset, *results;
  comp_matrix *centroids = NULL;
  const comp_baseline_method *method;
  const char *covariate, *orders = NULL, *anchors = NULL, *layer = NULL;
  if (argc < 5) die("IN.h5ad METHOD CONDITION OUT.bin [NAME=VALUE ...]");
  o.condition = argv[3];
  for (int i = 5; i < argc; i++) {
    char *name = argv[i], *value = strchr(name, '=');
    if (!value) die(name);
    *value++ = '\0';
    if (strcmp(name, "rep") == 0)
      o.rep = value;
    else if (strcmp(name, "reference") == 0)
      o.reference = value;
    else if (strcmp(name, "components") == 0)
      o.components = strtoul(value, NULL, 10);
    else if (strcmp(name, "clusters") == 0)
      o.clusters = strtoul(value, NULL, 10);
    else if (strcmp(name, "max_iter") == 0)
      o.max_iter = strtoul(value, NULL, 10);
    else if (strcmp(name, "seed") == 0)
      o.seed = strtoul(value, NULL, 10);
    else if (strcmp(name, "threads") == 0)
      co.threads = atoi(value);
    else if (strcmp(name, "centroids") == 0)
      o.centroids = centroids = get_centroids(value, o.clusters);
    else if (strcmp(name, "orders") == 0)
      orders = value;
    else if (strcmp(name, "anchors") == 0)
      anchors = value;
    else if (strcmp(name, "layer") == 0)
      layer = value;
    else if (strcmp(name, "covariate") == 0) {
      covariate = value;
      o.covariates = &covariate;
      o.n_covariates = 1;
    } else
      die(name);
  }
  must(comp__context_new(&context, &co));
  comp_context_on_log(context, show, NULL);
  must(comp_dataset_read(&dataset, context, argv[1], NULL));
  must(comp_baseline_find(&method, argv[2]));
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  must(comp__baseline_method(&results, context, dataset, argv[2], &o));
  clock_gettime(CLOCK_MONOTONIC, &to);
  comp_matrix *embedding = comp_dataset_matrix(results, COMP_SLOT_OBSM, method->embedding);
  put(argv[4], comp_matrix_values(embedding), comp_matrix_nnz(embedding) * sizeof(float));
  if (layer) {
    const comp_matrix *corrected = method->layer ? comp_dataset_matrix(results, COMP_SLOT_LAYERS, method->layer) : NULL;
    if (!corrected) die("layer: the method makes none");
    put(layer, comp_matrix_const_values(corrected), comp_matrix_nnz(corrected) * sizeof(float));
  }
  if (anchors) put_anchors(anchors, context, dataset, &o);
  if (orders) put_orders(orders, comp_dataset_sample_count(dataset), o.seed);
  printf("%.4f %zu %zu %.0f\n", (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec),
         comp_matrix_rows(embedding), comp_matrix_cols(embedding), (double)comp_peak_memory() / 1e6);
  comp_matrix_free(centroids);
  comp_dataset_free(results);
  comp_dataset_free(dataset);
  comp_context_free(context);
  return 0;
}
