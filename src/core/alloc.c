/* alloc.c: aligned, overflow-checked allocation and the workspace. */
#include "core/alloc.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/error.h"

bool comp__size_add(size_t *out, size_t a, size_t b) {
  return !__builtin_add_overflow(a, b, out);
}

bool comp__size_mul(size_t *out, size_t a, size_t b) {
  return !__builtin_mul_overflow(a, b, out);
}

static bool round_up(size_t *out, size_t bytes) {
  if (!comp__size_add(out, bytes, COMP__ALIGN - 1)) return false;
  *out &= ~(size_t)(COMP__ALIGN - 1);
  return true;
}

/* `out` is the address of a pointer of any type; memcpy keeps that within the rules of aliasing. */
static void store(void *out, void *block) {
  memcpy(out, &block, sizeof block);
}

static void *load(const void *from) {
  void *block;
  memcpy(&block, from, sizeof block);
  return block;
}

/* Large pages for large blocks, where the system leaves the choice. They are filled in less time at their first use,
 * and products that stride through a matrix find more of it in the translation cache. */
static void prefer_large_pages(void *block, size_t bytes) {
#ifdef MADV_HUGEPAGE
  enum { PAGE = 2 << 20, LARGE = 4 << 20 };
  if (bytes < LARGE) return;
  uintptr_t begin = ((uintptr_t)block + PAGE - 1) / PAGE * PAGE, end = ((uintptr_t)block + bytes) / PAGE * PAGE;
  if (end > begin) (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
  (void)block, (void)bytes;
#endif
}

comp_status comp__alloc(void *out, size_t count, size_t size) {
  store(out, NULL);
  size_t bytes;
  if (!comp__size_mul(&bytes, count, size) || !round_up(&bytes, bytes ? bytes : 1))
    return comp__error(COMP_ERR_MEMORY, "out of memory: %zu x %zu bytes is more than can be addressed", count, size);
  void *block = aligned_alloc(COMP__ALIGN, bytes);
  if (!block) return comp__error(COMP_ERR_MEMORY, "out of memory: could not get %zu bytes", bytes);
  prefer_large_pages(block, bytes);
  store(out, block);
  return COMP_OK;
}

comp_status comp__calloc(void *out, size_t count, size_t size) {
  comp_status status = comp__alloc(out, count, size);
  if (status == COMP_OK) memset(load(out), 0, count * size);
  return status;
}

/* A mapping, not malloc(): the C library would keep a block that was freed, and from then on others of that size. */
comp_status comp__room(size_t size) {
  void *probe = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) return comp__error(COMP_ERR_MEMORY, "out of memory: could not get %zu bytes", size);
  munmap(probe, size);
  return COMP_OK;
}

comp_status comp__grow(void *array, size_t *capacity, size_t used, size_t needed, size_t size) {
  if (needed <= *capacity) return COMP_OK;
  size_t wanted = *capacity + *capacity / 2;
  if (wanted < needed) wanted = needed;
  if (wanted < 16) wanted = 16;
  void *block;
  comp_status status = comp__alloc(&block, wanted, size);
  if (status != COMP_OK) return status;
  void *old = load(array);
  if (used > 0) memcpy(block, old, used * size);
  free(old);
  store(array, block);
  *capacity = wanted;
  return COMP_OK;
}

comp_status comp__strdup(char **out, const char *text) {
  *out = NULL;
  if (!text) return COMP_OK;
  size_t size = strlen(text) + 1;
  comp_status status = comp__alloc(out, size, 1);
  if (status == COMP_OK) memcpy(*out, text, size);
  return status;
}

void comp_free(void *block) {
  comp__free(block);
}

void comp__free(void *block) {
  free(block);
}

comp_status comp__workspace_init(comp__workspace *workspace, size_t size) {
  *workspace = (comp__workspace){NULL, size, 0};
  comp_status status = comp__alloc(&workspace->base, size, 1);
  if (status != COMP_OK) workspace->size = 0;
  return status;
}

void comp__workspace_release(comp__workspace *workspace) {
  free(workspace->base);
  *workspace = (comp__workspace){NULL, 0, 0};
}

size_t comp__workspace_size(size_t count, size_t size) {
  size_t bytes;
  if (!comp__size_mul(&bytes, count, size) || !round_up(&bytes, bytes)) return SIZE_MAX;
  return bytes;
}

void *comp__workspace_take(comp__workspace *workspace, size_t count, size_t size) {
  size_t bytes = comp__workspace_size(count, size);
  assert(bytes <= workspace->size - workspace->used);
  void *piece = workspace->base + workspace->used;
  workspace->used += bytes;
  return piece;
}

size_t comp__workspace_mark(const comp__workspace *workspace) {
  return workspace->used;
}

void comp__workspace_reset(comp__workspace *workspace, size_t mark) {
  assert(mark <= workspace->used);
  workspace->used = mark;
}
