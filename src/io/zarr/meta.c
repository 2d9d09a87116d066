/* meta.c: what metadata of both versions has in common. */
#include "io/zarr/meta.h"

#include <stdint.h>

#include "core/alloc.h"
#include "core/error.h"

comp_status comp__zarr_read_sizes(size_t *out, int *rank, const json_t *list, const char *what, size_t least) {
  if (!json_is_array(list) || json_array_size(list) > COMP__ZARR_MOST_DIMS)
    return comp__error(COMP_ERR_FORMAT, "its '%s' is not a list of at most %d numbers", what, COMP__ZARR_MOST_DIMS);
  int n = (int)json_array_size(list);
  if (*rank >= 0 && n != *rank)
    return comp__error(COMP_ERR_FORMAT, "its '%s' has %d numbers, but it has %d dimensions", what, n, *rank);
  *rank = n;
  for (int i = 0; i < n; i++) {
    const json_t *value = json_array_get(list, (size_t)i);
    if (!json_is_integer(value) || json_integer_value(value) < (json_int_t)least)
      return comp__error(COMP_ERR_FORMAT, "its '%s' has a value that is not possible there", what);
    out[i] = (size_t)json_integer_value(value);
  }
  return COMP_OK;
}

/* Whether all values, at least of one byte and at most of 16, can be counted. */
static bool can_be_counted(const size_t *sizes, int rank, size_t bytes) {
  size_t total = bytes > 16 ? bytes : 16;
  for (int i = 0; i < rank; i++)
    if (sizes[i] > 0 && !comp__size_mul(&total, total, sizes[i])) return false;
  return total <= (size_t)INT64_MAX;
}

static comp_status check_sizes(const comp__zarr_meta *meta) {
  if (!can_be_counted(meta->shape, meta->rank, meta->type.number.size))
    return comp__error(COMP_ERR_FORMAT, "its shape is absurd: more values than any memory holds");
  if (!can_be_counted(meta->chunk, meta->rank, meta->type.number.size))
    return comp__error(COMP_ERR_FORMAT, "its chunks are absurd: more values than any memory holds");
  for (int i = 0; meta->sharded && i < meta->rank; i++)
    if (meta->chunk[i] % meta->inner[i] != 0)
      return comp__error(COMP_ERR_FORMAT, "the chunks of its shards do not divide them: %zu and %zu", meta->inner[i],
                         meta->chunk[i]);
  return COMP_OK;
}

comp_status comp__zarr_meta_read(comp__zarr_meta *out, const json_t *json) {
  *out = (comp__zarr_meta){.rank = -1};
  json_int_t version = json_integer_value(json_object_get(json, "zarr_format"));
  if (version != 2 && version != 3)
    return comp__error(COMP_ERR_UNAVAILABLE, "its zarr_format is not one that is known here (2, 3)");
  comp_status status = version == 2 ? comp__zarr_meta_read_v2(out, json) : comp__zarr_meta_read_v3(out, json);
  return status == COMP_OK ? check_sizes(out) : status;
}

void comp__zarr_meta_release(comp__zarr_meta *meta) {
  comp__free(meta->fill_text);
  meta->fill_text = NULL;
  for (size_t i = 0; i < meta->n_fields; i++) comp__free(meta->fields[i].name);
  comp__free(meta->fields);
  meta->fields = NULL;
  meta->n_fields = 0;
}
