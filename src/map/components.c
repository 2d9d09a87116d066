/* components.c: see components.h. */
#include "map/components.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/threads.h"
#include "linalg/linalg.h"
#include "map/sampled.h"
#include "task/coder.h"

/* FEWEST: with fewer samples on one side, means over neighbours are means over most of them. */
enum { MOST = 50, FEWEST = 32 };

/* One side while its rows are read. */
typedef struct side {
  const comp__aligned *data;
  comp__coder *coder;
  const int8_t *skip; /* [features]: the query lacks them */
  size_t features, dims, step;
  int8_t *only;      /* [samples]: every step-th, those that the axes are of */
  const float *axes; /* [features, dims] */
  float *rows;       /* [chosen, features], or with axes NULL */
  float *scores;     /* [samples, dims] */
  float *spare;      /* [threads, features] */
} side;

static size_t chosen_of(const side *s) {
  return (s->data->samples + s->step - 1) / s->step;
}

static void read_row(float *out, const side *s, const comp_matrix *input, size_t i) {
  comp__dense_row(out, input, i);
  for (size_t g = 0; g < s->features; g++)
    if (s->skip[g]) out[g] = 0.0f;
}

static comp_status choose_rows(void *arg, size_t begin, size_t end, int thread) {
  const side *s = arg;
  comp__block *b;
  const comp_status status = comp__block_read(&b, s->coder, s->data, begin, end, s->only, thread);
  for (size_t i = 0; status == COMP_OK && i < b->rows; i++)
    read_row(s->rows + b->order[i] / s->step * s->features, s, &b->input, i);
  return status;
}

static comp_status score_rows(void *arg, size_t begin, size_t end, int thread) {
  const side *s = arg;
  float *row = s->spare + (size_t)thread * s->features;
  comp__block *b;
  const comp_status status = comp__block_read(&b, s->coder, s->data, begin, end, NULL, thread);
  for (size_t i = 0; status == COMP_OK && i < b->rows; i++) {
    float *score = s->scores + b->order[i] * s->dims;
    read_row(row, s, &b->input, i);
    memset(score, 0, s->dims * sizeof *score);
    for (size_t g = 0; g < s->features; g++)
      for (size_t d = 0; row[g] != 0.0f && d < s->dims; d++) score[d] += row[g] * s->axes[g * s->dims + d];
  }
  return status;
}

/* Subtracts the mean of each condition from rows [n, width], which are every step-th sample. */
static comp_status centre(float *rows, size_t n, size_t width, const side *s, size_t step) {
  const int32_t *codes = s->data->codes;
  const size_t conditions = codes ? s->data->model->network.conditions : 1;
  double *mean = NULL, *count = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&mean, conditions * width, sizeof *mean));
  COMP__TRY(comp__calloc(&count, conditions, sizeof *count));
  for (size_t i = 0; i < n; i++) {
    const size_t k = codes ? (size_t)codes[i * step] : 0;
    count[k]++;
    for (size_t g = 0; g < width; g++) mean[k * width + g] += (double)rows[i * width + g];
  }
  for (size_t i = 0; i < n; i++) {
    const size_t k = codes ? (size_t)codes[i * step] : 0;
    for (size_t g = 0; g < width; g++) rows[i * width + g] -= (float)(mean[k * width + g] / count[k]);
  }
done:
  comp__free(mean);
  comp__free(count);
  return status;
}

static comp_status init_side(side *s, comp_context *context) {
  const size_t most = comp__sampled_most(s->features), threads = (size_t)comp_context_thread_count(context);
  comp_status status;
  s->step = (s->data->samples + most - 1) / most;
  COMP__TRY(comp__calloc(&s->only, s->data->samples, sizeof *s->only));
  for (size_t i = 0; i < s->data->samples; i += s->step) s->only[i] = 1;
  COMP__TRY(comp__alloc(&s->spare, threads * s->features, sizeof *s->spare));
  COMP__TRY(comp__coder_new(&s->coder, context, s->data->model, COMP_PRECISION_F32));
done:
  return status;
}

static void release_side(side *s) {
  comp__free(s->only);
  comp__free(s->spare);
  comp__coder_free(s->coder);
}

/* axes [features, dims]. */
static comp_status find_axes(float *axes, comp_context *context, side *sides, size_t dims) {
  const size_t first = chosen_of(&sides[0]), features = sides[0].features;
  comp_matrix *rows = NULL;
  comp__pca pca = {0};
  comp_status status;
  COMP__TRY(comp__matrix_new_dense_raw(&rows, first + chosen_of(&sides[1]), features));
  for (int k = 0; k < 2; k++) {
    side *s = &sides[k];
    s->rows = rows->values + (k ? first * features : 0);
    COMP__TRY(comp__parallel_try(context, s->data->samples, COMP__BLOCK_ROWS, choose_rows, s));
    COMP__TRY(centre(s->rows, chosen_of(s), features, s, s->step));
  }
  COMP__TRY(comp__pca_fit(&pca, context, rows, &(comp__pca_options){.components = dims}));
  for (size_t g = 0; g < features; g++)
    for (size_t d = 0; d < dims; d++) axes[g * dims + d] = pca.loadings[d * features + g];
done:
  comp_matrix_free(rows);
  comp__pca_release(&pca);
  return status;
}

static comp_status find_scores(comp_matrix **out, comp_context *context, side *s, const float *axes, size_t dims) {
  comp_status status;
  COMP__TRY(comp__matrix_new_dense_raw(out, s->data->samples, dims));
  s->axes = axes;
  s->dims = dims;
  s->scores = (*out)->values;
  COMP__TRY(comp__parallel_try(context, s->data->samples, COMP__BLOCK_ROWS, score_rows, s));
  COMP__TRY(centre(s->scores, s->data->samples, dims, s, 1));
done:
  return status;
}

comp_status comp__components(comp_matrix **reference, comp_matrix **query, comp_context *context,
                             const comp__aligned *reference_data, const comp__aligned *query_data) {
  const size_t features = reference_data->model->network.features, present = features - query_data->n_missing,
               dims = present < MOST ? present : MOST;
  int8_t *skip = NULL;
  float *axes = NULL;
  side sides[2] = {{.data = reference_data, .features = features}, {.data = query_data, .features = features}};
  comp_status status;
  *reference = *query = NULL;
  if (reference_data->samples < FEWEST || query_data->samples < FEWEST) return COMP_OK;
  COMP__TRY(comp__calloc(&skip, features, sizeof *skip));
  COMP__TRY(comp__alloc(&axes, features * dims, sizeof *axes));
  for (size_t i = 0; i < query_data->n_missing; i++) skip[query_data->missing[i]] = 1;
  for (int k = 0; k < 2; k++) {
    sides[k].skip = skip;
    COMP__TRY(init_side(&sides[k], context));
  }
  COMP__TRY(find_axes(axes, context, sides, dims));
  COMP__TRY(find_scores(reference, context, &sides[0], axes, dims));
  COMP__TRY(find_scores(query, context, &sides[1], axes, dims));
done:
  for (int k = 0; k < 2; k++) release_side(&sides[k]);
  comp__free(skip);
  comp__free(axes);
  if (status != COMP_OK) {
    comp_matrix_free(*reference);
    comp_matrix_free(*query);
    *reference = *query = NULL;
  }
  return status;
}
