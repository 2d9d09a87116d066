/* test_stream.c: data from disk: every row once an epoch, in an order of its own, with the right values; the same model
 * at any number of threads and after a stop. */
#include "testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/dataset.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "dist/comm_threads.h"
#include "io/options.h"
#include "io/rows.h"
#include "model/trained.h"
#include "train/loader.h"
#include "train/options.h"

enum { ROWS = 1003, COLS = 7 };

static char folder[] = "/tmp/comp-test-stream-XXXXXX";

static int enter(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder) != 0) return -1;
  comp_context *context = test_context(1);
  comp_matrix *dense, *csr;
  comp_dataset *d;
  int32_t codes[ROWS];
  static const char *const levels[] = {"a", "b"};
  assert_ok(comp_matrix_new_dense(&dense, ROWS, COLS));
  for (size_t i = 0; i < ROWS; i++) {
    codes[i] = (int32_t)(i % 3 == 0);
    dense->values[i * COLS] = (float)(i + 1); /* tells rows apart */
    for (size_t g = 1; g < COLS; g++) {
      double u = comp__rng_uniform(comp__rng_at(1, COMP__RNG_TEST, 0, i), g);
      dense->values[i * COLS + g] = u > 0.5 ? (float)u : 0.0f;
    }
  }
  assert_ok(comp_matrix_to_csr(&csr, context, dense));
  for (int sparse = 0; sparse < 2; sparse++) {
    comp__write_options write = comp__write_defaults();
    assert_ok(comp_dataset_new(&d, sparse ? csr : dense, NULL, NULL));
    assert_ok(comp_table_add_categorical(comp_dataset_obs(d), "c", codes, levels, 2));
    assert_ok(comp__dataset_write(context, d, sparse ? "sparse.h5ad" : "dense.h5ad", &write));
    /* For ranks that are threads: HDF5 knows one at a time. */
    assert_ok(comp__dataset_write(context, d, sparse ? "sparse.zarr.zip" : "dense.zarr.zip", &write));
    comp_dataset_free(d);
  }
  comp_context_free(context);
  return 0;
}

