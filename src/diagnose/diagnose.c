/* diagnose.c: all checks in order. What is computed is in the other files, what it means in verdict.c. */
#include "diagnose/options.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comp/machine.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "diagnose/results.h"
#include "linalg/linalg.h"
#include "train/options.h"

enum {
  STEP_PREDICT = 7000000,
  PREDICT_ROWS = 4000, /* samples for classifiers */
  NULL_LEAST = 19,     /* shuffles of conditions, for the divergence, which is computed again for each */
  NULL_MOST = 199,
  ENERGY_MOST = 999, /* permutations of the test of symmetry beyond those that were asked for */
  PREDICT_MOST = 100000,
  NULL_ROWS = 2500,
  LEAST_ROWS = 1000, /* draws for the information, for each of several kernels */
  BOUND_BATCHES = 8,
  NEIGHBORS = 30,
  NEIGHBOR_ROWS = 20000,
  CHANGE_ROWS = 300 /* samples for a mean change */
};

/* What messages call a model. */
typedef struct named {
  const comp_model *model;
  char name[512];
} named;

static named name_model(const comp_model *const *models, size_t m, const comp__diagnose_options *o) {
  named n = {.model = models[m]};
  if (m < o->n_names)
    snprintf(n.name, sizeof n.name, "'%s'", o->names[m]);
  else
    snprintf(n.name, sizeof n.name, "model %zu", m + 1);
  return n;
}

static named name_against(const comp__diagnose_options *o) {
  named n = {.model = o->against, .name = "the model to compare with"};
  if (o->against_name) snprintf(n.name, sizeof n.name, "'%s'", o->against_name);
  return n;
}

/* Training remembers the means of its data: they differ where the data did, beyond the order of the sums. */
static comp_status check_same_data(comp_context *context, const named *a, const named *b) {
  const char *x_data = a->model->trained_on, *y_data = b->model->trained_on;
  if (x_data && y_data) { /* samples and a digest */
    size_t x = strtoul(x_data, NULL, 10), y = strtoul(y_data, NULL, 10);
    if (strcmp(x_data, y_data) == 0) return COMP_OK;
    if (x != y)
      return comp__error(COMP_ERR_ARGUMENT,
                         "%s was trained on %zu samples, %s on %zu: they are models of different data", a->name, x,
                         b->name, y);
  }
  for (size_t g = 0; g < comp_model_feature_count(a->model); g++) {
    double x = (double)a->model->feature_means[g], y = (double)b->model->feature_means[g];
    if (fabs(x - y) > 1e-4 * fmax(fabs(x), fabs(y)) + 1e-7)
      return comp__error(COMP_ERR_ARGUMENT,
                         "%s and %s were trained on different data: the mean of '%s' was %.6g and %.6g; compare models "
                         "of the same data",
                         a->name, b->name, comp_model_feature_name(a->model, g), x, y);
  }
  if (x_data && y_data) /* the same values stored sparse and dense, or in another order, have another digest */
    comp__warn(context,
               "%s and %s may have been trained on different data: features have the same means, but values, their "
               "order or the conditions differ",
               a->name, b->name);
  return COMP_OK;
}

/* Two models must speak of the same features and conditions to be compared. */
static comp_status check_alike(comp_context *context, const named *first, const named *other) {
  const comp_model *a = first->model, *b = other->model;
  size_t features = comp_model_feature_count(a), levels = comp_model_level_count(a);
  if (comp_model_feature_count(b) != features)
    return comp__error(COMP_ERR_ARGUMENT, "%s has %zu features, %s %zu: they are models of different data", other->name,
                       comp_model_feature_count(b), first->name, features);
  for (size_t g = 0; g < features; g++)
    if (strcmp(comp_model_feature_name(a, g), comp_model_feature_name(b, g)) != 0)
      return comp__error(COMP_ERR_ARGUMENT, "%s has '%s' as feature %zu, %s '%s': they are models of different data",
                         other->name, comp_model_feature_name(b, g), g + 1, first->name, comp_model_feature_name(a, g));
  if (strcmp(comp_model_condition(a), comp_model_condition(b)) != 0)
    return comp__error(COMP_ERR_ARGUMENT, "%s has the condition '%s', %s '%s': they cannot be compared", other->name,
                       comp_model_condition(b), first->name, comp_model_condition(a));
  bool same = comp_model_level_count(b) == levels;
  for (size_t k = 0; same && k < levels; k++)
    same = strcmp(comp_model_level_name(a, k), comp_model_level_name(b, k)) == 0;
  if (!same)
    return comp__error(COMP_ERR_ARGUMENT, "%s has other values of the condition '%s' than %s", other->name,
                       comp_model_condition(a), first->name);
  if (comp__model_get_options(a)->likelihood != comp__model_get_options(b)->likelihood)
    return comp__error(COMP_ERR_ARGUMENT, "%s has another likelihood than %s: they cannot be compared", other->name,
                       first->name);
  return check_same_data(context, first, other);
}

