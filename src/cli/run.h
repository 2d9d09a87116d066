/*
 * run.h: the parts of `comp run`: from a data file to a folder with everything in it.
 *
 * cmd_run.c has the options and the order of the steps; run_look.c looks at the data and decides how it is prepared;
 * run_steps.c does the steps; run_folder.c keeps the folder and its record; run_content.c tells whether data.h5ad holds
 * what it held; run_summary.c prints what came out.
 *
 * Work is done in DIR/.unfinished, and what is complete there takes its place in DIR at the end: a run that fails
 * leaves an earlier one as it was, and the same command goes on where it stopped. Every step has a fingerprint: of its
 * options and of the steps that it builds upon. A step whose fingerprint is in the record of the last run is not done
 * again, if what it made is there with the same content. From data.h5ad on, all steps read what commands that are run
 * alone would read: so both give the same bytes.
 *
 * Functions give 0, or an exit code after a message.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/input.h"

typedef struct run_options {
  cli_input input;
  const char *output;
  const char *label, *target, *from, *to, *compare;
  bool protect;
  const char *as; /* "auto", "omics", "table" */
  bool no_hvg;
  comp_options *prep, *tabular, *train;
  int64_t k;
  double alpha;
  bool no_umap, no_correct, no_diagnose, fresh;
  const char *figures; /* "svg", "png", "pdf" */
  /* Of the library's options, those that several steps read. */
  const char *condition, *model, *hvg;
  int64_t seed;
  const char *const *keep;
  size_t n_keep;
} run_options;

/* A command line in the making: what is shown, and what of it decides on the result. */
typedef struct run_line {
  FILE *shown, *key;
  char *shown_text, *key_text;
  size_t shown_size, key_size;
} run_line;

typedef struct run_job {
  cli_session *session;
  comp_context *context;
  run_options own; /* what `options` points to */
  const run_options *options;
  comp_options *read;
  bool table;         /* columns of all kinds, not measurements of genes */
  bool encoded;       /* a table, or the data set that comp prep made of one */
  const char *format; /* of the input */

  /* The folder. */
  char folder[3072], work[3100];
  char paths[4][4096];
  int next_path;
  int lock;  /* file descriptor */
  bool made; /* the folder was not there before */
  json_t *record;
  json_t *old; /* record of what is in `work`; NULL: nothing */
  comp_dataset *old_data;
  bool old_data_read;
  bool stopped;     /* the last run did not come to its end, and nothing of it was taken over yet */
  uint64_t request; /* what was asked of the preparation */
  bool reused;      /* the data set was read from data.h5ad, with the results of the earlier run in it */

  /* The data. */
  char digest[65];
  comp_dataset *dataset;
  comp_groups conditions;
  char *keep_known; /* "COL=A,B": leaves out samples without a condition */
  comp_model *model;
  const char *source, *goal; /* the change that is shown first; NULL: none */
  size_t k;
  char embeddings[512]; /* that are scored, with commas between */
  size_t data_changed;  /* matrices that data.h5ad does not hold yet */

  /* The step at hand. */
  run_line line;
  const char *id;
  uint64_t fingerprint;
  double started;
  json_t *outputs;
  uint64_t prepared, trained; /* fingerprints */
  uint64_t mapped, predicted; /* of all steps up to the maps, up to the predictions */
  uint64_t all;               /* of all steps so far */
  uint64_t measured;          /* of all steps up to the scores */
} run_job;

/* A line on stderr, unless --quiet. */
void run_say(run_job *job, const char *format, ...) COMP_PRINTF(2, 3);

/* ---- cmd_run.c ---- */

/* The options of the command as JSON text, names sorted: all that decide on the result, or with `groups` only those
 * under these headings of help. It should be freed via free(). NULL: out of memory. */
char *run_options_text(const run_job *job, const char *const *groups);

/* ---- run_folder.c ---- */

/* Makes the folder and takes it for this run; reads the record of an earlier one. */
int run_folder_open(run_job *job);

