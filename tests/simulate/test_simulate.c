/* test_simulate.c: the simulator against its own formulas, computed here a second time, and against theory. */
#include "testing.h"

#include <unistd.h>

#include "core/matrix.h"
#include "io/options.h"
#include "simulate/cell.h"
#include "simulate/options.h"
#include "simulate/simulate.h"
#include "simulate/tables.h"

static comp__simulate_options small_options(void) {
  comp__simulate_options options = comp__simulate_defaults();
  options.cells = 300;
  options.genes = 123;
  options.conditions = 3;
  options.labels = 4;
  options.programs = 7;
  options.seed = 5;
  return options;
}

static comp_dataset *make(const comp__simulate_options *options, int threads, size_t block_cells) {
  comp_context *context = test_context(threads);
  comp_dataset *dataset = NULL;
  assert_ok(comp__simulate(&dataset, context, options, block_cells));
  comp_context_free(context);
  return dataset;
}

/* ---- determinism ---- */

static void assert_same_matrix(const comp_matrix *a, const comp_matrix *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(comp_matrix_nnz(a), comp_matrix_nnz(b));
  assert_memory_equal(a->values, b->values, comp_matrix_nnz(a) * sizeof(float));
  if (a->kind != COMP_CSR) return;
  assert_memory_equal(a->indptr, b->indptr, (a->rows + 1) * sizeof *a->indptr);
  assert_memory_equal(a->indices, b->indices, comp_matrix_nnz(a) * sizeof *a->indices);
}

static void assert_same_dataset(const comp_dataset *a, const comp_dataset *b) {
  assert_same_matrix(comp_dataset_x(a), comp_dataset_x(b));
  for (int slot = 0; slot < 2; slot++) {
    assert_int_equal(comp_dataset_matrix_count(a, (comp_slot)slot), comp_dataset_matrix_count(b, (comp_slot)slot));
    for (size_t i = 0; i < comp_dataset_matrix_count(a, (comp_slot)slot); i++) {
      const char *name = comp_dataset_matrix_name(a, (comp_slot)slot, i);
      assert_same_matrix(comp_dataset_matrix(a, (comp_slot)slot, name), comp_dataset_matrix(b, (comp_slot)slot, name));
    }
  }
  char one[64], other[64];
  for (size_t column = 0; column < comp_table_column_count(comp_dataset_obs(a)); column++)
    for (size_t i = 0; i < comp_dataset_sample_count(a); i++)
      assert_string_equal(comp_table_format(comp_dataset_obs(a), column, i, one, sizeof one),
                          comp_table_format(comp_dataset_obs(b), column, i, other, sizeof other));
  assert_string_equal(comp_dataset_record(a), comp_dataset_record(b));
}

static void same_bytes_at_any_threads_and_blocks(void **state) {
  (void)state;
  const size_t blocks[] = {0, 1, 7, 64, 299};
  comp__simulate_options options = small_options();
  comp_dataset *first = make(&options, 1, 0);
  for (int t = 0; t < TEST_THREADS_COUNT; t++)
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
      comp_dataset *other = make(&options, TEST_THREADS[t], blocks[b]);
      assert_same_dataset(first, other);
      comp_dataset_free(other);
    }
  options.seed++;
  comp_dataset *other = make(&options, 2, 0);
  assert_true(comp_matrix_nnz(comp_dataset_x(first)) != comp_matrix_nnz(comp_dataset_x(other)) ||
              memcmp(comp_dataset_x(first)->values, comp_dataset_x(other)->values,
                     comp_matrix_nnz(comp_dataset_x(first)) * sizeof(float)) != 0);
  comp_dataset_free(other);
  comp_dataset_free(first);
}

/* Without truth layers the counts are the same. */
static void truth_is_only_an_addition(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  comp_dataset *with = make(&options, 2, 0);
  options.truth = COMP_TRUTH_OFF;
  comp_dataset *without = make(&options, 2, 0);
  assert_same_matrix(comp_dataset_x(with), comp_dataset_x(without));
  assert_int_equal(comp_dataset_matrix_count(with, COMP_SLOT_LAYERS), 3);
  assert_int_equal(comp_dataset_matrix_count(without, COMP_SLOT_LAYERS), 0);
  comp_dataset_free(with);
  comp_dataset_free(without);
}

