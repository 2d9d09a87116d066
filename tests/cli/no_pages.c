/* no_pages.c: for LD_PRELOAD: room for a file that is said to be there and is not, so that a page of a mapped file
 * cannot be had: as when its disk fails. */
#include <fcntl.h>

int posix_fallocate(int file, off_t offset, off_t length) {
  (void)file;
  (void)offset;
  (void)length;
  return 0;
}
