/*
 * onednn_peak.c: the best matrix-product rate of plain oneDNN on this machine, without libcomp: what libcomp's own rate
 * is compared with. oneDNN uses its own OpenMP threads here, as many as the CPUs (OMP_NUM_THREADS changes it).
 *
 * Usage: onednn_peak [seconds for each measurement = 0.5]
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <oneapi/dnnl/dnnl.h>

static void check(dnnl_status_t status, const char *what) {
  if (status == dnnl_success) return;
  fprintf(stderr, "onednn_peak: %s failed with status %d\n", what, (int)status);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static float *a, *b, *c; /* as large as the largest shape; also serve as bf16 */
static double seconds = 0.5;

/* A matmul primitive C = A B on plain row-major matrices. */
typedef struct product {
  dnnl_primitive_t run;
  dnnl_memory_t a, b, c;
} product;

#if DNNL_VERSION_MAJOR == 2

static dnnl_memory_t matrix(dnnl_memory_desc_t *desc, dnnl_dim_t rows, dnnl_dim_t cols, void *data) {
  const dnnl_dims_t dims = {rows, cols};
  dnnl_memory_t memory;
  check(dnnl_memory_desc_init_by_tag(desc, 2, dims, dnnl_f32, dnnl_ab), "descriptor");
  check(dnnl_memory_create(&memory, desc, engine, data), "memory");
  return memory;
}

/* 0 when there is no implementation. */
static int product_init(product *p, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k) {
  dnnl_memory_desc_t da, db, dc;
  p->a = matrix(&da, m, k, a);
  p->b = matrix(&db, k, n, b);
  p->c = matrix(&dc, m, n, c);
  dnnl_matmul_desc_t desc;
  dnnl_primitive_desc_t primitive;
  check(dnnl_matmul_desc_init(&desc, &da, &db, NULL, &dc), "matmul descriptor");
  if (dnnl_primitive_desc_create(&primitive, &desc, NULL, engine, NULL) != dnnl_success) return 0;
  check(dnnl_primitive_create(&p->run, primitive), "primitive");
  dnnl_primitive_desc_destroy(primitive);
  return 1;
}

#else

static dnnl_memory_t matrix(dnnl_memory_desc_t *desc, dnnl_dim_t rows, dnnl_dim_t cols, void *data) {
  const dnnl_dims_t dims = {rows, cols};
  dnnl_memory_t memory;
  check(dnnl_memory_desc_create_with_tag(desc, 2, dims, dnnl_f32, dnnl_ab), "descriptor");
  check(dnnl_memory_create(&memory, *desc, engine, data), "memory");
  return memory;
}

static int product_init(product *p, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k) {
  dnnl_memory_desc_t da, db, dc;
  p->a = matrix(&da, m, k, a);
  p->b = matrix(&db, k, n, b);
  p->c = matrix(&dc, m, n, c);
  dnnl_primitive_desc_t primitive;
  if (dnnl_matmul_primitive_desc_create(&primitive, engine, da, db, NULL, dc, NULL) != dnnl_success) return 0;
  check(dnnl_primitive_create(&p->run, primitive), "primitive");
  dnnl_primitive_desc_destroy(primitive);
  dnnl_memory_desc_destroy(da);
  dnnl_memory_desc_destroy(db);
  dnnl_memory_desc_destroy(dc);
  return 1;
}

#endif

static double rate_primitive(dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k) {
  product p;
  if (!product_init(&p, m, n, k)) return 0.0;
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}};
  double best = 1e30;
  for (double start = now(); now() - start < seconds;) {
    const double before = now();
    check(dnnl_primitive_execute(p.run, stream, 3, args), "product");
    check(dnnl_stream_wait(stream), "product");
    const double time = now() - before;
    best = time < best ? time : best;
  }
  dnnl_primitive_destroy(p.run);
  dnnl_memory_destroy(p.a);
  dnnl_memory_destroy(p.b);
  dnnl_memory_destroy(p.c);
  return 2e-9 * (double)m * (double)n * (double)k / best;
}

static double rate_sgemm(dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k) {
  double best = 1e30;
  for (double start = now(); now() - start < seconds;) {
    const double before = now();
    check(dnnl_sgemm('N', 'N', m, n, k, 1.0f, a, k, b, n, 0.0f, c, n), "sgemm");
    const double time = now() - before;
    best = time < best ? time : best;
  }
  return 2e-9 * (double)m * (double)n * (double)k / best;
}

static double larger(double x, double y) {
  return x > y ? x : y;
}

int main(int argc, char **argv) {
  static const dnnl_dim_t shapes[][3] = {{512, 512, 512},    {1024, 512, 512},   {1024, 1024, 1024}, {2048, 1024, 1024},
                                         {2048, 2048, 2048}, {4096, 1024, 1024}, {4096, 4096, 512}};
  const size_t n_shapes = sizeof shapes / sizeof *shapes, count = (size_t)4096 * 4096;
  if (argc > 1) seconds = atof(argv[1]);
  check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
  check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
  a = malloc(count * sizeof *a);
  b = malloc(count * sizeof *b);
  c = malloc(count * sizeof *c);
  if (!a || !b || !c) return 1;
  for (size_t i = 0; i < count; i++) a[i] = b[i] = 1.0f;

  double best = 0.0;
  printf("oneDNN %d.%d.%d, %d threads, GFLOP/s\n", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH,
         omp_get_max_threads());
  printf("%6s %6s %6s %12s %12s\n", "m", "n", "k", "f32 sgemm", "f32 matmul");
  for (size_t i = 0; i < n_shapes; i++) {
    const dnnl_dim_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
    const double sgemm = rate_sgemm(m, n, k), f32 = rate_primitive(m, n, k);
    printf("%6d %6d %6d %12.1f %12.1f\n", (int)m, (int)n, (int)k, sgemm, f32);
    best = larger(best, larger(sgemm, f32));
  }
  printf("best f32 %.1f\n", best);
  free(a);
  free(b);
  free(c);
  dnnl_stream_destroy(stream);
  dnnl_engine_destroy(engine);
  return 0;
}
