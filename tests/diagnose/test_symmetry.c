/* test_symmetry.c: maps that leave z as it is are found, others are ruled out; false alarms and power. */
#include "testing.h"

#include "core/rng.h"
#include "diagnose/components.h"
#include "diagnose/whiten.h"

enum { DIMS = 3 };

/* A kind of z: independent components, or not, of which it is known what leaves them as they are. */
typedef void (*world)(double *s, comp__rng rng);

static double skewed(comp__rng rng, uint64_t column) {
  return -log(comp__rng_uniform(rng, column)) - 1;
}
static double uniform(comp__rng rng, uint64_t column) {
  return 2 * comp__rng_uniform(rng, column) - 1;
}
static double peaks(comp__rng rng, uint64_t column, double share) {
  return 0.4 * comp__rng_normal(rng, column) + (comp__rng_uniform(rng, 50 + column) < share ? 1.6 : -0.7);
}

static void different(double *s, comp__rng rng) {
  s[0] = skewed(rng, 0);
  s[1] = peaks(rng, 1, 0.3);
  s[2] = -peaks(rng, 2, 0.15);
}
static void cube(double *s, comp__rng rng) {
  for (size_t d = 0; d < DIMS; d++) s[d] = uniform(rng, d);
}
static void one_mirrored(double *s, comp__rng rng) {
  different(s, rng);
  s[2] = uniform(rng, 10);
}
static void two_alike(double *s, comp__rng rng) {
  different(s, rng);
  s[2] = -skewed(rng, 10);
}
/* Each component equals its mirror image, and any two do; all three together do not: their product is positive. So two
 * may be mirrored at once, but not one, and not three. */
static void handed(double *s, comp__rng rng) {
  s[0] = uniform(rng, 0);
  s[1] = 0.3 * comp__rng_normal(rng, 1) + (comp__rng_uniform(rng, 2) < 0.5 ? -1 : 1);
  s[2] = skewed(rng, 3) + 1;
  if (s[0] * s[1] < 0) s[2] = -s[2];
}
/* Parts of a circle of five, each the same: a fifth of a turn is no exchange and no mirror. The third is skewed. */
static void star(double *s, comp__rng rng) {
  double turn = 2 * M_PI / 5 * floor(5 * comp__rng_uniform(rng, 0));
  double across = 0.3 * comp__rng_uniform(rng, 1), along = 1 + comp__rng_uniform(rng, 2);
  s[0] = along * cos(turn) - across * sin(turn);
  s[1] = along * sin(turn) + across * cos(turn);
  s[2] = skewed(rng, 3);
}

/* It should be released via comp__components_release(). */
static comp__components find(comp_context *context, world draw, size_t n, uint64_t set) {
  double *x = malloc(n * DIMS * sizeof *x), *y = malloc(n * DIMS * sizeof *y);
  for (size_t i = 0; i < n; i++) {
    double s[DIMS];
    draw(s, comp__rng_at(set, COMP__RNG_TEST, 5, i));
    for (size_t d = 0; d < DIMS; d++) x[i * DIMS + d] = 2 * s[d] + s[(d + 1) % DIMS] - 0.5 * s[(d + 2) % DIMS];
  }
  size_t kept;
  comp__components c;
  assert_ok(comp__whiten(y, &kept, x, n, DIMS));
  assert_int_equal(kept, DIMS);
  assert_ok(comp__components_find(&c, context, y, n, DIMS, 0.05, set));
  free(x);
  free(y);
  return c;
}

typedef struct counts {
  size_t clear, mirrored, alike;
} counts;

/* Over data sets: how many have no map, and how many have one of each kind. */
static counts count(comp_context *context, world draw, size_t n, size_t sets) {
  counts total = {0};
  for (uint64_t set = 0; set < sets; set++) {
    comp__components c = find(context, draw, n, 100 + set);
    const comp__symmetries *s = &c.symmetries;
    total.clear += s->mirrored + s->together + s->alike == 0;
    total.mirrored += s->mirrored > 0;
    total.alike += s->alike > 0;
    comp__components_release(&c);
  }
  return total;
}

/* A symmetry must not be missed more often than alpha says. */
static void missed(void **state) {
  (void)state;
  enum { SETS = 20 };
  comp_context *context = test_context(2);
  for (size_t n = 300; n <= 900; n *= 3) {
    counts c = count(context, cube, n, SETS);
    assert_true(c.mirrored >= SETS * 0.9 && c.alike >= SETS * 0.9);
    assert_true(count(context, one_mirrored, n, SETS).mirrored >= SETS * 0.9);
    assert_true(count(context, two_alike, n, SETS).alike >= SETS * 0.9);
  }
  comp_context_free(context);
}

/* Where there is none, samples tell. */
static void power(void **state) {
  (void)state;
  enum { SETS = 20 };
  comp_context *context = test_context(2);
  assert_true(count(context, different, 2400, SETS).clear >= SETS * 0.9);
  assert_int_equal(count(context, one_mirrored, 2400, 3).alike, 0);
  assert_int_equal(count(context, two_alike, 2400, 3).mirrored, 0);
  comp_context_free(context);
}

/* One by one they are symmetric, together they are not. */
static void joint(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (uint64_t set = 0; set < 2; set++) {
    comp__components c = find(context, handed, 4000, set);
    assert_int_equal(c.symmetries.mirrored_alone, 3);
    assert_int_equal(c.symmetries.mirrored, 0);
    assert_int_equal(c.symmetries.together, 3);
    assert_int_equal(c.symmetries.alike, 0);
    assert_int_equal(c.symmetries.untested, 0);
    assert_true(c.found_again >= 1);
    comp__components_release(&c);
  }
  comp_context_free(context);
}

/* A symmetry that is no exchange of components turns them into others that are as good; four starts find those mostly.
 */
static void not_unique(void **state) {
  (void)state;
  size_t seen = 0;
  comp_context *context = test_context(2);
  for (uint64_t set = 0; set < 8; set++) {
    comp__components c = find(context, star, 3000, set);
    seen += c.found_again < 1 || c.symmetries.mirrored || c.symmetries.alike;
    comp__components_release(&c);
  }
  if (seen < 6) fail_msg("%zu of 8", seen);
  comp_context_free(context);
}

static void same_bytes(void **state) {
  (void)state;
  comp__symmetries first = {0};
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__components c = find(context, handed, 1000, 9);
    if (t == 0) first = c.symmetries;
    assert_memory_equal(&first, &c.symmetries, sizeof first);
    comp__components_release(&c);
    comp_context_free(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missed),     cmocka_unit_test(power),      cmocka_unit_test(joint),
      cmocka_unit_test(not_unique), cmocka_unit_test(same_bytes),
  };
  return cmocka_run_group_tests_name("diagnose/symmetry", tests, NULL, NULL);
}
