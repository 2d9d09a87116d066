/*
 * shard.c: chunks that are kept together in one value, a shard, with an index of their offsets and sizes at its start
 * or end. The indices of all shards that are needed are read first; each chunk is then read by itself.
 */
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/threads.h"
#include "io/zarr/array.h"

struct comp__zarr_shards {
  size_t begin[COMP__ZARR_MOST_DIMS]; /* the first shard, each dimension */
  size_t count[COMP__ZARR_MOST_DIMS];
  size_t total;
  size_t chunks;     /* in a shard */
  uint64_t *indices; /* [total][chunks][2]: offset and size; all ones: not there */
  uint64_t *sizes;   /* [total]: bytes of a shard; 0: there is none */
};

typedef struct index_reading {
  const comp__zarr_grid *grid;
  struct comp__zarr_shards *shards;
  comp__zarr_scratch *scratches;
} index_reading;

static void shard_place(size_t *out, const struct comp__zarr_shards *s, int rank, size_t number) {
  for (int i = rank - 1; i >= 0; i--) {
    out[i] = s->begin[i] + number % s->count[i];
    number /= s->count[i];
  }
}

static comp_status read_index(const index_reading *r, size_t number, comp__zarr_scratch *scratch) {
  const comp__zarr_array *a = r->grid->array;
  struct comp__zarr_shards *s = r->shards;
  size_t place[COMP__ZARR_MOST_DIMS], bytes = s->chunks * 16, size;
  size_t stored = bytes + 4 * (size_t)a->meta.index_codecs.count;
  uint64_t *index = s->indices + number * s->chunks * 2;
  unsigned char *data;
  char key[4096];
  bool found;
  comp_status status;
  shard_place(place, s, a->meta.rank, number);
  COMP__TRY(comp__zarr_array_key(key, sizeof key, a, place));
  COMP__TRY(comp__zarr_store_size(&found, &s->sizes[number], a->store, key));
  memset(index, 0xff, bytes);
  if (!found) {
    s->sizes[number] = 0;
    goto done;
  }
  if (s->sizes[number] < stored)
    COMP__FAIL(COMP_ERR_FORMAT, "%s: it is too short for the index of a shard: the store is damaged", key);
  COMP__TRY(comp__zarr_store_get_part(&found, &scratch->stored, a->store, key,
                                      a->meta.index_first ? 0 : s->sizes[number] - stored, stored));
  if (!found) COMP__FAIL(COMP_ERR_IO, "%s went away while it was read", key);
  status = comp__zarr_decode(&data, &size, &a->meta.index_codecs, scratch, bytes, NULL);
  if (status != COMP_OK) {
    comp__error_context(status, "%s: its index", key);
    goto done;
  }
  memcpy(index, data, bytes);
  if (a->meta.index_swap) comp__numbers_swap(index, 8, s->chunks * 2);
done:
  return status;
}

static comp_status read_indices(void *arg, size_t begin, size_t end, int thread) {
  const index_reading *r = arg;
  comp_status status = COMP_OK;
  for (size_t i = begin; i < end && status == COMP_OK; i++) status = read_index(r, i, &r->scratches[thread]);
  return status;
}

/* Memory for indices is taken only as far as bytes of shards can be in the store. */
static comp_status allocate(struct comp__zarr_shards *s, const comp__zarr_array *a) {
  size_t place[COMP__ZARR_MOST_DIMS], bytes;
  uint64_t largest = 0;
  char key[4096];
  if (!comp__size_mul(&bytes, s->chunks, 16) || !comp__size_mul(&bytes, bytes, s->total))
    return comp__error(COMP_ERR_FORMAT, "its shards are absurd");
  for (size_t i = 0; i < s->total && bytes > (16 << 20) && largest < s->chunks * 16; i++) {
    uint64_t size;
    bool found;
    shard_place(place, s, a->meta.rank, i);
    comp_status status = comp__zarr_array_key(key, sizeof key, a, place);
    if (status == COMP_OK) status = comp__zarr_store_size(&found, &size, a->store, key);
    if (status != COMP_OK) return status;
    if (size > largest) largest = size;
  }
  if (bytes > (16 << 20) && largest < s->chunks * 16)
    return comp__error(COMP_ERR_FORMAT, "no shard is long enough for its index: the store is damaged");
  comp_status status = comp__alloc(&s->indices, bytes, 1);
  return status == COMP_OK ? comp__calloc(&s->sizes, s->total, sizeof *s->sizes) : status;
}

comp_status comp__zarr_shards_open(struct comp__zarr_shards **out, comp_context *context, const comp__zarr_grid *grid) {
  const comp__zarr_meta *meta = &grid->array->meta;
  index_reading r = {grid, NULL, NULL};
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__calloc(&r.shards, 1, sizeof *r.shards));
  *out = r.shards;
  r.shards->total = r.shards->chunks = 1;
  for (int i = 0; i < meta->rank; i++) {
    size_t each = meta->chunk[i] / meta->inner[i]; /* chunks of a shard */
    r.shards->begin[i] = grid->begin[i] / each;
    r.shards->count[i] = (grid->begin[i] + grid->count[i] - 1) / each + 1 - r.shards->begin[i];
    r.shards->total *= r.shards->count[i];
    r.shards->chunks *= each;
  }
  COMP__TRY(allocate(r.shards, grid->array));
  COMP__TRY(comp__zarr_scratches_new(&r.scratches, context));
  COMP__TRY(comp__parallel_try(context, r.shards->total, 1, read_indices, &r));
done:
  comp__zarr_scratches_free(r.scratches, context);
  if (status != COMP_OK) {
    comp__zarr_shards_close(*out);
    *out = NULL;
  }
  return status;
}

void comp__zarr_shards_close(struct comp__zarr_shards *shards) {
  if (!shards) return;
  comp__free(shards->indices);
  comp__free(shards->sizes);
  comp__free(shards);
}

comp_status comp__zarr_shards_get(bool *found, const comp__zarr_grid *grid, const comp__zarr_unit *unit,
                                  comp__zarr_scratch *scratch) {
  const comp__zarr_meta *meta = &grid->array->meta;
  const struct comp__zarr_shards *s = grid->shards;
  size_t place[COMP__ZARR_MOST_DIMS], shard = 0, chunk = 0;
  char key[4096];
  *found = false;
  for (int i = 0; i < meta->rank; i++) {
    size_t each = meta->chunk[i] / meta->inner[i];
    place[i] = unit->place[i] / each;
    shard = shard * s->count[i] + place[i] - s->begin[i];
    chunk = chunk * each + unit->place[i] % each;
  }
  const uint64_t *entry = s->indices + (shard * s->chunks + chunk) * 2;
  if (entry[0] == UINT64_MAX && entry[1] == UINT64_MAX) return COMP_OK;
  if (entry[0] > s->sizes[shard] || entry[1] > s->sizes[shard] - entry[0])
    return comp__error(COMP_ERR_FORMAT, "the index of its shard places it outside of it: the store is damaged");
  comp_status status = comp__zarr_array_key(key, sizeof key, grid->array, place);
  if (status != COMP_OK) return status;
  return comp__zarr_store_get_part(found, &scratch->stored, grid->array->store, key, entry[0], (size_t)entry[1]);
}
