/* test_mex.c: MEX folders: names of their files, Matrix Market texts good and bad. */
#include "io/text_testing.h"

#include <sys/stat.h>

#include "core/context.h"
#include "io/format.h"
#include "io/mex.h"
#include "io/mtx.h"

static const comp__read_options PLAIN = {0};
#define HEAD "%%MatrixMarket matrix coordinate integer general\n"

static comp_status read_parts(comp_dataset **out, comp_context *context, const char *matrix, const char *barcodes,
                              const char *features) {
  comp__mex_sources sources = {source_of(matrix, strlen(matrix), "m.mtx"),
                               source_of(barcodes, strlen(barcodes), "b.tsv"),
                               source_of(features, strlen(features), "f.tsv")};
  comp_status status = comp__mex_read(out, context, &sources, false);
  comp__source_close(sources.matrix);
  comp__source_close(sources.barcodes);
  comp__source_close(sources.features);
  return status;
}

/* Two cells and three genes. */
static comp_status read_matrix(comp_dataset **out, const char *matrix) {
  comp_context *context = test_context(2);
  comp_status status = read_parts(out, context, matrix, "c1\nc2\n", "g1\ng2\ng3\n");
  comp_context_free(context);
  return status;
}

static void check_matrix(const char *matrix, const float *expected) {
  comp_dataset *d;
  comp_matrix *dense;
  comp_context *context = test_context(1);
  assert_ok(read_matrix(&d, matrix));
  assert_ok(comp_matrix_check(context, comp_dataset_x(d)));
  assert_ok(comp_matrix_to_dense(&dense, context, comp_dataset_x(d)));
  assert_memory_equal(dense->values, expected, 6 * sizeof(float));
  comp_matrix_free(dense);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void entries_are_transposed(void **state) {
  (void)state;
  check_matrix(HEAD "%\n%comment\n3 2 3\n1 1 5\n3 1 7\n2 2 9\n", (float[]){5, 0, 7, 0, 9, 0});
  check_matrix(HEAD "3 2 3\n2 2 9\n3 1 7\n1 1 5", (float[]){5, 0, 7, 0, 9, 0});
  check_matrix(HEAD "3 2 4\n1 1 1\n1 2 2\n2 1 3\n2 2 4\n", (float[]){1, 3, 0, 2, 4, 0});
  check_matrix(HEAD "3 2 0\n", (float[]){0, 0, 0, 0, 0, 0});
  check_matrix(HEAD "\n3 2 1\r\n\n  1\t 1   5  \r\n\n% end\n", (float[]){5, 0, 0, 0, 0, 0});
}

static void fields_may_be_real_or_pattern(void **state) {
  (void)state;
  check_matrix("%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 0.5\n2 1 -2e1\n3 2 4\n",
               (float[]){0.5f, -20, 0, 0, 0, 4});
  check_matrix("%%matrixmarket MATRIX coordinate pattern general\n3 2 2\n1 1\n3 2\n", (float[]){1, 0, 0, 0, 0, 1});
}

static void bad_heads_are_refused(void **state) {
  (void)state;
  comp_dataset *d;
  assert_error(read_matrix(&d, ""), COMP_ERR_FORMAT, "m.mtx is empty");
  assert_error(read_matrix(&d, "3 2 1\n1 1 1\n"), COMP_ERR_FORMAT, "line 1: a Matrix Market file must start");
  assert_error(read_matrix(&d, "%%MatrixMarket matrix array real general\n"), COMP_ERR_FORMAT,
               "only 'matrix coordinate'");
  assert_error(read_matrix(&d, "%%MatrixMarket matrix coordinate real symmetric\n"), COMP_ERR_FORMAT, "only 'general'");
  assert_error(read_matrix(&d, "%%MatrixMarket matrix coordinate complex general\n"), COMP_ERR_FORMAT, "integer, real");
  assert_error(read_matrix(&d, HEAD "%\n"), COMP_ERR_FORMAT, "ends before the line of sizes");
  assert_error(read_matrix(&d, HEAD "%\n3 2\n"), COMP_ERR_FORMAT, "line 3: three sizes");
  assert_error(read_matrix(&d, HEAD "3 2 1 1\n"), COMP_ERR_FORMAT, "line 2: three sizes");
  assert_error(read_matrix(&d, HEAD "3 2 99999999999999999999\n"), COMP_ERR_FORMAT, "three sizes");
  assert_error(read_matrix(&d, HEAD "3 2 999999999999999999\n1 1 1\n"), COMP_ERR_FORMAT, "than a file of its size");
  assert_error(read_matrix(&d, HEAD "2 3 1\n1 1 1\n"), COMP_ERR_DATA, "the matrix is transposed");
  assert_error(read_matrix(&d, HEAD "4 2 1\n1 1 1\n"), COMP_ERR_DATA, "lists 3 features and b.tsv 2 barcodes");
}

static void bad_entries_are_refused(void **state) {
  (void)state;
  comp_dataset *d;
  assert_error(read_matrix(&d, HEAD "3 2 1\n4 1 1\n"), COMP_ERR_FORMAT, "m.mtx, line 3: row 4 is outside of 1 .. 3");
  assert_error(read_matrix(&d, HEAD "3 2 2\n1 1 1\n\n0 1 1\n"), COMP_ERR_FORMAT, "line 5: row 0 is outside");
  assert_error(read_matrix(&d, HEAD "3 2 1\n3 3 1\n"), COMP_ERR_FORMAT, "line 3: column 3 is outside of 1 .. 2");
  assert_error(read_matrix(&d, HEAD "3 2 1\n18446744073709551617 1 1\n"), COMP_ERR_FORMAT, "line 3: an entry must be");
  assert_error(read_matrix(&d, HEAD "3 2 1\n-1 1 1\n"), COMP_ERR_FORMAT, "an entry must be");
  assert_error(read_matrix(&d, HEAD "3 2 1\n1 1\n"), COMP_ERR_FORMAT, "an entry must be");
  assert_error(read_matrix(&d, HEAD "3 2 1\n1 1 x\n"), COMP_ERR_FORMAT, "an entry must be");
  assert_error(read_matrix(&d, HEAD "3 2 1\n1 1 1 1\n"), COMP_ERR_FORMAT, "an entry must be");
  assert_error(read_matrix(&d, HEAD "3 2 2\n1 1 1\n"), COMP_ERR_FORMAT, "announces 2 entries but holds only 1");
  assert_error(read_matrix(&d, HEAD "3 2 1\n1 1 1\n2 1 1\n"), COMP_ERR_FORMAT, "more entries than the 1");
  assert_error(read_matrix(&d, HEAD "3 2 3\n1 2 1\n3 1 1\n1 2 5\n"), COMP_ERR_FORMAT, "row 1, column 2 twice");
}

static void lists_become_tables(void **state) {
  (void)state;
  comp_context *context = loud_context();
  comp_dataset *d;
  assert_ok(read_parts(&d, context, HEAD "3 3 1\n1 1 1\n", "AC\nAC\nGT",
                       "E1\tA\tGene Expression\r\nE2\tA\tAntibody\nE3\tB 2\tAntibody\n"));
  assert_string_equal(comp_dataset_var_name(d, 1), "A-1");
  assert_string_equal(comp_dataset_var_name(d, 2), "B 2");
  assert_string_equal(comp_table_string(comp_dataset_var(d), 0, 2), "E3");
  assert_string_equal(comp_table_column_name(comp_dataset_var(d), 0), "gene_ids");
  assert_string_equal(comp_table_column_name(comp_dataset_var(d), 1), "feature_types");
  assert_int_equal(comp_table_level_count(comp_dataset_var(d), 1), 2);
  assert_string_equal(comp_dataset_obs_name(d, 1), "AC");
  assert_non_null(strstr(test_messages, "1 feature names repeat"));
  assert_non_null(strstr(test_messages, "1 barcodes repeat an earlier one, such as 'AC'"));
  comp_dataset_free(d);
  assert_error(read_parts(&d, context, HEAD "1 1 0\n", "", "g\n"), COMP_ERR_DATA, "b.tsv is empty");
  assert_error(read_parts(&d, context, HEAD "1 1 0\n", "a\n\nb\n", "g\n"), COMP_ERR_FORMAT, "b.tsv, line 2 is empty");
  assert_error(read_parts(&d, context, HEAD "1 1 0\n", "a\n", "g\xff\n"), COMP_ERR_FORMAT, "f.tsv, line 1: byte 0xff");
  comp_context_free(context);
}

/* Several buffers of text, at several thread counts and in another order: the same bytes. */
static void long_files_are_joined(void **state) {
  (void)state;
  enum { GENES = 1000, CELLS = 1500 };
  size_t n = 0, capacity = (size_t)GENES * CELLS * 14 + 200, size = 0;
  char *text = need_memory(capacity);
  float *expected = need_memory((size_t)GENES * CELLS * sizeof(float));
  for (size_t c = 0; c < CELLS; c++)
    for (size_t g = 0; g < GENES; g++)
      if ((c * 7 + g * 13) % 3) {
        expected[c * GENES + g] = (float)(1 + c * g % 1000);
        n++;
      }
  for (int order = 0; order < 2; order++) {
    size = (size_t)sprintf(text, "%s%d %d %zu\n", HEAD, GENES, CELLS, n);
    for (size_t i = 0; i < (size_t)GENES * CELLS; i++) {
      size_t c = order ? i % CELLS : i / GENES, g = order ? i / CELLS : i % GENES;
      if (expected[c * GENES + g] != 0)
        append_text(text, &size, "%zu %zu %g\n", g + 1, c + 1, (double)expected[c * GENES + g]);
    }
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      comp__source *source = source_of(text, size, "long.mtx");
      comp_matrix *m, *dense;
      assert_ok(comp__mtx_read(&m, context, source, NULL, NULL));
      assert_ok(comp_matrix_check(context, m));
      assert_ok(comp_matrix_to_dense(&dense, context, m));
      assert_memory_equal(dense->values, expected, (size_t)GENES * CELLS * sizeof(float));
      comp_matrix_free(dense);
      comp_matrix_free(m);
      comp__source_close(source);
      comp_context_free(context);
    }
  }
  /* A bad line in a late buffer has the right number. */
  comp_context *context = test_context(2);
  comp__source *source;
  comp_matrix *m;
  char message[64];
  snprintf(message, sizeof message, "line %zu: an entry must be", n + 2);
  memcpy(text + size - 3, "xx", 2);
  source = source_of(text, size, "long.mtx");
  assert_error(comp__mtx_read(&m, context, source, NULL, NULL), COMP_ERR_FORMAT, message);
  comp__source_close(source);
  comp_context_free(context);
  free(expected);
  free(text);
}

