/* test_h5_write.c: writing .h5ad whole, by blocks and as an update; what fails leaves everything as it was. */
#include "io/h5_make.h"

#include <glob.h>
#include <signal.h>
#include <sys/resource.h>

#include "core/dataset.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "io/h5/h5ad_writer.h"
#include "io/options.h"

static comp_matrix *random_csr(size_t rows, size_t cols) {
  comp_context *context = test_context(1);
  comp_matrix *dense, *csr;
  assert_ok(comp_matrix_new_dense(&dense, rows, cols));
  comp__rng rng = comp__rng_at(3, COMP__RNG_TEST, rows, cols);
  for (size_t i = 0; i < rows * cols; i++)
    if (comp__rng_below(rng, i, 4) == 0) dense->values[i] = (float)comp__rng_below(rng, i + rows * cols, 1000) + 1;
  assert_ok(comp_matrix_to_csr(&csr, context, dense));
  comp_matrix_free(dense);
  comp_context_free(context);
  return csr;
}

static void assert_same_matrix(const comp_matrix *a, const comp_matrix *b) {
  assert_int_equal(a->kind, b->kind);
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(comp_matrix_nnz(a), comp_matrix_nnz(b));
  assert_memory_equal(a->values, b->values, comp_matrix_nnz(a) * sizeof(float));
  if (a->kind == COMP_DENSE) return;
  assert_memory_equal(a->indptr, b->indptr, (a->rows + 1) * sizeof *a->indptr);
  assert_memory_equal(a->indices, b->indices, comp_matrix_nnz(a) * sizeof *a->indices);
}

/* A data set with something of everything; large enough for several chunks. */
static comp_dataset *sample(size_t n, size_t g) {
  comp_context *context = test_context(1);
  comp_dataset *d;
  comp_matrix *x = random_csr(n, g), *layer, *obsm;
  assert_ok(comp_matrix_to_dense(&layer, context, x));
  assert_ok(comp_dataset_new(&d, x, NULL, NULL));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "dense", layer));
  assert_ok(comp_matrix_new_dense(&obsm, n, 2));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_pca", obsm));
  double *numbers = malloc(n * sizeof *numbers);
  const char **texts = malloc(n * sizeof *texts);
  int8_t *bools = malloc(n);
  int32_t *codes = malloc(n * sizeof *codes);
  for (size_t i = 0; i < n; i++) {
    numbers[i] = i % 5 == 0 ? NAN : (double)i;
    texts[i] = i % 7 == 0 ? NULL : "some text";
    bools[i] = (int8_t)(i % 3) - 1;
    codes[i] = (int32_t)(i % 3) - 1;
  }
  assert_ok(comp_table_add_numbers(d->obs, "missing numbers", numbers, false));
  assert_ok(comp_table_add_numbers(d->obs, "missing integers", numbers, true));
  assert_ok(comp_table_add_strings(d->obs, "missing text", texts));
  assert_ok(comp_table_add_bools(d->obs, "missing bools", bools));
  assert_ok(comp_table_add_categorical(d->obs, "kind/of", codes, (const char *const[]){"a", "b"}, 2));
  assert_ok(comp_table_add_numbers(d->obs, "_index", numbers, false));
  assert_ok(comp_dataset_set_record(d, "{\"a\": [1]}"));
  free(numbers);
  free(texts);
  free(bools);
  free(codes);
  comp_context_free(context);
  return d;
}

static void assert_same_values(const comp_table *a, const comp_table *b) {
  assert_int_equal(comp_table_column_count(a), comp_table_column_count(b));
  char x[64], y[64];
  for (size_t c = 0; c < comp_table_column_count(a); c++) {
    assert_string_equal(comp_table_column_name(a, c), comp_table_column_name(b, c));
    for (size_t i = 0; i < comp_table_row_count(a); i++)
      assert_string_equal(comp_table_format(a, c, i, x, sizeof x), comp_table_format(b, c, i, y, sizeof y));
  }
}

