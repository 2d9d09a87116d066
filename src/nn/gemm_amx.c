/*
 * gemm_amx.c: bf16 products on Intel's tiles (AMX): packing, and 32 x 32 elements of C in four tiles while panels of A
 * and B stream by.
 *
 * Packed, a factor is panels of 32 rows of A or columns of B. A panel is its steps of k one after the other, a step two
 * tiles of 16 rows of 64 bytes: of A 16 rows with 32 of k each, of B 16 pairs of k with 16 columns each. Each element
 * of C is summed by steps of 32 of k counted from the first, each added to it in order.
 *
 * Block sizes, what is packed and what is fetched ahead were measured on Sapphire Rapids (two cores, 2 MB of
 * second-level cache each). Fetching into the first-level cache hurts.
 */
#include <string.h>

#include "nn/amx_tiles.h"
#include "nn/gemm_bf16.h"
#include "nn/pieces.h"

enum {
  PANEL = 32,  /* rows of A or columns of B */
  STEP = 32,   /* of k */
  TILE = 512,  /* elements */
  DEPTH = 384, /* k of a block, at most: its panels of A stay in the second-level cache */
  NARROW = 128 /* columns up to which reading A in place beats packing it */
};

_Static_assert((int)STEP == (int)COMP__GEMM_STEP, "packing goes by the same steps");

#define INLINE static inline __attribute__((always_inline)) AMX_TARGET
#define UNROLL _Pragma("GCC unroll 32")

static size_t steps_of(size_t k) {
  return comp__ceil_div(k, STEP);
}

static size_t at_most(size_t n, size_t most) {
  return n < most ? n : most;
}

/* ---- packing ---- */

#define UNPACK(low, high, x, y, width)                                                                                 \
  do {                                                                                                                 \
    const __m512i x_ = (x), y_ = (y);                                                                                  \
    (low) = _mm512_unpacklo_epi##width(x_, y_), (high) = _mm512_unpackhi_epi##width(x_, y_);                           \
  } while (0)

/* 16 bytes from each of four places `next` elements apart. */
INLINE __m512i load_four(const uint16_t *from, size_t next) {
  __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)from));
  v = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const __m128i *)(const void *)(from + next)));
  v = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const __m128i *)(const void *)(from + 2 * next)));
  return _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const __m128i *)(const void *)(from + 3 * next)));
}

/* A tile of A from 16 rows of 32 elements. */
INLINE void pack_rows(uint16_t *to, const uint16_t *from, size_t ld) {
  UNROLL for (int r = 0; r < 16; r++) _mm512_store_si512(to + 32 * r, _mm512_loadu_si512(from + (size_t)r * ld));
}

/* A tile of A from 32 rows (of k) of 16 elements: transposed. */
INLINE void pack_rows_transposed(uint16_t *to, const uint16_t *from, size_t ld) {
  UNROLL for (int half = 0; half < 2; half++) {
    __m512i x[8], y[8];
    UNROLL for (int r = 0; r < 8; r++) x[r] = load_four(from + 8 * half + (size_t)r * ld, 8 * ld); /* r, r + 8, .. */
    UNROLL for (int i = 0; i < 4; i++) UNPACK(y[i], y[i + 4], x[2 * i], x[2 * i + 1], 16);
    UNROLL for (int i = 0; i < 2; i++) {
      UNPACK(x[i], x[i + 2], y[2 * i], y[2 * i + 1], 32);
      UNPACK(x[i + 4], x[i + 6], y[2 * i + 4], y[2 * i + 5], 32);
    }
    UNROLL for (int i = 0; i < 4; i++) UNPACK(y[2 * i], y[2 * i + 1], x[2 * i], x[2 * i + 1], 64);
    UNROLL for (int i = 0; i < 8; i++) _mm512_store_si512(to + 32 * (8 * half + i), y[i]);
  }
}

