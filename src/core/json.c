/* json.c: the memory of jansson. */
#include "core/json.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* jansson's parser does not survive that the buffer of its current word cannot grow: it ends the process, or reads
 * beyond the buffer. So blocks are kept for that: the old buffer, the new one, and two for values that happen to have
 * the size of a buffer, until a value of another size ends the parsing. A word may have up to 512 kB. */
enum { SPARES = 4, SPARE_SIZE = 1 << 20, FIRST_GROWTH = 32 };

static _Thread_local bool lost;
static _Thread_local void *lent[SPARES]; /* spares that jansson has */
static _Atomic(void *) spares[SPARES];   /* of the process: ordinary blocks, which free() may end */

/* Requests of the parser's buffer, and few others: it doubles from 16 bytes on. */
static bool is_growth(size_t size) {
  return size >= FIRST_GROWTH && (size & (size - 1)) == 0;
}

static bool fill_spares(void) {
  for (int i = 0; i < SPARES; i++) {
    void *none = NULL, *block;
    if (atomic_load(&spares[i])) continue;
    block = malloc(SPARE_SIZE);
    if (!block) return false;
    if (!atomic_compare_exchange_strong(&spares[i], &none, block)) free(block);
  }
  return true;
}

static void *take_spare(size_t size) {
  for (int i = 0; i < SPARES && size <= SPARE_SIZE; i++) {
    void *block = atomic_exchange(&spares[i], NULL);
    if (block) return lent[i] = block;
  }
  return NULL;
}

/* The block is no spare; NULL: none is. One that jansson gave to its caller was freed there. */
static void forget_lent(const void *block) {
  for (int i = 0; i < SPARES; i++)
    if (!block || lent[i] == block) lent[i] = NULL;
}

static void *take(size_t size) {
  void *block = NULL;
  if (!lost) lost = !fill_spares();
  if (!lost || is_growth(size)) block = malloc(size);
  if (!block) {
    lost = true;
    return is_growth(size) ? take_spare(size) : NULL;
  }
  if (lost) forget_lent(block);
  return block;
}

static void give_back(void *block) {
  for (int i = 0; i < SPARES && block; i++) {
    void *none = NULL;
    if (lent[i] != block) continue;
    lent[i] = NULL;
    if (atomic_compare_exchange_strong(&spares[i], &none, block)) return;
  }
  free(block);
}

static void start(void) {
  json_set_alloc_funcs(take, give_back);
}

void comp__json_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
}

bool comp__json_lost(void) {
  return lost;
}

void comp__json_forget(void) {
  lost = false;
  forget_lent(NULL);
}
