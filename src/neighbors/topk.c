/* topk.c: quick select and quick sort of candidates, inlined comparisons, with heap sort where they would be slow. */
#include "neighbors/topk.h"

#include <stdbool.h>

enum { FEW = 24 };

static inline bool before(comp__candidate a, comp__candidate b) {
  return a.distance < b.distance || (a.distance == b.distance && a.index < b.index);
}

static inline void swap(comp__candidate *a, comp__candidate *b) {
  comp__candidate t = *a;
  *a = *b;
  *b = t;
}

static void insertion_sort(comp__candidate *list, size_t n) {
  for (size_t i = 1; i < n; i++) {
    comp__candidate item = list[i];
    size_t j = i;
    for (; j > 0 && before(item, list[j - 1]); j--) list[j] = list[j - 1];
    list[j] = item;
  }
}

static void sift_down(comp__candidate *list, size_t root, size_t n) {
  for (size_t child; (child = 2 * root + 1) < n; root = child) {
    if (child + 1 < n && before(list[child], list[child + 1])) child++;
    if (!before(list[root], list[child])) return;
    swap(&list[root], &list[child]);
  }
}

static void heap_sort(comp__candidate *list, size_t n) {
  for (size_t i = n / 2; i-- > 0;) sift_down(list, i, n);
  for (size_t i = n; i-- > 1;) {
    swap(&list[0], &list[i]);
    sift_down(list, 0, i);
  }
}

/* Around the median of the first, middle and last; returns its place. n >= 3. */
static size_t partition(comp__candidate *list, size_t n) {
  comp__candidate *middle = &list[n / 2], *last = &list[n - 1];
  if (before(*middle, list[0])) swap(middle, &list[0]);
  if (before(*last, *middle)) {
    swap(last, middle);
    if (before(*middle, list[0])) swap(middle, &list[0]);
  }
  swap(middle, &list[n - 2]);
  const comp__candidate pivot = list[n - 2];
  size_t i = 0, j = n - 2;
  for (;;) {
    while (before(list[++i], pivot)) {
    }
    while (before(pivot, list[--j])) {
    }
    if (i >= j) break;
    swap(&list[i], &list[j]);
  }
  swap(&list[i], &list[n - 2]);
  return i;
}

static int depth_limit(size_t n) {
  int depth = 8;
  for (; n > 1; n /= 2) depth += 2;
  return depth;
}

void comp__candidates_select(comp__candidate *list, size_t n, size_t k) {
  size_t target = k - 1;
  for (int depth = depth_limit(n); n > FEW; depth--) {
    if (depth == 0) {
      heap_sort(list, n);
      return;
    }
    size_t middle = partition(list, n);
    if (middle == target) return;
    if (middle > target) {
      n = middle;
    } else {
      list += middle + 1;
      n -= middle + 1;
      target -= middle + 1;
    }
  }
  insertion_sort(list, n);
}

static void sort_keys(uint64_t *keys, size_t n) {
  for (size_t i = 1; i < n; i++) {
    uint64_t key = keys[i];
    size_t j = i;
    for (; j > 0 && key < keys[j - 1]; j--) keys[j] = keys[j - 1];
    keys[j] = key;
  }
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

/* Those below the pivot first; returns how many. Every step swaps, wanted or not: a branch would often be mispredicted.
 */
static size_t partition_keys(uint64_t *keys, size_t n, uint64_t pivot) {
  size_t below = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t key = keys[i];
    keys[i] = keys[below];
    keys[below] = key;
    below += key < pivot;
  }
  return below;
}

void comp__keys_select(uint64_t *keys, size_t n, size_t k) {
  size_t target = k - 1;
  while (n > FEW) {
    uint64_t pivot = median(keys[n / 4], keys[n / 2], keys[n - 1 - n / 4]);
    size_t below = partition_keys(keys, n, pivot);
    if (below > target) {
      n = below;
      continue;
    }
    /* Equal ones next: each round leaves the pivot out at least. */
    keys += below;
    n -= below;
    target -= below;
    size_t equal = pivot == UINT64_MAX ? n : partition_keys(keys, n, pivot + 1);
    if (equal > target) return;
    keys += equal;
    n -= equal;
    target -= equal;
  }
  sort_keys(keys, n);
}

static void quick_sort(comp__candidate *list, size_t n, int depth) {
  while (n > FEW) {
    if (depth-- == 0) {
      heap_sort(list, n);
      return;
    }
    size_t middle = partition(list, n);
    quick_sort(list, middle, depth);
    list += middle + 1;
    n -= middle + 1;
  }
  insertion_sort(list, n);
}

void comp__candidates_sort(comp__candidate *list, size_t n) {
  quick_sort(list, n, depth_limit(n));
}
