/* test_pca.c: components by all three ways against the covariance in double precision, and the same bytes at any number
 * of threads. */
#include "testing.h"

#include "core/matrix.h"
#include "core/rng.h"
#include "linalg/linalg.h"

/* Rows around a plane of `rank` directions with falling variances, with noise; some zeros, so that CSR is worth it. */
static comp_matrix *data_new(size_t rows, size_t cols, size_t rank) {
  comp_matrix *m;
  assert_ok(comp_matrix_new_dense(&m, rows, cols));
  float *weights = malloc(rank * cols * sizeof *weights), *factors = malloc(rank * sizeof *factors);
  comp__rng_fill_normal(weights, rank * cols, comp__rng_at(1, COMP__RNG_TEST, 1, 0), 0);
  for (size_t i = 0; i < rows; i++) {
    float *out = m->values + i * cols;
    comp__rng_fill_normal(factors, rank, comp__rng_at(1, COMP__RNG_TEST, 2, i), 0);
    comp__rng_fill_normal(out, cols, comp__rng_at(1, COMP__RNG_TEST, 3, i), 0);
    for (size_t j = 0; j < cols; j++) {
      out[j] = 3.0f + 0.3f * out[j];
      for (size_t k = 0; k < rank; k++) out[j] += factors[k] * weights[k * cols + j] / (float)(k + 1);
      if ((i * 7 + j * 3) % 5 == 0) out[j] = 0.0f;
    }
  }
  if (cols > 2)
    for (size_t i = 0; i < rows; i++) m->values[i * cols + 1] = 0.1f; /* a constant feature */
  free(factors);
  free(weights);
  return m;
}

/* The data as the components see it, in double precision. */
static double *see(const comp_matrix *m, const comp__pca_options *o) {
  const size_t n = m->rows, d = m->cols;
  double *out = malloc(n * d * sizeof *out);
  for (size_t j = 0; j < d; j++) {
    double mean = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) mean += (double)m->values[i * d + j] / (double)n;
    for (size_t i = 0; i < n; i++) square += pow((double)m->values[i * d + j] - mean, 2);
    const double deviation = sqrt(square / (double)(n - 1));
    double again = 0.0;
    for (size_t i = 0; i < n; i++) {
      double value = (double)m->values[i * d + j] - mean;
      if (o->scale) value = deviation > 1e-9 ? value / deviation : 0.0;
      if (o->clip > 0.0) value = fmin(fmax(value, -o->clip), o->clip);
      out[i * d + j] = value;
      again += value / (double)n;
    }
    for (size_t i = 0; i < n; i++) out[i * d + j] -= again;
  }
  return out;
}

/* Each loading is an eigenvector of the covariance with its variance; rows are orthonormal; scores are the projections.
 * (That they are the first ones is for tests/oracle/test_pca.py to see.) */
static void check_against_covariance(const comp__pca *pca, const comp_matrix *dense, const comp__pca_options *o,
                                     double tolerance) {
  const size_t n = dense->rows, d = dense->cols, k = pca->components;
  double *x = see(dense, o), *projected = calloc(n, sizeof *projected), total = 0.0;
  for (size_t i = 0; i < n * d; i++) total += x[i] * x[i] / (double)(n - 1);
  assert_near(pca->total_variance / total, 1.0, 1e-6);
  for (size_t c = 0; c < k; c++) {
    const float *v = pca->loadings + c * d;
    double variance = 0.0, largest = 0.0;
    for (size_t j = 0; j < d; j++)
      if (fabs((double)v[j]) > fabs(largest)) largest = (double)v[j];
    assert_true(largest > 0.0);
    if (c > 0) assert_true(pca->variances[c] <= pca->variances[c - 1]);
    for (size_t l = 0; l <= c; l++) {
      double sum = 0.0;
      for (size_t j = 0; j < d; j++) sum += (double)v[j] * (double)pca->loadings[l * d + j];
      assert_near(sum, l == c ? 1.0 : 0.0, 1e-5);
    }
    for (size_t i = 0; i < n; i++) {
      projected[i] = 0.0;
      for (size_t j = 0; j < d; j++) projected[i] += x[i * d + j] * (double)v[j];
      variance += projected[i] * projected[i] / (double)(n - 1);
      if (fabs((double)pca->scores[i * k + c] - projected[i]) > 1e-4 * sqrt(total))
        fail_msg("score %zu of row %zu: %g, expected %g", c, i, (double)pca->scores[i * k + c], projected[i]);
    }
    if (fabs(variance - pca->variances[c]) > 1e-5 * pca->variances[0])
      fail_msg("variance %zu: %g, of its scores %g", c, pca->variances[c], variance);
    double residual = 0.0;
    for (size_t j = 0; j < d; j++) {
      double sum = 0.0;
      for (size_t i = 0; i < n; i++) sum += x[i * d + j] * projected[i] / (double)(n - 1);
      residual += pow(sum - variance * (double)v[j], 2);
    }
    if (sqrt(residual) > tolerance * pca->variances[0])
      fail_msg("component %zu is no eigenvector: residual %g of %g", c, sqrt(residual), pca->variances[0]);
  }
  free(projected);
  free(x);
}

