/* test_csv.c: the rules of text tables, one test each, and every kind of bad input. */
#include "io/text_testing.h"

#include "io/format.h"

static const comp__read_options PLAIN = {0};

static comp_status to_table(comp_table **out, const char *content, const comp__read_options *options) {
  comp_context *context = test_context(2);
  comp__text text = text_of_bytes(content, strlen(content));
  comp_status status = comp__csv_to_table(out, context, &text, options, false);
  comp__text_release(&text);
  comp_context_free(context);
  return status;
}

static comp_status to_dataset(comp_dataset **out, const char *content, const comp__read_options *options) {
  comp_context *context = test_context(2);
  comp__text text = text_of_bytes(content, strlen(content));
  comp_status status = comp__csv_to_dataset(out, context, &text, options);
  comp__text_release(&text);
  comp_context_free(context);
  return status;
}

/* The table as text, fields between '|', rows between '/'. */
static const char *show(const comp_table *t) {
  static char text[4096];
  text[0] = '\0';
  for (size_t c = 0; c < comp_table_column_count(t); c++) {
    strcat(text, c ? "|" : "");
    strcat(text, comp_table_column_name(t, c));
  }
  for (size_t row = 0; row < comp_table_row_count(t); row++)
    for (size_t c = 0; c < comp_table_column_count(t); c++) {
      char buffer[256];
      strcat(text, c ? "|" : "/");
      strcat(text, comp_table_format(t, c, row, buffer, sizeof buffer));
    }
  return text;
}

static void check_table(const char *content, const comp__read_options *options, const char *expected) {
  comp_table *t;
  assert_ok(to_table(&t, content, options));
  assert_string_equal(show(t), expected);
  comp_table_free(t);
}

static void check_failure(const char *content, const comp__read_options *options, comp_status expected,
                          const char *message) {
  comp_table *t;
  comp_dataset *d;
  assert_error(to_table(&t, content, options), expected, message);
  assert_null(t);
  assert_error(to_dataset(&d, content, options), expected, message);
  assert_null(d);
}

/* -------------------------------------------------------------------------------------------------------- rules */

static void delimiters_are_found(void **state) {
  (void)state;
  check_table("a,b\n1,2\n", &PLAIN, "a|b/1|2");
  check_table("a\tb\n1\t2\n", &PLAIN, "a|b/1|2");
  check_table("a;b\n1;2\n", &PLAIN, "a|b/1|2");
  check_table("a|b\n1|2\n", &PLAIN, "a|b/1|2");
  check_table("a\tb\nx,1\ty,2\n", &PLAIN, "a|b/x,1|y,2");
  check_table("gene,s1,s2\nTP53|7157,1,2\nA|1,2,3\n", &PLAIN, "gene|s1|s2/TP53|7157|1|2/A|1|2|3");
  check_table("only\n1\n2\n", &PLAIN, "only/1/2");
}

static void quotes_follow_rfc_4180(void **state) {
  (void)state;
  check_table("a,b\n\"x,y\",1\n", &PLAIN, "a|b/x,y|1");
  check_table("a,b\n\"x\ny\",1\n\"z\",2\n", &PLAIN, "a|b/x\ny|1/z|2");
  check_table("a,b\n\"say \"\"hi\"\"\",1\n", &PLAIN, "a|b/say \"hi\"|1");
  check_table("\"a\"\"b\",\"c,d\"\n\"1\",\"2.5\"\n", &PLAIN, "a\"b|c,d/1|2.5");
  check_table("a,b\n5\" pipe,1\nx,2\n", &PLAIN, "a|b/5\" pipe|1/x|2");
  check_table("a,b\n\"x\" ,1\n", &PLAIN, "a|b/x|1");
  check_table("a,b\n\"\",1\n\"y\",\n", &PLAIN, "a|b/|1/y|");
}

