/* text_testing.h: what the tests of text formats share: texts from strings, messages, temporary folders, gzip. */
#ifndef COMP_IO_TEXT_TESTING_H
#define COMP_IO_TEXT_TESTING_H

#include "testing.h"

#include <libdeflate.h>
#include <unistd.h>

#include "comp/io.h"
#include "core/context.h"
#include "core/matrix.h"
#include "io/csv.h"
#include "io/text.h"

/* The messages of a context that was made by loud_context(), one after the other. */
static char test_messages[8192];

static inline void keep_message(void *user, comp_log_level level, const char *message) {
  (void)user;
  (void)level;
  strncat(test_messages, message, sizeof test_messages - strlen(test_messages) - 1);
  strncat(test_messages, "\n", sizeof test_messages - strlen(test_messages) - 1);
}

static inline comp_context *loud_context(void) {
  comp__context_options options = comp__context_defaults();
  options.threads = 2;
  options.log_level = COMP_LOG_INFO;
  comp_context *context = NULL;
  test_messages[0] = '\0';
  if (comp__context_new(&context, &options) != COMP_OK) fail_msg("%s", comp_error_message());
  comp_context_on_log(context, keep_message, NULL);
  return context;
}

static inline comp__source *source_of(const void *data, size_t size, const char *name) {
  comp__source *source = NULL;
  if (comp__source_open_memory(&source, data, size, name) != COMP_OK) fail_msg("%s", comp_error_message());
  return source;
}

/* A loaded text. */
static inline comp__text text_of_bytes(const void *data, size_t size) {
  comp__text text;
  comp__source *source = source_of(data, size, "test.csv");
  comp_status status = comp__text_load(&text, source);
  comp__source_close(source);
  if (status != COMP_OK) fail_msg("%s", comp_error_message());
  return text;
}

/* Memory, for certain. The caller frees it. */
static inline void *need_memory(size_t size) {
  void *block = calloc(1, size);
  if (!block) abort();
  return block;
}

/* Writes behind the first *size bytes of a text that is long enough, and counts them. */
COMP_PRINTF(3, 4) static inline void append_text(char *text, size_t *size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  *size += (size_t)vsprintf(text + *size, format, args);
  va_end(args);
}

/* One gzip member of some bytes. The caller frees it. */
static inline unsigned char *gzip(const void *data, size_t size, size_t *out_size) {
  struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
  size_t bound = libdeflate_gzip_compress_bound(compressor, size);
  unsigned char *out = need_memory(bound);
  *out_size = libdeflate_gzip_compress(compressor, data, size, out, bound);
  libdeflate_free_compressor(compressor);
  return out;
}

static char test_folder[64];

static inline int make_folder(void **state) {
  (void)state;
  strcpy(test_folder, "/tmp/comp-test-XXXXXX");
  return mkdtemp(test_folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", test_folder);
  return system(command);
}

/* A path in the temporary folder; valid until four calls later. */
static inline const char *in_folder(const char *name) {
  static char paths[4][256];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
  return path;
}

static inline const char *put_file(const char *name, const char *content) {
  const char *path = in_folder(name);
  FILE *file = fopen(path, "w");
  if (!file) fail_msg("cannot write %s", path);
  fwrite(content, 1, strlen(content), file);
  fclose(file);
  return path;
}

#endif
