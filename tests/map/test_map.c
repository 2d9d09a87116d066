/*
 * test_map.c: new conditions in a trained model: the loss against the network's own, gradients against differences, the
 * same bytes for old samples and at any number of threads, labels and novelty where the truth is known, bad input.
 */
#include "testing.h"

#include <unistd.h>

#include "comp/io.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "map/components.h"
#include "map/extend.h"
#include "map/field.h"
#include "map/fit.h"
#include "map/judge.h"
#include "map/options.h"
#include "model/moves.h"
#include "task/options.h"
#include "train/loader.h"
#include "training.h"

enum { FEATURES = 24, TYPES = 4 };

static char folder[] = "/tmp/comp_test_map_XXXXXX";

static int enter_folder(void **state) {
  (void)state;
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
  (void)state;
  return chdir("/") == 0 ? rmdir(folder) : -1;
}

static const char *const TYPE_NAMES[TYPES] = {"t0", "t1", "t2", "t3"};

static double normal(uint64_t row, uint64_t column) {
  return comp__rng_normal(comp__rng_at(5, COMP__RNG_TEST, 0, row), column);
}

/* Samples of conditions "first", "first + 1", ... of `levels`; type t raises six features, and a condition shifts all.
 * Types below `types` in turn. `counts`: whole numbers. */
static comp_dataset *make_data(const char *const *levels, size_t n_levels, size_t first, size_t n, size_t types,
                               bool counts) {
  comp_matrix *x;
  comp_dataset *d;
  int32_t *codes = malloc(n * sizeof *codes), *labels = malloc(n * sizeof *labels);
  assert_ok(comp_matrix_new_dense(&x, n, FEATURES));
  for (size_t i = 0; i < n; i++) {
    const size_t level = first + i % n_levels, type = i / n_levels % types;
    codes[i] = (int32_t)(i % n_levels);
    labels[i] = (int32_t)type;
    for (size_t g = 0; g < FEATURES; g++) {
      double value =
          (g / 6 == type ? 3.0 : 0.0) + 1.5 * normal(900 + level, g) + 0.6 * normal(1000 + i, 64 * level + g);
      x->values[i * FEATURES + g] = (float)(counts ? floor(exp(0.5 * value + 1.0)) : value);
    }
  }
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, n_levels));
  assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "type", labels, TYPE_NAMES, types));
  free(codes), free(labels);
  return d;
}

static const char *const OLD[] = {"a", "b"}, *const NEW[] = {"n", "m"};

typedef struct variant {
  bool centred, counts, learned, blind;
} variant;

static comp_model *make_model(comp_context *context, const comp_dataset *d, variant v, size_t epochs) {
  comp__train_options o = test_train_options("comp", 16, 12);
  comp_model *model;
  o.model.centred = v.centred;
  o.model.learn_scale = v.learned;
  o.model.encoder_sees_condition = !v.blind;
  o.model.likelihood = v.counts ? COMP_LIKELIHOOD_NB : COMP_LIKELIHOOD_GAUSSIAN;
  o.batch = 128;
  o.epochs = epochs;
  assert_ok(comp__train(&model, context, d, &o));
  return model;
}

/* ---- The fit --------------------------------------------------------------------------------------------------- */

typedef struct fitting {
  comp_dataset *old, *query;
  comp_model *model, *larger;
  comp__aligned aligned;
  comp__sampled sampled;
  comp_matrix *z, *scale;
  comp__posteriors reference;
  comp__fit *fit;
} fitting;

static void set_up(fitting *f, comp_context *context, variant v) {
  comp__embed_options embed = comp__embed_defaults();
  memset(f, 0, sizeof *f);
  f->old = make_data(OLD, 2, 0, 60, 3, v.counts);
  f->query = make_data(NEW, 1, 2, 20, 3, v.counts);
  f->model = make_model(context, f->old, v, 3);
  assert_ok(comp__model_extend(&f->larger, f->model, NEW, 1));
  assert_ok(comp__align(&f->aligned, context, f->larger, f->query, COMP__CONDITIONS_ALL));
  assert_ok(comp__sampled_read(&f->sampled, context, &f->aligned, 2, 3, 1000));
  assert_ok(comp__embed(&f->z, &f->scale, context, f->model, f->old, &embed));
  f->reference = (comp__posteriors){.n = 60, .mean = f->z->values, .scale = f->scale->values};
  assert_ok(comp__fit_new(&f->fit, context, f->larger, 2, &f->sampled, &f->reference, 20));
}

static void tear_down(fitting *f) {
  comp__fit_free(f->fit);
  comp_matrix_free(f->z);
  comp_matrix_free(f->scale);
  comp__sampled_release(&f->sampled);
  comp__aligned_release(&f->aligned);
  comp_model_free(f->larger);
  comp_model_free(f->model);
  comp_dataset_free(f->query);
  comp_dataset_free(f->old);
}

