/* grid.c: which chunks hold the rows that are asked for, their keys, and reading one of them. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "io/zarr/array.h"

/* Chunks that are not there may be this many times as many as those that are, once an array has more bytes or more
 * chunks than these. A fuzzer makes mostly such arrays: it asks sooner, not to spend its time on filling memory. */
#ifdef COMP_TINY_BLOCKS
enum { MOST_EMPTY = 1000, UNASKED_BYTES = 64 << 10, UNASKED_CHUNKS = 256 };
#else
enum { MOST_EMPTY = 1000, UNASKED_BYTES = 64 << 20, UNASKED_CHUNKS = 1 << 17 };
#endif

/* Most bytes of one chunk as it is stored, when they are not known from what it becomes. */
static const size_t MOST_STORED = (size_t)1 << 31;

comp_status comp__zarr_array_key(char *out, size_t size, const comp__zarr_array *array, const size_t *place) {
  const comp__zarr_meta *meta = &array->meta;
  int used = snprintf(out, size, "%s%s%s", array->path, array->path[0] ? "/" : "", meta->prefix ? "c" : "");
  for (int i = 0; i < meta->rank && used >= 0 && (size_t)used < size; i++)
    used += meta->prefix || i > 0 ? snprintf(out + used, size - (size_t)used, "%c%zu", meta->separator, place[i])
                                  : snprintf(out + used, size - (size_t)used, "%zu", place[i]);
  if (meta->rank == 0 && !meta->prefix && used >= 0 && (size_t)used < size)
    used += snprintf(out + used, size - (size_t)used, "0");
  return used >= 0 && (size_t)used < size ? COMP_OK
                                          : comp__error(COMP_ERR_FORMAT, "%s: its name is too long", array->path);
}

static size_t product(const size_t *sizes, int rank) {
  size_t total = 1;
  for (int i = 0; i < rank; i++) total *= sizes[i];
  return total;
}

/* Whether so many rows can be believed: see array.h. A column that is the same everywhere may have no chunk at all (one
 * category, no missing value), and a value of it has as few as one byte. */
static comp_status check_stored(const comp__zarr_grid *grid, size_t values) {
  const comp__zarr_array *a = grid->array;
  const comp__zarr_meta *meta = &a->meta;
  size_t bytes = meta->type.number.size > 0 ? meta->type.number.size : 8, stored;
  if (values <= UNASKED_BYTES / bytes && grid->total <= UNASKED_CHUNKS) return COMP_OK;
  size_t least = values / product(meta->chunk, meta->rank) / MOST_EMPTY + 1;
  comp_status status = comp__zarr_store_count(&stored, a->store, a->path, least);
  if (status != COMP_OK || stored >= least) return status;
  return comp__error(COMP_ERR_FORMAT,
                     "it claims to hold %zu values, but nearly nothing is stored: the store is damaged or not complete",
                     values);
}

comp_status comp__zarr_grid_init(comp__zarr_grid *out, comp_context *context, const comp__zarr_array *array,
                                 size_t first, size_t rows) {
  const comp__zarr_meta *meta = &array->meta;
  comp_status status;
  *out = (comp__zarr_grid){.array = array, .unit = meta->sharded ? meta->inner : meta->chunk, .total = 1};
  size_t values = 1;
  for (int i = 0; i < meta->rank; i++) {
    size_t begin = i == 0 ? first : 0, n = i == 0 ? rows : meta->shape[i];
    out->begin[i] = begin / out->unit[i];
    out->count[i] = n == 0 ? 0 : (begin + n - 1) / out->unit[i] + 1 - out->begin[i];
    values *= n;
    out->total *= out->count[i]; /* at most as many as there are values */
  }
  out->values = product(out->unit, meta->rank);
  COMP__TRY(check_stored(out, values));
  if (meta->sharded && out->total > 0) COMP__TRY(comp__zarr_shards_open(&out->shards, context, out));
done:
  if (status != COMP_OK) comp__error_context(status, "%s", array->path);
  return status;
}

void comp__zarr_grid_release(comp__zarr_grid *grid) {
  comp__zarr_shards_close(grid->shards);
  grid->shards = NULL;
}

comp__zarr_unit comp__zarr_grid_unit(const comp__zarr_grid *grid, size_t number) {
  comp__zarr_unit unit = {{0}};
  for (int i = grid->array->meta.rank - 1; i >= 0; i--) {
    unit.place[i] = grid->begin[i] + number % grid->count[i];
    number /= grid->count[i];
  }
  return unit;
}

/* For messages. */
static comp_status name_unit(comp_status status, const comp__zarr_grid *grid, const comp__zarr_unit *unit) {
  char text[160] = "";
  size_t used = 0;
  for (int i = 0; i < grid->array->meta.rank && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", i ? "," : "", unit->place[i]);
  return comp__error_context(status, "%s: chunk %s%s", grid->array->path, used ? text : "0",
                             grid->array->meta.sharded ? " (in a shard)" : "");
}

static comp_status get_stored(bool *found, const comp__zarr_grid *grid, const comp__zarr_unit *unit,
                              comp__zarr_scratch *scratch, size_t expected) {
  char key[4096];
  comp_status status = comp__zarr_array_key(key, sizeof key, grid->array, unit->place);
  if (status != COMP_OK) return status;
  /* Compression can make bytes longer, but not much. */
  size_t most = expected == SIZE_MAX ? MOST_STORED : expected + expected / 8 + 4096;
  return comp__zarr_store_get(found, &scratch->stored, grid->array->store, key, most);
}

comp_status comp__zarr_grid_load(unsigned char **data, size_t *size, const comp__zarr_grid *grid,
                                 const comp__zarr_unit *unit, comp__zarr_scratch *scratch, size_t expected,
                                 unsigned char *target) {
  bool found;
  *data = NULL;
  *size = 0;
  comp_status status = grid->array->meta.sharded ? comp__zarr_shards_get(&found, grid, unit, scratch)
                                                 : get_stored(&found, grid, unit, scratch, expected);
  if (status == COMP_OK && found)
    status = comp__zarr_decode(data, size, &grid->array->meta.encoding.codecs, scratch, expected, target);
  return status == COMP_OK ? status : name_unit(status, grid, unit);
}

comp_status comp__zarr_scratches_new(comp__zarr_scratch **out, comp_context *context) {
  return comp__calloc(out, (size_t)comp_context_thread_count(context), sizeof **out);
}

void comp__zarr_scratches_free(comp__zarr_scratch *scratches, comp_context *context) {
  for (int i = 0; scratches && i < comp_context_thread_count(context); i++) comp__zarr_scratch_release(&scratches[i]);
  comp__free(scratches);
}
