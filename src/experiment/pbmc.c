/* pbmc.c: blood cells by two protocols: is the effect of the protocol removed from the embedding, and nothing else? */
#include <math.h>

#include "core/error.h"
#include "experiment/fit.h"
#include "experiment/lab.h"
#include "prep/options.h"

static const comp__column columns[] = {{"s", "s", COMP_BETTER_ZERO, 4},
                                       {"kbet", "kBET", COMP_BETTER_LOWER, 3},
                                       {"s_label", "s~", COMP_BETTER_ZERO, 4},
                                       {"m_kbet", "m-kBET", COMP_BETTER_LOWER, 3},
                                       {NULL, NULL, COMP_BETTER_LOWER, 0}};

static const comp__table tables[] = {{"models", "PBMC: 3' v2 and 5' chemistry",
                                      "A part of the paper's cells; 2,000 vst genes. k = 100, "
                                      "alpha = 0.05; m-kBET and s~ over cell types of at "
                                      "least 150 cells with k = min(100, n/4).",
                                      NULL, columns},
                                     {NULL, NULL, NULL, NULL, NULL}};

static comp_status prepare(comp__lab *lab) {
  static const char *const keep[] = {"cell_type=bcells,dc,mk,mono,nk,tcells"};
  comp__prep_options prep = comp__prep_defaults();
  prep.filter.keep = keep;
  prep.filter.n_keep = 1;
  prep.normalize = prep.log1p = true;
  prep.hvg.flavor = COMP_HVG_VST;
  prep.hvg.n = 2000;
  prep.hvg.batch = "batch";
  return comp__lab_read(lab, "pbmc_protocols", "v2_vs_5p_6500.h5ad", &prep);
}

static comp_status recipe(comp__train_options *out, const comp__lab *lab, const comp__trial *trial) {
  return comp__lab_recipe(out, lab, trial, "paper-pbmc");
}

static comp_status run(comp__figures *out, comp__lab *lab, const comp__trial *trial) {
  comp_model *model = NULL;
  comp_status status;
  if (trial->model[0]) COMP__TRY(comp__lab_fit(&model, lab, trial, NULL, lab->dataset));
  COMP__TRY(comp__lab_embed(lab, trial, model, "z"));
  COMP__TRY(comp__lab_score(out, lab, trial, "z", 100, 0.05, 150, false));
done:
  comp_model_free(model);
  return status;
}

const comp__experiment comp__experiment_pbmc = {
    .name = "pbmc",
    .summary = "blood cells by two protocols: integration",
    .condition = "batch",
    .label = "cell_type",
    .baselines = "pca,harmony,seurat-cca",
    /* 1,575 cells: with more than 1 for CoMP the protocols are mixed more evenly than by chance. */
    .gammas = {.vfae = NAN, .trvae = NAN, .comp = 1},
    .tables = tables,
    .prepare = prepare,
    .plan = comp__lab_plan,
    .recipe = recipe,
    .run = run,
};
