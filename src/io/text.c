/*
 * text.c: plain and gzipped text.
 *
 * Files are read, not mapped: a file that shrinks meanwhile is then a short text and no crash. ISA-L inflates some
 * three times as fast as zlib.
 */
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/strings.h"
#include "core/threads.h"

enum {
  INPUT_SIZE = COMP__BLOCK_SIZE(256 * 1024, 32),   /* compressed bytes read at once */
  CHECK_SIZE = COMP__BLOCK_SIZE(1024 * 1024, 32),  /* bytes a chunk when checking a text */
  SMALLEST_LOAD = COMP__BLOCK_SIZE(64 * 1024, 16), /* first guess at the size of a text that is not known */
  MOST_INFLATION = 1032,                           /* deflate cannot do better */
  TEXT_SLACK = 16,                                 /* bytes behind a text */
  LARGEST_READ = 1 << 30                           /* a read() may not take more than 2 GB */
};

struct comp__source {
  char *name;
  int fd;             /* -1: from memory */
  const char *memory; /* the rest of it */
  size_t memory_size;
  size_t size;          /* of the file or memory; SIZE_MAX: not known */
  unsigned char *input; /* what was read ahead */
  size_t input_begin;
  size_t input_end;
  bool gzip;
  bool in_member; /* inside of a gzip member: the end of the file here is too early */
  bool pending;   /* the inflater may hold text for which there was no room */
  struct inflate_state *inflate;
  size_t produced; /* bytes of text so far */
};

/* Raw bytes of the file; less than `size` only at its end. */
static comp_status read_raw(comp__source *source, void *buffer, size_t size, size_t *got) {
  *got = 0;
  if (source->fd < 0) {
    size_t n = size < source->memory_size ? size : source->memory_size;
    if (n > 0) memcpy(buffer, source->memory, n);
    source->memory += n;
    source->memory_size -= n;
    *got = n;
    return COMP_OK;
  }
  while (*got < size) {
    size_t wanted = size - *got < LARGEST_READ ? size - *got : LARGEST_READ;
    ssize_t n = read(source->fd, (char *)buffer + *got, wanted);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot read %s", source->name);
    if (n == 0) break;
    *got += (size_t)n;
  }
  return COMP_OK;
}

static comp_status fill_input(comp__source *source) {
  size_t got;
  comp_status status = read_raw(source, source->input, INPUT_SIZE, &got);
  source->input_begin = 0;
  source->input_end = got;
  return status;
}

/* Reads the first block and looks whether it is gzip. */
static comp_status start(comp__source *source) {
  comp_status status;
  COMP__TRY(comp__alloc(&source->input, INPUT_SIZE, 1));
  COMP__TRY(fill_input(source));
  source->gzip = source->input_end >= 2 && source->input[0] == 0x1f && source->input[1] == 0x8b;
  if (source->gzip) COMP__TRY(comp__calloc(&source->inflate, 1, sizeof *source->inflate));
done:
  return status;
}

static comp_status open_file(comp__source *source, const char *path) {
  struct stat info;
  source->fd = open(path, O_RDONLY | O_CLOEXEC);
  if (source->fd < 0) return comp__error_errno("cannot open %s", path);
  if (fstat(source->fd, &info) != 0) return comp__error_errno("cannot read %s", path);
  if (S_ISDIR(info.st_mode)) return comp__error(COMP_ERR_IO, "cannot read %s: it is a folder", path);
  if (S_ISREG(info.st_mode)) source->size = (size_t)info.st_size;
  return COMP_OK;
}

static comp_status new_source(comp__source **out, const char *name) {
  comp_status status = comp__calloc(out, 1, sizeof **out);
  if (status != COMP_OK) return status;
  (*out)->fd = -1;
  (*out)->size = SIZE_MAX;
  return comp__strdup(&(*out)->name, name);
}

comp_status comp__source_open(comp__source **out, const char *path) {
  comp_status status;
  comp__source *source = NULL;
  *out = NULL;
  COMP__TRY(new_source(&source, path));
  COMP__TRY(open_file(source, path));
  COMP__TRY(start(source));
  *out = source;
done:
  if (status != COMP_OK) comp__source_close(source);
  return status;
}

comp_status comp__source_open_memory(comp__source **out, const void *data, size_t size, const char *name) {
  comp_status status;
  comp__source *source = NULL;
  *out = NULL;
  COMP__TRY(new_source(&source, name));
  source->memory = data;
  source->memory_size = size;
  source->size = size;
  COMP__TRY(start(source));
  *out = source;
done:
  if (status != COMP_OK) comp__source_close(source);
  return status;
}

void comp__source_close(comp__source *source) {
  if (!source) return;
  if (source->fd >= 0) close(source->fd);
  comp__free(source->inflate);
  comp__free(source->input);
  comp__free(source->name);
  comp__free(source);
}

