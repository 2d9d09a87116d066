/*
 * pages.h: what was read of a file's structure once stays in memory, so that HDF5 gets what was looked through.
 *
 * HDF5 1.10 crashes when a read fails while it copies, or cannot end afterwards. Structure and collections of text that
 * vet.c has read come from here when HDF5 asks for them: a disk that fails later, and a file that somebody changes
 * meanwhile, do no harm there. At most 32 MB are kept of a file; beyond that the file itself is read.
 */
#ifndef COMP_IO_H5_PAGES_H
#define COMP_IO_H5_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comp/status.h"

typedef struct comp__h5_pages comp__h5_pages;

/* Of a file that is open as `fd` and stays so. It should be freed via comp__h5_pages_free(). */
comp_status comp__h5_pages_new(comp__h5_pages **out, int fd, uint64_t file_size);

void comp__h5_pages_free(comp__h5_pages *pages);

/* Reads bytes that lie within the file, and keeps them. */
comp_status comp__h5_pages_read(comp__h5_pages *pages, void *out, uint64_t at, size_t size);

/* Copies those of the bytes that are kept, and leaves the others as they are. Returns how many come from the beginning
 * without a gap. */
size_t comp__h5_pages_kept(const comp__h5_pages *pages, void *out, uint64_t at, size_t size);

/* Reads bytes that lie within a file. */
comp_status comp__h5_read_at(int fd, void *out, uint64_t at, size_t size);

#endif
