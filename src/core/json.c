/* json.c: the memory of jansson. */
#include "core/json.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

static _Thread_local bool lost;

static void *take(size_t size) {
  void *block = lost ? NULL : malloc(size);
  if (!block) lost = true;
  return block;
}

static void start(void) {
  json_set_alloc_funcs(take, free);
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
}