static void line_ends_and_marks_mean_nothing(void **state) {
  (void)state;
  check_table("\xef\xbb\xbf"
              "a,b\r\n1,x\r\n2,y",
              &PLAIN, "a|b/1|x/2|y");
  check_table("\n\na,b\n\n1,x\n   \n2,y\n\n\n", &PLAIN, "a|b/1|x/2|y");
  check_table("a,b\r\n\"1\",\"x\"\r\n", &PLAIN, "a|b/1|x");
}

static void comments_are_skipped(void **state) {
  (void)state;
  comp__read_options options = PLAIN;
  options.comment = '#';
  check_table("#hello, you, there\na,b\n# more\n1,2\n#end", &options, "a|b/1|2");
  check_table("#a\t\"\na,b\n\"1\",2\n#x\"\n3,4\n", &options, "a|b/1|2/3|4");
}

static void spaces_after_delimiters_are_trimmed(void **state) {
  (void)state;
  comp__read_options options = PLAIN;
  options.no_header = true;
  options.missing = "?";
  options.names = "age, work,n";
  check_table("39, State-gov, 77\n50, ?, 8\n\n", &options, "age|work|n/39|State-gov|77/50||8");
  check_table("a, b\n1, \"x, y\"\n2, \"z\"\n", &PLAIN, "a|b/1|x, y/2|z");
  check_table("a,b\nx , y\nz,w\n", &PLAIN, "a|b/x | y/z|w"); /* not everywhere: part of the text */
}

static void missing_values_have_rules(void **state) {
  (void)state;
  check_table("a,b\n1,x\n,NA\nNaN,N/A\nnan,null\nNone,NULL\n2,NAN\n", &PLAIN, "a|b/1|x/|/|/|/|/2|NAN");
  comp__read_options options = PLAIN;
  options.missing = "?,-99";
  check_table("a,b\n1,?\n-99,x\n", &options, "a|b/1|/|x");
}

static void kinds_are_found(void **state) {
  (void)state;
  comp_table *t;
  assert_ok(to_table(&t, "i,r,b,s,m,e\n1,1.5,True,x,1,\n2,2,FALSE,1,true,NA\n,-3e2,,2,x,\n", &PLAIN));
  assert_int_equal(comp_table_column_kind(t, 0), COMP_COLUMN_NUMBER);
  assert_true(comp_table_is_integer(t, 0));
  assert_int_equal(comp_table_column_kind(t, 1), COMP_COLUMN_NUMBER);
  assert_false(comp_table_is_integer(t, 1));
  assert_int_equal(comp_table_column_kind(t, 2), COMP_COLUMN_BOOL);
  for (size_t c = 3; c < 6; c++) assert_int_equal(comp_table_column_kind(t, c), COMP_COLUMN_STRING);
  assert_int_equal(comp_table_bool(t, 2, 0), 1);
  assert_int_equal(comp_table_bool(t, 2, 2), -1);
  assert_true(isnan(comp_table_number(t, 0, 2)));
  assert_true(comp_table_number(t, 1, 2) == -300);
  assert_string_equal(comp_table_string(t, 3, 1), "1");
  assert_null(comp_table_string(t, 5, 0));
  comp_table_free(t);
}

/* The first rows lie about the kinds: everything is read again. */
static void late_surprises_change_kinds(void **state) {
  (void)state;
  static char content[8192] = "n,b,m\n";
  for (int i = 0; i < 300; i++) strcat(content, "1,True,\n");
  strcat(content, "x,2,7\n");
  comp_table *t;
  assert_ok(to_table(&t, content, &PLAIN));
  assert_int_equal(comp_table_column_kind(t, 0), COMP_COLUMN_STRING);
  assert_int_equal(comp_table_column_kind(t, 1), COMP_COLUMN_STRING);
  assert_int_equal(comp_table_column_kind(t, 2), COMP_COLUMN_NUMBER);
  assert_string_equal(comp_table_string(t, 0, 0), "1");
  assert_string_equal(comp_table_string(t, 1, 300), "2");
  assert_true(comp_table_number(t, 2, 300) == 7);
  comp_table_free(t);
}

