/* adult.c: census rows: an embedding that hides sex and keeps income. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/task.h"
#include "core/error.h"
#include "experiment/fit.h"
#include "experiment/lab.h"
#include "io/options.h"
#include "prep/options.h"
#include "score/options.h"
#include "task/options.h"
#include "umap/options.h"

static const comp__column columns[] = {{"gender", "Gender Acc", COMP_BETTER_LOWER, 3},
                                       {"income", "Income Acc", COMP_BETTER_HIGHER, 3},
                                       {"s_umap", "s", COMP_BETTER_ZERO, 3},
                                       {"kbet_umap", "kBET", COMP_BETTER_LOWER, 3},
                                       {NULL, NULL, COMP_BETTER_LOWER, 0}};
static const comp__column audit_columns[] = {{"gender_forest", "Gender, forest", COMP_BETTER_LOWER, 3},
                                             {"gender_boosted", "Gender, boosted", COMP_BETTER_LOWER, 3},
                                             {"income_forest", "Income, forest", COMP_BETTER_HIGHER, 3},
                                             {"income_boosted", "Income, boosted", COMP_BETTER_HIGHER, 3},
                                             {"s_z", "s, z", COMP_BETTER_ZERO, 3},
                                             {"kbet_z", "kBET, z", COMP_BETTER_LOWER, 3},
                                             {"parity", "parity gap", COMP_BETTER_LOWER, 3},
                                             {"odds", "odds gap", COMP_BETTER_LOWER, 3},
                                             {NULL, NULL, COMP_BETTER_LOWER, 0}};

static const comp__table tables[] = {{"models", "Adult: income without sex",
                                      "UCI Adult, all 45,222 complete rows, 82 features. Accuracy of logistic "
                                      "regression on 30 % that it did not see (knowing nothing: 0.675 for "
                                      "sex, 0.752 for income). s (k = 1000, Male) and kBET (k = 100, alpha = 0.01) on "
                                      "the UMAP of the posterior means (a = 0.1, b = 2, 100 neighbours).",
                                      NULL, columns},
                                     {"audit",
                                      "Adult: stronger adversaries, and what a classifier of income does to the groups",
                                      "Forest and boosted trees on the same split; s and kBET on the representation "
                                      "itself; gaps between the sexes of the logistic classifier "
                                      "of income: of the share predicted rich (demographic parity), and the larger of "
                                      "those of true and false positives (equalised odds).",
                                      "models", audit_columns},
                                     {NULL, NULL, NULL, NULL, NULL}};

static comp_status prepare(comp__lab *lab) {
  static const char *const files[] = {"adult.data.gz", "adult.test.gz"};
  static const char *const obs[] = {"sex", "income"}, *const drop[] = {"education"};
  static const char *const drop_features[] = {"native_country_Holand-Netherlands", "native_country_Vietnam",
                                              "native_country_Yugoslavia"};
  static const char *const merge[] = {"relationship=Wife,Husband:spouse", "income=<=50K.:<=50K", "income=>50K.:>50K"};
  comp_table *parts[2] = {NULL, NULL}, *table = NULL;
  comp__read_options read = {0};
  comp__tabular_options tabular = comp__tabular_defaults();
  char path[4096];
  comp_status status;
  read.no_header = true;
  read.names =
      "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,"
      "capital_loss,hours_per_week,native_country,income";
  read.missing = "?";
  read.comment = '|';
  for (size_t i = 0; i < 2; i++) {
    COMP__TRY(comp__lab_find(path, sizeof path, lab->options->data, "adult", files[i]));
    COMP__TRY(comp__table_read(&parts[i], lab->context, path, &read));
  }
  snprintf(lab->used, sizeof lab->used, "%s, %s", files[0], files[1]);
  COMP__TRY(comp_table_concat(&table, (const comp_table *const *)parts, 2));
  tabular.obs = obs;
  tabular.n_obs = 2;
  tabular.drop = drop;
  tabular.n_drop = 1;
  tabular.drop_features = drop_features;
  tabular.n_drop_features = 3;
  tabular.merge = merge;
  tabular.n_merge = 3;
  tabular.missing = COMP_MISSING_DROP;
  COMP__TRY(comp__tabular_encode(&lab->dataset, lab->context, table, &tabular));
done:
  comp_table_free(table);
  comp_table_free(parts[0]);
  comp_table_free(parts[1]);
  return status;
}

static comp_status plan(comp__plan *out, const comp__lab *lab, const char *table) {
  comp__trial original = {.gamma = NAN};
  snprintf(original.table, sizeof original.table, "%s", table);
  snprintf(original.row, sizeof original.row, "original data");
  comp_status status = lab->options->models ? COMP_OK : comp__plan_add(out, lab, &original);
  return status == COMP_OK ? comp__plan_models(out, lab, table, comp__lab_models) : status;
}

/* CoMP has the recipe that hides attributes, for longer; the others keep what the paper gives them, with its network,
 * posteriors and steps. */
