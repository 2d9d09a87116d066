/* thread_memory.c: one growing block a thread and use. */
#include "nn/thread_memory.h"

#include <pthread.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"

typedef struct blocks {
  void *at[COMP__MEMORY_USES];
  size_t bytes[COMP__MEMORY_USES];
} blocks;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_failed;

static void blocks_free(void *raw) {
  blocks *mine = raw;
  for (int use = 0; use < COMP__MEMORY_USES; use++) comp__free(mine->at[use]);
  comp__free(mine);
}

static void make_key(void) {
  key_failed = pthread_key_create(&key, blocks_free);
}

/* This thread's blocks, made when they are first asked for. */
static comp_status blocks_get(blocks **out) {
  pthread_once(&once, make_key);
  if (key_failed) return comp__error(COMP_ERR_UNAVAILABLE, "matrix product: no thread-local storage left");
  *out = pthread_getspecific(key);
  if (*out) return COMP_OK;
  comp_status status = comp__calloc(out, 1, sizeof **out);
  if (status == COMP_OK && pthread_setspecific(key, *out)) {
    blocks_free(*out);
    status = comp__error(COMP_ERR_MEMORY, "matrix product: out of memory");
  }
  return status;
}

comp_status comp__thread_memory(void *out, comp__memory_use use, size_t count, size_t size) {
  blocks *mine;
  size_t bytes;
  comp_status status = blocks_get(&mine);
  if (status != COMP_OK) return status;
  if (!comp__size_mul(&bytes, count, size)) return comp__error(COMP_ERR_MEMORY, "matrix product: out of memory");
  if (mine->bytes[use] < bytes || !mine->at[use]) {
    comp__free(mine->at[use]);
    mine->at[use] = NULL;
    mine->bytes[use] = 0;
    status = comp__alloc(&mine->at[use], bytes, 1);
    if (status != COMP_OK) return status;
    mine->bytes[use] = bytes;
  }
  memcpy(out, &mine->at[use], sizeof mine->at[use]); /* the type of *out is the caller's */
  return COMP_OK;
}
