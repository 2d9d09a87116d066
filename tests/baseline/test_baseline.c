/* test_baseline.c: what must hold of every method, shown on data whose truth is known, and what each refuses. */
#include "testing.h"

#include "baseline/options.h"
#include "core/rng.h"
#include "train/options.h"

enum { GENES = 60, TYPES = 4, PER_TYPE = 60, NEAR = 25 };

/* Two copies of TYPES populations, the second moved by one vector and with a little noise of its own; and, when asked
 * for, one more population in the first set alone. obs has "set" (a, b), "type" (t0, ...), "other" (x, y by turns) and
 * "number". */
static comp_dataset *make_data(bool lone) {
  size_t types = (size_t)TYPES + (lone ? 1 : 0), n = (TYPES + types) * PER_TYPE;
  comp_matrix *x;
  assert_ok(comp_matrix_new_dense(&x, n, GENES));
  int32_t *set = malloc(n * sizeof *set), *type = malloc(n * sizeof *type), *other = malloc(n * sizeof *other);
  double *number = malloc(n * sizeof *number);
  for (size_t i = 0; i < n; i++) {
    size_t group = i / PER_TYPE;
    set[i] = group >= types;
    type[i] = (int32_t)(set[i] ? group - types : group);
    other[i] = (int32_t)(i % 2);
    number[i] = comp__rng_uniform(comp__rng_at(4, COMP__RNG_TEST, 0, i), 0);
    for (size_t j = 0; j < GENES; j++) {
      double centre = 4 + 2 * comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 0, (uint64_t)type[i]), j);
      double shift = set[i] ? 0.8 * comp__rng_normal(comp__rng_at(2, COMP__RNG_TEST, 0, 0), j) : 0;
      double noise = 0.5 * comp__rng_normal(comp__rng_at(3, COMP__RNG_TEST, (uint64_t)type[i], i % PER_TYPE), j) +
                     0.05 * comp__rng_normal(comp__rng_at(5, COMP__RNG_TEST, 0, i), j);
      comp_matrix_values(x)[i * GENES + j] = (float)(centre + shift + noise);
    }
  }
  comp_dataset *dataset;
  assert_ok(comp_dataset_new(&dataset, x, NULL, NULL));
  comp_table *obs = comp_dataset_obs(dataset);
  assert_ok(comp_table_add_categorical(obs, "set", set, (const char *const[]){"a", "b"}, 2));
  assert_ok(comp_table_add_categorical(obs, "type", type, (const char *const[]){"t0", "t1", "t2", "t3", "t4"}, types));
  assert_ok(comp_table_add_categorical(obs, "other", other, (const char *const[]){"x", "y"}, 2));
  assert_ok(comp_table_add_numbers(obs, "number", number, false));
  free(set);
  free(type);
  free(other);
  free(number);
  return dataset;
}

static comp__baseline_options plain(void) {
  comp__baseline_options o = comp__baseline_defaults();
  o.condition = "set";
  o.components = 10;
  return o;
}

typedef struct near_point {
  double distance;
  size_t at;
} near_point;

static int compare_near(const void *a, const void *b) {
  double x = ((const near_point *)a)->distance, y = ((const near_point *)b)->distance;
  return (x > y) - (x < y);
}

/* near [n, NEAR]. */
static void find_near(size_t *near, const comp_matrix *z) {
  size_t n = comp_matrix_rows(z), d = comp_matrix_cols(z);
  const float *v = comp_matrix_const_values(z);
  near_point *all = malloc(n * sizeof *all);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < n; k++) {
      double sum = 0;
      for (size_t j = 0; j < d; j++) sum += (v[i * d + j] - v[k * d + j]) * (v[i * d + j] - v[k * d + j]);
      all[k] = (near_point){k == i ? INFINITY : sum, k};
    }
    qsort(all, n, sizeof *all, compare_near);
    for (size_t k = 0; k < NEAR; k++) near[i * NEAR + k] = all[k].at;
  }
  free(all);
}

/* kBET: the share of neighbourhoods whose sets differ from half and half, by a chi-squared test at 0.05; over samples
 * of the populations that both sets have. Of mixed sets some 0.05. */