static bool same_weights(const comp_model *a, const comp_model *b) {
  size_t size = a->network.params.size;
  return a == b || (b->network.params.size == size && memcmp(a->params, b->params, size * sizeof *a->params) == 0);
}

/* Agreement of a model with itself says nothing; the seed is part of the settings. */
static comp_status check_other_seed(const named *a, const named *b) {
  const char *x = comp_model_config(a->model), *y = comp_model_config(b->model);
  if (strcmp(a->name, b->name) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "%s is given twice; give models that were trained with other seeds", a->name);
  if (same_weights(a->model, b->model))
    return comp__error(COMP_ERR_ARGUMENT,
                       "%s and %s are the same model; give models that were trained with other seeds", a->name,
                       b->name);
  if (x && y && strcmp(x, y) == 0)
    return comp__error(COMP_ERR_ARGUMENT,
                       "%s and %s were trained with the same seed and settings; give models of other seeds", a->name,
                       b->name);
  return COMP_OK;
}

/* A number of the training's settings; 0 when it is not there. */
static double training_setting(const comp_model *model, const char *name) {
  json_error_t error;
  const char *config = comp_model_config(model);
  json_t *root = config ? json_loads(config, 0, &error) : NULL;
  double value = json_number_value(json_object_get(json_object_get(root, "training"), name));
  json_decref(root);
  return value;
}

static comp_status check_against(comp_context *context, const named *first, const comp__diagnose_options *o) {
  named against = name_against(o);
  const comp__model_options *m = comp__model_get_options(o->against);
  comp_status status = check_alike(context, first, &against);
  if (status != COMP_OK) return status;
  if (same_weights(first->model, o->against))
    return comp__error(COMP_ERR_ARGUMENT, "%s and %s are the same model: there is nothing to compare with",
                       against.name, first->name);
  double target = training_setting(o->against, "kl_target");
  if (m->penalty != COMP_PENALTY_NONE && (m->gamma > 0 || target > 0))
    return comp__error(COMP_ERR_ARGUMENT,
                       "%s was trained with a penalty (%s %g); the model to compare with must have none: train it with "
                       "--gamma 0",
                       against.name, m->gamma > 0 ? "gamma" : "kl_target", m->gamma > 0 ? m->gamma : target);
  return COMP_OK;
}

static comp_status check_models(comp_context *context, const comp_model *const *models, size_t n,
                                const comp__diagnose_options *o) {
  if (n == 0) return comp__error(COMP_ERR_ARGUMENT, "there is no model to diagnose");
  named first = name_model(models, 0, o);
  for (size_t m = 1; m < n; m++) {
    named other = name_model(models, m, o);
    comp_status status = check_alike(context, &first, &other);
    for (size_t k = 0; status == COMP_OK && k < m; k++) {
      named before = name_model(models, k, o);
      status = check_other_seed(&before, &other);
    }
    if (status != COMP_OK) return status;
  }
  return o->against ? check_against(context, &first, o) : COMP_OK;
}

static comp_status check_samples(const comp__results *r, const comp__latent *l) {
  if (l->n < l->dims + 2 || l->n < 20)
    return comp__error(COMP_ERR_DATA,
                       "%zu samples are too few to judge a z of %zu dimensions; at least %zu are needed, and hundreds "
                       "to say much",
                       l->n, l->dims, l->dims + 2 < 20 ? 20 : l->dims + 2);
  for (size_t k = 0; k < l->conditions; k++) {
    size_t count = 0;
    for (size_t i = 0; i < l->n; i++) count += l->codes[i] == (int32_t)k;
    if (count < 2)
      return comp__error(COMP_ERR_DATA,
                         "%s: '%s' has %zu sample%s; the data to diagnose with needs all conditions "
                         "of the model",
                         comp_model_condition(r->model), comp_model_level_name(r->model, k), count,
                         count == 1 ? "" : "s");
  }
  return COMP_OK;
}

