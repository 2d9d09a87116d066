/*
 * anchors.h: anchors between sets of samples (Stuart et al. 2019): pairs of samples of two sets that are mutual nearest
 * neighbours in the space of their canonical vectors, that are near each other in the data as well, with a score of how
 * much their neighbourhoods have in common.
 */
#ifndef COMP_BASELINE_ANCHORS_H
#define COMP_BASELINE_ANCHORS_H

#include "baseline/options.h"

enum {
  COMP__ANCHOR_K = 5,           /* k.anchor: neighbours among which mutual ones are sought */
  COMP__ANCHOR_FILTER = 200,    /* k.filter: neighbours in the data among which the other one must be */
  COMP__ANCHOR_SCORE = 30,      /* k.score: neighbours that are counted for the score */
  COMP__ANCHOR_FEATURES = 200,  /* features of that filter, at most */
  COMP__ANCHOR_COMPONENTS = 30, /* canonical vectors */
};

typedef struct comp__anchor {
  size_t left, right; /* rows of X */
  double score;       /* 0 .. 1 */
} comp__anchor;

typedef struct comp__anchors {
  size_t n, capacity;
  comp__anchor *list;
} comp__anchors;

typedef struct comp__anchor_options {
  size_t components; /* canonical vectors */
  size_t k;          /* k.anchor */
  uint64_t seed;     /* of where the canonical vectors start */
} comp__anchor_options;

/* Some rows of X. */
typedef struct comp__anchor_set {
  const char *name;
  const size_t *rows;
  size_t n;
} comp__anchor_set;

/* How many samples a set must have, at least. */
size_t comp__anchors_fewest(const comp__anchor_options *options);

/* Appends the anchors between two sets of rows of x, by left row, to `out`. When either set has fewer samples than
 * COMP__ANCHOR_FILTER, anchors are not filtered. Sets that have too few samples, or too few features that vary in
 * both, are an error that names them. */
comp_status comp__anchors_add(comp__anchors *out, comp_context *context, const comp_matrix *x,
                              const comp__anchor_set *left, const comp__anchor_set *right,
                              const comp__anchor_options *options);
void comp__anchors_release(comp__anchors *anchors);

/* The anchors between all pairs of values of options->condition, as seurat-cca uses them: pair after pair, those of
 * values 0 1, 0 2, 1 2, 0 3, ... For oracles. They should be released via comp__anchors_release(). */
comp_status comp__seurat_anchors(comp__anchors *out, comp_context *context, const comp_dataset *dataset,
                                 const comp__baseline_options *options);

#endif
