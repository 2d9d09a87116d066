/* sink.c: writing groups and arrays of a zarr store. */
#include "io/zarr/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/threads.h"
#include "io/tree.h"
#include "io/zarr/codec.h"

/* Bytes of a chunk before compression, texts of a chunk, chunks of a shard. */
enum { CHUNK_BYTES = 1 << 20, CHUNK_TEXTS = 1 << 16, SHARD_CHUNKS = 64 };

static const struct {
  const char *v2;
  const char *v3;
  size_t size;
} TYPES[] = {[COMP__STORED_BOOL] = {"|b1", "bool", 1},  [COMP__STORED_I8] = {"|i1", "int8", 1},
             [COMP__STORED_I16] = {"<i2", "int16", 2},  [COMP__STORED_I32] = {"<i4", "int32", 4},
             [COMP__STORED_I64] = {"<i8", "int64", 8},  [COMP__STORED_U8] = {"|u1", "uint8", 1},
             [COMP__STORED_U16] = {"<u2", "uint16", 2}, [COMP__STORED_U32] = {"<u4", "uint32", 4},
             [COMP__STORED_U64] = {"<u8", "uint64", 8}, [COMP__STORED_F32] = {"<f4", "float32", 4},
             [COMP__STORED_F64] = {"<f8", "float64", 8}};

/* ---- values ---- */

static comp_status make_folders(const comp__zarr_sink *s, const char *key) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s", key) >= (int)sizeof path)
    return comp__error(COMP_ERR_DATA, "%.60s...: its name is too long", key);
  for (char *slash = path; (slash = strchr(slash, '/')); *slash++ = '/') {
    *slash = '\0';
    if (mkdirat(s->fd, path, 0777) != 0 && errno != EEXIST) return comp__error_errno("cannot write %s", path);
  }
  return COMP_OK;
}