static double loss_of(fitting *f, comp_context *context, const comp__fit_batch *batch) {
  comp__losses losses;
  assert_ok(comp__fit_step(&losses, context, f->fit, batch, (comp__pull){3.0, 0.4}, 1, 2));
  return losses.total;
}

static void check_gradients(fitting *f, comp_context *context, const comp__fit_batch *batch) {
  const size_t n = comp__fit_shift_count(f->fit) + comp__fit_row_count(f->fit);
  float *values = comp__fit_values(f->fit), gradients[64];
  double largest = 0.0;
  loss_of(f, context, batch);
  memcpy(gradients, comp__fit_gradients(f->fit), n * sizeof *gradients);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)gradients[i]));
  assert_true(largest > 1e-3);
  for (size_t i = 0; i < n; i++) {
    /* At the kink of an activation the slopes on both sides differ: the gradient is one of them. */
    const float kept = values[i], steps[] = {4e-3f, 1e-3f, 3e-4f};
    double slope = 0.0;
    bool same = false;
    for (int s = 0; s < 3 && !same; s++) {
      const double here = loss_of(f, context, batch), h = (double)steps[s];
      values[i] = kept + steps[s];
      const double above = (loss_of(f, context, batch) - here) / h;
      values[i] = kept - steps[s];
      const double below = (here - loss_of(f, context, batch)) / h, g = (double)gradients[i];
      values[i] = kept;
      slope = 0.5 * (above + below);
      same = fmin(fabs(slope - g), fmin(fabs(above - g), fabs(below - g))) <= 0.02 * largest;
    }
    if (!same) fail_msg("value %zu: gradient %g, difference %g (largest %g)", i, (double)gradients[i], slope, largest);
  }
}

/* Likelihood and KL are those of the network itself under the new level. */
static void check_losses(fitting *f, comp_context *context, const comp__fit_batch *batch) {
  comp__losses own, losses;
  comp__gather gather = {.counts = f->larger->network.likelihood->counts, .library_target = f->larger->library_target};
  comp__state state = {.params = f->larger->params, .buffers = f->larger->buffers};
  const size_t start[] = {0, 0, 0, batch->n_query};
  comp__batch rows;
  comp__work *work;
  assert_ok(comp__fit_step(&own, context, f->fit, batch, (comp__pull){3.0, 0.4}, 1, 2));
  assert_ok(
      comp__gather_rows(&rows, context, &gather, comp_dataset_x(f->query), batch->query, batch->n_query, start, false));
  assert_ok(comp__work_new(&work, &f->larger->network, batch->n_query, false, false));
  assert_ok(
      comp__network_evaluate(&losses, context, &f->larger->network, &state, &rows, work, (comp__pull){0.0, 0.0}, 1, 2));
  assert_near(own.likelihood, losses.likelihood, 1e-4);
  assert_near(own.kl, losses.kl, 1e-4);
  comp__work_free(work);
  comp__gather_release(&gather);
}

static void gradients_are_slopes(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  size_t query[20], reference[20];
  float weight[40];
  for (size_t i = 0; i < 20; i++) {
    query[i] = i;
    reference[i] = 3 * i;
    weight[i] = 1.0f;
    weight[20 + i] = i % 3 ? 1.0f : 0.2f;
  }
  const comp__fit_batch batch = {
      .reference = reference, .query = query, .n_reference = 20, .n_query = 20, .weight = weight};
  for (int k = 0; k < 8; k++) {
    fitting f;
    set_up(&f, context, (variant){.centred = k & 1, .counts = k & 2, .learned = k & 4});
    check_losses(&f, context, &batch);
    check_gradients(&f, context, &batch);
    tear_down(&f);
  }
  comp_context_free(context);
}

/* What is stored is what was fitted: the model encodes as the fit does. */
static void the_model_has_what_was_fitted(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  for (int k = 0; k < 4; k++) {
    fitting f;
    float ratio[80] = {0}, z[60];
    comp_matrix *embedded;
    comp__embed_options embed = comp__embed_defaults();
    set_up(&f, context, (variant){.centred = k & 1, .counts = k & 2});
    assert_ok(comp__fit_run(context, f.fit, ratio, 20, 0));
    assert_ok(comp__fit_encode(z, context, f.fit));
    assert_ok(comp__fit_store(context, f.fit, f.larger));
    assert_ok(comp__embed(&embedded, NULL, context, f.larger, f.query, &embed));
    for (size_t i = 0; i < 60; i++) assert_near(embedded->values[i], z[i], 1e-4);
    comp_matrix_free(embedded);
    tear_down(&f);
  }
  comp_context_free(context);
}

