/*
 * job.h: one run at work: from data to a folder with everything in it.
 *
 * pipeline.c has the public calls and the order of things; look.c checks the data before any work; steps.c is the table
 * of steps, prepare.c, fit.c, measure.c and draw.c do them; step.c decides whether a step has to be done and records
 * it; line.c writes its command line; folder.c keeps the folder and its record; content.c tells whether data.h5ad holds
 * what it held.
 *
 * Work is done in DIR/.unfinished, and what is complete there takes its place in DIR at the end: a run that fails
 * leaves an earlier one as it was, and the same call goes on where it stopped. Every step has a fingerprint: of its
 * options and of the steps that it depends on. A step whose fingerprint is in the record of the last run is not done
 * again, if what it made is there with the same content. From data.h5ad on, all steps read what commands that are run
 * alone would read: so both give the same bytes.
 */
#ifndef COMP_PIPELINE_JOB_H
#define COMP_PIPELINE_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "comp/baseline.h"
#include "comp/dataset.h"
#include "comp/task.h"
#include "comp/train.h"
#include "core/digest.h"
#include "pipeline/options.h"
#include "verdict/evidence.h"

/* The rows of the table of steps, in their order. */
typedef enum comp__step_id {
  COMP__STEP_PREPARE,
  COMP__STEP_TRAIN,
  COMP__STEP_PCA,
  COMP__STEP_MAP_BEFORE,
  COMP__STEP_EMBED,
  COMP__STEP_MAP,
  COMP__STEP_COMPARE,
  COMP__STEP_PREDICT,
  COMP__STEP_CORRECT,
  COMP__STEP_AUDIT,
  COMP__STEP_SCORE,
  COMP__STEP_DIAGNOSE,
  COMP__STEP_FIGURE_MAP,
  COMP__STEP_FIGURE_HISTORY,
  COMP__STEP_FIGURE_CHANGE,
  COMP__STEP_FIGURE_STRIP,
  COMP__STEP_FIGURE_METRICS,
  COMP__STEP_PAGE,
  COMP__STEPS
} comp__step_id;

/* The fingerprints after a row of the table: of its last step, and of all steps up to it. */
typedef struct comp__done {
  uint64_t alone, all;
} comp__done;

typedef struct comp__job {
  comp_context *context;
  const comp_options *options; /* of the kind "run" */
  comp__run_options o;         /* the same */
  const comp_dataset *given;   /* data in memory; NULL: o.input is read */
  const char *source;          /* what messages and the record call the data */
  bool table;                  /* columns of all kinds, not measurements of genes */
  bool encoded;                /* a table, or the data set that comp prep made of one */
  const char *format;          /* of the input */

  /* The folder. */
  char folder[3072], work[3100];
  int lock;  /* file descriptor; -1: none */
  bool made; /* the folder was not there before */
  json_t *record;
  json_t *findings; /* about the design, before any training */
  json_t *old;      /* record of what is in `work`; NULL: nothing */
  comp_dataset *old_data;
  bool old_data_read;
  bool stopped;     /* the last run did not come to its end, and nothing of it was taken over yet */
  uint64_t request; /* what was asked of the preparation */
  bool saved;       /* data.h5ad holds what was prepared, and what was carried over from the input */
  bool reused;      /* the data set was read from data.h5ad, with the results of the earlier run in it */

  /* The data. */
  char digest[65];
  comp_table *columns; /* of a table, until it is encoded */
  comp_dataset *dataset;
  comp_groups conditions;
  char *keep_known; /* "COL=A,B": leaves out samples without a condition */
  comp_model *model;
  const char *from, *to;                        /* the change that is shown first; NULL: none */
  const char *predicted[COMP__MOST_CONDITIONS]; /* conditions that samples are predicted under */
  size_t n_predicted;
  double layer_bytes;    /* of one prediction, as estimated before the preparation */
  bool told_large;       /* that corrected values are left out */
  const char *reference; /* the condition that others are compared with */
  bool reference_named;  /* chosen because its name is that of a control */
  int clips;             /* whether values below 0 become 0: 1 or -1; 0: not looked at yet */
  size_t k;
  size_t data_changed; /* matrices that data.h5ad does not hold yet */

  /* The steps so far. */
  uint64_t fingerprint; /* of the last one */
  uint64_t all;
  comp__done done[COMP__STEPS];
} comp__job;

/* ---- line.c: command lines ---- */

/* The words of a command line in the making: as it is shown, and what of it decides on the result. Zero-initialise to
 * start. */
typedef struct comp__words {
  FILE *shown, *key;
  char *shown_text, *key_text; /* after comp__words_end() */
  size_t shown_size, key_size;
  bool lost; /* there was too little memory for a word */
} comp__words;

/* Adds words, quoted as a shell takes them; `value` may be NULL for a flag. What does not decide on the result (the
 * path of a file) is only shown. */
void comp__words_add(comp__words *words, const char *option, const char *value);
void comp__words_show(comp__words *words, const char *option, const char *value);

/* Every option that is set is shown; the canonical text of all of them decides on the result. */
comp_status comp__words_add_options(comp__words *words, const comp_options *options);

