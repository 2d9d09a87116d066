/* comm_self.c: the communicator of one process. */
#include <string.h>

#include "dist/transport.h"

static const char *open_self(void **out, size_t *rank, size_t *ranks) {
  *out = NULL;
  *rank = 0;
  *ranks = 1;
  return NULL;
}

static const char *gather(void *state, void *all, const size_t *begin, const comp__giving_up *giving_up) {
  (void)state, (void)all, (void)begin, (void)giving_up;
  return NULL;
}

static const char *exchange(void *state, const void *send, const size_t *send_begin, void *received,
                            const size_t *receive_begin, const comp__giving_up *giving_up) {
  (void)state, (void)giving_up;
  memcpy((char *)received + receive_begin[0], (const char *)send + send_begin[0], send_begin[1] - send_begin[0]);
  return NULL;
}

static void close_self(void *state) {
  (void)state;
}

const comp__transport comp__transport_self = {
    .name = "self", .open = open_self, .gather = gather, .exchange = exchange, .close = close_self};
