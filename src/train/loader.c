/* loader.c: the split and the order of samples. */
#include "train/loader.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "model/shards.h"

/* A set of samples: block k of `rows` holds those of condition k. */
typedef struct sample_set {
  size_t *rows;
  size_t *start; /* [conditions + 1] */
  size_t batches;
} sample_set;

struct comp__loader {
  comp__loader_options options;
  uint8_t *held;       /* [samples]: 1 when held out */
  sample_set training; /* of the current window; rows count within it */
  sample_set validation;
  comp_matrix *validation_x; /* the validation samples of a stream, in memory; else NULL */
  size_t *validation_ids;
  const comp_matrix *x; /* the current window */
  const size_t *ids;    /* its rows in the file; NULL: as they are */
  size_t *places;       /* [largest batch] 0, 1, 2 ..: rows of a batch that came from other ranks; NULL: none do */
  size_t windows, window, batches_a_window, batches;
  uint64_t epoch;
  size_t training_samples;
  size_t *order;       /* rows of the window in the epoch's order, block by block */
  size_t *batch_rows;  /* [largest batch] */
  size_t *batch_start; /* [conditions + 1] */
  int32_t *target;     /* [largest batch] classes of the batch, or of its shards one after the other */
  size_t largest;
  comp__gather gather;
  struct cut {
    size_t total, first, count;
    comp__batch *batch;   /* [count] */
    comp__gather *gather; /* [count] */
    size_t *start;        /* [count, conditions + 1] */
    uint64_t *ids;        /* [largest batch] */
  } cut;
};

/* No condition gives fewer samples to a batch than this, if it has them at all. */
enum { LEAST_OF_CONDITION = 2 };

/* At most this many samples are held out: more would tell no more, and those of a stream stay in memory. */
enum { MOST_HELD = 20000 };

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
  size_t *members = NULL, *order = NULL;
  double share = o->validation;
  if (share * (double)o->samples > MOST_HELD) share = MOST_HELD / (double)o->samples;
  comp_status status;
  COMP__TRY(comp__calloc(&l->held, o->samples, sizeof *l->held));
  COMP__TRY(comp__alloc(&members, o->samples, sizeof *members));
  COMP__TRY(comp__alloc(&order, o->samples, sizeof *order));
  COMP__TRY(new_set(&l->validation, o->samples, o->conditions));
  for (size_t k = 0; k < o->conditions; k++) {
    size_t n = 0, at = l->validation.start[k];
    for (size_t i = 0; i < o->samples; i++)
      if (o->codes[i] == (int32_t)k) members[n++] = i;
    comp__rng_permutation(order, n, comp__rng_at(o->seed, COMP__RNG_SPLIT, 0, k));
    size_t held = n > 2 ? (size_t)((double)n * share + 0.5) : 0;
    for (size_t i = 0; i < held; i++) {
      l->held[members[order[i]]] = 1;
      l->validation.rows[at++] = members[order[i]];
    }
    l->validation.start[k + 1] = at;
    l->training_samples += n - held;
  }
done:
  comp__free(members);
  comp__free(order);
  return status;
}

/* The training samples of the current window, by condition. */
static void list_window(comp__loader *l) {
  const comp__loader_options *o = &l->options;
  size_t at = 0, rows = o->stream ? comp__stream_rows_now(o->stream) : comp_matrix_rows(l->x);
  for (size_t k = 0; k < o->conditions; k++) {
    l->training.start[k] = at;
    for (size_t i = 0; i < rows; i++) {
      size_t id = l->ids ? l->ids[i] : i;
      if (o->codes[id] == (int32_t)k && !l->held[id]) l->training.rows[at++] = i;
    }
  }
  l->training.start[o->conditions] = at;
}

/* Draws the order of the window's samples, condition by condition. */
static void shuffle_window(comp__loader *l) {
  size_t conditions = l->options.conditions;
  for (size_t k = 0; k < conditions; k++) {
    size_t n = block_size(&l->training, k), *order = l->order + l->training.start[k];
    comp__rng_permutation(order, n,
                          comp__rng_at(l->options.seed, COMP__RNG_SHUFFLE, l->epoch, l->window * conditions + k));
    for (size_t i = 0; i < n; i++) order[i] = l->training.rows[l->training.start[k] + order[i]];
  }
}