/* Words without a dash, such as the name of a command. */
void comp__words_start(comp__words *words, const char *command);

/* Once, after the last word: the texts are complete. An error when there was too little memory. */
comp_status comp__words_end(comp__words *words);
void comp__words_release(comp__words *words);

/* ---- step.c, steps.c: steps ---- */

typedef struct comp__step comp__step;

/* One step that is about to be done. */
typedef struct comp__plan {
  const comp__step *step;
  size_t i; /* of step->count() */
  char id[COMP_LAYER_NAME_SIZE];
  char command[64];
  char outputs[2][COMP_LAYER_NAME_SIZE + 16]; /* "obsm/X_comp", "layers/corrected", "scores.json" */
  size_t n_outputs;
  comp_options *options; /* NULL: none */
  comp__words words;     /* of the command line, besides files and options */
  comp__words line;      /* all of it */
  double started;
} comp__plan;

struct comp__step {
  const char *id, *command, *output; /* NULL: name() gives them */
  /* The files of the command line in their order, "-i data.h5ad ... -o @": words and options go in place of "...", the
   * first output in place of "@". "?FILE" is left out, with the option before it, unless this run made the file. */
  const char *files;
  comp__step_id after; /* what it depends on: that step, or all steps up to it */
  bool after_all;
  /* How often it is done, by the options and the conditions. NULL: once. */
  size_t (*count)(comp__job *job);
  /* Fills id, command and outputs of the step number plan->i. NULL: they are those of the row. */
  void (*name)(comp__plan *plan, const comp__job *job);
  /* Sets options and words. NULL: there are none. */
  comp_status (*plan)(comp__plan *plan, comp__job *job);
  /* Tries to take over an earlier result where the fingerprint is not known before the work. NULL: by fingerprint. */
  comp_status (*take)(bool *out, comp__job *job);
  comp_status (*run)(comp__job *job, const comp__plan *plan);
  /* In place of run, when the outputs are there already; *out false: they are of no use after all. NULL: nothing. */
  comp_status (*found)(bool *out, comp__job *job);
  /* After the last step of the row. NULL: nothing. */
  comp_status (*finish)(comp__job *job);
};

extern const comp__step comp__steps[COMP__STEPS];

/* All steps in their order. */
comp_status comp__steps_run(comp__job *job);

/* Whether this run makes such a matrix ("obsm/X_comp"), by its options. */
bool comp__steps_make(comp__job *job, const char *output);

/* Whether a record lists everything that this run makes: one of an earlier version, or of a machine without a module,
 * may not. */
bool comp__steps_are_recorded(comp__job *job, json_t *record);

/* Whether an output is a matrix of the data set; else it is a file. */
bool comp__output_is_matrix(const char *output, comp_slot *slot, const char **name);

/* ---- folder.c: the folder and its record ---- */

/* Whether the options name a folder that can be used; fills job->folder and job->work. */
comp_status comp__folder_check(comp__job *job);

/* Makes the folder and takes it for this run; reads the record of an earlier one. */
comp_status comp__folder_open(comp__job *job);

/* Whether the whole run is there already. `identity` says what run it is. */
bool comp__folder_is_complete(comp__job *job, uint64_t identity);

/* Puts what is done so far into the record of `work`. */
comp_status comp__folder_save(comp__job *job, bool finished);

/* Everything takes its place in DIR. */
comp_status comp__folder_publish(comp__job *job);

void comp__folder_close(comp__job *job);

/* The path of a file in a folder. */
typedef struct comp__path {
  char text[4096];
} comp__path;

comp__path comp__path_in(const char *folder, const char *name);
comp__path comp__path_at_work(const comp__job *job, const char *name);

/* Before the first step that is taken over from a run that was stopped, says so. */
void comp__tell_stopped(comp__job *job);

/* Whether the bytes of a file are those that the record lists, or data.h5ad was not touched since. */
bool comp__file_is_intact(const char *folder, json_t *record, const char *name);
bool comp__file_is_untouched(const char *folder, json_t *record, const char *name);

/* Whether a step of a record made that output. */
bool comp__record_lists(json_t *record, const char *output);

/* Whether a step of this run made a file, which is there. */
bool comp__run_made(const comp__job *job, const char *name);

/* ---- content.c: fingerprints ---- */

/* The program, the part that results depend on: its version and a digest of the sources of the library (sources.py), so
 * that another build of the same version repeats its steps. */
extern const char comp__program[];
extern const char comp__program_sources[];

/* Mixes a text (NULL is one, too) into a fingerprint, as comp__mix() does bytes. */
uint64_t comp__mix_text(uint64_t seed, const char *text);

/* 16 digits. */
typedef struct comp__hex {
  char text[20];
} comp__hex;

comp__hex comp__hex_of(uint64_t value);

/* Whether an object has that fingerprint under a name. */
bool comp__is_digest(json_t *object, const char *name, uint64_t value);

/* Of X, the tables of samples and features, and the record; of one matrix. */
uint64_t comp__content_prepared(const comp_dataset *dataset);
uint64_t comp__content_matrix(const comp_matrix *matrix);

