/*
 * matmul.c: f32 products as fixed tiles, each one single-threaded call of oneDNN (on arm64 of OpenBLAS), on the
 * context's threads.
 *
 * oneDNN would split a product by the number of threads, and the sums with it. So the splitting is done here, from the
 * shape alone. The tile sizes were measured (bench/matmul_shapes.c); what they balance is the packing of operands that
 * each call repeats, which wants large tiles, against an even load and many cores, which want many.
 */
#include "nn/matmul.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#if defined(__aarch64__)
#include <cblas.h>
#endif

#include "core/alloc.h"
#include "core/cpu.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/threads.h"
#include "nn/pieces.h"
#include "nn/thread_memory.h"

#if DNNL_VERSION_MAJOR != 2 && DNNL_VERSION_MAJOR != 3
#error "comp knows oneDNN 2.x and 3.x only: teach src/nn/matmul.c the C API of this version"
#endif

/* One product as oneDNN sees it: what a primitive is made for and found by. No padding: compared as bytes. */
typedef struct shape {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  uint64_t flags;
} shape;

typedef struct operands {
  const float *a;
  const float *b;
  float *c;
} operands;

/* ---- primitives, one cache a thread ---- */

typedef struct primitive {
  shape shape;
  dnnl_primitive_t run; /* NULL: a free slot */
  dnnl_memory_t a, b, c, scratch;
  size_t scratch_size;
} primitive;

/* A network has some hundred shapes; a program that uses more of them starts over with an empty table. */
enum { SLOTS = 1024, MOST_PRIMITIVES = 512, SEEN_BITS = 1 << 14 };

/* What a thread keeps between products. */
typedef struct thread_state {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  size_t count;
  primitive slots[SLOTS];
  uint64_t seen[SEEN_BITS / 64]; /* hashes of shapes that dnnl_sgemm() has multiplied */
} thread_state;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t state_key;
static int state_key_failed;

static comp_status dnnl_failed(dnnl_status_t code, const char *what) {
  if (code == dnnl_out_of_memory) return comp__error(COMP_ERR_MEMORY, "matrix product: out of memory");
  if (code == dnnl_unimplemented)
    return comp__error(COMP_ERR_UNAVAILABLE, "matrix product: oneDNN has no implementation for this CPU");
  return comp__error(COMP_ERR_UNAVAILABLE, "matrix product: oneDNN %s failed with status %d", what, (int)code);
}

/* Needs `comp_status status` and a label `done`, as COMP__TRY(). */
#define TRY_DNNL(call, what)                                                                                           \
  do {                                                                                                                 \
    dnnl_status_t code_ = (call);                                                                                      \
    if (code_ != dnnl_success) {                                                                                       \
      status = dnnl_failed(code_, what);                                                                               \
      goto done;                                                                                                       \
    }                                                                                                                  \
  } while (0)

/* oneDNN generates code into mappings of up to 320 kB and does not look whether it got them: without one it writes to
 * address 0. Its first product needs 24 of them, 6 MB. So room for more than that is asked for before each call in
 * which it may generate code. */
static comp_status code_room(void) {
  return comp__room((size_t)16 << 20);
}

static void primitive_release(primitive *p) {
  if (p->run) dnnl_primitive_destroy(p->run);
  if (p->a) dnnl_memory_destroy(p->a);
  if (p->b) dnnl_memory_destroy(p->b);
  if (p->c) dnnl_memory_destroy(p->c);
  if (p->scratch) dnnl_memory_destroy(p->scratch);
  *p = (primitive){0};
}

static void state_clear(thread_state *state) {
  for (size_t i = 0; i < SLOTS; i++) primitive_release(&state->slots[i]);
  state->count = 0;
}

static void state_free(void *raw) {
  thread_state *state = raw;
  state_clear(state);
  if (state->stream) dnnl_stream_destroy(state->stream);
  if (state->engine) dnnl_engine_destroy(state->engine);
  comp__free(state);
}

/* The oneDNN calls that differ between versions 2 and 3: matrix descriptors and the descriptor of the product. */
typedef dnnl_memory_desc_t matrix_desc;

#if DNNL_VERSION_MAJOR == 2