static void large_truth_is_left_out(void **state) {
  (void)state;
  comp__simulate_options options = comp__simulate_defaults();
  options.cells = 20000;
  options.genes = 20000;
  comp__sim_world world;
  assert_ok(comp__sim_world_init(&world, &options));
  assert_int_equal(world.options.truth, COMP_TRUTH_OFF);
  comp__sim_world_release(&world);
  options.genes = 10000;
  assert_ok(comp__sim_world_init(&world, &options));
  assert_int_equal(world.options.truth, COMP_TRUTH_ON);
  comp__sim_world_release(&world);
}

/* ---- on disk ---- */

/* The whole content of a file. It should be freed via free(). */
static char *slurp(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static char *simulate_to_bytes(const comp__simulate_options *options, const char *path, int threads, size_t block_cells,
                               size_t *size) {
  comp_context *context = test_context(threads);
  assert_ok(comp__simulate_file(context, path, options, 1, block_cells));
  comp_context_free(context);
  return slurp(path, size);
}

static void same_file_at_any_threads_and_blocks(void **state) {
  (void)state;
  char path[] = "/tmp/comp-simulate-XXXXXX";
  close(mkstemp(path));
  comp__simulate_options options = small_options();
  const size_t blocks[] = {0, 1, 97};
  size_t size, other_size;
  char *first = simulate_to_bytes(&options, path, 1, 0, &size);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    char *other = simulate_to_bytes(&options, path, TEST_THREADS[t], blocks[t], &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(first, other, size);
    free(other);
  }
  free(first);
  remove(path);
}

static void the_file_holds_what_memory_holds(void **state) {
  (void)state;
  char path[] = "/tmp/comp-simulate-XXXXXX";
  close(mkstemp(path));
  comp__simulate_options options = small_options();
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  comp_dataset *in_memory = make(&options, 2, 0), *on_disk = NULL;
  assert_ok(comp__simulate_file(context, path, &options, 4, 0));
  assert_ok(comp__dataset_read(&on_disk, context, path, &read));
  assert_same_dataset(in_memory, on_disk);
  assert_string_equal(comp_dataset_obs_name(on_disk, 299), "cell300");
  comp_dataset_free(in_memory);
  comp_dataset_free(on_disk);
  comp_context_free(context);
  remove(path);
}

/* Whatever goes wrong, an older file of that name stays. */
static void failure_leaves_the_old_file(void **state) {
  (void)state;
  char path[] = "/tmp/comp-simulate-XXXXXX", byte = 'x';
  close(mkstemp(path));
  assert_ok(comp_file_write(path, &byte, 1));
  comp__simulate_options options = small_options();
  comp_context *context = test_context(2);
  comp_context_interrupt(context);
  assert_error(comp__simulate_file(context, path, &options, 4, 0), COMP_ERR_INTERRUPTED, "");
  options.effect = -1;
  assert_error(comp__simulate_file(context, path, &options, 4, 0), COMP_ERR_ARGUMENT, "effect");
  size_t size;
  free(slurp(path, &size));
  assert_int_equal(size, 1);
  const comp__simulate_options good = comp__simulate_defaults();
  assert_error(comp__simulate_file(context, "/no/such/folder/x.h5ad", &good, 4, 0), COMP_ERR_IO, "/no/such/folder");
  comp_context_free(context);
  remove(path);
}

/* ---- the shape of what comes out ---- */

static void parts_are_named(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  comp_dataset *dataset = make(&options, 2, 0);
  comp_context *context = test_context(1);
  assert_ok(comp_matrix_check(context, comp_dataset_x(dataset)));
  assert_string_equal(comp_dataset_obs_name(dataset, 0), "cell1");
  assert_string_equal(comp_dataset_var_name(dataset, 122), "gene123");
  assert_non_null(comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_control"));
  assert_non_null(comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_treated1"));
  assert_non_null(comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_treated2"));
  assert_int_equal(comp_matrix_cols(comp_dataset_matrix(dataset, COMP_SLOT_OBSM, "truth_state")), 7);
  comp_table *obs = comp_dataset_obs(dataset), *var = comp_dataset_var(dataset);
  assert_int_equal(comp_table_column_kind(obs, comp_table_find(obs, "condition")), COMP_COLUMN_CATEGORICAL);
  assert_int_equal(comp_table_level_count(obs, comp_table_find(obs, "label")), 4);
  assert_int_equal(comp_table_column_kind(obs, comp_table_find(obs, "library_size")), COMP_COLUMN_NUMBER);
  assert_int_equal(comp_table_column_kind(var, comp_table_find(var, "response_treated2")), COMP_COLUMN_BOOL);
  assert_int_equal(comp_table_find(var, "response_control"), COMP_NOT_FOUND);
  assert_non_null(strstr(comp_dataset_record(dataset), "\"simulate\""));
  comp_context_free(context);
  comp_dataset_free(dataset);
}

static void looks_like_droplet_data(void **state) {
  (void)state;
  comp__simulate_options options = comp__simulate_defaults();
  options.genes = 2000;
  options.cells = 2000;
  options.truth = COMP_TRUTH_OFF;
  comp_dataset *dataset = make(&options, 2, 0);
  double zeros = 1.0 - (double)comp_matrix_nnz(comp_dataset_x(dataset)) / (2000.0 * 2000.0);
  assert_true(zeros > 0.8 && zeros < 0.95);
  comp_dataset_free(dataset);
}

static size_t cells_of(const comp__sim_world *world, int32_t condition, int32_t label) {
  size_t n = 0;
  for (size_t i = 0; i < world->options.cells; i++)
    n += world->conditions[i] == condition && (label < 0 || world->labels[i] == label);
  return n;
}

static void groups_have_exact_sizes(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  comp__sim_world world;
  assert_ok(comp__sim_world_init(&world, &options));
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 4; l++) assert_int_equal(cells_of(&world, k, l), 25);
  comp__sim_world_release(&world);

  options.absent = "type4:treated2"; /* the last group: the others take its cells */
  options.imbalance = 0.5;
  assert_ok(comp__sim_world_init(&world, &options));
  assert_int_equal(cells_of(&world, 2, 3), 0);
  assert_in_range(cells_of(&world, 0, -1), 170, 172); /* 4/7, 2/7, 1/7 */
  assert_in_range(cells_of(&world, 1, -1), 85, 87);
  assert_int_equal(cells_of(&world, 0, -1) + cells_of(&world, 1, -1) + cells_of(&world, 2, -1), 300);
  comp__sim_world_release(&world);

  options.absent = NULL;
  options.imbalance = 0.99; /* still, no group is empty */
  options.composition = 3;
  assert_ok(comp__sim_world_init(&world, &options));
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 4; l++) assert_true(cells_of(&world, k, l) >= 1);
  comp__sim_world_release(&world);
}

/* Labels are shared out alike by default, and not with `composition`. */
static void composition_differs_on_request(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  options.cells = 3000;
  options.composition = 0.5;
  comp__sim_world world;
  assert_ok(comp__sim_world_init(&world, &options));
  double difference = 0;
  for (int l = 0; l < 4; l++)
    difference += fabs((double)cells_of(&world, 0, l) - (double)cells_of(&world, 1, l)) / 1000;
  assert_true(difference > 0.1);
  comp__sim_world_release(&world);
}

/* ---- counts ---- */

typedef struct moments {
  double mean, variance, zeros;
} moments;

/* Draws counts of one mean for many cells and genes. */
static moments count_moments(double mean, double dispersion, size_t cells) {
  enum { GENES = 64 };
  comp__simulate_options options = comp__simulate_defaults();
  options.cells = cells;
  options.genes = GENES;
  options.library = 1;
  options.library_sd = 0;
  options.dispersion = dispersion;
  comp__sim_world world;
  assert_ok(comp__sim_world_init(&world, &options));
  float rho[GENES], uniform[GENES], counts[GENES];
  int32_t genes[GENES];
  for (size_t g = 0; g < GENES; g++) rho[g] = (float)mean;
  double sum = 0, squares = 0, zeros = 0, n = (double)cells * GENES;
  for (size_t i = 0; i < cells; i++) {
    size_t found = comp__sim_counts(genes, counts, rho, uniform, &world, i);
    zeros += (double)(GENES - found);
    for (size_t j = 0; j < found; j++) {
      assert_true(counts[j] > 0 && counts[j] == floorf(counts[j]));
      sum += counts[j];
      squares += (counts[j] - mean) * (counts[j] - mean);
    }
  }
  comp__sim_world_release(&world);
  return (moments){sum / n, (squares + zeros * mean * mean) / n, zeros / n};
}

static void counts_are_negative_binomial(void **state) {
  (void)state;
  const double means[] = {0.003, 0.05, 0.5, 3, 20, 59, 61, 400, 20000}, dispersions[] = {0, 1e-9, 0.2, 2};
  enum { CELLS = 4000 };
  const double n = CELLS * 64.0;
  for (size_t i = 0; i < sizeof means / sizeof *means; i++)
    for (size_t j = 0; j < sizeof dispersions / sizeof *dispersions; j++) {
      double m = means[i], d = dispersions[j], variance = m + d * m * m;
      double zero = d > 0 ? exp(-log1p(d * m) / d) : exp(-m);
      /* The variance of (x - m)^2 from the fourth central moment of the negative binomial. */
      double fourth = variance * (1 + 6 * d * variance) + 3 * variance * variance;
      moments got = count_moments(m, d, CELLS);
      assert_near((got.mean - m) / sqrt(variance / n), 0, 4.5);
      assert_near((got.variance - variance) / sqrt((fourth - variance * variance) / n), 0, 4.5);
      assert_near((got.zeros - zero) / sqrt(zero * (1 - zero) / n + 1e-12), 0, 4.5);
    }
}

/* ---- truth ---- */

/* The formula of comp/simulate.h in double precision. */
static void expected_profile(double *out, const comp__sim_world *world, size_t cell, const float *s, size_t condition) {
  const comp__simulate_options *o = &world->options;
  size_t label = (size_t)world->labels[cell];
  double sum = 0;
  for (size_t g = 0; g < o->genes; g++) {
    double eta = world->profile[label * o->genes + g], along = 0;
    for (size_t p = 0; p < o->programs; p++) eta += (double)s[p] * world->loadings[p * o->genes + g];
    if (condition > 0) {
      size_t m = world->module[g] > 0 ? 1 : 0;
      for (size_t p = 0; p < o->programs; p++)
        along += (double)s[p] * world->directions[((condition - 1) * 2 + m) * o->programs + p];
      eta += comp__sim_response(world, condition, label)[g] * (1 + o->heterogeneity * tanh(1.5 * along));
    }
    out[g] = exp(eta);
    sum += out[g];
  }
  for (size_t g = 0; g < o->genes; g++) out[g] *= o->library / sum;
}

static void truth_is_the_formula(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  comp_dataset *dataset = make(&options, 2, 0);
  comp__sim_world world;
  assert_ok(comp__sim_world_init(&world, &options));
  const comp_matrix *states = comp_dataset_matrix(dataset, COMP_SLOT_OBSM, "truth_state");
  const char *names[] = {"truth_control", "truth_treated1", "truth_treated2"};
  double expected[123];
  for (size_t k = 0; k < 3; k++) {
    const float *truth = comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, names[k])->values;
    for (size_t i = 0; i < 300; i++) {
      double sum = 0;
      expected_profile(expected, &world, i, states->values + i * 7, k);
      for (size_t g = 0; g < 123; g++) {
        assert_true(fabs(truth[i * 123 + g] - expected[g]) <= 2e-5 * expected[g]);
        sum += truth[i * 123 + g];
      }
      assert_near(sum, 49.2, 1e-5); /* 0.4 counts a gene */
    }
  }
  comp__sim_world_release(&world);
  comp_dataset_free(dataset);
}

/* The sum of counts over all cells against the sum of their means, gene by gene, in standard errors. */
static void counts_follow_the_truth(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  options.cells = 6000;
  comp_dataset *dataset = make(&options, 2, 0);
  const comp_table *obs = comp_dataset_obs(dataset);
  const comp_matrix *x = comp_dataset_x(dataset);
  const char *names[] = {"truth_control", "truth_treated1", "truth_treated2"};
  size_t condition = comp_table_find(obs, "condition"), library = comp_table_find(obs, "library_size");
  double sum[123] = {0}, mean[123] = {0}, variance[123] = {0}, chi = 0, drift = 0;
  for (size_t i = 0; i < options.cells; i++) {
    int32_t k = comp_table_code(obs, condition, i);
    const float *truth = comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, names[k])->values + i * 123;
    double scale = comp_table_number(obs, library, i) / 49.2;
    for (size_t g = 0; g < 123; g++) {
      double mu = truth[g] * scale;
      mean[g] += mu;
      variance[g] += mu + options.dispersion * mu * mu;
    }
    for (int64_t j = x->indptr[i]; j < x->indptr[i + 1]; j++) sum[x->indices[j]] += x->values[j];
  }
  for (size_t g = 0; g < 123; g++) {
    double z = (sum[g] - mean[g]) / sqrt(variance[g]);
    chi += z * z;
    drift += z;
  }
  assert_near((chi - 123) / sqrt(2 * 123), 0, 4);
  assert_near(drift / sqrt(123), 0, 4);
  comp_dataset_free(dataset);
}

