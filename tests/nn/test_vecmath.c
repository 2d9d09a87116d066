/* test_vecmath.c: exp, log and rounding to bf16 against libm in double and the definition, specials, order and place.
 */
#include "testing.h"

#include <float.h>

#include "core/rng.h"
#include "nn/vecmath.h"

enum { N = 4096 };

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The distance in units of the last place of the true value, taken as a normal number. */
static double ulps(float got, double wanted) {
  const double place = ldexp(1.0, ilogb(fmax(fabs(wanted), (double)FLT_MIN)) - 23);
  return fabs((double)got - wanted) / place;
}

static void check_exp(const comp__vec_functions *v, const float *in) {
  float out[N];
  v->exp(out, in, N);
  for (size_t i = 0; i < N; i++) {
    const double wanted = exp((double)in[i]);
    if (wanted < (double)FLT_MIN)
      assert_true(out[i] == 0.0f || (wanted > 0.999999 * (double)FLT_MIN && out[i] <= FLT_MIN));
    else if (wanted > (double)FLT_MAX)
      assert_true(out[i] == INFINITY || wanted < 1.000001 * (double)FLT_MAX);
    else if (!(ulps(out[i], wanted) <= 2.0))
      fail_msg("exp(%.9g) = %.9g: %.2f ulp", (double)in[i], (double)out[i], ulps(out[i], wanted));
  }
}

static void check_exp_ranges(const comp__vec_functions *v) {
  float in[N];
  for (int range = 0; range < 60; range++) { /* -150 .. 150 in equal steps, each range on its own grid */
    for (size_t i = 0; i < N; i++) in[i] = -150.0f + 5.0f * ((float)range + (float)i / (float)N);
    check_exp(v, in);
  }
  for (uint32_t exponent = 0; exponent < 255; exponent++) { /* both signs of every magnitude */
    for (uint32_t i = 0; i < N; i++) in[i] = from_bits((i & 1) << 31 | exponent << 23 | (i * 2047u & 0x7fffffu));
    check_exp(v, in);
  }
}

static void check_log(const comp__vec_functions *v) {
  float in[N], out[N];
  for (uint32_t exponent = 0; exponent < 255; exponent++) {
    for (uint32_t i = 0; i < N; i++) in[i] = from_bits(exponent << 23 | (1u + i * 2047u));
    v->log(out, in, N);
    for (size_t i = 0; i < N; i++)
      if (!(ulps(out[i], log((double)in[i])) <= 2.0)) fail_msg("log(%.9g) = %.9g", (double)in[i], (double)out[i]);
  }
  for (size_t i = 0; i < N; i++) in[i] = 1.0f + ((float)i - N / 2) * FLT_EPSILON; /* near 1 the result is small */
  v->log(out, in, N);
  for (size_t i = 0; i < N; i++) assert_true(ulps(out[i], log((double)in[i])) <= 2.0);
}

static void check_specials(const comp__vec_functions *v) {
  const float in[] = {-INFINITY,
                      INFINITY,
                      NAN,
                      -NAN,
                      from_bits(0x7f800001),
                      from_bits(0xffffffff),
                      0.0f,
                      -0.0f,
                      -FLT_MAX,
                      FLT_MAX,
                      -1e4f,
                      1e4f,
                      -88.0f,
                      89.0f,
                      FLT_MIN,
                      -1.0f};
  float out[16];
  v->exp(out, in, 16);
  assert_true(out[0] == 0.0f && out[1] == INFINITY);
  for (int i = 2; i < 6; i++) assert_true(isnan(out[i]));
  assert_true(out[6] == 1.0f && out[7] == 1.0f);
  assert_true(out[8] == 0.0f && out[9] == INFINITY && out[10] == 0.0f && out[11] == INFINITY);
  assert_true(out[12] == 0.0f && out[13] == INFINITY && out[14] == 1.0f);
  v->log(out, in, 16);
  assert_true(isnan(out[0]) && out[1] == INFINITY);
  for (int i = 2; i < 6; i++) assert_true(isnan(out[i]));
  assert_true(out[6] == -INFINITY && out[7] == -INFINITY);
  assert_true(isnan(out[8]) && isnan(out[15]) && isfinite(out[9]) && isfinite(out[14]));
}

/* An element's result does not depend on where it stands, how long the vector is, or whether it is done in place. */
static void check_place_does_not_matter(const comp__vec_functions *v) {
  float in[100], one[1], out[100], whole[100], whole_log[100];
  comp__rng_fill_normal(in, 100, comp__rng_at(1, COMP__RNG_TEST, 0, 0), 0);
  v->exp(whole, in, 100);
  v->log(whole_log, whole, 100);
  for (size_t i = 0; i < 100; i++) {
    v->exp(one, in + i, 1);
    assert_memory_equal(one, whole + i, sizeof *one);
    v->log(one, whole + i, 1);
    assert_memory_equal(one, whole_log + i, sizeof *one);
  }
  for (size_t n = 0; n <= 100; n++) {
    memcpy(out, in, sizeof out);
    v->exp(out, out, n);
    assert_memory_equal(out, whole, n * sizeof *out);
    assert_memory_equal(out + n, in + n, (100 - n) * sizeof *out);
    v->log(out, out, n);
    assert_memory_equal(out, whole_log, n * sizeof *out);
  }
}

