/* gradients.c: see gradients.h. */
#include "gradients.h"

#include "testing.h"

#include "core/alloc.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "dist/comm_threads.h"
#include "model/shards.h"
#include "reference.h"

enum { ROWS = 23, FEATURES = 9, LATENT = 3, MOST_CONDITIONS = 5 };

typedef struct problem {
  comp__network network;
  comp__state state;
  comp_matrix *x, *x_t;
  comp__batch batch;
  size_t start[MOST_CONDITIONS + 1];
  uint64_t ids[ROWS];
  float library[ROWS], weight[ROWS], eps[ROWS * LATENT];
  int32_t target[ROWS]; /* every fifth sample has no class */
} problem;

comp__model_options gradient_options(void) {
  return (comp__model_options){.latent = LATENT,
                               .hidden = {7, 5},
                               .n_hidden = 2,
                               .encoder_sees_condition = true,
                               .decoder_sees_condition = true,
                               .scale = 0.5,
                               .beta = 0.7,
                               .penalty = COMP_PENALTY_COMP,
                               .include_self = true,
                               .mmd_scale = 2.0};
}

static void make_batch(problem *p, comp_context *context, size_t conditions, bool sparse, bool counts) {
  const size_t classes = p->network.options.classes;
  comp__rng rng = comp__rng_at(3, COMP__RNG_TEST, conditions, counts);
  comp_matrix *dense;
  assert_ok(comp_matrix_new_dense(&dense, ROWS, FEATURES));
  for (size_t i = 0; i < ROWS * FEATURES; i++) {
    double u = comp__rng_uniform(rng, i);
    if (u > 0.4) dense->values[i] = counts ? (float)floor(6.0 * u) : (float)(3.0 * u);
  }
  if (sparse) {
    assert_ok(comp_matrix_to_csr(&p->x, context, dense));
    assert_ok(comp_matrix_transpose(&p->x_t, context, p->x));
    comp_matrix_free(dense);
  } else
    p->x = dense;
  /* Unbalanced blocks; the last condition has two samples. */
  for (size_t k = 0; k <= conditions; k++) p->start[k] = k == conditions ? ROWS : k * (ROWS - 2) / (conditions - 1);
  for (size_t i = 0; i < ROWS; i++) {
    p->ids[i] = i * 17 + 5;
    p->library[i] = 20.0f + (float)i;
    p->weight[i] = (float)comp__rng_uniform(rng, 1000 + i);
    p->target[i] = i % 5 == 3 ? -1 : (int32_t)(comp__rng_uniform(rng, 2000 + i) * (double)classes);
    comp__rng_fill_normal(p->eps + i * LATENT, LATENT, comp__rng_at(9, COMP__RNG_LATENT, 4, p->ids[i]), 0);
  }
  p->batch = (comp__batch){.rows = ROWS,
                           .x = p->x,
                           .input = p->x,
                           .input_t = p->x_t,
                           .start = p->start,
                           .ids = p->ids,
                           .library = p->library,
                           .target = classes > 0 ? p->target : NULL};
}

static void setup(problem *p, comp_context *context, const comp__model_options *options, size_t conditions,
                  bool sparse) {
  memset(p, 0, sizeof *p);
  assert_ok(comp__network_init(&p->network, options, FEATURES, conditions));
  size_t n = p->network.params.size;
  assert_ok(comp__calloc(&p->state.params, n, sizeof(float)));
  assert_ok(comp__calloc(&p->state.grads, n, sizeof(float)));
  assert_ok(comp__calloc(&p->state.buffers, p->network.buffers.size, sizeof(float)));
  comp__layout_initialise(&p->network.params, p->state.params, 11);
  comp__layout_initialise(&p->network.buffers, p->state.buffers, 11);
  /* Away from the special values 0 and 1 that norms and dispersions start with. */
  for (size_t i = 0; i < n; i++)
    p->state.params[i] += 0.1f * (float)comp__rng_normal(comp__rng_at(1, COMP__RNG_TEST, 0, 0), i);
  for (size_t i = 0; options->centred && i < conditions * FEATURES; i++)
    p->state.buffers[p->network.centre + i] = (float)comp__rng_normal(comp__rng_at(2, COMP__RNG_TEST, 0, 0), i);
  make_batch(p, context, conditions, sparse, p->network.likelihood->counts);
}

static void teardown(problem *p) {
  comp__network_release(&p->network);
  comp__free(p->state.params);
  comp__free(p->state.grads);
  comp__free(p->state.buffers);
  comp_matrix_free(p->x);
  comp_matrix_free(p->x_t);
}