/* The batch size that the model was trained with. */
static size_t training_batch(const comp_model *model) {
  double batch = training_setting(model, "batch");
  return batch >= 1 ? (size_t)batch : 512;
}

static size_t at_most(size_t n, size_t most) {
  return n < most ? n : most;
}

/* Permutations after which the smallest p, `tests` / (permutations + 1), does not exceed alpha; `most` when that takes
 * more, and never fewer than were asked for. Without it a test could not reject, and the line would pass whatever was
 * measured. */
static size_t enough(const comp__diagnose_options *o, double tests, size_t least, size_t most) {
  double needed = ceil(tests / o->alpha * (1 - 1e-12)) - 1;
  size_t n = needed < (double)most ? (size_t)needed : most;
  return n > least ? n : least;
}

/* The divergence without the samples that have no counterpart, where each condition has others. */
static comp_status run_shared(comp__results *r, comp_context *context, const comp__latent *l) {
  comp_status status = COMP_OK;
  const comp__diagnose_options *o = &r->options;
  comp__posteriors p = {0};
  float *mean = NULL, *scale = NULL;
  int32_t *codes = NULL;
  size_t n = 0;
  for (size_t k = 0; k < l->conditions; k++)
    if (2 * r->unshared.alone[k] > r->counts[k] || r->counts[k] - r->unshared.alone[k] < 2) return COMP_OK;
  if (r->unshared.count == 0) return COMP_OK;
  COMP__TRY(comp__alloc(&mean, l->n * l->dims, sizeof *mean));
  COMP__TRY(comp__alloc(&scale, l->n * l->dims, sizeof *scale));
  COMP__TRY(comp__alloc(&codes, l->n, sizeof *codes));
  for (size_t i = 0; i < l->n; i++) {
    if (r->unshared.is[i]) continue;
    memcpy(mean + n * l->dims, l->mean + i * l->dims, l->dims * sizeof *mean);
    memcpy(scale + n * l->dims, l->scale + i * l->dims, l->dims * sizeof *scale);
    codes[n++] = l->codes[i];
  }
  COMP__TRY(comp__posteriors_init(&p, mean, scale, codes, n, l->dims, l->conditions, o->seed));
  COMP__TRY(comp__independence_shuffled(&r->null_shared, context, &p, at_most(o->samples, NULL_ROWS),
                                        enough(o, 1, NULL_LEAST, NULL_MOST), o->seed));
done:
  comp__posteriors_release(&p);
  comp__free(mean);
  comp__free(scale);
  comp__free(codes);
  return status;
}

static comp_status run_independence(comp__results *r, comp_context *context, const comp__latent *l) {
  comp_status status;
  const comp__diagnose_options *o = &r->options;
  comp__posteriors p = {0};
  COMP__TRY(comp__posteriors_init(&p, l->mean, l->scale, l->codes, l->n, l->dims, l->conditions, o->seed));
  COMP__TRY(comp__independence_estimate(&r->independence, context, &p, o->samples, o->draws, o->seed));
  COMP__TRY(comp__independence_shuffled(&r->null, context, &p, at_most(o->samples, NULL_ROWS),
                                        enough(o, 1, NULL_LEAST, NULL_MOST), o->seed));
  COMP__TRY(comp__information_least(&r->information, context, &p, at_most(o->samples, LEAST_ROWS), o->seed));
  r->batch = training_batch(r->model);
  if (r->batch > l->n) r->batch = l->n;
  COMP__TRY(comp__training_bound(&r->bound, context, &p, r->batch, BOUND_BATCHES, o->seed));
  COMP__TRY(run_shared(r, context, l));
done:
  comp__posteriors_release(&p);
  return status;
}

/* Principal components of some samples of the data as the model reads it, as many as z has dimensions. */
static comp_status components_of_data(comp_matrix **out, comp_context *context, const comp__latent *l,
                                      const size_t *rows, size_t n, uint64_t seed) {
  comp_status status;
  comp_matrix *x = NULL;
  comp__pca pca = {0};
  COMP__TRY(comp__matrix_new_dense_raw(&x, n, l->features));
  for (size_t i = 0; i < n; i++) comp__latent_observed(x->values + i * l->features, l, rows[i]);
  size_t most = n - 1 < l->features ? n - 1 : l->features;
  comp__pca_options options = {.components = l->dims < most ? l->dims : most, .seed = seed};
  COMP__TRY(comp__pca_fit(&pca, context, x, &options));
  COMP__TRY(comp__matrix_new_dense_raw(out, n, pca.components));
  memcpy((*out)->values, pca.scores, n * pca.components * sizeof(float));
done:
  comp_matrix_free(x);
  comp__pca_release(&pca);
  return status;
}