static void check_names(const char *content, const char *first_row, const char *first_feature, size_t features) {
  comp_dataset *d;
  assert_ok(to_dataset(&d, content, &PLAIN));
  assert_string_equal(comp_dataset_obs_name(d, 0), first_row);
  assert_string_equal(comp_dataset_var_name(d, 0), first_feature);
  assert_int_equal(comp_dataset_feature_count(d), features);
  comp_dataset_free(d);
}

static void row_names_are_found(void **state) {
  (void)state;
  check_names(",a,b\nr1,1,2\n", "r1", "a", 2);            /* no name */
  check_names("Sample,a,b\n7,1,2\n", "7", "a", 2);        /* a known name, though numbers */
  check_names("a b,c\nr1,1,2\nr2,2,3\n", "r1", "a b", 2); /* header one short, as R writes it */
  check_names("who,a,b\nx,1,2\ny,3,4\n", "x", "a", 2);    /* different texts beside numbers */
  check_names("who,a,b\nx,1,2\nx,3,4\n", "0", "a", 2);    /* they repeat: no names */
  check_names("who,s,a\nx,u,2\ny,v,4\n", "0", "a", 1);    /* other text: no names */
  check_names("a,b\n1,2\n3,4\n", "0", "a", 2);
}

static void data_sets_have_x_and_obs(void **state) {
  (void)state;
  comp_dataset *d;
  assert_ok(to_dataset(
      &d, "id,g1,kind,g2,ok,obs:n,who\na,1,t,2,True,5,p\nb,3,u,4,False,,q\nc,5,t,6.5,,7,r\nd,7,u,8,,1,\n", &PLAIN));
  assert_int_equal(comp_dataset_feature_count(d), 2);
  assert_int_equal(comp_dataset_sample_count(d), 4);
  assert_true(comp_dataset_x(d)->values[5] == 6.5f);
  assert_string_equal(show(comp_dataset_obs(d)), "kind|ok|n|who/t|True|5|p/u|False||q/t||7|r/u||1|");
  assert_int_equal(comp_table_column_kind(comp_dataset_obs(d), 0), COMP_COLUMN_CATEGORICAL);
  assert_int_equal(comp_table_column_kind(comp_dataset_obs(d), 2), COMP_COLUMN_NUMBER);
  assert_int_equal(comp_table_column_kind(comp_dataset_obs(d), 3), COMP_COLUMN_STRING);
  comp_dataset_free(d);
}

static void many_zeros_make_x_sparse(void **state) {
  (void)state;
  comp_dataset *d;
  assert_ok(to_dataset(&d, "id,a,b,c,d\nx,0,0,1,0\ny,0,0.0,0,2\n", &PLAIN));
  const comp_matrix *x = comp_dataset_x(d);
  assert_int_equal(x->kind, COMP_CSR);
  assert_int_equal(comp_matrix_nnz(x), 2);
  assert_int_equal(x->indices[1], 3);
  assert_true(x->values[1] == 2.0f);
  comp_dataset_free(d);
  assert_ok(to_dataset(&d, "id,a,b,c,d\nx,0,0,1,1\ny,0,0.0,0,2\n", &PLAIN));
  assert_int_equal(comp_dataset_x(d)->kind, COMP_DENSE);
  comp_dataset_free(d);
}

static void genes_may_be_rows(void **state) {
  (void)state;
  comp__read_options options = PLAIN;
  options.transpose = true;
  comp_dataset *d;
  assert_ok(to_dataset(&d, "gene,chr,s1,s2,s3\nA,x,1,2,3\nB,y,4,5,6\nA,x,7,8,9\n", &options));
  assert_int_equal(comp_dataset_sample_count(d), 3);
  assert_int_equal(comp_dataset_feature_count(d), 3);
  assert_string_equal(comp_dataset_obs_name(d, 1), "s2");
  assert_string_equal(comp_dataset_var_name(d, 2), "A-1");
  assert_true(comp_dataset_x(d)->values[1 * 3 + 2] == 8.0f);
  assert_int_equal(comp_table_column_count(comp_dataset_var(d)), 1);
  comp_dataset_free(d);
}