/* log truth_treated / truth_control of a gene against another that does not answer: the effect on that gene alone. */
static double effect_on(const comp_dataset *dataset, size_t cell, size_t gene, size_t silent) {
  const comp_matrix *control = comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_control");
  const comp_matrix *treated = comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_treated");
  size_t at = cell * control->cols;
  return log((double)treated->values[at + gene] / control->values[at + gene]) -
         log((double)treated->values[at + silent] / control->values[at + silent]);
}

static size_t find_gene(const comp_dataset *dataset, int answers) {
  const comp_table *var = comp_dataset_var(dataset);
  size_t column = comp_table_find(var, "response_treated"), g = 0;
  while (comp_table_bool(var, column, g) != answers) g++;
  return g;
}

/* Mean and spread of the effect on the gene in a label. */
static void effect_moments(double *mean, double *sd, const comp_dataset *dataset, int32_t label, size_t gene,
                           size_t silent) {
  const comp_table *obs = comp_dataset_obs(dataset);
  size_t column = comp_table_find(obs, "label");
  double n = 0, sum = 0, squares = 0;
  for (size_t i = 0; i < comp_dataset_sample_count(dataset); i++) {
    if (comp_table_code(obs, column, i) != label) continue;
    double effect = effect_on(dataset, i, gene, silent);
    n++;
    sum += effect;
    squares += effect * effect;
  }
  *mean = sum / n;
  *sd = sqrt(fmax(0, squares / n - *mean * *mean));
}