/* ---- Moves ----------------------------------------------------------------------------------------------------- */

/* Two rounds of anchors against the formula; the file keeps them; levels of the training do not move. */
static void moves_are_as_defined(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  fitting f;
  set_up(&f, context, (variant){.centred = true});
  const size_t latent = f.larger->network.options.latent, size = comp__anchor_size(f.larger);
  float *rows = calloc(3 * size, sizeof *rows), *z = calloc(latent, sizeof *z), *kept = calloc(latent, sizeof *kept);
  double expected[64];
  for (size_t a = 0; a < 3; a++) {
    float *row = rows + a * size;
    row[0] = 2.0f;
    row[1] = a == 2 ? 1.0f : 0.0f; /* the third anchor is a round of its own */
    row[2] = 1.5f;
    for (size_t d = 0; d < 3 * latent; d++) row[3 + d] = (float)(0.3 * normal(50 + a, d));
  }
  for (size_t d = 0; d < latent; d++) expected[d] = (double)(z[d] = (float)normal(60, d));
  for (size_t first = 0, n = 2; n > 0; first += n, n--) {
    double total = 0.0, move[64] = {0};
    for (size_t a = first; a < first + n; a++) {
      const float *row = rows + a * size;
      double square = 0.0;
      for (size_t d = 0; d < latent; d++) square += pow(expected[d] - (double)row[3 + d], 2.0);
      const double w = exp(-square / (2.0 * 1.5 * 1.5));
      total += w;
      for (size_t d = 0; d < latent; d++)
        move[d] += w * ((double)row[3 + latent + d] + (double)row[3 + 2 * latent + d] * expected[d]);
    }
    for (size_t d = 0; d < latent; d++) expected[d] += move[d] / total;
  }
  memcpy(kept, z, latent * sizeof *kept);
  assert_ok(comp__moves_add(f.larger, rows, 3));
  assert_ok(comp__moves_check(f.larger));
  comp__moves_apply(f.larger, 1, z, 1);
  assert_memory_equal(z, kept, latent * sizeof *z);
  comp__moves_apply(f.larger, 2, z, 1);
  for (size_t d = 0; d < latent; d++) assert_near(z[d], expected[d], 1e-5);

  void *bytes;
  size_t length;
  comp_model *read, *again;
  comp__embed_options embed = comp__embed_defaults();
  comp_matrix *a, *b;
  assert_ok(comp_model_to_memory(&bytes, &length, f.larger));
  assert_ok(comp_model_from_memory(&read, bytes, length));
  assert_ok(comp__model_extend(&again, read, NEW + 1, 1)); /* a further condition leaves them as they are */
  assert_ok(comp__embed(&a, NULL, context, f.larger, f.query, &embed));
  assert_ok(comp__embed(&b, NULL, context, again, f.query, &embed));
  assert_memory_equal(a->values, b->values, a->rows * a->cols * sizeof(float));
  f.larger->anchors[0] = 1.0f;
  assert_error(comp__moves_check(f.larger), COMP_ERR_FORMAT, "anchor 0");
  f.larger->anchors[0] = 2.0f;
  f.larger->anchors[1] = 3.0f;
  assert_error(comp__moves_check(f.larger), COMP_ERR_FORMAT, "anchor 1");
  comp_free(bytes);
  comp_model_free(read);
  comp_model_free(again);
  comp_matrix_free(a);
  comp_matrix_free(b);
  free(rows), free(z), free(kept);
  tear_down(&f);
  comp_context_free(context);
}

/* A query with another mean in each population and less spread becomes like the reference; a third population, which
 * has no counterpart, decides nothing. */
