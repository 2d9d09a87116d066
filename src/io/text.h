/*
 * text.h: text files: plain or gzipped (found by looking, also of many members, such as BGZF), read in blocks or whole.
 */
#ifndef COMP_IO_TEXT_H
#define COMP_IO_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "io/options.h"

/* A size of blocks, buffers or pieces. A build for fuzzing has tiny ones, so that small inputs cross their borders. */
#ifdef COMP_TINY_BLOCKS
#define COMP__BLOCK_SIZE(usual, tiny) (tiny)
#else
#define COMP__BLOCK_SIZE(usual, tiny) (usual)
#endif

typedef struct comp__source comp__source;

/* Opens a file. It should be freed via comp__source_close(). */
comp_status comp__source_open(comp__source **out, const char *path);

/* The same of bytes in memory, which must stay; `name` is for messages (copied). */
comp_status comp__source_open_memory(comp__source **out, const void *data, size_t size, const char *name);

/* NULL is allowed. */
void comp__source_close(comp__source *source);

/* The next `size` bytes of text; `*got` is less only at the end. A damaged or cut-short gzip is an error. */
comp_status comp__source_read(comp__source *source, void *buffer, size_t size, size_t *got);

/* The name, for messages. Owned by the source. */
const char *comp__source_name(const comp__source *source);

/* No more bytes of text than this can come, by the size of the file; SIZE_MAX when that is not known. */
size_t comp__source_limit(const comp__source *source);

/* A whole text. Zero-initialise to start. data[size] is a newline and eight NUL bytes or more follow, so that a parser
 * needs to look for no other end and may read whole words. A byte order mark is skipped. */
typedef struct comp__text {
  char *data;
  size_t size;
  char *block; /* what is freed */
  char *name;
} comp__text;

/* Reads all of a source. It should be released via comp__text_release(). */
comp_status comp__text_load(comp__text *out, comp__source *source);

/* Opens, loads and closes. It should be released via comp__text_release(). */
comp_status comp__text_open(comp__text *out, const char *path);

void comp__text_release(comp__text *text);

/* The number of the line that holds `place`, from 1. Counts from the start: for messages. */
size_t comp__text_line(const comp__text *text, const char *place);

/* Checks for bytes that text does not hold: NUL, and what is not UTF-8. Says the line and the byte. */
comp_status comp__text_check(comp_context *context, const comp__text *text);

/* The end of the line that starts at p: its newline, or the carriage return before that. `*next` is the next line. */
const char *comp__line_end(const char *p, const char **next);

/* Newlines in some bytes. */
size_t comp__count_lines(const char *begin, const char *end);

/* Refuses the options that only formats with layers have. */
comp_status comp__text_check_options(const char *path, const comp__read_options *options);

#endif
