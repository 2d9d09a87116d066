/* tumour.c: bulk samples of two kinds (tumours and normal tissue; tumours and cell lines): are the tissues aligned? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "classify/options.h"
#include "core/context.h"
#include "core/error.h"
#include "experiment/celligner_files.h"
#include "experiment/fit.h"
#include "experiment/lab.h"
#include "io/options.h"
#include "umap/options.h"

/* From each condition, as the paper's authors choose them. */
enum { VARIABLE_GENES = 8000 };

/* Tissues of fewer samples do not count in s~ and m-kBET. */
enum { LEAST_TISSUE = 50 };

static const comp__column columns[] = {{"accuracy", "Accuracy", COMP_BETTER_HIGHER, 3},
                                       {"s", "s", COMP_BETTER_ZERO, 3},
                                       {"kbet", "kBET", COMP_BETTER_LOWER, 3},
                                       {"s_label", "s~", COMP_BETTER_ZERO, 3},
                                       {"m_kbet", "m-kBET", COMP_BETTER_LOWER, 3},
                                       {"accuracy_z", "Accuracy, z", COMP_BETTER_HIGHER, 3},
                                       {"rmse_pair", "error of pairs", COMP_BETTER_LOWER, 3},
                                       {NULL, NULL, COMP_BETTER_LOWER, 0}};

static const comp__table tables[] = {
    {"models", "Tumours and the other condition",
     "The paper's are tumours and cell lines (Celligner); for other data its "
     "numbers are a guide. On the 2-D UMAP of the representation: k = 100, alpha = "
     "0.01; s~ and m-kBET within tissues of 50 samples or more with k = min(100, n/4). Accuracy: a random "
     "forest that learned the tissues of tumours names those of the other condition. "
     "Error of pairs: root mean square over genes of the predicted normal sample of a "
     "patient, mean over tissues.",
     NULL, columns},
    {NULL, NULL, NULL, NULL, NULL}};

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static comp_status read_celligner(comp__lab *lab, const comp__celligner_files *files, bool choice) {
  snprintf(lab->used, sizeof lab->used, "celligner/%.100s, %.100s", base_name(files->tumours), base_name(files->lines));
  if (choice)
    comp__info(lab->context, "%s: celligner and tcga_paired are both there; the files of celligner are used",
               lab->options->data);
  if (!files->genes[0])
    comp__warn(lab->context, "%s/celligner: there is no hgnc_complete_set*.txt: non-coding genes stay",
               lab->options->data);
  return comp__celligner_read(&lab->dataset, lab->context, files, VARIABLE_GENES);
}

/* The files of Celligner when the user has them, else the pairs of TCGA. */
static comp_status prepare(comp__lab *lab) {
  char path[4096], samples[4096];
  const char *folder = lab->options->data;
  comp__read_options read = {0};
  comp__celligner_files files;
  bool found;
  comp_status status = comp__celligner_find(&found, &files, folder);
  if (status != COMP_OK) return status;
  status = comp__lab_find(path, sizeof path, folder, "tcga_paired", "expr.tsv.gz");
  if (found) return read_celligner(lab, &files, status == COMP_OK);
  if (status == COMP_OK) status = comp__lab_find(samples, sizeof samples, folder, "tcga_paired", "samples.tsv.gz");
  if (status != COMP_OK) return status;
  read.metadata = samples;
  snprintf(lab->used, sizeof lab->used, "TCGA pairs of tumours and normal tissue, expr.tsv.gz");
  return comp__dataset_read(&lab->dataset, lab->context, path, &read);
}

/* Few samples of many tissues: posteriors barely overlap, and a sample is aligned with its nearest ones of the other
 * condition, often those of another tissue. So the blur decreases during training: tissues align before single samples.
 * Without the means of their conditions, the same organs are close from the beginning, so they are not exchanged
 * (docs/tried.md has what was tried). */
static comp_status recipe(comp__train_options *out, const comp__lab *lab, const comp__trial *trial) {
  comp_status status = comp__lab_recipe(out, lab, trial, "paper-tumour");
  if (status != COMP_OK || strcmp(lab->options->preset, "paper") == 0 || strcmp(trial->model, "comp") != 0)
    return status;
  out->model.centred = true;
  out->blur_from = 1;
  out->blur_to = 0.25;
  return COMP_OK;
}

/* Accuracy of tissues in the other condition. */
static comp_status transfer(comp__figures *out, comp__lab *lab, const comp__trial *trial, const char *key,
                            const char *column) {
  const comp_matrix *z = comp_dataset_matrix(lab->dataset, COMP_SLOT_OBSM, key);
  comp_groups conditions = {0}, tissues = {0};
  comp_accuracy accuracy;
  comp__classify_options options = comp__classify_defaults();
  const comp_table *obs = comp_dataset_obs(lab->dataset);
  size_t c, t;
  comp_status status;
  COMP__TRY(comp_table_require(&c, obs, "condition"));
  COMP__TRY(comp_table_require(&t, obs, "tissue"));
  COMP__TRY(comp_table_groups(&conditions, obs, c));
  COMP__TRY(comp_table_groups(&tissues, obs, t));
  int32_t tumour = strcmp(conditions.levels[0], "tumor") == 0 ? 0 : 1;
  COMP__TRY(comp__transfer(&accuracy, lab->context, z, conditions.codes, tumour, 1 - tumour, tissues.codes,
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
  const comp__umap_options umap = comp__umap_defaults();
  bool paired = comp_table_find(comp_dataset_obs(lab->dataset), "patient") != COMP_NOT_FOUND;
  comp_status status;
  if (trial->model[0]) COMP__TRY(comp__lab_fit(&model, lab, trial, NULL, lab->dataset));
  COMP__TRY(comp__lab_embed(lab, trial, model, "z"));
  COMP__TRY(comp__lab_umap(lab, trial, "z", umap));
  COMP__TRY(transfer(out, lab, trial, "umap", "accuracy"));
  COMP__TRY(transfer(out, lab, trial, "z", "accuracy_z"));
  COMP__TRY(comp__lab_score(out, lab, trial, "umap", 100, 0.01, LEAST_TISSUE, false));
  if (model && paired) COMP__TRY(comp__lab_counterfactual(out, lab, trial, model, "tumor", "normal", "patient"));
done:
  comp_model_free(model);
  return status;
}

const comp__experiment comp__experiment_tumour = {
    .name = "tumour",
    .summary = "tumours and normal tissue of the same patients, or cell lines: bulk samples of two kinds",
    .condition = "condition",
    .label = "tissue",
    .baselines = "pca,combat,mnn,celligner",
    .reference = "tumor",
    .gammas = {.vfae = 1e4, .trvae = 1e4, .comp = 300},
    .tables = tables,
    .prepare = prepare,
    .plan = comp__lab_plan,
    .recipe = recipe,
    .run = run,
};
