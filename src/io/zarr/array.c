/* array.c: arrays of numbers: chunks are decoded on all threads, each to its place. */
#include "io/zarr/array.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/threads.h"

/* Chunks between two looks at whether the user interrupted. */
enum { BATCH = 1 << 14 };

comp_status comp__zarr_array_open(comp__zarr_array *out, const comp__zarr_store *store, const char *path,
                                  const json_t *json) {
  *out = (comp__zarr_array){.store = store};
  comp_status status = comp__strdup(&out->path, path);
  if (status != COMP_OK) return status;
  status = comp__zarr_meta_read(&out->meta, json);
  return status == COMP_OK ? status : comp__error_context(status, "%s", path);
}

void comp__zarr_array_close(comp__zarr_array *array) {
  comp__zarr_meta_release(&array->meta);
  comp__free(array->path);
  array->path = NULL;
}

size_t comp__zarr_array_count(const comp__zarr_array *array) {
  size_t count = 1;
  for (int i = 0; i < array->meta.rank; i++) count *= array->meta.shape[i];
  return count;
}

typedef struct reading {
  const comp__zarr_array *array;
  comp__zarr_grid grid;
  comp__as as;
  size_t first;
  size_t rows;
  char *out;
  size_t out_size;                      /* bytes a value in memory */
  size_t strides[COMP__ZARR_MOST_DIMS]; /* of a chunk, in values, by dimension of the array */
  size_t base;                          /* the first chunk of the batch */
  comp__zarr_scratch *scratches;
  unsigned char fill[8]; /* the fill value as it is in memory */
  atomic_size_t missing; /* chunks that are not there */
} reading;

/* The part of a chunk that was asked for. */
typedef struct part {
  size_t begin[COMP__ZARR_MOST_DIMS]; /* in the array */
  size_t end[COMP__ZARR_MOST_DIMS];
  size_t origin[COMP__ZARR_MOST_DIMS]; /* of the chunk */
} part;

static part wanted_part(const reading *r, const comp__zarr_unit *unit) {
  const comp__zarr_meta *meta = &r->array->meta;
  part p = {{0}, {0}, {0}};
  for (int i = 0; i < meta->rank; i++) {
    size_t low = i == 0 ? r->first : 0, high = i == 0 ? r->first + r->rows : meta->shape[i];
    p.origin[i] = unit->place[i] * r->grid.unit[i];
    p.begin[i] = p.origin[i] > low ? p.origin[i] : low;
    p.end[i] = high - p.origin[i] < r->grid.unit[i] ? high : p.origin[i] + r->grid.unit[i];
  }
  return p;
}

static char *place_of(const reading *r, const size_t *at) {
  size_t number = 0;
  for (int i = 0; i < r->array->meta.rank; i++)
    number = number * (i == 0 ? r->rows : r->array->meta.shape[i]) + at[i] - (i == 0 ? r->first : 0);
  return r->out + number * r->out_size;
}

static comp_status misfit(const reading *r, size_t value) {
  return comp__error(COMP_ERR_FORMAT, "%s: number %zu of a row is outside of what is possible there", r->array->path,
                     value);
}

/* n values that are `stride` apart in a chunk. */
static comp_status place_run(const reading *r, char *to, const unsigned char *from, size_t stride, size_t n) {
  comp__number number = r->array->meta.type.number;
  if (stride == 1) {
    size_t good = comp__numbers_convert(to, r->as, from, number, n);
    return good == n ? COMP_OK : misfit(r, good);
  }
  for (size_t i = 0; i < n; i++)
    if (comp__numbers_convert(to + i * r->out_size, r->as, from + i * stride * number.size, number, 1) < 1)
      return misfit(r, i);
  return COMP_OK;
}

static void fill_run(const reading *r, char *to, size_t n) {
  if (r->as == COMP__AS_RAW && r->out_size > sizeof r->fill) {
    memset(to, 0, n * r->out_size);
    return;
  }
  for (size_t i = 0; i < n; i++) memcpy(to + i * r->out_size, r->fill, r->out_size);
}

