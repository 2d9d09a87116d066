/* test_look.c: what data is, on data made so that it is known: one table, several seeds, conditions of different kinds.
 */
#include <math.h>

#include "prep/options.h"
#include "prep_testing.h"

enum { ROWS = 90, COLS = 160, SEEDS = 5 };

/* Where values come from, and what was done to them, in this order. */
typedef enum source { COUNTS, HALF_WHOLE, NEARLY_WHOLE, ESTIMATES, SHALLOW, BULK, QUANTILES } source;
typedef enum factor { NO_FACTOR, TOTAL, OF_ROW, SIZE_FACTOR } factor;
typedef enum after { NOTHING, CENTRED, Z_SCORES, BINARY, SUBTRACTED, LOWERED, EMPTY } after;

typedef struct recipe {
  const char *name;
  source source;
  factor factor;
  double total;
  bool subset; /* half of the genes */
  double base; /* of the logarithm; 0: none */
  after after;
  comp_data_kind kind;
  double log_base, common;
  bool counts, linear;
  const char *reason;
} recipe;

#define E M_E
static const recipe recipes[] = {
    {"counts", COUNTS, .kind = COMP_DATA_COUNTS, .counts = true, .linear = true, .reason = "whole numbers"},
    {"no counts at all", COUNTS, .after = EMPTY, .kind = COMP_DATA_COUNTS, .counts = true, .linear = true},
    {"shallow counts, almost none above 1", SHALLOW, .kind = COMP_DATA_COUNTS, .counts = true, .linear = true},
    {"binary", COUNTS, .after = BINARY, .kind = COMP_DATA_COUNTS, .counts = true, .linear = true, .reason = "binary"},
    {"RSEM", HALF_WHOLE, .kind = COMP_DATA_ESTIMATED, .counts = true, .linear = true, .reason = "estimated counts"},
    {"a few fractions", NEARLY_WHOLE, .kind = COMP_DATA_ESTIMATED, .counts = true, .linear = true},
    {"kallisto", ESTIMATES, .kind = COMP_DATA_ESTIMATED, .counts = true, .linear = true, .reason = "totals differ"},
    {"scaled", COUNTS, OF_ROW, .kind = COMP_DATA_SCALED, .counts = true, .linear = true, .reason = "scaled counts"},
    {"size factors", COUNTS, SIZE_FACTOR, .kind = COMP_DATA_SCALED, .counts = true, .linear = true},
    {"CP10k", COUNTS, TOTAL, 1e4, .kind = COMP_DATA_NORMALIZED, .common = 1e4, .counts = true, .linear = true},
    {"CPM, some genes", COUNTS, TOTAL, 1e6, .subset = true, .kind = COMP_DATA_SCALED, .counts = true, .linear = true},
    {"shares", COUNTS, TOTAL, 1, .kind = COMP_DATA_NORMALIZED, .common = 1, .counts = true, .linear = true},
    {"TPM", ESTIMATES, TOTAL, 1e6, .kind = COMP_DATA_NORMALIZED, .common = 1e6, .linear = true, .reason = "not logged"},
    {"log CP10k", COUNTS, TOTAL, 1e4, .base = E, .kind = COMP_DATA_LOG, .log_base = E, .common = 1e4, .counts = true,
     .linear = true, .reason = "natural"},
    {"log2 CPM", COUNTS, TOTAL, 1e6, .base = 2, .kind = COMP_DATA_LOG, .log_base = 2, .common = 1e6, .counts = true,
     .linear = true, .reason = "log2"},
    {"log10 CP10k", COUNTS, TOTAL, 1e4, .base = 10, .kind = COMP_DATA_LOG, .log_base = 10, .common = 1e4,
     .counts = true, .linear = true, .reason = "log10"},
    {"log CP10k, some genes", COUNTS, TOTAL, 1e4, .subset = true, .base = E, .kind = COMP_DATA_LOG, .log_base = E,
     .counts = true, .linear = true, .reason = "normalised counts"},
    {"log2 of counts", COUNTS, .base = 2, .kind = COMP_DATA_LOG, .log_base = 2, .counts = true, .linear = true,
     .reason = "not normalised"},
    {"log2 TPM", ESTIMATES, TOTAL, 1e6, .base = 2, .kind = COMP_DATA_LOG, .log_base = 2, .common = 1e6, .linear = true},
    {"log TPM, some genes", ESTIMATES, TOTAL, 1e6, .subset = true, .base = E, .kind = COMP_DATA_LOG,
     .reason = "logarithms"},
    {"bulk log2", BULK, .kind = COMP_DATA_LOG, .reason = "logarithms"},
    {"bulk log2 of small values", BULK, .after = LOWERED, .kind = COMP_DATA_CENTERED, .reason = "log ratios"},
    {"microarrays, all with one distribution", QUANTILES, .kind = COMP_DATA_LOG, .reason = "logarithms"},
    {"z-scores", COUNTS, TOTAL, 1e4, .base = E, .after = Z_SCORES, .kind = COMP_DATA_CENTERED, .reason = "z-scores"},
    {"centred", COUNTS, TOTAL, 1e4, .base = E, .after = CENTRED, .kind = COMP_DATA_CENTERED, .reason = "centred"},
    {"a background subtracted", COUNTS, .after = SUBTRACTED, .kind = COMP_DATA_NEGATIVE,
     .reason = "cannot be negative"},
};
enum { RECIPES = sizeof recipes / sizeof *recipes };

