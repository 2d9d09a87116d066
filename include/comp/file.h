/*
 * file.h: writing a file so that nothing is ever lost: the new content goes to a temporary file beside it, is synced to
 * the disk, and takes the name in one step. A failure leaves an older file of that name as it was.
 */
#ifndef COMP_FILE_H
#define COMP_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/status.h"

/* Whether `path` could be written: its folder exists and is writable, and it is not itself a folder. Creates nothing.
 * Ask before hours of work. */
COMP_API comp_status comp_file_check_writable(const char *path);

/* Writes `size` bytes as the whole content of a file. */
COMP_API comp_status comp_file_write(const char *path, const void *data, size_t size);

/* Whether two names are of one file: the same text, the same file under both, or the same place where neither is there
 * yet. */
COMP_API bool comp_file_same(const char *a, const char *b);

#endif
