/* look.c: what values are, by looking at all of them: gathers what look_judge.c judges. */
#include "prep/look.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "core/sort.h"
#include "core/threads.h"
#include "dist/comm.h"
#include "prep/moments.h"

/* Of how many samples of a condition the steps and totals are looked at, and of how many in all; FEWEST of them are
 * needed to tell anything. A condition is looked at in two parts when some of its samples, both PART_ROWS and
 * PART_SHARE of it, hold whole numbers only and as many others do not. */
enum {
  ROW_CHUNK = 256,
  SOME_VALUES = 16,
  MOST_ROWS = 256,
  LEAST_ROWS = 64,
  ALL_ROWS = 4096,
  FEWEST = 5,
  PART_ROWS = 10
};
static const double PART_SHARE = 0.05;

/* The values of a row that are stored. */
static const float *row_values(size_t *stored, const comp_matrix *m, size_t row) {
  size_t first = m->kind == COMP_CSR ? (size_t)m->indptr[row] : row * m->cols;
  *stored = m->kind == COMP_CSR ? (size_t)m->indptr[row + 1] - first : m->cols;
  return m->values + first;
}

/* ---- All values ------------------------------------------------------------------------------------------------ */

typedef struct scan {
  const comp_matrix *matrix;
  comp__row_look *rows; /* [rows] */
  bool *broken;         /* [rows]: a value is not finite */
  size_t first;         /* row that this rank scans */
} scan;

static void scan_rows(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const scan *s = arg;
  for (size_t row = s->first + begin; row < s->first + end; row++) {
    size_t stored;
    const float *values = row_values(&stored, s->matrix, row);
    comp__row_look r = {INFINITY, -INFINITY, 0, 0, 0, (uint32_t)stored};
    bool broken = false;
    for (size_t k = 0; k < stored; k++) {
      float value = values[k];
      r.min = fminf(r.min, value);
      r.max = fmaxf(r.max, value);
      r.nonzero += value != 0.0f;
      r.fractions += value != floorf(value);
      r.negatives += value < 0.0f;
      broken = broken || !(fabsf(value) <= FLT_MAX);
    }
    s->rows[row] = r;
    s->broken[row] = broken;
  }
}

static comp_status refuse(comp_context *context, const comp_matrix *matrix) {
  size_t row = 0, col = 0;
  comp__matrix_find_nonfinite(&row, &col, context, matrix);
  return comp__error(COMP_ERR_DATA, "row %zu, column %zu of X is not a finite number", row + 1, col + 1);
}

/* Ranks share the rows out, and all know of all of them afterwards. */
static comp_status scan_all(scan *s, comp_context *context) {
  comp__comm *comm = comp__comm_of(context);
  size_t rows = s->matrix->rows, begin[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, rows, ROW_CHUNK);
  s->first = begin[comp__comm_rank(comm)];
  comp_status status = comp__alloc(&s->rows, rows, sizeof *s->rows);
  if (status == COMP_OK) status = comp__alloc(&s->broken, rows, sizeof *s->broken);
  if (status != COMP_OK) return status;
  comp__parallel_for(context, begin[comp__comm_rank(comm) + 1] - s->first, ROW_CHUNK, scan_rows, s);
  status = comp__comm_collect(comm, context, s->rows, begin, sizeof *s->rows, COMP__TO_ALL);
  if (status == COMP_OK) status = comp__comm_collect(comm, context, s->broken, begin, sizeof *s->broken, COMP__TO_ALL);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < rows; i++)
    if (s->broken[i]) return refuse(context, s->matrix);
  return COMP_OK;
}

/* Adds the numbers of some samples (rows NULL: all) to a look or to evidence. */
static void add_up(comp__evidence *e, const scan *s, const size_t *rows, size_t n) {
  size_t cols = s->matrix->cols;
  e->rows = n;
  e->values = n * cols;
  e->min = INFINITY;
  e->max = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    const comp__row_look *r = &s->rows[rows ? rows[i] : i];
    bool absent = r->stored < cols;
    e->min = fmin(e->min, absent ? fmin(0.0, r->min) : r->min);
    e->max = fmax(e->max, absent ? fmax(0.0, r->max) : r->max);
    e->zeros += cols - r->nonzero;
    e->fractions += r->fractions;
    e->negatives += r->negatives;
  }
  if (e->values == 0) e->min = e->max = 0.0;
}

/* ---- Some samples, closely ------------------------------------------------------------------------------------- */

typedef struct closely {
  double total[COMP__SCALES], step[COMP__SCALES];
  float some[SOME_VALUES];
  size_t n_some;
  bool rounded;
} closely;

typedef struct closer {
  const comp_matrix *matrix;
  const size_t *rows;
  closely *facts;
} closer;