static void moves_make_sides_alike(void **state) {
  (void)state;
  enum { N = 600, MORE = 200 };
  comp_context *context = test_context(2);
  fitting f;
  set_up(&f, context, (variant){.centred = true});
  const size_t latent = f.larger->network.options.latent;
  float *old = calloc(N * latent, sizeof *old), *new = calloc((N + MORE) * latent, sizeof *new), *moved[2],
        *ratio = calloc(2 * N + MORE, sizeof *ratio);
  for (size_t i = 0; i < N + MORE; i++)
    for (size_t d = 0; d < latent; d++) {
      const double centre = (i % 2 ? 4.0 : -4.0) * (d == 0), shift = d == 1 ? (i % 2 ? 0.6 : -0.6) : 0.0;
      if (i < N) old[i * latent + d] = (float)(centre + normal(100 + i, d));
      new[i * latent + d] =
          (float)(i < N ? centre + shift + 0.7 * normal(5000 + i, d) : (d == 1) * 12.0 + 0.2 * normal(5000 + i, d));
      if (i >= N) ratio[N + i] = 5.0f;
    }
  for (int k = 0; k < 2; k++) {
    comp_model *model;
    assert_ok(comp__model_extend(&model, f.model, NEW, 1));
    const comp__meeting meeting = {
        .reference = old, .query = new, .ratio = ratio, .n_reference = N, .n_query = k ? N + MORE : N};
    assert_ok(comp__field_find(context, model, 2, &meeting, 0));
    moved[k] = malloc(N * latent * sizeof(float));
    memcpy(moved[k], new, N * latent * sizeof(float));
    comp__moves_apply(model, 2, moved[k], N);
    comp_model_free(model);
  }
  for (size_t type = 0; type < 2; type++)
    for (size_t d = 0; d < latent; d++) {
      double mean[2] = {0}, square[2] = {0}, apart = 0.0;
      for (size_t i = type; i < N; i += 2) {
        const double values[] = {(double)old[i * latent + d], (double)moved[0][i * latent + d]};
        for (int k = 0; k < 2; k++) mean[k] += values[k] / (N / 2), square[k] += values[k] * values[k] / (N / 2);
        apart += fabs((double)moved[1][i * latent + d] - values[1]) / (N / 2);
      }
      /* 0.6 along one dimension before: anchors within a population see part of it */
      if (fabs(mean[0] - mean[1]) > 0.3) fail_msg("type %zu, dimension %zu: %g", type, d, mean[0] - mean[1]);
      const double ratio_of = sqrt((square[1] - mean[1] * mean[1]) / (square[0] - mean[0] * mean[0]));
      if (ratio_of < 0.85 || ratio_of > 1.15) fail_msg("type %zu, dimension %zu: %g", type, d, ratio_of);
      assert_true(apart < 0.05);
    }
  free(old), free(new), free(ratio), free(moved[0]), free(moved[1]);
  tear_down(&f);
  comp_context_free(context);
}

/* ---- Whole mappings -------------------------------------------------------------------------------------------- */

static comp__map_options defaults(void) {
  comp__map_options o;
  comp__options_defaults(&o, &comp__map_kind);
  o.label = "type";
  return o;
}

static const int32_t *codes_of(const comp_table *table, const char *name) {
  const int32_t *codes = NULL;
  assert_ok(comp_table_codes(&codes, table, comp_table_find(table, name)));
  return codes;
}

static const double *numbers_of(const comp_table *table, const char *name) {
  const double *values = NULL;
  assert_ok(comp_table_numbers(&values, table, comp_table_find(table, name)));
  return values;
}

static void assert_same_embedding(comp_context *context, const comp_model *a, const comp_model *b,
                                  const comp_dataset *d) {
  comp__embed_options embed = comp__embed_defaults();
  comp_matrix *first, *second;
  assert_ok(comp__embed(&first, NULL, context, a, d, &embed));
  assert_ok(comp__embed(&second, NULL, context, b, d, &embed));
  assert_memory_equal(first->values, second->values, first->rows * first->cols * sizeof(float));
  comp_matrix_free(first);
  comp_matrix_free(second);
}

/* How a mapping of `types` types does, of which the reference has three. */
static void check_mapping(const comp_mapping *m, const comp_dataset *query, size_t types, double least) {
  const size_t n = comp_dataset_sample_count(query);
  const int32_t *truth = codes_of(comp_dataset_obs(query), "type"), *predicted = codes_of(m->obs, "type_predicted");
  const double *novelty = numbers_of(m->obs, "comp_novelty"), *chance = numbers_of(m->obs, "type_probability");
  double right = 0, known = 0, order = 0, pairs = 0;
  for (size_t i = 0; i < n; i++) {
    assert_true(chance[i] > 0.0 && chance[i] <= 1.0 && novelty[i] >= 0.0 && novelty[i] <= 1.0);
    if (truth[i] >= 3) continue;
    known++;
    right += predicted[i] == truth[i];
    for (size_t j = 0; j < n; j++)
      if (truth[j] >= 3) pairs++, order += novelty[j] > novelty[i];
  }
  if (right / known < least) fail_msg("accuracy of labels: %.3f", right / known);
  if (types > 3 && order / pairs < 0.9) fail_msg("AUROC of novelty: %.3f", order / pairs);
}

