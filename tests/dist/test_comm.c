/* test_comm.c: what ranks tell each other, and sums over all shards: the same bytes at any number of ranks. */
#include "testing.h"

#include "comp/dist.h"
#include "core/alloc.h"
#include "core/rng.h"
#include "dist/cards.h"
#include "dist/comm_threads.h"
#include "dist/tree.h"

enum { N = 1003, SHARDS = 8 };

/* Rank r has r + 1 items. */
static void tell(void *arg, comp__comm *comm) {
  (void)arg;
  comp_context *context = test_context(1);
  const size_t ranks = comp__comm_ranks(comm), rank = comp__comm_rank(comm);
  size_t begin[COMP__MOST_RANKS + 1] = {0}, even[64] = {0}, send[64], received[64], cut[COMP__MOST_RANKS + 1];
  int all[64] = {0};
  for (size_t r = 0; r < ranks; r++) begin[r + 1] = begin[r] + r + 1;
  for (size_t i = begin[rank]; i < begin[rank + 1]; i++) all[i] = (int)i + 7;
  assert_ok(comp__comm_gather(comm, context, all, begin, sizeof *all));
  for (size_t i = 0; i < begin[ranks]; i++) assert_int_equal(all[i], i + 7);
  even[2 * rank] = rank;
  even[2 * rank + 1] = 100 + rank;
  assert_ok(comp__comm_gather_even(comm, context, even, 2, sizeof *even));
  for (size_t r = 0; r < ranks; r++) assert_true(even[2 * r] == r && even[2 * r + 1] == 100 + r);
  for (size_t r = 0; r <= ranks; r++) cut[r] = r;
  for (size_t r = 0; r < ranks; r++) send[r] = 10 * rank + r;
  assert_ok(comp__comm_exchange(comm, context, send, cut, received, cut, sizeof *send));
  for (size_t r = 0; r < ranks; r++) assert_int_equal(received[r], 10 * r + rank);
  comp_context_free(context);
}

static void test_tell(void **state) {
  (void)state;
  for (size_t ranks = 1; ranks <= 5; ranks++) run_ranks(ranks, tell, NULL);
  tell(NULL, NULL); /* no communicator: one rank */
  comp__comm *self;
  assert_ok(comp__comm_open(&self, "self"));
  tell(NULL, self);
  comp__comm_close(self);
  assert_string_equal(comp__comm_name(0), "self");
  assert_string_equal(comp__comm_name(1), "mpi");
  assert_null(comp__comm_name(2));
  assert_int_equal(comp__comm_open(&self, "carrier pigeon"), COMP_ERR_ARGUMENT);
}

static float value_of(size_t shard, size_t i) {
  return (float)comp__rng_normal(comp__rng_at(5, COMP__RNG_TEST, shard, 0), i) * powf(10.0f, (float)(shard % 5));
}

typedef struct sum_job {
  float out[N];
} sum_job;

static void sum(void *arg, comp__comm *comm) {
  sum_job *job = arg;
  comp_context *context = test_context(2);
  const size_t count = SHARDS / comp__comm_ranks(comm), first = count * comp__comm_rank(comm);
  float *parts[SHARDS], *scratch;
  for (size_t p = 0; p < count; p++) {
    assert_ok(comp__alloc(&parts[p], N, sizeof(float)));
    for (size_t i = 0; i < N; i++) parts[p][i] = value_of(first + p, i);
  }
  assert_ok(comp__calloc(&scratch, comp__tree_scratch(comm, N) + 1, sizeof(float)));
  assert_ok(comp__tree_sum(comm, context, parts, count, N, scratch));
  if (comp__comm_rank(comm) == comp__comm_ranks(comm) - 1) memcpy(job->out, parts[0], sizeof job->out);
  for (size_t p = 0; p < count; p++) comp__free(parts[p]);
  comp__free(scratch);
  comp_context_free(context);
}

/* The tree written out; sums in another order differ. */
static void test_tree(void **state) {
  (void)state;
  sum_job job;
  for (size_t ranks = 1; ranks <= SHARDS; ranks *= 2) {
    memset(&job, 0, sizeof job);
    run_ranks(ranks, sum, &job);
    bool in_order = true;
    for (size_t i = 0; i < N; i++) {
      float v[SHARDS], line = 0.0f;
      for (size_t s = 0; s < SHARDS; s++) line += v[s] = value_of(s, i);
      const float tree = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
      if (job.out[i] != tree) fail_msg("%zu ranks, value %zu: %.9g, expected %.9g", ranks, i, job.out[i], tree);
      in_order = in_order && line == tree;
    }
    assert_false(in_order);
  }
}

/* Rows are cut at multiples of a unit, and come to the first rank, or to all. */
static void collect(void *arg, comp__comm *comm) {
  enum { ROWS = 1003, UNIT = 256, SIZE = 12 };
  (void)arg;
  comp_context *context = test_context(1);
  const size_t ranks = comp__comm_ranks(comm), rank = comp__comm_rank(comm);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__comm_lend(context, comm);
  assert_ptr_equal(comp__comm_of(context), comm);
  comp__comm_share(begin, comm, ROWS, UNIT);
  assert_true(begin[0] == 0 && begin[ranks] == ROWS);
  for (size_t r = 1; r < ranks; r++)
    assert_true(begin[r] >= begin[r - 1] && (begin[r] % UNIT == 0 || begin[r] == ROWS));
  for (int to = COMP__TO_FIRST; to <= COMP__TO_ALL; to++) {
    char(*all)[SIZE] = calloc(ROWS, SIZE);
    assert_non_null(all);
    for (size_t i = begin[rank]; i < begin[rank + 1]; i++) memset(all[i], (int)(i % 100) + 1, SIZE);
    assert_ok(comp__comm_collect(comm, context, all, begin, SIZE, (comp__comm_to)to));
    for (size_t i = 0; i < ROWS; i++) {
      const bool there = to == COMP__TO_ALL || rank == 0 || (i >= begin[rank] && i < begin[rank + 1]);
      for (size_t b = 0; b < SIZE; b++) assert_int_equal(all[i][b], there ? i % 100 + 1 : 0);
    }
    free(all);
  }
  comp_context_free(context);
}

