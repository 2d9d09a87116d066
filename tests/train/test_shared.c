/*
 * test_shared.c: populations that one condition lacks stay where they are, and those that both have are aligned; what
 * is known of samples beyond the members.
 */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"
#include "model/trained.h"
#include "train/options.h"
#include "train/shared.h"
#include "training.h"

enum { FEATURES = 40, POPULATIONS = 4 };

/* Samples of populations that differ in all features; the condition shifts every feature, in each population a little
 * otherwise. counts[k][p] samples of population p have condition k. */
static comp_dataset *make(const size_t counts[2][POPULATIONS], int *population, int32_t *codes) {
  size_t n = 0, row = 0;
  for (size_t i = 0; i < 2 * POPULATIONS; i++) n += counts[i / POPULATIONS][i % POPULATIONS];
  comp_matrix *x;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, n, FEATURES));
  for (size_t k = 0; k < 2; k++)
    for (size_t p = 0; p < POPULATIONS; p++)
      for (size_t i = 0; i < counts[k][p]; i++, row++) {
        codes[row] = (int32_t)k;
        population[row] = (int)p;
        for (size_t g = 0; g < FEATURES; g++) {
          const double centre = comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 0, p), g),
                       shift = comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 1, 0), g) +
                               0.3 * comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 2, p), g);
          x->values[row * FEATURES + g] =
              (float)(centre + (double)k * shift + 0.5 * comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 3, row), g));
        }
      }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, (const char *const[]){"a", "b"}, 2));
  return d;
}

static double squared(const float *z, size_t dims, size_t i, size_t j) {
  double sum = 0;
  for (size_t d = 0; d < dims; d++) sum += pow((double)z[i * dims + d] - (double)z[j * dims + d], 2);
  return sum;
}

/* Of the samples of population p: the share whose nearest sample (of the other condition, where `across`) has their
 * population. */
static double kept(const float *z, size_t dims, size_t n, const int *population, const int32_t *codes, int p,
                   bool across) {
  double right = 0, all = 0;
  for (size_t i = 0; i < n; i++) {
    if (population[i] != p) continue;
    size_t best = n;
    for (size_t j = 0; j < n; j++)
      if (j != i && (!across || codes[i] != codes[j]) &&
          (best == n || squared(z, dims, i, j) < squared(z, dims, i, best)))
        best = j;
    right += population[best] == p;
    all++;
  }
  return right / all;
}

/* Posterior means of all samples, which are sorted by condition. Free it. */
static float *encode(comp_context *context, comp_model *m, const comp_dataset *d, const size_t *start) {
  const size_t n = start[2], dims = m->network.options.latent;
  comp__state state = {.params = m->params, .buffers = m->buffers};
  comp__gather gather = {0};
  comp__work *work;
  comp__batch batch;
  float *z = malloc(n * dims * sizeof *z);
  size_t *rows = malloc(n * sizeof *rows);
  for (size_t i = 0; i < n; i++) rows[i] = i;
  assert_ok(comp__work_new(&work, &m->network, n, false, false));
  assert_ok(comp__gather_rows(&batch, context, &gather, comp_dataset_x(d), rows, n, start, false));
  assert_ok(comp__network_encode(context, &m->network, &state, &batch, work, z, NULL));
  comp__gather_release(&gather);
  comp__work_free(work);
  free(rows);
  return z;
}

static double unshared_after(comp_align align, double *aligned) {
  static const size_t counts[2][POPULATIONS] = {{60, 60, 60, 60}, {60, 60, 60, 0}};
  static int population[420];
  static int32_t codes[420];
  const size_t start[] = {0, 240, 420};
  comp_context *context = test_context(2);
  comp_dataset *d = make(counts, population, codes);
  comp__train_options o = test_train_options("comp", 32, 6);
  comp_model *m;
  o.align = align;
  o.model.gamma = 10;
  o.model.scale = 0.1; /* narrow posteriors, which merge populations most */
  o.epochs = 60;
  o.batch = 128;
  o.rate = 3e-3;
  assert_ok(comp__train(&m, context, d, &o));
  float *z = encode(context, m, d, start);
  double share = 0;
  *aligned = 0;
  share = kept(z, o.model.latent, start[2], population, codes, 3, false);
  for (int p = 0; p < 3; p++) *aligned += kept(z, o.model.latent, start[2], population, codes, p, true) / 3;
  free(z);
  comp_model_free(m);
  comp_dataset_free(d);
  comp_context_free(context);
  return share;
}

static void unshared_populations_stay(void **state) {
  (void)state;
  double with, without, alone = unshared_after(COMP_ALIGN_SHARED, &with),
                        pulled = unshared_after(COMP_ALIGN_ALL, &without);
  print_message("shared: kept %.3f, aligned %.3f; all: kept %.3f, aligned %.3f\n", alone, with, pulled, without);
  assert_true(alone >= 0.95);
  assert_true(with >= 0.95);
  assert_true(pulled < alone); /* else the test shows nothing */
}