static void labels_and_novelty(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    comp_mapping first = {0};
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      const size_t types = k == 0 ? TYPES : 3;
      comp_dataset *old = make_data(OLD, 2, 0, 300, 3, false), *query = make_data(NEW, 1, 2, 160, types, false);
      comp_model *model = make_model(context, old, (variant){.centred = k == 0}, 60);
      comp__map_options o = defaults();
      comp_mapping m;
      o.steps = 60;
      assert_ok(comp__map(&m, context, model, old, query, &o));
      check_mapping(&m, query, types, k == 0 ? 0.95 : 0.75); /* without centres there is less to fit */
      assert_int_equal(comp_model_level_count(m.model), 3);
      assert_string_equal(comp_model_level_name(m.model, 2), "n");
      assert_same_embedding(context, model, m.model, old);
      if (t == 0) {
        first = m;
      } else {
        assert_memory_equal(first.z->values, m.z->values, 160 * m.z->cols * sizeof(float));
        assert_memory_equal(numbers_of(first.obs, "comp_novelty"), numbers_of(m.obs, "comp_novelty"),
                            160 * sizeof(double));
        assert_string_equal(first.report, m.report);
        comp_mapping_release(&m);
      }
      comp_model_free(model);
      comp_dataset_free(old);
      comp_dataset_free(query);
      comp_context_free(context);
    }
    comp_mapping_release(&first);
  }
}

/* The model knows two conditions, the reference has samples of one: its samples are compared with each other. */
static void reference_of_one_condition(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *old = make_data(OLD, 2, 0, 400, 3, false), *query = make_data(NEW, 1, 2, 160, TYPES, false), *one;
  comp_model *model = make_model(context, old, (variant){.centred = true}, 60);
  comp__map_options o = defaults();
  comp_mapping m;
  size_t rows[200];
  for (size_t i = 0; i < 200; i++) rows[i] = 2 * i + 1; /* all of "b" */
  assert_ok(comp_dataset_select(&one, context, old, rows, 200, NULL, 0));
  o.steps = 60;
  assert_ok(comp__map(&m, context, model, one, query, &o));
  check_mapping(&m, query, TYPES, 0.9);
  for (size_t i = 0; i < 160; i++) assert_true(numbers_of(m.obs, "comp_distance")[i] < 100.0);
  comp_mapping_release(&m);
  comp_model_free(model);
  comp_dataset_free(old);
  comp_dataset_free(one);
  comp_dataset_free(query);
  comp_context_free(context);
}

/* All methods and all kinds of models; several new conditions, one of them known; features that are missing. */
static void other_cases(void **state) {
  (void)state;
  static const char *const THREE[] = {"n", "m", "b"};
  comp_context *context = test_context(2);
  for (int k = 0; k < 9; k++) {
    const variant v = {.centred = k & 1, .counts = k & 2, .blind = k & 4};
    comp_dataset *old = make_data(OLD, 2, 0, 120, 3, v.counts), *all = make_data(THREE, 3, 2, 90, 3, v.counts), *query;
    comp_model *model = make_model(context, old, v, 3);
    comp__map_options o = defaults();
    comp_mapping m;
    size_t cols[FEATURES - 4];
    for (size_t g = 0; g < FEATURES - 4; g++) cols[g] = FEATURES - 1 - g;
    assert_ok(comp_dataset_select(&query, context, all, NULL, 0, cols, FEATURES - 4));
    o.steps = 5;
    o.method = (comp_map_method)(k % 3);
    assert_ok(comp__map(&m, context, model, old, query, &o));
    assert_int_equal(comp_model_level_count(m.model), 4);
    assert_same_embedding(context, model, m.model, old);
    assert_non_null(strstr(m.report, "\"found\": 20"));
    assert_non_null(strstr(m.report, "\"known\""));
    /* The larger model embeds the query to what the mapping says. */
    comp__embed_options embed = comp__embed_defaults();
    comp_matrix *z;
    assert_ok(comp__embed(&z, NULL, context, m.model, query, &embed));
    for (size_t i = 0; i < z->rows * z->cols; i++) assert_near(z->values[i], m.z->values[i], 1e-5);
    comp_matrix_free(z);
    comp_mapping_release(&m);
    comp_model_free(model);
    comp_dataset_free(old);
    comp_dataset_free(all);
    comp_dataset_free(query);
  }
  comp_context_free(context);
}