static void tables_keep_the_index(void **state) {
  (void)state;
  comp_table *t;
  assert_ok(to_table(&t, ",a\n001,1\nNA,2\n", &PLAIN));
  assert_string_equal(show(t), "index|a/001|1/NA|2");
  assert_int_equal(comp_table_column_kind(t, 0), COMP_COLUMN_STRING);
  comp_table_free(t);
}

static void a_nameless_empty_last_column_is_dropped(void **state) {
  (void)state;
  check_table("a,b,\n1,x,\n2,y,\n", &PLAIN, "a|b/1|x/2|y");
  check_table("a,b,\n1,x,\n2,y,z\n", &PLAIN, "a|b|column_3/1|x|/2|y|z");
}

/* Many pieces and quotes, at several thread counts: the same bytes. */
static void threads_do_not_matter(void **state) {
  (void)state;
  size_t size = 0, rows = 60000;
  char *content = need_memory(rows * 64);
  append_text(content, &size, "id,a,b,s\n");
  for (size_t i = 0; i < rows; i++)
    append_text(content, &size, "r%zu,%zu.%zu,%zu,%s\n", i, i, i % 1000, i % 7,
                i % 5 ? "plain text" : "\"quoted,\ntext\"");
  for (int quoted = 0; quoted < 2; quoted++) {
    comp_dataset *first = NULL;
    for (int t = 0; t < TEST_THREADS_COUNT; t++) {
      comp_context *context = test_context(TEST_THREADS[t]);
      comp__text text = text_of_bytes(content, size);
      comp_dataset *d;
      assert_ok(comp__csv_to_dataset(&d, context, &text, &PLAIN));
      assert_int_equal(comp_dataset_sample_count(d), rows);
      assert_true(comp_dataset_x(d)->values[2 * 31234] == 31234.234f);
      assert_string_equal(comp_dataset_obs_name(d, rows - 1), "r59999");
      if (first)
        assert_memory_equal(comp_dataset_x(d)->values, comp_dataset_x(first)->values, rows * 2 * sizeof(float));
      else
        first = d;
      if (d != first) comp_dataset_free(d);
      comp__text_release(&text);
      comp_context_free(context);
    }
    comp_dataset_free(first);
    for (char *p = content; (p = strstr(p, "\"quoted,\ntext\""));) memcpy(p, "without quotes", 14); /* then again */
  }
  free(content);
}

/* ---------------------------------------------------------------------------------------------------- bad input */

static void bad_shapes_are_refused(void **state) {
  (void)state;
  check_failure("", &PLAIN, COMP_ERR_DATA, "test.csv is empty");
  check_failure("\n\n  \n", &PLAIN, COMP_ERR_DATA, "is empty");
  check_failure("a,b\n", &PLAIN, COMP_ERR_DATA, "a header and no rows");
  check_failure("a,b\n1,2\n3,4,5\n", &PLAIN, COMP_ERR_FORMAT, "line 3: the line has 3 fields, and 2 are expected");
  check_failure("a,b\n1,2\n3\n", &PLAIN, COMP_ERR_FORMAT, "line 3: the line has 1 field, and 2 are expected");
  check_failure("a,b\n\"1\n2\",2\n3\n", &PLAIN, COMP_ERR_FORMAT, "line 4: the line has 1 field, and 2 are expected");
  check_failure("a,b,c,d\n1,2\n", &PLAIN, COMP_ERR_FORMAT,
                "the header (line 1) has 4 fields but the first row (line 2)");
  check_failure("a,b\r1,2\r", &PLAIN, COMP_ERR_FORMAT, "carriage returns alone");
  check_failure("a,b,a\n1,2,3\n", &PLAIN, COMP_ERR_DATA, "columns 1 and 3 have the same name, 'a'");
}