/* -------------------------------------------------------------------------------------------------------- folders */

static comp_status read_path(comp_dataset **out, const char *path) {
  comp_context *context = test_context(1);
  comp_status status = comp__format_mex.read(out, context, path, &PLAIN);
  comp_context_free(context);
  return status;
}

static void folders_are_found(void **state) {
  (void)state;
  comp_dataset *d;
  mkdir(in_folder("v2"), 0777);
  assert_error(read_path(&d, in_folder("v2")), COMP_ERR_DATA, "holds no matrix.mtx");
  put_file("v2/matrix.mtx", HEAD "2 1 1\n2 1 3\n");
  assert_error(read_path(&d, in_folder("v2")), COMP_ERR_DATA, "the barcodes of the matrix are missing");
  put_file("v2/barcodes.tsv", "AC-1\n");
  assert_error(read_path(&d, in_folder("v2")), COMP_ERR_DATA, "the features of the matrix are missing");
  put_file("v2/genes.tsv", "E1\tA\nE2\tB\n");
  assert_ok(read_path(&d, in_folder("v2")));
  assert_string_equal(comp_dataset_var_name(d, 1), "B");
  assert_int_equal(comp_table_column_count(comp_dataset_var(d)), 1);
  comp_dataset_free(d);
  assert_ok(read_path(&d, in_folder("v2/matrix.mtx")));
  comp_dataset_free(d);
  bool is;
  comp__peek peek = {in_folder("v2"), true, NULL, 0, false};
  assert_int_equal(comp__format_mex.probe(&is, &peek), COMP_OK);
  assert_true(is);
  peek = (comp__peek){"x", false, (const unsigned char *)HEAD, strlen(HEAD), false};
  assert_int_equal(comp__format_mex.probe(&is, &peek), COMP_OK);
  assert_true(is);
  peek = (comp__peek){test_folder, true, NULL, 0, false};
  assert_int_equal(comp__format_mex.probe(&is, &peek), COMP_OK);
  assert_false(is);
}

