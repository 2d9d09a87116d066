/* fit.h: the steps that trials share: where their files are, and which samples of two data sets are the same. */
#ifndef COMP_EXPERIMENT_FIT_H
#define COMP_EXPERIMENT_FIT_H

#include "comp/prep.h"
#include "core/strings.h"
#include "experiment/lab.h"

/* OUT/runs/ID[-PART]SUFFIX, without spaces. */
void comp__lab_path(char *out, size_t size, const comp__lab *lab, const comp__trial *trial, const char *part,
                    const char *suffix);

/* rows[i] = the row of `other` that has the name of sample i; one that it lacks is an error. */
comp_status comp__lab_match(size_t *rows, const comp_dataset *dataset, const comp_dataset *other);

/* The five models of the paper, in its order; ends with NULL. */
extern const char *const comp__lab_models[];

/* The plan of an experiment whose tables compare the five models. */
comp_status comp__lab_plan(comp__plan *plan, const comp__lab *lab, const char *table);

/* The recipe of a trial: the paper's preset, or the default one with `gamma` for CoMP. A gamma of the trial goes
 * before. */
comp_status comp__lab_recipe(comp_train_options *out, const comp__lab *lab, const comp__trial *trial,
                             const char *paper_preset, double gamma);

/* Reads counts and prepares them. The data set should be freed via comp_dataset_free(), also after a failure. */
comp_status comp__lab_read(comp_dataset **out, comp_context *context, const char *path, const comp_prep_options *prep);

/* FOLDER/SUB/NAME, or FOLDER/NAME when that is not there; a file that is in neither place is an error. */
comp_status comp__lab_find(char *out, size_t size, const char *folder, const char *sub, const char *name);

/* Fits a trial's model, predicts the samples of `from` under `to` and adds the scores: r_all, r_de, mse_all, mse_de and
 * r_change_all, of each label too ("r_all/LABEL"), and the errors of pairs, by column `pair` (may be NULL). */
comp_status comp__lab_counterfactual(comp__figures *out, comp__lab *lab, const comp__trial *trial,
                                     const comp_model *model, const char *from, const char *to, const char *pair);

/* Held-out accuracy of an obs column from a representation, by each classifier: columns NAME, NAME_forest,
 * NAME_boosted. */
comp_status comp__lab_classify(comp__figures *out, comp__lab *lab, const char *row, const comp_matrix *z,
                               const char *column, const char *name);

#endif
