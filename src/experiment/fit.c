/* fit.c: the steps that trials share: a model, its embedding, its metrics. */
#include "experiment/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "baseline/options.h"
#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "io/options.h"
#include "prep/options.h"
#include "score/options.h"
#include "task/options.h"
#include "umap/options.h"

void comp__lab_path(char *out, size_t size, const comp__lab *lab, const comp__trial *trial, const char *part,
                    const char *suffix) {
  snprintf(out, size, "%s/runs/%s-%s%s%s%s", lab->options->out, lab->tag, trial->id, part ? "-" : "", part ? part : "",
           suffix);
  for (char *c = strrchr(out, '/') + 1; *c; c++)
    if (*c == ' ') *c = '_';
}

/* The recipe of a trial, with what the user asked for. */
static comp_status options_of(comp__train_options *out, const comp__lab *lab, const comp__trial *trial) {
  comp_status status = lab->experiment->recipe(out, lab, trial);
  if (status != COMP_OK) return status;
  out->condition = lab->experiment->condition;
  out->seed = trial->seed;
  if (lab->options->epochs) out->epochs = lab->options->epochs;
  return COMP_OK;
}

/* The model that an earlier run left; NULL when there is none, or it is damaged, or the recipe was another. */
static comp_model *load_model(const char *path, const comp__train_options *options) {
  comp_model *model = NULL;
  if (access(path, R_OK) != 0 || comp_model_load(&model, path) != COMP_OK) return NULL;
  if (comp__model_follows(model, options)) return model;
  comp_model_free(model);
  return NULL;
}

comp_status comp__lab_outdated(bool *out, const comp__lab *lab, const comp__trial *trial) {
  char path[4096];
  comp__train_options options;
  *out = false;
  if (!trial->model[0]) return COMP_OK;
  comp__lab_path(path, sizeof path, lab, trial, NULL, ".safetensors");
  if (access(path, R_OK) != 0) return COMP_OK;
  comp_status status = options_of(&options, lab, trial);
  if (status != COMP_OK) return status;
  comp_model *model = load_model(path, &options);
  *out = !model;
  comp_model_free(model);
  return COMP_OK;
}

comp_status comp__lab_fit(comp_model **out, comp__lab *lab, const comp__trial *trial, const char *part,
                          const comp_dataset *dataset) {
  char model[4096], checkpoint[4096];
  comp__train_options options;
  *out = NULL;
  comp__lab_path(model, sizeof model, lab, trial, part, ".safetensors");
  comp__lab_path(checkpoint, sizeof checkpoint, lab, trial, part, ".checkpoint");
  comp_status status = options_of(&options, lab, trial);
  if (status != COMP_OK) return status;
  *out = load_model(model, &options);
  if (*out) return COMP_OK;
  options.checkpoint = checkpoint;
  options.checkpoint_minutes = 2;
  options.resume = true;
  comp__info(lab->context, "training %s%s%s", trial->id, part ? " without " : "", part ? part : "");
  status = comp__train(out, lab->context, dataset, &options);
  if (status == COMP_OK) status = comp_model_save(*out, model);
  if (status == COMP_OK) unlink(checkpoint); /* there need not be one */
  if (status != COMP_OK) {
    comp_model_free(*out);
    *out = NULL;
  }
  return status;
}

const char *comp__embedding_file(char *path, size_t size, const char *text) {
  snprintf(path, size, "%s", text);
  char *colon = strrchr(path, ':');
  if (colon) *colon = '\0';
  return colon ? colon + 1 : NULL;
}