/* An object: "prepared", and every matrix of obsm and layers as "obsm/NAME". NULL: out of memory. */
json_t *comp__content_list(const comp_dataset *dataset);

/* All that a data set holds, as 64 hexadecimal digits. */
void comp__content_sha256(char out[65], const comp_dataset *dataset);

/* ---- look.c: before any work ---- */

/* Checks columns and levels, and finds out what the data is. */
comp_status comp__check_data(comp__job *job);

/* Checks the columns of the samples: condition, label, target, the change that is shown. */
comp_status comp__check_obs(comp__job *job, const comp_table *obs);

/* Puts the name of the data before the message of an error in its content. */
comp_status comp__error_in_data(const comp__job *job, comp_status status);

/* Whether a dense layer takes so much that only what the report needs is made, and nobody asked for all. */
bool comp__layer_is_large(const comp__job *job);

/* Whether samples are predicted under a condition. */
bool comp__is_predicted(const comp__job *job, const char *condition);

/* ---- prepare.c ---- */

comp_status comp__prepare_plan(comp__plan *plan, comp__job *job);
comp_status comp__prepare_take(bool *out, comp__job *job);
comp_status comp__prepare(comp__job *job, const comp__plan *plan);
comp_status comp__prepare_finish(comp__job *job);

/* The data set as it is, to data.h5ad. */
comp_status comp__save_data(comp__job *job);

/* data.h5ad of the earlier run, without X; NULL when it cannot be used. */
comp_dataset *comp__old_data(comp__job *job);

/* ---- fit.c: the model, embeddings, predictions ---- */

comp_status comp__train_plan(comp__plan *plan, comp__job *job);
comp_status comp__train_step(comp__job *job, const comp__plan *plan);
comp_status comp__train_found(bool *out, comp__job *job);
comp_status comp__train_finish(comp__job *job);
comp_status comp__pca_plan(comp__plan *plan, comp__job *job);
comp_status comp__pca_step(comp__job *job, const comp__plan *plan);
comp_status comp__embed_step(comp__job *job, const comp__plan *plan);
size_t comp__map_count(comp__job *job);
comp_status comp__map_plan(comp__plan *plan, comp__job *job);
comp_status comp__map_step(comp__job *job, const comp__plan *plan);
size_t comp__compare_count(comp__job *job);

/* Method number i of the option `compare`. */
const comp_baseline_method *comp__compare_method(const comp__job *job, size_t i);
void comp__compare_name(comp__plan *plan, const comp__job *job);
comp_status comp__compare_plan(comp__plan *plan, comp__job *job);
comp_status comp__compare_step(comp__job *job, const comp__plan *plan);
size_t comp__predict_count(comp__job *job);
void comp__predict_name(comp__plan *plan, const comp__job *job);
comp_status comp__predict_plan(comp__plan *plan, comp__job *job);
comp_status comp__predict_step(comp__job *job, const comp__plan *plan);
size_t comp__correct_count(comp__job *job);
comp_status comp__correct_plan(comp__plan *plan, comp__job *job);

/* Whether the model is trained to predict the target. */
bool comp__job_aims(const comp__job *job);

/* After the last matrix: data.h5ad; afterwards the data set is what a reader of it gets. */
comp_status comp__write_data(comp__job *job);

/* ---- measure.c ---- */

/* Whether samples are kept out of training, to measure on: those that are true in the column COMP__UNSEEN of obs. */
bool comp__job_holds(const comp__job *job);

/* Marks them. */
comp_status comp__hold_samples(comp__job *job);
size_t comp__audit_count(comp__job *job);
comp_status comp__audit_plan(comp__plan *plan, comp__job *job);
comp_status comp__audit_step(comp__job *job, const comp__plan *plan);

comp_status comp__score_plan(comp__plan *plan, comp__job *job);
comp_status comp__score_step(comp__job *job, const comp__plan *plan);
size_t comp__diagnose_count(comp__job *job);
comp_status comp__diagnose_plan(comp__plan *plan, comp__job *job);
comp_status comp__diagnose_step(comp__job *job, const comp__plan *plan);
comp_status comp__diagnose_finish(comp__job *job);

/* ---- draw.c: figures and the page ---- */

size_t comp__figure_map_count(comp__job *job);
size_t comp__figure_count(comp__job *job);
size_t comp__figure_change_count(comp__job *job);
void comp__figure_name(comp__plan *plan, const comp__job *job);
comp_status comp__figure_map_plan(comp__plan *plan, comp__job *job);
comp_status comp__figure_change_plan(comp__plan *plan, comp__job *job);
comp_status comp__figure_step(comp__job *job, const comp__plan *plan);
comp_status comp__page_plan(comp__plan *plan, comp__job *job);
comp_status comp__page_step(comp__job *job, const comp__plan *plan);

/* Whether a module is there; says what its absence means if not. A module that is loaded once stays loaded. */
comp_status comp__find_module(bool *found, comp__job *job, const char *name, const char *without);

#endif
