/* test_match.c: populations of two conditions that belong together, where that is known. */
#include "testing.h"

#include <math.h>

#include "core/alloc.h"
#include "core/rng.h"
#include "task/match.h"

enum { TYPES = 5, F = 60 };

static double normal(size_t row, size_t column) {
  return comp__rng_normal(comp__rng_at(11, COMP__RNG_TEST, 0, row), column);
}

/* Two populations of each type but `absent`. Changed ones are moved by a common vector, and by one of their own. */
static void fill(comp__populations *p, bool changed, int absent) {
  *p = (comp__populations){.features = F};
  assert_ok(comp__calloc(&p->mean, (size_t)2 * TYPES, F * sizeof *p->mean));
  for (size_t t = 0; t < TYPES; t++)
    for (size_t half = 0; half < 2 && (int)t != absent; half++, p->count++)
      for (size_t g = 0; g < F; g++)
        p->mean[p->count * F + g] = normal(t, g) + 0.05 * normal(100 + 10 * t + half, g) +
                                    (changed ? 2 * normal(50, g) + 0.3 * normal(60 + t, g) : 0.0);
  for (size_t i = 0; i < p->count; i++) p->sizes[i] = 40 + 10 * i;
}

static void populations_find_their_own(void **state) {
  (void)state;
  for (int absent = -1; absent < TYPES; absent++) {
    comp__populations from, to;
    comp__matching m;
    fill(&from, false, -1);
    fill(&to, true, absent);
    assert_ok(comp__match(&m, &from, &to));
    for (int u = 0; u < 2 * TYPES; u++) {
      if (u / 2 == absent) assert_false(m.matched[u]);
      for (size_t g = 0; m.matched[u] && g < F; g++) {
        double want = 2 * normal(50, g) + 0.3 * normal(60 + (size_t)u / 2, g);
        assert_near(m.change[(size_t)u * F + g], want, 0.4); /* its own noise, and that of its halves */
      }
    }
    comp__matching_release(&m);
    comp__free(from.mean);
    comp__free(to.mean);
  }
}

static void one_population_matches_itself(void **state) {
  (void)state;
  double a[F], b[F];
  for (size_t g = 0; g < F; g++) b[g] = (a[g] = normal(0, g)) + normal(1, g);
  comp__populations from = {1, F, a, {5}}, to = {1, F, b, {7}};
  comp__matching m;
  assert_ok(comp__match(&m, &from, &to));
  assert_true(m.matched[0]);
  for (size_t g = 0; g < F; g++) assert_near(m.change[g], b[g] - a[g], 1e-12);
  comp__matching_release(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(populations_find_their_own),
                                     cmocka_unit_test(one_population_matches_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
