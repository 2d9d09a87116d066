/* test_zarr.c: parts of zarr stores that the oracle (tests/oracle/test_zarr.py) does not reach alone: keys, links,
 * checksums, codecs, fill values, absurd metadata. */
#include "testing.h"

#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/context.h"
#include "core/json.h"
#include "io/zarr/tree.h"
#include "io/zarr/zarr_write.h"

static char root[64];

static int make_root(void **state) {
  (void)state;
  comp__json_start();
  snprintf(root, sizeof root, "/tmp/comp-zarr-XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command); /* NOLINT: a path of ours */
}

static void put(const char *key, const void *data, size_t size) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", root, key);
  for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = '\0';
    mkdir(path, 0777);
  }
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

static void put_text(const char *key, const char *text) {
  put(key, text, strlen(text));
}

static void keys_that_lead_out(void **state) {
  (void)state;
  static const char *const bad[] = {"", "/", "/etc/passwd", "..", "../x", "a/..", "a/../b", ".", "a/./b", "a//b", "a/"};
  static const char *const good[] = {"a", "a/b", ".zarray", "..a/b..", "a/...", "c/0/0"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(comp__zarr_key_is_good(bad[i]));
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(comp__zarr_key_is_good(good[i]));
  comp__zarr_store *store;
  comp__zarr_buffer buffer = {0};
  bool found;
  assert_ok(comp__zarr_store_open(&store, root));
  assert_int_equal(comp__zarr_store_get(&found, &buffer, store, "../etc/passwd", 1000), COMP_ERR_FORMAT);
  comp__zarr_store_close(store);
}

static void links_stay_inside(void **state) {
  (void)state;
  char path[128];
  comp__zarr_store *store;
  comp__zarr_buffer buffer = {0};
  bool found;
  put_text("links/inside", "hello");
  snprintf(path, sizeof path, "%s/links/near", root);
  assert_int_equal(symlink("inside", path), 0);
  snprintf(path, sizeof path, "%s/links/far", root);
  assert_int_equal(symlink("/etc/passwd", path), 0);
  snprintf(path, sizeof path, "%s/links/up", root);
  assert_int_equal(symlink("../../../etc/passwd", path), 0);
  assert_ok(comp__zarr_store_open(&store, root));
  assert_int_equal(comp__zarr_store_get(&found, &buffer, store, "links/far", 10000), COMP_ERR_FORMAT);
  assert_non_null(strstr(comp_error_message(), "links/far is a symbolic link"));
  assert_int_equal(comp__zarr_store_get(&found, &buffer, store, "links/up", 10000), COMP_ERR_FORMAT);
  assert_ok(comp__zarr_store_get(&found, &buffer, store, "links/nothing", 10000));
  assert_false(found);
  assert_ok(comp__zarr_store_get(&found, &buffer, store, "links", 10000));
  assert_false(found);
  assert_ok(comp__zarr_store_get_part(&found, &buffer, store, "links/inside", 1, 3));
  assert_true(found && buffer.size == 3 && memcmp(buffer.data, "ell", 3) == 0);
  assert_int_equal(comp__zarr_store_get_part(&found, &buffer, store, "links/inside", 3, 3), COMP_ERR_FORMAT);
  assert_int_equal(comp__zarr_store_get(&found, &buffer, store, "links/inside", 4), COMP_ERR_FORMAT);
  comp__zarr_buffer_release(&buffer);
  comp__zarr_store_close(store);
}

/* The check value of the catalogue of checksums, and those of RFC 3720. */
static void checksums(void **state) {
  (void)state;
  unsigned char zeros[32] = {0}, ones[32];
  memset(ones, 0xff, sizeof ones);
  assert_int_equal(comp__crc32c((const unsigned char *)"123456789", 9), 0xe3069283);
  assert_int_equal(comp__crc32c(zeros, 32), 0x8a9136aa);
  assert_int_equal(comp__crc32c(ones, 32), 0x62a8ab43);
}

/* A stream of zstd does not say how long it becomes. */
static void zstd_without_a_size(void **state) {
  (void)state;
  enum { N = 300000 };
  unsigned char *from = malloc(N), *to, *packed = malloc(ZSTD_compressBound(N));
  for (size_t i = 0; i < N; i++) from[i] = (unsigned char)(i * i / 7);
  ZSTD_CCtx *z = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
  size_t size = ZSTD_compress2(z, packed, ZSTD_compressBound(N), from, N);
  assert_false(ZSTD_isError(size));
  ZSTD_freeCCtx(z);
  comp__zarr_scratch scratch = {0};
  comp__zarr_codecs codecs = {0};
  assert_ok(comp__zarr_codecs_add(&codecs, "zstd"));
  for (int round = 0; round < 3; round++) {
    assert_ok(comp__zarr_buffer_reserve(&scratch.stored, size));
    memcpy(scratch.stored.data, packed, size);
    size_t expected = round == 0 ? N : round == 1 ? SIZE_MAX : N - 1, actual;
    comp_status status = comp__zarr_decode(&to, &actual, &codecs, &scratch, expected, NULL);
    assert_int_equal(status, round < 2 ? COMP_OK : COMP_ERR_FORMAT);
    if (round < 2) assert_true(actual == N && memcmp(to, from, N) == 0);
  }
  comp__zarr_scratch_release(&scratch);
  free(from);
  free(packed);
}

/* Twenty bytes cannot become a gigabyte: nothing is allocated. */
static void claims_of_a_chunk(void **state) {
  (void)state;
  static const char *const names[] = {"gzip", "zlib", "zstd", "blosc"};
  comp__zarr_scratch scratch = {0};
  unsigned char *to;
  size_t size;
  for (size_t i = 0; i < 4; i++) {
    comp__zarr_codecs codecs = {0};
    assert_ok(comp__zarr_codecs_add(&codecs, names[i]));
    for (size_t n = 0; n < 40; n += 13) {
      assert_ok(comp__zarr_buffer_reserve(&scratch.stored, n));
      memset(scratch.stored.data, 7, n);
      assert_int_equal(comp__zarr_decode(&to, &size, &codecs, &scratch, (size_t)1 << 30, NULL), COMP_ERR_FORMAT);
      assert_true(scratch.buffers[0].capacity < 1 << 20 && scratch.buffers[1].capacity < 1 << 20);
    }
  }
  comp__zarr_scratch_release(&scratch);
}

/* An array of two chunks whose second is missing; the metadata in version 3 is given. */
static void read_filled(const char *type, const char *fill, double want) {
  char json[1024];
  comp_context *context = test_context(2);
  comp__tree *tree;
  comp__tree_array array = {0};
  double values[4];
  snprintf(
      json, sizeof json,
      "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"%s\", \"fill_value\": %s,"
      " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2]}}, \"codecs\": [\"bytes\"],"
      " \"chunk_key_encoding\": {\"name\": \"default\"}}",
      type, fill);
  put_text("zarr.json", "{\"zarr_format\": 3, \"node_type\": \"group\"}");
  put_text("fill/zarr.json", json);
  assert_ok(comp__zarr_tree_open(&tree, root));
  assert_ok(tree->ops->open(&array, tree, "fill"));
  assert_ok(tree->ops->read(context, &array, COMP__AS_F64, 0, 4, values));
  if (isnan(want))
    assert_true(isnan(values[3]));
  else
    assert_true(values[3] == want);
  tree->ops->close(&array);
  comp__tree_free(tree);
  comp_context_free(context);
}

static void fill_values(void **state) {
  (void)state;
  read_filled("float32", "1.5", 1.5);
  read_filled("float64", "\"NaN\"", NAN);
  read_filled("float64", "\"-Infinity\"", -INFINITY);
  read_filled("float32", "\"0x40200000\"", 2.5);
  read_filled("float16", "0.1", 0.0999755859375);
  read_filled("float16", "65504", 65504);
  read_filled("float16", "1e-7", 1.1920928955078125e-07);
  read_filled("float16", "-2.75", -2.75);
  read_filled("float16", "1e9", INFINITY);
  read_filled("int8", "-128", -128);
  read_filled("uint16", "65535", 65535);
  read_filled("int64", "-5", -5);
  read_filled("bool", "true", 1);
}

static void assert_meta_fails(const char *json, const char *needle) {
  comp__zarr_meta meta;
  json_t *object = json_loads(json, 0, NULL);
  assert_non_null(object);
  comp_status status = comp__zarr_meta_read(&meta, object);
  if (status == COMP_OK || !strstr(comp_error_message(), needle))
    fail_msg("%s: %s, not '%s'", json, status == COMP_OK ? "no error" : comp_error_message(), needle);
  comp__zarr_meta_release(&meta);
  json_decref(object);
}

#define V2(shape, chunks, more)                                                                                        \
  "{\"zarr_format\": 2, \"shape\": " shape ", \"chunks\": " chunks ", \"dtype\": \"<f4\", \"order\": \"C\"" more "}"

static void metadata_that_is_wrong(void **state) {
  (void)state;
  assert_meta_fails("{}", "zarr_format");
  assert_meta_fails("{\"zarr_format\": 4}", "zarr_format");
  assert_meta_fails("{\"zarr_format\": 2}", "shape");
  assert_meta_fails(V2("[-1]", "[1]", ""), "shape");
  assert_meta_fails(V2("[1.5]", "[1]", ""), "shape");
  assert_meta_fails(V2("[4]", "[0]", ""), "chunks");
  assert_meta_fails(V2("[4]", "[2, 2]", ""), "dimensions");
  assert_meta_fails(V2("[1,1,1,1,1,1,1,1,1]", "[1]", ""), "shape");
  assert_meta_fails(V2("[9000000000000000000]", "[1]", ""), "absurd");
  assert_meta_fails(V2("[4000000000, 4000000000]", "[1, 1]", ""), "absurd");
  assert_meta_fails(V2("[4]", "[9000000000000000000]", ""), "absurd");
  assert_meta_fails(V2("[4]", "[2]", ", \"compressor\": {\"id\": \"lz4\"}"), "'lz4'");
  assert_meta_fails(V2("[4]", "[2]", ", \"dimension_separator\": \"x\""), "dimension_separator");
  assert_meta_fails(V2("[4]", "[2]", ", \"fill_value\": \"x\""), "fill value");
  assert_meta_fails("{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"<f4\", \"order\": \"Q\"}",
                    "order");
}

#define V3(more)                                                                                                       \
  "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"float32\", \"fill_value\": 0, "     \
  "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2]}}, \"codecs\": [\"bytes\"], "      \
  "\"chunk_key_encoding\": {\"name\": \"default\"}, \"attributes\": {}" more "}"

static void members_that_must_be_understood(void **state) {
  (void)state;
  static const char *const good[] = {V3(""), V3(", \"new\": {\"must_understand\": false}"), V3(", \"new\": null"),
                                     V3(", \"dimension_names\": [\"x\"], \"storage_transformers\": []")};
  assert_meta_fails(V3(", \"new\": {\"must_understand\": true}"), "'new'");
  assert_meta_fails(V3(", \"new\": {\"name\": \"x\"}"), "'new'");
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    comp__zarr_meta meta;
    json_t *object = json_loads(good[i], 0, NULL);
    assert_ok(comp__zarr_meta_read(&meta, object));
    comp__zarr_meta_release(&meta);
    json_decref(object);
  }
}

