/* test_dataset.c: the parts of a data set stay together. */
#include "testing.h"

#include "core/matrix.h"

static comp_dataset *sample(void) {
  comp_matrix *x, *layer, *pca;
  comp_dataset *d;
  assert_ok(comp_matrix_new_dense(&x, 3, 4));
  for (int i = 0; i < 12; i++) x->values[i] = (float)i;
  assert_ok(comp_dataset_new(&d, x, (const char *[]){"c1", "c2", "c3"}, NULL));
  assert_ok(comp_matrix_new_csr(&layer, 3, 4, 0));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "counts", layer));
  assert_ok(comp_matrix_new_dense(&pca, 3, 2));
  pca->values[4] = 7;
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_pca", pca));
  assert_ok(comp_table_add_numbers(comp_dataset_obs(d), "n", (double[]){1, 2, 3}, true));
  assert_ok(comp_table_add_numbers(comp_dataset_var(d), "m", (double[]){1, 2, 3, 4}, true));
  assert_ok(comp_dataset_set_record(d, "{}"));
  return d;
}

static void parts_are_found(void **state) {
  (void)state;
  comp_dataset *d = sample();
  assert_int_equal(comp_dataset_sample_count(d), 3);
  assert_string_equal(comp_dataset_obs_name(d, 2), "c3");
  assert_string_equal(comp_dataset_var_name(d, 3), "3");
  assert_int_equal(comp_dataset_find_var(d, "2"), 2);
  assert_true(comp_dataset_find_var(d, "nix") == COMP_NOT_FOUND);
  assert_non_null(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_pca"));
  assert_null(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "X_pca"));
  comp_dataset_free(d);
}

static void wrong_shapes_are_refused(void **state) {
  (void)state;
  comp_dataset *d = sample();
  comp_matrix *m;
  assert_ok(comp_matrix_new_dense(&m, 2, 4));
  assert_error(comp_dataset_set_matrix(d, COMP_SLOT_LAYERS, "bad", m), COMP_ERR_ARGUMENT,
               "2 x 4 cannot be 'bad' in layers");
  assert_ok(comp_matrix_new_dense(&m, 3, 5));
  assert_error(comp_dataset_set_x(d, m), COMP_ERR_ARGUMENT, "3 x 5");
  assert_ok(comp_matrix_new_csr(&m, 3, 2, 0));
  assert_error(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "bad", m), COMP_ERR_ARGUMENT, "sparse");
  assert_ok(comp_matrix_new_dense(&m, 3, 2));
  assert_error(comp_dataset_set_matrix(d, (comp_slot)7, "bad", m), COMP_ERR_ARGUMENT, "7 is no place");
  assert_int_equal(comp_dataset_matrix_count(d, (comp_slot)7), 0);
  assert_null(comp_dataset_matrix(d, (comp_slot)7, "bad"));
  comp_dataset_remove_matrix(d, (comp_slot)7, "bad");
  assert_ok(comp_matrix_new_dense(&m, 3, 2)); /* taken over, also where something else is NULL */
  assert_error(comp_dataset_set_matrix(NULL, COMP_SLOT_OBSM, "bad", m), COMP_ERR_ARGUMENT, "dataset is NULL");
  assert_ok(comp_matrix_new_dense(&m, 3, 2));
  assert_error(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, NULL, m), COMP_ERR_ARGUMENT, "name is NULL");
  assert_error(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "bad", NULL), COMP_ERR_ARGUMENT, "matrix is NULL");
  assert_ok(comp_matrix_new_dense(&m, 3, 4));
  assert_error(comp_dataset_set_x(NULL, m), COMP_ERR_ARGUMENT, "dataset is NULL");
  assert_error(comp_dataset_set_x(d, NULL), COMP_ERR_ARGUMENT, "x is NULL");
  assert_ok(comp_matrix_new_dense(&m, 3, 4));
  assert_error(comp_dataset_new(NULL, m, NULL, NULL), COMP_ERR_ARGUMENT, "out is NULL");
  assert_null(comp_dataset_matrix_name(d, COMP_SLOT_OBSM, 99));
  assert_int_equal(comp_dataset_matrix_count(d, COMP_SLOT_OBSM), 1);
  comp_dataset_free(d);
}

