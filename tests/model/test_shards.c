/*
 * test_shards.c: a step on a batch in shards: loss and gradients against a restatement of the whole batch in double
 * precision and its central differences, and the same bytes at 1, 2, 4 and 8 ranks. Shards are runs of rows of a batch
 * that is sorted by condition: with 4 or 8 of them, every rank lacks conditions.
 */
#include "testing.h"

#include "core/alloc.h"
#include "core/rng.h"
#include "dist/comm_threads.h"
#include "gradients.h"
#include "model/penalty.h"

static void test_comp(void **state) {
  (void)state;
  for (size_t conditions = 2; conditions <= 5; conditions += conditions == 3 ? 2 : 1)
    for (int learned = 0; learned < 2; learned++) {
      comp__model_options o = gradient_options();
      char what[64];
      o.learn_scale = learned;
      snprintf(what, sizeof what, "comp K=%zu learned=%d", conditions, learned);
      check_sharded_gradients(&o, conditions, 4, learned ? 0.8 : 0.0, learned, what);
    }
}

static void test_others(void **state) {
  (void)state;
  comp__model_options o = gradient_options();
  check_sharded_gradients(&o, 3, 8, 0.0, false, "8 shards of 2 or 3 rows");
  o.include_self = false;
  o.centred = true;
  o.bound = 0.9;
  check_sharded_gradients(&o, 3, 4, 0.0, true, "centred, with a bound, without the sample itself");
  o = gradient_options();
  o.penalty = COMP_PENALTY_MMD;
  o.place = COMP_PLACE_HIDDEN;
  check_sharded_gradients(&o, 3, 2, 0.0, false, "mmd at the hidden layer");
  o = gradient_options();
  o.penalty = COMP_PENALTY_NONE;
  o.likelihood = COMP_LIKELIHOOD_NB;
  check_sharded_gradients(&o, 2, 4, 0.0, false, "counts, no penalty");
  o = gradient_options();
  o.classes = 3;
  o.target_weight = 5.0;
  check_sharded_gradients(&o, 3, 4, 0.0, false, "a target");
}

/* ---- The penalty alone, on a batch of several tiles, against one rank ------------------------------------------ */

enum { ROWS = 700, DIMS = 5, CONDITIONS = 3 };

typedef struct penalty_job {
  float z[ROWS * DIMS], mean[ROWS * DIMS], scale[ROWS * DIMS], weight[ROWS];
  size_t start[CONDITIONS + 1];
  double value[16];
  float gradient[16][3][ROWS * DIMS];
} penalty_job;

static void run_penalty(void *arg, comp__comm *comm) {
  penalty_job *job = arg;
  const size_t rank = comp__comm_rank(comm);
  comp_context *context = test_context(2);
  comp__model_options o = gradient_options();
  o.learn_scale = true;
  const comp__penalty *penalty = comp__penalty_find(COMP_PENALTY_COMP);
  char *scratch;
  assert_ok(comp__calloc(&scratch, penalty->scratch(&o, ROWS, DIMS, CONDITIONS), 1));
  const comp__penalty_input input = {.rows = ROWS,
                                     .dims = DIMS,
                                     .conditions = CONDITIONS,
                                     .start = job->start,
                                     .values = job->z,
                                     .mean = job->mean,
                                     .scale = job->scale,
                                     .fixed_scale = 1.0,
                                     .weight = job->weight,
                                     .comm = comm};
  float(*g)[ROWS * DIMS] = job->gradient[rank];
  const comp__penalty_gradient gradient = {g[0], g[1], g[2]};
  assert_ok(penalty->run(&job->value[rank], context, &o, &input, &gradient, 1.3f, scratch));
  comp__free(scratch);
  comp_context_free(context);
}

static void test_penalty(void **state) {
  (void)state;
  penalty_job *job = calloc(1, sizeof *job);
  const comp__rng rng = comp__rng_at(8, COMP__RNG_TEST, 0, 0);
  assert_non_null(job);
  for (size_t i = 0; i < ROWS * DIMS; i++) {
    job->mean[i] = (float)comp__rng_normal(rng, i);
    job->scale[i] = 0.3f + (float)comp__rng_uniform(rng, 10000 + i);
    job->z[i] = job->mean[i] + job->scale[i] * (float)comp__rng_normal(rng, 20000 + i);
  }
  for (size_t i = 0; i < ROWS; i++) job->weight[i] = (float)comp__rng_uniform(rng, 30000 + i);
  job->start[1] = 400;
  job->start[2] = 410;
  job->start[3] = ROWS;
  run_penalty(job, NULL);
  const double value = job->value[0];
  float(*kept)[ROWS * DIMS] = malloc(sizeof job->gradient[0]);
  assert_non_null(kept);
  memcpy(kept, job->gradient[0], sizeof job->gradient[0]);
  for (size_t ranks = 2; ranks <= 16; ranks += ranks == 2 ? 1 : ranks == 3 ? 5 : 8) {
    memset(job->gradient, 0, sizeof job->gradient);
    run_ranks(ranks, run_penalty, job);
    for (size_t r = 0; r < ranks; r++) {
      if (job->value[r] != value) fail_msg("rank %zu of %zu: %.17g, expected %.17g", r, ranks, job->value[r], value);
      assert_memory_equal(job->gradient[r], kept, sizeof job->gradient[r]);
    }
  }
  free(kept);
  free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_comp),
      cmocka_unit_test(test_others),
      cmocka_unit_test(test_penalty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