static void bad_bytes_are_refused(void **state) {
  (void)state;
  check_failure("a,b\n1,x\n2,caf\xe9\n", &PLAIN, COMP_ERR_FORMAT,
                "line 3: byte 0xe9 (byte 13 of the text) is not UTF-8");
  check_failure("\xff\xfe"
                "a",
                &PLAIN, COMP_ERR_FORMAT, "seems to be UTF-16");
  check_failure("a,b\n1,\xc3", &PLAIN, COMP_ERR_FORMAT, "not UTF-8");
  check_table("a,b\n1,caf\xc3\xa9\n", &PLAIN, "a|b/1|caf\xc3\xa9");
  comp_context *context = test_context(1);
  comp__text text = text_of_bytes("a,b\n1,x\0y\n", 10);
  comp_table *t;
  assert_error(comp__csv_to_table(&t, context, &text, &PLAIN, false), COMP_ERR_FORMAT, "line 2: a NUL byte (byte 7");
  comp__text_release(&text);
  comp_context_free(context);
}

static void bad_quotes_are_refused(void **state) {
  (void)state;
  check_failure("a,b\n1,x\n\"2,y\n3,z\n", &PLAIN, COMP_ERR_FORMAT,
                "line 3: a quote (\") is opened here and never closed");
  check_failure("a,b\n1,\"x\"y\n", &PLAIN, COMP_ERR_FORMAT, "line 2: text follows a closing quote");
  check_failure("\"a,b\n1,2\n", &PLAIN, COMP_ERR_FORMAT, "line 1: a quote");
}

static void bad_values_are_refused(void **state) {
  (void)state;
  comp_dataset *d;
  assert_error(to_dataset(&d, "id,a,b\nx,1,2\ny,,4\nz,,\n", &PLAIN), COMP_ERR_DATA,
               "line 3: the value of column 'a' is missing in row 2");
  assert_error(to_dataset(&d, "id,a\nx,u\ny,v\n", &PLAIN), COMP_ERR_DATA, "no column holds numbers only");
  check_failure("a;b\n1,5;2\n-2,25;3\n", &PLAIN, COMP_ERR_DATA, "column 'a' holds numbers with a comma, such as 1,5");
  check_failure("a,b\n\"1,5\",2\n\"2\",3\n", &PLAIN, COMP_ERR_DATA, "with a comma");
  comp__read_options options = PLAIN;
  options.no_header = true;
  options.names = "a,b,c";
  check_failure("1,2\n3,4\n", &options, COMP_ERR_ARGUMENT, "3 column names were given, but test.csv has 2 columns");
}

static void other_options_are_refused(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp__read_options options = PLAIN;
  options.layer = "counts";
  comp_dataset *d;
  assert_error(comp__format_csv.read(&d, context, "x.csv", &options), COMP_ERR_ARGUMENT, "no layer 'counts'");
  options = PLAIN;
  assert_error(comp__format_csv.read(&d, context, "/nowhere/x.csv", &options), COMP_ERR_IO, "No such file");
  assert_error(comp__format_csv.read(&d, context, "/tmp", &options), COMP_ERR_IO, "it is a folder");
  comp_context_free(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(delimiters_are_found),
      cmocka_unit_test(quotes_follow_rfc_4180),
      cmocka_unit_test(line_ends_and_marks_mean_nothing),
      cmocka_unit_test(comments_are_skipped),
      cmocka_unit_test(spaces_after_delimiters_are_trimmed),
      cmocka_unit_test(missing_values_have_rules),
      cmocka_unit_test(kinds_are_found),
      cmocka_unit_test(late_surprises_change_kinds),
      cmocka_unit_test(row_names_are_found),
      cmocka_unit_test(data_sets_have_x_and_obs),
      cmocka_unit_test(many_zeros_make_x_sparse),
      cmocka_unit_test(genes_may_be_rows),
      cmocka_unit_test(tables_keep_the_index),
      cmocka_unit_test(a_nameless_empty_last_column_is_dropped),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(bad_shapes_are_refused),
      cmocka_unit_test(bad_bytes_are_refused),
      cmocka_unit_test(bad_quotes_are_refused),
      cmocka_unit_test(bad_values_are_refused),
      cmocka_unit_test(other_options_are_refused),
  };
  return cmocka_run_group_tests_name("io/csv", tests, NULL, NULL);
}