static const recipe *find(const char *name) {
  for (size_t i = 0; i < RECIPES; i++)
    if (strcmp(recipes[i].name, name) == 0) return &recipes[i];
  fail_msg("no recipe %s", name);
  return NULL;
}

/* ---- Making data ----------------------------------------------------------------------------------------------- */

/* Counts with many zeros; depths of samples differ twentyfold. */
static void make_source(double *x, source s, uint64_t seed) {
  for (size_t i = 0; i < ROWS; i++) {
    comp__rng rng = comp__rng_at(seed, COMP__RNG_TEST, (uint64_t)s, i);
    double depth = exp(3.0 * comp__rng_uniform(rng, 2 * COLS));
    for (size_t j = 0; j < COLS; j++) {
      double rate = depth * exp(comp__rng_normal(comp__rng_at(seed, COMP__RNG_TEST, 99, j), 0)) * 0.3;
      double u = comp__rng_uniform(rng, j), v = comp__rng_uniform(rng, COLS + j), count = floor(-rate * log(u));
      switch (s) {
      case COUNTS:
        break;
      case SHALLOW:
        count = u < 0.002;
        break;
      case HALF_WHOLE: /* reads that map to several genes are shared out */
        count = j % 2 && count > 0 ? count - 0.9 * v : count;
        break;
      case NEARLY_WHOLE: /* in four samples */
        count = i % 25 == 0 && count > 0 ? count - 0.9 * v : count;
        break;
      case ESTIMATES:
        count = count > 0 ? count * (0.5 + v) : 0.0;
        break;
      case BULK:
        count = fmax(0.0, 8.0 + 3.0 * comp__rng_normal(comp__rng_at(seed, COMP__RNG_TEST, 98, j), 0) + v);
        break;
      case QUANTILES: /* the same values in another order */
        count = 4.0 + 10.0 * (double)((j * 7 + i * 13) % COLS) / COLS + 0.001;
        break;
      }
      x[i * COLS + j] = count;
    }
  }
}

static double factor_of(const recipe *r, const double *row, uint64_t seed, size_t i) {
  double total = 0.0, u = comp__rng_uniform(comp__rng_at(seed, COMP__RNG_TEST, 97, i), 0);
  for (size_t j = 0; j < COLS; j++) total += row[j];
  if (total == 0.0) return 1.0;
  switch (r->factor) {
  case TOTAL:
    return r->total / total;
  case OF_ROW:
    return 0.1 + 3.0 * u;
  case SIZE_FACTOR:
    return 500.0 / total * exp(0.3 * u);
  default:
    return 1.0;
  }
}