/* Whether the whole run, with these options, is there already. `identity` says what run it is. */
bool run_folder_is_complete(run_job *job, uint64_t identity);

/* Puts what is done so far into the record of `work`. */
int run_folder_save(run_job *job, bool finished);

/* Everything takes its place in DIR. */
int run_folder_publish(run_job *job);

void run_folder_close(run_job *job);

/* The path of a file in the folder at work; it stays valid until the fourth call after. */
const char *run_path(run_job *job, const char *name);

/* The command line of a step: starts "comp NAME"; then its arguments. A path is shown, but does not decide on the
 * result. `value` NULL: nothing is added. */
void run_line_start(run_job *job, const char *id, const char *command);
void run_line_path(run_job *job, const char *option, const char *name);
void run_line_own(run_job *job, const char *option, const char *path); /* a path of the user's */
void run_line_text(run_job *job, const char *option, const char *value);
void run_line_flag(run_job *job, const char *option);
void run_line_number(run_job *job, const char *option, double value); /* NaN: nothing */

/* Every option that is set is shown; the canonical text of all of them decides on the result. */
void run_line_options(run_job *job, const comp_options *options);

/* Ends and shows the command line. Whether the step has to be done: outputs ("obsm/X_comp", "layers/corrected",
 * "scores.json"; up to NULL) of the same step are not there. When they are, matrices are put into the data set. */
bool run_step_needed(run_job *job, uint64_t upstream, const char *const *outputs);

/* The same for a step that is done whatever is there. */
void run_step_begin(run_job *job, uint64_t upstream, const char *const *outputs);

/* The step was done, or found: into the record. */
int run_step_done(run_job *job);

/* The preparation of the data, as an earlier run with the same `request` did it: its step is shown and recorded as it
 * was, and the data is read from data.h5ad. False: it has to be done, also when data.h5ad holds results that this run
 * does not make: they could not be told from the user's own. */
bool run_take_prepared(run_job *job, uint64_t request);

/* Before data.h5ad is written anew: what it holds of steps that may not have to be done again is kept in memory. */
void run_keep_old_data(run_job *job);

/* The fingerprint of a file's bytes; 0 when it cannot be read. */
uint64_t run_file_digest(const char *path);

/* 16 digits. */
void run_hex(char out[20], uint64_t value);

/* Mixes words and numbers into a fingerprint. */
uint64_t run_mix(uint64_t seed, const void *data, size_t size);
uint64_t run_mix_text(uint64_t seed, const char *text);

/* ---- run_content.c ---- */

/* Of X, the tables of samples and features, and the record; of one matrix. */
uint64_t run_content_prepared(const comp_dataset *dataset);
uint64_t run_content_matrix(const comp_matrix *matrix);

/* An object: "prepared", and every matrix of obsm and layers as "obsm/NAME". NULL: out of memory. */
json_t *run_content_list(const comp_dataset *dataset);

/* ---- run_look.c ---- */

/* Checks columns and levels before any work. */
int run_check_data(run_job *job);

/* Reads and prepares the data. */
int run_prepare(run_job *job);

/* ---- run_steps.c ---- */

/* Checks all that can be checked without data. */
int run_check_options(run_job *job);

int run_train(run_job *job);
int run_represent(run_job *job);  /* pca, embed, maps, compared methods */
int run_predict(run_job *job);    /* counterfactuals, correction */
int run_write_data(run_job *job); /* data.h5ad; afterwards the data set is what a reader of it gets */
int run_save_data(run_job *job);  /* the data set as it is, to data.h5ad */
int run_measure(run_job *job);    /* scores.json, diagnose.json */
int run_draw(run_job *job);       /* figures and the page */

/* Whether this run will make such a matrix ("obsm/X_comp"), by its options. */
bool run_makes(run_job *job, const char *output);

/* ---- run_summary.c ---- */

/* What is in scores.json, in a table for people, and where the page is. */
int run_summary(run_job *job);

#endif