typedef struct shape {
  size_t rows, cols, components;
} shape;

/* Exact by covariance, by the Gram matrix, all there are, and by iteration. */
static const shape shapes[] = {{900, 40, 6}, {60, 700, 8}, {30, 12, 12}, {20, 33, 20}, {700, 600, 9}};

static void check_shape(shape s, comp__pca_options o) {
  o.components = s.components;
  o.seed = 5;
  comp_matrix *dense = data_new(s.rows, s.cols, 5), *csr;
  comp_context *first = test_context(1);
  assert_ok(comp_matrix_to_csr(&csr, first, dense));
  comp__pca expected;
  assert_ok(comp__pca_fit(&expected, first, dense, &o));
  check_against_covariance(&expected, dense, &o, 2e-4);
  comp_context_free(first);
  for (size_t t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp__pca pca;
    assert_ok(comp__pca_fit(&pca, context, t == 1 ? csr : dense, &o)); /* sparse data: the same bytes too */
    assert_memory_equal(pca.scores, expected.scores, s.rows * s.components * sizeof *pca.scores);
    assert_memory_equal(pca.loadings, expected.loadings, s.cols * s.components * sizeof *pca.loadings);
    assert_memory_equal(pca.variances, expected.variances, s.components * sizeof *pca.variances);
    comp__pca_release(&pca);
    comp_context_free(context);
  }
  comp__pca_release(&expected);
  comp_matrix_free(csr);
  comp_matrix_free(dense);
}

static void components_are_eigenvectors(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_shape(shapes[i], (comp__pca_options){0});
}

static void scaled_too(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    check_shape(shapes[i], (comp__pca_options){.scale = true});
}

static void clipped_too(void **state) {
  (void)state;
  check_shape(shapes[0], (comp__pca_options){.scale = true, .clip = 1.0});
  check_shape(shapes[4], (comp__pca_options){.scale = true, .clip = 1.0});
}

/* Nothing but noise: variances are close to each other, and the basis of the iteration fills up several times. */
static void noise_has_components_too(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_matrix *m = data_new(700, 600, 0);
  const comp__pca_options o = {.components = 20, .scale = true, .seed = 5};
  comp__pca pca;
  assert_ok(comp__pca_fit(&pca, context, m, &o));
  check_against_covariance(&pca, m, &o, 2e-4);
  comp__pca_release(&pca);
  comp_matrix_free(m);
  comp_context_free(context);
}

/* More components than the data has directions: the rest has no variance, and orthonormal loadings still. */
static void missing_directions_have_no_variance(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_matrix *m = data_new(700, 600, 4);
  for (size_t i = 0; i < 700; i++)
    for (size_t j = 0; j < 600; j++) m->values[i * 600 + j] = (float)((i % 7) * (j % 5) + (i % 3) * (j % 11));
  const comp__pca_options o = {.components = 6, .seed = 5};
  comp__pca pca;
  assert_ok(comp__pca_fit(&pca, context, m, &o));
  check_against_covariance(&pca, m, &o, 2e-4);
  for (size_t c = 2; c < 6; c++) assert_near(pca.variances[c] / pca.variances[0], 0.0, 1e-6);
  comp__pca_release(&pca);
  comp_matrix_free(m);
  comp_context_free(context);
}

