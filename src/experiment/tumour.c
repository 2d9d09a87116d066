/* tumour.c: bulk samples of two kinds (tumours and normal tissue; tumours and cell lines): do the tissues meet? */
#include <stdio.h>
#include <string.h>

#include "comp/classify.h"
#include "comp/io.h"
#include "comp/umap.h"
#include "core/error.h"
#include "experiment/fit.h"
#include "experiment/lab.h"

static const comp__column columns[] = {{"accuracy", "Accuracy", COMP_BETTER_HIGHER, 3},
                                       {"s", "s", COMP_BETTER_ZERO, 3},
                                       {"kbet", "kBET", COMP_BETTER_LOWER, 3},
                                       {"s_label", "s~", COMP_BETTER_ZERO, 3},
                                       {"m_kbet", "m-kBET", COMP_BETTER_LOWER, 3},
                                       {"accuracy_z", "Accuracy, z", COMP_BETTER_HIGHER, 3},
                                       {"rmse_pair", "error of pairs", COMP_BETTER_LOWER, 3},
                                       {NULL, NULL, COMP_BETTER_LOWER, 0}};

static const comp__table tables[] = {{"models", "Tumours and matched normal tissue",
                                      "TCGA pairs (the paper's are tumours and cell lines, whose figures are beside "
                                      "ours as a guide). On the 2-D UMAP of the posterior "
                                      "means: k = 100, alpha = 0.01; s~ and m-kBET within tissues with k = min(100, "
                                      "n/4). Accuracy: a random forest that learned the tissues of "
                                      "tumours names those of the other condition. Error of pairs: root mean square "
                                      "over genes of the predicted normal sample of a patient.",
                                      NULL, columns},
                                     {NULL, NULL, NULL, NULL, NULL}};

static comp_status prepare(comp_dataset **out, comp_context *context, const char *folder) {
  char path[4096], samples[4096];
  comp_read_options read = COMP_READ_OPTIONS_INIT;
  comp_status status = comp__lab_find(path, sizeof path, folder, "tcga_paired", "expr.tsv.gz");
  if (status == COMP_OK) status = comp__lab_find(samples, sizeof samples, folder, "tcga_paired", "samples.tsv.gz");
  read.metadata = samples;
  return status == COMP_OK ? comp_dataset_read(out, context, path, &read) : status;
}

static comp_status recipe(comp_train_options *out, const comp__lab *lab, const comp__trial *trial) {
  /* Less than the default: with 10 tissues are pulled onto each other, and a forest finds fewer of them. */
  return comp__lab_recipe(out, lab, trial, "paper-tumour", 3);
}

/* Accuracy of tissues in the other condition. */
static comp_status transfer(comp__figures *out, comp__lab *lab, const comp__trial *trial, const comp_matrix *z,
                            const char *column) {
  comp_groups conditions = {0}, tissues = {0};
  comp_accuracy accuracy;
  comp_split_options options = COMP_SPLIT_OPTIONS_INIT;
  const comp_table *obs = comp_dataset_obs(lab->dataset);
  size_t c, t;
  comp_status status;
  COMP__TRY(comp_table_require(&c, obs, "condition"));
  COMP__TRY(comp_table_require(&t, obs, "tissue"));
  COMP__TRY(comp_table_groups(&conditions, obs, c));
  COMP__TRY(comp_table_groups(&tissues, obs, t));
  int32_t tumour = strcmp(conditions.levels[0], "tumor") == 0 ? 0 : 1;
  COMP__TRY(comp_transfer(&accuracy, lab->context, z, conditions.codes, tumour, 1 - tumour, tissues.codes,
                          tissues.n_levels, &options));
  status = comp__figures_add(out, trial->row, column, accuracy.accuracy);
  comp_accuracy_release(&accuracy);
done:
  comp_groups_release(&tissues);
  comp_groups_release(&conditions);
  return status;
}

static comp_status run(comp__figures *out, comp__lab *lab, const comp__trial *trial) {
  comp_model *model = NULL;
  comp_matrix *layout = NULL;
  comp_umap_options umap = COMP_UMAP_OPTIONS_INIT;
  comp_status status;
  umap.seed = trial->seed;
  if (!trial->embedding) COMP__TRY(comp__lab_fit(&model, lab, trial, NULL, lab->dataset));
  COMP__TRY(comp__lab_embed(lab, trial, model, "z"));
  const comp_matrix *z = comp_dataset_get(lab->dataset, COMP_SLOT_OBSM, "z");
  COMP__TRY(comp_umap_run(&layout, NULL, lab->context, z, &umap));
  COMP__TRY(transfer(out, lab, trial, layout, "accuracy"));
  COMP__TRY(transfer(out, lab, trial, z, "accuracy_z"));
  comp_matrix *given = layout;
  layout = NULL;
  COMP__TRY(comp_dataset_set(lab->dataset, COMP_SLOT_OBSM, "umap", given));
  COMP__TRY(comp__lab_score(out, lab, trial, "umap", 100, 0.01, COMP_SMALL_SHRINK, false));
  if (model) COMP__TRY(comp__lab_counterfactual(out, lab, trial, model, "tumor", "normal", "patient"));
done:
  comp_matrix_free(layout);
  comp_model_free(model);
  return status;
}

const comp__experiment comp__experiment_tumour = {
    .name = "tumour",
    .summary = "tumours and matched normal tissue: bulk samples of two kinds, and pairs of patients",
    .condition = "condition",
    .label = "tissue",
    .tables = tables,
    .prepare = prepare,
    .plan = comp__lab_plan,
    .recipe = recipe,
    .run = run,
};
