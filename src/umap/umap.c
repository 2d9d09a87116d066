/* umap.c: from points to a layout: neighbours, graph, start, descent. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "linalg/linalg.h"
#include "neighbors/options.h"
#include "umap/options.h"
#include "umap/umap.h"

enum { MOST_DIMENSIONS = 64, SMALL = 10000 };

static comp_status choose_curve(comp_umap_info *info, const comp__umap_options *options) {
  info->a = options->a;
  info->b = options->b;
  return isnan(options->a) ? comp_umap_curve(&info->a, &info->b, options->min_dist, options->spread) : COMP_OK;
}

/* Leaves out edges too weak to be visited in that many epochs. */
static void prune(comp__graph *graph, size_t epochs) {
  float most = 0.0f;
  const size_t edges = graph->indptr[graph->n];
  for (size_t e = 0; e < edges; e++) most = graph->weights[e] > most ? graph->weights[e] : most;
  const float least = most / (float)epochs;
  size_t at = 0;
  for (size_t i = 0, first = 0; i < graph->n; i++) {
    const size_t last = graph->indptr[i + 1];
    for (size_t e = first; e < last; e++) {
      if (graph->weights[e] < least) continue;
      graph->indices[at] = graph->indices[e];
      graph->weights[at++] = graph->weights[e];
    }
    graph->indptr[i + 1] = at;
    first = last;
  }
}

static comp_status make_graph(comp__graph *out, comp_umap_info *info, comp_context *context, const comp_matrix *points,
                              const comp__umap_options *options) {
  const size_t n = comp_matrix_rows(points);
  comp__neighbors_options search = comp__neighbors_defaults();
  search.k = options->neighbors - 1 < n - 1 ? options->neighbors - 1 : n - 1;
  if (options->neighbors > n)
    comp__warn(context, "neighbors: %zu, but there are %zu points: all of them are taken", options->neighbors, n);
  search.metric = options->metric;
  search.search = options->search;
  comp_neighbors *neighbors = NULL;
  float *weights = NULL;
  comp_status status;
  COMP__TRY(comp__neighbors_find(&neighbors, context, points, &search));
  info->recall = comp_neighbors_recall(neighbors);
  COMP__TRY(comp__alloc(&weights, n, search.k * sizeof *weights));
  COMP__TRY(comp__umap_strengths(weights, context, comp_neighbors_distances(neighbors), n, search.k, true));
  COMP__TRY(comp__umap_union(out, comp_neighbors_indices(neighbors), weights, n, search.k));
done:
  comp_neighbors_free(neighbors);
  comp__free(weights);
  return status;
}

static comp_status start_pca(float *layout, comp_context *context, const comp_matrix *points, size_t dims,
                             uint64_t seed) {
  const size_t n = comp_matrix_rows(points), features = comp_matrix_cols(points);
  comp__pca pca = {0};
  comp_status status;
  if (dims > features || dims > n)
    return comp__error(COMP_ERR_ARGUMENT, "init: %zu principal components of %zu features and %zu points", dims,
                       features, n);
  comp__pca_options options = {.components = dims, .seed = seed};
  COMP__TRY(comp__pca_fit(&pca, context, points, &options));
  memcpy(layout, pca.scores, n * dims * sizeof *layout);
done:
  comp__pca_release(&pca);
  return status;
}

/* Scales to 10 at most, jitters, and puts every dimension in 0 .. 10. */
static void settle(float *layout, size_t n, size_t dims, uint64_t seed) {
  float most = 0.0f;
  for (size_t i = 0; i < n * dims; i++) most = fmaxf(most, fabsf(layout[i]));
  const double scale = most > 0.0f ? 10.0 / (double)most : 0.0;
  for (size_t i = 0; i < n; i++)
    for (size_t d = 0; d < dims; d++) {
      double noise = 1e-4 * comp__rng_normal(comp__rng_at(seed, COMP__RNG_UMAP, UINT64_MAX - 3, i), d);
      layout[i * dims + d] = (float)(scale * (double)layout[i * dims + d] + noise);
    }
  for (size_t d = 0; d < dims; d++) {
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
      low = fminf(low, layout[i * dims + d]);
      high = fmaxf(high, layout[i * dims + d]);
    }
    for (size_t i = 0; i < n; i++)
      layout[i * dims + d] = high > low ? 10.0f * (layout[i * dims + d] - low) / (high - low) : 0.0f;
  }
}

static comp_status start(float *layout, comp_umap_info *info, comp_context *context, const comp__graph *graph,
                         const comp_matrix *points, const comp__umap_options *options) {
  const size_t n = graph->n, dims = options->dimensions;
  int32_t *component = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&component, n, sizeof *component));
  COMP__TRY(comp__graph_components(component, &info->components, graph));
  if (options->init == COMP_UMAP_SPECTRAL)
    COMP__TRY(comp__umap_spectral(layout, context, graph, component, info->components, points, dims, options->seed));
  else if (options->init == COMP_UMAP_PCA)
    COMP__TRY(start_pca(layout, context, points, dims, options->seed));
  else
    for (size_t i = 0; i < n; i++)
      for (size_t d = 0; d < dims; d++)
        layout[i * dims + d] =
            (float)(20.0 * comp__rng_uniform(comp__rng_at(options->seed, COMP__RNG_UMAP, UINT64_MAX - 4, i), d) - 10.0);
  settle(layout, n, dims, options->seed);