static void what_is_written_is_read(void **state) {
  (void)state;
  const char *path = make_path("write.h5ad");
  comp_dataset *d = sample(700, 600), *back;
  for (int level = 0; level <= 9; level += 3) {
    comp_context *context = test_context(1 + level);
    comp__write_options options = {.compression = level};
    assert_ok(comp__dataset_write(context, d, path, &options));
    assert_ok(comp_dataset_read(&back, context, path, NULL));
    assert_same_matrix(d->x, back->x);
    assert_same_matrix(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "dense"),
                       comp_dataset_matrix(back, COMP_SLOT_LAYERS, "dense"));
    assert_same_matrix(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_pca"),
                       comp_dataset_matrix(back, COMP_SLOT_OBSM, "X_pca"));
    assert_same_values(d->obs, back->obs);
    assert_int_equal(comp_table_column_kind(back->obs, 2), COMP_COLUMN_CATEGORICAL); /* text with gaps */
    assert_true(comp_table_is_integer(back->obs, 1));
    assert_string_equal(comp_dataset_record(back), "{\"a\": [1]}");
    comp_dataset_free(back);
    comp_context_free(context);
  }
  comp_dataset_free(d);
  unlink(path);
}

/* All features in raw; a raw that is carried over from another file stays. */
static void raw_is_written(void **state) {
  (void)state;
  const char *path = make_path("raw.h5ad");
  char second[256];
  snprintf(second, sizeof second, "%s.h5ad", path);
  comp_context *context = test_context(2);
  comp_dataset *d = sample(90, 40), *back;
  comp__write_options write = {.compression = 4};
  const comp__read_options read = {.raw = true};
  d->raw = sample(90, 300);
  assert_ok(comp__dataset_write(context, d, path, &write));
  assert_ok(comp__dataset_read(&back, context, path, &read));
  assert_same_matrix(back->x, d->raw->x);
  assert_same_values(back->var, d->raw->var);
  comp_dataset_free(back);
  write.carry_from = path;
  comp_dataset_free(d->raw);
  d->raw = sample(90, 50);
  assert_ok(comp__dataset_write(context, d, second, &write));
  assert_ok(comp__dataset_read(&back, context, second, &read));
  assert_int_equal(back->features, 300);
  comp_dataset_free(back);
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(second);
  unlink(path);
}

static void blocks_make_the_same_file_content(void **state) {
  (void)state;
  const char *path = make_path("blocks.h5ad");
  comp_context *context = test_context(2);
  comp_matrix *x = random_csr(1000, 500), *dense, *block;
  assert_ok(comp_matrix_to_dense(&dense, context, x));
  for (size_t step = 1; step <= 1000; step = step * 31 + 2) {
    comp__h5ad_writer *writer;
    size_t sparse_number, dense_number;
    assert_ok(comp__h5ad_writer_open(&writer, path, 1000, 500, 1));
    assert_ok(comp__h5ad_writer_add(&sparse_number, writer, "X", COMP_CSR, 500));
    assert_ok(comp__h5ad_writer_add(&dense_number, writer, "layers/truth", COMP_DENSE, 500));
    for (size_t at = 0; at < 1000; at += step) {
      size_t rows[1000], n = 1000 - at < step ? 1000 - at : step;
      for (size_t i = 0; i < n; i++) rows[i] = at + i;
      assert_ok(comp_matrix_select(&block, context, x, rows, n, NULL, 0));
      assert_ok(comp__h5ad_writer_append(context, writer, sparse_number, block));
      comp_matrix_free(block);
      assert_ok(comp_matrix_select(&block, context, dense, rows, n, NULL, 0));
      assert_ok(comp__h5ad_writer_append(context, writer, dense_number, block));
      comp_matrix_free(block);
    }
    comp__h5ad_tables tables = {NULL, NULL, NULL, NULL, "{}"};
    assert_int_not_equal(access(path, F_OK), 0); /* no name before it is complete */
    assert_ok(comp__h5ad_writer_finish(context, writer, &tables));
    comp__h5ad_writer_free(writer);
    comp_dataset *d;
    assert_ok(comp_dataset_read(&d, context, path, NULL));
    assert_same_matrix(x, d->x);
    assert_same_matrix(dense, comp_dataset_matrix(d, COMP_SLOT_LAYERS, "truth"));
    assert_string_equal(comp_dataset_obs_name(d, 999), "999");
    comp_dataset_free(d);
    unlink(path);
  }
  comp_matrix_free(x);
  comp_matrix_free(dense);
  comp_context_free(context);
}

static int temporary_files(const char *path) {
  char pattern[300];
  glob_t found = {0};
  snprintf(pattern, sizeof pattern, "%s.tmp-*", path);
  int n = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
  globfree(&found);
  return n;
}

