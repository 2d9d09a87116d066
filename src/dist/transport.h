/*
 * transport.h: one way in which ranks talk: a row of the table in comm.c. The module `mpi` is one, and calls nothing of
 * libcomp: failures are texts, and whether to give up is asked through a function.
 */
#ifndef COMP_DIST_TRANSPORT_H
#define COMP_DIST_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether to stop waiting. It is asked again and again while a call waits for other ranks. */
typedef struct comp__giving_up {
  bool (*ask)(void *arg);
  void *arg;
} comp__giving_up;

/* Calls give NULL, or what went wrong. Every rank makes the same calls in the same order, with the same sizes. */
typedef struct comp__transport {
  const char *name;
  const char *(*open)(void **out, size_t *rank, size_t *ranks);
  /* Bytes begin[r] .. begin[r + 1] - 1 of `all` are rank r's, and are there on every rank afterwards. */
  const char *(*gather)(void *state, void *all, const size_t *begin, const comp__giving_up *giving_up);
  /* Bytes send_begin[r] .. of `send` go to rank r; bytes receive_begin[r] .. of `received` come from rank r. */
  const char *(*exchange)(void *state, const void *send, const size_t *send_begin, void *received,
                          const size_t *receive_begin, const comp__giving_up *giving_up);
  void (*close)(void *state);
  /* Tells the other ranks that this one has failed, and why: a call of theirs that waits then ends, and `news` gives
   * that text. NULL: there is none. Both slots may be NULL. */
  void (*tell)(void *state, const char *text);
  const char *(*news)(void *state);
} comp__transport;

/* What a call gives when the answer was to give up, or another rank has failed. */
#define COMP__GAVE_UP "given up"

extern const comp__transport comp__transport_self;

#endif