static void effect_depends_on_label_and_state(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  options.conditions = 2;
  options.labels = 2;
  double mean[2], sd[2];
  comp_dataset *dataset = make(&options, 2, 0);
  size_t gene = find_gene(dataset, 1), silent = find_gene(dataset, 0);
  for (int32_t l = 0; l < 2; l++) effect_moments(&mean[l], &sd[l], dataset, l, gene, silent);
  assert_true(fabs(mean[0] - mean[1]) > 0.1);
  assert_true(fmax(sd[0], sd[1]) > 0.1);
  comp_dataset_free(dataset);

  options.heterogeneity = 0; /* now one shift a label */
  dataset = make(&options, 2, 0);
  for (int32_t l = 0; l < 2; l++) effect_moments(&mean[l], &sd[l], dataset, l, gene, silent);
  assert_true(fabs(mean[0] - mean[1]) > 0.1);
  assert_true(fmax(sd[0], sd[1]) < 1e-3);
  comp_dataset_free(dataset);

  options.specific = 0; /* now the same shift for all labels */
  dataset = make(&options, 2, 0);
  gene = find_gene(dataset, 1), silent = find_gene(dataset, 0);
  for (int32_t l = 0; l < 2; l++) effect_moments(&mean[l], &sd[l], dataset, l, gene, silent);
  assert_true(fabs(mean[0]) >= 0.499 && fabs(mean[0] - mean[1]) < 1e-3);
  comp_dataset_free(dataset);
}

