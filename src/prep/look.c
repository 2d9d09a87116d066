/* look.c: telling counts from logarithms by looking at all values. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "comp/prep.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "core/threads.h"

enum { VALUE_CHUNK = 1 << 18 };

/* The natural log of the largest count that anybody has seen in a cell is about 15, log2 of a bulk sample's 20. */
static const double LARGEST_LOG = 30.0;

typedef struct piece {
  float min, max;
  size_t zeros, fractions, negatives, nonfinite;
} piece;

typedef struct search {
  const float *values;
  piece *pieces;
} search;

static void look_at_piece(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const search *s = arg;
  piece p = {INFINITY, -INFINITY, 0, 0, 0, 0};
  for (size_t i = begin; i < end; i++) {
    float value = s->values[i];
    p.min = fminf(p.min, value);
    p.max = fmaxf(p.max, value);
    p.zeros += value == 0.0f;
    p.fractions += value != floorf(value);
    p.negatives += value < 0.0f;
    p.nonfinite += !(fabsf(value) <= FLT_MAX);
  }
  s->pieces[begin / VALUE_CHUNK] = p;
}

static void describe(comp_data_look *look) {
  size_t size = sizeof look->reason;
  if (look->negatives > 0) {
    look->kind = COMP_DATA_CENTERED;
    snprintf(look->reason, size, "%zu negative values, the lowest %g: centred, scaled or log ratios", look->negatives,
             look->min);
  } else if (look->fractions == 0) {
    look->kind = COMP_DATA_COUNTS;
    snprintf(look->reason, size, "whole numbers from %g to %g: counts", look->min, look->max);
  } else if (look->max < LARGEST_LOG) {
    look->kind = COMP_DATA_LOG;
    snprintf(look->reason, size, "not whole numbers, from %g to %g: logarithms", look->min, look->max);
  } else {
    look->kind = COMP_DATA_NORMALIZED;
    snprintf(look->reason, size, "not whole numbers, from %g to %g: normalised, but not logged", look->min, look->max);
  }
}

static comp_status refuse(comp_context *context, const comp_matrix *matrix) {
  size_t row = 0, col = 0;
  comp__matrix_find_nonfinite(&row, &col, context, matrix);
  return comp__error(COMP_ERR_DATA, "row %zu, column %zu of X is not a finite number", row + 1, col + 1);
}

comp_status comp_data_look_at(comp_data_look *out, comp_context *context, const comp_matrix *matrix) {
  *out = (comp_data_look){.kind = COMP_DATA_COUNTS};
  size_t stored = comp_matrix_nnz(matrix), chunks = (stored + VALUE_CHUNK - 1) / VALUE_CHUNK;
  search s = {matrix->values, NULL};
  comp_status status = comp__alloc(&s.pieces, chunks, sizeof *s.pieces);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, stored, VALUE_CHUNK, look_at_piece, &s);
  size_t absent = matrix->rows * matrix->cols - stored;
  double min = absent || !stored ? 0.0 : INFINITY, max = absent || !stored ? 0.0 : -INFINITY;
  size_t nonfinite = 0;
  out->zeros = absent;
  for (size_t i = 0; i < chunks; i++) {
    min = fmin(min, s.pieces[i].min);
    max = fmax(max, s.pieces[i].max);
    out->zeros += s.pieces[i].zeros;
    out->fractions += s.pieces[i].fractions;
    out->negatives += s.pieces[i].negatives;
    nonfinite += s.pieces[i].nonfinite;
  }
  comp__free(s.pieces);
  if (nonfinite) return refuse(context, matrix);
  out->min = min;
  out->max = max;
  describe(out);
  return COMP_OK;
}

static const char *const kind_names[] = {"counts", "log", "normalized", "centered", NULL};
COMP__ENUM_NAMES(comp_data_kind, kind_names, "kind of data")
