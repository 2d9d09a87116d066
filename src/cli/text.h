/* text.h: text for people: words that wrap, numbers, times, sizes. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Words flowing into lines: every line starts at `indent` and ends before `width`. */
typedef struct text_flow {
  FILE *out;
  int indent;
  int width;
  int column; /* where the next character goes */
} text_flow;

/* Starts a flow on a line on which `column` characters have been written. */
text_flow text_flow_start(FILE *out, int column, int indent, int width);

/* Adds words; a line break is kept as one, and an empty line as one. */
void text_flow_add(text_flow *flow, const char *text);

/* Adds text that must stay on one line. */
void text_flow_add_whole(text_flow *flow, const char *text);

/* Ends the last line. */
void text_flow_end(text_flow *flow);

/* Columns of the terminal behind a file descriptor; `otherwise` when there is none. */
int text_columns(int fd, int otherwise);

/* Replaces by "?" what a terminal could obey: control characters (ASCII and C1), bytes that are not UTF-8, and
 * characters that turn the direction of text. Returns its argument. */
char *text_clean(char *text);

/* Cuts text after `columns` characters, never within a UTF-8 sequence. Returns its argument. */
char *text_cut(char *text, size_t columns);

/* The number of characters of UTF-8 text. */
size_t text_length(const char *text);

/* Each writes into `buffer` and returns it. */
char *text_count(char *buffer, size_t size, uint64_t value);    /* 12,345 */
char *text_duration(char *buffer, size_t size, double seconds); /* 3.2 s; 4 min 10 s; 2 h 5 min */
char *text_bytes(char *buffer, size_t size, uint64_t bytes);    /* 120 MB */

#endif