/* Whether the wanted values of a chunk lie one after the other in it and in the result: then they are one run. */
static bool is_one_run(const reading *r, const part *p) {
  size_t expected = 1;
  for (int i = r->array->meta.rank - 1; i >= 0; i--) {
    if (r->strides[i] != expected) return false;
    if (i > 0 && (p->end[i] - p->begin[i] != r->grid.unit[i] || r->grid.unit[i] != r->array->meta.shape[i]))
      return false;
    expected *= r->grid.unit[i];
  }
  return true;
}

/* Row by row along the last dimension; `data` NULL: the fill value. */
static comp_status place(const reading *r, const part *p, const unsigned char *data) {
  int rank = r->array->meta.rank, last = rank - 1;
  size_t at[COMP__ZARR_MOST_DIMS], size = r->array->meta.type.number.size;
  size_t n = rank == 0 ? 1 : p->end[last] - p->begin[last];
  bool one_run = rank > 0 && is_one_run(r, p);
  for (int i = 0; one_run && i < last; i++) n *= p->end[i] - p->begin[i];
  memcpy(at, p->begin, sizeof at);
  for (;;) {
    size_t offset = 0;
    for (int i = 0; i < rank; i++) offset += (at[i] - p->origin[i]) * r->strides[i];
    char *to = place_of(r, at);
    comp_status status = COMP_OK;
    if (data)
      status = place_run(r, to, data + offset * size, rank == 0 || one_run ? 1 : r->strides[last], n);
    else
      fill_run(r, to, n);
    if (status != COMP_OK || one_run) return status;
    int i = last - 1;
    for (; i >= 0 && ++at[i] == p->end[i]; i--) at[i] = p->begin[i];
    if (i < 0) return COMP_OK;
  }
}

/* Whether numbers are in memory as they are stored. */
static bool same_type(comp__number number, comp__as as) {
  return as != COMP__AS_RAW && !number.swap && number.size == comp__as_size(as) && number.kind == comp__as_kind(as);
}

/* Where a chunk can be decoded to at once: all of it is asked for, as it is stored. NULL: it has to be placed. */
static unsigned char *direct_target(const reading *r, const part *p) {
  int rank = r->array->meta.rank;
  if (rank == 0 || !same_type(r->array->meta.type.number, r->as) || !is_one_run(r, p)) return NULL;
  bool whole = p->begin[0] == p->origin[0] && p->end[0] - p->begin[0] == r->grid.unit[0];
  return whole ? (unsigned char *)place_of(r, p->begin) : NULL;
}

static comp_status read_unit(reading *r, size_t number, comp__zarr_scratch *scratch) {
  comp__number type = r->array->meta.type.number;
  comp__zarr_unit unit = comp__zarr_grid_unit(&r->grid, number);
  part p = wanted_part(r, &unit);
  unsigned char *data, *target = direct_target(r, &p);
  size_t size;
  comp_status status = comp__zarr_grid_load(&data, &size, &r->grid, &unit, scratch, r->grid.values * type.size, target);
  if (status != COMP_OK || (data && data == target)) return status;
  if (!data) atomic_fetch_add(&r->missing, 1);
  if (data && type.swap && r->as != COMP__AS_RAW) comp__numbers_swap(data, type.size, r->grid.values);
  return place(r, &p, data);
}

static comp_status read_units(void *arg, size_t begin, size_t end, int thread) {
  reading *r = arg;
  comp_status status = COMP_OK;
  for (size_t i = begin; i < end && status == COMP_OK; i++) status = read_unit(r, r->base + i, &r->scratches[thread]);
  return status;
}

static void find_strides(reading *r) {
  const comp__zarr_encoding *encoding = &r->array->meta.encoding;
  size_t stride = 1;
  for (int i = r->array->meta.rank - 1; i >= 0; i--) {
    r->strides[encoding->order[i]] = stride;
    stride *= r->grid.unit[encoding->order[i]];
  }
}

