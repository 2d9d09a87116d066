/*
 * test_gradients.c: the loss of every model and every gradient against a restatement in double precision and its
 * central differences; the same bytes at any number of threads; sparse and dense input alike.
 */
#include "testing.h"

#include "core/rng.h"
#include "gradients.h"
#include "model/bound.h"
#include "model/target.h"

static void check(const comp__model_options *options, size_t conditions, const char *what) {
  check_gradients(options, conditions, 0, what);
}

static void comp_penalty(void **state) {
  (void)state;
  for (size_t conditions = 2; conditions <= 5; conditions += conditions == 3 ? 2 : 1)
    for (int variant = 0; variant < 8; variant++) {
      comp__model_options o = gradient_options();
      o.learn_scale = variant & 1;
      o.include_self = !(variant & 2);
      o.penalty = variant & 4 ? COMP_PENALTY_COMP_P0 : COMP_PENALTY_COMP;
      char what[64];
      snprintf(what, sizeof what, "comp K=%zu learned=%d self=%d p0=%d", conditions, o.learn_scale, o.include_self,
               variant >> 2);
      check(&o, conditions, what);
      check_weighted_gradients(&o, conditions, what);
      snprintf(what + strlen(what), sizeof what - strlen(what), " blurred");
      check_gradients(&o, conditions, 0.8, what);
    }
}

static void mmd_penalty(void **state) {
  (void)state;
  for (size_t conditions = 2; conditions <= 5; conditions += conditions == 3 ? 2 : 1)
    for (int variant = 0; variant < 8; variant++) {
      comp__model_options o = gradient_options();
      o.penalty = COMP_PENALTY_MMD;
      o.learn_scale = variant & 1;
      o.place = variant & 2 ? COMP_PLACE_HIDDEN : COMP_PLACE_Z;
      o.multi_scale = variant & 4;
      char what[64];
      snprintf(what, sizeof what, "mmd K=%zu learned=%d place=%d multi=%d", conditions, o.learn_scale, (int)o.place,
               o.multi_scale);
      check(&o, conditions, what);
    }
}

static void plain_models(void **state) {
  (void)state;
  for (int variant = 0; variant < 8; variant++) {
    comp__model_options o = gradient_options();
    o.penalty = COMP_PENALTY_NONE;
    o.encoder_sees_condition = o.decoder_sees_condition = !(variant & 1);
    o.learn_scale = variant & 2;
    o.reduction = variant & 4 ? COMP_REDUCTION_MEAN : COMP_REDUCTION_SUM;
    check(&o, 2, "no penalty");
  }
}

static void count_models(void **state) {
  (void)state;
  for (int variant = 0; variant < 2; variant++) {
    comp__model_options o = gradient_options();
    o.likelihood = COMP_LIKELIHOOD_NB;
    o.learn_scale = variant;
    check(&o, 3, "negative binomial");
  }
}

static void centred_encoders(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    comp__model_options o = gradient_options();
    o.centred = true;
    o.encoder_sees_condition = variant & 1;
    o.likelihood = variant & 2 ? COMP_LIKELIHOOD_NB : COMP_LIKELIHOOD_GAUSSIAN;
    check(&o, 2 + (size_t)variant % 3, "centred encoder");
  }
}

static void bounded_lengths(void **state) {
  (void)state;
  for (int variant = 0; variant < 4; variant++) {
    comp__model_options o = gradient_options();
    o.bound = variant & 1 ? 0.4 : 0.8; /* many samples, and a few */
    o.learn_scale = variant & 2;
    check(&o, 2 + (size_t)variant % 3, "bounded lengths");
  }
}

/* Samples without a class among them; also where no other term moves z. */
static void targets(void **state) {
  (void)state;
  for (int variant = 0; variant < 6; variant++) {
    comp__model_options o = gradient_options();
    o.classes = variant & 1 ? 4 : 2;
    o.target_weight = 3.0;
    o.learn_scale = variant & 2;
    if (variant >= 4) o.penalty = COMP_PENALTY_NONE;
    check(&o, 2 + (size_t)variant % 3, "a target");
  }
}

/* Large logits overflow nothing, and a sample without a class has no gradient. */
static void extreme_logits(void **state) {
  (void)state;
  float logits[3] = {1000.0f, -1000.0f, 999.0f};
  assert_true(fabs(comp__target_forward(logits, 2, 3) - (1.0 + log1p(exp(-1.0)))) < 1e-6);
  assert_true(logits[1] == 0.0f && fabsf(logits[0] + logits[2] - 1.0f) < 1e-6f);
  comp__target_backward(logits, 2, 3, 2.0f);
  assert_true(logits[2] < 0.0f && logits[0] > 0.0f && fabsf(logits[0] + logits[1] + logits[2]) < 1e-6f);
  assert_true(comp__target_forward(logits, -1, 3) == 0.0);
  comp__target_backward(logits, -1, 3, 2.0f);
  for (int k = 0; k < 3; k++) assert_true(logits[k] == 0.0f);
}

/* The quantile without a sort, against one. */
static void quantiles(void **state) {
  (void)state;
  float values[67], spare[67], sorted[67];
  for (size_t n = 1; n <= 67; n++)
    for (uint64_t seed = 0; seed < 20; seed++) {
      for (size_t i = 0; i < n; i++) { /* many equal ones in every other set */
        double u = comp__rng_uniform(comp__rng_at(seed, COMP__RNG_TEST, n, 0), i);
        sorted[i] = values[i] = (float)(seed % 2 ? floor(4 * u) : u);
      }
      for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && sorted[j] < sorted[j - 1]; j--) {
          float kept = sorted[j];
          sorted[j] = sorted[j - 1], sorted[j - 1] = kept;
        }
      assert_true(comp__bound_quantile(spare, values, n) == sorted[n * 95 / 100]);
    }
}

static void other_shapes(void **state) {
  (void)state;
  comp__model_options o = gradient_options();
  o.n_hidden = 1;
  o.hidden[0] = 70;
  check(&o, 2, "one wide layer");
  o.n_hidden = 3;
  o.hidden[0] = 4, o.hidden[1] = 33, o.hidden[2] = 17;
  check(&o, 2, "three layers");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comp_penalty),    cmocka_unit_test(mmd_penalty),      cmocka_unit_test(plain_models),
      cmocka_unit_test(count_models),    cmocka_unit_test(centred_encoders), cmocka_unit_test(other_shapes),
      cmocka_unit_test(bounded_lengths), cmocka_unit_test(quantiles),        cmocka_unit_test(targets),
      cmocka_unit_test(extreme_logits),
  };
  return cmocka_run_group_tests_name("model/gradients", tests, NULL, NULL);
}