static double rejected(const comp_dataset *dataset, const comp_matrix *z) {
  size_t n = comp_matrix_rows(z), count = 0, bad = 0, *near = malloc(n * NEAR * sizeof *near);
  const comp_table *obs = comp_dataset_obs(dataset);
  find_near(near, z);
  for (size_t i = 0; i < n; i++) {
    if (comp_table_code(obs, comp_table_find(obs, "type"), i) >= TYPES) continue;
    double b = 0, expected = NEAR / 2.0;
    for (size_t k = 0; k < NEAR; k++) b += comp_table_code(obs, comp_table_find(obs, "set"), near[i * NEAR + k]);
    double off = b - expected;
    bad += 2 * off * off / expected > 3.841;
    count++;
  }
  free(near);
  return (double)bad / (double)count;
}

/* The share of neighbours of the same type, over samples of one type, or of all (-1). */
static double same_type(const comp_dataset *dataset, const comp_matrix *z, int32_t type) {
  size_t n = comp_matrix_rows(z), count = 0, same = 0, *near = malloc(n * NEAR * sizeof *near);
  const comp_table *obs = comp_dataset_obs(dataset);
  size_t c = comp_table_find(obs, "type");
  find_near(near, z);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < NEAR && (type < 0 || comp_table_code(obs, c, i) == type); k++) {
      same += comp_table_code(obs, c, i) == comp_table_code(obs, c, near[i * NEAR + k]);
      count++;
    }
  free(near);
  return (double)same / (double)count;
}

/* A small vae, for scgen. */
static comp_model *make_model(comp_context *context, const comp_dataset *dataset, const char *kind) {
  comp__train_options t;
  comp_model *model;
  assert_ok(comp__train_options_init(&t, kind, NULL));
  t.condition = "set";
  t.model.n_hidden = 1;
  t.model.hidden[0] = 32;
  t.model.latent = 6;
  t.epochs = 150;
  t.batch = 64;
  t.rate = 5e-3;
  assert_ok(comp__train(&model, context, dataset, &t));
  return model;
}

static comp_dataset *run(comp_context *context, const comp_dataset *dataset, const char *method) {
  comp__baseline_options o = plain();
  comp_dataset *results;
  comp_model *model = strcmp(method, "scgen") == 0 ? make_model(context, dataset, "vae") : NULL;
  o.model = model;
  o.label = "type";
  o.reference = "a";
  if (strcmp(method, "celligner") == 0 && !test_has_module("leiden")) o.clusters = TYPES; /* k-means in its place */
  assert_ok(comp__baseline_method(&results, context, dataset, method, &o));
  comp_model_free(model);
  return results;
}

static const comp_matrix *embedding_of(const comp_dataset *results, const char *method) {
  const comp_baseline_method *m;
  assert_ok(comp_baseline_find(&m, method));
  const comp_matrix *z = comp_dataset_matrix(results, COMP_SLOT_OBSM, m->embedding);
  assert_non_null(z);
  return z;
}

/* ---- Truth ---- */

/* The kBET that a method may leave. The ridge penalty of harmony2 leaves a sixth of a shift. */
static double allowed(const char *method) {
  return strcmp(method, "harmony2") == 0 ? 0.35 : 0.12;
}

