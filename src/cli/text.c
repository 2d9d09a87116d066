/* text.c: text for people: words that wrap, numbers, times, sizes. Nothing here knows of options or commands. */
#include "cli/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

text_flow text_flow_start(FILE *out, int column, int indent, int width) {
  return (text_flow){out, indent, width, column};
}

static void flow_break(text_flow *flow) {
  putc('\n', flow->out);
  flow->column = 0;
}

static void flow_word(text_flow *flow, const char *word, size_t length) {
  if (flow->column > flow->indent && flow->column + 1 + (int)length > flow->width) flow_break(flow);
  if (flow->column > flow->indent) {
    putc(' ', flow->out);
    flow->column++;
  }
  for (; flow->column < flow->indent; flow->column++) putc(' ', flow->out);
  fwrite(word, 1, length, flow->out);
  flow->column += (int)length;
}

void text_flow_add(text_flow *flow, const char *text) {
  while (*text) {
    if (*text == '\n') flow_break(flow);
    if (*text == '\n' || *text == ' ') {
      text++;
      continue;
    }
    size_t length = strcspn(text, " \n");
    flow_word(flow, text, length);
    text += length;
  }
}

void text_flow_add_whole(text_flow *flow, const char *text) {
  flow_word(flow, text, strlen(text));
}

void text_flow_end(text_flow *flow) {
  if (flow->column > 0) flow_break(flow);
}

int text_columns(int fd, int otherwise) {
  struct winsize size;
  if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return otherwise;
  return size.ws_col;
}

/* How many bytes at `c` a terminal could take for a command: ASCII and C1 controls (also as a byte outside of UTF-8),
 * and the characters that turn the direction of text: U+202A-U+202E, U+2066-U+2069. *plain gets the length of a
 * character that it could not. */
static size_t control_length(const unsigned char *c, size_t *plain) {
  *plain = 1;
  if (c[0] < 0x80) return c[0] < 0x20 || c[0] == 0x7f;
  size_t length = c[0] >= 0xf0 && c[0] < 0xf8   ? 4
                  : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
                  : c[0] >= 0xc2 && c[0] < 0xe0 ? 2
                                                : 0;
  for (size_t i = 1; i < length; i++)
    if ((c[i] & 0xc0) != 0x80) length = 0;
  if (length == 0) return 1; /* not UTF-8 */
  *plain = length;
  if (c[0] == 0xc2 && c[1] < 0xa0) return 2;
  if (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) return 3;
  if (c[0] == 0xe2 && c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9) return 3;
  return 0;
}

char *text_clean(char *text) {
  char *to = text;
  for (const char *from = text; *from;) {
    size_t plain, control = control_length((const unsigned char *)from, &plain);
    if (control)
      *to++ = '?';
    else
      for (size_t i = 0; i < plain; i++) *to++ = from[i];
    from += control ? control : plain;
  }
  *to = '\0';
  return text;
}

static bool starts_character(char c) {
  return ((unsigned char)c & 0xc0) != 0x80;
}

char *text_cut(char *text, size_t columns) {
  for (char *c = text; *c; c++) {
    if (!starts_character(*c)) continue;
    if (columns == 0) {
      *c = '\0';
      break;
    }
    columns--;
  }
  return text;
}

size_t text_length(const char *text) {
  size_t length = 0;
  for (; *text; text++) length += starts_character(*text);
  return length;
}

char *text_count(char *buffer, size_t size, uint64_t value) {
  char digits[24], grouped[32];
  int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
  size_t k = 0;
  for (int i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0) grouped[k++] = ',';
    grouped[k++] = digits[i];
  }
  grouped[k] = '\0';
  snprintf(buffer, size, "%s", grouped);
  return buffer;
}

char *text_duration(char *buffer, size_t size, double seconds) {
  if (!(seconds > 0)) seconds = 0;
  if (seconds < 99.95) {
    snprintf(buffer, size, "%.1f s", seconds);
    return buffer;
  }
  long long whole = seconds < 1e15 ? llround(seconds) : 1000000000000000LL;
  if (whole < 3600)
    snprintf(buffer, size, "%lld min %lld s", whole / 60, whole % 60);
  else
    snprintf(buffer, size, "%lld h %lld min", whole / 3600, whole % 3600 / 60);
  return buffer;
}

char *text_bytes(char *buffer, size_t size, uint64_t bytes) {
  if (bytes < 10000000000u)
    snprintf(buffer, size, "%.0f MB", (double)bytes / 1e6);
  else
    snprintf(buffer, size, "%.1f GB", (double)bytes / 1e9);
  return buffer;
}