static void no_effect_no_difference(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  options.effect = 0;
  comp_dataset *dataset = make(&options, 2, 0);
  assert_same_matrix(comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_control"),
                     comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, "truth_treated2"));
  const comp_table *var = comp_dataset_var(dataset);
  for (size_t g = 0; g < 123; g++)
    assert_int_equal(comp_table_bool(var, comp_table_find(var, "response_treated1"), g), 0);
  comp_dataset_free(dataset);
}

/* ---- states ---- */

/* Skewness and kurtosis of one program in one label; a Gaussian has 0 and 3. */
static void shape_moments(double *skewness, double *kurtosis, const comp_dataset *dataset, int32_t label, size_t p) {
  const comp_matrix *states = comp_dataset_matrix(dataset, COMP_SLOT_OBSM, "truth_state");
  const comp_table *obs = comp_dataset_obs(dataset);
  size_t column = comp_table_find(obs, "label");
  double n = 0, mean = 0, m2 = 0, m3 = 0, m4 = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < states->rows; i++) {
      if (comp_table_code(obs, column, i) != label) continue;
      double x = states->values[i * states->cols + p], d = x - mean / (n + !pass);
      if (pass == 0) mean += x, n++;
      if (pass == 1) m2 += d * d / n, m3 += d * d * d / n, m4 += d * d * d * d / n;
    }
  *skewness = m3 / pow(m2, 1.5);
  *kurtosis = m4 / (m2 * m2);
}