static int leave(void **state) {
  (void)state;
  const char *names[] = {"sparse.h5ad", "dense.h5ad", "sparse.zarr.zip", "dense.zarr.zip",
                         "a.comp",      "b.comp",     "run.checkpoint"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) remove(names[i]);
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static float first_value(const comp_matrix *x, size_t row) {
  return x->kind == COMP_CSR ? x->values[x->indptr[row]] : x->values[row * x->cols];
}

static void windows_hold_every_row_once(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  for (int sparse = 0; sparse < 2; sparse++) {
    comp__stream *stream;
    assert_ok(comp__stream_open(&stream, context, sparse ? "sparse.h5ad" : "dense.h5ad", &read, 20000, 5));
    assert_true(comp__stream_windows(stream) > 2);
    size_t order[2][ROWS];
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
      char seen[ROWS] = {0};
      size_t at = 0;
      for (size_t w = 0; w < comp__stream_windows(stream); w++) {
        const comp_matrix *x;
        const size_t *ids;
        assert_ok(comp__stream_window(&x, &ids, context, stream, epoch, w));
        assert_true(comp_matrix_rows(x) <= comp__stream_window_rows(stream, w));
        for (size_t i = 0; i < comp_matrix_rows(x); i++) {
          assert_true(first_value(x, i) == (float)(ids[i] + 1));
          assert_int_equal(seen[ids[i]]++, 0);
          order[epoch][at++] = ids[i];
        }
      }
      assert_int_equal(at, ROWS);
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    comp__stream_close(stream);
  }
  comp_context_free(context);
}

/* ---- Over ranks: what each gets is what one process has ---- */

enum { SHARDS = 8 };

typedef struct shared_job {
  const char *path;
  size_t memory;
  int32_t codes[ROWS];
} shared_job;

static comp__loader *open_loader(comp__stream **stream, comp_context *context, const shared_job *job,
                                 comp__comm *comm) {
  const size_t ranks = comp__comm_ranks(comm), count = SHARDS / ranks;
  comp__read_options read = {0};
  comp__loader *loader;
  assert_ok(comp__stream_open(stream, context, job->path, &read, job->memory, 5));
  assert_ok(comp__stream_share(*stream, comm));
  assert_true(comp__stream_is_shared(*stream) == (ranks > 1));
  comp__loader_options options = {
      .stream = *stream, .samples = ROWS, .codes = job->codes, .conditions = 3, .batch = 50, .validation = 0.1};
  assert_ok(comp__loader_new(&loader, context, &options));
  assert_ok(comp__loader_cut(loader, SHARDS, comp__comm_rank(comm) * count, count));
  return loader;
}

static void same_batch(const comp__batch *a, const comp__batch *b, bool transposed) {
  assert_int_equal(a->rows, b->rows);
  assert_memory_equal(a->ids, b->ids, a->rows * sizeof *a->ids);
  assert_memory_equal(a->start, b->start, 4 * sizeof *a->start);
  for (size_t i = 0; i < a->rows; i++) {
    const size_t p = a->take ? a->take[i] : i, q = b->take ? b->take[i] : i;
    const size_t x = comp__matrix_row_begin(a->x, p), y = comp__matrix_row_begin(b->x, q);
    const size_t n = comp__matrix_row_begin(a->x, p + 1) - x;
    assert_int_equal(n, comp__matrix_row_begin(b->x, q + 1) - y);
    assert_memory_equal(a->x->values + x, b->x->values + y, n * sizeof(float));
    if (a->x->kind == COMP_CSR) assert_memory_equal(a->x->indices + x, b->x->indices + y, n * sizeof(int32_t));
  }
  assert_true(!transposed || (a->input_t != NULL) == (b->input_t != NULL));
}

static void read_rank(void *arg, comp__comm *comm) {
  const shared_job *job = arg;
  comp_context *context = test_context(1), *other = test_context(1);
  const size_t ranks = comp__comm_ranks(comm), first = comp__comm_rank(comm) * (SHARDS / ranks);
  comp__stream *stream, *whole;
  comp__loader *loader = open_loader(&stream, context, job, comm), *alone = open_loader(&whole, other, job, NULL);
  comp__batch all, all_alone, batch, batch_alone;
  assert_int_equal(comp__loader_batches(loader), comp__loader_batches(alone));
  for (uint64_t epoch = 0; epoch < 2; epoch++) {
    comp__loader_begin_epoch(loader, epoch);
    comp__loader_begin_epoch(alone, epoch);
    for (size_t b = 0; b < comp__loader_batches(loader); b++) {
      const comp__batch *shards, *wanted;
      assert_ok(comp__loader_shards(&all, &shards, context, loader, b));
      assert_ok(comp__loader_shards(&all_alone, &wanted, other, alone, b));
      assert_memory_equal(all.ids, all_alone.ids, all.rows * sizeof *all.ids);
      for (size_t i = 0; i < SHARDS / ranks; i++) same_batch(&shards[i], &wanted[first + i], true);
      if (b % 5 > 0) continue; /* whole batches, which all ranks get */
      assert_ok(comp__loader_batch(&batch, context, loader, b));
      assert_ok(comp__loader_batch(&batch_alone, other, alone, b));
      same_batch(&batch, &batch_alone, true);
    }
  }
  for (size_t b = 0; b < comp__loader_validation_batches(loader); b++) {
    assert_ok(comp__loader_validation_batch(&batch, context, loader, b));
    assert_ok(comp__loader_validation_batch(&batch_alone, other, alone, b));
    same_batch(&batch, &batch_alone, false);
  }
  comp__loader_free(loader);
  comp__loader_free(alone);
  comp__stream_close(stream);
  comp__stream_close(whole);
  comp_context_free(context);
  comp_context_free(other);
}

/* A condition of three samples is in several batches, and so with several ranks. */
static void ranks_get_their_rows(void **state) {
  (void)state;
  static shared_job job;
  for (size_t i = 0; i < ROWS; i++) job.codes[i] = i % 400 == 7 ? 2 : (int32_t)(i % 3 == 0);
  for (int sparse = 0; sparse < 2; sparse++) {
    job.path = sparse ? "sparse.zarr.zip" : "dense.zarr.zip";
    for (int kept = 0; kept < 2; kept++) {
      job.memory = kept ? COMP__STREAM_KEPT : 20000;
      for (size_t ranks = 2; ranks <= SHARDS; ranks *= 2) run_ranks(ranks, read_rank, &job);
    }
  }
}

typedef struct pass {
  size_t rows;
} pass;

static comp_status pass_block(void *arg, const comp_matrix *block, size_t first) {
  pass *p = arg;
  assert_int_equal(first, p->rows);
  for (size_t i = 0; i < comp_matrix_rows(block); i++) assert_true(first_value(block, i) == (float)(first + i + 1));
  p->rows += comp_matrix_rows(block);
  return COMP_OK;
}

typedef struct part_job {
  const char *path;
  size_t memory;
} part_job;

/* Each rank has its part of a window alone, and sees all rows in a pass over the file. */
static void read_part(void *arg, comp__comm *comm) {
  comp_context *context = test_context(1);
  const size_t ranks = comp__comm_ranks(comm), *ids;
  size_t total = 0;
  comp__read_options read = {0};
  comp__stream *stream;
  const comp_matrix *x;
  pass p = {0};
  const part_job *job = arg;
  assert_ok(comp__stream_open(&stream, context, job->path, &read, job->memory, 5));
  assert_ok(comp__stream_share(stream, comm));
  for (size_t w = 0; w < comp__stream_windows(stream); w++) {
    assert_ok(comp__stream_window(&x, &ids, context, stream, 0, w));
    const size_t rows = comp__stream_rows_now(stream), begin = comp__comm_cut(rows, comp__comm_rank(comm), ranks);
    assert_true(comp_matrix_rows(x) <= rows / ranks + 1);
    for (size_t i = 0; i < comp_matrix_rows(x); i++) assert_true(first_value(x, i) == (float)(ids[begin + i] + 1));
    total += rows;
  }
  assert_int_equal(total, ROWS);
  assert_ok(comp__stream_scan(context, stream, pass_block, &p));
  assert_int_equal(p.rows, ROWS);
  comp__stream_close(stream);
  comp_context_free(context);
}

static void ranks_share_the_reading(void **state) {
  (void)state;
  static const size_t memory[] = {20000, COMP__STREAM_KEPT};
  for (size_t ranks = 1; ranks <= 5; ranks++)
    for (size_t m = 0; m < 2; m++)
      for (int sparse = 0; sparse < 2; sparse++) {
        part_job job = {sparse ? "sparse.zarr.zip" : "dense.zarr.zip", memory[m]};
        run_ranks(ranks, read_part, &job);
      }
}

/* What ranks compare before they share a file: its shape, the lengths of rows, and the first rows. */
static void digests_tell_files_apart(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  uint64_t digest[3];
  for (int i = 0; i < 3; i++) {
    comp_dataset *d;
    comp__stream *stream;
    comp__write_options write = comp__write_defaults();
    assert_ok(comp__dataset_read(&d, context, "sparse.h5ad", &read));
    if (i == 2) d->x->values[3] += 1.0f;
    assert_ok(comp__dataset_write(context, d, "a.comp.h5ad", &write));
    assert_ok(comp__stream_open(&stream, context, "a.comp.h5ad", &read, i == 1 ? 20000 : COMP__STREAM_KEPT, 5));
    assert_ok(comp__stream_digest(&digest[i], context, stream));
    comp__stream_close(stream);
    comp_dataset_free(d);
  }
  remove("a.comp.h5ad");
  assert_true(digest[0] == digest[1]);
  assert_true(digest[0] != digest[2]);
  comp_context_free(context);
}

static void batches_hold_every_training_row_once(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  comp__stream *stream;
  comp__loader *loader;
  int32_t codes[ROWS];
  for (size_t i = 0; i < ROWS; i++) codes[i] = (int32_t)(i % 3 == 0);
  assert_ok(comp__stream_open(&stream, context, "sparse.h5ad", &read, 20000, 5));
  comp__loader_options options = {
      .stream = stream, .samples = ROWS, .codes = codes, .conditions = 2, .batch = 50, .validation = 0.1};
  assert_ok(comp__loader_new(&loader, context, &options));
  int seen[ROWS] = {0};
  size_t total = 0;
  comp__batch batch;
  for (size_t b = 0; b < comp__loader_batches(loader); b++) {
    assert_ok(comp__loader_batch(&batch, context, loader, b));
    assert_true(batch.rows <= comp__loader_largest_batch(loader));
    for (size_t i = 0; i < batch.rows; i++) {
      assert_true(first_value(batch.x, i) == (float)(batch.ids[i] + 1));
      seen[batch.ids[i]]++;
    }
    total += batch.rows;
  }
  assert_int_equal(total, comp__loader_training_samples(loader));
  for (size_t b = 0; b < comp__loader_validation_batches(loader); b++) {
    assert_ok(comp__loader_validation_batch(&batch, context, loader, b));
    for (size_t i = 0; i < batch.rows; i++) {
      assert_true(first_value(batch.x, i) == (float)(batch.ids[i] + 1));
      seen[batch.ids[i]]++;
    }
  }
  for (size_t i = 0; i < ROWS; i++) assert_int_equal(seen[i], 1);
  comp__loader_free(loader);
  comp__stream_close(stream);
  comp_context_free(context);
}

/* An epoch from disk has no more batches than its training samples need, but for one a window at most; all of them fit
 * in the largest. */
static void an_epoch_is_no_longer_from_disk(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  int32_t codes[ROWS];
  for (size_t i = 0; i < ROWS; i++) codes[i] = (int32_t)(i % 3 == 0);
  static const size_t memory[] = {8000, 20000, 60000, 1 << 30}, sizes[] = {7, 23, 50, 64, 200};
  for (size_t m = 0; m < sizeof memory / sizeof *memory; m++) {
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      comp__stream *stream;
      comp__loader *loader;
      comp__batch batch;
      assert_ok(comp__stream_open(&stream, context, "sparse.h5ad", &read, memory[m], 5));
      comp__loader_options options = {
          .stream = stream, .samples = ROWS, .codes = codes, .conditions = 2, .batch = sizes[k], .validation = 0.3};
      assert_ok(comp__loader_new(&loader, context, &options));
      const size_t needed = (comp__loader_training_samples(loader) + sizes[k] - 1) / sizes[k];
      const size_t windows = comp__stream_windows(stream);
      assert_true(m < 3 ? windows > 1 : windows == 1);
      if (windows == 1)
        assert_int_equal(comp__loader_batches(loader), needed);
      else
        assert_true(comp__loader_batches(loader) <= needed + windows + 1);
      for (uint64_t epoch = 0; epoch < 6; epoch++) {
        comp__loader_begin_epoch(loader, epoch);
        for (size_t b = 0; b < comp__loader_batches(loader); b++) {
          assert_ok(comp__loader_batch(&batch, context, loader, b));
          assert_true(batch.rows > 0 && batch.rows <= comp__loader_largest_batch(loader));
        }
      }
      comp__loader_free(loader);
      comp__stream_close(stream);
    }
  }
  comp_context_free(context);
}

