/* fit.h: the steps that trials share: where their files are, and which samples of two data sets are the same. */
#ifndef COMP_EXPERIMENT_FIT_H
#define COMP_EXPERIMENT_FIT_H

#include "comp/umap.h"
#include "core/strings.h"
#include "experiment/lab.h"
#include "prep/options.h"
#include "train/options.h"
#include "umap/options.h"

/* OUT/runs/ID[-PART]SUFFIX, without spaces. */
void comp__lab_path(char *out, size_t size, const comp__lab *lab, const comp__trial *trial, const char *part,
                    const char *suffix);

/* Whether the model that a trial left was fitted with other settings than its recipe has now, or is damaged: then its
 * numbers do not count. Without a model nobody can tell: false. */
comp_status comp__lab_outdated(bool *out, const comp__lab *lab, const comp__trial *trial);

/* The file of "FILE[:KEY]" is copied to `path`; the key is given, which lies behind it there, or NULL. */
const char *comp__embedding_file(char *path, size_t size, const char *text);

/* rows[i] = the row of `other`, which was read from `path`, that has the name of sample i; samples that it lacks are an
 * error. */
comp_status comp__lab_match(size_t *rows, const comp_dataset *dataset, const comp_dataset *other, const char *path);

/* The five models of the paper, in its order; ends with NULL. */
extern const char *const comp__lab_models[];

/* The plan of an experiment whose tables compare the five models. */
comp_status comp__lab_plan(comp__plan *plan, const comp__lab *lab, const char *table);

/* The recipe of a trial: the paper's preset, or the default one with the experiment's gammas. A gamma of the trial goes
 * before. */
comp_status comp__lab_recipe(comp__train_options *out, const comp__lab *lab, const comp__trial *trial,
                             const char *paper_preset);

/* The weight of the penalty: the trial's, or in the default preset the experiment's where it has one. */
void comp__lab_gamma(comp__train_options *options, const comp__lab *lab, const comp__trial *trial);

/* Reads FOLDER/SUB/NAME or FOLDER/NAME, which are counts, and prepares them: the lab's data set. */
comp_status comp__lab_read(comp__lab *lab, const char *sub, const char *name, const comp__prep_options *prep);

/* FOLDER/SUB/NAME, or FOLDER/NAME when that is not there; a file that is in neither place is an error. */
comp_status comp__lab_find(char *out, size_t size, const char *folder, const char *sub, const char *name);

/* The UMAP of an embedding `key`, in the lab's obsm/umap; the options' seed becomes that of the trial. */
comp_status comp__lab_umap(comp__lab *lab, const comp__trial *trial, const char *key, comp__umap_options options);

/* Fits a trial's model, predicts the samples of `from` under `to` and adds the scores: r_all, r_de, mse_all, mse_de and
 * r_change_all, of each label too ("r_all/LABEL"), and the errors of pairs, by column `pair` (may be NULL). */
comp_status comp__lab_counterfactual(comp__figures *out, comp__lab *lab, const comp__trial *trial,
                                     const comp_model *model, const char *from, const char *to, const char *pair);

/* Held-out accuracy of an obs column from a representation, by each classifier: columns NAME, NAME_forest,
 * NAME_boosted. */
comp_status comp__lab_classify(comp__figures *out, comp__lab *lab, const char *row, const comp_matrix *z,
                               const char *column, const char *name);

#endif
