/*
 * stream.h: a stream into memory that does not lose text.
 *
 * glibc's open_memstream() leaves text out when its buffer cannot grow, and neither ferror() nor fclose() tells. This
 * one is used instead, by the library and by the program.
 */
#ifndef COMP_TEXT_STREAM_H
#define COMP_TEXT_STREAM_H

#include <stddef.h>
#include <stdio.h>

/* A stream for writing; NULL when there is no memory. fclose() gives 0 only when all that was written is there: *text
 * has *size bytes and a 0 after them, and should be freed via free(). Else *text is NULL. Both are set by fclose()
 * alone, and have to stay until then. */
FILE *comp__text_stream(char **text, size_t *size);

#endif
