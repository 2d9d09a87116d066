/* test_effects.c: means, r and squared errors against direct computations; labels that are left out; colours. */
#include "report/report_testing.h"

#include "core/alloc.h"
#include "report/effects.h"
#include "report/palette.h"

static const comp__effects_options OPTIONS = {"condition", "label", NULL, NULL, 8, 2};

/* The mean of a gene over the samples of a label and a condition, straight from the definition. */
static double direct_mean(const comp_dataset *d, const comp_matrix *matrix, size_t label, size_t condition, size_t gene,
                          const sample_shape *shape) {
  double sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < comp_dataset_sample_count(d); i++) {
    size_t c = i / shape->labels % shape->conditions, l = i % shape->labels;
    if (shape->hole && l == shape->labels - 1) c = 0;
    if (l != label || c != condition) continue;
    sum += (double)comp_matrix_const_values(matrix)[i * shape->genes + gene];
    n++;
  }
  return sum / (double)n;
}

static void means_are_those_of_the_definition(void **state) {
  (void)state;
  for (int sparse = 0; sparse < 2; sparse++) {
    comp_context *context = test_context(2);
    sample_shape shape = SMALL_SHAPE;
    comp_dataset *dense = sample_dataset(context, &shape);
    shape.sparse = sparse;
    comp_dataset *d = sample_dataset(context, &shape);
    comp__effects e;
    assert_ok(comp__effects_init(&e, context, d, &OPTIONS));
    assert_string_equal(e.source, "ctrl");
    assert_string_equal(e.target, "stim");
    assert_int_equal(e.n_labels, shape.labels);
    for (size_t l = 0; l < e.n_labels; l++) {
      assert_int_equal(e.labels[l].n_source, shape.per_group);
      for (size_t j = 0; j < shape.genes; j++) {
        const comp_matrix *x = comp_dataset_x(dense),
                          *cf = comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counterfactual_stim");
        assert_near(e.labels[l].source[j], direct_mean(d, x, l, 0, j, &shape), 1e-9);
        assert_near(e.labels[l].target[j], direct_mean(d, x, l, 1, j, &shape), 1e-9);
        assert_near(e.labels[l].predicted[j], direct_mean(d, cf, l, 0, j, &shape), 1e-9);
      }
      assert_int_equal(e.labels[l].n_de, 8);
      /* The genes with an effect are every fifth: the top DE genes are among them. */
      for (size_t k = 0; k < 4; k++) assert_int_equal(e.labels[l].de[k] % 5, 0);
    }
    comp__effects_release(&e);
    comp_dataset_free(d);
    comp_dataset_free(dense);
    comp_context_free(context);
  }
}

static double covariance(const double *x, const double *y, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < n; k++) sum += (x[i] - x[k]) * (y[i] - y[k]); /* 2 n^2 times it, without means */
  return sum;
}

static void r_and_errors_are_those_of_the_definition(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  comp__effects e;
  assert_ok(comp__effects_init(&e, context, d, &OPTIONS));
  const comp__effect *l = &e.labels[1];
  size_t n = e.genes;
  assert_near(l->r_all,
              covariance(l->predicted, l->target, n) /
                  sqrt(covariance(l->predicted, l->predicted, n) * covariance(l->target, l->target, n)),
              1e-9);
  double change_p[64], change_t[64], sum = 0, none = 0;
  for (size_t j = 0; j < n; j++) {
    change_p[j] = l->predicted[j] - l->source[j];
    change_t[j] = l->target[j] - l->source[j];
  }
  assert_near(l->r_change,
              covariance(change_p, change_t, n) /
                  sqrt(covariance(change_p, change_p, n) * covariance(change_t, change_t, n)),
              1e-9);
  for (size_t k = 0; k < l->n_de; k++) {
    sum += pow(l->predicted[l->de[k]] - l->target[l->de[k]], 2) / (double)l->n_de;
    none += pow(l->source[l->de[k]] - l->target[l->de[k]], 2) / (double)l->n_de;
  }
  assert_near(l->mse_de, sum, 1e-9);
  assert_near(l->mse_none, none, 1e-9);
  assert_true(none > sum);
  comp__effects_release(&e);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void threads_do_not_matter(void **state) {
  (void)state;
  double first[64];
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
    comp__effects e;
    assert_ok(comp__effects_init(&e, context, d, &OPTIONS));
    if (t == 0) memcpy(first, e.labels[2].predicted, e.genes * sizeof *first);
    assert_memory_equal(first, e.labels[2].predicted, e.genes * sizeof *first);
    comp__effects_release(&e);
    comp_dataset_free(d);
    comp_context_free(context);
  }
}