done:
  comp__free(component);
  return status;
}

/* The layout is finite: with extreme a, b or rate it might not be. */
static comp_status check_layout(const float *layout, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!isfinite(layout[i]))
      return comp__error(COMP_ERR_NUMERIC, "the layout diverged; lower the rate, or change a and b");
  return COMP_OK;
}

/* All points. */
static comp_status lay_out(comp_matrix **out, comp_umap_info *info, comp_context *context, const comp_matrix *points,
                           const comp__umap_options *options) {
  const size_t n = comp_matrix_rows(points);
  comp__graph graph = {0};
  comp_matrix *layout = NULL;
  comp_status status;
  if (n < 2) COMP__FAIL(COMP_ERR_DATA, "%zu points have no neighbours", n);
  COMP__TRY(choose_curve(info, options));
  info->epochs = options->epochs ? options->epochs : n <= SMALL ? 500 : 200;
  COMP__TRY(make_graph(&graph, info, context, points, options));
  if (info->epochs > 10) prune(&graph, info->epochs);
  info->edges = graph.indptr[n] / 2;
  COMP__TRY(comp_matrix_new_dense(&layout, n, options->dimensions));
  float *values = comp_matrix_values(layout);
  COMP__TRY(start(values, info, context, &graph, points, options));
  comp__umap_layout descent = {.graph = &graph,
                               .heads = values,
                               .n_tails = n,
                               .dims = options->dimensions,
                               .epochs = info->epochs,
                               .negative = options->negative,
                               .a = info->a,
                               .b = info->b,
                               .rate = options->rate,
                               .seed = options->seed,
                               .fast = options->fast};
  COMP__TRY(comp__umap_optimise(&descent, context));
  COMP__TRY(check_layout(values, n * options->dimensions));
  *out = layout;
  layout = NULL;
done:
  comp__graph_release(&graph);
  comp_matrix_free(layout);
  return status;
}

/* Edges from new points to old ones; `start` gets the weighted means of their ends. */
static comp_status make_bridge(comp__graph *out, float *positions, comp_umap_info *info, comp_context *context,
                               const comp_matrix *points, const comp_matrix *layout, const comp_matrix *queries,
                               const comp__umap_options *options) {
  const size_t m = comp_matrix_rows(queries), n = comp_matrix_rows(points), dims = comp_matrix_cols(layout);
  const float *old = comp_matrix_const_values(layout);
  comp__neighbors_options search = comp__neighbors_defaults();
  search.k = options->neighbors < n ? options->neighbors : n;
  search.metric = options->metric;
  search.search = options->search;
  const size_t k = search.k;
  comp_neighbors *neighbors = NULL;
  comp_status status;
  COMP__TRY(comp__neighbors_query(&neighbors, context, points, queries, &search));
  info->recall = comp_neighbors_recall(neighbors);
  out->n = m;
  COMP__TRY(comp__alloc(&out->indptr, m + 1, sizeof *out->indptr));
  COMP__TRY(comp__alloc(&out->indices, m * k, sizeof *out->indices));
  COMP__TRY(comp__alloc(&out->weights, m * k, sizeof *out->weights));
  for (size_t i = 0; i <= m; i++) out->indptr[i] = i * k;
  memcpy(out->indices, comp_neighbors_indices(neighbors), m * k * sizeof *out->indices);
  COMP__TRY(comp__umap_strengths(out->weights, context, comp_neighbors_distances(neighbors), m, k, false));
  for (size_t i = 0; i < m; i++)
    for (size_t d = 0; d < dims; d++) {
      double sum = 0.0, total = 0.0;
      for (size_t e = i * k; e < (i + 1) * k; e++) {
        sum += (double)out->weights[e] * (double)old[(size_t)out->indices[e] * dims + d];
        total += (double)out->weights[e];
      }
      positions[i * dims + d] = (float)(sum / total);
    }
done:
  comp_neighbors_free(neighbors);
  return status;
}