/* Makes a window the current one. */
static comp_status enter_window(comp__loader *l, comp_context *context, size_t window) {
  l->window = window;
  if (l->options.stream) {
    comp_status status = comp__stream_window(&l->x, &l->ids, context, l->options.stream, l->epoch, window);
    if (status != COMP_OK) return status;
    list_window(l);
  }
  bool last = window == l->windows - 1;
  l->training.batches = last ? l->batches - window * l->batches_a_window : l->batches_a_window;
  shuffle_window(l);
  return COMP_OK;
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

/* How many batches one of several windows gives. Which samples it holds is another matter in each epoch, so they are
 * counted as if each window had its share of those held out. */
static size_t window_batches(const comp__loader *l, size_t window) {
  const double rows = (double)comp__stream_window_rows(l->options.stream, window);
  return pieces((size_t)ceil(rows * (double)l->training_samples / (double)l->options.samples), l->options.batch);
}

/* The largest batch: a piece of a condition has at most its share rounded up, and no fewer than LEAST_OF_CONDITION. */
static size_t largest_batch(const comp__loader *l, size_t last_batches) {
  const comp__loader_options *o = &l->options;
  size_t share = o->batch;
  if (l->windows > 1) { /* a window may happen to hold no sample that was held out */
    const size_t first = pieces(comp__stream_window_rows(o->stream, 0), l->batches_a_window);
    const size_t last = pieces(comp__stream_window_rows(o->stream, l->windows - 1), last_batches);
    if (first > share) share = first;
    if (last > share) share = last;
  }
  const size_t most = (share < o->samples ? share : o->samples) + o->conditions * (1 + LEAST_OF_CONDITION);
  const size_t all = o->samples + o->conditions * LEAST_OF_CONDITION;
  return most < all ? most : all;
}

/* How many batches the windows of an epoch give, which is the same in each epoch, and how large they may be. */
static void count_batches(comp__loader *l) {
  l->windows = l->options.stream ? comp__stream_windows(l->options.stream) : 1;
  if (l->windows == 1) {
    l->batches = l->batches_a_window = pieces(l->training_samples, l->options.batch);
    l->largest = largest_batch(l, l->batches);
    return;
  }
  const size_t last = window_batches(l, l->windows - 1);
  l->batches_a_window = window_batches(l, 0);
  l->batches = (l->windows - 1) * l->batches_a_window + last;
  l->largest = largest_batch(l, last);
}

/* The validation samples of a stream are taken out as it passes. */
typedef struct held_job {
  comp__loader *loader;
  comp_context *context;
  size_t *place; /* [samples]: row of validation_x + 1; 0: not held */
  comp_matrix **rows;
} held_job;

static comp_status take_held(void *arg, const comp_matrix *block, size_t first) {
  held_job *job = arg;
  for (size_t i = 0; i < comp_matrix_rows(block); i++) {
    if (!job->place[first + i]) continue;
    comp_status status = comp_matrix_select(&job->rows[job->place[first + i] - 1], job->context, block, &i, 1, NULL, 0);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status read_validation(comp__loader *l, comp_context *context) {
  size_t n = set_size(l, &l->validation);
  held_job job = {.loader = l, .context = context};
  comp_status status = COMP_OK;
  if (n == 0) return COMP_OK;
  COMP__TRY(comp__calloc(&job.place, l->options.samples, sizeof *job.place));
  COMP__TRY(comp__calloc(&job.rows, n, sizeof(void *)));
  for (size_t i = 0; i < n; i++) job.place[l->validation.rows[i]] = i + 1;
  COMP__TRY(comp__stream_scan(context, l->options.stream, take_held, &job));
  COMP__TRY(comp__matrix_stack(&l->validation_x, job.rows, n));
  COMP__TRY(comp__alloc(&l->validation_ids, n, sizeof *l->validation_ids));
  memcpy(l->validation_ids, l->validation.rows, n * sizeof *l->validation_ids);
  for (size_t i = 0; i < n; i++) l->validation.rows[i] = i;
done:
  for (size_t i = 0; job.rows && i < n; i++) comp_matrix_free(job.rows[i]);
  comp__free(job.rows);
  comp__free(job.place);
  return status;
}

comp_status comp__loader_new(comp__loader **out, comp_context *context, const comp__loader_options *options) {
  *out = NULL;
  comp__loader *l;
  comp_status status = comp__calloc(&l, 1, sizeof *l);
  if (status != COMP_OK) return status;
  l->options = *options;
  l->gather.counts = options->counts;
  l->gather.library_target = options->library_target;
  COMP__TRY(split(l));
  count_batches(l);
  size_t window_rows = options->stream ? comp__stream_window_rows(options->stream, 0) : options->samples;
  COMP__TRY(new_set(&l->training, window_rows, options->conditions));
  COMP__TRY(comp__alloc(&l->order, window_rows, sizeof *l->order));
  if (options->stream) COMP__TRY(read_validation(l, context));
  l->validation.batches = pieces(set_size(l, &l->validation), options->batch);
  COMP__TRY(comp__alloc(&l->batch_rows, l->largest, sizeof *l->batch_rows));
  COMP__TRY(comp__alloc(&l->batch_start, options->conditions + 1, sizeof *l->batch_start));
  if (options->target) COMP__TRY(comp__alloc(&l->target, l->largest, sizeof *l->target));
  if (options->stream && comp__stream_is_shared(options->stream)) {
    COMP__TRY(comp__alloc(&l->places, l->largest, sizeof *l->places));
    for (size_t i = 0; i < l->largest; i++) l->places[i] = i;
  }
  l->x = options->x;
  if (l->x) list_window(l);
  comp__loader_begin_epoch(l, 0);
  *out = l;
done:
  if (status != COMP_OK) comp__loader_free(l);
  return status;
}

void comp__loader_free(comp__loader *l) {
  if (!l) return;
  comp__free(l->held);
  comp__free(l->training.rows);
  comp__free(l->training.start);
  comp__free(l->validation.rows);
  comp__free(l->validation.start);
  comp_matrix_free(l->validation_x);
  comp__free(l->validation_ids);
  comp__free(l->order);
  comp__free(l->batch_rows);
  comp__free(l->batch_start);
  comp__free(l->target);
  comp__free(l->places);
  comp__gather_release(&l->gather);
  for (size_t i = 0; l->cut.gather && i < l->cut.count; i++) comp__gather_release(&l->cut.gather[i]);
  comp__free(l->cut.gather);
  comp__free(l->cut.batch);
  comp__free(l->cut.start);
  comp__free(l->cut.ids);
  comp__free(l);
}

size_t comp__loader_batches(const comp__loader *l) {
  return l->batches;
}

size_t comp__loader_validation_batches(const comp__loader *l) {
  return l->validation.batches;
}

size_t comp__loader_training_samples(const comp__loader *l) {
  return l->training_samples;
}

size_t comp__loader_largest_batch(const comp__loader *l) {
  return l->largest;
}

void comp__loader_begin_epoch(comp__loader *l, uint64_t epoch) {
  l->epoch = epoch;
  l->window = SIZE_MAX; /* none yet */
}

/* Chooses the rows of a batch: batch_rows and batch_start. Gives how many. */
static size_t choose_rows(comp__loader *l, const sample_set *set, const size_t *order, size_t index) {
  size_t at = 0;
  for (size_t k = 0; k < l->options.conditions; k++) {
    size_t member, n = block_size(set, k), count = piece_of(set, k, index, &member);
    l->batch_start[k] = at;
    for (size_t i = 0; i < count; i++) {
      l->batch_rows[at++] = order[set->start[k] + member];
      if (++member == n) member = 0;
    }
  }
  return l->batch_start[l->options.conditions] = at;
}

/* Gives a batch, whose first row is row `first` of the whole, the classes of its samples. */
static void add_target(comp__batch *batch, const comp__loader *l, size_t first) {
  if (!l->target) return;
  for (size_t i = 0; i < batch->rows; i++) l->target[first + i] = l->options.target[batch->ids[i]];
  batch->target = l->target + first;
}

/* The rows that were chosen, n of them, as a batch. x has them at `places`; ids [rows of the window]: what they are in
 * the file. */
static comp_status make_batch(comp__batch *out, comp_context *context, comp__loader *l, const comp_matrix *x,
                              const size_t *places, const size_t *ids, size_t n, bool training) {
  comp_status status = comp__gather_rows(out, context, &l->gather, x, places, n, l->batch_start, training);
  for (size_t i = 0; status == COMP_OK && ids && i < n; i++) l->gather.ids[i] = ids[l->batch_rows[i]];
  if (status == COMP_OK) add_target(out, l, 0);
  return status;
}

/* Makes the window of batch `index` the current one; *index then counts within it. */
static comp_status seek_batch(comp__loader *l, comp_context *context, size_t *index) {
  const size_t window = *index / l->batches_a_window;
  *index -= window * l->batches_a_window;
  return window == l->window ? COMP_OK : enter_window(l, context, window);
}

comp_status comp__loader_batch(comp__batch *out, comp_context *context, comp__loader *l, size_t index) {
  comp_status status = seek_batch(l, context, &index);
  if (status != COMP_OK) return status;
  const size_t n = choose_rows(l, &l->training, l->order, index);
  if (!l->places) return make_batch(out, context, l, l->x, l->batch_rows, l->ids, n, true);
  size_t from[COMP__MOST_RANKS] = {0}, to[COMP__MOST_RANKS];
  const comp_matrix *x;
  for (size_t r = 0; r < COMP__MOST_RANKS; r++) to[r] = n; /* each rank gets all of it */
  status = comp__stream_take(&x, context, l->options.stream, l->batch_rows, from, to);
  return status == COMP_OK ? make_batch(out, context, l, x, l->places, l->ids, n, true) : status;
}

comp_status comp__loader_cut(comp__loader *l, size_t total, size_t first, size_t count) {
  comp_status status;
  struct cut *cut = &l->cut;
  *cut = (struct cut){.total = total, .first = first, .count = count};
  COMP__TRY(comp__calloc(&cut->batch, count, sizeof *cut->batch));
  COMP__TRY(comp__calloc(&cut->gather, count, sizeof *cut->gather));
  COMP__TRY(comp__calloc(&cut->start, count * (l->options.conditions + 1), sizeof *cut->start));
  COMP__TRY(comp__calloc(&cut->ids, l->largest, sizeof *cut->ids));
  for (size_t i = 0; i < count; i++) {
    cut->gather[i].counts = l->options.counts;
    cut->gather[i].library_target = l->options.library_target;
  }
done:
  return status;
}

static size_t between(size_t value, size_t low, size_t high) {
  return value < low ? low : value > high ? high : value;
}

/* Gathers the i-th of the wanted shards: rows of x, at `places`, of which the first is that of row `first` of the
 * batch.
 */
static comp_status make_shard(comp__loader *l, comp_context *context, const comp_matrix *x, const size_t *places,
                              size_t first, size_t rows, size_t i) {
  const size_t conditions = l->options.conditions, s = l->cut.first + i;
  const size_t begin = comp__shard_begin(rows, s, l->cut.total), end = comp__shard_begin(rows, s + 1, l->cut.total);
  size_t *start = l->cut.start + i * (conditions + 1);
  for (size_t k = 0; k <= conditions; k++) start[k] = between(l->batch_start[k], begin, end) - begin;
  comp__gather *gather = &l->cut.gather[i];
  comp_status status =
      comp__gather_rows(&l->cut.batch[i], context, gather, x, places + (begin - first), end - begin, start, true);
  for (size_t r = begin; status == COMP_OK && l->ids && r < end; r++) gather->ids[r - begin] = l->ids[l->batch_rows[r]];
  if (status == COMP_OK) add_target(&l->cut.batch[i], l, begin);
  return status;
}

/* Each rank gets the rows of its shards, which are as many on each: *x. */
static comp_status take_shards(const comp_matrix **x, comp_context *context, comp__loader *l, size_t rows) {
  const size_t ranks = l->cut.total / l->cut.count;
  size_t from[COMP__MOST_RANKS], to[COMP__MOST_RANKS];
  for (size_t r = 0; r < ranks; r++) {
    from[r] = comp__shard_begin(rows, r * l->cut.count, l->cut.total);
    to[r] = comp__shard_begin(rows, (r + 1) * l->cut.count, l->cut.total);
  }
  return comp__stream_take(x, context, l->options.stream, l->batch_rows, from, to);
}

comp_status comp__loader_shards(comp__batch *all, const comp__batch **out, comp_context *context, comp__loader *l,
                                size_t index) {
  comp_status status = seek_batch(l, context, &index);
  if (status != COMP_OK) return status;
  const size_t rows = choose_rows(l, &l->training, l->order, index);
  if (rows < l->cut.total)
    return comp__error(
        COMP_ERR_DATA,
        "a batch of %zu samples cannot be cut into %zu shards: take fewer shards and processes (--shards), "
        "or more samples",
        rows, l->cut.total);
  for (size_t i = 0; i < rows; i++) l->cut.ids[i] = l->ids ? l->ids[l->batch_rows[i]] : l->batch_rows[i];
  *all = (comp__batch){.rows = rows, .start = l->batch_start, .ids = l->cut.ids};
  *out = l->cut.batch;
  const comp_matrix *x = l->x;
  const size_t *places = l->batch_rows;
  size_t first = 0;
  if (l->places) {
    status = take_shards(&x, context, l, rows);
    places = l->places;
    first = comp__shard_begin(rows, l->cut.first, l->cut.total);
  }
  for (size_t i = 0; i < l->cut.count && status == COMP_OK; i++)
    status = make_shard(l, context, x, places, first, rows, i);
  return status;
}

comp_status comp__loader_validation_batch(comp__batch *out, comp_context *context, comp__loader *l, size_t index) {
  const comp_matrix *x = l->validation_x ? l->validation_x : l->options.x;
  const size_t n = choose_rows(l, &l->validation, l->validation.rows, index);
  return make_batch(out, context, l, x, l->batch_rows, l->validation_ids, n, false);
}