static void look_closely(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const closer *c = arg;
  for (size_t i = begin; i < end; i++) {
    size_t stored, seen = 0;
    const float *values = row_values(&stored, c->matrix, c->rows[i]);
    closely f = {.n_some = 0};
    size_t every = stored / SOME_VALUES + 1;
    for (size_t k = 0; k < stored; k++) {
      if (values[k] == 0.0f) continue;
      for (int s = 0; s < COMP__SCALES; s++) f.total[s] += comp__scale_undo((comp__scale)s, values[k]);
      if (seen++ % every == 0 && f.n_some < SOME_VALUES) f.some[f.n_some++] = values[k];
    }
    for (int s = 0; s < COMP__SCALES; s++) f.step[s] = comp__row_step(values, stored, (comp__scale)s);
    f.rounded = comp__row_is_rounded(values, stored);
    c->facts[i] = f;
  }
}

/* The total that nine of ten samples have; 0: none. Sorts them. Normalisation leaves rounding only, of single precision
 * or of a text file, and it averages out over the features. Totals of samples that just resemble each other differ by
 * more: the noise of one feature over the root of the number of features, some 1e-3 for logs of 20,000 genes. */
static double common_total(double *totals, size_t n) {
  comp__sort_doubles(totals, n);
  if (n < FEWEST) return 0.0;
  double middle = totals[n / 2];
  size_t near = 0;
  if (!isfinite(middle) || middle <= 0.0) return 0.0;
  for (size_t i = 0; i < n; i++) near += fabs(totals[i] / middle - 1.0) < 2e-4;
  return (double)near >= 0.9 * (double)n ? middle : 0.0;
}

/* The share of samples that have a step, of those of which it can be known. */
static void count_steps(comp__evidence *e, const closely *facts, size_t n) {
  size_t rounded = 0;
  for (size_t i = 0; i < n; i++) rounded += facts[i].rounded;
  for (int s = 0; s < COMP__SCALES; s++) {
    size_t known = 0, with = 0, unit = 0;
    for (size_t i = 0; i < n; i++) {
      double step = facts[i].step[s];
      known += isnan(step) ? 0 : 1;
      with += step > 0.0;
      unit += fabs(step - 1.0) < 1e-3;
    }
    e->steps[s] = known >= FEWEST ? (double)with / (double)known : NAN;
    e->unit[s] = with > 0 ? (double)unit / (double)with : 0.0;
  }
  if (2 * rounded > n) e->steps[COMP__LINEAR] = 0.0;
}

static comp_status summarise(comp__evidence *e, const closely *facts, size_t n) {
  double *numbers;
  size_t count = 0;
  comp_status status = comp__alloc(&numbers, n * SOME_VALUES + 1, sizeof *numbers);
  if (status != COMP_OK) return status;
  count_steps(e, facts, n);
  for (int s = COMP__SCALES - 1; s >= 0; s--) {
    for (size_t i = 0; i < n; i++) numbers[i] = facts[i].total[s];
    e->common[s] = common_total(numbers, n);
  }
  /* The last were the linear ones, and they are sorted. */
  e->spread = n > 0 && numbers[n / 20] > 0.0 ? numbers[n - 1 - n / 20] / numbers[n / 20] : NAN;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < facts[i].n_some; k++) numbers[count++] = facts[i].some[k];
  comp__sort_doubles(numbers, count);
  e->median = count > 0 ? numbers[count / 2] : NAN;
  comp__free(numbers);
  return COMP_OK;
}

/* `most` of the samples that are not empty, evenly. */
static comp_status gather_closely(comp__evidence *e, comp_context *context, const scan *s, const size_t *rows, size_t n,
                                  size_t most) {
  comp_status status;
  size_t *chosen = NULL, count = 0, nonempty = 0, seen = 0;
  closely *facts = NULL;
  for (size_t i = 0; i < n; i++) nonempty += s->rows[rows[i]].nonzero > 0;
  size_t every = (nonempty + most - 1) / most + (nonempty == 0);
  COMP__TRY(comp__alloc(&chosen, most, sizeof *chosen));
  COMP__TRY(comp__alloc(&facts, most, sizeof *facts));
  for (size_t i = 0; i < n && count < most; i++)
    if (s->rows[rows[i]].nonzero > 0 && seen++ % every == 0) chosen[count++] = rows[i];
  closer c = {s->matrix, chosen, facts};
  comp__parallel_for(context, count, 8, look_closely, &c);
  COMP__TRY(summarise(e, facts, count));
done:
  comp__free(chosen);
  comp__free(facts);
  return status;
}

/* ---- Features -------------------------------------------------------------------------------------------------- */

/* 0 and 1 only: of counts with these means, how many values would be 2 or more? */
static bool is_binary(const double *mean, size_t features, double n) {
  double expected = 0.0;
  for (size_t j = 0; j < features; j++) expected += n * mean[j] * mean[j] / 2.0;
  return expected >= 10.0;
}

