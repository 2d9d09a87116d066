/* examples.c: checks, and stratified parts. */
#include "classify/examples.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"

enum { STEP_FOLDS = 0, STEP_SPLIT = 1 }; /* of COMP__RNG_CLASSIFY */

static comp_status make_dense(comp__labelled *out, comp_context *context, const comp_matrix *z) {
  if (z->cols == 0) return comp__error(COMP_ERR_DATA, "there is nothing to classify by: the embedding has no columns");
  if (z->kind != COMP_DENSE) {
    comp_status status = comp_matrix_to_dense(&out->dense, context, z);
    if (status != COMP_OK) return status;
  }
  out->all.x = out->dense ? out->dense->values : z->values;
  out->all.features = z->cols;
  return COMP_OK;
}

static comp_status check_values(const comp__examples *e) {
  for (size_t i = 0; i < e->n; i++)
    for (size_t j = 0; j < e->features; j++)
      if (!isfinite(e->x[e->rows[i] * e->features + j]))
        return comp__error(COMP_ERR_DATA, "the value of sample %zu, column %zu of the embedding is not finite",
                           e->rows[i] + 1, j + 1);
  return COMP_OK;
}

comp_status comp__labelled_init_rows(comp__labelled *out, comp_context *context, const comp_matrix *z,
                                     size_t n_levels) {
  *out = (comp__labelled){.all = {.n = z->rows, .n_levels = n_levels}};
  comp_status status = comp__alloc(&out->rows, z->rows, sizeof *out->rows);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < z->rows; i++) out->rows[i] = i;
  out->all.rows = out->rows;
  COMP__TRY(make_dense(out, context, z));
  COMP__TRY(check_values(&out->all));
done:
  if (status != COMP_OK) comp__labelled_release(out);
  return status;
}

static comp_status count_levels(comp__labelled *out, const int32_t *codes, size_t n, size_t n_levels) {
  for (size_t i = 0; i < n; i++) {
    if (codes[i] < -1 || (codes[i] >= 0 && (size_t)codes[i] >= n_levels))
      return comp__error(COMP_ERR_ARGUMENT, "sample %zu has the level %d, and there are %zu", i + 1, (int)codes[i],
                         n_levels);
    if (codes[i] < 0) continue;
    out->rows[out->all.n++] = i;
    out->counts[codes[i]]++;
  }
  for (size_t level = 0; level < n_levels; level++) out->n_used += out->counts[level] > 0;
  if (out->all.n == 0) return comp__error(COMP_ERR_DATA, "no sample has a level: there is nothing to learn");
  if (out->n_used < 2)
    return comp__error(COMP_ERR_DATA, "all %zu samples have the same level: a classifier needs two levels or more",
                       out->all.n);
  return COMP_OK;
}

comp_status comp__labelled_init(comp__labelled *out, comp_context *context, const comp_matrix *z, const int32_t *codes,
                                size_t n_levels) {
  *out = (comp__labelled){.all = {.codes = codes, .n_levels = n_levels}};
  comp_status status = COMP_OK;
  COMP__TRY(comp__alloc(&out->rows, z->rows, sizeof *out->rows));
  COMP__TRY(comp__calloc(&out->counts, n_levels, sizeof *out->counts));
  COMP__TRY(count_levels(out, codes, z->rows, n_levels));
  out->all.rows = out->rows;
  COMP__TRY(make_dense(out, context, z));
  COMP__TRY(check_values(&out->all));
done:
  if (status != COMP_OK) comp__labelled_release(out);
  return status;
}

void comp__labelled_release(comp__labelled *labelled) {
  comp_matrix_free(labelled->dense);
  comp__free(labelled->rows);
  comp__free(labelled->counts);
  *labelled = (comp__labelled){0};
}

/* order[n]: the rows of each stratum one after the other, shuffled within. */
static comp_status shuffled_strata(size_t *order, const size_t *strata, size_t n, size_t n_strata, uint64_t seed,
                                   uint64_t step) {
  size_t *starts = NULL, *permutation = NULL, *members = NULL;
  comp_status status = COMP_OK;
  COMP__TRY(comp__calloc(&starts, n_strata + 1, sizeof *starts));
  COMP__TRY(comp__alloc(&permutation, n, sizeof *permutation));
  COMP__TRY(comp__alloc(&members, n, sizeof *members));
  for (size_t i = 0; i < n; i++) starts[strata[i] + 1]++;
  for (size_t s = 0; s < n_strata; s++) starts[s + 1] += starts[s];
  for (size_t i = 0; i < n; i++) members[starts[strata[i]]++] = i; /* starts[s] is the end of s now */
  for (size_t s = 0, begin = 0; s < n_strata; begin = starts[s++]) {
    const size_t count = starts[s] - begin;
    if (count == 0) continue;
    comp__rng_permutation(permutation, count, comp__rng_at(seed, COMP__RNG_CLASSIFY, step, s));
    for (size_t k = 0; k < count; k++) order[begin + k] = members[begin + permutation[k]];
  }
done:
  comp__free(members);
  comp__free(permutation);
  comp__free(starts);
  return status;
}

comp_status comp__folds(size_t *folds, const size_t *strata, size_t n, size_t n_strata, size_t n_folds, uint64_t seed) {
  size_t *order;
  comp_status status = comp__alloc(&order, n, sizeof *order);
  if (status != COMP_OK) return status;
  status = shuffled_strata(order, strata, n, n_strata, seed, STEP_FOLDS);
  for (size_t i = 0; i < n && status == COMP_OK; i++) folds[order[i]] = i % n_folds; /* dealt out, stratum by stratum */
  comp__free(order);
  return status;
}

comp_status comp__split(bool *test, const size_t *strata, size_t n, size_t n_strata, double share, uint64_t seed) {
  size_t *order;
  comp_status status = comp__alloc(&order, n, sizeof *order);
  if (status != COMP_OK) return status;
  status = shuffled_strata(order, strata, n, n_strata, seed, STEP_SPLIT);
  /* Along the order, a row is tested when that keeps the share: every stratum gets its part to within one row. */
  for (size_t i = 0; i < n && status == COMP_OK; i++)
    test[order[i]] = floor((double)(i + 1) * share + 0.5) > floor((double)i * share + 0.5);
  comp__free(order);
  return status;
}
