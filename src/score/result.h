/* result.h: what was measured, on its way to JSON. */
#ifndef COMP_SCORE_RESULT_H
#define COMP_SCORE_RESULT_H

#include "score/predictions.h"

struct comp_scores {
  comp_score *embeddings; /* NULL: not asked for */
  size_t drawn_from;      /* samples of the data, where embeddings were scored on fewer; 0: on all */
  comp__predictions predictions;
  comp_counterfactual_score **changes; /* [n_changes]; NULL: could not be scored */
  size_t n_changes;
  char *audit; /* the document of an audit; NULL: none. Of jansson: should be freed via free() */
  char *json;
};

/* Reads what comp audit --json wrote. *out should be freed via free(). */
comp_status comp__scores_read_audit(char **out, const char *path);

/* Writes the document, with what the numbers mean in it, to scores->json. */
comp_status comp__scores_write(comp_scores *scores, const comp_dataset *dataset, const comp__scores_options *options);

#endif
