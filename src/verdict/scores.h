/*
 * scores.h: files of scores, read with tolerance (docs/formats.md).
 *
 * A file is what comp score --json writes, or simpler: a JSON list of objects, or an object that holds such a list as
 * "scores" (or "metrics", "results"). An object has "name" and "value" (a number, or null where it could not be
 * computed), and may have "label", "embedding" (or "use"), "method", "better" ("lower", "higher", "zero"), "summary",
 * "error" (or "se"), "note". An object of numbers by name will do too.
 */
#ifndef COMP_VERDICT_SCORES_H
#define COMP_VERDICT_SCORES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

typedef enum comp__better {
  COMP__BETTER_UNKNOWN,
  COMP__BETTER_LOWER,
  COMP__BETTER_HIGHER,
  COMP__BETTER_ZERO
} comp__better;

typedef struct comp__score {
  char *name;
  char *label;     /* NULL: of all samples */
  char *embedding; /* NULL: not said */
  char *method;    /* never NULL: else the embedding, else the file's name */
  char *summary;   /* never NULL */
  char *note;      /* NULL: none */
  char *change;    /* NULL; else a change of condition that was predicted, which the score is of: "a \u2192 b" */
  comp__better better;
  double value;    /* NaN: none */
  double error;    /* standard error; NaN: not known */
  bool classified; /* a classifier's accuracy: also in comp__scores.predict */
} comp__score;

/* Zero-initialise to start. */
typedef struct comp__scores {
  comp__score *items;
  size_t count, capacity;
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

/* The value of a metric over all samples by one of its known names ("kbet", "m_kbet", "silhouette", "m_silhouette",
 * ...) for an embedding (NULL: any), the last in the list; NaN when there is none. */
double comp__scores_find(const comp__scores *scores, const char *metric, const char *embedding);

/* The same of one label. */
double comp__scores_find_label(const comp__scores *scores, const char *metric, const char *embedding,
                               const char *label);

/* Whether a score's name is one of the names of a metric. */
int comp__score_is(const comp__score *score, const char *metric);

/* What people call a metric of comp score; its own name where nothing better is known. `brief`: for a narrow place, and
 * without saying what features are called. */
const char *comp__score_title(const char *name, bool brief);

const char *comp__better_name(comp__better better);

#endif