static void what_cannot_be_compared_is_left_out_or_refused(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  sample_shape shape = SMALL_SHAPE;
  shape.hole = true;
  comp_dataset *d = sample_dataset(context, &shape);
  comp__effects e;
  assert_ok(comp__effects_init(&e, context, d, &OPTIONS));
  assert_int_equal(e.n_labels, 2);
  assert_int_equal(e.left_out, 1);
  comp__effects_release(&e);
  comp__effects_options o = OPTIONS;
  o.target = "ctrl";
  assert_error(comp__effects_init(&e, context, d, &o), COMP_ERR_DATA, "comp counterfactual --to 'ctrl'");
  comp__effects_release(&e);
  o.target = "nothing";
  assert_error(comp__effects_init(&e, context, d, &o), COMP_ERR_ARGUMENT, "'nothing'");
  comp__effects_release(&e);
  o = OPTIONS;
  o.condition = "conditoin";
  assert_error(comp__effects_init(&e, context, d, &o), COMP_ERR_DATA, "did you mean 'condition'");
  comp__effects_release(&e);
  o = OPTIONS;
  o.min_samples = 1000;
  assert_error(comp__effects_init(&e, context, d, &o), COMP_ERR_DATA, "no label has 1000 samples");
  comp__effects_release(&e);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void rows_that_were_not_predicted_do_not_count(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample_dataset(context, &SMALL_SHAPE);
  comp__effects whole, part;
  assert_ok(comp__effects_init(&whole, context, d, &OPTIONS));
  float *v = comp_matrix_values(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counterfactual_stim"));
  v[0] = NAN; /* sample 0: label 0, ctrl */
  assert_ok(comp__effects_init(&part, context, d, &OPTIONS));
  size_t n = SMALL_SHAPE.per_group;
  double without = (whole.labels[0].predicted[3] * (double)n - (double)v[3]) / (double)(n - 1);
  assert_near(part.labels[0].predicted[3], without, 1e-9);
  comp__effects_release(&part);
  v[0] = 1.0f; /* the same by the column that says what was predicted */
  int8_t *mask = malloc(comp_dataset_sample_count(d));
  memset(mask, 1, comp_dataset_sample_count(d));
  mask[0] = 0;
  assert_ok(comp_table_add_bools(comp_dataset_obs(d), "counterfactual_stim_predicted", mask));
  free(mask);
  assert_ok(comp__effects_init(&part, context, d, &OPTIONS));
  assert_near(part.labels[0].predicted[3], without, 1e-9);
  comp__effects_release(&whole);
  comp__effects_release(&part);
  comp_dataset_free(d);
  comp_context_free(context);
}

/* CIE L*a*b*, another space than the one in which the palette was made. */
static void cielab(double out[3], comp__color color) {
  double c[3], xyz[3];
  for (int i = 0; i < 3; i++) {
    c[i] = (double)(color >> (16 - 8 * i) & 255u) / 255;
    c[i] = c[i] <= 0.04045 ? c[i] / 12.92 : pow((c[i] + 0.055) / 1.055, 2.4);
  }
  xyz[0] = (0.4124 * c[0] + 0.3576 * c[1] + 0.1805 * c[2]) / 0.9505;
  xyz[1] = 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  xyz[2] = (0.0193 * c[0] + 0.1192 * c[1] + 0.9505 * c[2]) / 1.089;
  for (int i = 0; i < 3; i++) xyz[i] = xyz[i] > 0.008856 ? cbrt(xyz[i]) : 7.787 * xyz[i] + 16.0 / 116;
  out[0] = 116 * xyz[1] - 16;
  out[1] = 500 * (xyz[0] - xyz[1]);
  out[2] = 200 * (xyz[1] - xyz[2]);
}

/* By the definition of WCAG 2. */
static double relative_luminance(comp__color color) {
  static const double weights[] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    double v = (double)(color >> (16 - 8 * i) & 255u) / 255;
    sum += weights[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
  }
  return sum;
}

static void check_colours(comp__ground ground) {
  comp__color *eight, *many;
  assert_ok(comp__palette(&eight, 8, ground));
  assert_ok(comp__palette(&many, 36, ground));
  assert_memory_equal(eight, many, 8 * sizeof *eight);
  assert_int_equal(eight[0], 0x0072B2);
  for (size_t i = 0; i < 36; i++)
    for (size_t k = 0; k < i; k++) {
      double a[3], b[3], sum = 0;
      cielab(a, many[i]);
      cielab(b, many[k]);
      for (int d = 0; d < 3; d++) sum += pow(a[d] - b[d], 2);
      if (sqrt(sum) < 9) fail_msg("colours %zu and %zu are %.1f apart", i, k, sqrt(sum)); /* 2.3 can just be seen */
    }
  comp__free(eight);
  comp__free(many);
  assert_ok(comp__palette(&many, 2000, ground));
  for (size_t i = 0; i < 2000 && ground == COMP__ON_DARK; i++) {
    double contrast = (relative_luminance(many[i]) + 0.05) / (relative_luminance(COMP__DARK) + 0.05);
    if (contrast < 3) fail_msg("colour %zu (%06x) has a contrast of %.2f on dark ground", i, many[i], contrast);
  }
  comp__free(many);
}

static void colours_differ(void **state) {
  (void)state;
  check_colours(COMP__ON_LIGHT);
  check_colours(COMP__ON_DARK);
  assert_float_equal(comp__contrast(0xFFFFFF, 0x000000), 21, 1e-6);
  assert_int_equal(comp__viridis(-1), comp__viridis(0));
  assert_true((comp__viridis(1) >> 16) > 0xF0); /* yellow */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(means_are_those_of_the_definition),
      cmocka_unit_test(r_and_errors_are_those_of_the_definition),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(what_cannot_be_compared_is_left_out_or_refused),
      cmocka_unit_test(rows_that_were_not_predicted_do_not_count),
      cmocka_unit_test(colours_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