static void centre(double *x, size_t cols, bool unit) {
  for (size_t j = 0; j < cols; j++) {
    double mean = 0.0, squares = 0.0;
    for (size_t i = 0; i < ROWS; i++) mean += x[i * cols + j] / ROWS;
    for (size_t i = 0; i < ROWS; i++) squares += (x[i * cols + j] - mean) * (x[i * cols + j] - mean) / ROWS;
    for (size_t i = 0; i < ROWS; i++)
      x[i * cols + j] = (x[i * cols + j] - mean) / (unit && squares > 0 ? sqrt(squares) : 1.0);
  }
}

static double finish(const recipe *r, double value) {
  if (r->base > 0.0) value = log1p(value) / log(r->base);
  if (r->after == BINARY) value = value > 0.0;
  if (r->after == SUBTRACTED) value -= 2.0;
  if (r->after == LOWERED) value -= 3.25;
  return r->after == EMPTY ? 0.0 : value;
}

/* [ROWS x *cols]. It should be freed via free(). */
static double *make(size_t *cols, const recipe *r, uint64_t seed) {
  double *x = calloc(ROWS * COLS, sizeof *x), *out = calloc(ROWS * COLS, sizeof *out);
  make_source(x, r->source, seed);
  *cols = r->subset ? COLS / 2 : COLS;
  for (size_t i = 0; i < ROWS; i++) {
    double by = factor_of(r, x + i * COLS, seed, i);
    for (size_t j = 0; j < *cols; j++) out[i * *cols + j] = finish(r, x[i * COLS + j * (r->subset ? 2 : 1)] * by);
  }
  if (r->after == CENTRED || r->after == Z_SCORES) centre(out, *cols, r->after == Z_SCORES);
  free(x);
  return out;
}

/* Parts of the same number of columns below each other; obs "part" is A, B, ... */
static comp_dataset *make_dataset(const recipe *const *parts, size_t n, uint64_t seed, bool sparse) {
  comp_matrix *x = NULL, *csr;
  comp_dataset *d;
  comp_context *context = test_context(1);
  const char **names = calloc(n * ROWS, sizeof *names);
  for (size_t p = 0; p < n; p++) {
    size_t cols;
    double *values = make(&cols, parts[p], seed + p * 1000);
    if (!x) assert_ok(comp_matrix_new_dense(&x, n * ROWS, cols));
    assert_int_equal(cols, comp_matrix_cols(x));
    for (size_t k = 0; k < ROWS * cols; k++) comp_matrix_values(x)[p * ROWS * cols + k] = (float)values[k];
    for (size_t i = 0; i < ROWS; i++) names[p * ROWS + i] = (const char *const[]){"A", "B", "C"}[p];
    free(values);
  }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_strings(comp_dataset_obs(d), "part", names));
  free(names);
  comp_context_free(context);
  return d;
}

static comp_groups parts_of(const comp_dataset *d) {
  comp_groups groups;
  assert_ok(comp_table_groups(&groups, comp_dataset_obs(d), comp_table_find(comp_dataset_obs(d), "part")));
  return groups;
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static void check(const recipe *r, const comp_data_look *look, uint64_t seed) {
  if (look->kind != r->kind || (r->reason && !strstr(look->reason, r->reason)))
    fail_msg("%s, seed %d: %s (%s)", r->name, (int)seed, comp_data_kind_name(look->kind), look->reason);
  if (look->log_base != r->log_base || fabs(look->common_total - r->common) > 1e-3 * r->common)
    fail_msg("%s, seed %d: base %g, total %g (%s)", r->name, (int)seed, look->log_base, look->common_total,
             look->reason);
  if (look->counts != r->counts || look->linear != r->linear || look->binary != (r->after == BINARY))
    fail_msg("%s, seed %d: counts %d, linear %d, binary %d", r->name, (int)seed, look->counts, look->linear,
             look->binary);
}

static void every_kind_is_known(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (size_t i = 0; i < RECIPES; i++)
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      const recipe *r = &recipes[i];
      comp_data_look look;
      comp_dataset *d = make_dataset(&r, 1, seed, seed % 2);
      assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
      check(r, &look, seed);
      comp_dataset_free(d);
    }
  comp_context_free(context);
}