/* More entries than the old fields of zip files count: zip64. */
static void zip_files_of_many_entries(void **state) {
  (void)state;
  enum { N = 65540 };
  char path[128], folder[128], key[32];
  comp__zarr_store *store;
  comp__zarr_buffer buffer = {0};
  size_t count;
  bool found;
  snprintf(folder, sizeof folder, "%s/many", root);
  snprintf(path, sizeof path, "%s/many.zip", root);
  assert_int_equal(mkdir(folder, 0777), 0);
  put_text("many/.zgroup", "{\"zarr_format\": 2}");
  put_text("many/a/b/0", "hello");
  snprintf(path, sizeof path, "%s/many/a/b/0", root);
  for (int i = 1; i < N; i++) { /* links: quicker than files */
    char name[160];
    snprintf(name, sizeof name, "%s/many/%s%d", root, i % 2 ? "a/" : "", i);
    assert_int_equal(link(path, name), 0);
    if (i % 1000 == 0) { /* a file has so many names only */
      snprintf(name, sizeof name, "many/a/b/%d", i);
      put_text(name, "hello");
      snprintf(path, sizeof path, "%s/%s", root, name);
    }
  }
  snprintf(path, sizeof path, "%s/many.zip", root);
  assert_ok(comp__zarr_pack(path, folder, "many.zip"));
  assert_ok(comp__zarr_store_open(&store, path));
  assert_ok(comp__zarr_store_count(&count, store, "", SIZE_MAX));
  assert_int_equal(count, N + (N - 1) / 1000);
  for (int i = 1; i < N; i += 4711) {
    snprintf(key, sizeof key, "%s%d", i % 2 ? "a/" : "", i);
    assert_ok(comp__zarr_store_get(&found, &buffer, store, key, 100));
    assert_true(found && buffer.size == 5 && memcmp(buffer.data, "hello", 5) == 0);
  }
  comp__zarr_buffer_release(&buffer);
  comp__zarr_store_close(store);
}

