/* neighbors.c: checks the points, chooses the search, keeps the result. */
#include "comp/neighbors.h"

#include <math.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "neighbors/options.h"
#include "neighbors/search.h"

struct comp_neighbors {
  size_t rows, k;
  int32_t *indices;
  float *distances;
  double recall;
};

/* Names the first value that no distance can be taken from. */
static comp_status check_values(comp_context *context, const comp_matrix *matrix, const char *what) {
  size_t row, col;
  if (comp__matrix_find_nonfinite(&row, &col, context, matrix))
    return comp__error(COMP_ERR_DATA, "%s: row %zu, column %zu is not finite (%g)", what, row + 1, col + 1,
                       (double)matrix->values[row * matrix->cols + col]);
  for (size_t i = 0; i < matrix->rows * matrix->cols; i++)
    if (fabsf(matrix->values[i]) > COMP__POINTS_LIMIT)
      return comp__error(COMP_ERR_DATA, "%s: row %zu, column %zu is %g, beyond %g: too large to take distances from",
                         what, i / matrix->cols + 1, i % matrix->cols + 1, (double)matrix->values[i],
                         (double)COMP__POINTS_LIMIT);
  return COMP_OK;
}

static comp_status check_matrix(comp_context *context, const comp_matrix *matrix, const char *what) {
  if (matrix->kind != COMP_DENSE)
    return comp__error(COMP_ERR_ARGUMENT, "%s: neighbours are searched in dense matrices, not in sparse ones", what);
  if (matrix->cols == 0) return comp__error(COMP_ERR_DATA, "%s: no columns, so no distances", what);
  if (matrix->rows > INT32_MAX)
    return comp__error(COMP_ERR_DATA, "%s: %zu rows are more than can be searched", what, matrix->rows);
  return check_values(context, matrix, what);
}

/* A view of a matrix; for cosine with the inverse lengths, in `inverse`, which the caller frees. */
static comp_status view(comp__points *out, double **inverse, const comp_matrix *matrix, comp_distance metric) {
  *out = (comp__points){.x = matrix->values, .n = matrix->rows, .dims = matrix->cols};
  if (metric == COMP_DISTANCE_EUCLIDEAN) return COMP_OK;
  comp_status status = comp__alloc(inverse, matrix->rows, sizeof **inverse);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < matrix->rows; i++) {
    double sum = 0.0;
    for (size_t d = 0; d < matrix->cols; d++)
      sum += (double)out->x[i * out->dims + d] * (double)out->x[i * out->dims + d];
    (*inverse)[i] = sum > 0.0 ? 1.0 / sqrt(sum) : 0.0;
  }
  out->inverse = *inverse;
  return COMP_OK;
}

static comp_status search(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                          const comp_matrix *queries, const int32_t *own, const comp__neighbors_options *options) {
  comp_neighbors *result = NULL;
  double *inverse[2] = {NULL, NULL};
  comp_status status;
  comp__question question = {.own = own, .k = options->k};
  COMP__TRY(view(&question.points, &inverse[0], points, options->metric));
  if (queries == points)
    question.queries = question.points;
  else
    COMP__TRY(view(&question.queries, &inverse[1], queries, options->metric));
  COMP__TRY(comp__calloc(&result, 1, sizeof *result));
  result->rows = queries->rows;
  result->k = options->k;
  result->recall = 1.0;
  size_t row_bytes;
  if (!comp__size_mul(&row_bytes, options->k, sizeof *result->indices))
    COMP__FAIL(COMP_ERR_MEMORY, "%zu neighbours do not fit in memory", options->k);
  COMP__TRY(comp__alloc(&result->indices, result->rows, row_bytes));
  COMP__TRY(comp__alloc(&result->distances, result->rows, row_bytes));
  const bool most = options->search == COMP_SEARCH_APPROXIMATE ||
                    (options->search == COMP_SEARCH_AUTO && comp__search_prefers_approximate(&question));
  if (most)
    COMP__TRY(comp__search_approximate(result->indices, result->distances, &result->recall, context, &question));
  else
    COMP__TRY(comp__search_exact(result->indices, result->distances, context, &question));
  *out = result;
  result = NULL;
done:
  comp__free(inverse[0]);
  comp__free(inverse[1]);
  comp_neighbors_free(result);
  return status;
}

comp_status comp__neighbors_find(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                 const comp__neighbors_options *options) {
  *out = NULL;
  int32_t *own = NULL;
  comp_status status;
  COMP__TRY(comp__options_check(&comp__neighbors_kind, options));
  COMP__TRY(check_matrix(context, points, "points"));
  if (options->k >= points->rows)
    COMP__FAIL(COMP_ERR_ARGUMENT,
               "k: %zu neighbours of %zu points; it must be between 1 and the number of points less 1", options->k,
               points->rows);
  COMP__TRY(comp__alloc(&own, points->rows, sizeof *own));
  for (size_t i = 0; i < points->rows; i++) own[i] = (int32_t)i;
  COMP__TRY(search(out, context, points, points, own, options));
done:
  comp__free(own);
  return status;
}

comp_status comp__neighbors_query(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                  const comp_matrix *queries, const comp__neighbors_options *options) {
  *out = NULL;
  comp_status status = comp__options_check(&comp__neighbors_kind, options);
  if (status == COMP_OK) status = check_matrix(context, points, "points");
  if (status == COMP_OK) status = check_matrix(context, queries, "queries");
  if (status != COMP_OK) return status;
  if (points->cols != queries->cols)
    return comp__error(COMP_ERR_ARGUMENT, "queries have %zu columns, the points %zu", queries->cols, points->cols);
  if (options->k > points->rows)
    return comp__error(COMP_ERR_ARGUMENT, "k: %zu neighbours of %zu points; it must be between 1 and their number",
                       options->k, points->rows);
  return search(out, context, points, queries, NULL, options);
}

comp_status comp_neighbors_find(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                const comp_options *options) {
  COMP__NEED_OUT(out, context, points);
  comp__neighbors_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__neighbors_kind, options);
  return status == COMP_OK ? comp__neighbors_find(out, context, points, &plain) : status;
}

comp_status comp_neighbors_query(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                 const comp_matrix *queries, const comp_options *options) {
  COMP__NEED_OUT(out, context, points, queries);
  comp__neighbors_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__neighbors_kind, options);
  return status == COMP_OK ? comp__neighbors_query(out, context, points, queries, &plain) : status;
}

void comp_neighbors_free(comp_neighbors *neighbors) {
  if (!neighbors) return;
  comp__free(neighbors->indices);
  comp__free(neighbors->distances);
  comp__free(neighbors);
}

size_t comp_neighbors_rows(const comp_neighbors *neighbors) {
  return neighbors->rows;
}
size_t comp_neighbors_k(const comp_neighbors *neighbors) {
  return neighbors->k;
}
const int32_t *comp_neighbors_indices(const comp_neighbors *neighbors) {
  return neighbors->indices;
}
const float *comp_neighbors_distances(const comp_neighbors *neighbors) {
  return neighbors->distances;
}
double comp_neighbors_recall(const comp_neighbors *neighbors) {
  return neighbors->recall;
}

comp_status comp__neighbors_nearest(comp_neighbors **out, comp_context *context, const comp_matrix *points,
                                    const comp_matrix *queries, size_t k) {
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = k < points->rows ? k : points->rows;
  options.search = COMP_SEARCH_EXACT;
  return comp__neighbors_query(out, context, points, queries, &options);
}
