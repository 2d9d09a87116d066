/* number.h: numbers from text and back, exact and independent of the locale. */
#ifndef COMP_IO_NUMBER_H
#define COMP_IO_NUMBER_H

#include <stddef.h>

typedef enum comp__number_kind { COMP__NUMBER_NONE = 0, COMP__NUMBER_WHOLE, COMP__NUMBER_REAL } comp__number_kind;

/* Reads the number that starts at `text`: [+-]digits[.digits][e[+-]digits], or [+-]inf, [+-]infinity in any case. The
 * nearest double; `*end` is the byte after it. WHOLE: digits alone, and exact. NONE (with *end = text): no number
 * starts here. No length is given: some byte that is no part of a number must follow, such as a newline. */
comp__number_kind comp__number_parse(double *out, const char **end, const char *text);

/* The same, faster for the short numbers that tables are full of; eight bytes from `text` on must be readable. */
comp__number_kind comp__number_parse_short(double *out, const char **end, const char *text);

/* Room that comp__number_format() needs. */
#define COMP__NUMBER_SIZE 40

/* Writes the shortest text that reads back as the same float ("nan" for NaN); returns its length, no NUL is added. */
size_t comp__number_format(char *out, float value);

#endif
