/* json.c: strings and numbers of JSON. */
#include "cli/json.h"

#include <jansson.h>
#include <math.h>

#include "comp/options.h"

void json_put_string(FILE *out, const char *text) {
  json_t *value = text ? json_string(text) : NULL;
  if (value)
    json_dumpf(value, out, JSON_ENCODE_ANY);
  else
    fputs("null", out);
  json_decref(value);
}

bool json_complete(void) {
  json_t *value = json_array(); /* fails when any value did before: libcomp sees to that */
  json_decref(value);
  return value != NULL;
}

void json_put_number(FILE *out, double value) {
  char text[64];
  fputs(isfinite(value) ? comp_format_real(text, sizeof text, value, false) : "null", out);
}