static void bad_input(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *old = make_data(OLD, 2, 0, 60, 3, false), *query = make_data(NEW, 1, 2, 30, 3, false), *one, *other;
  comp_model *model = make_model(context, old, (variant){.centred = true}, 2);
  comp__map_options o = defaults();
  comp_mapping m;
  const char *names[FEATURES];
  const size_t row = 3;
  o.label = "nothing";
  assert_error(comp__map(&m, context, model, old, query, &o), COMP_ERR_DATA,
               "the reference: there is no column 'nothing'");
  /* Labels of which there is only one, or none. */
  const char *values[60];
  for (size_t k = 0; k < 2; k++) {
    for (size_t i = 0; i < 60; i++) values[i] = k ? NULL : "same";
    assert_ok(comp_table_add_strings(comp_dataset_obs(old), k ? "empty" : "flat", values));
    o.label = k ? "empty" : "flat";
    assert_error(comp__map(&m, context, model, old, query, &o), COMP_ERR_DATA,
                 k ? "has no values" : "has only one value");
  }
  /* A sample of the query without a condition. */
  o = defaults();
  comp_dataset *gap;
  for (size_t i = 0; i < 30; i++) values[i] = i == 4 ? NULL : "n";
  assert_ok(comp_dataset_select(&gap, context, query, NULL, 0, NULL, 0));
  comp_table_remove(comp_dataset_obs(gap), comp_table_find(comp_dataset_obs(gap), "c"));
  assert_ok(comp_table_add_strings(comp_dataset_obs(gap), "c", values));
  assert_error(comp__map(&m, context, model, old, gap, &o), COMP_ERR_DATA,
               "1 of 30 samples of the query have no value");
  comp_dataset_free(gap);
  o.as = "a";
  assert_error(comp__map(&m, context, model, old, query, &o), COMP_ERR_ARGUMENT, "knows a condition 'a' already");
  o.as = "";
  assert_error(comp__map(&m, context, model, old, query, &o), COMP_ERR_ARGUMENT, "empty");
  o = defaults();
  o.steps = 5;
  comp_table_remove(comp_dataset_obs(query), comp_table_find(comp_dataset_obs(query), "c"));
  assert_error(comp__map(&m, context, model, old, query, &o), COMP_ERR_DATA, "--as NAME");
  o.as = "new"; /* then the column is not needed */
  assert_ok(comp__map(&m, context, model, old, query, &o));
  assert_string_equal(comp_model_level_name(m.model, 2), "new");
  comp_mapping_release(&m);
  assert_ok(comp_dataset_select(&one, context, query, &row, 1, NULL, 0)); /* one sample: as the nearest condition */
  assert_ok(comp__map(&m, context, model, old, one, &o));
  assert_non_null(strstr(m.report, "\"nearest\""));
  comp_mapping_release(&m);
  assert_ok(comp_dataset_select(&other, context, query, NULL, 0, NULL, 0));
  for (size_t g = 0; g < FEATURES; g++) names[g] = g % 2 ? "x" : "y";
  assert_ok(comp_dataset_set_var_names(other, names));
  assert_error(comp__map(&m, context, model, old, other, &o), COMP_ERR_DATA, "the query: only 0 of the model's 24");
  assert_error(comp__map(&m, context, model, other, query, &o), COMP_ERR_DATA, "the reference");
  assert_null(m.model);
  /* Values that are missing, on either side. */
  comp_matrix *x = NULL;
  assert_ok(comp_matrix_to_dense(&x, context, comp_dataset_x(query)));
  x->values[FEATURES + 2] = NAN;
  assert_ok(comp_dataset_set_x(query, x));
  assert_error(comp__map(&m, context, model, old, query, &o), COMP_ERR_DATA, "the query");
  assert_error(comp__map(&m, context, model, query, old, &o), COMP_ERR_DATA, "the reference");
  comp_dataset_free(one);
  comp_dataset_free(other);
  comp_dataset_free(old);
  comp_dataset_free(query);
  comp_model_free(model);
  comp_context_free(context);
}