/* "FILE[:KEY]" of another program, with the samples of ours in any order. */
static comp_status read_embedding(comp_matrix **out, comp__lab *lab, const char *text) {
  comp_status status;
  comp_dataset *other = NULL;
  size_t *rows = NULL;
  char path[4096];
  const char *key = comp__embedding_file(path, sizeof path, text);
  comp__read_options read = {0};
  read.skip_x = true;
  COMP__TRY(comp__dataset_read(&other, lab->context, path, &read));
  if (!key && comp_dataset_matrix_count(other, COMP_SLOT_OBSM) != 1)
    COMP__FAIL(COMP_ERR_ARGUMENT, "%s: holds %zu embeddings: say which, as FILE:KEY", path,
               comp_dataset_matrix_count(other, COMP_SLOT_OBSM));
  const comp_matrix *z =
      comp_dataset_matrix(other, COMP_SLOT_OBSM, key ? key : comp_dataset_matrix_name(other, COMP_SLOT_OBSM, 0));
  if (!z) COMP__FAIL(COMP_ERR_DATA, "%s: there is no obsm/%s", path, key);
  size_t n = comp_dataset_sample_count(lab->dataset);
  COMP__TRY(comp__alloc(&rows, n, sizeof *rows));
  COMP__TRY(comp__lab_match(rows, lab->dataset, other, path));
  COMP__TRY(comp_matrix_select(out, lab->context, z, rows, n, NULL, 0));
done:
  comp__free(rows);
  comp_dataset_free(other);
  return status;
}

comp_status comp__lab_match(size_t *rows, const comp_dataset *dataset, const comp_dataset *other, const char *path) {
  comp_status status = COMP_OK;
  comp__strings names = {0};
  comp__string_index index = {0};
  const char *first = NULL;
  size_t missing = 0;
  for (size_t i = 0; i < comp_dataset_sample_count(other); i++) {
    const char *name = comp_dataset_obs_name(other, i);
    COMP__TRY(comp__strings_append(&names, name, strlen(name)));
  }
  COMP__TRY(comp__string_index_init(&index, &names, NULL));
  for (size_t i = 0; i < comp_dataset_sample_count(dataset); i++) {
    rows[i] = comp__string_index_find(&index, comp_dataset_obs_name(dataset, i));
    if (rows[i] != SIZE_MAX) continue;
    if (!first) first = comp_dataset_obs_name(dataset, i);
    missing++;
  }
  if (missing)
    COMP__FAIL(COMP_ERR_DATA, "%s: it lacks %zu of the %zu samples of the experiment, the first being '%s'", path,
               missing, comp_dataset_sample_count(dataset), first);
done:
  comp__string_index_release(&index);
  comp__strings_release(&names);
  return status;
}

/* Method and data say all: there are no seeds. */
static comp_status run_baseline(comp_matrix **out, comp__lab *lab, const char *name) {
  const comp_baseline_method *method;
  comp__baseline_options options = comp__baseline_defaults();
  comp_dataset *results = NULL;
  comp_status status;
  options.condition = lab->experiment->condition;
  options.label = lab->experiment->label;
  options.reference = lab->experiment->reference;
  COMP__TRY(comp_baseline_find(&method, name));
  comp__info(lab->context, "baseline %s", name);
  COMP__TRY(comp__baseline_method(&results, lab->context, lab->dataset, name, &options));
  const comp_matrix *z = comp_dataset_matrix(results, COMP_SLOT_OBSM, method->embedding);
  COMP__TRY(comp_matrix_select(out, lab->context, z, NULL, 0, NULL, 0));
done:
  comp_dataset_free(results);
  return status;
}

comp_status comp__lab_embed(comp__lab *lab, const comp__trial *trial, comp_model *model, const char *key) {
  comp_matrix *z = NULL;
  comp_status status;
  if (trial->embedding) {
    status = read_embedding(&z, lab, trial->embedding);
  } else if (trial->baseline) {
    status = run_baseline(&z, lab, trial->baseline);
  } else {
    comp__embed_options options = comp__embed_defaults();
    status = comp__embed(&z, NULL, lab->context, model, lab->dataset, &options);
  }
  return status == COMP_OK ? comp_dataset_set_matrix(lab->dataset, COMP_SLOT_OBSM, key, z) : status;
}

