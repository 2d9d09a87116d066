/*
 * rounds.c: links from lists of near points, and who is looked at by following them (NN-descent, by groups).
 *
 * Queries that stand together share most of their near points. So a group looks at one list of candidates, in tiles,
 * with the kernel of exact search. Links are fixed during a round, and made in the order of ranks and points: the
 * result does not depend on threads.
 */
#include "neighbors/rounds.h"

#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"

#define NO_LINK UINT32_MAX

comp_status comp__rounds_init(comp__rounds *out, comp_context *context, int32_t *lists, size_t n, size_t length) {
  const size_t threads = (size_t)comp_context_thread_count(context);
  const bool many = length >= 64; /* neighbours that are wanted: more are found along more links */
  comp_status status;
  *out = (comp__rounds){.n = n, .length = length, .lists = lists, .words = n / 64 + 1};
  out->room = many ? 40 : 32;
  out->out = many ? 24 : 20;
  out->follow = many ? 40 : 32;
  if (out->out > length) out->out = length;
  if (out->follow > length) out->follow = length;
  COMP__TRY(comp__alloc(&out->fresh, n, length * sizeof *out->fresh));
  COMP__TRY(comp__alloc(&out->links, n, out->room * sizeof *out->links));
  COMP__TRY(comp__calloc(&out->sets, 2 * threads, out->words * sizeof *out->sets));
  out->most = COMP__TILE_ROWS * out->follow * out->room;
  if (out->most > n) out->most = n;
  COMP__TRY(comp__alloc(&out->names, 2 * threads, out->most * sizeof *out->names));
  memset(out->fresh, 1, n * length);
done:
  return status;
}

void comp__rounds_release(comp__rounds *rounds) {
  comp__free(rounds->fresh);
  comp__free(rounds->links);
  comp__free(rounds->sets);
  comp__free(rounds->names);
}

/* ---- Links ---- */

static bool has_link(const uint32_t *links, size_t count, uint32_t link) {
  for (size_t i = 0; i < count; i++)
    if ((links[i] | 1) == (link | 1)) return true;
  return false;
}

/* Links to the nearest, and back from those that link to a point, while there is room: those of the nearest first. */
static comp_status make_links(comp__rounds *g) {
  uint8_t *count;
  comp_status status = comp__alloc(&count, g->n, sizeof *count);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < g->n; i++) {
    for (size_t j = 0; j < g->out; j++)
      g->links[i * g->room + j] = (uint32_t)g->lists[i * g->length + j] * 2 + g->fresh[i * g->length + j];
    for (size_t j = g->out; j < g->room; j++) g->links[i * g->room + j] = NO_LINK;
    count[i] = (uint8_t)g->out;
  }
  for (size_t rank = 0; rank < g->out; rank++)
    for (size_t i = 0; i < g->n; i++) {
      const size_t to = (size_t)g->lists[i * g->length + rank];
      const uint32_t link = (uint32_t)i * 2 + g->fresh[i * g->length + rank];
      uint32_t *own = g->links + to * g->room;
      if (count[to] < g->room && !has_link(own, count[to], link)) own[count[to]++] = link;
    }
  comp__free(count);
  return COMP_OK;
}

/* ---- Candidates ---- */

/* Adds to a set; whether it was not in it. */
static inline bool add(uint64_t *set, size_t i) {
  const uint64_t bit = (uint64_t)1 << (i & 63), word = set[i >> 6];
  set[i >> 6] = word | bit;
  return !(word & bit);
}

static void empty(uint64_t *set, const int32_t *members, size_t n) {
  for (size_t i = 0; i < n; i++) set[members[i] >> 6] = 0;
}

/* The nearest points of a group, each once; those that are new to one of its lists are in the set `fresh`. */
static size_t nearest_of(int32_t *out, uint64_t *seen, uint64_t *fresh, const comp__rounds *g, size_t first,
                         size_t count) {
  size_t n = 0;
  for (size_t i = first; i < first + count; i++)
    for (size_t j = 0; j < g->follow; j++) {
      const size_t point = (size_t)g->lists[i * g->length + j];
      if (add(seen, point)) out[n++] = (int32_t)point;
      if (g->fresh[i * g->length + j]) add(fresh, point);
    }
  empty(seen, out, n);
  return n;
}

static size_t gather(void *user, const int32_t **points, size_t first, size_t count, int thread) {
  const comp__rounds *g = user;
  uint64_t *seen = g->sets + (size_t)thread * 2 * g->words, *fresh = seen + g->words;
  int32_t *nearest = g->names + (size_t)thread * 2 * g->most, *out = nearest + g->most;
  const size_t near = nearest_of(nearest, seen, fresh, g, first, count);
  size_t n = 0;
  for (size_t i = 0; i < near; i++) {
    const size_t point = (size_t)nearest[i];
    const uint32_t *links = g->links + point * g->room, all = (uint32_t)(fresh[point >> 6] >> (point & 63)) & 1;
    for (size_t j = 0; j < g->room && links[j] != NO_LINK; j++)
      if (((links[j] & 1) | all) && add(seen, links[j] >> 1)) out[n++] = (int32_t)(links[j] >> 1);
  }
  empty(fresh, nearest, near);
  empty(seen, out, n);
  *points = out;
  return n;
}

comp_status comp__rounds_next(comp__rounds *rounds, comp__tiles *tiles, float *distances) {
  const comp__where where = {.gather = gather, .user = rounds, .fresh = rounds->fresh};
  comp_status status = make_links(rounds);
  if (status == COMP_OK) status = comp__tiles_search(tiles, rounds->lists, distances, &where);
  return status;
}
