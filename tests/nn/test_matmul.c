/* test_matmul.c: products against a naive one in double, at all transposes, and the same bytes at any thread count. */
#include "testing.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/rng.h"
#include "core/threads.h"
#include "nn/emulated.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

typedef struct shape {
  size_t m, n, k;
} shape;

/* Nothing, single rows and columns, odd sizes, several tiles each way, and long k, which is split. */
static const shape shapes[] = {
    {0, 5, 3},      {5, 0, 3},      {5, 3, 0},      {1, 1, 1},      {1, 7, 1},      {7, 1, 1},      {1, 1, 9},
    {1, 33, 17},    {33, 1, 17},    {2, 3, 5},      {16, 16, 16},   {17, 31, 13},   {63, 65, 64},   {97, 80, 33},
    {64, 18, 64},   {129, 127, 3},  {200, 515, 40}, {513, 65, 20},  {300, 1030, 7}, {64, 64, 4099}, {18, 64, 3001},
    {5, 130, 2500}, {96, 128, 100}, {255, 64, 96},  {40, 100, 800}, {66, 70, 800},  {140, 270, 70}, {260, 136, 390},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, ALL_FLAGS = 8 };

static const float UNTOUCHED = 12345.0f;

/* A product with operands, room for C with padded rows, and the answer. */
typedef struct problem {
  size_t m, n, k, lda, ldb, ldc, count_c;
  unsigned flags;
  float *a, *b, *c0, *c, *kept;
  uint16_t *a16, *b16;
  double *expected, *magnitude; /* [m, n]: the product, and that of the absolute values */
} problem;

/* Aligned as the library's own memory, and not longer than asked for: the sanitizer sees what is read behind it. */
static void *room(size_t count, size_t size) {
  void *block = NULL;
  assert_int_equal(posix_memalign(&block, 64, count ? count * size : size), 0);
  memset(block, 0, count ? count * size : size);
  return block;
}

