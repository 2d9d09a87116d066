/* test_certify.c: the bounds hold in 95 % of 200 trials where the best attacker is known, and say something. */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "audit/certify.h"
#include "core/rng.h"

enum { TRIALS = 200, LEAST = 190 };
#define DELTA 0.05

typedef struct tally {
  int balanced, accuracy, parity, all; /* trials whose bound held */
  double excess;                       /* mean of bound - truth, of the parity gap */
} tally;

static void count(tally *t, const comp__certificate *c, double balanced, double accuracy, double parity) {
  const bool b = c->balanced.upper >= balanced, a = c->accuracy.upper >= accuracy, p = c->parity.upper >= parity;
  t->balanced += b;
  t->accuracy += a;
  t->parity += p;
  t->all += b && a && p;
  t->excess += (c->parity.upper - parity) / TRIALS;
}

static void assert_holds(const tally *t, const char *family, double loosest) {
  print_message("# %s: held in %d of %d trials; the parity gap is bounded %.3f above the truth on average\n", family,
                t->all, TRIALS, t->excess);
  if (t->all < LEAST || !(t->excess < loosest))
    fail_msg("held in %d, %d, %d and together %d of %d trials; %.3f above the truth on average", t->balanced,
             t->accuracy, t->parity, t->all, TRIALS, t->excess);
}

/* ---- Three levels over eight cells, with any shares ---- */

enum { CELLS = 8, LEVELS = 3, SAMPLES = 3000 };
static const double shares[LEVELS][CELLS] = {
    {.2, .2, .1, .1, .1, .1, .1, .1}, {.1, .1, .1, .1, .2, .2, .1, .1}, {.15, .15, .12, .08, .15, .15, .1, .1}};

static void cells(void **state) {
  (void)state;
  int32_t cell[SAMPLES], code[SAMPLES];
  double balanced = 0, accuracy = 0, parity = 0;
  for (size_t c = 0; c < CELLS; c++) {
    double most = 0, weighted = 0;
    for (size_t k = 0; k < LEVELS; k++) {
      most = fmax(most, shares[k][c]);
      weighted = fmax(weighted, shares[k][c] * (k == 0 ? 0.5 : 0.25));
    }
    balanced += most / LEVELS;
    accuracy += weighted;
  }
  for (size_t c = 0; c < CELLS; c++) parity += fabs(shares[0][c] - shares[1][c]) / 2; /* the largest of the pairs */
  tally t = {0};
  for (uint64_t trial = 0; trial < TRIALS; trial++) {
    for (size_t i = 0; i < SAMPLES; i++) {
      const double u = comp__rng_uniform(comp__rng_at(trial, COMP__RNG_TEST, 0, i), 0);
      double sum = 0;
      code[i] = i < SAMPLES / 2 ? 0 : i % 2 ? 1 : 2;
      for (cell[i] = 0; cell[i] < CELLS - 1; cell[i]++)
        if (u < (sum += shares[code[i]][cell[i]])) break;
    }
    comp__certificate c;
    assert_ok(comp__certify_cells(&c, cell, code, SAMPLES, CELLS, LEVELS, DELTA));
    assert_int_equal(c.samples, SAMPLES);
    assert_int_equal(c.fewest, SAMPLES / 4);
    count(&t, &c, balanced, accuracy, parity);
  }
  assert_holds(&t, "eight cells, three levels", 0.12);
}

/* ---- Two normal populations behind a normal channel: the optimum is a threshold ---- */

static double normal_cdf(double x) {
  return 0.5 * erfc(-x / sqrt(2));
}

/* Means around -+ shift in the first of two dimensions, of standard deviation `spread`. */
static void draw_normal(float *mean, float *scale, int32_t *code, size_t n, double shift, double spread, double channel,
                        uint64_t seed) {
  for (size_t i = 0; i < n; i++) {
    code[i] = (int32_t)(i % 2);
    for (size_t d = 0; d < 2; d++) {
      const double x = spread * comp__rng_normal(comp__rng_at(seed, COMP__RNG_TEST, 1, i), d);
      mean[2 * i + d] = (float)(x + (d == 0 ? (code[i] ? shift : -shift) : 0));
      scale[2 * i + d] = (float)channel;
    }
  }
}

enum { DRAWN = 1000, POINTS = 1000 };

static void normal(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  float mean[2 * DRAWN], scale[2 * DRAWN];
  int32_t code[DRAWN];
  const double parity = 2 * normal_cdf(0.4 / sqrt(0.3 * 0.3 + 1)) - 1;
  tally t = {0};
  for (uint64_t trial = 0; trial < TRIALS; trial++) {
    comp__certificate c;
    draw_normal(mean, scale, code, DRAWN, 0.4, 0.3, 1, trial);
    assert_ok(comp__certify_draws(&c, context, mean, scale, code, DRAWN, 2, 2, DELTA, POINTS, trial));
    count(&t, &c, (1 + parity) / 2, (1 + parity) / 2, parity);
  }
  assert_holds(&t, "two normal populations, draws", 0.18);
  comp_context_free(context);
}

