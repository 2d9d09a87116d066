/* json.h: the two values of JSON that printf cannot write. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stdio.h>

/* A string with its quotes; null for NULL, and for text that is not UTF-8, which JSON cannot hold. */
void json_put_string(FILE *out, const char *text);

/* Whether memory sufficed for all values so far. Asked before a document is handed on. */
bool json_complete(void);

/* A number in the shortest form that reads back the same; null when it is not finite. */
void json_put_number(FILE *out, double value);

#endif