static const struct mixture {
  const char *parts[3];
  comp_data_kind kind;
  bool counts, linear;
  const char *reason;
} mixtures[] = {
    {{"counts", "counts"}, COMP_DATA_COUNTS, true, true, "whole numbers"},
    {{"log CP10k", "log CP10k"}, COMP_DATA_LOG, true, true, "natural"},
    {{"counts", "RSEM", "kallisto"}, COMP_DATA_ESTIMATED, true, true, "counts (A); estimated counts (B, C)"},
    {{"counts", "scaled"}, COMP_DATA_SCALED, true, true, "counts times a factor of each sample (B)"},
    {{"counts", "log CP10k"}, COMP_DATA_MIXED, true, true, "counts (A); natural log(1 + x) with the total 10000 (B)"},
    {{"counts", "log2 CPM", "log CP10k"}, COMP_DATA_MIXED, true, true, "log2(1 + x) with the total 1e+06 (B)"},
    {{"log CP10k", "log10 CP10k"}, COMP_DATA_MIXED, true, true, "log10(1 + x) with the total 10000 (B)"},
    {{"counts", "CP10k"}, COMP_DATA_MIXED, true, true, "normalised values, not logged, with the total 10000 (B)"},
    {{"RSEM", "TPM"}, COMP_DATA_MIXED, false, true, "normalised values, not logged, with the total 1e+06 (B)"},
    {{"counts", "log2 TPM"}, COMP_DATA_MIXED, false, true, "log2(1 + x) with the total 1e+06 (B)"},
    {{"counts", "bulk log2"}, COMP_DATA_MIXED, false, false, "logarithms of an unknown base (B)"},
    {{"bulk log2", "bulk log2 of small values"}, COMP_DATA_CENTERED, false, false, "logarithms of an unknown base (A)"},
    {{"bulk log2", "z-scores"}, COMP_DATA_MIXED, false, false, "centred or scaled values (B)"},
    {{"counts", "z-scores"}, COMP_DATA_MIXED, false, false, "centred or scaled values (B)"},
    {{"counts", "binary"}, COMP_DATA_MIXED, true, false, "0 and 1 only (B)"},
    {{"counts", "a background subtracted"}, COMP_DATA_NEGATIVE, false, false, "negative whole numbers (B)"},
    {{"log CP10k", "a background subtracted"}, COMP_DATA_MIXED, false, false, "negative whole numbers (B)"},
};
enum { MIXTURES = sizeof mixtures / sizeof *mixtures };

static comp_dataset *make_mixture(const struct mixture *m, uint64_t seed, bool sparse) {
  const recipe *parts[3];
  size_t n = 0;
  while (n < 3 && m->parts[n]) {
    parts[n] = find(m->parts[n]);
    n++;
  }
  return make_dataset(parts, n, seed, sparse);
}

static void conditions_are_looked_at_one_by_one(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (size_t i = 0; i < MIXTURES; i++)
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      const struct mixture *m = &mixtures[i];
      comp_data_look look, each[3];
      comp_dataset *d = make_mixture(m, seed, seed % 2);
      comp_groups groups = parts_of(d);
      assert_ok(comp_data_look_by(&look, each, context, comp_dataset_x(d), &groups));
      if (look.kind != m->kind || look.counts != m->counts || look.linear != m->linear ||
          !strstr(look.reason, m->reason))
        fail_msg("%s, %s, seed %d: %s, counts %d, linear %d (%s)", m->parts[0], m->parts[1], (int)seed,
                 comp_data_kind_name(look.kind), look.counts, look.linear, look.reason);
      for (size_t p = 0; p < groups.n_levels; p++) assert_int_equal(each[p].kind, find(m->parts[p])->kind);
      comp_groups_release(&groups);
      comp_dataset_free(d);
    }
  comp_context_free(context);
}