static void sets_are_merged(void **state) {
  (void)state;
  static const char *const merging[] = {"combat", "harmony", "harmony2", "mnn", "celligner", "seurat-cca"};
  comp_context *context = test_context(2);
  comp_dataset *dataset = make_data(false), *before = run(context, dataset, "pca");
  if (!(rejected(dataset, embedding_of(before, "pca")) > 0.9)) fail_msg("the sets are mixed from the start");
  for (size_t m = 0; m < sizeof merging / sizeof *merging; m++) {
    comp_dataset *after = run(context, dataset, merging[m]);
    double share = rejected(dataset, embedding_of(after, merging[m])),
           same = same_type(dataset, embedding_of(after, merging[m]), -1);
    if (!(share < allowed(merging[m]))) fail_msg("%s: kBET %g", merging[m], share);
    if (!(same > 0.99)) fail_msg("%s: %g of the neighbours are of the same type", merging[m], same);
    comp_dataset_free(after);
  }
  comp_dataset_free(before);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

static void a_population_of_one_set_stays_apart(void **state) {
  (void)state;
  static const char *const keeping[] = {"harmony2", "mnn", "celligner", "seurat-cca"};
  comp_context *context = test_context(2);
  comp_dataset *dataset = make_data(true);
  for (size_t m = 0; m < sizeof keeping / sizeof *keeping; m++) {
    comp_dataset *after = run(context, dataset, keeping[m]);
    const comp_matrix *z = embedding_of(after, keeping[m]);
    double same = same_type(dataset, z, TYPES), share = rejected(dataset, z);
    if (!(same > 0.99)) fail_msg("%s: %g of its neighbours are its own", keeping[m], same);
    if (!(share < allowed(keeping[m]))) fail_msg("%s: the others have kBET %g", keeping[m], share);
    comp_dataset_free(after);
  }
  comp_dataset_free(dataset);
  comp_context_free(context);
}

/* With many samples of normal data the shrunken effects are nearly the true ones: both sets end with the mean and the
 * variance of a gene over both. */
static void combat_makes_means_and_variances_equal(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *dataset = make_data(false), *after = run(context, dataset, "combat");
  const comp_matrix *layer = comp_dataset_matrix(after, COMP_SLOT_LAYERS, "combat");
  size_t half = comp_matrix_rows(layer) / 2;
  for (size_t j = 0; j < GENES; j++) {
    double mean[2] = {0}, squares[2] = {0};
    for (int pass = 0; pass < 2; pass++)
      for (size_t i = 0; i < 2 * half; i++) {
        double v = comp_matrix_const_values(layer)[i * GENES + j];
        if (pass == 0)
          mean[i >= half] += v / (double)half;
        else
          squares[i >= half] += (v - mean[i >= half]) * (v - mean[i >= half]);
      }
    assert_near(mean[0], mean[1], 0.05);
    assert_near(squares[0] / squares[1], 1, 0.15);
  }
  comp_dataset_free(after);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

/* The shift is one vector: a sample of the one set, moved to the other, is near its copy there; nearer than the shift
 * is long. */
static void scgen_predicts_the_copy(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *dataset = make_data(false), *after = run(context, dataset, "scgen");
  size_t half = comp_dataset_sample_count(dataset) / 2;
  const float *x = comp_matrix_const_values(comp_dataset_x(dataset));
  const float *other = comp_matrix_const_values(comp_dataset_matrix(after, COMP_SLOT_LAYERS, "scgen_counterfactual"));
  const float *corrected = comp_matrix_const_values(comp_dataset_matrix(after, COMP_SLOT_LAYERS, "scgen"));
  double predicted = 0, unchanged = 0, back = 0;
  for (size_t i = 0; i < half * GENES; i++) {
    double copy = x[half * GENES + i];
    predicted += (other[i] - copy) * (other[i] - copy);
    unchanged += (x[i] - copy) * (x[i] - copy);
    back += (corrected[half * GENES + i] - x[i]) * (corrected[half * GENES + i] - x[i]);
  }
  if (!(predicted < 0.6 * unchanged)) fail_msg("off by %g; by %g without a prediction", predicted, unchanged);
  if (!(back < 0.6 * unchanged)) fail_msg("corrected: off by %g; by %g without correction", back, unchanged);
  comp_dataset_free(after);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

static void combat_leaves_flat_genes_alone(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *dataset = make_data(false);
  float *x = comp_matrix_values(comp_dataset_x(dataset));
  size_t n = comp_dataset_sample_count(dataset);
  for (size_t i = 0; i < n; i++) {
    if (i < n / 2) x[i * GENES + 3] = 1.25f; /* flat in one set */
    x[i * GENES + 4] = 0.0f;                 /* flat in both */
  }
  comp_dataset *after = run(context, dataset, "combat");
  const float *y = comp_matrix_const_values(comp_dataset_matrix(after, COMP_SLOT_LAYERS, "combat"));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 3; j < 5; j++) assert_true(y[i * GENES + j] == x[i * GENES + j]);
  assert_true(y[5] != x[5]);
  comp_dataset_free(after);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

/* ---- Every method ---- */

static void threads_do_not_matter(void **state) {
  (void)state;
  comp_dataset *dataset = make_data(true);
  for (size_t m = 0; m < comp_baseline_count(); m++) {
    const comp_baseline_method *method = comp_baseline_at(m);
    comp_dataset *results[TEST_THREADS_COUNT];
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      results[t] = run(context, dataset, method->name);
      comp_context_free(context);
      const comp_matrix *first = comp_dataset_matrix(results[0], COMP_SLOT_OBSM, method->embedding);
      const comp_matrix *here = comp_dataset_matrix(results[t], COMP_SLOT_OBSM, method->embedding);
      assert_int_equal(comp_matrix_rows(here), comp_dataset_sample_count(dataset));
      assert_memory_equal(comp_matrix_const_values(first), comp_matrix_const_values(here),
                          comp_matrix_nnz(first) * sizeof(float));
      first = method->layer ? comp_dataset_matrix(results[0], COMP_SLOT_LAYERS, method->layer) : NULL;
      here = method->layer ? comp_dataset_matrix(results[t], COMP_SLOT_LAYERS, method->layer) : NULL;
      assert_true(!method->layer || (first && here));
      if (first)
        assert_memory_equal(comp_matrix_const_values(first), comp_matrix_const_values(here),
                            comp_matrix_nnz(first) * sizeof(float));
    }
    for (int t = 0; t < TEST_THREADS_COUNT; t++) comp_dataset_free(results[t]);
  }
  comp_dataset_free(dataset);
}

/* Sparse data gives what the same data gives when it is dense. */
static void sparse_is_dense(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *dense = make_data(false), *sparse = make_data(false);
  comp_matrix *x;
  float *values = comp_matrix_values(comp_dataset_x(dense));
  for (size_t i = 0; i < comp_matrix_nnz(comp_dataset_x(dense)); i++) values[i] = values[i] > 3 ? values[i] : 0;
  assert_ok(comp_matrix_to_csr(&x, context, comp_dataset_x(dense)));
  assert_ok(comp_dataset_set_x(sparse, x));
  static const char *const exact[][2] = {
      {"combat", "combat"}, {"celligner", "celligner"}, {"seurat-cca", "seurat_cca"}};
  for (size_t m = 0; m < sizeof exact / sizeof *exact; m++) {
    comp_dataset *a = run(context, dense, exact[m][0]), *b = run(context, sparse, exact[m][0]);
    const comp_matrix *p = comp_dataset_matrix(a, COMP_SLOT_LAYERS, exact[m][1]);
    const comp_matrix *q = comp_dataset_matrix(b, COMP_SLOT_LAYERS, exact[m][1]);
    assert_memory_equal(comp_matrix_const_values(p), comp_matrix_const_values(q), comp_matrix_nnz(p) * sizeof(float));
    comp_dataset_free(a);
    comp_dataset_free(b);
  }
  comp_dataset_free(dense);
  comp_dataset_free(sparse);
  comp_context_free(context);
}

/* ---- Refusals ---- */

static void refuse(const comp_dataset *dataset, const char *method, const comp__baseline_options *o, comp_status status,
                   const char *text) {
  comp_context *context = test_context(1);
  comp_dataset *results = (comp_dataset *)1;
  assert_error(comp__baseline_method(&results, context, dataset, method, o), status, text);
  assert_null(results);
  comp_context_free(context);
}

static void unfit_data_is_refused(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *dataset = make_data(false), *one, *five, *flat;
  size_t some[5] = {0, 100, 200, 300, 400};
  comp__baseline_options o = plain();
  assert_ok(comp_dataset_select(&one, context, dataset, NULL, 0, NULL, 0));
  int32_t *same = calloc(comp_dataset_sample_count(dataset), sizeof *same);
  assert_ok(comp_table_add_categorical(comp_dataset_obs(one), "set", same, (const char *const[]){"a"}, 1));
  same[3] = -1;
  assert_ok(comp_table_add_categorical(comp_dataset_obs(one), "gap", same, (const char *const[]){"a"}, 1));
  assert_ok(comp_dataset_select(&five, context, dataset, some, 5, NULL, 0));
  assert_ok(comp_dataset_select(&flat, context, dataset, NULL, 0, NULL, 0));
  float *values = comp_matrix_values(comp_dataset_x(flat));
  for (size_t i = 0; i < comp_matrix_nnz(comp_dataset_x(flat)); i++) values[i] = 2;
  for (size_t m = 0; m < comp_baseline_count(); m++) {
    const char *method = comp_baseline_at(m)->name;
    o.condition = "set";
    if (!comp_baseline_at(m)->no_condition) refuse(one, method, &o, COMP_ERR_DATA, "one value only");
    o.condition = "gap";
    if (!comp_baseline_at(m)->no_condition) refuse(one, method, &o, COMP_ERR_DATA, "no value for 1 of");
    o.condition = NULL;
    if (!comp_baseline_at(m)->no_condition) refuse(one, method, &o, COMP_ERR_ARGUMENT, "condition");
    o.condition = "sett";
    refuse(one, method, &o, COMP_ERR_DATA, "did you mean 'set'");
  }
  o = plain();
  static const char *const by_components[] = {"pca", "harmony", "mnn", "combat"};
  for (size_t m = 0; m < 4; m++) refuse(five, by_components[m], &o, COMP_ERR_DATA, "ask for 4 or fewer");
  refuse(five, "seurat-cca", &o, COMP_ERR_DATA, "comp prep --keep");
  refuse(five, "celligner", &o, COMP_ERR_DATA, "samples, and clusters cannot be found");
  for (size_t m = 0; m < comp_baseline_count(); m++)
    refuse(flat, comp_baseline_at(m)->name, &o, COMP_ERR_DATA, "no feature of X varies");
  values[0] = 3;
  values[comp_dataset_feature_count(flat) + 1] = 3;
  refuse(flat, "pca", &o, COMP_ERR_DATA, "of which 2 vary: ask for 2 or fewer");
  values[7] = NAN;
  refuse(flat, "harmony", &o, COMP_ERR_DATA, "X");
  free(same);
  comp_dataset_free(one);
  comp_dataset_free(five);
  comp_dataset_free(flat);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

static void wrong_options_are_refused(void **state) {
  (void)state;
  comp_dataset *dataset = make_data(false);
  comp__baseline_options o = plain();
  refuse(dataset, "harmny", &o, COMP_ERR_ARGUMENT, "did you mean 'harmony'");
  o.covariates = (const char *const[]){"set"};
  o.n_covariates = 1;
  refuse(dataset, "combat", &o, COMP_ERR_ARGUMENT, "is the condition itself");
  o.covariates = (const char *const[]){"type", "type"};
  o.n_covariates = 2;
  refuse(dataset, "combat", &o, COMP_ERR_ARGUMENT, "named twice");
  o.condition = "other";
  o.covariates = (const char *const[]){"mirror"};
  o.n_covariates = 1;
  int32_t *codes = calloc(comp_dataset_sample_count(dataset), sizeof *codes);
  for (size_t i = 0; i < comp_dataset_sample_count(dataset); i++) codes[i] = (int32_t)(1 - i % 2);
  assert_ok(comp_table_add_categorical(comp_dataset_obs(dataset), "mirror", codes, (const char *const[]){"p", "q"}, 2));
  refuse(dataset, "combat", &o, COMP_ERR_DATA, "confounded");
  o = plain();
  o.order = (const char *const[]){"a"};
  o.n_order = 1;
  refuse(dataset, "mnn", &o, COMP_ERR_ARGUMENT, "order: 1 value is named");
  o.order = (const char *const[]){"a", "a"};
  o.n_order = 2;
  refuse(dataset, "mnn", &o, COMP_ERR_ARGUMENT, "named twice");
  o = plain();
  o.reference = "c";
  refuse(dataset, "celligner", &o, COMP_ERR_DATA, "no sample has 'c'");
  o = plain();
  o.rep = "X_pca";
  o.components = 0;
  refuse(dataset, "harmony", &o, COMP_ERR_DATA, "no 'X_pca' in obsm");
  o = plain();
  o.theta = -1;
  refuse(dataset, "harmony", &o, COMP_ERR_ARGUMENT, "theta");
  o = plain();
  comp_context *context = test_context(2);
  comp_model *seeing = make_model(context, dataset, "cvae");
  o.model = seeing;
  refuse(dataset, "scgen", &o, COMP_ERR_ARGUMENT, "it sees the condition");
  comp_model_free(seeing);
  comp_context_free(context);
  o = plain();
  o.clusters = 100000;
  refuse(dataset, "harmony", &o, COMP_ERR_ARGUMENT, "too many");
  refuse(dataset, "harmony2", &o, COMP_ERR_ARGUMENT, "too many");
  refuse(dataset, "celligner", &o, COMP_ERR_ARGUMENT, "clusters: 100000 are too many for 'a'");
  o = plain();
  o.k = 10000;
  refuse(dataset, "mnn", &o, COMP_ERR_ARGUMENT, "k: 10000 neighbours are too many for 'a'");
  o = plain();
  o.rep = "X_rep";
  o.components = 3;
  refuse(dataset, "mnn", &o, COMP_ERR_ARGUMENT, "components: it has no effect");
  o = plain();
  o.reference = o.to = "b";
  refuse(dataset, "scgen", &o, COMP_ERR_ARGUMENT, "to: 'b' is the reference");
  free(codes);
  comp_dataset_free(dataset);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_are_merged),
      cmocka_unit_test(a_population_of_one_set_stays_apart),
      cmocka_unit_test(combat_makes_means_and_variances_equal),
      cmocka_unit_test(scgen_predicts_the_copy),
      cmocka_unit_test(combat_leaves_flat_genes_alone),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(sparse_is_dense),
      cmocka_unit_test(unfit_data_is_refused),
      cmocka_unit_test(wrong_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
