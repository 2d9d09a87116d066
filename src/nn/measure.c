/* measure.c: how fast this machine is, through our own kernels: the limits that other measurements are compared with.
 */
#include "comp/machine.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/threads.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

enum {
  ROWS_A_THREAD = 512, /* of a product: whole tiles for every thread */
  LEAST_ROWS = 2048,
  MOST_ROWS = 32768,
  SIDE = 768,               /* its other two dimensions: no power of two, which would crowd a few sets of the cache */
  MEMORY_BYTES = 256 << 20, /* a buffer: well beyond any cache that two cores have */
  MEMORY_CHUNK = 4 << 20,
  EXP_COUNT = 4096, /* elements: stay in the first-level cache */
  EXP_ROUNDS = 64,  /* each thread, a repeat */
  LEAST_REPEATS = 3
};

/* Something to be timed: `run` does `work` units a call. */
typedef struct timed {
  comp_status (*run)(comp_context *context, void *arg);
  void *arg;
  double work;
} timed;

/* The best rate, in units of work a second, of the repeats that fit into `seconds` after one to warm up. */
static comp_status best_rate(double *out, comp_context *context, const timed *job, double seconds) {
  comp_status status = job->run(context, job->arg);
  double best = INFINITY;
  const double start = comp__seconds();
  for (int i = 0; status == COMP_OK && (i < LEAST_REPEATS || comp__seconds() - start < seconds); i++) {
    const double before = comp__seconds();
    COMP__TRY(job->run(context, job->arg));
    best = fmin(best, comp__seconds() - before);
    COMP__TRY(comp__check_interrupt(context));
  }
  *out = job->work / best;
done:
  return status;
}

/* ---- matrix products ---- */

typedef struct factors {
  size_t rows;
  float *c;
  const float *a, *b;
  const uint16_t *a16, *b16;
} factors;

static comp_status multiply_f32(comp_context *context, void *arg) {
  const factors *f = arg;
  return comp__matmul_f32(context, f->c, SIDE, f->a, SIDE, f->b, SIDE, f->rows, SIDE, SIDE, 0);
}

static comp_status multiply_bf16(comp_context *context, void *arg) {
  const factors *f = arg;
  return comp__matmul_bf16(context, f->c, SIDE, f->a16, SIDE, f->b16, SIDE, f->rows, SIDE, SIDE, 0);
}

static comp_status measure_products(comp_machine_rates *out, comp_context *context, double seconds) {
  size_t rows = (size_t)comp_context_thread_count(context) * ROWS_A_THREAD;
  while (rows < LEAST_ROWS) rows *= 2;
  if (rows > MOST_ROWS) rows = MOST_ROWS;
  float *c = NULL, *a = NULL;
  uint16_t *a16 = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&c, rows * SIDE, sizeof *c));
  COMP__TRY(comp__alloc(&a, rows * SIDE, sizeof *a));
  COMP__TRY(comp__alloc(&a16, rows * SIDE, sizeof *a16));
  for (size_t i = 0; i < rows * SIDE; i++) a[i] = (float)(i % 31) / 32.0f - 0.5f;
  comp__f32_to_bf16(a16, a, rows * SIDE);

  factors f = {rows, c, a, a, a16, a16}; /* B is the first part of A: it has fewer rows */
  timed job = {multiply_f32, &f, 2.0 * (double)rows * SIDE * SIDE};
  COMP__TRY(best_rate(&out->f32_flops, context, &job, seconds));
  if (comp__matmul_bf16_kernel()) {
    job.run = multiply_bf16;
    COMP__TRY(best_rate(&out->bf16_flops, context, &job, seconds));
  }
done:
  comp__free(a16);
  comp__free(a);
  comp__free(c);
  return status;
}

/* ---- memory ---- */

typedef struct buffers {
  char *to;
  const char *from;
} buffers;

/* What the reading loop found, so that it cannot be left out. */
static volatile uint64_t read_result;

