/*
 * shared.h: which samples the penalty aligns: those whose population other conditions have, too.
 *
 * A cell type that one condition lacks has no counterpart: a penalty that aligns all samples would pull it onto another
 * type. So each sample has a weight: 1 where its population is as common in the other conditions, less where it is
 * rarer there, near 0 where it is absent. What the penalty makes of the weights is in docs/maths.md.
 *
 * The ratio is first measured in the data, before training, where conditions are laid on each other (counterparts.h);
 * later in z, as z aligns. The members are measured (members.h); any other sample follows the member of its condition
 * that is nearest.
 */
#ifndef COMP_TRAIN_SHARED_H
#define COMP_TRAIN_SHARED_H

#include "comp/table.h"
#include "model/trained.h"
#include "train/counterparts.h"

typedef struct comp__shared comp__shared;

/* What is measured before training. It should be freed via comp__shared_free(), before the members, which it uses. X
 * is in memory, or in a stream. */
comp_status comp__shared_new(comp__shared **out, comp_context *context, const comp_model *model, comp__members *members,
                             const comp__counterparts *counterparts, const comp_matrix *x, comp__stream *stream,
                             const comp_groups *groups);
void comp__shared_free(comp__shared *shared);

/* Whether the ratios are measured again before this step. */
bool comp__shared_is_due(uint64_t step, uint64_t total);

/* The ratio of a member after the share `done` of the steps: of the data, then that in z where it is larger. With
 * 100,000 samples and more, that in z at last: part of a population that a condition changes much looks alone in the
 * data, would not be aligned, and is nevertheless mixed in z when its neighbours are (docs/experiments.md). */
float comp__shared_ratio(float first, float in_z, double done, size_t samples);

/* Measures in z. `work` is for batches of at most `rows`. */
comp_status comp__shared_measure(comp__shared *shared, comp_context *context, const comp__network *network,
                                 const comp__state *state, comp__work *work, size_t rows, uint64_t step,
                                 uint64_t total);

/* The weights of a batch's samples [rows], until the next call; NULL without memory for them. */
const float *comp__shared_weights(comp__shared *shared, const comp__batch *batch);

/* What a checkpoint must hold: the ratios as they are [*n]. */
float *comp__shared_ratios(size_t *n, comp__shared *shared);

/* The samples that have nearly no counterpart, as a share of condition k. */
double comp__shared_alone(const comp__shared *shared, size_t k);

#endif