static void states_are_not_gaussian(void **state) {
  (void)state;
  comp__simulate_options options = comp__simulate_defaults();
  options.cells = 8000;
  options.genes = 10;
  options.labels = 2;
  options.truth = COMP_TRUTH_OFF;
  comp_dataset *dataset = make(&options, 2, 0);
  double skewness, kurtosis;
  for (int32_t l = 0; l < 2; l++) {
    for (size_t p = 0; p < 2; p++) { /* an arc, seen from two sides */
      shape_moments(&skewness, &kurtosis, dataset, l, p);
      assert_true(kurtosis < 2.6);
    }
    shape_moments(&skewness, &kurtosis, dataset, l, 2); /* two modes */
    assert_true(kurtosis < 2.2);
    shape_moments(&skewness, &kurtosis, dataset, l, 3); /* a tail */
    assert_true(skewness > 1.0);
    shape_moments(&skewness, &kurtosis, dataset, l, 4); /* flat */
    assert_near(kurtosis, 1.8, 0.05);
  }
  comp_dataset_free(dataset);
}

/* ---- bad options, interruption ---- */

static void bad_options_are_named(void **state) {
  (void)state;
  const comp__simulate_options good = comp__simulate_defaults();
  assert_ok(comp__options_check(&comp__simulate_kind, &good));
  comp__simulate_options o;
#define REFUSED(field, value, text)                                                                                    \
  do {                                                                                                                 \
    o = good;                                                                                                          \
    o.field = value;                                                                                                   \
    assert_error(comp__options_check(&comp__simulate_kind, &o), COMP_ERR_ARGUMENT, text);                              \
  } while (0)
  REFUSED(cells, 0, "cells: 0 is out of range: 1 to");
  REFUSED(cells, 9, "at least conditions x labels = 10");
  REFUSED(genes, 0, "genes");
  REFUSED(conditions, 1, "conditions: 1 is out of range: 2 to");
  REFUSED(labels, 0, "labels");
  REFUSED(programs, 0, "programs");
  REFUSED(effect, -1, "effect: -1 is out of range: 0 to 5");
  REFUSED(effect, NAN, "effect");
  REFUSED(effect_genes, 1.5, "effect-genes");
  REFUSED(separation, -0.1, "separation");
  REFUSED(specific, 2, "specific");
  REFUSED(heterogeneity, -1, "heterogeneity");
  REFUSED(library, -5, "library");
  REFUSED(library, INFINITY, "library");
  REFUSED(library_sd, 10, "library-sd");
  REFUSED(dispersion, -0.1, "dispersion");
  REFUSED(imbalance, 1, "imbalance");
  REFUSED(composition, -1, "composition");
  REFUSED(absent, "type1", "LABEL:CONDITION");
  REFUSED(absent, "type9:treated", "no label 'type9'; the labels are type1 .. type5");
  REFUSED(absent, "type1:stim", "no condition 'stim'");
  o = good;
  o.labels = 1;
  o.absent = "type1:treated";
  assert_error(comp__options_check(&comp__simulate_kind, &o), COMP_ERR_ARGUMENT, "without cells");
  comp_context *context = test_context(1);
  comp_dataset *dataset;
  assert_error(comp__simulate(&dataset, context, &o, 0), COMP_ERR_ARGUMENT, "without cells");
  assert_null(dataset);
  comp_context_free(context);
}