static comp_status recipe(comp__train_options *out, const comp__lab *lab, const comp__trial *trial) {
  comp__train_options protect;
  comp_status status = comp__train_options_init(out, trial->model, "paper-adult");
  if (status != COMP_OK || strcmp(lab->options->preset, "paper") == 0) return status;
  status = comp__train_options_init(&protect, "comp", "protect");
  if (status != COMP_OK) return status;
  if (strcmp(trial->model, "comp") == 0) *out = protect;
  if (strcmp(trial->model, "comp") == 0) out->model.encoder_sees_condition = true; /* as in the paper */
  comp__lab_gamma(out, lab, trial);
  out->model.scale = protect.model.scale;
  out->model.n_hidden = protect.model.n_hidden;
  memcpy(out->model.hidden, protect.model.hidden, sizeof out->model.hidden);
  out->batch = protect.batch;
  out->schedule = protect.schedule;
  out->rate = protect.rate;
  out->warmup = protect.warmup;
  out->patience = protect.patience;
  out->epochs = 400;
  return COMP_OK;
}

/* s of one condition, as the paper reports it, and kBET of all samples. */
static comp_status mixing(comp__figures *out, comp__lab *lab, const comp__trial *trial, const char *key,
                          const char *s_column, const char *kbet_column) {
  comp__score_options options = comp__scores_defaults().score;
  const char *kbet = "kbet", *s = "s";
  comp_score *score = NULL;
  comp_status status;
  options.embeddings = &key;
  options.n_embeddings = options.n_metrics = 1;
  options.condition = "sex";
  options.alpha = 0.01;
  options.metrics = &kbet;
  COMP__TRY(comp__score_run(&score, lab->context, lab->dataset, &options));
  COMP__TRY(comp__figures_add(out, trial->row, kbet_column, comp_score_value(score, 0, 0)));
  comp__score_free(score);
  score = NULL;
  options.metrics = &s;
  options.k = 1000;
  COMP__TRY(comp__score_run(&score, lab->context, lab->dataset, &options));
  for (size_t p = 0; p < comp_score_part_count(score, 0, 0); p++) {
    const comp_score_part *part = comp_score_part_at(score, 0, 0, p);
    if (part->condition && strcmp(part->condition, "Male") == 0)
      COMP__TRY(comp__figures_add(out, trial->row, s_column, part->value));
  }
done:
  comp__score_free(score);
  return status;
}

static comp_status audit(comp__figures *out, comp__lab *lab, const char *row, const comp_matrix *z) {
  comp_groups sex = {0}, income = {0};
  comp_fairness_result fairness;
  comp__classify_options options = comp__classify_defaults();
  const comp_table *obs = comp_dataset_obs(lab->dataset);
  size_t s, i;
  comp_status status;
  COMP__TRY(comp__lab_classify(out, lab, row, z, "sex", "gender"));
  COMP__TRY(comp__lab_classify(out, lab, row, z, "income", "income"));
  COMP__TRY(comp_table_require(&s, obs, "sex"));
  COMP__TRY(comp_table_require(&i, obs, "income"));
  COMP__TRY(comp_table_groups(&sex, obs, s));
  COMP__TRY(comp_table_groups(&income, obs, i));
  options.classifier = COMP_CLASSIFIER_LOGISTIC;
  COMP__TRY(
      comp__fairness(&fairness, lab->context, z, income.codes, income.n_levels, sex.codes, sex.n_levels, &options));
  status = comp__figures_add(out, row, "parity", fairness.parity_gap);
  if (status == COMP_OK) status = comp__figures_add(out, row, "odds", fairness.odds_gap);
  comp_fairness_release(&fairness);
done:
  comp_groups_release(&income);
  comp_groups_release(&sex);
  return status;
}

static comp_status sampled(comp__figures *out, comp__lab *lab, const comp__trial *trial, const comp_model *model) {
  comp__embed_options embed = comp__embed_defaults();
  comp_matrix *z = NULL;
  char row[sizeof out->items->row];
  embed.sample = true;
  embed.seed = trial->seed;
  comp_status status = comp__embed(&z, NULL, lab->context, model, lab->dataset, &embed);
  snprintf(row, sizeof row, "%.40s, samples", trial->row);
  if (status == COMP_OK) status = audit(out, lab, row, z);
  comp_matrix_free(z);
  return status;
}

static comp_status run(comp__figures *out, comp__lab *lab, const comp__trial *trial) {
  comp_model *model = NULL;
  comp__umap_options umap = comp__umap_defaults();
  comp_status status;
  umap.a = 0.1;
  umap.b = 2;
  umap.neighbors = 100;
  const comp_matrix *z = comp_dataset_x(lab->dataset);
  const char *key = "X";
  if (trial->model[0]) COMP__TRY(comp__lab_fit(&model, lab, trial, NULL, lab->dataset));
  if (trial->model[0] || trial->embedding || trial->baseline) {
    key = "z";
    COMP__TRY(comp__lab_embed(lab, trial, model, key));
    z = comp_dataset_matrix(lab->dataset, COMP_SLOT_OBSM, key);
  }
  COMP__TRY(audit(out, lab, trial->row, z));
  COMP__TRY(mixing(out, lab, trial, key, "s_z", "kbet_z"));
  COMP__TRY(comp__lab_umap(lab, trial, key, umap));
  COMP__TRY(mixing(out, lab, trial, "umap", "s_umap", "kbet_umap"));
  if (model) COMP__TRY(sampled(out, lab, trial, model));
done:
  comp_model_free(model);
  return status;
}

const comp__experiment comp__experiment_adult = {
    .name = "adult",
    .summary = "census rows: an embedding that hides sex and keeps income",
    .condition = "sex",
    .label = "income",
    .gammas = {.vfae = NAN, .trvae = NAN, .comp = 10},
    .tables = tables,
    .prepare = prepare,
    .plan = plan,
    .recipe = recipe,
    .run = run,
};