static double step_loss(problem *p, comp_context *context, comp__pull pull) {
  comp__work *work;
  comp__losses losses;
  assert_ok(comp__work_new(&work, &p->network, ROWS, false, true));
  assert_ok(comp__network_step(&losses, context, &p->network, &p->state, &p->batch, work, pull, 9, 4));
  comp__work_free(work);
  return losses.total;
}

/* Every parameter: |gradient - difference| <= 1e-4 max(1, |difference|) of the tensor's largest. */
static void compare_gradients(problem *p, comp__pull pull, const char *what) {
  size_t n = p->network.params.size;
  double *params = malloc(n * sizeof *params);
  for (size_t i = 0; i < n; i++) params[i] = p->state.params[i];
  reference_loss(&p->network, params, p->state.buffers, &p->batch, p->eps, pull);
  reference_fixed_limit = reference_last_limit;
  for (size_t t = 0; t < p->network.params.count; t++) {
    const comp__tensor *tensor = &p->network.params.tensors[t];
    double worst = 0, largest = 1e-3;
    for (size_t k = 0; k < tensor->rows * tensor->cols; k++) {
      size_t i = tensor->offset + k;
      const double h = 1e-5, kept = params[i];
      params[i] = kept + h;
      double up = reference_loss(&p->network, params, p->state.buffers, &p->batch, p->eps, pull);
      params[i] = kept - h;
      double down = reference_loss(&p->network, params, p->state.buffers, &p->batch, p->eps, pull);
      params[i] = kept;
      double difference = (up - down) / (2 * h);
      worst = fmax(worst, fabs(difference - p->state.grads[i]));
      largest = fmax(largest, fabs(difference));
    }
    if (!(worst <= 1e-4 * largest)) fail_msg("%s, %s: off by %.3g of %.3g", what, tensor->name, worst, largest);
  }
  reference_fixed_limit = -1;
  free(params);
}

static void check(const comp__model_options *options, size_t conditions, double blur, bool weighted, const char *what) {
  const comp__pull pull = {1.3, blur};
  for (int sparse = 0; sparse < 2; sparse++) {
    float *first = NULL;
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      problem p;
      setup(&p, context, options, conditions, sparse);
      if (weighted) p.batch.weight = p.weight;
      size_t n = p.network.params.size;
      double *params = malloc(n * sizeof *params);
      for (size_t i = 0; i < n; i++) params[i] = p.state.params[i];
      double loss = step_loss(&p, context, pull);
      double expected = reference_loss(&p.network, params, p.state.buffers, &p.batch, p.eps, pull);
      if (!(fabs(loss - expected) <= 1e-5 * fmax(1, fabs(expected))))
        fail_msg("%s: loss %.9g, expected %.9g", what, loss, expected);
      free(params);
      if (t == 0) {
        compare_gradients(&p, pull, what);
        first = malloc(n * sizeof *first);
        memcpy(first, p.state.grads, n * sizeof *first);
      }
      assert_memory_equal(first, p.state.grads, n * sizeof *first);
      teardown(&p);
      comp_context_free(context);
    }
    free(first);
  }
}

/* ---- In shards ------------------------------------------------------------------------------------------------- */

typedef struct shard_data {
  comp_matrix *x, *x_t;
  size_t start[MOST_CONDITIONS + 1];
} shard_data;

/* Shard s as a batch of its own. */
static comp__batch cut_shard(shard_data *data, comp_context *context, const problem *p, size_t s, size_t shards) {
  const size_t begin = comp__shard_begin(ROWS, s, shards), end = comp__shard_begin(ROWS, s + 1, shards);
  size_t rows[ROWS];
  *data = (shard_data){0};
  for (size_t i = begin; i < end; i++) rows[i - begin] = i;
  assert_ok(comp_matrix_select(&data->x, context, p->x, rows, end - begin, NULL, 0));
  if (p->x_t) assert_ok(comp_matrix_transpose(&data->x_t, context, data->x));
  for (size_t k = 0; k <= p->network.conditions; k++) {
    const size_t at = p->start[k] < begin ? begin : p->start[k] > end ? end : p->start[k];
    data->start[k] = at - begin;
  }
  return (comp__batch){.rows = end - begin,
                       .x = data->x,
                       .input = data->x,
                       .input_t = data->x_t,
                       .start = data->start,
                       .ids = p->ids + begin,
                       .library = p->library + begin,
                       .target = p->batch.target ? p->batch.target + begin : NULL};
}