static float from_bf16(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16;
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

TEST_ORACLE static void solve(problem *p) {
  for (size_t i = 0; i < p->m; i++) {
    for (size_t j = 0; j < p->n; j++) {
      const double before = p->flags & COMP__ACCUMULATE ? (double)p->c0[i * p->ldc + j] : 0.0;
      double sum = before, magnitude = fabs(before);
      for (size_t l = 0; l < p->k; l++) {
        const double a = (double)(p->flags & COMP__TRANS_A ? p->a[l * p->lda + i] : p->a[i * p->lda + l]);
        const double b = (double)(p->flags & COMP__TRANS_B ? p->b[j * p->ldb + l] : p->b[l * p->ldb + j]);
        sum += a * b;
        magnitude += fabs(a * b);
      }
      p->expected[i * p->n + j] = sum;
      p->magnitude[i * p->n + j] = magnitude;
    }
  }
}

/* Operands that bf16 holds exactly, so that one answer serves both types. What is not theirs, between rows, is NaN. */
static void operand_init(float **values, uint16_t **values16, size_t rows, size_t cols, size_t ld, uint64_t row) {
  const size_t count = rows > 0 ? (rows - 1) * ld + cols : 0;
  *values = room(count, sizeof **values);
  *values16 = room(count, sizeof **values16);
  comp__rng_fill_normal(*values, count, comp__rng_at(1, COMP__RNG_TEST, 0, row), 0);
  comp__f32_to_bf16(*values16, *values, count);
  for (size_t i = 0; i < count; i++) {
    if (i % ld >= cols) (*values16)[i] = 0x7fc0;
    (*values)[i] = from_bf16((*values16)[i]);
  }
}

static problem problem_new(shape s, unsigned flags) {
  problem p = {.m = s.m, .n = s.n, .k = s.k, .flags = flags};
  const size_t padding = flags % 2 + s.m % 3; /* sometimes none, sometimes odd */
  p.lda = (flags & COMP__TRANS_A ? s.m : s.k) + padding;
  p.ldb = (flags & COMP__TRANS_B ? s.k : s.n) + padding;
  p.ldc = s.n + padding;
  p.count_c = s.m * p.ldc;
  operand_init(&p.a, &p.a16, flags & COMP__TRANS_A ? s.k : s.m, flags & COMP__TRANS_A ? s.m : s.k, p.lda, 1);
  operand_init(&p.b, &p.b16, flags & COMP__TRANS_B ? s.n : s.k, flags & COMP__TRANS_B ? s.k : s.n, p.ldb, 2);
  p.c0 = room(p.count_c, sizeof *p.c0);
  p.c = room(p.count_c, sizeof *p.c);
  p.kept = room(p.count_c, sizeof *p.kept);
  for (size_t i = 0; i < p.count_c; i++) p.c0[i] = i % p.ldc < s.n ? (float)(i % 7) - 3.0f : UNTOUCHED;
  p.expected = room(s.m * s.n, sizeof *p.expected);
  p.magnitude = room(s.m * s.n, sizeof *p.magnitude);
  solve(&p);
  return p;
}

static void problem_free(problem *p) {
  free(p->a), free(p->b), free(p->c0), free(p->c), free(p->kept);
  free(p->a16), free(p->b16), free(p->expected), free(p->magnitude);
}

static comp_status multiply(comp_context *context, problem *p, float *c, bool bf16) {
  if (bf16) return comp__matmul_bf16(context, c, p->ldc, p->a16, p->lda, p->b16, p->ldb, p->m, p->n, p->k, p->flags);
  return comp__matmul_f32(context, c, p->ldc, p->a, p->lda, p->b, p->ldb, p->m, p->n, p->k, p->flags);
}

static void assert_solved(const problem *p) {
  for (size_t i = 0; i < p->m; i++) {
    for (size_t j = 0; j < p->ldc; j++) {
      const float got = p->c[i * p->ldc + j];
      if (j >= p->n) {
        if (got != UNTOUCHED) fail_msg("%zux%zux%zu: wrote beyond row %zu", p->m, p->n, p->k, i);
        continue;
      }
      const double wanted = p->expected[i * p->n + j];
      if (!(fabs((double)got - wanted) <= 1e-6 * p->magnitude[i * p->n + j]))
        fail_msg("%zux%zux%zu flags %u: [%zu, %zu] is %.9g, expected %.9g", p->m, p->n, p->k, p->flags, i, j,
                 (double)got, wanted);
    }
  }
}

/* All shapes and flags, each at all thread counts: right, and the same bytes. */
static void check_all(bool bf16) {
  comp_context *contexts[TEST_THREADS_COUNT];
  for (int t = 0; t < TEST_THREADS_COUNT; t++) contexts[t] = test_context(TEST_THREADS[t]);
  for (size_t i = 0; i < N_SHAPES; i++) {
    for (unsigned flags = 0; flags < ALL_FLAGS; flags++) {
      problem p = problem_new(shapes[i], flags);
      for (int t = 0; t < TEST_THREADS_COUNT; t++) {
        memcpy(p.c, p.c0, p.count_c * sizeof *p.c);
        assert_ok(multiply(contexts[t], &p, p.c, bf16));
        if (t == 0) {
          assert_solved(&p);
          memcpy(p.kept, p.c, p.count_c * sizeof *p.c);
        }
        assert_memory_equal(p.c, p.kept, p.count_c * sizeof *p.c);
      }
      problem_free(&p);
    }
  }
  for (int t = 0; t < TEST_THREADS_COUNT; t++) comp_context_free(contexts[t]);
}

static void test_f32(void **state) {
  (void)state;
  check_all(false);
}

/* A kernel's own source over software instructions, and the real one where this CPU has it. */
static void check_kernel(const comp__gemm_bf16 *emulated) {
  const comp__gemm_bf16 *real = test_bf16_real(emulated->name);
  test_bf16_kernel = emulated;
  check_all(true);
  test_bf16_kernel = real;
  if (real) check_all(true);
  test_bf16_kernel = NULL;
}

/* Tiles one after the other on this thread, with memory that is exactly as large as the kernel asks for. */
static void run_exactly(const comp__gemm_bf16 *kernel, problem *p, int threads) {
  const comp__gemm_cut cut = kernel->cut(p->m, p->n, threads);
  comp__gemm_factor a = {p->a16, p->lda, p->flags & COMP__TRANS_A, NULL};
  comp__gemm_factor b = {p->b16, p->ldb, p->flags & COMP__TRANS_B, NULL};
  const size_t steps = (p->k + COMP__GEMM_STEP - 1) / COMP__GEMM_STEP;
  uint16_t *packed = room(kernel->packed(cut.share_a ? p->m : p->n, p->k), sizeof *packed);
  uint16_t *scratch = room(kernel->scratch(&cut), sizeof *scratch);
  if (cut.share_a)
    kernel->pack_a(packed, &a, p->m, p->k, 0, steps);
  else
    kernel->pack_b(packed, &b, p->n, p->k, 0, steps);
  *(cut.share_a ? &a.packed : &b.packed) = packed;
  for (size_t row = 0; row < p->m; row += cut.rows)
    for (size_t col = 0; col < p->n; col += cut.cols)
      kernel->tile(p->c + row * p->ldc + col, p->ldc, &a, &b, row, p->m - row < cut.rows ? p->m - row : cut.rows, col,
                   p->n - col < cut.cols ? p->n - col : cut.cols, p->k, p->flags & COMP__ACCUMULATE, scratch);
  free(packed), free(scratch);
}

/* Under the address sanitizer: nothing beyond what a kernel asked for is touched. And tiles are given back. */
static void test_exact_memory(void **state) {
  (void)state;
  const comp__gemm_bf16 *const kernels[] = {&comp__gemm_amx_emulated, &comp__gemm_avx512_emulated};
  const shape few[] = {{33, 1, 17}, {97, 80, 33}, {40, 100, 800}, {140, 270, 70}, {66, 70, 800}, {70, 132, 400}};
  for (size_t i = 0; i < 2 * sizeof few / sizeof *few; i++)
    for (unsigned flags = 0; flags < ALL_FLAGS; flags++)
      for (int threads = 1; threads <= 7; threads += 6) {
        problem p = problem_new(few[i / 2], flags);
        memcpy(p.c, p.c0, p.count_c * sizeof *p.c);
        run_exactly(kernels[i % 2], &p, threads);
        assert_solved(&p);
        assert_true(test_amx_released());
        problem_free(&p);
      }
}

static void test_amx(void **state) {
  (void)state;
  check_kernel(&comp__gemm_amx_emulated);
}

static void test_avx512_bf16(void **state) {
  (void)state;
  check_kernel(&comp__gemm_avx512_emulated);
}

/* Values of all sizes, subnormal ones, infinities and, rarely, NaN. */
static void make_wild(uint16_t *values, size_t count, uint64_t row) {
  float *normal = room(count, sizeof *normal);
  comp__rng_fill_normal(normal, count, comp__rng_at(2, COMP__RNG_TEST, 0, row), 0);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &normal[i], sizeof bits);
    values[i] = (uint16_t)(bits & 0xffffu);
    if ((values[i] & 0x7f80) == 0x7f80 && bits >> 20 & 1) values[i] = (uint16_t)(bits >> 16);
  }
  free(normal);
}

