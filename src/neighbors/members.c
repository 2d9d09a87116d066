/* members.c: see members.h. */
#include "neighbors/members.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "neighbors/options.h"

enum { LEAST = 1000 /* of all conditions together */ };

/* How many of a condition's points are members. */
static size_t quota(const comp__crowd *crowd, size_t k, size_t most) {
  size_t known = 0;
  for (size_t l = 0; l < crowd->conditions; l++) known += crowd->counts[l];
  if (known <= most) return crowd->counts[k];
  const size_t part = most * crowd->counts[k] / known, least = LEAST / crowd->conditions + 1;
  const size_t wanted = part > least ? part : least;
  return wanted < crowd->counts[k] ? wanted : crowd->counts[k];
}

/* Evenly along the points, which may be sorted by anything. */
comp_status comp__members_choose(size_t **out, size_t *start, int32_t *follows, const comp__crowd *crowd, size_t most) {
  start[0] = 0;
  for (size_t k = 0; k < crowd->conditions; k++) start[k + 1] = start[k] + quota(crowd, k, most);
  const comp_status status = comp__alloc(out, start[crowd->conditions], sizeof **out);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < crowd->n; i++) follows[i] = -1;
  for (size_t k = 0; k < crowd->conditions; k++) {
    const size_t wanted = start[k + 1] - start[k], count = crowd->counts[k];
    size_t seen = 0, taken = 0;
    for (size_t i = 0; i < crowd->n; i++) {
      if (crowd->codes[i] != (int32_t)k) continue;
      if (taken < wanted && seen * wanted / count >= taken) {
        follows[i] = (int32_t)(start[k] + taken);
        (*out)[start[k] + taken++] = i;
      }
      seen++;
    }
  }
  return COMP_OK;
}

static comp_status follow_condition(int32_t *follows, comp_context *context, const comp__crowd *crowd,
                                    const size_t *start, const float *members, const float *coordinates, size_t dims,
                                    size_t k) {
  const size_t own = start[k + 1] - start[k];
  comp__neighbors_options options = comp__neighbors_defaults();
  comp_matrix *points = NULL, *queries = NULL;
  comp_neighbors *found = NULL;
  comp_status status;
  size_t n = 0;
  options.k = 1;
  if (own == crowd->counts[k]) return COMP_OK;
  COMP__TRY(comp__matrix_new_dense_raw(&points, own, dims));
  COMP__TRY(comp__matrix_new_dense_raw(&queries, crowd->counts[k], dims));
  memcpy(points->values, members + start[k] * dims, own * dims * sizeof(float));
  for (size_t i = 0; i < crowd->n; i++)
    if (crowd->codes[i] == (int32_t)k)
      memcpy(queries->values + n++ * dims, coordinates + i * dims, dims * sizeof(float));
  COMP__TRY(comp__neighbors_query(&found, context, points, queries, &options));
  n = 0;
  for (size_t i = 0; i < crowd->n; i++) {
    if (crowd->codes[i] != (int32_t)k) continue;
    if (follows[i] < 0) follows[i] = (int32_t)start[k] + comp_neighbors_indices(found)[n];
    n++;
  }
done:
  comp_neighbors_free(found);
  comp_matrix_free(points);
  comp_matrix_free(queries);
  return status;
}

comp_status comp__members_follow(int32_t *follows, comp_context *context, const comp__crowd *crowd, const size_t *start,
                                 const float *members, const float *coordinates, size_t dims) {
  comp_status status = COMP_OK;
  for (size_t k = 0; k < crowd->conditions && status == COMP_OK; k++)
    status = follow_condition(follows, context, crowd, start, members, coordinates, dims, k);
  return status;
}