static comp_status gather_centres(comp__evidence *e, double *mean, double *variance, size_t features) {
  double *numbers;
  size_t n = 0;
  comp_status status = comp__alloc(&numbers, features + 1, sizeof *numbers);
  if (status != COMP_OK) return status;
  for (size_t j = 0; j < features; j++)
    if (variance[j] > 0.0) numbers[n++] = fabs(mean[j]) / sqrt(variance[j]);
  comp__sort_doubles(numbers, n);
  e->centre = n > 0 ? numbers[n / 2] : NAN;
  n = 0;
  for (size_t j = 0; j < features; j++)
    if (variance[j] > 0.0) numbers[n++] = sqrt(variance[j]);
  comp__sort_doubles(numbers, n);
  e->deviation = n > 0 ? numbers[n / 2] : NAN;
  comp__free(numbers);
  return COMP_OK;
}

/* What only means of features tell. */
static comp_status gather_features(comp__evidence *e, comp_context *context, const scan *s, const size_t *rows,
                                   size_t n) {
  bool zero_one = e->negatives == 0 && e->fractions == 0 && e->max == 1.0;
  if (!zero_one && e->negatives == 0) return COMP_OK;
  comp_status status;
  double *mean = NULL, *variance = NULL;
  size_t features = s->matrix->cols;
  COMP__TRY(comp__alloc(&mean, features, sizeof *mean));
  COMP__TRY(comp__alloc(&variance, features, sizeof *variance));
  COMP__TRY(comp__feature_moments(mean, variance, NULL, context, (comp__samples){s->matrix, rows, n}, NULL));
  if (zero_one)
    e->binary = is_binary(mean, features, (double)n);
  else
    COMP__TRY(gather_centres(e, mean, variance, features));
done:
  comp__free(mean);
  comp__free(variance);
  return status;
}

/* ---- Conditions ------------------------------------------------------------------------------------------------ */

static comp_status look_at_rows(comp_data_look *out, comp_context *context, const scan *s, const size_t *rows, size_t n,
                                size_t most) {
  comp_status status;
  comp__evidence e = {.spread = NAN, .median = NAN, .centre = NAN, .deviation = NAN};
  add_up(&e, s, rows, n);
  if (e.fractions > 0 && e.negatives == 0) COMP__TRY(gather_closely(&e, context, s, rows, n, most));
  COMP__TRY(gather_features(&e, context, s, rows, n));
  comp__look_judge(out, &e);
done:
  return status;
}

static void put_numbers(comp_data_look *out, const scan *s, const size_t *rows, size_t n) {
  comp__evidence e = {0};
  add_up(&e, s, rows, n);
  out->min = e.min;
  out->max = e.max;
  out->zeros = e.zeros;
  out->fractions = e.fractions;
  out->negatives = e.negatives;
}

/* The samples of one condition: those of whole numbers apart from the others, if both are many. */
static comp_status look_at_group(comp_data_look *out, comp__look_parts *each, comp_context *context, const scan *s,
                                 size_t *rows, size_t n, size_t most) {
  comp_status status;
  size_t *sorted = NULL, whole = 0, other = 0;
  for (size_t i = 0; i < n; i++) {
    const comp__row_look *r = &s->rows[rows[i]];
    whole += r->nonzero > 0 && r->fractions == 0 && r->negatives == 0;
    other += r->fractions > 0 || r->negatives > 0;
  }
  size_t fewer = whole < other ? whole : other;
  if (fewer < PART_ROWS || (double)fewer < PART_SHARE * (double)n) {
    status = look_at_rows(out, context, s, rows, n, most);
    *each = (comp__look_parts){*out, *out};
    return status;
  }
  COMP__TRY(comp__alloc(&sorted, n, sizeof *sorted));
  size_t first = 0, last = n;
  for (size_t i = 0; i < n; i++)
    if (s->rows[rows[i]].fractions == 0 && s->rows[rows[i]].negatives == 0)
      sorted[first++] = rows[i];
    else
      sorted[--last] = rows[i];
  comp_data_look parts[2];
  COMP__TRY(look_at_rows(&parts[0], context, s, sorted, first, most));
  COMP__TRY(look_at_rows(&parts[1], context, s, sorted + last, n - last, most));
  put_numbers(&parts[0], s, sorted, first);
  put_numbers(&parts[1], s, sorted + last, n - last);
  /* log2(1 + x) of 1, 3, 7, ... is whole, too; but not after normalisation to a common total. */
  bool whole_logs =
      parts[1].kind == COMP_DATA_LOG && parts[1].log_base == 2.0 && parts[1].common_total == 0.0 && parts[0].max < 8.0;
  if (whole_logs)
    *out = parts[0] = parts[1];
  else
    comp__look_combine(out, parts, (const char *const[]){"some samples", "the others"}, 2);
  *each = (comp__look_parts){parts[0], parts[1]};
done:
  comp__free(sorted);
  return status;
}