static void matrix_desc_release(matrix_desc *desc) {
  (void)desc;
}

static dnnl_status_t matrix_desc_init(matrix_desc *desc, const dnnl_dims_t dims, const dnnl_dims_t strides) {
  return dnnl_memory_desc_init_by_strides(desc, 2, dims, dnnl_f32, strides);
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops) {
  return dnnl_post_ops_append_sum(ops, 1.0f);
}

static dnnl_status_t product_desc_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, dnnl_primitive_attr_t attr,
                                         const matrix_desc *a, const matrix_desc *b, const matrix_desc *c) {
  dnnl_matmul_desc_t desc;
  dnnl_status_t code = dnnl_matmul_desc_init(&desc, a, b, NULL, c);
  return code == dnnl_success ? dnnl_primitive_desc_create(out, &desc, attr, engine, NULL) : code;
}

static dnnl_status_t matrix_create(dnnl_memory_t *out, const matrix_desc *desc, dnnl_engine_t engine) {
  return dnnl_memory_create(out, desc, engine, DNNL_MEMORY_NONE);
}

#else

static void matrix_desc_release(matrix_desc *desc) {
  if (*desc) dnnl_memory_desc_destroy(*desc);
}

static dnnl_status_t matrix_desc_init(matrix_desc *desc, const dnnl_dims_t dims, const dnnl_dims_t strides) {
  return dnnl_memory_desc_create_with_strides(desc, 2, dims, dnnl_f32, strides);
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops) {
  return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
}

static dnnl_status_t product_desc_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine, dnnl_primitive_attr_t attr,
                                         const matrix_desc *a, const matrix_desc *b, const matrix_desc *c) {
  return dnnl_matmul_primitive_desc_create(out, engine, *a, *b, NULL, *c, attr);
}

static dnnl_status_t matrix_create(dnnl_memory_t *out, const matrix_desc *desc, dnnl_engine_t engine) {
  return dnnl_memory_create(out, *desc, engine, DNNL_MEMORY_NONE);
}

#endif

static dnnl_status_t operand_desc_init(matrix_desc *desc, int64_t rows, int64_t cols, int64_t ld, bool transposed) {
  const dnnl_dims_t dims = {rows, cols};
  const dnnl_dims_t strides = {transposed ? 1 : ld, transposed ? ld : 1};
  return matrix_desc_init(desc, dims, strides);
}

/* Scratch memory is lent by the thread, so that many primitives cost no more of it than the largest. */
static comp_status make_attributes(dnnl_primitive_attr_t attr, dnnl_post_ops_t ops, bool accumulate) {
  comp_status status = COMP_OK;
  TRY_DNNL(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), "attribute");
  if (accumulate) {
    TRY_DNNL(append_sum(ops), "attribute");
    TRY_DNNL(dnnl_primitive_attr_set_post_ops(attr, ops), "attribute");
  }
done:
  return status;
}

static comp_status primitive_init(primitive *p, const thread_state *state, const shape *s) {
  *p = (primitive){.shape = *s};
  matrix_desc a = {0}, b = {0}, c = {0};
  dnnl_primitive_attr_t attr = NULL;
  dnnl_post_ops_t ops = NULL;
  dnnl_primitive_desc_t product = NULL;
  comp_status status = COMP_OK;

  COMP__TRY(code_room());
  TRY_DNNL(operand_desc_init(&a, s->m, s->k, s->lda, s->flags & COMP__TRANS_A), "descriptor");
  TRY_DNNL(operand_desc_init(&b, s->k, s->n, s->ldb, s->flags & COMP__TRANS_B), "descriptor");
  TRY_DNNL(operand_desc_init(&c, s->m, s->n, s->ldc, false), "descriptor");
  TRY_DNNL(dnnl_primitive_attr_create(&attr), "attribute");
  TRY_DNNL(dnnl_post_ops_create(&ops), "attribute");
  COMP__TRY(make_attributes(attr, ops, s->flags & COMP__ACCUMULATE));
  TRY_DNNL(product_desc_create(&product, state->engine, attr, &a, &b, &c), "product description");
  TRY_DNNL(dnnl_primitive_create(&p->run, product), "primitive creation");
  TRY_DNNL(matrix_create(&p->a, &a, state->engine), "memory");
  TRY_DNNL(matrix_create(&p->b, &b, state->engine), "memory");
  TRY_DNNL(matrix_create(&p->c, &c, state->engine), "memory");
  TRY_DNNL(dnnl_memory_create(&p->scratch, dnnl_primitive_desc_query_md(product, dnnl_query_scratchpad_md, 0),
                              state->engine, DNNL_MEMORY_NONE),
           "memory");
  p->scratch_size = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(product, dnnl_query_scratchpad_md, 0));