/* Without a column, samples of whole numbers are still distinguished from samples of logarithms. */
static void mixtures_are_seen_without_a_condition(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_data_look look;
  comp_dataset *d = make_mixture(&mixtures[4], 3, true);
  assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
  assert_int_equal(look.kind, COMP_DATA_MIXED);
  assert_non_null(strstr(look.reason, "counts (some samples); natural log(1 + x) with the total 10000 (the others)"));
  comp_dataset_free(d);
  const recipe *logs[2] = {find("counts"), find("log2 CPM")};
  d = make_dataset(logs, 2, 3, true);
  assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
  assert_int_equal(look.kind, COMP_DATA_MIXED);
  comp_dataset_free(d);
  d = make_mixture(&mixtures[2], 3, true);
  assert_ok(comp_data_look_at(&look, context, comp_dataset_x(d)));
  assert_int_equal(look.kind, COMP_DATA_ESTIMATED);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* What is undone is what it was made of; and prepared, it is what counts would have become. */
static void counts_come_back(void **state) {
  (void)state;
  static const char *const from[] = {
      "scaled", "CP10k", "CPM, some genes", "log CP10k", "log2 CPM", "log CP10k, some genes", "log2 of counts"};
  comp_context *context = test_context(2);
  for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
    const recipe *r = find(from[i]), plain = {"", COUNTS, .subset = r->subset};
    comp_dataset *d = make_dataset(&r, 1, 5, i % 2);
    size_t cols, wrong = 0;
    double *counts = make(&cols, &plain, 5);
    assert_ok(comp_to_counts(context, d, NULL));
    for (size_t row = 0; row < ROWS; row++) {
      double smallest = INFINITY; /* a sample without 1 may come back as a part of its counts */
      for (size_t j = 0; j < cols; j++)
        if (counts[row * cols + j] > 0) smallest = fmin(smallest, counts[row * cols + j]);
      for (size_t j = 0; j < cols; j++)
        wrong += smallest == 1.0 && test_at(comp_dataset_x(d), row, j) != (float)counts[row * cols + j];
    }
    assert_int_equal(wrong, 0);
    assert_non_null(strstr(comp_dataset_record(d), "to_counts"));
    free(counts);
    comp_dataset_free(d);
  }
  comp_context_free(context);
}

static void mixtures_are_prepared_as_counts_would_be(void **state) {
  (void)state;
  const recipe *plain[2] = {find("counts"), find("counts")}, *mixed[2] = {find("counts"), find("log2 CPM")};
  comp__prep_options o = comp__prep_defaults();
  o.normalize = o.log1p = true;
  o.target_sum = 1000;
  comp_dataset *expected = make_dataset(plain, 2, 7, true), *first = NULL;
  comp_context *context = test_context(1);
  assert_ok(comp__prep(&expected, context, &o));
  comp_context_free(context);
  o.to_counts = true;
  o.condition = "part";
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    context = test_context(TEST_THREADS[t]);
    comp_dataset *d = make_dataset(mixed, 2, 7, true);
    assert_ok(comp__prep(&d, context, &o));
    const float *a = comp_matrix_values(comp_dataset_x(d)), *b = comp_matrix_values(comp_dataset_x(expected));
    assert_int_equal(comp_matrix_nnz(comp_dataset_x(d)), comp_matrix_nnz(comp_dataset_x(expected)));
    for (size_t k = 0; k < comp_matrix_nnz(comp_dataset_x(d)); k++) assert_true(fabsf(a[k] - b[k]) < 1e-4f);
    assert_same_as_first(&first, d);
    comp_context_free(context);
  }
  comp_dataset_free(first);
  comp_dataset_free(expected);
}