static void test_collect(void **state) {
  (void)state;
  for (size_t ranks = 1; ranks <= 7; ranks++) run_ranks(ranks, collect, NULL); /* 7: some have no rows */
  collect(NULL, NULL);
}

/* The first card that differs is an error on all ranks, with both texts where they are shown. */
static void compare_cards(void *arg, comp__comm *comm) {
  (void)arg;
  comp_context *context = test_context(1);
  const size_t rank = comp__comm_rank(comm);
  char step[16];
  snprintf(step, sizeof step, "%zu", rank < 2 ? (size_t)7 : rank);
  char large[200] = "";
  memset(large, 'x', sizeof large - 1); /* longer than what is sent of a text */
  comp__card cards[] = {
      {.other = "other options", .advice = "do this", .text = "same", .status = COMP_ERR_DATA},
      {.shown = "goes on after step", .advice = "do that", .text = step, .status = COMP_ERR_UNAVAILABLE},
      {.other = "other data", .advice = "do this", .text = large, .status = COMP_ERR_DATA},
  };
  assert_ok(comp__cards_compare(comm, context, NULL, 0));
  assert_int_equal(comp__cards_compare(comm, context, cards, 3), COMP_ERR_UNAVAILABLE);
  assert_string_equal(comp_error_message(), "rank 0 goes on after step 7, rank 2 goes on after step 2: do that");
  cards[1].text = "7";
  assert_ok(comp__cards_compare(comm, context, cards, 3));
  if (rank == 2) large[150] = 'y';
  assert_int_equal(comp__cards_compare(comm, context, cards, 3), COMP_ERR_DATA);
  assert_string_equal(comp_error_message(), "rank 2 has other data than rank 0: do this");
  comp_context_free(context);
}

static void test_cards(void **state) {
  (void)state;
  run_ranks(3, compare_cards, NULL);
}

/* Bytes that come from others, and calls. */
static void count_traffic(void *arg, comp__comm *comm) {
  (void)arg;
  comp_context *context = test_context(1);
  char all[40] = {0};
  for (int i = 0; i < 3; i++) assert_ok(comp__comm_gather_even(comm, context, all, 10, 1));
  const comp__traffic traffic = comp__comm_traffic(comm);
  assert_true(traffic.bytes == 90.0 && traffic.calls == 3 && traffic.seconds > 0);
  comp_context_free(context);
}

static void test_traffic(void **state) {
  (void)state;
  run_ranks(4, count_traffic, NULL);
}

/* Rank 1 never comes: rank 0 stops waiting when it is interrupted. */
static void wait_in_vain(void *arg, comp__comm *comm) {
  comp_context *context = test_context(1);
  int all[2] = {0};
  (void)arg;
  if (comp__comm_rank(comm) == 0) {
    comp_context_interrupt(context);
    assert_int_equal(comp__comm_gather_even(comm, context, all, 1, sizeof *all), COMP_ERR_INTERRUPTED);
  }
  comp_context_free(context);
}

static void test_interrupted(void **state) {
  (void)state;
  run_ranks(2, wait_in_vain, NULL);
}

static void test_cut(void **state) {
  (void)state;
  for (size_t n = 0; n < 40; n++)
    for (size_t ranks = 1; ranks < 9; ranks++) {
      assert_int_equal(comp__comm_cut(n, 0, ranks), 0);
      assert_int_equal(comp__comm_cut(n, ranks, ranks), n);
      for (size_t r = 0; r < ranks; r++) {
        const size_t part = comp__comm_cut(n, r + 1, ranks) - comp__comm_cut(n, r, ranks);
        assert_true(part == n / ranks || part == n / ranks + 1);
      }
    }
}

static void forget_launchers(void) {
  static const char *const names[] = {
      "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
      "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

static void test_launchers(void **state) {
  (void)state;
  forget_launchers();
  assert_true(comp_rank() == 0 && comp_rank_count() == 1);
  setenv("SLURM_NTASKS", "16", 1); /* a batch script, outside srun */
  assert_true(comp_rank() == 0 && comp_rank_count() == 1);
  setenv("PMIX_RANK", "3", 1);
  assert_true(comp_rank() == 3 && comp_rank_count() == 16);
  setenv("SLURM_STEP_NUM_TASKS", "8", 1);
  assert_true(comp_rank() == 3 && comp_rank_count() == 8);
  setenv("PMI_RANK", "1", 1);
  setenv("PMI_SIZE", "2", 1);
  assert_true(comp_rank() == 1 && comp_rank_count() == 2);
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "6", 1);
  assert_true(comp_rank() == 5 && comp_rank_count() == 6);
  setenv("OMPI_COMM_WORLD_RANK", "six", 1);
  assert_true(comp_rank() == 1 && comp_rank_count() == 2);
  forget_launchers();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tell), cmocka_unit_test(test_cards),     cmocka_unit_test(test_traffic),
      cmocka_unit_test(test_tree), cmocka_unit_test(test_collect),   cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_cut),  cmocka_unit_test(test_launchers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