done:
  if (product) dnnl_primitive_desc_destroy(product);
  if (ops) dnnl_post_ops_destroy(ops);
  if (attr) dnnl_primitive_attr_destroy(attr);
  matrix_desc_release(&c);
  matrix_desc_release(&b);
  matrix_desc_release(&a);
  if (status != COMP_OK) primitive_release(p);
  return status;
}

static comp_status state_new(thread_state **out) {
  *out = NULL;
  thread_state *state;
  comp_status status = comp__calloc(&state, 1, sizeof *state);
  if (status != COMP_OK) return status;
  TRY_DNNL(dnnl_engine_create(&state->engine, dnnl_cpu, 0), "engine creation");
  TRY_DNNL(dnnl_stream_create(&state->stream, state->engine, dnnl_stream_default_flags), "stream creation");
  *out = state;
done:
  if (status != COMP_OK) state_free(state);
  return status;
}

/* oneDNN multiplies f32 only, so it need not know of AMX: its version 2.6.3 takes tiles for granted that a hypervisor
 * may hide the description of, and dies. On other CPUs than x86-64 there is nothing to choose. */
static void cap_onednn(void) {
#if defined(__x86_64__)
  static const dnnl_cpu_isa_t most[COMP__CPU_KINDS] = {dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2, dnnl_cpu_isa_avx512_core,
                                                       dnnl_cpu_isa_avx512_core, dnnl_cpu_isa_avx512_core};
  dnnl_set_max_cpu_isa(most[comp__cpu()]); /* refused if the host program has used oneDNN before: it stays as it is */
#endif
}

/* Besides making the key, lets oneDNN set up what all its primitives share, while no other thread uses it: its own
 * guard around that is one that the thread sanitizer cannot see. A failure here will come again, and be reported, in
 * the product. */
static void first_use(void) {
  cap_onednn();
  state_key_failed = pthread_key_create(&state_key, state_free);
  thread_state *state;
  primitive p;
  if (state_new(&state) != COMP_OK) return;
  const shape smallest = {.m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1};
  if (primitive_init(&p, state, &smallest) == COMP_OK) primitive_release(&p);
  state_free(state);
}

/* This thread's state, made when it is first asked for and freed when the thread ends. */
static comp_status state_get(thread_state **out) {
  if (state_key_failed) return comp__error(COMP_ERR_UNAVAILABLE, "matrix product: no thread-local storage left");
  *out = pthread_getspecific(state_key);
  if (*out) return COMP_OK;
  comp_status status = state_new(out);
  if (status == COMP_OK && pthread_setspecific(state_key, *out)) {
    state_free(*out);
    status = comp__error(COMP_ERR_MEMORY, "matrix product: out of memory");
  }
  return status;
}

static size_t shape_hash(const shape *s) {
  const uint64_t words[] = {(uint64_t)s->m,   (uint64_t)s->n,   (uint64_t)s->k, (uint64_t)s->lda,
                            (uint64_t)s->ldb, (uint64_t)s->ldc, s->flags};
  return (size_t)comp__mix(0, words, sizeof words);
}

static comp_status primitive_get(primitive **out, thread_state *state, const shape *s) {
  size_t slot = shape_hash(s) % SLOTS;
  for (; state->slots[slot].run; slot = (slot + 1) % SLOTS) {
    if (memcmp(&state->slots[slot].shape, s, sizeof *s) == 0) {
      *out = &state->slots[slot];
      return COMP_OK;
    }
  }
  if (state->count == MOST_PRIMITIVES) {
    state_clear(state);
    slot = shape_hash(s) % SLOTS;
  }
  comp_status status = primitive_init(&state->slots[slot], state, s);
  if (status != COMP_OK) return status;
  state->count++;
  *out = &state->slots[slot];
  return COMP_OK;
}