/* The software tiles give the bytes of the hardware, for numbers and for what is not one. */
static void test_amx_emulation_is_exact(void **state) {
  (void)state;
  const comp__gemm_bf16 *real = test_bf16_real("amx");
  comp_context *context = test_context(2);
  for (size_t i = 0; i < N_SHAPES; i++) {
    for (unsigned flags = 0; flags < 2 * ALL_FLAGS; flags++) {
      problem p = problem_new(shapes[i], flags % ALL_FLAGS);
      if (flags >= ALL_FLAGS && p.m && p.n && p.k) {
        make_wild(p.a16, ((flags & COMP__TRANS_A ? p.k : p.m) - 1) * p.lda + (flags & COMP__TRANS_A ? p.m : p.k), 1);
        make_wild(p.b16, ((flags & COMP__TRANS_B ? p.n : p.k) - 1) * p.ldb + (flags & COMP__TRANS_B ? p.k : p.n), 2);
      }
      memcpy(p.c, p.c0, p.count_c * sizeof *p.c);
      memcpy(p.kept, p.c0, p.count_c * sizeof *p.c);
      test_bf16_kernel = &comp__gemm_amx_emulated;
      assert_ok(multiply(context, &p, p.c, true));
      test_bf16_kernel = real;
      assert_ok(multiply(context, &p, p.kept, true));
      assert_memory_equal(p.c, p.kept, p.count_c * sizeof *p.c);
      problem_free(&p);
    }
  }
  test_bf16_kernel = NULL;
  comp_context_free(context);
}

