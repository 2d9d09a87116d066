/*
 * scores.h: files of scores, read with tolerance (docs/formats.md).
 *
 * A file is what comp score --json writes, or simpler: a JSON list of objects, or an object that holds such a list as
 * "scores". An object has "name" and "value" (a number, or null where it could not be computed), and may have "label",
 * "embedding", "method", "better" ("lower", "higher", "zero"), "summary", "error", "note". An object of numbers by name
 * will do too.
 */
#ifndef COMP_VERDICT_SCORES_H
#define COMP_VERDICT_SCORES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "comp/metrics.h"
#include "metrics/interval.h"

/* A score as a file has it. */
typedef struct comp__read_score {
  char *name;
  char *label;     /* NULL: of all samples */
  char *embedding; /* NULL: not said */
  char *method;    /* never NULL: else the embedding, else the file's name */
  char *summary;   /* never NULL */
  char *note;      /* NULL: none */
  char *change;    /* NULL; else a change of condition that was predicted, which the score is of: "a \u2192 b" */
  comp_better better;
  double value;     /* NaN: none */
  double error;     /* standard error; NaN: not known */
  double low, high; /* 95 % interval; NaN: not known */
  double chance;    /* what perfect mixing has; NaN: not known */
  bool classified;  /* a classifier's accuracy: also in comp__scores.predict */
} comp__read_score;

/* Zero-initialise to start. */
typedef struct comp__scores {
  comp__read_score *items;
  size_t count, capacity;
  bool protect;               /* the condition is to be hidden */
  bool audited;               /* an audit judges that, and not the classifiers of the scores */
  size_t scored, drawn_from;  /* embeddings were scored on so many samples of so many; 0: on all */
  json_t *predict, *fairness; /* lists of what comp score --json has under these names; NULL: nothing */
} comp__scores;

/* Adds the scores of a document; `path` names it in messages. */
comp_status comp__scores_add(comp__scores *scores, json_t *root, const char *path);

/* The error of a file without any score. */
comp_status comp__scores_missing(const char *path);

/* Adds the scores of a file. A message names the file and what was expected. */
comp_status comp__scores_read(comp__scores *scores, const char *path);

/* Reads a file of JSON; `flags` are those of json_load_file(). The caller owns *out, which is NULL when it fails. */
comp_status comp__json_read(json_t **out, const char *path, size_t flags);

void comp__scores_release(comp__scores *scores);

/* The value of a metric over all samples, by the name in its row ("m_kbet"), for an embedding (NULL: any), the last in
 * the list; NaN when there is none. */
double comp__scores_find(const comp__scores *scores, const char *metric, const char *embedding);

/* The 95 % interval of the same; NaN: not known. */
comp__interval comp__scores_interval(const comp__scores *scores, const char *metric, const char *embedding);

/* What perfect mixing has in it; NaN: not known. */
double comp__scores_chance(const comp__scores *scores, const char *metric, const char *embedding);

/* The value of one label. */
double comp__scores_find_label(const comp__scores *scores, const char *metric, const char *embedding,
                               const char *label);

/* Whether a score is of the metric of that name. */
int comp__score_is(const comp__read_score *score, const char *metric);

/* What people call a metric of comp score; its own name where nothing better is known. `brief`: for a narrow place, and
 * without saying what features are called. */
const char *comp__score_title(const char *name, bool brief);

#endif