/* dnnl_memory_set_data_handle() takes a pointer that is not const also for what is only read. */
static void *writable(const void *pointer) {
  return (void *)(uintptr_t)pointer;
}

static comp_status run_primitive(const shape *s, const operands *at) {
  thread_state *state;
  primitive *p;
  void *scratch; /* lent by the thread */
  comp_status status = state_get(&state);
  if (status != COMP_OK) return status;
  COMP__TRY(primitive_get(&p, state, s));
  COMP__TRY(comp__thread_memory(&scratch, COMP__MEMORY_TILE, p->scratch_size, 1));
  TRY_DNNL(dnnl_memory_set_data_handle(p->a, writable(at->a)), "memory");
  TRY_DNNL(dnnl_memory_set_data_handle(p->b, writable(at->b)), "memory");
  TRY_DNNL(dnnl_memory_set_data_handle(p->c, at->c), "memory");
  TRY_DNNL(dnnl_memory_set_data_handle(p->scratch, scratch), "memory");
  const dnnl_exec_arg_t args[] = {
      {DNNL_ARG_SRC, p->a}, {DNNL_ARG_WEIGHTS, p->b}, {DNNL_ARG_DST, p->c}, {DNNL_ARG_SCRATCHPAD, p->scratch}};
  TRY_DNNL(dnnl_primitive_execute(p->run, state->stream, (int)(sizeof args / sizeof *args), args), "product");
  TRY_DNNL(dnnl_stream_wait(state->stream), "product");
done:
  return status;
}

#if defined(__aarch64__)

/* Debian's oneDNN for arm64 is built without Arm's library of kernels. It then has its plain C++ product only, which
 * takes seven times the instructions of OpenBLAS. */
static comp_status run_sgemm(const shape *s, const operands *at) {
  const CBLAS_TRANSPOSE trans_a = s->flags & COMP__TRANS_A ? CblasTrans : CblasNoTrans;
  const CBLAS_TRANSPOSE trans_b = s->flags & COMP__TRANS_B ? CblasTrans : CblasNoTrans;
  const float beta = s->flags & COMP__ACCUMULATE ? 1.0f : 0.0f;
  cblas_sgemm(CblasRowMajor, trans_a, trans_b, (int)s->m, (int)s->n, (int)s->k, 1.0f, at->a, (int)s->lda, at->b,
              (int)s->ldb, beta, at->c, (int)s->ldc);
  return COMP_OK;
}

static bool primitive_wins(const shape *s) {
  (void)s;
  return false;
}

#else

/* code_room(), for the first product of a shape on this thread. */
static comp_status sgemm_room(const shape *s) {
  thread_state *state;
  const size_t bit = shape_hash(s) % SEEN_BITS;
  comp_status status = state_get(&state);
  if (status == COMP_OK && !(state->seen[bit / 64] >> bit % 64 & 1)) {
    status = code_room();
    if (status == COMP_OK) state->seen[bit / 64] |= (uint64_t)1 << bit % 64;
  }
  return status;
}

static comp_status run_sgemm(const shape *s, const operands *at) {
  comp_status status = sgemm_room(s);
  if (status != COMP_OK) return status;
  const char trans_a = s->flags & COMP__TRANS_A ? 'T' : 'N', trans_b = s->flags & COMP__TRANS_B ? 'T' : 'N';
  const float beta = s->flags & COMP__ACCUMULATE ? 1.0f : 0.0f;
  dnnl_status_t code =
      dnnl_sgemm(trans_a, trans_b, s->m, s->n, s->k, 1.0f, at->a, s->lda, at->b, s->ldb, beta, at->c, s->ldc);
  return code == dnnl_success ? COMP_OK : dnnl_failed(code, "sgemm");
}

/* dnnl_sgemm() and the primitive are equally fast on large f32 tiles, but sgemm is slow to pack a transposed B and
 * wastes lanes on few columns, and the primitive is slower on some long k. */
