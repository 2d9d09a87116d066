/* test_response.c: changes of populations that were never seen changed, against the formulas of src/task/borrow.h
 * written out once more. */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "task/response.h"

enum { K = 6, F = 40 };

static double normal(size_t row, size_t column) {
  return comp__rng_normal(comp__rng_at(7, COMP__RNG_TEST, 0, row), column);
}

static void fill(comp__response *r) {
  assert_ok(comp__response_init(r, K, F));
  for (size_t u = 0; u < K; u++)
    for (size_t g = 0; g < F; g++) {
      r->expression[u * F + g] = 1.0 + 0.3 * normal(u, g) + (double)(u % 3) * 0.4 * normal(90 + u % 3, g);
      r->change[u * F + g] = normal(50, g) + 0.3 * normal(60 + u % 3, g);
    }
  comp__response_measure(r);
}

/* The four parts, literally; populations nearer than `radius` are left out. */
static void parts_of(double parts[4][F], const comp__response *r, const double *c, double radius) {
  double d[K], least = INFINITY, near[K] = {0}, all[K] = {0}, near_sum = 0, all_sum = 0;
  for (size_t u = 0; u < K; u++) {
    d[u] = 0;
    for (size_t g = 0; g < F; g++) d[u] += pow(c[g] - r->expression[u * F + g], 2);
    if (d[u] >= radius && d[u] < least) least = d[u];
  }
  for (size_t u = 0; u < K; u++) {
    double alike = 0;
    for (size_t v = 0; v < K; v++) {
      double apart = 0;
      for (size_t g = 0; g < F; g++) apart += pow(r->expression[u * F + g] - r->expression[v * F + g], 2);
      if (d[v] >= radius) alike += exp(-apart / least);
    }
    if (d[u] < radius) continue;
    near_sum += near[u] = exp(-d[u] / least) / alike;
    all_sum += all[u] = 1 / alike;
  }
  for (size_t g = 0; g < F; g++) {
    double dw = 0, dm = 0, cw = 0, factor = 1;
    for (size_t u = 0; u < K; u++) {
      dw += near[u] / near_sum * r->change[u * F + g];
      dm += all[u] / all_sum * r->change[u * F + g];
      cw += near[u] / near_sum * r->expression[u * F + g];
      double before = r->expression[u * F + g], after = before + r->change[u * F + g];
      if (before >= 0 && after >= 0)
        factor *= pow((exp(after) - 1 + 0.002) / (exp(before) - 1 + 0.002), near[u] / near_sum);
    }
    parts[0][g] = dw;
    parts[1][g] = dm;
    parts[2][g] = c[g] - cw;
    parts[3][g] = c[g] > 0 ? log(1 + (exp(c[g]) - 1) * factor) - c[g] : 0;
  }
}

static void predictions_follow_the_formula(void **state) {
  (void)state;
  comp__response r;
  float c[F], change[F];
  double room[(COMP__RESPONSE_TERMS + 1) * F], wide[F], parts[4][F], nearest = INFINITY;
  fill(&r);
  for (size_t g = 0; g < F; g++) wide[g] = (double)(c[g] = (float)(1.0 + 0.5 * normal(99, g)));
  memcpy(r.terms, (double[]){0.7, 0.2, -0.1, 0.5}, sizeof r.terms);
  comp__response_predict(&r, change, c, room);
  parts_of(parts, &r, wide, 0);
  for (size_t g = 0; g < F; g++)
    assert_near(change[g], 0.7 * parts[0][g] + 0.2 * parts[1][g] - 0.1 * parts[2][g] + 0.5 * parts[3][g], 1e-5);
  for (size_t u = 0; u < K; u++) {
    double d = 0;
    for (size_t g = 0; g < F; g++) d += pow(wide[g] - r.expression[u * F + g], 2);
    nearest = fmin(nearest, d);
  }
  assert_near(comp__response_nearest(&r, c), nearest, 1e-9);
  comp__response_release(&r);
}

