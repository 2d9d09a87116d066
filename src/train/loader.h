/*
 * loader.h: which samples are trained on, in which order, and the batches made of them.
 *
 * Every batch holds every condition in its share of the data: each condition's samples are shuffled apart and cut into
 * as many equal pieces as there are batches. A condition with too few samples for that lends some of them to several
 * batches. All batches have nearly the same size: there is no small one at the end. Order and split are pure functions
 * of the seed and the epoch, so any batch can be made at any time.
 */
#ifndef COMP_TRAIN_LOADER_H
#define COMP_TRAIN_LOADER_H

#include "comp/dataset.h"
#include "model/network.h"
#include "train/stream.h"

typedef struct comp__loader comp__loader;

typedef struct comp__loader_options {
  const comp_matrix *x; /* all data in memory, or NULL and a stream */
  comp__stream *stream;
  size_t samples;
  const int32_t *codes; /* [samples] condition of each; -1 leaves a sample out */
  size_t conditions;
  const int32_t *target; /* [samples] class of each, -1: not known; NULL: there is no target */
  uint64_t seed;
  size_t batch;      /* samples a batch, at most (about) */
  double validation; /* share held out */
  bool counts;       /* inputs are log1p of counts scaled to library_target */
  float library_target;
} comp__loader_options;

/* It should be freed via comp__loader_free(). What the options point to must outlive it. */
comp_status comp__loader_new(comp__loader **out, comp_context *context, const comp__loader_options *options);
void comp__loader_free(comp__loader *loader);

size_t comp__loader_batches(const comp__loader *loader);            /* a training epoch */
size_t comp__loader_validation_batches(const comp__loader *loader); /* 0: nothing is held out */
size_t comp__loader_training_samples(const comp__loader *loader);
size_t comp__loader_largest_batch(const comp__loader *loader);

/* Shuffles for an epoch. */
void comp__loader_begin_epoch(comp__loader *loader, uint64_t epoch);

/* Makes batch `index` of the current epoch, or of the validation samples. Valid until the next call. */
comp_status comp__loader_batch(comp__batch *out, comp_context *context, comp__loader *loader, size_t index);
comp_status comp__loader_validation_batch(comp__batch *out, comp_context *context, comp__loader *loader, size_t index);

/* Cuts batches into `total` shards of neighbouring rows, of which `count` from `first` on are wanted here. */
comp_status comp__loader_cut(comp__loader *loader, size_t total, size_t first, size_t count);

/* Makes training batch `index` in shards: *all has rows, start and ids of the whole batch, and no data; *out [count]
 * are the wanted shards. Valid until the next call. */
comp_status comp__loader_shards(comp__batch *all, const comp__batch **out, comp_context *context, comp__loader *loader,
                                size_t index);

/*
 * The gathering alone, for use on other data: rows of x, in blocks by condition, as a batch. Of dense data the batch is
 * a view: x and `rows` must stay.
 */
typedef struct comp__gather {
  comp_matrix *x, *input, *input_t; /* input and input_t are x's own when they need not differ */
  size_t *fill;                     /* scratch [features] */
  uint64_t *ids;
  float *library;
  size_t capacity, nnz_capacity, transposed_capacity;
  bool counts;
  float library_target;
} comp__gather;

/* Zero-initialise to start. `rows` [n] are sorted by condition as `start` says; `transpose` for training. */
comp_status comp__gather_rows(comp__batch *out, comp_context *context, comp__gather *gather, const comp_matrix *x,
                              const size_t *rows, size_t n, const size_t *start, bool transpose);
void comp__gather_release(comp__gather *gather);

/* The counts of a sample as the encoder reads them: log(1 + count scaled to the common total `target`). Gives the
 * sample's own total, at least 1. */
float comp__scale_counts(float *out, const float *in, size_t n, float target);

#endif
