/* nearest.c: the attacker that looks at the nearest samples. With one neighbour it finds whoever has a twin. */
#include <string.h>

#include "audit/attack.h"
#include "audit/scaled.h"
#include "core/alloc.h"
#include "core/error.h"
#include "neighbors/options.h"

typedef struct nearest {
  comp__scaling scaling;
  comp_matrix *points;
  int32_t *codes; /* [points] */
  size_t k;
} nearest;

static const char *const settings[] = {"k = 15", "k = 1", "k = 100", NULL};
static const size_t ks[] = {15, 1, 100};

static void nearest_free(void *raw) {
  nearest *model = raw;
  if (!model) return;
  comp__scaling_release(&model->scaling);
  comp_matrix_free(model->points);
  comp__free(model->codes);
  comp__free(model);
}

static comp_status nearest_fit(void **out, comp_context *context, const comp__examples *train, size_t setting,
                               uint64_t seed) {
  (void)context;
  (void)seed;
  nearest *model;
  *out = NULL;
  comp_status status = comp__calloc(&model, 1, sizeof *model);
  if (status != COMP_OK) return status;
  model->k = ks[setting] < train->n ? ks[setting] : train->n;
  COMP__TRY(comp__scaling_init(&model->scaling, train));
  COMP__TRY(comp__scaling_apply(&model->points, &model->scaling, train));
  COMP__TRY(comp__alloc(&model->codes, train->n, sizeof *model->codes));
  for (size_t i = 0; i < train->n; i++) model->codes[i] = train->codes[train->rows[i]];
  *out = model;
done:
  if (status != COMP_OK) nearest_free(model);
  return status;
}

/* Shares of the levels among the neighbours. */
static comp_status nearest_score(float *scores, comp_context *context, const void *raw, const comp__examples *e) {
  const nearest *model = raw;
  const size_t problems = comp__problems(e->n_levels);
  comp_matrix *queries = NULL;
  comp_neighbors *found = NULL;
  comp__neighbors_options options = comp__neighbors_defaults();
  options.k = model->k;
  comp_status status;
  COMP__TRY(comp__scaling_apply(&queries, &model->scaling, e));
  COMP__TRY(comp__neighbors_query(&found, context, model->points, queries, &options));
  const int32_t *indices = comp_neighbors_indices(found);
  memset(scores, 0, e->n * problems * sizeof *scores);
  for (size_t i = 0; i < e->n; i++)
    for (size_t j = 0; j < model->k; j++) {
      const size_t level = (size_t)model->codes[indices[i * model->k + j]];
      if (problems > 1)
        scores[i * problems + level] += 1.0f / (float)model->k;
      else
        scores[i] += level == 1 ? 1.0f / (float)model->k : 0.0f;
    }
done:
  comp_neighbors_free(found);
  comp_matrix_free(queries);
  return status;
}

const comp__learner comp__attacker_nearest = {
    .name = "knn",
    .title = "nearest neighbours",
    .help = "shares among the nearest samples, features standardised",
    .settings = settings,
    .fit = nearest_fit,
    .score = nearest_score,
    .free = nearest_free,
    .many = true,
};