const char *comp__source_name(const comp__source *source) {
  return source->name;
}

size_t comp__source_limit(const comp__source *source) {
  size_t limit = source->size;
  if (limit != SIZE_MAX && source->gzip && !comp__size_mul(&limit, limit, MOST_INFLATION)) limit = SIZE_MAX;
  return limit;
}

/* What was read ahead first, then straight from the file into the caller's memory. */
static comp_status read_plain(comp__source *source, char *buffer, size_t size, size_t *got) {
  size_t ahead = source->input_end - source->input_begin;
  size_t n = size < ahead ? size : ahead;
  memcpy(buffer, source->input + source->input_begin, n);
  source->input_begin += n;
  size_t rest;
  comp_status status = read_raw(source, buffer + n, size - n, &rest);
  *got = n + rest;
  return status;
}

/* Looks at the two bytes that open a member; `*more` is false at the end of the file. */
static comp_status start_member(comp__source *source, bool *more) {
  comp_status status = COMP_OK;
  size_t left = source->input_end - source->input_begin;
  if (left < 2) { /* the two may be apart */
    unsigned char first = left ? source->input[source->input_begin] : 0;
    size_t got;
    COMP__TRY(read_raw(source, source->input + left, INPUT_SIZE - left, &got));
    if (left) source->input[0] = first;
    source->input_begin = 0;
    source->input_end = left += got;
  }
  *more = left > 0;
  if (left == 0) return COMP_OK;
  const unsigned char *magic = source->input + source->input_begin;
  if (left < 2 || magic[0] != 0x1f || magic[1] != 0x8b)
    return comp__error(COMP_ERR_FORMAT,
                       "%s: something that is not gzip follows the gzip data (after %zu bytes of text)", source->name,
                       source->produced);
  isal_inflate_init(source->inflate);
  source->inflate->crc_flag = ISAL_GZIP;
  source->in_member = true;
  source->pending = false;
done:
  return status;
}

static comp_status inflate_error(const comp__source *source, int code) {
  const char *what = code == ISAL_INCORRECT_CHECKSUM ? "its checksum is wrong" : "it is not valid gzip";
  return comp__error(COMP_ERR_FORMAT, "%s is damaged: %s (after %zu bytes of text); copy it again", source->name, what,
                     source->produced);
}

/* One step of the inflater into some room; `*made` may be 0. */
static comp_status inflate_step(comp__source *source, char *buffer, size_t size, size_t *made) {
  if (source->input_begin == source->input_end && !source->pending) {
    comp_status status = fill_input(source);
    if (status != COMP_OK) return status;
    if (source->input_end == 0)
      return comp__error(COMP_ERR_FORMAT, "%s is cut short: its gzip data ends after %zu bytes of text; copy it again",
                         source->name, source->produced);
  }
  struct inflate_state *state = source->inflate;
  uint32_t room = size < LARGEST_READ ? (uint32_t)size : LARGEST_READ;
  state->next_in = source->input + source->input_begin;
  state->avail_in = (uint32_t)(source->input_end - source->input_begin);
  state->next_out = (uint8_t *)buffer;
  state->avail_out = room;
  int code = isal_inflate(state);
  *made = room - state->avail_out;
  source->pending = state->avail_out == 0;
  source->produced += *made;
  source->input_begin = source->input_end - state->avail_in;
  if (code < 0) return inflate_error(source, code);
  if (state->block_state == ISAL_BLOCK_FINISH) source->in_member = false;
  return COMP_OK;
}

static comp_status read_gzip(comp__source *source, char *buffer, size_t size, size_t *got) {
  comp_status status = COMP_OK;
  *got = 0;
  while (*got < size) {
    if (!source->in_member) {
      bool more;
      COMP__TRY(start_member(source, &more));
      if (!more) break;
    }
    size_t made = 0;
    COMP__TRY(inflate_step(source, buffer + *got, size - *got, &made));
    *got += made;
  }
done:
  return status;
}

comp_status comp__source_read(comp__source *source, void *buffer, size_t size, size_t *got) {
  *got = 0;
  if (size == 0) return COMP_OK;
  return source->gzip ? read_gzip(source, buffer, size, got) : read_plain(source, buffer, size, got);
}

/* What a text will need, by the size of its file. Only a guess: the text grows when it is wrong. */
static size_t guess_size(const comp__source *source) {
  size_t size = source->size == SIZE_MAX ? SMALLEST_LOAD : source->size;
  if (source->gzip && !comp__size_mul(&size, size, 4)) size = source->size;
  return size < SMALLEST_LOAD ? SMALLEST_LOAD : size;
}

static void skip_byte_order_mark(comp__text *text) {
  if (text->size < 3 || memcmp(text->data, "\xef\xbb\xbf", 3) != 0) return;
  text->data += 3;
  text->size -= 3;
}