/* The centres of a model of data that is read as a whole. */
static void centres_in_memory(float *out, const comp__train_options *options) {
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  comp__train_options o = *options;
  comp_dataset *d;
  comp_model *model;
  o.stream = NULL;
  o.memory = 0;
  assert_ok(comp__dataset_read(&d, context, "sparse.h5ad", &read));
  assert_ok(comp__train(&model, context, d, &o));
  memcpy(out, model->buffers + model->network.centre, 2 * COLS * sizeof *out);
  comp_model_free(model);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void a_model_from_disk(void **state) {
  (void)state;
  comp__read_options read = {0};
  read.skip_x = true;
  comp__train_options o;
  assert_ok(comp__train_options_init(&o, "comp", "default"));
  o.condition = "c";
  o.model.latent = 2;
  o.model.n_hidden = 1;
  o.model.hidden[0] = 8;
  o.epochs = 3;
  o.batch = 64;
  o.rate = 1e-3;
  o.model.centred = true; /* more passes over the file */
  o.stream = "sparse.h5ad";
  o.memory = (size_t)16 << 20;
  float expected[2 * COLS];
  centres_in_memory(expected, &o);
  for (int t = 0; t < TEST_THREADS_COUNT; t++) {
    comp_context *context = test_context(TEST_THREADS[t]);
    comp_dataset *d;
    comp_model *model;
    assert_ok(comp__dataset_read(&d, context, "sparse.h5ad", &read));
    assert_null(comp_dataset_x(d));
    assert_ok(comp__train(&model, context, d, &o));
    assert_ok(comp_model_save(model, t == 0 ? "a.comp" : "b.comp"));
    const float *centres = model->buffers + model->network.centre;
    assert_memory_equal(centres, expected, sizeof expected);
    if (t > 0) {
      comp_model *first;
      assert_ok(comp_model_load(&first, "a.comp"));
      assert_memory_equal(first->params, model->params, model->network.params.size * sizeof(float));
      comp_model_free(first);
    }
    comp_model_free(model);
    o.stream = "dense.h5ad"; /* the same numbers in another form, but this data set's file is the one that is read */
    assert_ok(comp__train(&model, context, d, &o));
    comp_model_free(model);
    o.stream = "missing.h5ad";
    assert_int_not_equal(comp__train(&model, context, d, &o), COMP_OK);
    assert_null(model);
    o.stream = "sparse.h5ad";
    comp_dataset_free(d);
    comp_context_free(context);
  }
}

/* What a window must hold: the blocks of the drawn order, each read by itself. */
static void windows_are_the_blocks_of_the_order(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  enum { BLOCK = 64, BLOCKS = (ROWS + BLOCK - 1) / BLOCK };
  for (int sparse = 0; sparse < 2; sparse++) {
    const char *path = sparse ? "sparse.h5ad" : "dense.h5ad";
    comp__stream *stream;
    comp__rows *rows;
    assert_ok(comp__stream_open(&stream, context, path, &read, 20000, 5));
    assert_ok(comp__rows_open(&rows, context, path, &read));
    const size_t windows = comp__stream_windows(stream), most = comp__stream_window_rows(stream, 0) / BLOCK;
    /* in order, then as after a stop: any window of any epoch */
    for (size_t turn = 0; turn < 3 * windows; turn++) {
      const uint64_t epoch = turn < windows ? 0 : 7 - turn % 3;
      const size_t w = turn < windows ? turn : (5 * turn + 1) % windows;
      const comp_matrix *x;
      const size_t *ids;
      size_t order[BLOCKS], row = 0;
      comp__rng_permutation(order, BLOCKS, comp__rng_at(5, COMP__RNG_SHUFFLE, epoch, UINT64_MAX));
      assert_ok(comp__stream_window(&x, &ids, context, stream, epoch, w));
      for (size_t b = w * most; b < BLOCKS && b < (w + 1) * most; b++) {
        const size_t begin = order[b] * BLOCK, end = begin + BLOCK < ROWS ? begin + BLOCK : ROWS;
        comp_matrix *block;
        assert_ok(comp__rows_read(&block, context, rows, begin, end));
        for (size_t i = 0; i < block->rows; i++, row++) {
          const size_t from = comp__matrix_row_begin(block, i), n = comp__matrix_row_begin(block, i + 1) - from;
          const size_t to = comp__matrix_row_begin(x, row);
          assert_int_equal(ids[row], begin + i);
          assert_int_equal(comp__matrix_row_begin(x, row + 1) - to, n);
          assert_memory_equal(x->values + to, block->values + from, n * sizeof(float));
          if (sparse) assert_memory_equal(x->indices + to, block->indices + from, n * sizeof(int32_t));
        }
        comp_matrix_free(block);
      }
      assert_int_equal(row, x->rows);
    }
    comp__rows_close(rows);
    comp__stream_close(stream);
  }
  comp_context_free(context);
}

static void copy_file(const char *to, const char *from) {
  char bytes[4096];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_true(in && out);
  for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;) assert_int_equal(fwrite(bytes, 1, n, out), n);
  fclose(in);
  assert_int_equal(fclose(out), 0);
}