/* The classifiers of this installation, as bits. */
static comp_status all_classifiers(unsigned *all, comp_context *context) {
  const char *library;
  *all = 0;
  for (int kind = 0; kind < COMP_CLASSIFIER_KINDS; kind++) {
    const char *module = comp_classifier_kind_module((comp_classifier_kind)kind);
    comp_status status = module ? comp_module_load(&library, module) : COMP_OK;
    if (status == COMP_OK) {
      *all |= 1U << kind;
      continue;
    }
    if (status != COMP_ERR_UNAVAILABLE) return status;
    comp__warn(context, "the condition is predicted without %s: %s",
               comp_classifier_kind_title((comp_classifier_kind)kind), comp_error_message());
    comp__error_clear();
  }
  return COMP_OK;
}

static comp_status run_predictions(comp__results *r, comp_context *context, const comp__latent *l) {
  comp_status status;
  const comp__diagnose_options *o = &r->options;
  size_t *order = NULL, n = l->n < PREDICT_ROWS ? l->n : PREDICT_ROWS;
  const unsigned logistic = 1U << COMP_CLASSIFIER_LOGISTIC;
  unsigned every;
  int32_t *codes = NULL;
  comp_matrix *means = NULL, *draws = NULL, *before = NULL;
  /* Nothing is trained again for a permutation: they are cheap. */
  size_t permutations = enough(o, COMP_CLASSIFIER_KINDS, o->permutations, PREDICT_MOST);
  COMP__TRY(all_classifiers(&every, context));
  COMP__TRY(comp__random_order(&order, l->n, o->seed, STEP_PREDICT));
  COMP__TRY(comp__alloc(&codes, n, sizeof *codes));
  COMP__TRY(comp__latent_rows(&means, l, order, n, false, o->seed));
  COMP__TRY(comp__latent_rows(&draws, l, order, n, true, o->seed));
  for (size_t i = 0; i < n; i++) codes[i] = l->codes[order[i]];
  COMP__TRY(comp__predict(&r->condition_means, context, means, codes, l->conditions, every, permutations, o->seed));
  COMP__TRY(comp__predict(&r->condition_draws, context, draws, codes, l->conditions, every, permutations, o->seed));
  if (r->labels.n_levels) {
    for (size_t i = 0; i < n; i++) codes[i] = r->labels.codes[order[i]];
    COMP__TRY(components_of_data(&before, context, l, order, n, o->seed));
    COMP__TRY(comp__predict(&r->label_before, context, before, codes, r->labels.n_levels, logistic, 0, o->seed));
    COMP__TRY(comp__predict(&r->label_after, context, means, codes, r->labels.n_levels, logistic, 0, o->seed));
  }
done:
  comp__free(order);
  comp__free(codes);
  comp_matrix_free(means);
  comp_matrix_free(draws);
  comp_matrix_free(before);
  return status;
}

static comp_status run_correction(comp__results *r, comp_context *context, const comp__latent *l,
                                  const comp_dataset *dataset) {
  comp_status status;
  const comp__diagnose_options *o = &r->options;
  comp__latent against = {0};
  if (r->labels.n_levels)
    COMP__TRY(comp__fates_find(&r->fates, context, l, r->labels.codes, r->labels.n_levels, NEIGHBOR_ROWS, NEIGHBORS,
                               o->seed));
  COMP__TRY(comp__strays_find(&r->strays, context, l, dataset, o->samples, o->seed));
  COMP__TRY(comp__reconstruction(&r->reconstruction, context, l, &r->strays, o->samples, o->seed));
  if (o->against) {
    COMP__TRY(comp__latent_init(&against, context, o->against, dataset));
    COMP__TRY(comp__reconstruction(&r->reconstruction_against, context, &against, &r->strays, o->samples, o->seed));
  }
done:
  comp__latent_release(&against);
  return status;
}

