/* test_enums.c: every value of a public enum has a name, and the name gives the value back. (tests/check/interface.sh
 * sees that each enum has both functions.) */
#include "testing.h"

#define CHECK(type, last)                                                                                              \
  do {                                                                                                                 \
    type value_;                                                                                                       \
    for (int i_ = 0; i_ <= (int)(last); i_++) {                                                                        \
      const char *name_ = type##_name((type)i_);                                                                       \
      assert_non_null(name_);                                                                                          \
      assert_ok(type##_parse(&value_, name_));                                                                         \
      assert_int_equal(value_, i_);                                                                                    \
    }                                                                                                                  \
    assert_error(type##_parse(&value_, "zzzzzzz"), COMP_ERR_ARGUMENT, "zzzzzzz");                                      \
    if (!strstr(comp_error_message(), type##_name((type)0))) fail_msg("'%s' lists no names", comp_error_message());    \
  } while (0)

static void names_and_back(void **state) {
  (void)state;
  CHECK(comp_better, COMP_BETTER_ZERO);
  CHECK(comp_classifier_kind, COMP_CLASSIFIER_KINDS - 1);
  CHECK(comp_column_kind, COMP_COLUMN_BOOL);
  CHECK(comp_data_kind, COMP_DATA_MIXED);
  CHECK(comp_distance, COMP_DISTANCE_COSINE);
  CHECK(comp_document, COMP_DOCUMENTS - 1);
  CHECK(comp_finding_level, COMP_FINDING_PROBLEM);
  CHECK(comp_log_level, COMP_LOG_DEBUG);
  CHECK(comp_matrix_kind, COMP_CSR);
  CHECK(comp_number_type, COMP_INT64);
  CHECK(comp_option_type, COMP_OPTION_REALS);
  CHECK(comp_predictor, COMP_PREDICTORS - 1);
  CHECK(comp_search, COMP_SEARCH_APPROXIMATE);
  CHECK(comp_slot, COMP_SLOT_OBSM);
}

static void a_value_beyond_has_no_name(void **state) {
  (void)state;
  assert_null(comp_slot_name((comp_slot)(COMP_SLOT_OBSM + 1)));
  assert_null(comp_document_name(COMP_DOCUMENTS));
  for (int status = COMP_OK; status <= COMP_ERR_UNAVAILABLE; status++)
    assert_true(strlen(comp_status_name((comp_status)status)) > 1);
}

static void a_near_name_is_suggested(void **state) {
  (void)state;
  comp_distance distance;
  assert_error(comp_distance_parse(&distance, "euclidian"), COMP_ERR_ARGUMENT, "did you mean 'euclidean'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_back),
      cmocka_unit_test(a_value_beyond_has_no_name),
      cmocka_unit_test(a_near_name_is_suggested),
  };
  return cmocka_run_group_tests_name("core/enums", tests, NULL, NULL);
}