/* Asks for windows until one fails. */
static comp_status first_failure(comp_context *context, comp__stream *stream) {
  comp_status status = COMP_OK;
  const comp_matrix *x;
  const size_t *ids;
  for (size_t w = 0; w < 3 * comp__stream_windows(stream) && status == COMP_OK; w++)
    status = comp__stream_window(&x, &ids, context, stream, 1 + w / comp__stream_windows(stream),
                                 w % comp__stream_windows(stream));
  return status;
}

static void a_file_that_changes(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  comp__stream *stream;
  copy_file("other.h5ad", "sparse.h5ad");
  assert_ok(comp__stream_open(&stream, context, "other.h5ad", &read, 20000, 5));
  FILE *file = fopen("other.h5ad", "ab");
  fputs("more", file);
  fclose(file);
  assert_int_equal(first_failure(context, stream), COMP_ERR_IO);
  assert_non_null(strstr(comp_error_message(), "other.h5ad"));
  assert_non_null(strstr(comp_error_message(), "changed while it was being read"));
  comp__stream_close(stream);
  /* one that is replaced is still there for who has it open */
  copy_file("other.h5ad", "sparse.h5ad");
  assert_ok(comp__stream_open(&stream, context, "other.h5ad", &read, 20000, 5));
  copy_file("third.h5ad", "dense.h5ad");
  assert_int_equal(rename("third.h5ad", "other.h5ad"), 0);
  assert_ok(first_failure(context, stream));
  comp__stream_close(stream);
  remove("other.h5ad");
  comp_context_free(context);
}