/* Each sample is undone as what it is, also where the column says nothing about it: without a column, with one that
 * runs across, and in samples that have no value in it. */
static void mixtures_within_a_condition_come_back(void **state) {
  (void)state;
  enum { NO_COLUMN, ACROSS, MISSING, WAYS };
  for (int way = 0; way < WAYS; way++)
    for (int sparse = 0; sparse < 2; sparse++) {
      const recipe *plain[2] = {find("counts"), find("counts")};
      const recipe *mixed[2] = {find("counts"), find(sparse ? "log2 CPM" : "log CP10k")};
      comp_context *context = test_context(2);
      comp_dataset *d = make_dataset(mixed, 2, 9, sparse), *expected = make_dataset(plain, 2, 9, sparse);
      const char *names[2 * ROWS];
      for (size_t i = 0; i < 2 * ROWS; i++)
        names[i] = way == MISSING && i % 3 == 0 ? NULL : way == MISSING ? (i < ROWS ? "A" : "B") : i % 2 ? "A" : "B";
      assert_ok(comp_table_add_strings(comp_dataset_obs(d), "column", names));
      assert_ok(comp_to_counts(context, d, way == NO_COLUMN ? NULL : "column"));
      size_t wrong = 0;
      for (size_t i = 0; i < 2 * ROWS; i++) {
        float smallest = INFINITY; /* as in counts_come_back() */
        for (size_t j = 0; j < comp_matrix_cols(comp_dataset_x(d)); j++) {
          float value = test_at(comp_dataset_x(expected), i, j);
          if (value > 0.0f) smallest = fminf(smallest, value);
        }
        for (size_t j = 0; j < comp_matrix_cols(comp_dataset_x(d)) && smallest == 1.0f; j++)
          wrong += test_at(comp_dataset_x(d), i, j) != test_at(comp_dataset_x(expected), i, j);
      }
      if (wrong > 0) fail_msg("way %d, sparse %d: %zu values differ", way, sparse, wrong);
      comp_dataset_free(d);
      comp_dataset_free(expected);
      comp_context_free(context);
    }
}

/* Logarithms of an unknown base go together with those of a known one, but cannot be undone; nor can a few counts that
 * were taken for logarithms. */
static void what_cannot_be_undone_is_an_error(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = make_mixture(&mixtures[13], 1, false);
  assert_error(comp_to_counts(context, d, "part"), COMP_ERR_DATA, "counts (A); centred");
  assert_error(comp_to_counts(context, d, "nobody"), COMP_ERR_DATA, "nobody");
  comp_dataset_free(d);
  const recipe *bulk = find("bulk log2");
  d = make_dataset(&bulk, 1, 1, false);
  assert_error(comp_to_counts(context, d, NULL), COMP_ERR_DATA, "cannot be brought back");
  comp_dataset_free(d);
  const recipe *logs[2] = {find("log CP10k"), bulk};
  d = make_dataset(logs, 2, 1, false);
  assert_error(comp_to_counts(context, d, "part"), COMP_ERR_DATA, "cannot be brought back");
  comp_dataset_free(d);
  d = make_dataset(logs, 1, 1, false);
  for (size_t j = 0; j < comp_matrix_cols(comp_dataset_x(d)); j++)
    comp_matrix_values(comp_dataset_x(d))[j] = (float)(100 + j);
  assert_error(comp_to_counts(context, d, NULL), COMP_ERR_DATA, "too large for logarithms");
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_is_known),
      cmocka_unit_test(conditions_are_looked_at_one_by_one),
      cmocka_unit_test(mixtures_are_seen_without_a_condition),
      cmocka_unit_test(counts_come_back),
      cmocka_unit_test(mixtures_are_prepared_as_counts_would_be),
      cmocka_unit_test(mixtures_within_a_condition_come_back),
      cmocka_unit_test(what_cannot_be_undone_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
