/* members.h: some thousand samples that stand for all, where pairs of samples are compared before and while a model is
 * trained. */
#ifndef COMP_TRAIN_MEMBERS_H
#define COMP_TRAIN_MEMBERS_H

#include "comp/table.h"
#include "model/trained.h"
#include "neighbors/members.h"
#include "train/loader.h"

typedef struct comp__members {
  size_t samples, n, conditions, features;
  size_t *member;   /* [n] samples, sorted by condition */
  size_t *start;    /* [conditions + 1] into the members */
  int32_t *follows; /* [samples] the place of a sample among the members; -1: it is none */
  comp_matrix *x;   /* [n, features], as the data has them */
  size_t *rows;     /* [n] 0, 1, ... */
  size_t *cut;      /* [conditions + 1] scratch */
  comp__gather gather;
} comp__members;

/* Chooses and reads them; X is in memory, or in a stream. It should be released via comp__members_release(). */
comp_status comp__members_take(comp__members *out, comp_context *context, const comp_model *model, const comp_matrix *x,
                               comp__stream *stream, const comp_groups *groups);
void comp__members_release(comp__members *members);

comp__crowd comp__members_crowd(const comp_groups *groups);

/* Some rows of x as the encoder reads them, dense: out [n, features]. */
comp_status comp__members_read(float *out, comp_context *context, comp__members *members, const comp_matrix *x,
                               const size_t *rows, size_t n);

/* All members as the encoder reads them: out [members->n, features]. */
comp_status comp__members_dense(float *out, comp_context *context, comp__members *members);

#endif