/* No variance at all: there are no directions to find, and it must still end with orthonormal ones. */
static void constant_data_has_no_variance(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (size_t i = 0; i < 3; i++) {
    const size_t rows = i == 1 ? 20 : 600, cols = i == 0 ? 20 : 600;
    comp_matrix *m;
    assert_ok(comp_matrix_new_dense(&m, rows, cols));
    for (size_t j = 0; j < rows * cols; j++) m->values[j] = 2.5f;
    comp__pca pca;
    assert_ok(comp__pca_fit(&pca, context, m, &(comp__pca_options){.components = 3, .scale = i != 2}));
    for (size_t c = 0; c < 3; c++) assert_near(pca.variances[c], 0.0, 0.0);
    for (size_t j = 0; j < rows * 3; j++) assert_true(pca.scores[j] == 0.0f);
    comp__pca_release(&pca);
    comp_matrix_free(m);
  }
  comp_context_free(context);
}

static void bad_input_is_an_error(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_matrix *m = data_new(10, 4, 2), *one = data_new(1, 4, 2);
  comp__pca pca;
  assert_error(comp__pca_fit(&pca, context, m, &(comp__pca_options){.components = 5}), COMP_ERR_ARGUMENT, "1 to 4");
  assert_error(comp__pca_fit(&pca, context, m, &(comp__pca_options){.components = 0}), COMP_ERR_ARGUMENT, "1 to 4");
  assert_error(comp__pca_fit(&pca, context, one, &(comp__pca_options){.components = 1}), COMP_ERR_DATA, "2 samples");
  assert_error(comp__pca_fit(&pca, context, m, &(comp__pca_options){.components = 1, .clip = 3}), COMP_ERR_ARGUMENT,
               "needs scale");
  m->values[6] = NAN;
  assert_error(comp__pca_fit(&pca, context, m, &(comp__pca_options){.components = 2}), COMP_ERR_DATA,
               "sample 2, feature 3");
  assert_null(pca.scores);
  comp_matrix_free(one);
  comp_matrix_free(m);
  comp_context_free(context);
}

static void dataset_gets_scores(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *dataset;
  comp_matrix *layer = data_new(50, 8, 2);
  assert_ok(comp_dataset_new(&dataset, data_new(50, 8, 3), NULL, NULL));
  assert_ok(comp_dataset_set_matrix(dataset, COMP_SLOT_LAYERS, "other", layer));
  comp_options *options;
  assert_ok(comp_options_new(&options, "pca"));
  comp_pca pca, second;
  assert_error(comp_pca_run(&pca, context, dataset, options), COMP_ERR_ARGUMENT, "1 to 8");
  assert_null(comp_dataset_matrix(dataset, COMP_SLOT_OBSM, "X_pca"));
  assert_ok(comp_options_set_int(options, "components", 8));
  assert_ok(comp_pca_run(&pca, context, dataset, options));
  double sum = 0.0;
  for (size_t i = 0; i < 8; i++) sum += pca.ratios[i];
  assert_near(sum, 1.0, 1e-6);
  const comp_matrix *scores = comp_dataset_matrix(dataset, COMP_SLOT_OBSM, "X_pca");
  assert_non_null(scores);
  assert_int_equal(comp_matrix_cols(scores), 8);
  assert_ok(comp_options_set(options, "use", "other"));
  assert_ok(comp_options_set(options, "key", "X_other"));
  assert_ok(comp_pca_run(&second, context, dataset, options));
  assert_true(pca.total_variance != second.total_variance);
  assert_ok(comp_options_set(options, "use", "none"));
  comp_pca_release(&second);
  assert_error(comp_pca_run(&second, context, dataset, options), COMP_ERR_ARGUMENT, "no layer 'none'");
  comp_options_free(options);
  comp_pca_release(&pca);
  comp_dataset_free(dataset);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(components_are_eigenvectors),
      cmocka_unit_test(scaled_too),
      cmocka_unit_test(clipped_too),
      cmocka_unit_test(noise_has_components_too),
      cmocka_unit_test(missing_directions_have_no_variance),
      cmocka_unit_test(constant_data_has_no_variance),
      cmocka_unit_test(bad_input_is_an_error),
      cmocka_unit_test(dataset_gets_scores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
