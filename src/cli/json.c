/* json.c: strings and numbers of JSON. */
#include "cli/json.h"

#include <math.h>

#include "cli/text.h"

void json_put_string(FILE *out, const char *text) {
  if (!text) {
    fputs("null", out);
    return;
  }
  putc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      fprintf(out, "\\%c", *c);
    else if (*c < 0x20)
      fprintf(out, "\\u%04x", *c);
    else
      putc(*c, out);
  }
  putc('"', out);
}

void json_put_number(FILE *out, double value) {
  char text[64];
  fputs(isfinite(value) ? text_real(text, sizeof text, value, false) : "null", out);
}
