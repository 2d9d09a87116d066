/*
 * moves.h: small moves in z of conditions that were added to a trained model.
 *
 * The encoder has one free vector for a new condition. What it cannot remove: a difference that varies from population
 * to population, and that samples which a network was trained on lie further apart than new ones. So a level that was
 * added may have anchors, in one or more rounds: places p_a in z, moves m_a and factors f_a. In each round a posterior
 * mean of this level becomes
 *
 *   z + sum_a w_a (m_a + f_a * z) / sum_a w_a,    w_a = exp(-|z - p_a|^2 / (2 h_a^2))
 *
 * Levels without anchors, such as all that the model was trained with, stay as they are, to the byte.
 */
#ifndef COMP_MODEL_MOVES_H
#define COMP_MODEL_MOVES_H

#include "model/trained.h"

/* Where an anchor has its numbers: its level, its round from 0 on, h_a, and from PLACE on p_a, m_a, f_a [latent] each.
 */
enum { COMP__ANCHOR_LEVEL, COMP__ANCHOR_ROUND, COMP__ANCHOR_WIDTH, COMP__ANCHOR_PLACE };

/* How many numbers an anchor has. Anchors of a level are sorted by round. */
size_t comp__anchor_size(const comp_model *model);

/* Adds n anchors, rows of that many numbers. */
comp_status comp__moves_add(comp_model *model, const float *anchors, size_t n);

/* Moves z [n, latent], samples of one level. */
void comp__moves_apply(const comp_model *model, size_t level, float *z, size_t n);

/* Refuses anchors of levels that were not added, rounds out of order, and widths that are not above 0. */
comp_status comp__moves_check(const comp_model *model);

#endif
