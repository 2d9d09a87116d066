/*
 * json.h: JSON documents that are complete or not there.
 *
 * A document is built by many small calls of jansson, and a value for which there is no memory would just be missing in
 * it. So once memory has run out for JSON it runs out for all JSON of this thread, until the next error is reported
 * (error.h): making the text of the document fails then, which every writer checks.
 */
#ifndef COMP_CORE_JSON_H
#define COMP_CORE_JSON_H

#include <stdbool.h>

/* Before anything is made of JSON; later calls do nothing. */
void comp__json_start(void);

/* Whether memory ran out since the last error. Writers that put single values into a stream ask at the end. */
bool comp__json_lost(void);

/* An error was reported. */
void comp__json_forget(void);

#endif