static comp_status run_checks(comp__results *r, comp_context *context, const comp_dataset *dataset,
                              const comp__latent *latents) {
  comp_status status;
  const comp__diagnose_options *o = &r->options;
  r->missing = latents[0].aligned.n_missing;
  r->features = latents[0].features;
  for (size_t i = 0; i < r->n; i++) r->counts[latents[0].codes[i]]++;
  comp__progress_begin(context, "diagnosing", "checks", r->models > 1 ? 5 : 4);
  COMP__TRY(comp__identify_run(&r->identify, context, &latents[0], o->samples, o->alpha,
                               enough(o, 1, o->permutations, ENERGY_MOST), o->seed));
  comp__progress_update(context, 1, NULL);
  COMP__TRY(comp__unshared_find(&r->unshared, context, &latents[0], r->counts,
                                r->labels.n_levels ? r->labels.codes : NULL, r->labels.n_levels));
  COMP__TRY(run_independence(r, context, &latents[0]));
  comp__progress_update(context, 2, NULL);
  COMP__TRY(run_predictions(r, context, &latents[0]));
  comp__progress_update(context, 3, NULL);
  COMP__TRY(run_correction(r, context, &latents[0], dataset));
  comp__progress_update(context, 4, NULL);
  r->stable = r->models > 1;
  if (r->stable)
    COMP__TRY(comp__stability_run(&r->stability, context, latents, r->models,
                                  r->labels.n_levels ? r->labels.codes : NULL, r->labels.n_levels, CHANGE_ROWS,
                                  o->seed));
  comp__progress_update(context, r->models > 1 ? 5 : 4, NULL);
  comp__progress_end(context);
done:
  return status;
}

void comp__results_release(comp__results *r) {
  comp__identify_release(&r->identify);
  comp__independence_release(&r->independence);
  comp__stability_release(&r->stability);
  comp__fates_release(&r->fates);
  comp__strays_release(&r->strays);
  comp__unshared_release(&r->unshared);
  comp_groups_release(&r->labels);
  comp__free(r->counts);
}

/* Reads the labels, where a column of them is named. */
static comp_status read_labels(comp__results *r, const comp_dataset *dataset) {
  const char *label = r->options.label;
  size_t column;
  if (!label) return COMP_OK;
  if (strcmp(label, comp_model_condition(r->model)) == 0)
    return comp__error(COMP_ERR_DATA,
                       "the label '%s' is the condition of the model: give a column of what must not be lost, such as "
                       "the cell type",
                       label);
  comp_status status = comp_table_require(&column, comp_dataset_obs(dataset), label);
  if (status == COMP_OK) status = comp_table_groups(&r->labels, comp_dataset_obs(dataset), column);
  if (status == COMP_OK && r->labels.n_levels > 1000)
    status = comp__error(COMP_ERR_DATA, "'%s' has %zu different values; a column of labels has at most 1000", label,
                         r->labels.n_levels);
  return status;
}

comp_status comp__results_run(comp__results *r, comp_context *context, const comp_dataset *dataset,
                              const comp_model *const *models, size_t n_models, const comp__diagnose_options *options) {
  comp_status status;
  comp__latent *latents = NULL;
  *r = (comp__results){.options = *options, .models = n_models, .reconstruction = NAN, .reconstruction_against = NAN};
  COMP__TRY(comp__options_check(&comp__diagnose_kind, options));
  COMP__TRY(check_models(context, models, n_models, options));
  for (size_t m = 1; m < n_models; m++)
    comp__settings_compare(&r->settings, models[0], models[m], name_model(models, m, options).name);
  r->model = models[0];
  r->n = comp_dataset_sample_count(dataset);
  r->dims = comp__model_get_options(models[0])->latent;
  r->conditions = comp_model_level_count(models[0]);
  COMP__TRY(comp__calloc(&r->counts, r->conditions, sizeof *r->counts));
  COMP__TRY(read_labels(r, dataset));
  COMP__TRY(comp__calloc(&latents, n_models, sizeof *latents));
  for (size_t m = 0; m < n_models; m++) {
    COMP__TRY(comp__latent_init(&latents[m], context, models[m], dataset));
    if (m == 0) COMP__TRY(check_samples(r, &latents[0]));
  }
  COMP__TRY(run_checks(r, context, dataset, latents));
done:
  for (size_t m = 0; latents && m < n_models; m++) comp__latent_release(&latents[m]);
  comp__free(latents);
  return status;
}
