/*
 * lab.h: what an experiment is made of. An experiment is a row of a table (experiment.c): how its data is prepared,
 * which trials there are, what one trial measures, and the tables that the figures go to.
 */
#ifndef COMP_EXPERIMENT_LAB_H
#define COMP_EXPERIMENT_LAB_H

#include "comp/dataset.h"
#include "comp/metrics.h"
#include "comp/train.h"
#include "experiment/experiment.h"
#include "train/options.h"

/* One run: a model fitted with a seed, or several that belong together. */
typedef struct comp__trial {
  char id[112];   /* stem of its files */
  char table[16]; /* what it is for */
  char row[64];   /* its row there */
  char model[16]; /* "" when nothing is trained */
  double gamma;   /* NaN: the recipe's */
  bool leave_self_out;
  size_t fits; /* how many models it fits, for an estimate */
  uint64_t seed;
  const char *embedding; /* of another program: "FILE[:KEY]"; else NULL */
  const char *baseline;  /* a method of src/baseline; else NULL */
} comp__trial;

typedef struct comp__plan {
  comp__trial *trials;
  size_t count, capacity;
} comp__plan;

/* A figure: to which row and column it belongs. */
typedef struct comp__figure {
  char row[64];
  char column[48];
  double value;
} comp__figure;

typedef struct comp__figures {
  comp__figure *items;
  size_t count, capacity;
} comp__figures;

typedef struct comp__experiment comp__experiment;

/* What a trial works with. */
typedef struct comp__lab {
  comp_context *context;
  const comp_experiment_options *options;
  const comp__experiment *experiment;
  comp_dataset *dataset; /* prepared */
  char used[256];        /* which data that is, for the tables */
  char tag[24];          /* begins the names of the runs' files: the experiment, and a digest of the prepared data */
  comp__plan plan;
} comp__lab;

/* The weight of the penalty of each model in an experiment; NaN: that of the preset. */
typedef struct comp__gammas {
  double vfae, trvae, comp;
} comp__gammas;

typedef struct comp__column {
  const char *key, *title;
  comp_better better;
  int digits;
} comp__column;

typedef struct comp__table {
  const char *name, *title;
  const char *note;            /* how it was measured */
  const char *source;          /* the table whose trials it shows other columns of; NULL: its own */
  const comp__column *columns; /* up to one without a key */
} comp__table;

struct comp__experiment {
  const char *name, *summary;
  const char *condition, *label; /* columns of obs */
  const char *baselines;         /* methods that are set beside the models, separated by commas; NULL: none */
  const char *reference;         /* the condition that baselines move the other to; NULL: their choice */
  comp__gammas gammas;           /* of the default preset */
  const comp__table *tables;     /* up to one without a name */
  /* Fills in the lab's data set and which data it is, from the folder of the options. */
  comp_status (*prepare)(comp__lab *lab);
  comp_status (*plan)(comp__plan *plan, const comp__lab *lab, const char *table);
  /* The recipe of a trial, found by measurement (docs/tried.md), or for the paper's that of its tables. */
  comp_status (*recipe)(comp__train_options *out, const comp__lab *lab, const comp__trial *trial);
  comp_status (*run)(comp__figures *out, comp__lab *lab, const comp__trial *trial);
};

extern const comp__experiment comp__experiment_adult, comp__experiment_kang, comp__experiment_pbmc,
    comp__experiment_tumour;

/* What the paper reports; NaN when it does not. */
double comp__paper_figure(const char *experiment, const char *table, const char *row, const char *column);

/* Whether a list "a,b" (NULL: everything) holds a name. */
bool comp__listed(const char *list, const char *name);

/* Adds a trial; `row` is printed as a table does. id and seed follow from the rest. */
comp_status comp__plan_add(comp__plan *plan, const comp__lab *lab, const comp__trial *trial);

/* Trials of every wanted model with every seed, of every wanted baseline, and of every embedding of other programs. An
 * embedding with the name of a baseline takes its place. */
comp_status comp__plan_models(comp__plan *plan, const comp__lab *lab, const char *table, const char *const *models);

/* Adds a figure. */
comp_status comp__figures_add(comp__figures *figures, const char *row, const char *column, double value);

/* runs/ID.json. *found is false when there is no such file, or it is damaged. */
comp_status comp__figures_load(comp__figures *out, bool *found, const char *path);
comp_status comp__figures_save(const comp__figures *figures, const comp__trial *trial, double seconds,
                               const char *path);

/* The model of a trial: read from runs/ID.safetensors, or fitted to `dataset` (and saved). `part` (may be NULL) is for
 * trials with several models. It should be freed via comp_model_free(). */
comp_status comp__lab_fit(comp_model **out, comp__lab *lab, const comp__trial *trial, const char *part,
                          const comp_dataset *dataset);

/* Puts the trial's embedding of the whole data set into its obsm: the model's posterior means, a baseline's or another
 * program's. */
comp_status comp__lab_embed(comp__lab *lab, const comp__trial *trial, comp_model *model, const char *key);

/* Metrics of an embedding under these column names: kbet, s, m_kbet, s_label, and with `per_label` "kbet/LABEL". Labels
 * of fewer samples than `min_label` are left out. */
comp_status comp__lab_score(comp__figures *out, comp__lab *lab, const comp__trial *trial, const char *key, size_t k,
                            double alpha, size_t min_label, bool per_label);

/* Writes all tables, as text, CSV, JSON and Markdown; *text gets them as text and should be freed via free(). results
 * are the figures of each trial of the plan; those of one that is not done are empty. */
comp_status comp__tables_write(char **text, const comp__lab *lab, const comp__figures *results);

#endif