static void removed_matrices_are_gone(void **state) {
  (void)state;
  comp_dataset *d = sample();
  comp_matrix *second;
  assert_ok(comp_matrix_new_dense(&second, 3, 1));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_umap", second));
  comp_dataset_remove_matrix(d, COMP_SLOT_OBSM, "nix");
  comp_dataset_remove_matrix(d, COMP_SLOT_LAYERS, "X_pca");
  assert_int_equal(comp_dataset_matrix_count(d, COMP_SLOT_OBSM), 2);
  comp_dataset_remove_matrix(d, COMP_SLOT_OBSM, "X_pca");
  assert_int_equal(comp_dataset_matrix_count(d, COMP_SLOT_OBSM), 1);
  assert_null(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_pca"));
  assert_ptr_equal(comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_umap"), second);
  assert_non_null(comp_dataset_matrix(d, COMP_SLOT_LAYERS, "counts"));
  comp_dataset_free(d);
}

static void selection_takes_everything_along(void **state) {
  (void)state;
  comp_context *context = test_context(1);
  comp_dataset *d = sample(), *s;
  assert_ok(comp_dataset_select(&s, context, d, (size_t[]){2, 0}, 2, (size_t[]){3, 1, 0}, 3));
  assert_int_equal(comp_dataset_sample_count(s), 2);
  assert_int_equal(comp_dataset_feature_count(s), 3);
  assert_string_equal(comp_dataset_obs_name(s, 0), "c3");
  assert_string_equal(comp_dataset_var_name(s, 0), "3");
  assert_true(comp_dataset_x(s)->values[0] == 11.0f);
  assert_true(comp_table_number(comp_dataset_obs(s), 0, 0) == 3);
  assert_true(comp_table_number(comp_dataset_var(s), 0, 2) == 1);
  assert_true(comp_dataset_matrix(s, COMP_SLOT_OBSM, "X_pca")->values[0] == 7);
  assert_int_equal(comp_dataset_matrix(s, COMP_SLOT_LAYERS, "counts")->cols, 3);
  assert_string_equal(comp_dataset_record(s), "{}");
  comp_dataset_free(s);
  assert_ok(comp_dataset_select(&s, context, d, NULL, 0, NULL, 0));
  assert_int_equal(comp_dataset_feature_count(s), 4);
  comp_dataset_free(s);
  comp_dataset_free(d);
  comp_context_free(context);
}

static void names_are_read_and_set(void **state) {
  (void)state;
  comp_dataset *d = sample();
  const char *names[4];
  comp_dataset_obs_names(names, d);
  assert_string_equal(names[2], "c3");
  comp_dataset_var_names(names, d);
  assert_string_equal(names[3], "3");
  assert_ok(comp_dataset_set_var_names(d, (const char *[]){"CD4", "CD8A", "MS4A1", "LYZ"}));
  assert_int_equal(comp_dataset_find_var(d, "LYZ"), 3);
  assert_ok(comp_dataset_set_obs_names(d, (const char *[]){"x", "y", "z"}));
  assert_error(comp_dataset_set_obs_names(d, (const char *[]){"x", NULL, "z"}), COMP_ERR_ARGUMENT,
               "name 1 of 3 is NULL");
  assert_error(comp_dataset_set_obs_names(d, (const char *[]){"x", "y", "\xff"}), COMP_ERR_ARGUMENT, "not valid UTF-8");
  assert_string_equal(comp_dataset_obs_name(d, 2), "z");
  comp_dataset_free(d);
}

static void x_may_be_absent(void **state) {
  (void)state;
  comp_dataset *d;
  comp_matrix *z;
  assert_ok(comp_dataset_new_without_x(&d, 3, 0, NULL, NULL));
  assert_null(comp_dataset_x(d));
  assert_string_equal(comp_dataset_obs_name(d, 1), "1");
  assert_ok(comp_matrix_new_dense(&z, 3, 2));
  assert_ok(comp_dataset_set_matrix(d, COMP_SLOT_OBSM, "X_z", z));
  comp_dataset_free(d);
  assert_error(comp_dataset_new_without_x(&d, 1, 1, (const char *[]){"\xff"}, NULL), COMP_ERR_ARGUMENT, "UTF-8");
  assert_null(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_found),           cmocka_unit_test(wrong_shapes_are_refused),
      cmocka_unit_test(removed_matrices_are_gone), cmocka_unit_test(selection_takes_everything_along),
      cmocka_unit_test(names_are_read_and_set),    cmocka_unit_test(x_may_be_absent),
  };
  return cmocka_run_group_tests_name("core/dataset", tests, NULL, NULL);
}