/* A bit of an entry that is not compressed: only its CRC-32 finds it. */
static void damaged_zip_entries(void **state) {
  (void)state;
  char path[128], folder[128];
  unsigned char bytes[512];
  comp__zarr_store *store;
  comp__zarr_buffer buffer = {0};
  bool found;
  snprintf(folder, sizeof folder, "%s/bits", root);
  snprintf(path, sizeof path, "%s/bits.zip", root);
  assert_int_equal(mkdir(folder, 0777), 0);
  put_text("bits/0", "hello");
  assert_ok(comp__zarr_pack(path, folder, "bits.zip"));
  FILE *file = fopen(path, "r+b");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  unsigned char *at = memmem(bytes, size, "hello", 5);
  assert_non_null(at);
  assert_int_equal(fseek(file, at - bytes, SEEK_SET), 0);
  assert_int_equal(fputc('j', file), 'j');
  assert_int_equal(fclose(file), 0);
  assert_ok(comp__zarr_store_open(&store, path));
  assert_int_equal(comp__zarr_store_get(&found, &buffer, store, "0", 100), COMP_ERR_FORMAT);
  assert_non_null(strstr(comp_error_message(), "0: the zip file is damaged"));
  comp__zarr_buffer_release(&buffer);
  comp__zarr_store_close(store);
}

