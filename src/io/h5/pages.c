/* pages.c: pages of a file in a hash table by their number. */
#include "io/h5/pages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"

enum { PAGE = 4096, MOST = (32 << 20) / PAGE, SLOTS = 2 * MOST };

struct comp__h5_pages {
  int fd;
  uint64_t file_size;
  size_t count;
  struct {
    uint64_t number;
    unsigned char *bytes; /* NULL: a free place */
  } slots[SLOTS];
};

comp_status comp__h5_pages_new(comp__h5_pages **out, int fd, uint64_t file_size) {
  comp_status status = comp__calloc(out, 1, sizeof **out);
  if (status != COMP_OK) return status;
  (*out)->fd = fd;
  (*out)->file_size = file_size;
  return COMP_OK;
}

void comp__h5_pages_free(comp__h5_pages *pages) {
  if (!pages) return;
  for (size_t i = 0; i < SLOTS && pages->count > 0; i++) {
    if (!pages->slots[i].bytes) continue;
    comp__free(pages->slots[i].bytes);
    pages->count--;
  }
  comp__free(pages);
}

comp_status comp__h5_read_at(int fd, void *out, uint64_t at, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t n = pread(fd, (char *)out + done, size - done, (off_t)(at + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return comp__error_errno("cannot read");
    if (n == 0) return comp__error(COMP_ERR_FORMAT, "the file has been cut short");
    done += (size_t)n;
  }
  return COMP_OK;
}

/* Where a page is, or would be. The table is never more than half full. */
static size_t slot_of(const comp__h5_pages *pages, uint64_t number) {
  size_t slot = (size_t)((number * 0x9e3779b97f4a7c15u) >> 40) % SLOTS;
  while (pages->slots[slot].bytes && pages->slots[slot].number != number) slot = (slot + 1) % SLOTS;
  return slot;
}

static size_t page_length(const comp__h5_pages *pages, uint64_t number) {
  uint64_t left = pages->file_size - number * PAGE;
  return left < PAGE ? (size_t)left : PAGE;
}

static comp_status keep(comp__h5_pages *pages, size_t slot, uint64_t number) {
  unsigned char *bytes = NULL;
  comp_status status = comp__alloc(&bytes, PAGE, 1);
  if (status == COMP_OK) status = comp__h5_read_at(pages->fd, bytes, number * PAGE, page_length(pages, number));
  if (status != COMP_OK) {
    comp__free(bytes);
    return status;
  }
  pages->slots[slot].number = number;
  pages->slots[slot].bytes = bytes;
  pages->count++;
  return COMP_OK;
}

comp_status comp__h5_pages_read(comp__h5_pages *pages, void *out, uint64_t at, size_t size) {
  for (uint64_t number = at / PAGE; number * PAGE < at + size; number++) {
    size_t slot = slot_of(pages, number);
    if (pages->slots[slot].bytes) continue;
    if (pages->count == MOST) return comp__h5_read_at(pages->fd, out, at, size);
    comp_status status = keep(pages, slot, number);
    if (status != COMP_OK) return status;
  }
  size_t got = comp__h5_pages_kept(pages, out, at, size);
  return got == size ? COMP_OK : comp__error(COMP_ERR_FORMAT, "the file has been cut short");
}

size_t comp__h5_pages_kept(const comp__h5_pages *pages, void *out, uint64_t at, size_t size) {
  size_t unbroken = 0;
  for (size_t done = 0; done < size;) {
    uint64_t number = (at + done) / PAGE;
    size_t offset = (size_t)((at + done) % PAGE), n = PAGE - offset < size - done ? PAGE - offset : size - done;
    const unsigned char *bytes = pages->slots[slot_of(pages, number)].bytes;
    size_t length = bytes ? page_length(pages, number) : 0, have = length > offset ? length - offset : 0;
    if (have > n) have = n;
    if (have > 0) memcpy((char *)out + done, bytes + offset, have);
    if (unbroken == done) unbroken += have;
    done += n;
  }
  return unbroken;
}