comp_status comp__umap_transform(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                 const comp_matrix *points, const comp_matrix *layout, const comp_matrix *queries,
                                 const comp__umap_options *options) {
  const size_t n = comp_matrix_rows(points), m = comp_matrix_rows(queries), dims = comp_matrix_cols(layout);
  comp_umap_info local;
  comp__graph graph = {0};
  comp_matrix *result = NULL;
  size_t row, col;
  comp_status status;
  *out = NULL;
  if (!info) info = &local;
  *info = (comp_umap_info){.recall = 1.0};
  COMP__TRY(comp__options_check(&comp__umap_kind, options));
  if (comp_matrix_get_kind(layout) != COMP_DENSE || dims < 1 || dims > MOST_DIMENSIONS)
    COMP__FAIL(COMP_ERR_ARGUMENT, "layout: a dense matrix of 1 to %d columns is needed", MOST_DIMENSIONS);
  if (comp_matrix_rows(layout) != n)
    COMP__FAIL(COMP_ERR_ARGUMENT, "layout: %zu rows for %zu points", comp_matrix_rows(layout), n);
  if (comp__matrix_find_nonfinite(&row, &col, context, layout))
    COMP__FAIL(COMP_ERR_DATA, "layout: row %zu, column %zu is not finite", row + 1, col + 1);
  COMP__TRY(choose_curve(info, options));
  info->epochs = options->epochs ? options->epochs / 3 : m <= SMALL ? 100 : 30;
  COMP__TRY(comp_matrix_new_dense(&result, m, dims));
  float *values = comp_matrix_values(result);
  COMP__TRY(make_bridge(&graph, values, info, context, points, layout, queries, options));
  if (info->epochs > 0) prune(&graph, info->epochs);
  info->edges = graph.indptr[m];
  comp__umap_layout descent = {.graph = &graph,
                               .heads = values,
                               .tails = comp_matrix_const_values(layout),
                               .n_tails = n,
                               .dims = dims,
                               .epochs = info->epochs,
                               .negative = options->negative,
                               .a = info->a,
                               .b = info->b,
                               .rate = options->rate / 4.0,
                               .seed = options->seed};
  COMP__TRY(comp__umap_optimise(&descent, context));
  COMP__TRY(check_layout(values, m * dims));
  *out = result;
  result = NULL;
done:
  comp__graph_release(&graph);
  comp_matrix_free(result);
  return status;
}

/* Lays some points out and places the others among them. `info` is of the former, but for the worse recall. */
static comp_status lay_out_some(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                const comp_matrix *points, const comp__umap_options *options) {
  const size_t n = comp_matrix_rows(points), most = options->max_samples, dims = options->dimensions;
  comp_matrix *parts[2] = {NULL, NULL}, *places[2] = {NULL, NULL};
  size_t *rows = NULL;
  comp_umap_info of_others;
  comp_status status;
  COMP__TRY(comp__alloc(&rows, n, sizeof *rows));
  COMP__TRY(comp__rng_draw(rows, most, n, comp__rng_at(options->seed, COMP__RNG_UMAP, UINT64_MAX - 5, 0)));
  COMP__TRY(comp_matrix_select(&parts[0], context, points, rows, most, NULL, 0));
  COMP__TRY(comp_matrix_select(&parts[1], context, points, rows + most, n - most, NULL, 0));
  COMP__TRY(lay_out(&places[0], info, context, parts[0], options));
  COMP__TRY(comp__umap_transform(&places[1], &of_others, context, parts[0], places[0], parts[1], options));
  if (of_others.recall < info->recall) info->recall = of_others.recall;
  COMP__TRY(comp_matrix_new_dense(out, n, dims));
  for (size_t i = 0; i < n; i++)
    memcpy(comp_matrix_values(*out) + rows[i] * dims,
           i < most ? comp_matrix_values(places[0]) + i * dims : comp_matrix_values(places[1]) + (i - most) * dims,
           dims * sizeof(float));
done:
  comp__free(rows);
  for (int part = 0; part < 2; part++) {
    comp_matrix_free(parts[part]);
    comp_matrix_free(places[part]);
  }
  return status;
}

comp_status comp__umap_run(comp_matrix **out, comp_umap_info *info, comp_context *context, const comp_matrix *points,
                           const comp__umap_options *options) {
  comp_umap_info local;
  *out = NULL;
  if (!info) info = &local;
  *info = (comp_umap_info){.recall = 1.0};
  comp_status status = comp__options_check(&comp__umap_kind, options);
  if (status != COMP_OK) return status;
  const bool all = options->max_samples == 0 || comp_matrix_rows(points) <= options->max_samples;
  return (all ? lay_out : lay_out_some)(out, info, context, points, options);
}

comp_status comp_umap_run(comp_matrix **out, comp_umap_info *info, comp_context *context, const comp_matrix *points,
                          const comp_options *options) {
  COMP__NEED_OUT(out, context, points);
  comp__umap_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__umap_kind, options);
  return status == COMP_OK ? comp__umap_run(out, info, context, points, &plain) : status;
}

comp_status comp_umap_transform(comp_matrix **out, comp_umap_info *info, comp_context *context,
                                const comp_matrix *points, const comp_matrix *layout, const comp_matrix *queries,
                                const comp_options *options) {
  COMP__NEED_OUT(out, context, points, layout, queries);
  comp__umap_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__umap_kind, options);
  return status == COMP_OK ? comp__umap_transform(out, info, context, points, layout, queries, &plain) : status;
}