static void wrong_use_of_the_writer(void **state) {
  (void)state;
  const char *path = make_path("wrong.h5ad");
  comp_context *context = test_context(1);
  comp__h5ad_writer *writer;
  comp_matrix *x = random_csr(10, 5);
  comp__h5ad_tables tables = {0};
  size_t number;
  assert_error(comp__h5ad_writer_open(&writer, path, 10, 5, 10), COMP_ERR_ARGUMENT, "compression: 10");
  assert_error(comp__h5ad_writer_open(&writer, "/nowhere/x.h5ad", 10, 5, 1), COMP_ERR_IO, "/nowhere");
  assert_ok(comp__h5ad_writer_open(&writer, path, 20, 5, 1));
  assert_error(comp__h5ad_writer_add(&number, writer, "varm/x", COMP_DENSE, 5), COMP_ERR_ARGUMENT, "'varm/x'");
  assert_error(comp__h5ad_writer_add(&number, writer, "X", COMP_CSR, 6), COMP_ERR_ARGUMENT, "6 columns");
  assert_ok(comp__h5ad_writer_add(&number, writer, "X", COMP_CSR, 5));
  assert_ok(comp__h5ad_writer_append(context, writer, number, x));
  assert_error(comp__h5ad_writer_append(context, writer, 7, x), COMP_ERR_ARGUMENT, "no matrix 7");
  assert_error(comp__h5ad_writer_finish(context, writer, &tables), COMP_ERR_ARGUMENT, "X got 10 of its 20 rows");
  assert_ok(comp__h5ad_writer_append(context, writer, number, x));
  assert_error(comp__h5ad_writer_append(context, writer, number, x), COMP_ERR_ARGUMENT, "20 of 20 x 5 are written");
  comp__h5ad_writer_free(writer);
  assert_int_equal(temporary_files(path), 0);
  assert_int_not_equal(access(path, F_OK), 0);
  comp_matrix_free(x);
  comp_context_free(context);
}

static void wrong_names_of_outputs(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample(10, 5);
  assert_error(comp_dataset_write(context, d, "/tmp/x.docx", NULL), COMP_ERR_ARGUMENT, "is not known from its name");
  assert_error(comp_dataset_write(context, d, "/nowhere/x.h5ad", NULL), COMP_ERR_IO, "/nowhere");
  assert_ok(comp_table_add_bools(d->obs, "/etc", (int8_t[10]){0}));
  assert_error(comp_dataset_write(context, d, make_path("x.h5ad"), NULL), COMP_ERR_DATA, "cannot be called '/etc'");
  comp_dataset_free(d);
  comp_matrix *nameless; /* as in a damaged file: not a wrong option */
  d = sample(10, 5);
  assert_ok(comp_matrix_new_dense(&nameless, 10, 2));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "", nameless));
  assert_error(comp_dataset_write(context, d, make_path("x.h5ad"), NULL), COMP_ERR_DATA, "cannot be called ''");
  comp_dataset_free(d);
  comp_context_free(context);
}

static size_t file_size(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

/* Writing and updating with at most `limit` bytes a file: as a full disk. */
static void limit_files(rlim_t limit) {
  struct rlimit old;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &old);
  old.rlim_cur = limit;
  setrlimit(RLIMIT_FSIZE, &old);
}

static void a_full_disk_leaves_everything_as_it_was(void **state) {
  (void)state;
  const char *path = make_path("full.h5ad");
  comp_context *context = test_context(2);
  comp_dataset *d = sample(700, 600), *back;
  assert_ok(comp_dataset_write(context, d, path, NULL));
  size_t size = file_size(path);
  for (size_t limit = 1000; limit < size; limit += size / 9) {
    limit_files(limit);
    comp_status wrote = comp_dataset_write(context, d, path, NULL),
                updated = comp_dataset_update(context, d, path, path, NULL);
    limit_files(RLIM_INFINITY);
    assert_int_equal(wrote, COMP_ERR_IO);
    assert_int_equal(updated, COMP_ERR_IO);
    assert_non_null(strstr(comp_error_message(), path));
    assert_int_equal(file_size(path), size);
    assert_int_equal(temporary_files(path), 0);
  }
  assert_ok(comp_dataset_read(&back, context, path, NULL));
  assert_same_matrix(d->x, back->x);
  comp_dataset_free(back);
  comp_dataset_free(d);
  comp_context_free(context);
  unlink(path);
}

