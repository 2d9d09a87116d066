/* json.h: making JSON values from text and numbers of any kind. */
#ifndef COMP_VERDICT_JSON_H
#define COMP_VERDICT_JSON_H

#include <jansson.h>

#include "comp/status.h"

/* Puts a value into an object or a list and takes it over; an error when memory is short. */
comp_status comp__put(json_t *object, const char *key, json_t *value);
comp_status comp__append(json_t *list, json_t *value);

/* Text as JSON: bytes that are not UTF-8 become '?'. NULL gives null. */
json_t *comp__json_text(const char *text);

/* A number, or null when it is not finite. */
json_t *comp__json_number(double value);

/* A member as text ("" when there is none), as a number (NaN) and as a count (0). */
const char *comp__member_text(json_t *object, const char *name);
double comp__member_number(json_t *object, const char *name);
size_t comp__member_count(json_t *object, const char *name);

/* A document as text, and its release of the value. *out should be freed via comp__free(). */
comp_status comp__json_dump(char **out, json_t *value);

#endif
