/*
 * paged.h: arrays in a scratch file, for matrices that are too large for the memory that a run may take.
 *
 * The file is mapped into memory, so that code sees a plain array: it computes the same bytes wherever an array is. A
 * thread of its own takes pages that were used out of the process when they become too many. The system keeps them as
 * long as nobody else needs the memory, and reads them from the file when they are used again. The file has no name:
 * nothing is left of it when the program ends, however it ends.
 */
#ifndef COMP_CORE_PAGED_H
#define COMP_CORE_PAGED_H

#include <stdbool.h>
#include <stddef.h>

#include "comp/context.h"
#include "comp/status.h"

/* What a context may take, and the arrays that are in files. */
typedef struct comp__pager comp__pager;

/* `memory` bytes may be taken; `asked`: somebody chose this number. It should be given back via comp__pager_leave();
 * arrays that are still there keep it alive. */
comp_status comp__pager_new(comp__pager **out, size_t memory, bool asked);
void comp__pager_leave(comp__pager *pager);

size_t comp__pager_memory(const comp__pager *pager);
bool comp__pager_asked(const comp__pager *pager);

/* Whether a matrix of that many bytes belongs into a file: when it takes more than a quarter of the memory. */
bool comp__pager_wants(const comp__pager *pager, size_t bytes);

/* An array in a file. */
typedef struct comp__paged comp__paged;

/* Makes one of `bytes` zeros; `*block` is where it is. No room on the disk is an error now, not later. It should be
 * freed via comp__paged_free(). */
comp_status comp__paged_new(comp__paged **out, void **block, comp__pager *pager, size_t bytes);
void comp__paged_free(comp__paged *paged);

/* The folder of scratch files: TMPDIR, or /var/tmp, which is on a disk where /tmp may be memory. */
const char *comp__scratch_folder(void);

/* The memory of this machine, or the limit that its control group has, in bytes; 0: not known. */
size_t comp__machine_memory(void);

#endif