static void read_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const uint64_t *words = (const uint64_t *)(const void *)(((const buffers *)arg)->from + begin);
  const size_t n = (end - begin) / sizeof *words;
  uint64_t sum[16] = {0};
  for (size_t i = 0; i + 16 <= n; i += 16)
    for (size_t j = 0; j < 16; j++) sum[j] ^= words[i + j];
  uint64_t all = 0;
  for (size_t j = 0; j < 16; j++) all ^= sum[j];
  if (all == 42) read_result = all; /* never stored, as the buffer holds zeros: threads must not write to one place */
}

static void copy_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const buffers *b = arg;
  memcpy(b->to + begin, b->from + begin, end - begin);
}

static comp_status read_memory(comp_context *context, void *arg) {
  comp__parallel_for(context, MEMORY_BYTES, MEMORY_CHUNK, read_chunk, arg);
  return COMP_OK;
}

static comp_status copy_memory(comp_context *context, void *arg) {
  comp__parallel_for(context, MEMORY_BYTES, MEMORY_CHUNK, copy_chunk, arg);
  return COMP_OK;
}

static comp_status measure_memory(comp_machine_rates *out, comp_context *context, double seconds) {
  char *from = NULL, *to = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&from, MEMORY_BYTES, 1));
  COMP__TRY(comp__alloc(&to, MEMORY_BYTES, 1));
  memset(from, 0, MEMORY_BYTES); /* written, or all its pages would be one and the same */
  memset(to, 0, MEMORY_BYTES);
  buffers b = {to, from};
  timed job = {read_memory, &b, (double)MEMORY_BYTES};
  COMP__TRY(best_rate(&out->read_bytes, context, &job, seconds));
  job = (timed){copy_memory, &b, 2.0 * MEMORY_BYTES};
  COMP__TRY(best_rate(&out->copy_bytes, context, &job, seconds));
done:
  comp__free(to);
  comp__free(from);
  return status;
}

/* ---- vector exp ---- */

static void exp_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)begin, (void)end, (void)thread;
  float out[EXP_COUNT];
  for (int i = 0; i < EXP_ROUNDS; i++) comp__vec_exp(out, arg, EXP_COUNT);
}

static comp_status take_exp(comp_context *context, void *arg) {
  comp__parallel_for(context, (size_t)comp_context_thread_count(context), 1, exp_chunk, arg);
  return COMP_OK;
}

static comp_status measure_exp(comp_machine_rates *out, comp_context *context, double seconds) {
  float in[EXP_COUNT];
  for (int i = 0; i < EXP_COUNT; i++) in[i] = (float)(i - EXP_COUNT) / 128.0f;
  const timed job = {take_exp, in, (double)EXP_COUNT * EXP_ROUNDS * comp_context_thread_count(context)};
  return best_rate(&out->exp_elements, context, &job, seconds);
}

const char *comp_cpu_kind(void) {
  return comp__cpu_name(comp__cpu());
}

comp_status comp_cpu_check(void) {
  return comp__cpu_check();
}

const char *comp_cpu_bf16(void) {
  const char *kernel = comp__matmul_bf16_kernel();
  return kernel ? kernel : "none";
}

bool comp_cpu_prefers_bf16(void) {
  return comp__cpu_prefers_bf16();
}

comp_status comp_machine_measure(comp_machine_rates *out, comp_context *context, double seconds) {
  COMP__NEED(out, context);
  *out = (comp_machine_rates){0};
  if (!(seconds >= 0.0 && seconds <= 3600.0))
    return comp__error(COMP_ERR_ARGUMENT, "seconds: %g is not between 0 and 3600", seconds);
  comp_status status;
  COMP__TRY(comp__check_interrupt(context));
  COMP__TRY(measure_products(out, context, seconds));
  COMP__TRY(measure_memory(out, context, seconds));
  COMP__TRY(measure_exp(out, context, seconds));
done:
  return status;
}