static void an_unreadable_block(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  comp__stream *stream;
  struct stat info;
  copy_file("other.h5ad", "dense.h5ad");
  assert_int_equal(stat("other.h5ad", &info), 0);
  assert_ok(comp__stream_open(&stream, context, "other.h5ad", &read, 20000, 5));
  /* All that is packed: the times of the file are as they were. */
  FILE *file = fopen("other.h5ad", "r+b");
  fseek(file, 4096, SEEK_SET);
  for (long i = 4096; i < (long)info.st_size; i++) fputc(0x5a, file);
  fclose(file);
  const struct timespec times[2] = {info.st_atim, info.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, "other.h5ad", times, 0), 0);
  comp_status status = first_failure(context, stream);
  assert_true(status == COMP_ERR_FORMAT || status == COMP_ERR_DATA || status == COMP_ERR_IO);
  assert_non_null(strstr(comp_error_message(), "other.h5ad"));
  comp__stream_close(stream);
  remove("other.h5ad");
  comp_context_free(context);
}

static void waiting_can_be_interrupted(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options read = {0};
  comp__stream *stream;
  assert_ok(comp__stream_open(&stream, context, "sparse.h5ad", &read, 20000, 5));
  comp_context_interrupt(context);
  comp_status status = first_failure(context, stream);
  assert_true(status == COMP_ERR_INTERRUPTED || status == COMP_OK); /* what was read already is given */
  comp_context_reset(context);
  assert_ok(first_failure(context, stream));
  comp__stream_close(stream);
  comp_context_free(context);
}