static bool primitive_wins(const shape *s) {
  return s->flags & COMP__TRANS_B || s->n <= 64;
}

#endif

/* One tile on this thread. */
static comp_status run_single(const shape *s, const operands *at) {
  return primitive_wins(s) ? run_primitive(s, at) : run_sgemm(s, at);
}

/* ---- tiles ---- */

/* A tile size, good when the product then has `enough` tiles. */
typedef struct tile {
  size_t rows, cols, enough;
} tile;

/* Sizes to try in order, down to the smallest that are still efficient. */
static const tile tiles[] = {{256, 512, 16}, {128, 512, 16}, {64, 512, 8}, {64, 256, 8}, {64, 128, 0}};
/* Here k is long, and a weight gradient small: k is cut rather than rows. */
static const tile tiles_long_k[] = {{256, 512, 0}};

enum {
  LONG_K = 2048,            /* what is long */
  LEAST_K = 512,            /* no piece of k is shorter */
  FEW_TILES = 8,            /* k is cut when there are fewer */
  ENOUGH_TILES = 16,        /* ... into pieces that make so many */
  LEAST_TILE_WORK = 1 << 19 /* multiplications in a tile: some 10 microseconds */
};

/* How a product is cut: bounds are multiples of rows, cols and depth. */
typedef struct plan {
  size_t rows, cols, depth;
  size_t row_tiles, col_tiles, depth_tiles;
} plan;

typedef struct product {
  shape shape;
  operands at;
  plan plan;
  float *partial; /* [depth_tiles - 1, m, n] */
} product;

/* Cuts n into `count` (at least 1) nearly even pieces of a multiple of `unit`, or fewer when that covers n. */
static void cut(size_t *piece, size_t *pieces, size_t n, size_t count, size_t unit) {
  if (count == 0) count = 1;
  *piece = comp__ceil_div(comp__ceil_div(n, count), unit) * unit;
  *pieces = comp__ceil_div(n, *piece);
}

static plan make_plan(size_t m, size_t n, size_t k, unsigned flags) {
  const tile *size = (flags & COMP__TRANS_A) && k >= LONG_K ? tiles_long_k : tiles;
  while (comp__ceil_div(m, size->rows) * comp__ceil_div(n, size->cols) < size->enough) size++;
  plan p;
  cut(&p.cols, &p.col_tiles, n, comp__ceil_div(n, size->cols), 64);
  size_t rows = size->rows;
  while (rows < m && rows * (n < p.cols ? n : p.cols) * k < LEAST_TILE_WORK) rows *= 2;
  cut(&p.rows, &p.row_tiles, m, m / rows, 16);

  const size_t flat = p.row_tiles * p.col_tiles;
  size_t pieces = 1;
  if (flat < FEW_TILES && k >= 2 * LEAST_K && m * n < k * 64) {
    pieces = ENOUGH_TILES / flat;
    if (pieces > k / LEAST_K) pieces = k / LEAST_K;
  }
  cut(&p.depth, &p.depth_tiles, k, pieces, 64);
  return p;
}

/* Tile number t: pieces of k outermost, then rows, then columns, so that a row of tiles finds its A in cache. */
static comp_status run_tile(const product *p, size_t t) {
  const plan *by = &p->plan;
  const size_t m = (size_t)p->shape.m, n = (size_t)p->shape.n;
  const size_t lda = (size_t)p->shape.lda, ldb = (size_t)p->shape.ldb, ldc = (size_t)p->shape.ldc;
  const size_t col = t % by->col_tiles * by->cols;
  const size_t row = t / by->col_tiles % by->row_tiles * by->rows;
  const size_t piece = t / (by->col_tiles * by->row_tiles), depth = piece * by->depth;

  shape s = p->shape;
  s.m = (int64_t)comp__piece_size(m, by->rows, row);
  s.n = (int64_t)comp__piece_size(n, by->cols, col);
  s.k = (int64_t)comp__piece_size((size_t)s.k, by->depth, depth);
  operands at = {
      p->at.a + (s.flags & COMP__TRANS_A ? depth * lda + row : row * lda + depth),
      p->at.b + (s.flags & COMP__TRANS_B ? col * ldb + depth : depth * ldb + col),
      p->at.c + row * ldc + col,
  };
  if (piece > 0) {
    at.c = p->partial + ((piece - 1) * m + row) * n + col;
    s.ldc = (int64_t)n;
    s.flags &= ~(uint64_t)COMP__ACCUMULATE;
  }
  return run_single(&s, &at);
}