typedef struct sharded_job {
  const comp__model_options *options;
  comp__pull pull;
  size_t conditions, shards;
  bool sparse, weighted;
  double loss[16];  /* of each rank */
  float *grads[16]; /* of each rank; freed by the caller */
  float *buffers[16];
  size_t n, n_buffers; /* the same on all; written by the first */
} sharded_job;

static void sharded_rank(void *arg, comp__comm *comm) {
  sharded_job *job = arg;
  const size_t rank = comp__comm_rank(comm);
  comp_context *context = test_context(rank % 2 ? 2 : 1);
  problem p;
  comp__work *work;
  comp__shards *shards;
  comp__losses losses;
  shard_data data[16];
  comp__batch batches[16];
  setup(&p, context, job->options, job->conditions, job->sparse);
  if (job->weighted) p.batch.weight = p.weight;
  assert_ok(comp__work_new(&work, &p.network, ROWS, false, true));
  assert_ok(comp__shards_new(&shards, comm, &p.network, job->shards, ROWS, work));
  for (size_t i = 0; i < shards->count; i++)
    batches[i] = cut_shard(&data[i], context, &p, shards->first + i, job->shards);
  assert_ok(comp__shards_step(&losses, context, &p.network, &p.state, &p.batch, batches, shards, job->pull, 9, 4));
  job->loss[rank] = losses.total;
  if (rank == 0) job->n = p.network.params.size, job->n_buffers = p.network.buffers.size;
  job->grads[rank] = p.state.grads;
  job->buffers[rank] = p.state.buffers;
  p.state.grads = p.state.buffers = NULL;
  for (size_t i = 0; i < shards->count; i++) {
    comp_matrix_free(data[i].x);
    comp_matrix_free(data[i].x_t);
  }
  comp__shards_free(shards);
  comp__work_free(work);
  teardown(&p);
  comp_context_free(context);
}

/* Against the restatement of the whole batch, and the running statistics against those of one batch. */
static void compare_with_whole(const sharded_job *job, const char *what) {
  comp_context *context = test_context(1);
  problem p;
  setup(&p, context, job->options, job->conditions, job->sparse);
  if (job->weighted) p.batch.weight = p.weight;
  const double expected = step_loss(&p, context, job->pull);
  if (!(fabs(job->loss[0] - expected) <= 1e-5 * fmax(1, fabs(expected))))
    fail_msg("%s: loss %.9g, expected %.9g", what, job->loss[0], expected);
  for (size_t i = 0; i < job->n_buffers; i++)
    if (!(fabsf(job->buffers[0][i] - p.state.buffers[i]) <= 1e-5f * fmaxf(1.0f, fabsf(p.state.buffers[i]))))
      fail_msg("%s: statistic %zu is %.9g, expected %.9g", what, i, job->buffers[0][i], p.state.buffers[i]);
  memcpy(p.state.grads, job->grads[0], job->n * sizeof(float));
  compare_gradients(&p, job->pull, what);
  teardown(&p);
  comp_context_free(context);
}

void check_sharded_gradients(const comp__model_options *options, size_t conditions, size_t shards, double blur,
                             bool weighted, const char *what) {
  for (int sparse = 0; sparse < 2; sparse++) {
    sharded_job one = {options, {1.3, blur}, conditions, shards, sparse, weighted, {0}, {0}, {0}, 0, 0};
    run_ranks(1, sharded_rank, &one);
    compare_with_whole(&one, what);
    for (size_t ranks = 2; ranks <= shards; ranks *= 2) {
      sharded_job job = one;
      run_ranks(ranks, sharded_rank, &job);
      for (size_t r = 0; r < ranks; r++) {
        if (job.loss[r] != one.loss[0]) fail_msg("%s: rank %zu of %zu has another loss", what, r, ranks);
        assert_memory_equal(job.grads[r], one.grads[0], job.n * sizeof(float));
        assert_memory_equal(job.buffers[r], one.buffers[0], job.n_buffers * sizeof(float));
        comp__free(job.grads[r]);
        comp__free(job.buffers[r]);
      }
    }
    comp__free(one.grads[0]);
    comp__free(one.buffers[0]);
  }
}

void check_gradients(const comp__model_options *options, size_t conditions, double blur, const char *what) {
  check(options, conditions, blur, false, what);
}

void check_weighted_gradients(const comp__model_options *options, size_t conditions, const char *what) {
  check(options, conditions, 0, true, what);
}