/* The fill value as it is in memory; a float that should be an integer does not come here. */
static comp_status find_fill(reading *r) {
  comp__number number = r->array->meta.type.number;
  if (r->as == COMP__AS_RAW) {
    memcpy(r->fill, r->array->meta.fill, sizeof r->fill);
    if (number.swap && number.size <= sizeof r->fill) comp__numbers_swap(r->fill, number.size, 1);
    return COMP_OK;
  }
  return comp__numbers_convert(r->fill, r->as, r->array->meta.fill, number, 1) == 1
             ? COMP_OK
             : comp__error(COMP_ERR_FORMAT, "%s: its fill value is outside of what is possible there", r->array->path);
}

static comp_status check_type(const comp__zarr_array *a, comp__as as) {
  bool number = a->meta.type.kind == COMP__ZARR_NUMBER || a->meta.type.kind == COMP__ZARR_BOOL;
  if (as == COMP__AS_RAW && a->meta.type.number.size > 0 && !a->meta.encoding.vlen) return COMP_OK;
  if (!number) return comp__error(COMP_ERR_FORMAT, "%s does not hold numbers", a->path);
  if ((as == COMP__AS_I32 || as == COMP__AS_I64 || as == COMP__AS_U64) &&
      a->meta.type.number.kind == COMP__NUMBER_FLOAT)
    return comp__error(COMP_ERR_FORMAT, "%s holds floats, where whole numbers are needed", a->path);
  return COMP_OK;
}

/* Whether the array is a part of a sparse matrix, whose chunks hold nothing but zeros in rare cases only. */
static bool is_sparse_part(const char *name) {
  return strcmp(name, "data") == 0 || strcmp(name, "indices") == 0 || strcmp(name, "indptr") == 0;
}

void comp__zarr_array_tell_missing(comp_context *context, const comp__zarr_array *array, size_t missing, size_t total,
                                   const char *fill) {
  const char *slash = strrchr(array->path, '/'), *name = slash ? slash + 1 : array->path;
  if (missing == 0 || array->told) return;
  ((comp__zarr_array *)array)->told = true;
  if (is_sparse_part(name))
    comp__warn(context, "%s: %s: %zu of %zu chunks are not in the store, and count as zeros: is the copy complete?",
               array->store->path, array->path, missing, total);
  else
    comp__log(
        context, array->meta.type.kind == COMP__ZARR_BOOL ? COMP_LOG_INFO : COMP_LOG_WARNING,
        "%s: %s: %zu of %zu chunks are not in the store: their values are %s%s. This is right where the program that "
        "wrote the store leaves out chunks that hold nothing else; otherwise the copy is not complete",
        array->store->path, array->path, missing, total, fill,
        strcmp(name, "codes") == 0 && fill[0] == '0' ? " (the first category)" : "");
}

/* The fill value, for messages. */
static const char *show_fill(char *text, size_t size, const comp__zarr_meta *meta) {
  double value = 0;
  if (meta->type.kind == COMP__ZARR_RECORDS) return "zeros";
  if (comp__numbers_convert(&value, COMP__AS_F64, meta->fill, meta->type.number, 1) < 1) return "the fill value";
  snprintf(text, size, "%.9g", value);
  return text;
}

comp_status comp__zarr_array_read(comp_context *context, const comp__zarr_array *array, comp__as as, size_t first,
                                  size_t rows, void *out) {
  reading r = {.array = array, .as = as, .first = first, .rows = rows, .out = out};
  char fill[40];
  comp_status status = check_type(array, as);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__zarr_grid_init(&r.grid, context, array, first, rows));
  r.out_size = as == COMP__AS_RAW ? array->meta.type.number.size : comp__as_size(as);
  find_strides(&r);
  COMP__TRY(find_fill(&r));
  COMP__TRY(comp__zarr_scratches_new(&r.scratches, context));
  for (; r.base < r.grid.total; r.base += BATCH) {
    size_t n = r.grid.total - r.base < BATCH ? r.grid.total - r.base : BATCH;
    COMP__TRY(comp__check_interrupt(context));
    COMP__TRY(comp__parallel_try(context, n, 1, read_units, &r));
  }
  comp__zarr_array_tell_missing(context, array, atomic_load(&r.missing), r.grid.total,
                                show_fill(fill, sizeof fill, &array->meta));
done:
  comp__zarr_scratches_free(r.scratches, context);
  comp__zarr_grid_release(&r.grid);
  return status;
}
