/* test_counterparts.c: the centres of conditions differ by what the condition does to samples that match, whatever the
 * conditions are made of; members of a CSR matrix are read as those of a dense one. */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "neighbors/overlap.h"
#include "train/counterparts.h"
#include "train/options.h"
#include "training.h"

enum { FEATURES = 40, POPULATIONS = 4, MOST = 3 };

static double normal(uint64_t stream, uint64_t item, size_t g) {
  return comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, stream, item), g);
}

/* What condition k adds to every sample. */
static double shift(size_t k, size_t g) {
  return k == 0 ? 0.0 : normal(7, k, g);
}

/* counts[k][p] samples of population p have condition k. */
static comp_matrix *make(const size_t counts[MOST][POPULATIONS], size_t conditions, int32_t *codes) {
  size_t n = 0, row = 0;
  for (size_t i = 0; i < conditions * POPULATIONS; i++) n += counts[i / POPULATIONS][i % POPULATIONS];
  comp_matrix *x;
  assert_ok(comp_matrix_new_dense(&x, n, FEATURES));
  for (size_t k = 0; k < conditions; k++)
    for (size_t p = 0; p < POPULATIONS; p++)
      for (size_t i = 0; i < counts[k][p]; i++, row++) {
        codes[row] = (int32_t)k;
        for (size_t g = 0; g < FEATURES; g++)
          x->values[row * FEATURES + g] = (float)(1.5 * normal(0, p, g) + shift(k, g) + 0.5 * normal(3, row, g));
      }
  return x;
}

typedef struct found {
  double means, centres;           /* error of differences between conditions, as a share of the true ones */
  double ratio[MOST][POPULATIONS]; /* mean log ratio of a population after the matching */
} found;

static double error_of(const double *differences, size_t conditions) {
  double error = 0, all = 0;
  for (size_t k = 1; k < conditions; k++)
    for (size_t g = 0; g < FEATURES; g++) {
      error += pow(differences[k * FEATURES + g] - shift(k, g), 2);
      all += pow(shift(k, g), 2);
    }
  return sqrt(error / all);
}

static void compare_means(found *out, const comp_matrix *x, const int32_t *codes, size_t conditions) {
  double mean[MOST * FEATURES] = {0}, number[MOST] = {0};
  for (size_t i = 0; i < x->rows; i++) number[codes[i]]++;
  for (size_t i = 0; i < x->rows * FEATURES; i++)
    mean[(size_t)codes[i / FEATURES] * FEATURES + i % FEATURES] += (double)x->values[i] / number[codes[i / FEATURES]];
  for (size_t i = conditions * FEATURES; i-- > 0;) mean[i] -= mean[i % FEATURES];
  out->means = error_of(mean, conditions);
}

static found match(const size_t counts[MOST][POPULATIONS], size_t conditions, bool sparse) {
  int32_t codes[2000];
  float ratios[2000];
  found out = {0};
  comp_matrix *x = make(counts, conditions, codes);
  comp_dataset *d;
  comp_context *context = test_context(2);
  comp__train_options o = test_train_options("comp", 8, 8);
  comp_model *m;
  comp__members members;
  comp__counterparts counterparts;
  comp_groups groups;
  compare_means(&out, x, codes, conditions);
  if (sparse) {
    comp_matrix *csr;
    assert_ok(comp_matrix_to_csr(&csr, context, x));
    comp_matrix_free(x);
    x = csr;
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(
      comp_table_add_categorical(comp_dataset_obs(d), "c", codes, (const char *const[]){"a", "b", "c"}, conditions));
  assert_ok(comp_table_groups(&groups, comp_dataset_obs(d), 0));
  assert_ok(comp__model_new(&m, &o.model, FEATURES, conditions));
  assert_ok(comp__members_take(&members, context, m, x, NULL, &groups));
  assert_ok(comp__counterparts_find(&counterparts, context, &members));
  double differences[MOST * FEATURES];
  for (size_t i = 0; i < conditions * FEATURES; i++)
    differences[i] = (double)counterparts.centre[i] - (double)counterparts.centre[i % FEATURES];
  out.centres = error_of(differences, conditions);
  assert_ok(comp__overlap_ratios(ratios, context, counterparts.matched, members.start, conditions, counterparts.dims));
  size_t row = 0;
  for (size_t k = 0; k < conditions; k++)
    for (size_t p = 0; p < POPULATIONS; p++)
      for (size_t i = 0; i < counts[k][p]; i++) out.ratio[k][p] += (double)ratios[row++] / (double)counts[k][p];
  print_message("error of means %.3f, of centres %.3f; ratios", out.means, out.centres);
  for (size_t k = 0; k < conditions; k++)
    for (size_t p = 0; p < POPULATIONS; p++) print_message(" %.2f", out.ratio[k][p]);
  print_message("\n");
  comp__counterparts_release(&counterparts);
  comp__members_release(&members);
  comp_groups_release(&groups);
  comp_model_free(m);
  comp_dataset_free(d);
  comp_context_free(context);
  return out;
}

static void compositions_do_not_matter(void **state) {
  (void)state;
  const size_t counts[MOST][POPULATIONS] = {{200, 200, 40, 40}, {40, 40, 200, 200}};
  const found f = match(counts, 2, false), same = match(counts, 2, true);
  assert_true(f.means > 0.5); /* else the test shows nothing */
  assert_true(f.centres < 0.15);
  for (size_t p = 0; p < POPULATIONS; p++) assert_true(fabs(f.ratio[p / 2][p] - log(5.0)) < 0.5);
  assert_memory_equal(&f, &same, sizeof f);
}

static void absent_populations_do_not_matter(void **state) {
  (void)state;
  const found f = match((const size_t[MOST][POPULATIONS]){{150, 150, 150, 0}, {0, 150, 150, 150}}, 2, false);
  assert_true(f.means > 0.5);
  assert_true(f.centres < 0.2);
  /* Not more for both: samples of the one that lack a counterpart visit the nearest population, which is the other. */
  assert_true(f.ratio[0][0] > 0.7);
  assert_true(f.ratio[1][3] > 0.7);
  for (size_t k = 0; k < 2; k++)
    for (size_t p = 1; p < 3; p++) assert_true(fabs(f.ratio[k][p]) < 0.5);
}

static void three_conditions(void **state) {
  (void)state;
  const found f =
      match((const size_t[MOST][POPULATIONS]){{200, 50, 50, 50}, {50, 200, 50, 50}, {20, 20, 100, 100}}, 3, false);
  assert_true(f.means > 0.3);
  assert_true(f.centres < 0.15);
}

/* Equal compositions: nothing is lost by the counterparts. One sample a condition has a partner, too. */
static void small_and_balanced(void **state) {
  (void)state;
  found f = match((const size_t[MOST][POPULATIONS]){{60, 60, 60, 60}, {60, 60, 60, 60}}, 2, false);
  assert_true(f.centres < 0.15);
  f = match((const size_t[MOST][POPULATIONS]){{1, 1, 0, 0}, {1, 0, 0, 0}}, 2, false);
  assert_true(isfinite(f.centres));
  f = match((const size_t[MOST][POPULATIONS]){{1, 0, 0, 0}, {1, 0, 0, 0}}, 2, false);
  assert_true(isfinite(f.centres));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compositions_do_not_matter),
      cmocka_unit_test(absent_populations_do_not_matter),
      cmocka_unit_test(three_conditions),
      cmocka_unit_test(small_and_balanced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