/* Weights of samples by population, before any training. */
static void weigh(double out[2][POPULATIONS], const size_t counts[2][POPULATIONS]) {
  size_t n = 0;
  for (size_t i = 0; i < 2 * POPULATIONS; i++) n += counts[i / POPULATIONS][i % POPULATIONS];
  int *population = malloc(n * sizeof *population);
  int32_t *codes = malloc(n * sizeof *codes);
  uint64_t *ids = malloc(n * sizeof *ids);
  comp_context *context = test_context(2);
  comp_dataset *d = make(counts, population, codes);
  comp__train_options o = test_train_options("comp", 16, 4);
  comp_model *m;
  comp__members members;
  comp__counterparts counterparts;
  comp__shared *shared;
  comp_groups groups;
  double sums[2][POPULATIONS] = {{0}};
  assert_ok(comp__model_new(&m, &o.model, FEATURES, 2));
  assert_ok(comp_table_groups(&groups, comp_dataset_obs(d), 0));
  assert_ok(comp__members_take(&members, context, m, comp_dataset_x(d), NULL, &groups));
  assert_ok(comp__counterparts_find(&counterparts, context, &members));
  assert_ok(comp__shared_new(&shared, context, m, &members, &counterparts, comp_dataset_x(d), NULL, &groups));
  for (size_t i = 0; i < n; i++) ids[i] = i;
  const float *weight = comp__shared_weights(shared, &(comp__batch){.rows = n, .ids = ids});
  for (size_t i = 0; i < n; i++) sums[codes[i]][population[i]] += (double)weight[i];
  for (size_t i = 0; i < 2 * POPULATIONS; i++)
    out[i / POPULATIONS][i % POPULATIONS] =
        sums[i / POPULATIONS][i % POPULATIONS] / (double)counts[i / POPULATIONS][i % POPULATIONS];
  comp__shared_free(shared);
  comp__counterparts_release(&counterparts);
  comp__members_release(&members);
  comp_groups_release(&groups);
  comp_model_free(m);
  comp_dataset_free(d);
  comp_context_free(context);
  free(population), free(codes), free(ids);
}

static void weights_follow_shares(void **state) {
  (void)state;
  double w[2][POPULATIONS];
  weigh(w, (const size_t[2][POPULATIONS]){{80, 80, 80, 80}, {80, 80, 80, 80}});
  /* Not all 1: samples on the far side of a population are visited less. */
  for (size_t i = 0; i < 2 * POPULATIONS; i++) assert_true(w[i / POPULATIONS][i % POPULATIONS] > 0.6);
  weigh(w, (const size_t[2][POPULATIONS]){{100, 100, 100, 100}, {100, 100, 100, 10}});
  assert_true(w[0][3] < 0.2); /* ten times as common here */
  assert_true(w[1][3] > 0.9);
  /* A quarter of one condition has no counterpart, which moves its means: the others lose weight, but are still aligned
   * (test above). */
  for (size_t p = 0; p < 3; p++) assert_true(w[0][p] + w[1][p] > 0.25);
}

/* More samples than members: those that were not measured follow one that was. */
static void samples_follow_members(void **state) {
  (void)state;
  double w[2][POPULATIONS];
  weigh(w, (const size_t[2][POPULATIONS]){{1500, 1500, 1500, 500}, {1500, 1500, 1500, 1}});
  assert_true(w[0][3] < 0.1);
  for (size_t p = 0; p < 3; p++) assert_true(w[0][p] + w[1][p] > 0.8);
}

/* Ratios of the data stay the least, but for many samples. */
static void ratios_go_over_to_z(void **state) {
  (void)state;
  static const size_t few = 99999, many = 100000;
  for (size_t i = 0; i < 2; i++) {
    const size_t n = i ? many : few;
    assert_true(comp__shared_ratio(0.7f, 5.0f, 0.1, n) == 0.7f);
    assert_float_equal(comp__shared_ratio(0.7f, 5.0f, 0.25, n), 2.85f, 1e-5f);
    assert_float_equal(comp__shared_ratio(0.7f, 5.0f, 0.9, n), 5.0f, 1e-5f);
    assert_true(comp__shared_ratio(2.0f, 0.2f, 0.1, n) == 2.0f);
  }
  assert_true(comp__shared_ratio(2.0f, 0.2f, 0.25, few) == 2.0f);
  assert_true(comp__shared_ratio(2.0f, 0.2f, 0.9, few) == 2.0f);
  assert_float_equal(comp__shared_ratio(2.0f, 0.2f, 0.25, many), 1.1f, 1e-5f);
  assert_float_equal(comp__shared_ratio(2.0f, 0.2f, 0.9, many), 0.2f, 1e-5f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unshared_populations_stay),
      cmocka_unit_test(weights_follow_shares),
      cmocka_unit_test(samples_follow_members),
      cmocka_unit_test(ratios_go_over_to_z),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