comp_status comp__zarr_sink_put(const comp__zarr_sink *s, const char *key, const void *data, size_t size) {
  const char *at = data;
  if (!comp__zarr_key_is_good(key))
    return comp__error(COMP_ERR_DATA, "nothing can be called '%s' in a zarr store", key);
  comp_status status = make_folders(s, key);
  if (status != COMP_OK) return status;
  int fd = openat(s->fd, key, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return comp__error_errno("cannot write %s", key);
  while (size > 0 && status == COMP_OK) {
    ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = comp__error_errno("cannot write %s", key);
    at += n > 0 ? n : 0;
    size -= n > 0 ? (size_t)n : 0;
  }
  if (close(fd) != 0 && status == COMP_OK) status = comp__error_errno("cannot write %s", key);
  return status;
}

/* Takes the JSON over. NULL: there was no memory for it. ASCII alone: zarr-python 2 reads no other. */
static comp_status put_json(const comp__zarr_sink *s, const char *path, const char *name, json_t *json) {
  comp__tree_path key;
  char *text = json ? json_dumps(json, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
  comp_status status = comp__tree_join(&key, path, name);
  if (!text) status = comp__error(COMP_ERR_MEMORY, "out of memory");
  if (status == COMP_OK) status = comp__zarr_sink_put(s, key.text, text, strlen(text));
  free(text);
  json_decref(json);
  return status;
}

comp_status comp__zarr_sink_drop(const comp__zarr_sink *s, const char *path) {
  if (unlinkat(s->fd, path, 0) == 0 || errno == ENOENT || errno == ENOTDIR) return COMP_OK;
  if (errno == EISDIR || errno == EPERM) comp__remove_folder(s->fd, path);
  struct stat info;
  if (fstatat(s->fd, path, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT) return COMP_OK;
  return comp__error(COMP_ERR_IO, "cannot replace %s: it cannot be removed", path);
}

comp_status comp__zarr_sink_replace(const comp__zarr_sink *s, const char *folder, const char *name,
                                    const json_t *json) {
  comp__tree_path key;
  comp_status status = comp__tree_join(&key, folder, name);
  if (status == COMP_OK) status = comp__zarr_sink_drop(s, key.text);
  return status == COMP_OK ? put_json(s, folder, name, json_incref((json_t *)json)) : status;
}

/* ---- metadata ---- */

static comp_status put_group(comp__tree_sink *sink, const char *path, const json_t *attributes) {
  const comp__zarr_sink *s = (const comp__zarr_sink *)sink;
  if (!attributes) return comp__error(COMP_ERR_MEMORY, "out of memory");
  if (s->version == 3)
    return put_json(s, path, "zarr.json",
                    json_pack("{s:i, s:s, s:O}", "zarr_format", 3, "node_type", "group", "attributes", attributes));
  comp_status status = put_json(s, path, ".zgroup", json_pack("{s:i}", "zarr_format", 2));
  return status == COMP_OK ? put_json(s, path, ".zattrs", json_copy((json_t *)attributes)) : status;
}

/* An array that is being written. */
typedef struct writing {
  const comp__zarr_sink *sink;
  const char *path;
  const char *encoding;     /* of AnnData; NULL: none */
  const json_t *attributes; /* instead of it; NULL: none */
  int rank;
  size_t shape[COMP__TREE_MOST_DIMS];
  size_t chunk[COMP__TREE_MOST_DIMS]; /* some rows, with all that is in them */
  size_t shard[COMP__TREE_MOST_DIMS]; /* sharded: chunks of a shard */
  const char *type_v2;                /* also of text */
  const char *type_v3;
  const comp__zarr_packed *packed; /* records; NULL: numbers or texts */
  size_t size;                     /* bytes a number */
  const char *numbers;             /* NULL: texts */
  const comp__strings *texts;
} writing;

static bool is_sharded(const writing *w) {
  return w->sink->sharded && w->rank > 0;
}

static json_t *sizes(const writing *w, const size_t *values, const size_t *times) {
  json_t *list = json_array();
  for (int i = 0; i < w->rank; i++) {
    size_t size = values[i] * (times ? times[i] : 1);
    if (json_array_append_new(list, json_integer((json_int_t)size)) == 0) continue;
    json_decref(list);
    return NULL;
  }
  return list;
}

static json_t *attributes_of(const writing *w) {
  if (w->attributes) return json_incref((json_t *)w->attributes);
  return w->encoding ? json_pack("{s:s, s:s}", "encoding-type", w->encoding, "encoding-version", "0.2.0")
                     : json_object();
}

/* The codecs of a chunk in version 3. */
static json_t *codecs_of(const writing *w) {
  json_t *list = w->texts      ? json_pack("[{s:s}]", "name", "vlen-utf8")
                 : w->size > 1 ? json_pack("[{s:s, s:{s:s}}]", "name", "bytes", "configuration", "endian", "little")
                               : json_pack("[{s:s}]", "name", "bytes");
  if (w->sink->level > 0 &&
      json_array_append_new(list, json_pack("{s:s, s:{s:i, s:b}}", "name", "zstd", "configuration", "level",
                                            w->sink->level, "checksum", 0)) != 0) {
    json_decref(list);
    return NULL;
  }
  return list;
}

static json_t *sharding_of(const writing *w) {
  return json_pack("[{s:s, s:{s:o, s:o, s:[{s:s, s:{s:s}}, {s:s}], s:s}}]", "name", "sharding_indexed", "configuration",
                   "chunk_shape", sizes(w, w->chunk, NULL), "codecs", codecs_of(w), "index_codecs", "name", "bytes",
                   "configuration", "endian", "little", "name", "crc32c", "index_location", "end");
}

static json_t *type_of(const writing *w) {
  if (w->packed) return json_incref(w->packed->type);
  return json_string(w->sink->version == 3 ? w->type_v3 : w->type_v2);
}

static json_t *fill_of(const writing *w) {
  if (w->packed) return json_incref(w->packed->fill);
  if (w->texts) return json_string("");
  return strcmp(w->type_v3, "bool") == 0 ? json_false() : w->type_v3[0] == 'f' ? json_real(0) : json_integer(0);
}

static comp_status put_metadata(const writing *w) {
  const comp__zarr_sink *s = w->sink;
  if (s->version == 3)
    return put_json(s, w->path, "zarr.json",
                    json_pack("{s:i, s:s, s:o, s:o, s:{s:s, s:{s:o}}, s:{s:s, s:{s:s}}, s:o, s:o, s:o}", "zarr_format",
                              3, "node_type", "array", "shape", sizes(w, w->shape, NULL), "data_type", type_of(w),
                              "chunk_grid", "name", "regular", "configuration", "chunk_shape",
                              sizes(w, w->chunk, is_sharded(w) ? w->shard : NULL), "chunk_key_encoding", "name",
                              "default", "configuration", "separator", "/", "fill_value", fill_of(w), "codecs",
                              is_sharded(w) ? sharding_of(w) : codecs_of(w), "attributes", attributes_of(w)));
  json_t *compressor = s->level > 0 ? json_pack("{s:s, s:i}", "id", "zstd", "level", s->level) : json_null();
  json_t *filters = w->texts ? json_pack("[{s:s}]", "id", "vlen-utf8") : json_null();
  comp_status status =
      put_json(s, w->path, ".zarray",
               json_pack("{s:i, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "zarr_format", 2, "shape",
                         sizes(w, w->shape, NULL), "chunks", sizes(w, w->chunk, NULL), "dtype", type_of(w), "order",
                         "C", "fill_value", fill_of(w), "compressor", compressor, "filters", filters));
  return status == COMP_OK ? put_json(s, w->path, ".zattrs", attributes_of(w)) : status;
}

/* ---- chunks ---- */

static comp_status append(comp__zarr_buffer *to, const void *data, size_t size) {
  size_t used = to->size;
  comp_status status = comp__grow(&to->data, &to->capacity, used, used + size, 1);
  if (status != COMP_OK) return status;
  memcpy(to->data + used, data, size);
  to->size = used + size;
  return COMP_OK;
}

static comp_status append_length(comp__zarr_buffer *to, size_t length) {
  const unsigned char bytes[4] = {(unsigned char)length, (unsigned char)(length >> 8), (unsigned char)(length >> 16),
                                  (unsigned char)(length >> 24)};
  if (length > INT32_MAX) return comp__error(COMP_ERR_DATA, "a text is too long for zarr");
  return append(to, bytes, sizeof bytes);
}

/* How many texts, then each behind its length; filled up by empty ones. */
static comp_status gather_texts(comp__zarr_buffer *to, const writing *w, size_t chunk) {
  size_t n = w->rank ? w->chunk[0] : 1, first = chunk * n;
  comp_status status = append_length(to, n);
  for (size_t i = first; i < first + n && status == COMP_OK; i++) {
    const char *text = i < w->texts->count ? comp__strings_get(w->texts, i) : NULL;
    size_t length = text ? strlen(text) : 0;
    status = append_length(to, length);
    if (status == COMP_OK && length > 0) status = append(to, text, length);
  }
  return status;
}

/* How many numbers a row has. */
static size_t width_of(const writing *w) {
  size_t width = 1;
  for (int i = 1; i < w->rank; i++) width *= w->shape[i];
  return width;
}

/* The numbers of a chunk, which has whole rows, filled up by zeros. */
static comp_status gather_numbers(comp__zarr_buffer *to, const writing *w, size_t chunk) {
  size_t row = w->size * width_of(w), rows = w->rank > 0 ? w->shape[0] : 1, first = chunk * w->chunk[0];
  size_t n = rows - first < w->chunk[0] ? rows - first : w->chunk[0];
  comp_status status = comp__zarr_buffer_reserve(to, w->chunk[0] * row);
  if (status != COMP_OK) return status;
  memcpy(to->data, w->numbers + first * row, n * row);
  memset(to->data + n * row, 0, (w->chunk[0] - n) * row);
  return COMP_OK;
}

/* A chunk as it is stored, at the end of `to`. */
static comp_status encode(comp__zarr_buffer *to, const writing *w, size_t chunk) {
  comp__zarr_buffer plain = {0};
  size_t used = to->size;
  comp_status status;
  COMP__TRY(w->texts ? gather_texts(&plain, w, chunk) : gather_numbers(&plain, w, chunk));
  if (w->sink->level == 0) {
    status = append(to, plain.data, plain.size);
    goto done;
  }
  size_t bound = ZSTD_compressBound(plain.size);
  COMP__TRY(comp__grow(&to->data, &to->capacity, used, used + bound, 1));
  size_t size = ZSTD_compress(to->data + used, bound, plain.data, plain.size, w->sink->level);
  if (ZSTD_isError(size)) COMP__FAIL(COMP_ERR_MEMORY, "zstd: %s", ZSTD_getErrorName(size));
  to->size = used + size;
done:
  comp__zarr_buffer_release(&plain);
  return status;
}

static comp_status put_stored(const writing *w, size_t number, const comp__zarr_buffer *stored) {
  char key[4096], rest[2 * COMP__TREE_MOST_DIMS + 1] = "";
  bool v3 = w->sink->version == 3;
  for (int i = 1; i < w->rank; i++) strcat(rest, v3 ? "/0" : ".0"); /* NOLINT: it has room for all dimensions */
  if (w->rank == 0)
    snprintf(key, sizeof key, "%s%s", w->path, v3 ? "/c" : "/0");
  else
    snprintf(key, sizeof key, "%s%s/%zu%s", w->path, v3 ? "/c" : "", number, rest);
  return comp__zarr_sink_put(w->sink, key, stored->data, stored->size);
}

static size_t chunk_count(const writing *w) {
  if (w->rank > 1 && width_of(w) == 0) return 0;
  return w->rank == 0 ? 1 : (w->shape[0] + w->chunk[0] - 1) / w->chunk[0];
}

/* Writes number `number` of the keys: a chunk, or a shard of chunks with its index behind them. */
static comp_status put_key(const writing *w, size_t number) {
  comp__zarr_buffer stored = {0};
  uint64_t index[SHARD_CHUNKS * 2];
  size_t each = is_sharded(w) ? w->shard[0] : 1;
  comp_status status;
  memset(index, 0xff, sizeof index);
  for (size_t i = 0; i < each && number * each + i < chunk_count(w); i++) {
    index[i * 2] = stored.size;
    COMP__TRY(encode(&stored, w, number * each + i));
    index[i * 2 + 1] = stored.size - index[i * 2];
  }
  if (is_sharded(w)) {
    uint32_t sum = comp__crc32c((const unsigned char *)index, each * 16);
    COMP__TRY(append(&stored, index, each * 16));
    COMP__TRY(append(&stored, &sum, sizeof sum));
  }
  COMP__TRY(put_stored(w, number, &stored));
done:
  comp__zarr_buffer_release(&stored);
  return status;
}

static comp_status put_keys(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  comp_status status = COMP_OK;
  for (size_t i = begin; i < end && status == COMP_OK; i++) status = put_key(arg, i);
  return status;
}

static comp_status put_array(writing *w) {
  comp_status status = put_metadata(w);
  if (status != COMP_OK) return status;
  size_t chunks = chunk_count(w), each = is_sharded(w) ? w->shard[0] : 1;
  return comp__parallel_try(w->sink->sink.context, (chunks + each - 1) / each, 1, put_keys, w);
}

/* Chunks of about so many rows, but no more than there are; shards of several. */
static void choose_chunks(writing *w, size_t rows) {
  w->chunk[0] = rows == 0 ? 1 : rows < w->shape[0] ? rows : w->shape[0] > 0 ? w->shape[0] : 1;
  for (int i = 1; i < COMP__TREE_MOST_DIMS; i++) {
    w->chunk[i] = w->shape[i] > 0 ? w->shape[i] : 1;
    w->shard[i] = 1;
  }
  w->shard[0] = chunk_count(w) < SHARD_CHUNKS ? chunk_count(w) : SHARD_CHUNKS;
  if (w->shard[0] == 0) w->shard[0] = 1;
}

static comp_status put_numbers(writing *w, comp__stored type, const void *values) {
  w->type_v2 = TYPES[type].v2;
  w->type_v3 = TYPES[type].v3;
  w->size = TYPES[type].size;
  w->numbers = values;
  size_t row = w->size * width_of(w);
  choose_chunks(w, CHUNK_BYTES / (row > 0 ? row : 1));
  return put_array(w);
}

comp_status comp__zarr_sink_array(comp__zarr_sink *sink, const char *path, comp__stored type, const void *values,
                                  size_t rows, size_t cols, bool encoded) {
  writing w = {.sink = sink, .path = path, .encoding = encoded ? "array" : NULL, .rank = cols > 0 ? 2 : 1};
  w.shape[0] = rows;
  w.shape[1] = cols;
  return put_numbers(&w, type, values);
}

const char *comp__zarr_type_name(comp__stored type, int version) {
  return version == 3 ? TYPES[type].v3 : TYPES[type].v2;
}

static comp_status put_records(writing *w, const comp__tree_value *value) {
  comp__zarr_packed packed = {0};
  comp_status status;
  COMP__TRY(comp__zarr_records_pack(&packed, value, w->sink->version));
  w->packed = &packed;
  w->numbers = (const char *)packed.data;
  w->size = packed.size;
  choose_chunks(w, CHUNK_BYTES / packed.size);
  COMP__TRY(put_array(w));
done:
  comp__zarr_packed_release(&packed);
  return status;
}

static comp_status put_value(comp__tree_sink *sink, const char *path, const comp__tree_value *value,
                             const json_t *attributes) {
  writing w = {.sink = (comp__zarr_sink *)sink, .path = path, .attributes = attributes, .rank = value->rank};
  const int8_t no = 0;
  memcpy(w.shape, value->shape, sizeof w.shape);
  if (value->null) { /* zarr has no such thing: AnnData writes a bool */
    w.rank = 0;
    return put_numbers(&w, COMP__STORED_BOOL, &no);
  }
  if (value->fields) return put_records(&w, value);
  if (!value->is_text) return put_numbers(&w, value->type, value->numbers);
  w.type_v2 = "|O";
  w.type_v3 = "string";
  w.texts = &value->texts;
  choose_chunks(&w, CHUNK_TEXTS);
  return put_array(&w);
}

static bool has(const comp__tree_sink *sink, const char *path) {
  struct stat info;
  return fstatat(((const comp__zarr_sink *)sink)->fd, path, &info, 0) == 0;
}

static comp_status put_texts(comp__tree_sink *sink, const char *path, const comp__strings *values) {
  writing w = {.sink = (comp__zarr_sink *)sink, .path = path, .encoding = "string-array", .rank = 1};
  w.shape[0] = values->count;
  w.type_v2 = "|O";
  w.type_v3 = "string";
  w.texts = values;
  choose_chunks(&w, CHUNK_TEXTS);
  return put_array(&w);
}

comp_status comp__zarr_sink_text(comp__zarr_sink *sink, const char *path, const char *text) {
  comp__strings values = {0};
  comp_status status = comp__strings_append(&values, text, strlen(text));
  writing w = {.sink = sink, .path = path, .encoding = "string", .type_v2 = "|O", .type_v3 = "string"};
  w.texts = &values;
  if (status == COMP_OK) status = put_array(&w);
  comp__strings_release(&values);
  return status;
}

static comp_status put_list(comp__tree_sink *sink, const char *path, comp__stored type, const void *values, size_t n) {
  return comp__zarr_sink_array((comp__zarr_sink *)sink, path, type, values, n, 0, true);
}

comp_status comp__zarr_sink_open(comp__zarr_sink *out, comp_context *context, const char *folder, int version,
                                 bool sharded, int level) {
  static const comp__tree_sink_ops ops = {put_group, put_list, put_texts, put_value, has};
  comp__json_start();
  *out = (comp__zarr_sink){{&ops, NULL, context, ".zarr"}, -1, version, sharded, level};
  out->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return out->fd >= 0 ? COMP_OK : comp__error_errno("cannot open %s", folder);
}

void comp__zarr_sink_close(comp__zarr_sink *sink) {
  if (sink->fd >= 0) close(sink->fd);
  sink->fd = -1;
}
