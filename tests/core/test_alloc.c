/* test_alloc.c: alignment, overflow, growth, the workspace. */
#include "testing.h"

#include "core/alloc.h"

static void blocks_are_aligned(void **state) {
  (void)state;
  for (size_t n = 0; n < 200; n += 7) {
    char *block;
    assert_ok(comp__alloc(&block, n, 1));
    assert_non_null(block);
    assert_int_equal((uintptr_t)block % COMP__ALIGN, 0);
    comp__free(block);
  }
}

static void overflow_is_an_error(void **state) {
  (void)state;
  double *block = (double *)8;
  assert_error(comp__alloc(&block, SIZE_MAX / 4, sizeof(double)), COMP_ERR_MEMORY, "more than can be addressed");
  assert_null(block);
  assert_error(comp__alloc(&block, SIZE_MAX - 8, 1), COMP_ERR_MEMORY, "more than can be addressed");
  assert_error(comp__alloc(&block, (size_t)1 << 62, 1), COMP_ERR_MEMORY, "could not get");
  size_t size;
  assert_false(comp__size_add(&size, SIZE_MAX, 1));
  assert_false(comp__size_mul(&size, SIZE_MAX / 2, 3));
  assert_true(comp__size_mul(&size, 6, 7) && size == 42);
  assert_true(comp__workspace_size(SIZE_MAX / 2, 4) == SIZE_MAX);
}

static void zeroed_blocks_hold_zeros(void **state) {
  (void)state;
  int *block;
  assert_ok(comp__calloc(&block, 1000, sizeof *block));
  for (int i = 0; i < 1000; i++) assert_int_equal(block[i], 0);
  comp__free(block);
}

static void growing_keeps_what_was_there(void **state) {
  (void)state;
  size_t *array = NULL, capacity = 0;
  for (size_t i = 0; i < 10000; i++) {
    assert_ok(comp__grow(&array, &capacity, i, i + 1, sizeof *array));
    array[i] = i * i;
  }
  for (size_t i = 0; i < 10000; i++) assert_int_equal(array[i], i * i);
  comp__free(array);
}

static void workspace_gives_and_takes_back(void **state) {
  (void)state;
  comp__workspace workspace;
  size_t size = comp__workspace_size(10, sizeof(float)) + comp__workspace_size(3, sizeof(double));
  assert_ok(comp__workspace_init(&workspace, size));
  float *a = comp__workspace_take(&workspace, 10, sizeof *a);
  size_t mark = comp__workspace_mark(&workspace);
  double *b = comp__workspace_take(&workspace, 3, sizeof *b);
  assert_int_equal((uintptr_t)b % COMP__ALIGN, 0);
  assert_true((char *)b >= (char *)(a + 10));
  comp__workspace_reset(&workspace, mark);
  assert_ptr_equal(comp__workspace_take(&workspace, 3, sizeof *b), b);
  comp__workspace_release(&workspace);
}

static void room_is_asked_for_and_given_back(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) assert_ok(comp__room((size_t)1 << 20));
  assert_int_equal(comp__room(SIZE_MAX / 4), COMP_ERR_MEMORY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_aligned),
      cmocka_unit_test(overflow_is_an_error),
      cmocka_unit_test(zeroed_blocks_hold_zeros),
      cmocka_unit_test(growing_keeps_what_was_there),
      cmocka_unit_test(workspace_gives_and_takes_back),
      cmocka_unit_test(room_is_asked_for_and_given_back),
  };
  return cmocka_run_group_tests_name("core/alloc", tests, NULL, NULL);
}