static void check_exp_sub(const comp__vec_functions *v) {
  float in[1000], out[1000];
  comp__rng_fill_normal(in, 1000, comp__rng_at(1, COMP__RNG_TEST, 0, 1), 0);
  in[3] = -INFINITY;
  for (size_t n = 0; n <= 1000; n = n < 70 ? n + 1 : n + 93) {
    const float shift = n % 2 ? 0.0f : 1.5f;
    double wanted = 0.0;
    for (size_t i = 0; i < n; i++) wanted += exp((double)(in[i] - shift));
    const double sum = v->exp_sub(out, in, shift, n);
    assert_near(sum, wanted, 1e-6);
    for (size_t i = 0; i < n; i++) assert_true(ulps(out[i], exp((double)(in[i] - shift))) <= 2.0);
    assert_true(v->sum_exp(in, shift, n) == sum);
    float copy[1000];
    memcpy(copy, in, sizeof copy);
    assert_true(v->exp_sub(copy, copy, shift, n) == sum);
    assert_memory_equal(copy, out, n * sizeof *out);
  }
  in[5] = NAN;
  assert_true(isnan(v->sum_exp(in, 0.0f, 1000)));
}

static void check_max(const comp__vec_functions *v) {
  float in[500] = {0};
  assert_true(v->max(in, 0) == -INFINITY);
  comp__rng_fill_normal(in, 500, comp__rng_at(1, COMP__RNG_TEST, 0, 2), 0);
  in[1] = NAN;
  float most = in[0];
  for (size_t n = 1; n <= 500; n++) {
    if (in[n - 1] > most) most = in[n - 1];
    assert_true(v->max(in, n) == most);
  }
  in[499] = INFINITY;
  assert_true(v->max(in, 500) == INFINITY);
  assert_true(v->max(in + 1, 1) == -INFINITY); /* nothing but a NaN */
}

/* Of the two bf16 around x the nearer one, of two as near the even one; found by looking at both. */
static uint16_t nearest_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t below = bits & 0xffff0000u, above = below + 0x10000u;
  /* Past the largest bf16 the next step counts as 2^128, as in any rounding of IEEE 754. */
  const double down = fabs((double)x - (double)from_bits(below));
  const double next =
      (above & 0x7fffffffu) == 0x7f800000u ? copysign(ldexp(1.0, 128), (double)x) : (double)from_bits(above);
  const double up = fabs(next - (double)x);
  const int even_below = !(below >> 16 & 1);
  return (uint16_t)((down < up || (down == up && even_below) ? below : above) >> 16);
}

static void check_bf16(const comp__vec_functions *v) {
  float in[N];
  uint16_t out[N];
  for (uint32_t round = 0; round < 1024; round++) {
    for (uint32_t i = 0; i < N; i++) {
      const uint32_t low = i % 4 == 0 ? 0x8000u : i % 4 == 1 ? 0x7fffu : i % 4 == 2 ? 0x8001u : i * 31u & 0xffffu;
      in[i] = from_bits((round * N + i) << 10 >> 16 << 16 | low);
    }
    v->f32_to_bf16(out, in, N);
    for (size_t i = 0; i < N; i++) {
      if (isnan(in[i]))
        assert_true((out[i] & 0x7fff) > 0x7f80);
      else if (isinf(in[i]))
        assert_int_equal(out[i] & 0x7fff, 0x7f80);
      else
        assert_int_equal(out[i], nearest_bf16(in[i]));
    }
  }
  const float specials[] = {
      INFINITY, -INFINITY, 0.0f, -0.0f, FLT_MAX, 1.0f, from_bits(0x7f800001), from_bits(0xff800001)};
  v->f32_to_bf16(out, specials, 8);
  const uint16_t wanted[] = {0x7f80, 0xff80, 0, 0x8000, 0x7f80, 0x3f80, 0x7fc0, 0xffc0};
  assert_memory_equal(out, wanted, sizeof wanted);
}

/* Runs a check for every instruction set. */
#define TEST(name)                                                                                                     \
  static void test_##name(void **state) {                                                                              \
    (void)state;                                                                                                       \
    for (size_t i = 0; comp__vec_functions_at(i); i++) check_##name(comp__vec_functions_at(i));                        \
  }

TEST(exp_ranges)
TEST(log)
TEST(specials)
TEST(place_does_not_matter)
TEST(exp_sub)
TEST(max)
TEST(bf16)

/* The functions without a table are those of the best instruction set. */
static void test_best_is_used(void **state) {
  (void)state;
  const comp__vec_functions *v = comp__vec_functions_at(0);
  float in[50], out[50], wanted[50];
  uint16_t out16[50], wanted16[50];
  for (int i = 0; i < 50; i++) in[i] = 0.37f * (float)(i + 1);
  comp__vec_exp(out, in, 50), v->exp(wanted, in, 50);
  assert_memory_equal(out, wanted, sizeof out);
  comp__vec_log(out, in, 50), v->log(wanted, in, 50);
  assert_memory_equal(out, wanted, sizeof out);
  assert_true(comp__vec_exp_sub(out, in, 1.0f, 50) == v->exp_sub(wanted, in, 1.0f, 50));
  assert_memory_equal(out, wanted, sizeof out);
  assert_true(comp__vec_sum_exp(in, 1.0f, 50) == v->sum_exp(in, 1.0f, 50));
  assert_true(comp__vec_max(in, 50) == in[49]);
  comp__f32_to_bf16(out16, in, 50), v->f32_to_bf16(wanted16, in, 50);
  assert_memory_equal(out16, wanted16, sizeof out16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exp_ranges), cmocka_unit_test(test_log),
      cmocka_unit_test(test_specials),   cmocka_unit_test(test_place_does_not_matter),
      cmocka_unit_test(test_exp_sub),    cmocka_unit_test(test_max),
      cmocka_unit_test(test_bf16),       cmocka_unit_test(test_best_is_used),
  };
  return cmocka_run_group_tests_name("nn/vecmath", tests, NULL, NULL);
}
