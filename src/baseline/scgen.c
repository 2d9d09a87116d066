/*
 * scgen.c: scGen (Lotfollahi et al. 2019): arithmetic on the latent space of a variational autoencoder that does not
 * see the condition. The difference of the mean embeddings of two conditions is the effect of the condition; adding it
 * to a sample and decoding predicts that sample under the other condition.
 */
#include <string.h>

#include "baseline/baseline.h"
#include "comp/task.h"
#include "comp/train.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "model/likelihood.h"
#include "task/options.h"

enum { NOWHERE = -1 };

/* A layer has the features of the data: the model must have them too, in their order. */
static comp_status check_model(const comp_model *model, const comp_dataset *d) {
  const comp__model_options *o = comp__model_get_options(model);
  if (o->encoder_sees_condition || o->centred || o->decoder_sees_condition)
    return comp__error(COMP_ERR_ARGUMENT,
                       "model: it sees the condition, and scGen wants one that does not (comp train --model vae)");
  if (comp__likelihood_find(o->likelihood)->counts)
    return comp__error(COMP_ERR_ARGUMENT, "model: it is one of counts, and scGen wants one of logged values");
  bool same = comp_model_feature_count(model) == d->features;
  for (size_t j = 0; same && j < d->features; j++)
    same = strcmp(comp_model_feature_name(model, j), comp_dataset_var_name(d, j)) == 0;
  if (same) return COMP_OK;
  return comp__error(COMP_ERR_DATA,
                     "model: it was fitted to other features than those of the data, or in another order");
}

static comp_status fit_model(comp_model **out, comp__baseline_run *run) {
  comp__train_options options;
  comp_status status = comp__train_options_init(&options, "vae", NULL);
  if (status != COMP_OK) return status;
  options.condition = run->options->condition;
  options.seed = run->options->seed;
  return comp__train(out, run->context, run->dataset, &options);
}

/* mean [levels, d] of the conditions. With labels: the mean over labels of their means, over those labels that all
 * conditions have, so that a condition's mixture of labels does not count. */
static comp_status find_means(double *mean, comp__baseline_run *run, const comp_matrix *z) {
  comp_status status = COMP_OK;
  comp_groups label = {0};
  size_t levels = run->batch.n_levels, d = z->cols, n_labels = 1, shared = 0;
  double *sums = NULL, *counts = NULL;
  if (run->options->label) {
    COMP__TRY(comp__baseline_groups(&label, run->dataset, run->options->label));
    n_labels = label.n_levels;
  }
  COMP__TRY(comp__calloc(&sums, n_labels * levels, d * sizeof *sums));
  COMP__TRY(comp__calloc(&counts, n_labels, levels * sizeof *counts));
  memset(mean, 0, levels * d * sizeof *mean);
  for (size_t i = 0; i < z->rows; i++) {
    size_t cell = (label.codes ? (size_t)label.codes[i] : 0) * levels + (size_t)run->batch.codes[i];
    counts[cell] += 1.0;
    for (size_t j = 0; j < d; j++) sums[cell * d + j] += z->values[i * d + j];
  }
  for (size_t l = 0; l < n_labels; l++) {
    bool everywhere = true;
    for (size_t b = 0; b < levels; b++) everywhere = everywhere && counts[l * levels + b] > 0.0;
    if (!everywhere) {
      comp__warn(run->context, "label '%s' is not in all conditions: it does not count for their difference",
                 label.levels ? label.levels[l] : "");
      continue;
    }
    shared++;
    for (size_t b = 0; b < levels; b++)
      for (size_t j = 0; j < d; j++) mean[b * d + j] += sums[(l * levels + b) * d + j] / counts[l * levels + b];
  }
  if (shared == 0) COMP__FAIL(COMP_ERR_DATA, "no value of '%s' (--label) is in all conditions", run->options->label);
  for (size_t j = 0; j < levels * d; j++) mean[j] /= (double)shared;
done:
  comp_groups_release(&label);
  comp__free(sums);
  comp__free(counts);
  return status;
}

/* moved = z with every sample at the place of condition `to`. It should be freed via comp_matrix_free(). */
static comp_status move_to(comp_matrix **moved, const comp__baseline_run *run, const comp_matrix *z, const double *mean,
                           size_t to) {
  size_t d = z->cols;
  comp_status status = comp__matrix_new_dense_raw(moved, z->rows, d);
  for (size_t i = 0; status == COMP_OK && i < z->rows; i++) {
    const double *own = mean + (size_t)run->batch.codes[i] * d, *there = mean + to * d;
    for (size_t j = 0; j < d; j++) (*moved)->values[i * d + j] = (float)(z->values[i * d + j] + there[j] - own[j]);
  }
  return status;
}

/* The condition to predict: as asked for, else the one that is not the reference; NOWHERE when there are several. */
static comp_status find_target(int64_t *out, const comp__baseline_run *run, size_t reference) {
  size_t level;
  *out = run->batch.n_levels == 2 ? 1 - (int64_t)reference : NOWHERE;
  if (!run->options->to) return COMP_OK;
  comp_status status = comp__baseline_level(&level, &run->batch, run->options->to, run->options->condition);
  if (status == COMP_OK && level == reference)
    return comp__error(COMP_ERR_ARGUMENT, "to: '%s' is the reference: name another with --reference", run->options->to);
  if (status == COMP_OK) *out = (int64_t)level;
  return status;
}

static comp_status run_scgen(comp__baseline_run *run) {
  comp_status status;
  comp_model *fitted = NULL;
  const comp_model *model = run->options->model;
  comp_matrix *z = NULL, *target = NULL;
  comp__embed_options embed = comp__embed_defaults();
  double *mean = NULL;
  size_t reference = 0;
  int64_t to;
  for (size_t b = 1; b < run->batch.n_levels; b++)
    if (run->batch.counts[b] > run->batch.counts[reference]) reference = b;
  if (run->options->reference)
    COMP__TRY(comp__baseline_level(&reference, &run->batch, run->options->reference, run->options->condition));
  COMP__TRY(find_target(&to, run, reference));
  if (!model) COMP__TRY(fit_model(&fitted, run));
  if (!model) model = fitted;
  COMP__TRY(check_model(model, run->dataset));
  COMP__TRY(comp__embed(&z, NULL, run->context, model, run->dataset, &embed));
  COMP__TRY(comp__alloc(&mean, run->batch.n_levels, z->cols * sizeof *mean));
  COMP__TRY(find_means(mean, run, z));
  COMP__TRY(move_to(&run->embedding, run, z, mean, reference));
  COMP__TRY(comp_decode(&run->layer, run->context, model, run->embedding, NULL));
  if (to != NOWHERE) {
    COMP__TRY(move_to(&target, run, z, mean, (size_t)to));
    COMP__TRY(comp_decode(&run->counterfactual, run->context, model, target, NULL));
  }
done:
  comp_model_free(fitted);
  comp_matrix_free(z);
  comp_matrix_free(target);
  comp__free(mean);
  return status;
}

const comp__baseline comp__baseline_scgen = {
    .method = {.name = "scgen",
               .summary = "scGen: mean shifts between conditions in the latent space of a VAE",
               .takes = "label reference to model seed",
               .embedding = "X_scgen",
               .layer = "scgen",
               .counterfactual = "scgen_counterfactual"},
    .run = run_scgen,
};
