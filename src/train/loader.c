/* loader.c: the split and the order of samples. */
#include "train/loader.h"

#include <string.h>

#include "core/error.h"
#include "core/rng.h"

/* A set of samples: block k of `rows` holds those of condition k. */
typedef struct sample_set {
  size_t *rows;
  size_t *start; /* [conditions + 1] */
  size_t batches;
} sample_set;

struct comp__loader {
  comp__loader_options options;
  sample_set training, validation;
  size_t *order;       /* [training samples]: rows in this epoch's order, block by block */
  size_t *batch_rows;  /* [largest batch] */
  size_t *batch_start; /* [conditions + 1] */
  size_t largest;
  comp__gather gather;
};

/* No condition gives fewer samples to a batch than this, if it has them at all. */
enum { LEAST_OF_CONDITION = 2 };

static size_t set_size(const comp__loader *l, const sample_set *set) {
  return set->start[l->options.conditions];
}

static size_t block_size(const sample_set *set, size_t k) {
  return set->start[k + 1] - set->start[k];
}

static comp_status new_set(sample_set *set, size_t rows, size_t conditions) {
  comp_status status = comp__alloc(&set->rows, rows, sizeof *set->rows);
  if (status == COMP_OK) status = comp__calloc(&set->start, conditions + 1, sizeof *set->start);
  return status;
}

/* Holds out a share of each condition, drawn by the seed; a condition of one or two samples keeps them all. */
static comp_status split(comp__loader *l) {
  const comp__loader_options *o = &l->options;
  size_t samples = comp_matrix_rows(o->x), *members = NULL, *order = NULL;
  comp_status status;
  COMP__TRY(new_set(&l->training, samples, o->conditions));
  COMP__TRY(new_set(&l->validation, samples, o->conditions));
  COMP__TRY(comp__alloc(&members, samples, sizeof *members));
  COMP__TRY(comp__alloc(&order, samples, sizeof *order));
  for (size_t k = 0; k < o->conditions; k++) {
    size_t n = 0;
    for (size_t i = 0; i < samples; i++)
      if (o->codes[i] == (int32_t)k) members[n++] = i;
    comp__rng_permutation(order, n, comp__rng_at(o->seed, COMP__RNG_SPLIT, 0, k));
    size_t held = n > 2 ? (size_t)((double)n * o->validation + 0.5) : 0;
    size_t train_at = l->training.start[k], held_at = l->validation.start[k];
    for (size_t i = 0; i < n; i++) {
      if (i < held)
        l->validation.rows[held_at++] = members[order[i]];
      else
        l->training.rows[train_at++] = members[order[i]];
    }
    l->training.start[k + 1] = train_at;
    l->validation.start[k + 1] = held_at;
  }
done:
  comp__free(members);
  comp__free(order);
  return status;
}

static size_t pieces(size_t n, size_t size) {
  return n == 0 ? 0 : (n - 1) / size + 1;
}

/* The samples of condition k in batch b: piece b of its block, or, when that is too little, the next ones from a start
 * of its own. */
static size_t piece_of(const sample_set *set, size_t k, size_t b, size_t *first) {
  size_t n = block_size(set, k), begin = b * n / set->batches, end = (b + 1) * n / set->batches;
  size_t least = n < LEAST_OF_CONDITION ? n : LEAST_OF_CONDITION;
  *first = begin;
  return end - begin > least ? end - begin : least;
}

static size_t batch_size(const comp__loader *l, const sample_set *set, size_t b) {
  size_t total = 0, first;
  for (size_t k = 0; k < l->options.conditions; k++) total += piece_of(set, k, b, &first);
  return total;
}

static void find_largest(comp__loader *l, const sample_set *set) {
  for (size_t b = 0; b < set->batches; b++) {
    size_t size = batch_size(l, set, b);
    if (size > l->largest) l->largest = size;
  }
}

comp_status comp__loader_new(comp__loader **out, comp_context *context, const comp__loader_options *options) {
  (void)context;
  *out = NULL;
  comp__loader *l;
  comp_status status = comp__calloc(&l, 1, sizeof *l);
  if (status != COMP_OK) return status;
  l->options = *options;
  l->gather.counts = options->counts;
  l->gather.library_target = options->library_target;
  COMP__TRY(split(l));
  l->training.batches = pieces(set_size(l, &l->training), options->batch);
  l->validation.batches = pieces(set_size(l, &l->validation), options->batch);
  find_largest(l, &l->training);
  find_largest(l, &l->validation);
  COMP__TRY(comp__alloc(&l->order, set_size(l, &l->training), sizeof *l->order));
  COMP__TRY(comp__alloc(&l->batch_rows, l->largest, sizeof *l->batch_rows));
  COMP__TRY(comp__alloc(&l->batch_start, options->conditions + 1, sizeof *l->batch_start));
  comp__loader_begin_epoch(l, 0);
  *out = l;
done:
  if (status != COMP_OK) comp__loader_free(l);
  return status;
}

void comp__loader_free(comp__loader *l) {
  if (!l) return;
  comp__free(l->training.rows);
  comp__free(l->training.start);
  comp__free(l->validation.rows);
  comp__free(l->validation.start);
  comp__free(l->order);
  comp__free(l->batch_rows);
  comp__free(l->batch_start);
  comp__gather_release(&l->gather);
  comp__free(l);
}

size_t comp__loader_batches(const comp__loader *l) {
  return l->training.batches;
}
size_t comp__loader_validation_batches(const comp__loader *l) {
  return l->validation.batches;
}
size_t comp__loader_training_samples(const comp__loader *l) {
  return set_size(l, &l->training);
}
size_t comp__loader_largest_batch(const comp__loader *l) {
  return l->largest;
}

void comp__loader_begin_epoch(comp__loader *l, uint64_t epoch) {
  for (size_t k = 0; k < l->options.conditions; k++) {
    size_t n = block_size(&l->training, k), *order = l->order + l->training.start[k];
    comp__rng_permutation(order, n, comp__rng_at(l->options.seed, COMP__RNG_SHUFFLE, epoch, k));
    for (size_t i = 0; i < n; i++) order[i] = l->training.rows[l->training.start[k] + order[i]];
  }
}

static comp_status make_batch(comp__batch *out, comp_context *context, comp__loader *l, const sample_set *set,
                              const size_t *order, size_t index, bool training) {
  size_t at = 0;
  for (size_t k = 0; k < l->options.conditions; k++) {
    size_t member, n = block_size(set, k), count = piece_of(set, k, index, &member);
    l->batch_start[k] = at;
    for (size_t i = 0; i < count; i++) {
      l->batch_rows[at++] = order[set->start[k] + member];
      if (++member == n) member = 0;
    }
  }
  l->batch_start[l->options.conditions] = at;
  return comp__gather_rows(out, context, &l->gather, l->options.x, l->batch_rows, at, l->batch_start, training);
}

comp_status comp__loader_batch(comp__batch *out, comp_context *context, comp__loader *l, size_t index) {
  return make_batch(out, context, l, &l->training, l->order, index, true);
}

comp_status comp__loader_validation_batch(comp__batch *out, comp_context *context, comp__loader *l, size_t index) {
  return make_batch(out, context, l, &l->validation, l->validation.rows, index, false);
}
