/* survey.c: passes over the data before training. */
#include "train/survey.h"

#include <math.h>
#include <string.h>

#include "core/context.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/sort.h"
#include "train/loader.h"

/* Values beyond this are no expression data; their squares would not fit in f32 sums. */
static const float LARGEST_VALUE = 1e6f;

/* What is learnt in one pass over the data, in memory or streamed. */
typedef struct survey {
  comp_context *context;
  const comp__likelihood *likelihood;
  double *sums;    /* [features] */
  float *totals;   /* [samples] library sizes; counts only */
  uint64_t digest; /* tells a checkpoint of other data */
  bool fractions;  /* X holds a number that is not whole */
  float largest;
} survey;

static comp_status check_values(survey *s, const comp_matrix *x, size_t first) {
  size_t row, col, n = comp_matrix_nnz(x);
  if (comp__matrix_find_nonfinite(&row, &col, s->context, x))
    return comp__error(COMP_ERR_DATA, "X holds a value that is not a finite number: sample %zu, feature %zu",
                       first + row + 1, col + 1);
  float largest = 0.0f;
  for (size_t i = 0; i < n; i++) {
    largest = fmaxf(largest, fabsf(x->values[i]));
    s->fractions |= x->values[i] != floorf(x->values[i]);
  }
  s->largest = fmaxf(s->largest, largest);
  if (largest > LARGEST_VALUE)
    return comp__error(
        COMP_ERR_DATA,
        "X holds values as large as %g; prepare the data first (comp prep: normalise, log, or standardise)",
        (double)largest);
  for (size_t i = 0; s->likelihood->counts && i < n; i++) {
    if (x->values[i] < 0.0f)
      return comp__error(
          COMP_ERR_DATA,
          "X holds negative values, and the %s needs counts. Read the counts (--layer), or use --likelihood gaussian",
          s->likelihood->title);
    if (x->values[i] != floorf(x->values[i]))
      return comp__error(COMP_ERR_DATA,
                         "X holds %g, which is not a whole number, and the %s needs counts. Read the counts (--layer), "
                         "or use --likelihood gaussian",
                         (double)x->values[i], s->likelihood->title);
  }
  return COMP_OK;
}

static comp_status survey_block(void *arg, const comp_matrix *x, size_t first) {
  survey *s = arg;
  comp_status status = check_values(s, x, first);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < x->rows; i++) {
    size_t begin = comp__matrix_row_begin(x, i), end = comp__matrix_row_begin(x, i + 1);
    double total = 0;
    for (size_t k = begin; k < end; k++) {
      s->sums[x->kind == COMP_CSR ? (size_t)x->indices[k] : k - begin] += x->values[k];
      total += x->values[k];
    }
    if (s->totals) s->totals[first + i] = (float)total;
    /* Row by row: how a file is cut into blocks does not matter. */
    s->digest = comp__mix(s->digest, x->values + begin, (end - begin) * sizeof(float));
    if (x->kind == COMP_CSR) s->digest = comp__mix(s->digest, x->indices + begin, (end - begin) * sizeof(int32_t));
  }
  return COMP_OK;
}

comp_status comp__survey(comp_model *model, uint64_t *digest, comp_context *context, const comp_matrix *x,
                         comp__stream *stream, size_t samples, const comp_groups *groups) {
  size_t features = model->network.features;
  survey s = {.context = context, .likelihood = model->network.likelihood};
  comp_status status;
  COMP__TRY(comp__calloc(&s.sums, features, sizeof *s.sums));
  if (s.likelihood->counts) COMP__TRY(comp__alloc(&s.totals, samples, sizeof *s.totals));
  s.digest = comp__mix(1, (size_t[]){samples, features}, 2 * sizeof(size_t));
  COMP__TRY(comp__scan(context, x, stream, survey_block, &s));
  if (!s.likelihood->counts && !s.fractions && s.largest > 20.0f)
    comp__warn(
        context,
        "X looks like raw counts (whole numbers up to %g): prepare it first (comp prep), or use the likelihood %s",
        (double)s.largest, comp__likelihood_nb.name);
  *digest = comp__mix(s.digest, groups->codes, groups->rows * sizeof *groups->codes);
  for (size_t g = 0; g < features; g++) model->feature_means[g] = (float)(s.sums[g] / (double)samples);
  if (s.totals) {
    comp__sort_floats(s.totals, samples);
    model->library_target = fmaxf(1.0f, s.totals[samples / 2]);
  }
done:
  comp__free(s.sums);
  comp__free(s.totals);
  return status;
}