static void updating_checks_its_samples(void **state) {
  (void)state;
  const char *path = make_path("update.h5ad"), *out = make_path("out.h5ad");
  make_file(path);
  comp_context *context = test_context(1);
  comp_dataset *results;
  comp_matrix *x;
  assert_ok(comp_matrix_new_dense(&x, 4, 3));
  assert_ok(comp_dataset_new(&results, x, (const char *const[]){"c0", "c2", "c1", "c3"}, NULL));
  assert_error(comp_dataset_update(context, results, path, out, NULL), COMP_ERR_ARGUMENT,
               "row 1 is 'c2' there and 'c1' here");
  comp_dataset_free(results);
  assert_ok(comp_matrix_new_dense(&x, 3, 3));
  assert_ok(comp_dataset_new(&results, x, NULL, NULL));
  assert_error(comp_dataset_update(context, results, path, out, NULL), COMP_ERR_ARGUMENT,
               "3 samples cannot be added to 4");
  assert_error(comp_dataset_update(context, results, path, "/tmp/x.csvx", NULL), COMP_ERR_ARGUMENT,
               "results are written as .h5ad or .zarr");
  comp_dataset_free(results);
  assert_ok(comp_matrix_new_dense(&x, 4, 2));
  assert_ok(comp_dataset_new(&results, x, CELLS, NULL));
  assert_ok(comp_table_add_numbers(results->obs, "_index", (double[]){1, 2, 3, 4}, true));
  assert_error(comp_dataset_update(context, results, path, out, NULL), COMP_ERR_DATA, "'_index': that name is taken");
  assert_ok(comp_matrix_new_dense(&x, 4, 2));
  assert_ok(comp_dataset_set_matrix(results, COMP_SLOT_LAYERS, "small", x));
  assert_error(comp_dataset_update(context, results, path, out, NULL), COMP_ERR_ARGUMENT,
               "2 features cannot be added to 3");
  assert_int_not_equal(access(out, F_OK), 0);
  assert_int_equal(temporary_files(out), 0);
  comp_dataset_free(results);
  comp_context_free(context);
  unlink(path);
}

static void updating_in_place_keeps_a_link(void **state) {
  (void)state;
  const char *path = make_path("target.h5ad"), *link = make_path("link.h5ad");
  make_file(path);
  assert_int_equal(symlink(path, link), 0);
  comp_context *context = test_context(1);
  comp_dataset *results, *back;
  comp_matrix *x;
  for (int round = 1; round <= 3; round++) {
    assert_ok(comp_matrix_new_dense(&x, 4, 3));
    assert_ok(comp_dataset_new(&results, x, CELLS, GENES));
    assert_ok(comp_matrix_new_dense(&x, 4, (size_t)round)); /* another shape each time */
    assert_ok(comp_dataset_set_matrix(results, COMP_SLOT_OBSM, "X_comp", x));
    assert_ok(comp_table_add_numbers(results->obs, "n", (double[]){round, 2, 3, 4}, true));
    assert_ok(comp_dataset_update(context, results, link, link, NULL));
    comp_dataset_free(results);
    assert_ok(comp_dataset_read(&back, context, path, NULL));
    assert_int_equal(comp_dataset_matrix(back, COMP_SLOT_OBSM, "X_comp")->cols, round);
    assert_int_equal(comp_table_column_count(back->obs), 1);
    assert_true(comp_table_number(back->obs, 0, 0) == round);
    assert_true(back->x->values[4] == 5);
    comp_dataset_free(back);
  }
  struct stat info;
  assert_int_equal(lstat(link, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  comp_context_free(context);
  unlink(link);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(raw_is_written),
      cmocka_unit_test(blocks_make_the_same_file_content),
      cmocka_unit_test(wrong_use_of_the_writer),
      cmocka_unit_test(wrong_names_of_outputs),
      cmocka_unit_test(a_full_disk_leaves_everything_as_it_was),
      cmocka_unit_test(updating_checks_its_samples),
      cmocka_unit_test(updating_in_place_keeps_a_link),
  };
  return cmocka_run_group_tests_name("io/h5_write", tests, NULL, NULL);
}