/* At the least squares, the residual is orthogonal to every part (up to the ridge). */
static void terms_are_least_squares(void **state) {
  (void)state;
  comp__response r;
  double slope[4] = {0}, scale[4] = {0}, parts[4][F], radius;
  fill(&r);
  radius = r.apart[1] * 0.5;
  assert_ok(comp__response_fit(&r, radius));
  assert_int_equal(r.fitted_on, K);
  for (size_t u = 0; u < K; u++) {
    double size = 0;
    parts_of(parts, &r, r.expression + u * F, radius);
    for (size_t g = 0; g < F; g++) size += pow(r.change[u * F + g], 2) / F;
    for (size_t g = 0; g < F; g++) {
      double left = r.change[u * F + g];
      for (int i = 0; i < 4; i++) left -= r.terms[i] * parts[i][g];
      for (int i = 0; i < 4; i++) {
        slope[i] += left * parts[i][g] / size;
        scale[i] += parts[i][g] * parts[i][g] / size;
      }
    }
  }
  for (int i = 0; i < 4; i++) assert_near(slope[i], 1e-4 * r.terms[i] * scale[i], 1e-8 * (1 + scale[i]));
  comp__response_release(&r);
}

/* Where every gene of every population changes by the same factor, so does that of a population that is expressed ten
 * times as much: no other term knows this. Values that are no logarithms (1e4: exp() is infinite) change nothing. */
static void factors_are_learned(void **state) {
  (void)state;
  comp__response r;
  float c[F], change[F];
  double room[(COMP__RESPONSE_TERMS + 1) * F];
  assert_ok(comp__response_init(&r, K, F));
  for (size_t u = 0; u < K; u++)
    for (size_t g = 0; g < F; g++) {
      double level = exp(normal(u, g)), factor = exp(normal(50, g));
      r.expression[u * F + g] = log1p(level);
      r.change[u * F + g] = log1p(level * factor) - log1p(level);
    }
  comp__response_measure(&r);
  assert_ok(comp__response_fit(&r, 1e-3));
  assert_near(r.terms[3], 1.0, 0.01);
  for (size_t g = 0; g < F; g++) c[g] = (float)log1p(10 * exp(normal(80, g)));
  comp__response_predict(&r, change, c, room);
  for (size_t g = 0; g < F; g++) {
    double level = 10 * exp(normal(80, g)), factor = exp(normal(50, g));
    assert_near(change[g], log1p(level * factor) - log1p(level), 0.03);
  }
  for (size_t i = 0; i < (size_t)K * F; i++) r.expression[i] = 1e4 + normal(i, 0), r.change[i] = normal(i, 1);
  comp__response_measure(&r);
  assert_ok(comp__response_fit(&r, 1e-3));
  for (size_t g = 0; g < F; g++) c[g] = 1e4f;
  comp__response_predict(&r, change, c, room);
  for (size_t g = 0; g < F; g++) assert_true(isfinite(change[g]));
  comp__response_release(&r);
}

/* With nobody far enough, or one population alone, the change of the nearest is taken as it is. */
static void few_populations_lend_as_they_are(void **state) {
  (void)state;
  comp__response r;
  float c[F] = {0}, change[F];
  double room[(COMP__RESPONSE_TERMS + 1) * F];
  assert_ok(comp__response_init(&r, 1, F));
  for (size_t g = 0; g < F; g++) r.change[g] = (double)g;
  comp__response_measure(&r);
  assert_ok(comp__response_fit(&r, 1.0));
  assert_int_equal(r.fitted_on, 0);
  comp__response_predict(&r, change, c, room); /* at the very place of the population: a distance of 0 */
  for (size_t g = 0; g < F; g++) assert_near(change[g], (double)g, 1e-6);
  comp__response_release(&r);
}

/* A population that is there twice counts once. */
static void twins_count_once(void **state) {
  (void)state;
  comp__response r;
  float c[F], change[F];
  double room[(COMP__RESPONSE_TERMS + 1) * F];
  assert_ok(comp__response_init(&r, 3, F));
  for (size_t g = 0; g < F; g++) {
    c[g] = 0;
    r.expression[g] = r.expression[F + g] = 1; /* twins on one side, one on the other, equally far */
    r.expression[2 * F + g] = -1;
    r.change[g] = r.change[F + g] = 1;
    r.change[2 * F + g] = 3;
  }
  comp__response_measure(&r);
  comp__response_predict(&r, change, c, room);
  for (size_t g = 0; g < F; g++) assert_near(change[g], 2.0, 0.02); /* 1.33 if each counted */
  comp__response_release(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(predictions_follow_the_formula),
                                     cmocka_unit_test(terms_are_least_squares), cmocka_unit_test(factors_are_learned),
                                     cmocka_unit_test(few_populations_lend_as_they_are),
                                     cmocka_unit_test(twins_count_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