/* What C held does not matter unless it is asked for. */
static void test_overwrites_nan(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  test_bf16_kernel = &comp__gemm_amx_emulated;
  for (int bf16 = 0; bf16 <= 1; bf16++) {
    for (unsigned flags = 0; flags < COMP__ACCUMULATE; flags++) {
      problem p = problem_new((shape){64, 60, 2100}, flags);
      for (size_t i = 0; i < p.count_c; i++) p.c[i] = i % p.ldc < p.n ? NAN : UNTOUCHED;
      assert_ok(multiply(context, &p, p.c, bf16));
      assert_solved(&p);
      problem_free(&p);
    }
  }
  test_bf16_kernel = NULL;
  comp_context_free(context);
}

typedef struct nested {
  comp_context *context;
  problem *p;
  float *c; /* [chunks, count_c] */
} nested;

static comp_status multiply_inside(void *arg, size_t begin, size_t end, int thread) {
  (void)end, (void)thread;
  nested *n = arg;
  return multiply(n->context, n->p, n->c + begin * n->p->count_c, false);
}

/* Products started from inside a parallel loop run in place and give the same bytes. */
static void test_inside_loop(void **state) {
  (void)state;
  enum { CHUNKS = 12 };
  comp_context *context = test_context(7);
  problem p = problem_new((shape){150, 90, 3000}, COMP__TRANS_A);
  assert_ok(multiply(context, &p, p.c, false));
  float *c = room(CHUNKS * p.count_c, sizeof *c);
  for (size_t i = 0; i < CHUNKS * p.count_c; i++) c[i] = p.c[i % p.count_c];
  nested n = {context, &p, c};
  assert_ok(comp__parallel_try(context, CHUNKS, 1, multiply_inside, &n));
  for (size_t i = 0; i < CHUNKS; i++) assert_memory_equal(c + i * p.count_c, p.c, p.count_c * sizeof *c);
  free(c);
  problem_free(&p);
  comp_context_free(context);
}

/* More shapes than a thread remembers, then the first ones again. */
static void test_many_shapes(void **state) {
  (void)state;
  enum { SHAPES = 600 };
  comp_context *context = test_context(1);
  static float a[SHAPES * 4], b[4], c[SHAPES];
  for (size_t i = 0; i < SHAPES * 4; i++) a[i] = (float)(i % 5);
  for (size_t i = 0; i < 4; i++) b[i] = (float)i;
  for (size_t round = 0; round < 2; round++) {
    for (size_t m = 1; m <= (round ? 20 : SHAPES); m++) {
      assert_ok(comp__matmul_f32(context, c, 1, a, 4, b, 4, m, 1, 4, COMP__TRANS_B));
      const float *last = a + (m - 1) * 4;
      assert_true(c[m - 1] == last[1] + 2.0f * last[2] + 3.0f * last[3]);
    }
  }
  comp_context_free(context);
}

/* Our caller's OpenMP setting is its own. */
static void test_leaves_openmp_alone(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  problem p = problem_new((shape){300, 70, 64}, COMP__TRANS_B);
  const int before = omp_get_max_threads();
  omp_set_num_threads(5);
  assert_ok(multiply(context, &p, p.c, false));
  assert_int_equal(omp_get_max_threads(), 5);
  omp_set_num_threads(before);
  problem_free(&p);
  comp_context_free(context);
}

