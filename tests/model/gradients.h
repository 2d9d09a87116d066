/*
 * gradients.h: the loss of a network and every gradient against the restatement in double precision (reference.h) and
 * its central differences, with dense and with sparse data; the same bytes at any number of threads.
 */
#ifndef TESTS_MODEL_GRADIENTS_H
#define TESTS_MODEL_GRADIENTS_H

#include "model/options.h"

/* A small conditional network with the penalty comp. */
comp__model_options gradient_options(void);

/* Fails where something differs; `what` names the network. */
void check_gradients(const comp__model_options *options, size_t conditions, double blur, const char *what);

/* The same of a batch in `shards` shards at 1, 2 .. ranks: each rank has the same bytes as a single one. `weighted` as
 * below. */
void check_sharded_gradients(const comp__model_options *options, size_t conditions, size_t shards, double blur,
                             bool weighted, const char *what);

/* The same where each sample has a weight of its own in the penalty. */
void check_weighted_gradients(const comp__model_options *options, size_t conditions, const char *what);

#endif
