/*
 * test_gradients.c: the loss of every model and every gradient against a restatement in double precision and its
 * central differences; the same bytes at any number of threads; sparse and dense input alike.
 */
#include "testing.h"

#include "gradients.h"

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
      cmocka_unit_test(comp_penalty), cmocka_unit_test(mmd_penalty),      cmocka_unit_test(plain_models),
      cmocka_unit_test(count_models), cmocka_unit_test(centred_encoders), cmocka_unit_test(other_shapes),
  };
  return cmocka_run_group_tests_name("model/gradients", tests, NULL, NULL);
}