enum { DAMAGE_N = 100 };

/* What is read of the array "list" of a store. */
static comp_status read_list(float *out, comp_context *context, const char *folder) {
  comp__tree *tree;
  comp__tree_array array = {0};
  assert_ok(comp__zarr_tree_open(&tree, folder));
  assert_ok(tree->ops->open(&array, tree, "list"));
  comp_status status = tree->ops->read(context, &array, COMP__AS_F32, 0, DAMAGE_N, out);
  tree->ops->close(&array);
  comp__tree_free(tree);
  return status;
}

/* Each byte of a chunk of a store that comp wrote, changed: an error, or the right values. */
static void damage_each_byte(int version, bool sharded, const char *name) {
  char folder[128], key[160];
  unsigned char bytes[1024], damaged[1024];
  float values[DAMAGE_N], got[DAMAGE_N];
  comp_context *context = test_context(1);
  comp__zarr_sink sink;
  size_t refused = 0;
  for (size_t i = 0; i < DAMAGE_N; i++) values[i] = (float)(i * 7919 % 1009) / 3.0f;
  snprintf(folder, sizeof folder, "%s/%s", root, name);
  snprintf(key, sizeof key, "%s/list/%s", name, version == 2 ? "0" : "c/0");
  assert_int_equal(mkdir(folder, 0777), 0);
  assert_ok(comp__zarr_sink_open(&sink, context, folder, version, sharded, 4));
  assert_ok(comp__zarr_write_group(&sink, "", "dict", "0.1.0"));
  assert_ok(comp__zarr_sink_array(&sink, "list", COMP__STORED_F32, values, DAMAGE_N, 0, true));
  comp__zarr_sink_close(&sink);
  assert_ok(read_list(got, context, folder));
  assert_memory_equal(got, values, sizeof values);
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, key);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(size > DAMAGE_N && size < sizeof bytes);
  for (size_t i = 0; i < size; i++) {
    memcpy(damaged, bytes, size);
    damaged[i] ^= 0x55;
    put(key, damaged, size);
    if (read_list(got, context, folder) == COMP_OK)
      assert_memory_equal(got, values, sizeof values);
    else
      refused++;
  }
  assert_true(refused > size * 9 / 10);
  comp_context_free(context);
}

static void damaged_chunks(void **state) {
  (void)state;
  damage_each_byte(2, false, "damaged2");
  damage_each_byte(3, false, "damaged3");
  damage_each_byte(3, true, "damaged-shards");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_that_lead_out),
      cmocka_unit_test(links_stay_inside),
      cmocka_unit_test(checksums),
      cmocka_unit_test(zstd_without_a_size),
      cmocka_unit_test(claims_of_a_chunk),
      cmocka_unit_test(fill_values),
      cmocka_unit_test(metadata_that_is_wrong),
      cmocka_unit_test(members_that_must_be_understood),
      cmocka_unit_test(zip_files_of_many_entries),
      cmocka_unit_test(damaged_zip_entries),
      cmocka_unit_test(damaged_chunks),
  };
  return cmocka_run_group_tests_name("io/zarr", tests, make_root, remove_root);
}
