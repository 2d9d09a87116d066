/* test_digest.c: the digests that the xxHash specification and its program give, however the bytes come. */
#include "testing.h"

#include "core/digest.h"

static uint64_t digest_of(const void *data, size_t size, size_t step) {
  comp__digest digest;
  comp__digest_init(&digest);
  for (size_t i = 0; i < size; i += step)
    comp__digest_add(&digest, (const char *)data + i, size - i < step ? size - i : step);
  return comp__digest_end(&digest);
}

static void known_digests(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t value;
  } known[] = {{"", 0xEF46DB3751D8E999u},
               {"a", 0xD24EC4F1A98C6E5Bu},
               {"as", 0x1C330FB2D66BE179u},
               {"asd", 0x631C37CE72A97393u},
               {"asdf", 0x415872F599CEA71Eu},
               {"abc", 0x44BC2CF5AD770999u},
               {"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02A2E85470D6FD96u},
               {"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1u}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    for (size_t step = 1; step < 70; step += 3)
      assert_int_equal(digest_of(known[i].text, strlen(known[i].text), step), known[i].value);
}

/* One bit anywhere is another digest, at every length around the size of a block. */
static void every_bit_counts(void **state) {
  (void)state;
  unsigned char bytes[100];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 37);
  for (size_t size = 1; size <= sizeof bytes; size++) {
    uint64_t before = digest_of(bytes, size, size);
    assert_int_not_equal(digest_of(bytes, size - 1, 7), before);
    for (size_t bit = 0; bit < 8 * size; bit++) {
      bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
      assert_int_not_equal(digest_of(bytes, size, 33), before);
      bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
  }
}

/* Values that models, checkpoints and run folders of version 0.1 hold; bytes may come in parts of 8. */
static void known_mixes(void **state) {
  (void)state;
  static const char text[] = "sixteen letters.and more";
  assert_int_equal(comp__mix(1, "", 0), 1);
  assert_int_equal(comp__mix(0, "a", 1), 'a' * 0x100000001b3u);
  assert_int_equal(comp__mix(comp__mix(7, text, 16), text + 16, 8), comp__mix(7, text, 24));
  uint64_t value = 7, word;
  memcpy(&word, text, sizeof word);
  value = (value ^ word) * 0x9e3779b97f4a7c15u;
  value ^= value >> 29;
  assert_int_equal(comp__mix(7, text, 8), value);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_digests),
      cmocka_unit_test(every_bit_counts),
      cmocka_unit_test(known_mixes),
  };
  return cmocka_run_group_tests_name("core/digest", tests, NULL, NULL);
}