/* Both sides in one file: who is who, labels of both, names that differ, the same embedding. */
static void check_file(bool sparse) {
  comp_context *context = test_context(1);
  comp_dataset *old = make_data(OLD, 2, 0, 60, 3, false), *query = make_data(NEW, 1, 2, 30, 3, false), *both;
  comp_model *model = make_model(context, old, (variant){.centred = true}, 2);
  comp__map_options o = defaults();
  comp_mapping m;
  if (sparse) {
    comp_dataset *sides[] = {old, query};
    for (int k = 0; k < 2; k++) {
      comp_matrix *csr;
      assert_ok(comp_matrix_to_csr(&csr, context, comp_dataset_x(sides[k])));
      assert_ok(comp_dataset_set_x(sides[k], csr));
    }
  }
  o.steps = 5;
  o.together = "both.nothing";
  assert_true(comp__map(&m, context, model, old, query, &o) != COMP_OK);
  o.together = "both.h5ad";
  assert_ok(comp__map(&m, context, model, old, query, &o));
  assert_ok(comp_dataset_read(&both, context, "both.h5ad", NULL));
  const comp_table *obs = comp_dataset_obs(both);
  const comp_matrix *z = comp_dataset_matrix(both, COMP_SLOT_OBSM, "X_comp");
  comp_matrix *x, *own;
  assert_int_equal(comp_matrix_get_kind(comp_dataset_x(both)), sparse ? COMP_CSR : COMP_DENSE);
  assert_ok(comp_matrix_to_dense(&x, context, comp_dataset_x(both)));
  assert_ok(comp_matrix_to_dense(&own, context, comp_dataset_x(query)));
  const size_t role = comp_table_find(obs, "comp_role"), label = comp_table_find(obs, "type"),
               predicted = comp_table_find(obs, "type_predicted"), condition = comp_table_find(obs, "c");
  assert_int_equal(comp_dataset_sample_count(both), 90);
  assert_string_equal(comp_dataset_obs_name(both, 60), "0-query");
  assert_memory_equal(z->values + 60 * z->cols, m.z->values, 30 * z->cols * sizeof(float));
  assert_memory_equal(x->values + 60 * FEATURES, own->values, 30 * FEATURES * sizeof(float));
  for (size_t i = 0; i < 90; i++) {
    const char *name = comp_table_level_name(obs, role, comp_table_code(obs, role, i));
    const bool unknown = i >= 60 && comp_table_bool(m.obs, comp_table_find(m.obs, "comp_unknown"), i - 60) > 0;
    assert_string_equal(name, i < 60 ? "reference" : unknown ? "query, not in the reference" : "query");
    assert_int_equal(comp_table_code(obs, predicted, i) < 0, i < 60);
    assert_int_equal(comp_table_code(obs, label, i),
                     codes_of(comp_dataset_obs(i < 60 ? old : query), "type")[i < 60 ? i : i - 60]);
    assert_string_equal(comp_table_level_name(obs, condition, comp_table_code(obs, condition, i)), i >= 60 ? "n"
                                                                                                   : i % 2 ? "b"
                                                                                                           : "a");
  }
  comp_matrix_free(x);
  comp_matrix_free(own);
  comp_mapping_release(&m);
  comp_dataset_free(both);
  comp_dataset_free(old);
  comp_dataset_free(query);
  comp_model_free(model);
  remove("both.h5ad");
  comp_context_free(context);
}

static void both_in_one_file(void **state) {
  (void)state;
  check_file(false);
  check_file(true);
}

/* Probabilities against a closed form: one neighbour, and labels far apart. */
static void far_labels_are_certain(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_matrix *reference, *query;
  int32_t labels[40], conditions[40];
  double distance[2], novelty[2];
  comp__labels found;
  float ratio[2] = {0}, residual[40];
  for (size_t i = 0; i < 40; i++) residual[i] = 1.0f;
  assert_ok(comp_matrix_new_dense(&reference, 40, 2));
  assert_ok(comp_matrix_new_dense(&query, 2, 2));
  for (size_t i = 0; i < 40; i++) {
    labels[i] = (int32_t)(i % 2);
    conditions[i] = (int32_t)(i / 2 % 2);
    for (size_t d = 0; d < 2; d++)
      reference->values[2 * i + d] = (float)(20.0 * (double)labels[i] + 0.1 * normal(3000 + i, d));
  }
  query->values[2] = query->values[3] = 20.0f;
  const comp__yardstick y = {.z = reference, .conditions = conditions, .n_conditions = 2, .residual = residual, .k = 5};
  const comp__mapped mapped = {.z = query, .residual = residual, .ratio = ratio};
  assert_ok(comp__judge_labels(&found, context, &y, labels, 2, &mapped, 0));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(found.predicted[i], i);
    assert_true(found.probability[i] > 0.99);
  }
  query->values[0] = query->values[1] = 200.0f; /* one is far from all */
  assert_ok(comp__judge_novelty(distance, novelty, context, &y, &mapped));
  assert_true(distance[0] > 100.0 && distance[1] < 3.0);
  assert_true(novelty[0] > 0.99 || novelty[0] == novelty[1]); /* two samples are each other's neighbours */
  comp__labels_release(&found);
  comp_matrix_free(reference);
  comp_matrix_free(query);
  comp_context_free(context);
}