/* "kbet" of a label is "kbet/LABEL", for tables by label. */
static comp_status add_parts(comp__figures *out, const comp__trial *trial, const comp_score *score, size_t metric,
                             const char *name) {
  for (size_t p = 0; p < comp_score_part_count(score, metric, 0); p++) {
    const comp_score_part *part = comp_score_part_at(score, metric, 0, p);
    char column[sizeof out->items->column];
    if (!part->label || part->condition) continue;
    snprintf(column, sizeof column, "%s/%s", name, part->label);
    comp_status status = comp__figures_add(out, trial->row, column, part->value);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp__lab_score(comp__figures *out, comp__lab *lab, const comp__trial *trial, const char *key, size_t k,
                            double alpha, size_t min_label, bool per_label) {
  comp__score_options options = comp__scores_defaults().score;
  comp_score *score = NULL;
  comp_status status;
  options.embeddings = &key;
  options.n_embeddings = 1;
  options.condition = lab->experiment->condition;
  options.label = lab->experiment->label;
  options.k = k;
  options.alpha = alpha;
  options.small_labels = COMP__SMALL_SHRINK;
  options.min_label = min_label;
  COMP__TRY(comp__score_run(&score, lab->context, lab->dataset, &options));
  for (size_t m = 0; m < comp_score_metric_count(score); m++) {
    const char *name = comp_score_metric_at(score, m)->name;
    COMP__TRY(comp__figures_add(out, trial->row, name, comp_score_value(score, m, 0)));
    if (per_label && comp_score_metric_at(score, m)->needs_label)
      COMP__TRY(add_parts(out, trial, score, m, strcmp(name, "m_kbet") == 0 ? "kbet" : "s"));
  }
done:
  comp__score_free(score);
  return status;
}

const char *const comp__lab_models[] = {"vae", "cvae", "vfae", "trvae", "comp", NULL};

comp_status comp__lab_plan(comp__plan *plan, const comp__lab *lab, const char *table) {
  return comp__plan_models(plan, lab, table, comp__lab_models);
}

void comp__lab_gamma(comp__train_options *options, const comp__lab *lab, const comp__trial *trial) {
  const comp__gammas *g = &lab->experiment->gammas;
  const char *model = trial->model;
  double best = strcmp(model, "comp") == 0    ? g->comp
                : strcmp(model, "vfae") == 0  ? g->vfae
                : strcmp(model, "trvae") == 0 ? g->trvae
                                              : NAN;
  if (strcmp(lab->options->preset, "paper") != 0 && !isnan(best)) options->model.gamma = best;
  if (!isnan(trial->gamma)) options->model.gamma = trial->gamma;
}

/* The network of the paper's tables for all models, so that only the penalty differs between rows. All samples are
 * aligned, as in the paper: every type is in every condition. */
static void take_paper_network(comp__train_options *o) {
  comp__model_options *m = &o->model;
  m->n_hidden = 3;
  for (size_t l = 0; l < m->n_hidden; l++) m->hidden[l] = 512;
  m->latent = 40;
  m->scale = 0.1;
  m->centred = false;
  m->bound = 0.0;
  o->align = COMP_ALIGN_ALL;
  o->blur_from = o->blur_to = 0.0;
}

comp_status comp__lab_recipe(comp__train_options *out, const comp__lab *lab, const comp__trial *trial,
                             const char *paper_preset) {
  bool paper = strcmp(lab->options->preset, "paper") == 0;
  comp_status status = comp__train_options_init(out, trial->model, paper ? paper_preset : "default");
  if (status == COMP_OK && !paper) take_paper_network(out);
  if (status == COMP_OK) comp__lab_gamma(out, lab, trial);
  return status;
}

comp_status comp__lab_read(comp__lab *lab, const char *sub, const char *name, const comp__prep_options *prep) {
  char path[4096];
  comp__read_options read = {0};
  comp_status status = comp__lab_find(path, sizeof path, lab->options->data, sub, name);
  if (status != COMP_OK) return status;
  snprintf(lab->used, sizeof lab->used, "%s", name);
  status = comp__dataset_read(&lab->dataset, lab->context, path, &read);
  if (status == COMP_OK) status = comp__prep(&lab->dataset, lab->context, prep);
  return status == COMP_OK ? status : comp__error_in_file(status, path);
}

comp_status comp__lab_umap(comp__lab *lab, const comp__trial *trial, const char *key, comp__umap_options options) {
  const comp_matrix *z =
      strcmp(key, "X") == 0 ? comp_dataset_x(lab->dataset) : comp_dataset_matrix(lab->dataset, COMP_SLOT_OBSM, key);
  comp_matrix *layout = NULL;
  options.seed = trial->seed;
  comp_status status = comp__umap_run(&layout, NULL, lab->context, z, &options);
  return status == COMP_OK ? comp_dataset_set_matrix(lab->dataset, COMP_SLOT_OBSM, "umap", layout) : status;
}

comp_status comp__lab_find(char *out, size_t size, const char *folder, const char *sub, const char *name) {
  snprintf(out, size, "%s/%s/%s", folder, sub, name);
  if (access(out, R_OK) == 0) return COMP_OK;
  snprintf(out, size, "%s/%s", folder, name);
  if (access(out, R_OK) == 0) return COMP_OK;
  return comp__error(COMP_ERR_IO, "%s: there is no %s/%s, and no %s in it", folder, sub, name, name);
}

static comp_status add_values(comp__figures *out, const char *row, const comp_counterfactual_label *label, bool mean) {
  static const char *const wanted[] = {"r_all", "r_de", "mse_all", "mse_de", "r_change_all", "rmse_pair"};
  const comp_counterfactual_values *values = &label->values[COMP_PREDICTOR_MODEL];
  for (size_t m = 0; m < comp_counterfactual_measure_count(); m++)
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
      char column[sizeof out->items->column];
      const char *name = comp_counterfactual_measure_at(m)->name;
      if (strcmp(name, wanted[w]) != 0) continue;
      snprintf(column, sizeof column, mean ? "%s" : "%s/%s", name, label->label);
      comp_status status = comp__figures_add(out, row, column, comp_counterfactual_measure_value(values, m));
      if (status != COMP_OK) return status;
    }
  return COMP_OK;
}

comp_status comp__lab_counterfactual(comp__figures *out, comp__lab *lab, const comp__trial *trial,
                                     const comp_model *model, const char *from, const char *to, const char *pair) {
  comp_status status;
  comp_prediction prediction = {0};
  comp_counterfactual_score *score = NULL;
  comp__counterfactual_options options = comp__counterfactual_defaults();
  comp__counterfactual_score_options scoring = comp__scores_defaults().counterfactual;
  options.from = from;
  options.to = to;
  COMP__TRY(comp__counterfactual(&prediction, lab->context, model, lab->dataset, &options));
  comp_matrix *values = prediction.values;
  prediction.values = NULL;
  COMP__TRY(comp_dataset_set_matrix(lab->dataset, COMP_SLOT_LAYERS, "predicted", values));
  scoring.condition = lab->experiment->condition;
  scoring.label = lab->experiment->label;
  scoring.layer = "predicted";
  scoring.from = from;
  scoring.to = to;
  scoring.pair = pair;
  COMP__TRY(comp__counterfactual_score_run(&score, lab->context, lab->dataset, &scoring));
  COMP__TRY(add_values(out, trial->row, comp_counterfactual_score_mean(score), true));
  for (size_t l = 0; l < comp_counterfactual_score_label_count(score); l++)
    COMP__TRY(add_values(out, trial->row, comp_counterfactual_score_label_at(score, l), false));
done:
  comp__counterfactual_score_free(score);
  comp_prediction_release(&prediction);
  return status;
}

comp_status comp__lab_classify(comp__figures *out, comp__lab *lab, const char *row, const comp_matrix *z,
                               const char *column, const char *name) {
  static const char *const suffixes[COMP_CLASSIFIER_KINDS] = {"", "_forest", "_boosted"};
  comp_groups groups = {0};
  size_t c;
  comp_status status;
  COMP__TRY(comp_table_require(&c, comp_dataset_obs(lab->dataset), column));
  COMP__TRY(comp_table_groups(&groups, comp_dataset_obs(lab->dataset), c));
  for (int kind = 0; kind < COMP_CLASSIFIER_KINDS; kind++) {
    comp__classify_options options = comp__classify_defaults();
    comp_accuracy accuracy;
    char key[sizeof out->items->column];
    options.classifier = (comp_classifier_kind)kind;
    COMP__TRY(comp__holdout(&accuracy, lab->context, z, groups.codes, groups.n_levels, &options));
    snprintf(key, sizeof key, "%s%s", name, suffixes[kind]);
    status = comp__figures_add(out, row, key, accuracy.accuracy);
    comp_accuracy_release(&accuracy);
    if (status != COMP_OK) goto done;
  }
done:
  comp_groups_release(&groups);
  return status;
}