/* The estimate itself is right where there are enough samples and points. */
static void normal_estimate(void **state) {
  (void)state;
  enum { MANY = 4000 };
  static float mean[2 * MANY], scale[2 * MANY];
  static int32_t code[MANY];
  comp__certificate first = {0};
  const double parity = 2 * normal_cdf(1 / sqrt(0.5 * 0.5 + 1)) - 1;
  draw_normal(mean, scale, code, MANY, 1, 0.5, 1, 7);
  for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
    comp_context *context = test_context(threads);
    comp__certificate c;
    assert_ok(comp__certify_draws(&c, context, mean, scale, code, MANY, 2, 2, DELTA, 2000, 7));
    if (fabs(c.parity.estimate - parity) > 0.03) fail_msg("%g, not %g", c.parity.estimate, parity);
    assert_true(fabs(c.balanced.estimate - (1 + c.parity.estimate) / 2) < 1e-9);
    if (threads == 1) first = c;
    assert_memory_equal(&c, &first, sizeof c);
    comp_context_free(context);
  }
}

/* ---- Exclusive or: no linear attacker finds anything, the best is right in 0.7 ---- */

static void exclusive_or(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  float mean[2 * DRAWN], scale[2 * DRAWN];
  int32_t code[DRAWN], cell[DRAWN];
  tally draws = {0}, quantised = {0};
  for (uint64_t trial = 0; trial < TRIALS; trial++) {
    size_t ones = 0;
    for (size_t i = 0; i < DRAWN; i++) {
      const comp__rng rng = comp__rng_at(trial, COMP__RNG_TEST, 2, i);
      const bool flip = comp__rng_uniform(rng, 2) < 0.3;
      code[i] = (int32_t)(i % 2);
      const bool right = comp__rng_uniform(rng, 0) < 0.5, up = right ^ (code[i] == 1) ^ flip;
      mean[2 * i] = right ? 1 : -1;
      mean[2 * i + 1] = up ? 1 : -1;
      scale[2 * i] = scale[2 * i + 1] = 0.25f;
      cell[i] = 2 * right + up;
      ones += (size_t)code[i];
    }
    assert_int_equal(ones, DRAWN / 2);
    comp__certificate c;
    assert_ok(comp__certify_draws(&c, context, mean, scale, code, DRAWN, 2, 2, DELTA, POINTS, trial));
    count(&draws, &c, 0.7, 0.7, 0.4);
    assert_ok(comp__certify_cells(&c, cell, code, DRAWN, 4, 2, DELTA));
    count(&quantised, &c, 0.7, 0.7, 0.4);
  }
  assert_holds(&draws, "exclusive or, draws", 0.17);
  assert_holds(&quantised, "exclusive or, cells", 0.12);
  comp_context_free(context);
}

/* ---- Edges ---- */

static void edges(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__certificate c;
  const int32_t one_cell[4] = {0, 0, 0, 0}, apart[4] = {0, 1, 0, 1}, code[4] = {0, 1, 0, 1};
  const float mean[4] = {0, 0, 0, 0}, scale[4] = {1, 1, 0, 1};
  assert_ok(comp__certify_cells(&c, one_cell, code, 4, 1, 2, DELTA)); /* nothing is released */
  assert_true(c.balanced.estimate == 0.5 && c.parity.estimate == 0 && c.accuracy.estimate == 0.5);
  assert_true(c.parity.upper == 1); /* but with four samples nobody knows */
  assert_ok(comp__certify_cells(&c, apart, code, 4, 2, 2, DELTA));
  assert_true(c.balanced.estimate == 1 && c.parity.upper == 1);
  assert_error(comp__certify_draws(&c, context, mean, scale, code, 4, 1, 2, DELTA, 10, 0), COMP_ERR_DATA,
               "standard deviation 0");
  /* As many as it takes give that slack. */
  const size_t n = comp__certify_needed(2, DELTA, 0.05);
  int32_t *cells = calloc(2 * n, sizeof *cells), *codes = calloc(2 * n, sizeof *codes);
  for (size_t i = 0; i < 2 * n; i++) {
    cells[i] = 0;
    codes[i] = (int32_t)(i % 2);
  }
  assert_ok(comp__certify_cells(&c, cells, codes, 2 * n, 1, 2, DELTA));
  assert_true(c.slack <= 0.05 && c.slack > 0.0499);
  free(cells);
  free(codes);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cells),        cmocka_unit_test(normal), cmocka_unit_test(normal_estimate),
      cmocka_unit_test(exclusive_or), cmocka_unit_test(edges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