static void can_be_interrupted(void **state) {
  (void)state;
  comp__simulate_options options = small_options();
  comp_context *context = test_context(2);
  comp_dataset *dataset;
  comp_context_interrupt(context);
  assert_error(comp__simulate(&dataset, context, &options, 0), COMP_ERR_INTERRUPTED, "");
  assert_null(dataset);
  comp_context_free(context);
}

/* ---- the record ---- */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

static bool no_memory;
void *__libc_malloc(size_t size);

void *malloc(size_t size) {
  return no_memory ? NULL : __libc_malloc(size);
}

/* It has so many fields that glibc allocates for them when libquadmath is loaded: once it was empty then. */
static void the_record_is_whole_or_an_error(void **state) {
  (void)state;
  const comp__simulate_options options = small_options();
  char wanted[SIM_RECORD_SIZE], record[SIM_RECORD_SIZE];
  assert_ok(comp__sim_record(wanted, &options));
  no_memory = true;
  const comp_status status = comp__sim_record(record, &options);
  no_memory = false;
  if (status == COMP_OK)
    assert_string_equal(record, wanted);
  else
    assert_int_equal(status, COMP_ERR_MEMORY);
}

#else

static void the_record_is_whole_or_an_error(void **state) {
  (void)state; /* the sanitizer has its own malloc() */
}

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_bytes_at_any_threads_and_blocks),
      cmocka_unit_test(truth_is_only_an_addition),
      cmocka_unit_test(large_truth_is_left_out),
      cmocka_unit_test(same_file_at_any_threads_and_blocks),
      cmocka_unit_test(the_file_holds_what_memory_holds),
      cmocka_unit_test(failure_leaves_the_old_file),
      cmocka_unit_test(parts_are_named),
      cmocka_unit_test(looks_like_droplet_data),
      cmocka_unit_test(groups_have_exact_sizes),
      cmocka_unit_test(composition_differs_on_request),
      cmocka_unit_test(counts_are_negative_binomial),
      cmocka_unit_test(truth_is_the_formula),
      cmocka_unit_test(counts_follow_the_truth),
      cmocka_unit_test(effect_depends_on_label_and_state),
      cmocka_unit_test(no_effect_no_difference),
      cmocka_unit_test(states_are_not_gaussian),
      cmocka_unit_test(bad_options_are_named),
      cmocka_unit_test(can_be_interrupted),
      cmocka_unit_test(the_record_is_whole_or_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