/* oneDNN's generated code uses the stack pointer in ways that a signal handler on the same stack does not survive: with
 * version 2.6.3 the handler's frame overwrites memory. So no signal may arrive while a product runs. */
static void block_signals(sigset_t *old) {
  sigset_t all;
  sigfillset(&all);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE,
                        SIGILL}; /* these come from the code itself: whoever watches for them must see them */
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
  pthread_sigmask(SIG_SETMASK, &all, old);
}

static comp_status run_tiles(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const int host_threads = omp_get_max_threads(); /* the setting is this thread's own, and may be our caller's */
  sigset_t host_signals;
  omp_set_num_threads(1);
  block_signals(&host_signals);
  comp_status status = COMP_OK;
  for (size_t t = begin; t < end && status == COMP_OK; t++) status = run_tile(arg, t);
  pthread_sigmask(SIG_SETMASK, &host_signals, NULL);
  omp_set_num_threads(host_threads);
  return status;
}

/* Adds the partial products to rows begin .. end - 1 of C, in order. */
static void add_partial(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const product *p = arg;
  const size_t m = (size_t)p->shape.m, n = (size_t)p->shape.n, ldc = (size_t)p->shape.ldc;
  for (size_t row = begin; row < end; row++) {
    float *restrict c = p->at.c + row * ldc;
    for (size_t piece = 0; piece + 1 < p->plan.depth_tiles; piece++) {
      const float *restrict add = p->partial + (piece * m + row) * n;
      for (size_t col = 0; col < n; col++) c[col] += add[col];
    }
  }
}

static void clear(float *c, size_t ldc, size_t m, size_t n) {
  for (size_t row = 0; row < m; row++) memset(c + row * ldc, 0, n * sizeof *c);
}

bool comp__matmul_is_trivial(float *c, size_t ldc, size_t m, size_t n, size_t k, unsigned flags) {
  if (m > 0 && n > 0 && k > 0) return false;
  if (!(flags & COMP__ACCUMULATE)) clear(c, ldc, m, n);
  return true;
}

static comp_status run_product(comp_context *context, product *p) {
  const size_t m = (size_t)p->shape.m, n = (size_t)p->shape.n;
  comp_status status = COMP_OK;
  if (p->plan.depth_tiles > 1)
    status =
        comp__thread_memory(&p->partial, COMP__MEMORY_PRODUCT, (p->plan.depth_tiles - 1) * m * n, sizeof *p->partial);
  if (status != COMP_OK) return status;
  const size_t all = p->plan.row_tiles * p->plan.col_tiles * p->plan.depth_tiles;
  status = comp__parallel_try(context, all, 1, run_tiles, p);
  if (status == COMP_OK && p->plan.depth_tiles > 1) {
    const size_t rows_at_once = comp__ceil_div(1 << 14, n);
    comp__parallel_for(context, m, rows_at_once, add_partial, p);
  }
  return status;
}

comp_status comp__matmul_f32(comp_context *context, float *c, size_t ldc, const float *a, size_t lda, const float *b,
                             size_t ldb, size_t m, size_t n, size_t k, unsigned flags) {
  assert(ldc >= n && lda >= (flags & COMP__TRANS_A ? m : k) && ldb >= (flags & COMP__TRANS_B ? k : n));
  if (comp__matmul_is_trivial(c, ldc, m, n, k, flags)) return COMP_OK;
  pthread_once(&once, first_use);
  product p = {.shape = {(int64_t)m, (int64_t)n, (int64_t)k, (int64_t)lda, (int64_t)ldb, (int64_t)ldc, flags},
               .at = {a, b, c},
               .plan = make_plan(m, n, k, flags)};
  return run_product(context, &p);
}
