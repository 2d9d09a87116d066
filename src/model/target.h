/*
 * target.h: the cross-entropy of a target that z is to predict, as in semi-supervised autoencoders (VFAE). With logits
 * o_i = z_i V + v and y_i the class of sample i, a step's loss has
 *
 *   T = 1/B sum over samples with a class of -log softmax(o_i)[y_i]
 *
 * Samples whose class is not known count 0.
 */
#ifndef COMP_MODEL_TARGET_H
#define COMP_MODEL_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* -log softmax(logits)[label] in nats, 0 where label is -1; logits [classes] become probabilities. */
double comp__target_forward(float *logits, int32_t label, size_t classes);

/* Probabilities [classes] become the gradient of weight x the loss by the logits; zeros where label is -1. */
void comp__target_backward(float *probabilities, int32_t label, size_t classes, float weight);

#endif