/* Two tiles of B from 32 rows (of k) of 32 elements: pairs of k beside each other. */
INLINE void pack_pairs(uint16_t *to, const uint16_t *from, size_t ld) {
  const __m512i spread = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  UNROLL for (int p = 0; p < 16; p++) {
    const __m512i even = _mm512_permutexvar_epi64(spread, _mm512_loadu_si512(from + (size_t)(2 * p) * ld));
    const __m512i odd = _mm512_permutexvar_epi64(spread, _mm512_loadu_si512(from + (size_t)(2 * p + 1) * ld));
    _mm512_store_si512(to + 32 * p, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(to + TILE + 32 * p, _mm512_unpackhi_epi16(even, odd));
  }
}

/* A tile of B from 16 rows (its columns) of 32 elements (of k): words transposed. */
INLINE void pack_pairs_transposed(uint16_t *to, const uint16_t *from, size_t ld) {
  UNROLL for (int part = 0; part < 4; part++) { /* four pairs of k */
    __m512i x[4], y[4];
    UNROLL for (int r = 0; r < 4; r++) x[r] = load_four(from + 8 * part + (size_t)r * ld, 4 * ld);
    UNPACK(y[0], y[1], x[0], x[1], 32);
    UNPACK(y[2], y[3], x[2], x[3], 32);
    UNPACK(x[0], x[1], y[0], y[2], 64);
    UNPACK(x[2], x[3], y[1], y[3], 64);
    UNROLL for (int i = 0; i < 4; i++) _mm512_store_si512(to + 32 * (4 * part + i), x[i]);
  }
}

/* At most 32 x 32 elements filled up with zeros: what stands behind their ends may be anything. */
AMX_TARGET static void fill_part(uint16_t out[32 * 32], const uint16_t *from, size_t ld, size_t rows, size_t cols) {
  for (size_t r = 0; r < 32; r++) {
    const __mmask32 mask = r >= rows ? 0 : cols >= 32 ? 0xffffffffu : (1u << cols) - 1u;
    _mm512_store_si512(out + 32 * r, _mm512_maskz_loadu_epi16(mask, from + (r < rows ? r * ld : 0)));
  }
}

/* Where row or column `at` begins at depth k; `rowwise`: it is a row as the factor is stored. */
static const uint16_t *place(const comp__gemm_factor *f, bool rowwise, size_t at, size_t k) {
  return f->at + (rowwise ? at * f->ld + k : k * f->ld + at);
}

/* A step of a panel: `count` rows of A and `depth` of k. */
AMX_TARGET static void pack_a_step(uint16_t *to, const comp__gemm_factor *a, size_t row, size_t k, size_t count,
                                   size_t depth) {
  _Alignas(64) uint16_t part[32 * 32];
  const uint16_t *from = place(a, !a->transposed, row, k);
  size_t ld = a->ld;
  if (count < PANEL || depth < STEP) {
    fill_part(part, from, ld, a->transposed ? depth : count, a->transposed ? count : depth);
    from = part;
    ld = 32;
  }
  if (a->transposed) {
    pack_rows_transposed(to, from, ld);
    pack_rows_transposed(to + TILE, from + 16, ld);
  } else {
    pack_rows(to, from, ld);
    pack_rows(to + TILE, from + 16 * ld, ld);
  }
}

/* `count` columns of B. */
AMX_TARGET static void pack_b_step(uint16_t *to, const comp__gemm_factor *b, size_t col, size_t k, size_t count,
                                   size_t depth) {
  _Alignas(64) uint16_t part[32 * 32];
  const uint16_t *from = place(b, b->transposed, col, k);
  size_t ld = b->ld;
  if (count < PANEL || depth < STEP) {
    fill_part(part, from, ld, b->transposed ? count : depth, b->transposed ? depth : count);
    from = part;
    ld = 32;
  }
  if (b->transposed) {
    pack_pairs_transposed(to, from, ld);
    pack_pairs_transposed(to + TILE, from + 16 * ld, ld);
  } else
    pack_pairs(to, from, ld);
}

typedef void pack_step(uint16_t *to, const comp__gemm_factor *f, size_t at, size_t k, size_t count, size_t depth);

/* Steps first .. last - 1 of `depth` of k from `begin` on, of rows or columns at .. at + count - 1, as panels. What
 * follows each other in memory is packed one after the other: steps where a row or column lies along k, else panels. */
static void pack_panels(uint16_t *out, const comp__gemm_factor *f, pack_step *pack, bool rowwise, size_t at,
                        size_t count, size_t begin, size_t depth, size_t first, size_t last) {
  const size_t panels = (count + PANEL - 1) / PANEL, steps = last - first;
  for (size_t i = 0; i < panels * steps; i++) {
    const size_t p = (rowwise ? i / steps : i % panels) * PANEL, s = first + (rowwise ? i % steps : i / panels);
    pack(out + p * steps_of(depth) * STEP + s * 2 * TILE, f, at + p, begin + s * STEP, at_most(count - p, PANEL),
         at_most(depth - s * STEP, STEP));
  }
}

static size_t packed(size_t count, size_t k) {
  return comp__round_up(count, PANEL) * STEP * steps_of(k);
}

static void pack_a(uint16_t *out, const comp__gemm_factor *a, size_t m, size_t k, size_t first, size_t last) {
  pack_panels(out, a, pack_a_step, !a->transposed, 0, m, 0, k, first, last);
}

static void pack_b(uint16_t *out, const comp__gemm_factor *b, size_t n, size_t k, size_t first, size_t last) {
  pack_panels(out, b, pack_b_step, b->transposed, 0, n, 0, k, first, last);
}

/* A block of k for one tile. */
static void pack_block_a(uint16_t *out, const comp__gemm_factor *a, size_t row, size_t rows, size_t begin,
                         size_t depth) {
  pack_panels(out, a, pack_a_step, !a->transposed, row, rows, begin, depth, 0, steps_of(depth));
}

static void pack_block_b(uint16_t *out, const comp__gemm_factor *b, size_t col, size_t cols, size_t begin,
                         size_t depth) {
  pack_panels(out, b, pack_b_step, b->transposed, col, cols, begin, depth, 0, steps_of(depth));
}

/* ---- 32 x 32 elements of C ---- */

/* The steps of a panel of A: step s at `at` + s * step, the second tile `second` further, its rows `stride` bytes
 * apart.
 */
typedef struct panel {
  const uint16_t *at;
  const uint16_t *tail; /* the last step, packed, where the rest is read in place; NULL: it is like the others */
  size_t second, stride, step;
} panel;

/* What is wanted next, fetched into the second-level cache while the tiles are busy: with each step `lines` lines of
 * packed B, and one line of each of `rows` rows of A. */
typedef struct ahead {
  const char *b, *a;
  size_t lines, rows, row_bytes;
} ahead;

static inline __attribute__((always_inline)) void fetch(ahead next, size_t step) {
  const char *b = next.b + step * next.lines * 64;
  for (size_t l = 0; l < next.lines; l++) __builtin_prefetch(b + 64 * l, 0, 2);
  for (size_t r = 0; r < next.rows; r++) __builtin_prefetch(next.a + r * next.row_bytes + step * 64, 0, 2);
}

/* Tiles 0 to 3 are C, 4 and 5 A, 6 and 7 B. */
#define DOTS(a, a_stride, a_second, b)                                                                                 \
  do {                                                                                                                 \
    tile_load(4, (a), (a_stride));                                                                                     \
    tile_load(6, (b), 64);                                                                                             \
    tile_dot_bf16(0, 4, 6);                                                                                            \
    if (two_cols) {                                                                                                    \
      tile_load(7, (b) + TILE, 64);                                                                                    \
      tile_dot_bf16(1, 4, 7);                                                                                          \
    }                                                                                                                  \
    if (two_rows) {                                                                                                    \
      tile_load(5, (a) + (a_second), (a_stride));                                                                      \
      tile_dot_bf16(2, 5, 6);                                                                                          \
      if (two_cols) tile_dot_bf16(3, 5, 7);                                                                            \
    }                                                                                                                  \
  } while (0)

/* 16 or 32 rows and columns, whole; two_rows and two_cols are constants in each copy. */
INLINE void micro(const bool two_rows, const bool two_cols, float *c, size_t ldc, const panel *from, const uint16_t *b,
                  size_t steps, bool add, const ahead *soon) {
  const panel a = *from; /* copies, which stay in registers */
  const ahead next = *soon;
  float *below = c + 16 * ldc;
  const size_t stride = ldc * sizeof *c;
  if (add) {
    tile_load(0, c, stride);
    if (two_cols) tile_load(1, c + 16, stride);
    if (two_rows) tile_load(2, below, stride);
    if (two_rows && two_cols) tile_load(3, below + 16, stride);
  } else {
    tile_zero(0);
    if (two_cols) tile_zero(1);
    if (two_rows) tile_zero(2);
    if (two_rows && two_cols) tile_zero(3);
  }
  const size_t whole = steps - (a.tail != NULL);
  const uint16_t *at = a.at;
  for (size_t step = 0; step < whole; step++, at += a.step, b += 2 * TILE) {
    fetch(next, step);
    DOTS(at, a.stride, a.second, b);
  }
  if (a.tail) DOTS(a.tail, 64, TILE, b);
  tile_store(0, c, stride);
  if (two_cols) tile_store(1, c + 16, stride);
  if (two_rows) tile_store(2, below, stride);
  if (two_rows && two_cols) tile_store(3, below + 16, stride);
}

AMX_TARGET static void micro_whole(size_t rows, size_t cols, float *c, size_t ldc, const panel *a, const uint16_t *b,
                                   size_t steps, bool add, const ahead *next) {
  if (rows > 16 && cols > 16)
    micro(true, true, c, ldc, a, b, steps, add, next);
  else if (rows > 16)
    micro(true, false, c, ldc, a, b, steps, add, next);
  else if (cols > 16)
    micro(false, true, c, ldc, a, b, steps, add, next);
  else
    micro(false, false, c, ldc, a, b, steps, add, next);
}

/* At most 32 floats. */
INLINE void copy_row(float *to, const float *from, size_t n) {
  const __mmask16 low = (__mmask16)(n >= 16 ? 0xffffu : (1u << n) - 1u);
  const __mmask16 high = (__mmask16)(n >= 32 ? 0xffffu : n > 16 ? (1u << (n - 16)) - 1u : 0u);
  _mm512_mask_storeu_ps(to, low, _mm512_maskz_loadu_ps(low, from));
  _mm512_mask_storeu_ps(to + 16, high, _mm512_maskz_loadu_ps(high, from + 16));
}

/* Any part of a 32 x 32 block of C: one that tiles would write beyond goes by way of `spill`. */
AMX_TARGET static void micro_any(size_t rows, size_t cols, float *c, size_t ldc, const panel *a, const uint16_t *b,
                                 size_t steps, bool add, float *spill, const ahead *next) {
  if (rows % 16 == 0 && cols % 16 == 0) {
    micro_whole(rows, cols, c, ldc, a, b, steps, add, next);
    return;
  }
  if (add)
    for (size_t r = 0; r < rows; r++) copy_row(spill + r * PANEL, c + r * ldc, cols);
  micro_whole(rows, cols, spill, PANEL, a, b, steps, add, next);
  for (size_t r = 0; r < rows; r++) copy_row(c + r * ldc, spill + r * PANEL, cols);
}

/* ---- a tile of C ---- */

/* What one call works on. A tile of C whose rows do not lie on lines of the cache is summed in `block`, 32 x 32
 * elements after the other, and copied in the end. */
typedef struct work {
  const comp__gemm_factor *a, *b;
  size_t row, rows, col, cols, k;
  float *c;
  size_t ldc;
  bool direct; /* A is read in place, but for what ends within a tile */
  bool aside;  /* C is summed in `block` */
  float *spill, *block;
  uint16_t *panels, *own_b; /* packed for this tile alone, a block of k at a time */
} work;

static size_t scratch(const comp__gemm_cut *cut) {
  const size_t rows = comp__round_up(cut->rows, PANEL), cols = comp__round_up(cut->cols, PANEL);
  return 2 * (PANEL * PANEL + rows * cols) + rows * (DEPTH + STEP) + cols * DEPTH;
}

/* [panels of columns][panels of rows][32][32]. */
static float *block_at(const work *w, size_t r, size_t j) {
  return w->block + j * comp__round_up(w->rows, PANEL) + r * PANEL;
}

AMX_TARGET static void block_load(const work *w) {
  if (w->rows % PANEL || w->cols % PANEL)
    memset(w->block, 0, comp__round_up(w->rows, PANEL) * comp__round_up(w->cols, PANEL) * sizeof *w->block);
  for (size_t r = 0; r < w->rows; r++)
    for (size_t j = 0; j < w->cols; j += PANEL)
      copy_row(block_at(w, r, j), w->c + r * w->ldc + j, at_most(w->cols - j, PANEL));
}

AMX_TARGET static void block_store(const work *w) {
  for (size_t r = 0; r < w->rows; r++)
    for (size_t j = 0; j < w->cols; j += PANEL)
      copy_row(w->c + r * w->ldc + j, block_at(w, r, j), at_most(w->cols - j, PANEL));
}

/* A block of k. */
typedef struct slice {
  size_t begin, depth, steps, next; /* next: depth of the block after it; 0: there is none */
  size_t in_place;                  /* rows of A that are read in place */
  const uint16_t *packed_rows;      /* panels of the others */
} slice;

/* Packs what this tile must pack for itself. */
static void prepare(slice *s, const work *w) {
  const bool tail = w->direct && s->depth % STEP;
  const size_t last = (s->steps - 1) * STEP;
  s->in_place = w->direct ? w->rows / PANEL * PANEL : 0;
  if (tail) pack_block_a(w->panels, w->a, w->row, s->in_place, s->begin + last, s->depth - last);
  uint16_t *others = w->panels + (tail ? s->in_place * STEP : 0);
  if (!w->b->packed) pack_block_b(w->own_b, w->b, w->col, w->cols, s->begin, s->depth);
  if (!w->a->packed && s->in_place < w->rows)
    pack_block_a(others, w->a, w->row + s->in_place, w->rows - s->in_place, s->begin, s->depth);
  s->packed_rows = others;
}

static panel panel_of_a(const work *w, const slice *s, size_t r) {
  if (w->a->packed)
    return (panel){w->a->packed + (w->row + r) * steps_of(w->k) * STEP + s->begin * PANEL, NULL, TILE, 64, 2 * TILE};
  if (r >= s->in_place) return (panel){s->packed_rows + (r - s->in_place) * s->steps * STEP, NULL, TILE, 64, 2 * TILE};
  return (panel){w->a->at + (w->row + r) * w->a->ld + s->begin, s->depth % STEP ? w->panels + r * STEP : NULL,
                 16 * w->a->ld, w->a->ld * sizeof(uint16_t), STEP};
}

static const uint16_t *panel_of_b(const work *w, const slice *s, size_t j) {
  if (w->b->packed) return w->b->packed + (w->col + j) * steps_of(w->k) * STEP + s->begin * PANEL;
  return w->own_b + j * s->steps * STEP;
}

/* A share of the next panel of shared B and of the next block of A, so that all of it has been fetched when the last 32
 * x 32 elements of this one are done. */
static ahead plan_ahead(const work *w, const slice *s, const uint16_t *b, size_t r, size_t j) {
  ahead next = {0};
  const size_t row_panels = (w->rows + PANEL - 1) / PANEL, col_panels = (w->cols + PANEL - 1) / PANEL;
  if (w->b->packed && j + PANEL < w->cols) {
    next.lines = 2 * TILE * sizeof *b / 64 / row_panels;
    next.b = (const char *)(b + steps_of(w->k) * STEP * PANEL) + r / PANEL * next.lines * s->steps * 64;
  }
  if (!w->direct && !w->a->packed && s->next > 0) {
    const size_t stored = w->a->transposed ? s->next : w->rows; /* rows of it as it lies */
    const size_t each = (stored + row_panels * col_panels - 1) / (row_panels * col_panels);
    const size_t first = (j / PANEL * row_panels + r / PANEL) * each, after = s->begin + s->depth;
    if (first < stored) {
      next.rows = at_most(stored - first, each);
      next.row_bytes = w->a->ld * sizeof(uint16_t);
      next.a = (const char *)(w->a->transposed ? place(w->a, false, w->row, after + first)
                                               : place(w->a, true, w->row + first, after));
    }
  }
  return next;
}

AMX_TARGET static void multiply_slice(const work *w, const slice *s, bool add) {
  for (size_t j = 0; j < w->cols; j += PANEL) {
    const uint16_t *b = panel_of_b(w, s, j);
    for (size_t r = 0; r < w->rows; r += PANEL) {
      const size_t rows = at_most(w->rows - r, PANEL), cols = at_most(w->cols - j, PANEL);
      const panel a = panel_of_a(w, s, r);
      const ahead next = plan_ahead(w, s, b, r, j);
      if (w->aside) /* whole tiles also at the ends: the block has room */
        micro_whole(rows, cols, block_at(w, r, j), PANEL, &a, b, s->steps, add, &next);
      else
        micro_any(rows, cols, w->c + r * w->ldc + j, w->ldc, &a, b, s->steps, add, w->spill, &next);
    }
  }
}

AMX_TARGET static void configure(void) {
  _Alignas(64) tile_config config = {.palette = 1};
  for (int t = 0; t < 8; t++) config.rows[t] = 16, config.row_bytes[t] = 64;
  tile_configure(&config);
}

/* Tiles are configured and released in each call: a thread may have another configuration, and a released state costs
 * nothing when threads are switched. */
AMX_TARGET static void tile(float *c, size_t ldc, const comp__gemm_factor *a, const comp__gemm_factor *b, size_t row,
                            size_t rows, size_t col, size_t cols, size_t k, bool add, uint16_t *memory) {
  work w = {.a = a, .b = b, .row = row, .rows = rows, .col = col, .cols = cols, .k = k, .c = c, .ldc = ldc};
  const size_t all = comp__round_up(rows, PANEL) * comp__round_up(cols, PANEL);
  w.direct = !a->transposed && !a->packed && cols <= NARROW;
  w.aside = ldc % 16 || (uintptr_t)c % 64;
  w.spill = (float *)(void *)memory;
  w.block = w.spill + PANEL * PANEL;
  w.panels = memory + 2 * (PANEL * PANEL + all);
  w.own_b = w.panels + comp__round_up(rows, PANEL) * (DEPTH + STEP);
  memset(w.spill, 0, PANEL * PANEL * sizeof *w.spill); /* what is beyond the ends is summed too */
  if (w.aside && add) block_load(&w);
  const size_t blocks = (k + DEPTH - 1) / DEPTH, even = comp__round_up((k + blocks - 1) / blocks, STEP);
  configure();
  for (size_t begin = 0; begin < k; begin += even) {
    const size_t depth = at_most(k - begin, even);
    slice s = {.begin = begin, .depth = depth, .steps = steps_of(depth), .next = at_most(k - begin - depth, even)};
    prepare(&s, &w);
    multiply_slice(&w, &s, add || begin > 0);
  }
  tile_release();
  if (w.aside) block_store(&w);
}

/* Large tiles read least. They get smaller until every thread has one: which tiles there are does not show in the
 * result. Of a low and wide product A is small enough to be shared, and each panel of B is used by one tile only. */
static comp__gemm_cut cut(size_t m, size_t n, int threads) {
  enum { ROWS = 256, COLS = 512, LEAST_ROWS = 64, LEAST_COLS = 128, LOW = 512 };
  comp__gemm_cut size = {ROWS, COLS, m <= LOW && n > 2 * m};
  if (size.share_a) size.rows = LOW, size.cols = COLS / 2;
  const size_t wanted = (size_t)threads;
  while (((m + size.rows - 1) / size.rows) * ((n + size.cols - 1) / size.cols) < wanted) {
    if (size.rows > LEAST_ROWS && !size.share_a && (size.rows * 2 > size.cols || size.cols <= LEAST_COLS))
      size.rows /= 2;
    else if (size.cols > LEAST_COLS)
      size.cols /= 2;
    else
      break;
  }
  const size_t down = (m + size.rows - 1) / size.rows, across = (n + size.cols - 1) / size.cols;
  size.rows = comp__round_up((m + down - 1) / down, PANEL); /* even ones */
  size.cols = comp__round_up((n + across - 1) / across, PANEL);
  return size;
}

const comp__gemm_bf16 comp__gemm_amx = {
    .name = "amx",
    .cut = cut,
    .packed = packed,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .scratch = scratch,
    .tile = tile,
};