/* Of large data the default makes so many steps, and no whole epoch at the end. */
static void as_many_steps_as_are_needed(void **state) {
  (void)state;
  comp_context *context = test_context(2);
  comp__read_options read = {0};
  comp_dataset *d;
  comp_model *model;
  comp__train_options o;
  assert_ok(comp__train_options_init(&o, "comp", "default"));
  o.condition = "c";
  o.model.latent = 2;
  o.model.n_hidden = 1;
  o.model.hidden[0] = 4;
  o.align = COMP_ALIGN_ALL;
  o.validation = 0;
  assert_int_equal(o.most_steps, 30000);
  o.most_steps = 3000;
  assert_ok(comp__dataset_read(&d, context, "sparse.h5ad", &read));
  const struct {
    size_t batch, epochs;
    const char *last, *shown;
  } runs[] = {
      {2, 0, "\"steps\":3000,", "\"epochs\":6"}, /* 502 batches: 5 epochs and 490 steps of the next */
      {6, 0, "\"steps\":2520,", "\"epochs\":15"},
      {6, 2, "\"steps\":336,", "\"epochs\":2"},
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    o.batch = runs[i].batch;
    o.epochs = runs[i].epochs;
    assert_ok(comp__train(&model, context, d, &o));
    const char *at = strstr(model->history, runs[i].last);
    assert_non_null(at);
    assert_null(strstr(at + 1, "\"steps\":"));
    assert_non_null(strstr(model->config, runs[i].shown));
    assert_true(model->finished);
    comp_model_free(model);
  }
  comp_dataset_free(d);
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(windows_hold_every_row_once),
      cmocka_unit_test(ranks_share_the_reading),
      cmocka_unit_test(ranks_get_their_rows),
      cmocka_unit_test(digests_tell_files_apart),
      cmocka_unit_test(windows_are_the_blocks_of_the_order),
      cmocka_unit_test(a_file_that_changes),
      cmocka_unit_test(an_unreadable_block),
      cmocka_unit_test(waiting_can_be_interrupted),
      cmocka_unit_test(batches_hold_every_training_row_once),
      cmocka_unit_test(an_epoch_is_no_longer_from_disk),
      cmocka_unit_test(a_model_from_disk),
      cmocka_unit_test(as_many_steps_as_are_needed),
  };
  return cmocka_run_group_tests_name("train/stream", tests, enter, leave);
}
