/* sampled.c: see sampled.h. */
#include "map/sampled.h"

#include <string.h>

#include "core/error.h"
#include "core/threads.h"
#include "neighbors/members.h"
#include "task/coder.h"

enum { MOST_SAMPLES = 4096, LEAST_SAMPLES = 1000, MOST_NUMBERS = 1 << 25 };

size_t comp__sampled_most(size_t features) {
  const size_t most = MOST_NUMBERS / (features ? features : 1);
  return most > MOST_SAMPLES ? MOST_SAMPLES : most < LEAST_SAMPLES ? LEAST_SAMPLES : most;
}

typedef struct reading {
  comp__sampled *to;
  comp__coder *coder;
  const comp__aligned *aligned;
  const int32_t *place; /* [samples]: row of `to`, or -1 */
  const int8_t *only;
} reading;

void comp__dense_row(float *out, const comp_matrix *x, size_t row) {
  if (x->kind == COMP_DENSE) {
    memcpy(out, x->values + row * x->cols, x->cols * sizeof *out);
    return;
  }
  memset(out, 0, x->cols * sizeof *out);
  for (int64_t k = x->indptr[row]; k < x->indptr[row + 1]; k++) out[x->indices[k]] = x->values[k];
}

static comp_status read_rows(void *arg, size_t begin, size_t end, int thread) {
  const reading *r = arg;
  comp__sampled *to = r->to;
  comp__block *b;
  comp_status status = comp__block_read(&b, r->coder, r->aligned, begin, end, r->only, thread);
  for (size_t i = 0; status == COMP_OK && i < b->rows; i++) {
    const size_t at = (size_t)r->place[b->order[i]];
    comp__dense_row(to->x + at * to->features, &b->x, i);
    if (to->input != to->x) comp__dense_row(to->input + at * to->features, &b->input, i);
    if (to->library) to->library[at] = b->library[i];
  }
  return status;
}

static comp_status choose(comp__sampled *out, int32_t *place, int8_t *only, const comp__aligned *f, size_t first,
                          size_t last, size_t most) {
  size_t *counts = NULL;
  int32_t *codes = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&codes, f->samples, sizeof *codes));
  COMP__TRY(comp__calloc(&counts, out->levels, sizeof *counts));
  for (size_t i = 0; i < f->samples; i++) {
    const int32_t code = f->codes[i];
    codes[i] = code >= (int32_t)first && code < (int32_t)last ? code : -1;
    if (codes[i] >= 0) counts[codes[i]]++;
  }
  const comp__crowd crowd = {.n = f->samples, .conditions = out->levels, .codes = codes, .counts = counts};
  COMP__TRY(comp__calloc(&out->start, out->levels + 1, sizeof *out->start));
  COMP__TRY(comp__members_choose(&out->rows, out->start, place, &crowd, most));
  out->n = out->start[out->levels];
  for (size_t i = 0; i < f->samples; i++) only[i] = place[i] >= 0;
done:
  comp__free(codes);
  comp__free(counts);
  return status;
}

comp_status comp__sampled_read(comp__sampled *out, comp_context *context, const comp__aligned *aligned, size_t first,
                               size_t last, size_t most) {
  const comp__network *network = &aligned->model->network;
  int32_t *place = NULL;
  int8_t *only = NULL;
  comp__coder *coder = NULL;
  comp_status status;
  *out = (comp__sampled){.features = network->features,
                         .levels = network->conditions,
                         .missing = aligned->missing,
                         .n_missing = aligned->n_missing};
  COMP__TRY(comp__alloc(&place, aligned->samples, sizeof *place));
  COMP__TRY(comp__alloc(&only, aligned->samples, sizeof *only));
  COMP__TRY(choose(out, place, only, aligned, first, last, most));
  COMP__TRY(comp__alloc(&out->x, out->n * out->features, sizeof *out->x));
  out->input = out->x;
  if (network->likelihood->counts) {
    out->input = NULL;
    COMP__TRY(comp__alloc(&out->input, out->n * out->features, sizeof *out->input));
    COMP__TRY(comp__alloc(&out->library, out->n, sizeof *out->library));
  }
  COMP__TRY(comp__coder_new(&coder, context, aligned->model, COMP_PRECISION_F32));
  reading r = {.to = out, .coder = coder, .aligned = aligned, .place = place, .only = only};
  COMP__TRY(comp__parallel_try(context, aligned->samples, COMP__BLOCK_ROWS, read_rows, &r));
done:
  comp__coder_free(coder);
  comp__free(place);
  comp__free(only);
  if (status != COMP_OK) comp__sampled_release(out);
  return status;
}

void comp__sampled_release(comp__sampled *sampled) {
  if (sampled->input != sampled->x) comp__free(sampled->input);
  comp__free(sampled->x);
  comp__free(sampled->rows);
  comp__free(sampled->start);
  comp__free(sampled->library);
  *sampled = (comp__sampled){0};
}