comp_status comp__text_load(comp__text *out, comp__source *source) {
  comp_status status;
  size_t capacity = 0, used = 0;
  *out = (comp__text){0};
  COMP__TRY(comp__strdup(&out->name, source->name));
  COMP__TRY(comp__grow(&out->block, &capacity, 0, guess_size(source) + TEXT_SLACK + 1, 1));
  for (;;) {
    size_t got, room = capacity - used - TEXT_SLACK;
    COMP__TRY(comp__source_read(source, out->block + used, room, &got));
    used += got;
    if (got < room) break;
    COMP__TRY(comp__grow(&out->block, &capacity, used, capacity + TEXT_SLACK, 1));
  }
  memset(out->block + used, 0, TEXT_SLACK);
  out->block[used] = '\n';
  out->data = out->block;
  out->size = used;
  skip_byte_order_mark(out);
done:
  if (status != COMP_OK) comp__text_release(out);
  return status;
}

comp_status comp__text_open(comp__text *out, const char *path) {
  comp__source *source;
  *out = (comp__text){0};
  comp_status status = comp__source_open(&source, path);
  if (status != COMP_OK) return status;
  status = comp__text_load(out, source);
  comp__source_close(source);
  return status;
}

void comp__text_release(comp__text *text) {
  comp__free(text->block);
  comp__free(text->name);
  *text = (comp__text){0};
}

size_t comp__count_lines(const char *begin, const char *end) {
  size_t lines = 0;
  while (begin < end) { /* short sums in bytes are what the compiler turns into vectors */
    size_t n = (size_t)(end - begin) < 255 ? (size_t)(end - begin) : 255;
    unsigned char some = 0;
    for (size_t i = 0; i < n; i++) some = (unsigned char)(some + (begin[i] == '\n'));
    lines += some;
    begin += n;
  }
  return lines;
}

size_t comp__text_line(const comp__text *text, const char *place) {
  return 1 + comp__count_lines(text->data, place);
}

const char *comp__line_end(const char *p, const char **next) {
  const char *newline = rawmemchr(p, '\n');
  *next = newline + 1;
  return newline > p && newline[-1] == '\r' ? newline - 1 : newline;
}

/* The first byte that is not plain ASCII text (NUL counts), eight at a time. */
static const char *skip_ascii(const char *p, const char *end) {
  const uint64_t high = 0x8080808080808080u, low = 0x0101010101010101u;
  for (; end - p >= 8; p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    if ((word | (word - low)) & high) break; /* a high bit, or a zero byte */
  }
  while (p < end && (signed char)*p > 0) p++;
  return p;
}

/* Chunks begin and end where a character can: a chunk's first bytes that only continue one belong to the chunk before.
 */
static const char *character_start(const comp__text *text, size_t at) {
  while (at > 0 && at < text->size && (text->data[at] & 0xc0) == 0x80 && at % CHECK_SIZE < 4) at++;
  return text->data + at;
}

/* The bytes that a character takes, by its first one. */
static size_t character_size(unsigned char lead) {
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static comp_status bad_byte(const comp__text *text, const char *p) {
  size_t line = comp__text_line(text, p), at = (size_t)(p - text->data);
  if (*p == '\0')
    return comp__error(COMP_ERR_FORMAT, "%s, line %zu: a NUL byte (byte %zu of the text): this is no text file",
                       text->name, line, at);
  if (at == 0 && ((unsigned char)*p == 0xff || (unsigned char)*p == 0xfe))
    return comp__error(COMP_ERR_FORMAT, "%s seems to be UTF-16; convert it first: iconv -f utf-16 -t utf-8",
                       text->name);
  return comp__error(COMP_ERR_FORMAT,
                     "%s, line %zu: byte 0x%02x (byte %zu of the text) is not UTF-8; convert the file first, such as "
                     "with: iconv -f latin1 -t utf-8",
                     text->name, line, (unsigned char)*p, at);
}

static comp_status check_chunk(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  const comp__text *text = arg;
  const char *p = character_start(text, begin), *stop = character_start(text, end);
  while ((p = skip_ascii(p, stop)) < stop) {
    size_t size = character_size((unsigned char)*p);
    if (*p == '\0' || size > (size_t)(stop - p) || !comp__utf8_valid(p, size, NULL)) return bad_byte(text, p);
    p += size;
  }
  return COMP_OK;
}

comp_status comp__text_check(comp_context *context, const comp__text *text) {
  return comp__parallel_try(context, text->size, CHECK_SIZE, check_chunk, (void *)text);
}

comp_status comp__text_check_options(const char *path, const comp__read_options *options) {
  if (options->layer)
    return comp__error(COMP_ERR_ARGUMENT, "%s is not an .h5ad file: it has no layer '%s'", path, options->layer);
  if (options->raw) return comp__error(COMP_ERR_ARGUMENT, "%s is not an .h5ad file: it has no raw matrix", path);
  return COMP_OK;
}