/* A sanitizer needs address space of its own; on other CPUs OpenBLAS multiplies. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
enum { CAN_LIMIT = 0 };
#else
enum { CAN_LIMIT = 1 };
#endif

static size_t address_space(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%ld", &pages), 1);
  fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* oneDNN crashes when it gets no memory for the code that it generates: see matmul.c. Before it has generated any, and
 * for new shapes. Both ways to multiply: dnnl_sgemm() and a primitive. */
static void test_no_room_for_code(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  struct rlimit before;
  getrlimit(RLIMIT_AS, &before);
  const shape sizes[] = {{40, 100, 90}, {40, 30, 90}, {42, 110, 80}, {42, 33, 80}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    problem p = problem_new(sizes[i], 0);
    setrlimit(RLIMIT_AS, &(struct rlimit){address_space(), before.rlim_max});
    comp_status status = multiply(context, &p, p.c, false);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(status, COMP_ERR_MEMORY);
    memcpy(p.c, p.c0, p.count_c * sizeof *p.c);
    assert_ok(multiply(context, &p, p.c, false));
    assert_solved(&p);
    problem_free(&p);
  }
  comp_context_free(context);
}

static atomic_bool signals_end;

static void on_signal(int number) {
  (void)number;
}

static void *send_signals(void *arg) {
  (void)arg;
  while (!atomic_load(&signals_end)) {
    kill(getpid(), SIGUSR1);
    usleep(200);
  }
  return NULL;
}

/* A signal's handler must not run on the stack of generated code: see matmul.c. Without that care this crashes, nearly
 * always. */
static void test_signals_do_no_harm(void **state) {
  (void)state;
  enum { SIDE = 768 };
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  comp_context *context = test_context(2);
  float *a = malloc(SIDE * SIDE * sizeof *a), *first = malloc(SIDE * SIDE * sizeof *a),
        *c = malloc(SIDE * SIDE * sizeof *a);
  comp__rng_fill_normal(a, SIDE * SIDE, comp__rng_at(1, COMP__RNG_TEST, 0, 0), 0);
  assert_ok(comp__matmul_f32(context, first, SIDE, a, SIDE, a, SIDE, SIDE, SIDE, SIDE, 0));
  pthread_t sender;
  pthread_create(&sender, NULL, send_signals, NULL);
  const size_t rounds = test_rounds(200);
  for (size_t i = 0; i < rounds; i++) {
    assert_ok(comp__matmul_f32(context, c, SIDE, a, SIDE, a, SIDE, SIDE, SIDE, SIDE, 0));
    assert_memory_equal(c, first, SIDE * SIDE * sizeof *c);
    free(malloc(i * 100)); /* finds a damaged heap */
  }
  atomic_store(&signals_end, true);
  pthread_join(sender, NULL);
  signal(SIGUSR1, SIG_DFL);
  free(a), free(first), free(c);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_room_for_code), /* the first one: nothing was generated yet; where CAN_LIMIT */
      cmocka_unit_test(test_f32),
      cmocka_unit_test(test_amx),
      cmocka_unit_test(test_avx512_bf16),
      cmocka_unit_test(test_exact_memory),
      cmocka_unit_test(test_overwrites_nan),
      cmocka_unit_test(test_inside_loop),
      cmocka_unit_test(test_many_shapes),
      cmocka_unit_test(test_leaves_openmp_alone),
      cmocka_unit_test(test_signals_do_no_harm),
      cmocka_unit_test(test_amx_emulation_is_exact), /* the last one: only where there is hardware to compare with */
  };
  const size_t first = CAN_LIMIT ? 0 : 1, end = sizeof tests / sizeof *tests - (test_bf16_real("amx") ? 0 : 1);
  return _cmocka_run_group_tests("nn/matmul", tests + first, end - first, NULL, NULL);
}