static void prefixes_are_found(void **state) {
  (void)state;
  comp_dataset *d;
  mkdir(in_folder("many"), 0777);
  put_file("many/s1_matrix.mtx", HEAD "1 1 1\n1 1 3\n");
  put_file("many/s1_barcodes.tsv", "AC\n");
  put_file("many/s1_features.tsv", "E1\tA\tGene Expression\n");
  assert_ok(read_path(&d, in_folder("many")));
  assert_true(comp_dataset_x(d)->values[0] == 3.0f);
  comp_dataset_free(d);
  put_file("many/s2_matrix.mtx", HEAD "1 1 0\n");
  assert_error(read_path(&d, in_folder("many")), COMP_ERR_DATA, "holds 2 matrices");
  assert_non_null(strstr(comp_error_message(), "s2_matrix.mtx"));
  assert_ok(read_path(&d, in_folder("many/s1_matrix.mtx")));
  comp_dataset_free(d);
  assert_error(read_path(&d, in_folder("many/s2_matrix.mtx")), COMP_ERR_DATA, "s2_barcodes.tsv.gz");
}

static void a_cut_gzip_is_refused(void **state) {
  (void)state;
  size_t n, size = strlen(HEAD) + 200000 * 6 + 30;
  char *text = need_memory(size);
  size = (size_t)sprintf(text, "%s3 2 200000\n", HEAD);
  for (int i = 0; i < 200000; i++) append_text(text, &size, "1 1 1\n");
  unsigned char *packed = gzip(text, size, &n);
  comp_context *context = test_context(2);
  comp__source *source = source_of(packed, n - 100, "m.mtx.gz");
  comp_matrix *m;
  assert_error(comp__mtx_read(&m, context, source, NULL, NULL), COMP_ERR_FORMAT, "m.mtx.gz is cut short");
  comp__source_close(source);
  comp_context_free(context);
  free(packed);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(entries_are_transposed), cmocka_unit_test(fields_may_be_real_or_pattern),
      cmocka_unit_test(bad_heads_are_refused),  cmocka_unit_test(bad_entries_are_refused),
      cmocka_unit_test(lists_become_tables),    cmocka_unit_test(long_files_are_joined),
      cmocka_unit_test(folders_are_found),      cmocka_unit_test(prefixes_are_found),
      cmocka_unit_test(a_cut_gzip_is_refused),
  };
  return cmocka_run_group_tests_name("io/mex", tests, make_folder, remove_folder);
}