/* The samples of a level (-1: those of none; groups NULL: all). */
static size_t list_rows(size_t *rows, const scan *s, const comp_groups *groups, int32_t level) {
  size_t n = 0;
  for (size_t i = 0; i < s->matrix->rows; i++)
    if (!groups || groups->codes[i] == level) rows[n++] = i;
  return n;
}

static comp_status look_at_level(comp_data_look *out, comp__look_parts *each, comp_context *context, const scan *s,
                                 size_t *rows, size_t n, size_t levels) {
  size_t most = ALL_ROWS / (levels + 1);
  most = most > MOST_ROWS ? MOST_ROWS : most < LEAST_ROWS ? LEAST_ROWS : most;
  comp_status status = look_at_group(out, each, context, s, rows, n, most);
  put_numbers(out, s, rows, n);
  return status;
}

/* All samples together. Where the conditions agree, the words are those of one look at all of them. */
static comp_status look_at_groups(comp_data_look *out, comp_data_look *looks, comp__look_parts *parts,
                                  comp_context *context, const scan *s, const comp_groups *groups, size_t *rows) {
  comp_status status;
  size_t levels = groups ? groups->n_levels : 0, seen = 0;
  bool alike = true;
  const char **names = NULL;
  comp_data_look *found = NULL, all;
  comp__look_parts of_all;
  COMP__TRY(look_at_level(&all, &of_all, context, s, rows, list_rows(rows, s, NULL, 0), 1));
  *out = all;
  parts[levels] = of_all;
  COMP__TRY(comp__alloc(&names, levels, sizeof *names));
  COMP__TRY(comp__alloc(&found, levels, sizeof *found));
  for (size_t l = 0; l < levels; l++) {
    size_t n = list_rows(rows, s, groups, (int32_t)l);
    if (n == 0) continue;
    COMP__TRY(look_at_level(&looks[l], &parts[l], context, s, rows, n, levels));
    names[seen] = groups->levels[l];
    found[seen++] = looks[l];
    alike = alike && comp__looks_alike(&looks[l], &all);
  }
  if (seen > 0 && !alike) comp__look_combine(out, found, names, seen);
  put_numbers(out, s, NULL, s->matrix->rows);
  /* Samples of no condition have no say in the whole. They are as all others are, or looked at by themselves. */
  size_t without = alike ? 0 : list_rows(rows, s, groups, -1);
  if (without > 0) COMP__TRY(look_at_level(&all, &parts[levels], context, s, rows, without, levels));
done:
  comp__free(names);
  comp__free(found);
  return status;
}

comp_status comp__look_parts_by(comp_data_look *out, comp_data_look *each, comp__look_parts *parts,
                                comp_context *context, const comp_matrix *matrix, const comp_groups *groups) {
  comp_status status;
  scan s = {.matrix = matrix};
  size_t *rows = NULL, levels = groups ? groups->n_levels : 0;
  comp_data_look *looks = NULL;
  *out = (comp_data_look){.kind = COMP_DATA_COUNTS};
  if (levels == 0) groups = NULL;
  COMP__TRY(scan_all(&s, context));
  COMP__TRY(comp__alloc(&rows, matrix->rows, sizeof *rows));
  COMP__TRY(comp__calloc(&looks, levels + 1, sizeof *looks));
  COMP__TRY(look_at_groups(out, looks, parts, context, &s, groups, rows));
  if (each && groups) memcpy(each, looks, levels * sizeof *each);
done:
  comp__free(looks);
  comp__free(rows);
  comp__free(s.rows);
  comp__free(s.broken);
  return status;
}

comp_status comp_data_look_by(comp_data_look *out, comp_data_look *each, comp_context *context,
                              const comp_matrix *matrix, const comp_groups *groups) {
  COMP__NEED(out, context, matrix);
  comp__look_parts *parts = NULL;
  comp_status status = comp__calloc(&parts, (groups ? groups->n_levels : 0) + 1, sizeof *parts);
  if (status == COMP_OK) status = comp__look_parts_by(out, each, parts, context, matrix, groups);
  comp__free(parts);
  return status;
}

comp_status comp_data_look_at(comp_data_look *out, comp_context *context, const comp_matrix *matrix) {
  COMP__NEED(out, context, matrix);
  return comp_data_look_by(out, NULL, context, matrix, NULL);
}

static const char *const kind_names[] = {"counts", "log",      "normalized", "centered", "estimated",
                                         "scaled", "negative", "mixed",      NULL};
COMP__ENUM_NAMES(comp_data_kind, kind_names, "kind of data")
