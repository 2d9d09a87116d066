/*
 * matmul_shapes.c: the rate of each product of a training step, at the shapes of the paper's networks, beside the rate
 * of a large product.
 *
 * Usage: matmul_shapes [threads = all [seconds for each product = 0.3]]
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "comp/comp.h"
#include "core/context.h"
#include "nn/matmul.h"
#include "nn/vecmath.h"

/* A dense layer y[batch, out] = x[batch, in] w[in, out]; `first` layers need no gradient of x. */
typedef struct layer {
  const char *network;
  size_t batch, in, out;
  bool first;
} layer;

static const layer layers[] = {
    {"kang", 512, 2000, 512, true},   {"kang", 512, 512, 512, false},    {"kang", 512, 512, 80, false},
    {"kang", 512, 42, 512, false},    {"kang", 512, 512, 2000, false},   {"adult", 4096, 82, 64, true},
    {"adult", 4096, 64, 64, false},   {"adult", 4096, 64, 16, false},    {"adult", 4096, 18, 64, false},
    {"adult", 4096, 64, 82, false},   {"tumour", 5500, 9468, 512, true}, {"tumour", 5500, 512, 512, false},
    {"tumour", 5500, 512, 16, false}, {"tumour", 5500, 18, 512, false},  {"tumour", 5500, 512, 9468, false},
};

typedef struct buffers {
  float *a, *b, *c;
  uint16_t *a16, *b16;
} buffers;

static void check(comp_status status) {
  if (status == COMP_OK) return;
  fprintf(stderr, "matmul_shapes: %s\n", comp_error_message());
  exit(1);
}

static double rate(comp_context *context, const buffers *at, bool bf16, size_t m, size_t n, size_t k, unsigned flags,
                   double seconds) {
  const size_t lda = flags & COMP__TRANS_A ? m : k, ldb = flags & COMP__TRANS_B ? k : n;
  double best = 1e30;
  for (double start = comp__seconds(); comp__seconds() - start < seconds;) {
    const double before = comp__seconds();
    if (bf16)
      check(comp__matmul_bf16(context, at->c, n, at->a16, lda, at->b16, ldb, m, n, k, flags));
    else
      check(comp__matmul_f32(context, at->c, n, at->a, lda, at->b, ldb, m, n, k, flags));
    const double time = comp__seconds() - before;
    best = time < best ? time : best;
  }
  return 2e-9 * (double)m * (double)n * (double)k / best;
}

int main(int argc, char **argv) {
  comp__context_options options = comp__context_defaults();
  if (argc > 1) options.threads = atoi(argv[1]);
  const double seconds = argc > 2 ? atof(argv[2]) : 0.3;
  comp_context *context;
  check(comp__context_new(&context, &options));
  comp_machine_rates rates;
  check(comp_machine_measure(&rates, context, 1.0));
  const double peak[2] = {rates.f32_flops * 1e-9, rates.bf16_flops * 1e-9};
  printf("%d threads; large products: f32 %.1f, bf16 %.1f GFLOP/s; read %.1f, copy %.1f GB/s; exp %.2f G/s\n",
         comp_context_thread_count(context), peak[0], peak[1], rates.read_bytes * 1e-9, rates.copy_bytes * 1e-9,
         rates.exp_elements * 1e-9);

  const size_t count = (size_t)5500 * 9468;
  buffers at = {malloc(count * 4), malloc(count * 4), malloc(count * 4), malloc(count * 2), malloc(count * 2)};
  if (!at.a || !at.b || !at.c || !at.a16 || !at.b16) return 1;
  for (size_t i = 0; i < count; i++) at.a[i] = at.b[i] = (float)(i % 31) / 32.0f - 0.5f;
  comp__f32_to_bf16(at.a16, at.a, count);
  comp__f32_to_bf16(at.b16, at.b, count);

  printf("%-7s %5s %5s %5s  %-4s %15s %15s %15s   GFLOP/s (%% of large)\n", "network", "batch", "in", "out", "type",
         "forward", "dX", "dW");
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    const layer *l = &layers[i];
    for (int bf16 = 0; bf16 <= ((comp__matmul_bf16_kernel() != NULL) ? 1 : 0); bf16++) {
      const double forward = rate(context, &at, bf16, l->batch, l->out, l->in, 0, seconds);
      const double dx = l->first ? 0.0 : rate(context, &at, bf16, l->batch, l->in, l->out, COMP__TRANS_B, seconds);
      const double dw = rate(context, &at, bf16, l->in, l->out, l->batch, COMP__TRANS_A, seconds);
      printf("%-7s %5zu %5zu %5zu  %-4s", l->network, l->batch, l->in, l->out, bf16 ? "bf16" : "f32");
      const double each[3] = {forward, dx, dw};
      for (int j = 0; j < 3; j++) {
        if (each[j] > 0.0)
          printf("  %7.1f (%3.0f%%)", each[j], 100.0 * each[j] / peak[bf16]);
        else
          printf("  %14s", "-");
      }
      printf("\n");
      fflush(stdout);
    }
  }
  free(at.a);
  free(at.b);
  free(at.c);
  free(at.a16);
  free(at.b16);
  comp_context_free(context);
  return 0;
}