/* As many components as features: only turned, so that distances within a condition are those in the data. */
static void components_keep_distances(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp_dataset *old = make_data(OLD, 2, 0, 120, 3, false), *all = make_data(NEW, 1, 2, 90, 3, false), *query;
  comp_model *model = make_model(context, old, (variant){.centred = true}, 2);
  comp__aligned a = {0}, b = {0};
  comp_matrix *reference, *mapped, *x;
  size_t cols[FEATURES - 4];
  for (size_t g = 0; g < FEATURES - 4; g++) cols[g] = FEATURES - 1 - g; /* the first four are missing */
  assert_ok(comp_dataset_select(&query, context, all, NULL, 0, cols, FEATURES - 4));
  assert_ok(comp__align(&a, context, model, old, COMP__CONDITIONS_ALL));
  assert_ok(comp__align(&b, context, model, query, COMP__CONDITIONS_NONE));
  assert_ok(comp__components(&reference, &mapped, context, &a, &b));
  for (int side = 0; side < 2; side++) {
    const comp_matrix *found = side ? mapped : reference;
    assert_int_equal(found->cols, FEATURES - 4);
    assert_ok(comp_matrix_to_dense(&x, context, comp_dataset_x(side ? all : old)));
    for (size_t i = 2; i < found->rows; i += 2) { /* conditions of the reference alternate */
      double truth = 0.0, got = 0.0;
      for (size_t g = 4; g < FEATURES; g++) truth += pow((double)x->values[i * FEATURES + g] - (double)x->values[g], 2);
      for (size_t d = 0; d < found->cols; d++)
        got += pow((double)found->values[i * found->cols + d] - (double)found->values[d], 2);
      assert_near(got, truth, 1e-3 * (1.0 + truth));
    }
    comp_matrix_free(x);
  }
  comp_matrix_free(reference);
  comp_matrix_free(mapped);
  comp__aligned_release(&a);
  comp__aligned_release(&b);
  comp_dataset_free(old);
  comp_dataset_free(all);
  comp_dataset_free(query);
  comp_model_free(model);
  comp_context_free(context);
}

/* A population that lies in the middle of others in z, and elsewhere in the data. */
static void a_shift_in_the_data_is_new(void **state) {
  (void)state;
  enum { REF = 200, QUERY = 120, MOVED = 30, DIMS = 3 };
  comp_context *context = test_context(1);
  comp_matrix *z, *zq, *data, *dataq;
  int32_t conditions[REF];
  float residual[REF], ratio[QUERY] = {0};
  double distance[QUERY], novelty[QUERY];
  assert_ok(comp_matrix_new_dense(&z, REF, 2));
  assert_ok(comp_matrix_new_dense(&zq, QUERY, 2));
  assert_ok(comp_matrix_new_dense(&data, REF, DIMS));
  assert_ok(comp_matrix_new_dense(&dataq, QUERY, DIMS));
  for (size_t i = 0; i < REF; i++) {
    conditions[i] = (int32_t)(i % 2);
    residual[i] = 1.0f;
    for (size_t d = 0; d < 2; d++) z->values[2 * i + d] = (float)normal(7000 + i, d);
    for (size_t d = 0; d < DIMS; d++) data->values[DIMS * i + d] = (float)normal(8000 + i, d);
  }
  for (size_t i = 0; i < QUERY; i++) {
    for (size_t d = 0; d < 2; d++) zq->values[2 * i + d] = (float)normal(9000 + i, d);
    for (size_t d = 0; d < DIMS; d++)
      dataq->values[DIMS * i + d] = (float)(normal(9500 + i, d) + (i < MOVED && d == 1 ? 8.0 : 0.0));
  }
  comp__yardstick y = {.z = z, .conditions = conditions, .n_conditions = 2, .residual = residual, .k = 15};
  comp__mapped mapped = {.z = zq, .residual = residual, .ratio = ratio};
  for (int with = 0; with < 2; with++) {
    double order = 0.0, flagged = 0.0;
    y.data = with ? data : NULL;
    mapped.data = with ? dataq : NULL;
    assert_ok(comp__judge_novelty(distance, novelty, context, &y, &mapped));
    for (size_t i = 0; i < MOVED; i++)
      for (size_t j = MOVED; j < QUERY; j++) order += novelty[i] > novelty[j];
    for (size_t j = MOVED; j < QUERY; j++) flagged += novelty[j] > 0.95;
    order /= (double)(MOVED * (QUERY - MOVED));
    if (with ? order < 0.99 : order > 0.7) fail_msg("AUROC %.3f %s the data", order, with ? "with" : "without");
    if (flagged > 0.2 * (QUERY - MOVED)) fail_msg("%g of %d known samples are new", flagged, QUERY - MOVED);
  }
  comp_matrix_free(z);
  comp_matrix_free(zq);
  comp_matrix_free(data);
  comp_matrix_free(dataq);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_are_slopes),
      cmocka_unit_test(the_model_has_what_was_fitted),
      cmocka_unit_test(moves_are_as_defined),
      cmocka_unit_test(moves_make_sides_alike),
      cmocka_unit_test(labels_and_novelty),
      cmocka_unit_test(reference_of_one_condition),
      cmocka_unit_test(other_cases),
      cmocka_unit_test(bad_input),
      cmocka_unit_test(both_in_one_file),
      cmocka_unit_test(far_labels_are_certain),
      cmocka_unit_test(components_keep_distances),
      cmocka_unit_test(a_shift_in_the_data_is_new),
  };
  return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
