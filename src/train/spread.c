/* spread.c: see spread.h. A row travels as its indices, if the matrix is sparse, and its values: words of 4 bytes. */
#include "train/spread.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/matrix.h"

typedef struct words {
  uint32_t *data;
  size_t capacity;
} words;

struct comp__spread {
  comp__comm *comm;
  comp_matrix *x;
  size_t rows, entries; /* that x has room for */
  words sent, received;
  size_t sent_begin[COMP__MOST_RANKS + 1], received_begin[COMP__MOST_RANKS + 1];
};

comp_status comp__spread_new(comp__spread **out, comp__comm *comm) {
  comp_status status = comp__calloc(out, 1, sizeof **out);
  if (status == COMP_OK) (*out)->comm = comm;
  return status;
}

void comp__spread_free(comp__spread *s) {
  if (!s) return;
  comp_matrix_free(s->x);
  comp__free(s->sent.data);
  comp__free(s->received.data);
  comp__free(s);
}

static comp_status make_room(words *w, size_t n) {
  if (n <= w->capacity) return COMP_OK;
  comp__free(w->data);
  *w = (words){0};
  comp_status status = comp__alloc(&w->data, n + n / 8, sizeof *w->data);
  if (status == COMP_OK) w->capacity = n + n / 8;
  return status;
}

static comp_status make_matrix(comp__spread *s, const comp_matrix *like, size_t rows, size_t entries) {
  comp_status status = COMP_OK;
  if (!s->x || rows > s->rows || entries > s->entries) {
    const size_t more_rows = rows > s->rows ? rows : s->rows;
    const size_t more = entries > s->entries ? entries + entries / 8 : s->entries;
    comp_matrix_free(s->x);
    s->x = NULL;
    s->rows = s->entries = 0;
    status = like->kind == COMP_CSR ? comp_matrix_new_csr(&s->x, more_rows, like->cols, more)
                                    : comp__matrix_new_dense_raw(&s->x, more_rows, like->cols);
    if (status != COMP_OK) return status;
    s->rows = more_rows;
    s->entries = more;
  }
  s->x->rows = rows;
  return status;
}

static size_t owner_of(const comp__spread_window *window, size_t row) {
  size_t rank = 0;
  while (row >= window->part[rank + 1]) rank++;
  return rank;
}

/* Words of a row. */
static size_t words_of(const comp__spread_window *window, size_t row) {
  return window->length(window->arg, row) * (window->x->kind == COMP_CSR ? 2 : 1);
}

/* Lays out both sides: where what goes to, or comes from, a rank begins. */
static void measure(comp__spread *s, const comp__spread_window *window, const size_t *rows, const size_t *from,
                    const size_t *to, size_t *entries) {
  const size_t ranks = comp__comm_ranks(s->comm), rank = comp__comm_rank(s->comm);
  memset(s->received_begin, 0, sizeof s->received_begin);
  s->sent_begin[0] = *entries = 0;
  for (size_t r = 0; r < ranks; r++) {
    s->sent_begin[r + 1] = s->sent_begin[r];
    for (size_t i = from[r]; i < to[r]; i++)
      if (owner_of(window, rows[i]) == rank) s->sent_begin[r + 1] += words_of(window, rows[i]);
  }
  for (size_t i = from[rank]; i < to[rank]; i++) {
    s->received_begin[owner_of(window, rows[i]) + 1] += words_of(window, rows[i]);
    *entries += window->length(window->arg, rows[i]);
  }
  for (size_t r = 0; r < ranks; r++) s->received_begin[r + 1] += s->received_begin[r];
}

static void pack(comp__spread *s, const comp__spread_window *window, const size_t *rows, const size_t *from,
                 const size_t *to) {
  const size_t ranks = comp__comm_ranks(s->comm), rank = comp__comm_rank(s->comm);
  uint32_t *at = s->sent.data;
  for (size_t r = 0; r < ranks; r++)
    for (size_t i = from[r]; i < to[r]; i++) {
      if (owner_of(window, rows[i]) != rank) continue;
      const size_t row = rows[i] - window->part[rank], begin = comp__matrix_row_begin(window->x, row);
      const size_t n = comp__matrix_row_begin(window->x, row + 1) - begin;
      if (window->x->kind == COMP_CSR) {
        memcpy(at, window->x->indices + begin, n * sizeof *at);
        at += n;
      }
      memcpy(at, window->x->values + begin, n * sizeof *at);
      at += n;
    }
}

static void unpack(comp__spread *s, const comp__spread_window *window, const size_t *rows, size_t n) {
  size_t next[COMP__MOST_RANKS + 1], at = 0;
  memcpy(next, s->received_begin, sizeof next);
  for (size_t i = 0; i < n; i++) {
    const size_t length = window->length(window->arg, rows[i]);
    size_t *word = &next[owner_of(window, rows[i])];
    if (s->x->kind == COMP_CSR) {
      memcpy(s->x->indices + at, s->received.data + *word, length * sizeof(uint32_t));
      *word += length;
    }
    memcpy(s->x->values + at, s->received.data + *word, length * sizeof(uint32_t));
    *word += length;
    at += length;
    if (s->x->kind == COMP_CSR) s->x->indptr[i + 1] = (int64_t)at;
  }
}

comp_status comp__spread_take(const comp_matrix **out, comp_context *context, comp__spread *s,
                              const comp__spread_window *window, const size_t *rows, const size_t *from,
                              const size_t *to) {
  const size_t ranks = comp__comm_ranks(s->comm), rank = comp__comm_rank(s->comm), n = to[rank] - from[rank];
  size_t entries;
  comp_status status;
  measure(s, window, rows, from, to, &entries);
  COMP__TRY(make_room(&s->sent, s->sent_begin[ranks] + 1)); /* no NULL where a rank has nothing */
  COMP__TRY(make_room(&s->received, s->received_begin[ranks] + 1));
  COMP__TRY(make_matrix(s, window->x, n, entries));
  pack(s, window, rows, from, to);
  COMP__TRY(comp__comm_exchange(s->comm, context, s->sent.data, s->sent_begin, s->received.data, s->received_begin,
                                sizeof(uint32_t)));
  unpack(s, window, rows + from[rank], n);
  *out = s->x;
done:
  return status;
}
