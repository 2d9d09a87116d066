/* meta_v3.c: `zarr.json` of an array: codecs, shards, keys. */
#include <string.h>

#include "core/error.h"
#include "io/zarr/meta.h"

/* The name of an extension: {"name": ..., "configuration": ...}, or the name alone. */
static const char *name_of(const json_t *json) {
  const char *name = json_string_value(json_is_object(json) ? json_object_get(json, "name") : json);
  return name ? name : "";
}

static const json_t *configuration_of(const json_t *json) {
  return json_object_get(json, "configuration");
}

static const char *text(const json_t *json, const char *name, const char *otherwise) {
  const char *value = json_string_value(json_object_get(json, name));
  return value ? value : otherwise;
}

/* One after the other: dimension i of what comes out is dimension order[i] of what goes in. */
static comp_status add_transpose(comp__zarr_encoding *out, int rank, const json_t *order) {
  int before[COMP__ZARR_MOST_DIMS];
  bool seen[COMP__ZARR_MOST_DIMS] = {false};
  memcpy(before, out->order, sizeof before);
  const char *letter = json_string_value(order);
  if (letter && strcmp(letter, "C") == 0) return COMP_OK;
  bool last_first = letter && strcmp(letter, "F") == 0;
  if (!last_first && (!json_is_array(order) || json_array_size(order) != (size_t)rank))
    return comp__error(COMP_ERR_FORMAT, "the order of its codec transpose has not one number a dimension");
  for (int i = 0; i < rank; i++) {
    const json_t *value = json_array_get(order, (size_t)i);
    json_int_t from = last_first ? rank - 1 - i : json_is_integer(value) ? json_integer_value(value) : -1;
    if (from < 0 || from >= rank || seen[from])
      return comp__error(COMP_ERR_FORMAT, "the order of its codec transpose does not name each dimension once");
    seen[from] = true;
    out->order[i] = before[from];
  }
  return COMP_OK;
}

static bool is_swapped(const json_t *configuration) {
  const uint16_t one = 1;
  bool little_machine = *(const unsigned char *)&one == 1;
  const char *endian = text(configuration, "endian", little_machine ? "little" : "big");
  return (strcmp(endian, "little") == 0) != little_machine;
}

/* Codecs from the values to bytes: any transposes, then bytes or vlen-utf8, then compression and checksums. */
static comp_status read_codecs(comp__zarr_encoding *out, const comp__zarr_meta *meta, const json_t *codecs) {
  bool bytes = false;
  for (int i = 0; i < meta->rank; i++) out->order[i] = i;
  for (size_t i = 0; i < json_array_size(codecs); i++) {
    const json_t *codec = json_array_get(codecs, i);
    const char *name = name_of(codec);
    comp_status status = COMP_OK;
    if (strcmp(name, "transpose") == 0 && !bytes) {
      status = add_transpose(out, meta->rank, json_object_get(configuration_of(codec), "order"));
    } else if ((strcmp(name, "bytes") == 0 || strcmp(name, "endian") == 0) && !bytes) {
      bytes = true;
      out->swap = is_swapped(configuration_of(codec));
    } else if (strcmp(name, "vlen-utf8") == 0 && !bytes) {
      bytes = out->vlen = true;
    } else if (strcmp(name, "sharding_indexed") == 0) {
      status = comp__error(COMP_ERR_UNAVAILABLE, "shards within shards, or beside other codecs, are not read here");
    } else if (bytes) {
      status = comp__zarr_codecs_add(&out->codecs, name);
    } else {
      status = comp__error(COMP_ERR_UNAVAILABLE, "its codec '%s' is not known here", name);
    }
    if (status != COMP_OK) return status;
  }
  if (!bytes || out->vlen != (meta->type.kind == COMP__ZARR_TEXT))
    return meta->type.kind == COMP__ZARR_OTHER
               ? COMP_OK
               : comp__error(COMP_ERR_FORMAT, "its codecs do not make bytes of values of its type");
  return COMP_OK;
}

static comp_status read_index_codecs(comp__zarr_meta *out, const json_t *codecs) {
  comp_status status = COMP_OK;
  bool bytes = false;
  for (size_t i = 0; i < json_array_size(codecs) && status == COMP_OK; i++) {
    const json_t *codec = json_array_get(codecs, i);
    const char *name = name_of(codec);
    if (strcmp(name, "bytes") == 0 && !bytes) {
      bytes = true;
      out->index_swap = is_swapped(configuration_of(codec));
    } else if (strcmp(name, "crc32c") == 0 && bytes) {
      status = comp__zarr_codecs_add(&out->index_codecs, name);
    } else {
      status =
          comp__error(COMP_ERR_UNAVAILABLE, "the index of its shards is encoded by '%s', which is not read here", name);
    }
  }
  if (status == COMP_OK && !bytes) status = comp__error(COMP_ERR_FORMAT, "the index of its shards has no codec bytes");
  return status;
}

static comp_status read_sharding(comp__zarr_meta *out, const json_t *configuration) {
  comp_status status;
  const char *location = text(configuration, "index_location", "end");
  COMP__TRY(comp__zarr_read_sizes(out->inner, &out->rank, json_object_get(configuration, "chunk_shape"),
                                  "chunk_shape' of its 'sharding_indexed", 1));
  COMP__TRY(read_codecs(&out->encoding, out, json_object_get(configuration, "codecs")));
  COMP__TRY(read_index_codecs(out, json_object_get(configuration, "index_codecs")));
  out->sharded = true;
  out->index_first = strcmp(location, "start") == 0;
  if (!out->index_first && strcmp(location, "end") != 0)
    status = comp__error(COMP_ERR_FORMAT, "the index of its shards is neither at their start nor at their end");
done:
  return status;
}

static comp_status read_keys(comp__zarr_meta *out, const json_t *keys) {
  const char *name = name_of(keys);
  out->prefix = strcmp(name, "default") == 0;
  if (!out->prefix && strcmp(name, "v2") != 0)
    return comp__error(COMP_ERR_UNAVAILABLE, "its chunk_key_encoding '%s' is not known here (default, v2)", name);
  const char *separator = text(configuration_of(keys), "separator", out->prefix ? "/" : ".");
  if (strcmp(separator, "/") != 0 && strcmp(separator, ".") != 0)
    return comp__error(COMP_ERR_FORMAT, "the separator of its keys is neither . nor /");
  out->separator = separator[0];
  return COMP_OK;
}

/* What a member that is not known here says must be understood, unless it says that it need not be. */
static comp_status check_members(const json_t *json) {
  static const char *const known[] = {
      "zarr_format",        "node_type",  "shape",      "data_type",       "chunk_grid",          "codecs",
      "chunk_key_encoding", "fill_value", "attributes", "dimension_names", "storage_transformers"};
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)json, name, value) {
    bool is_known = !json_is_object(value) || json_is_false(json_object_get(value, "must_understand"));
    for (size_t i = 0; i < sizeof known / sizeof *known && !is_known; i++) is_known = strcmp(name, known[i]) == 0;
    if (!is_known)
      return comp__error(COMP_ERR_UNAVAILABLE, "its metadata has '%s', which is not known here and must be understood",
                         name);
  }
  return COMP_OK;
}

comp_status comp__zarr_meta_read_v3(comp__zarr_meta *out, const json_t *json) {
  const json_t *grid = json_object_get(json, "chunk_grid"), *codecs = json_object_get(json, "codecs");
  const json_t *first = json_array_get(codecs, 0);
  comp_status status;
  COMP__TRY(check_members(json));
  COMP__TRY(comp__zarr_read_sizes(out->shape, &out->rank, json_object_get(json, "shape"), "shape", 0));
  if (strcmp(name_of(grid), "regular") != 0)
    COMP__FAIL(COMP_ERR_UNAVAILABLE, "its chunk_grid '%s' is not known here (regular is)", name_of(grid));
  COMP__TRY(comp__zarr_read_sizes(out->chunk, &out->rank, json_object_get(configuration_of(grid), "chunk_shape"),
                                  "chunk_shape", 1));
  if (json_array_size(json_object_get(json, "storage_transformers")) > 0)
    COMP__FAIL(COMP_ERR_UNAVAILABLE, "its storage_transformers are not known here");
  const json_t *type = json_object_get(json, "data_type");
  comp__zarr_type_v3(&out->type, type);
  if (strcmp(name_of(type), "struct") == 0 || strcmp(name_of(type), "structured") == 0)
    COMP__TRY(comp__zarr_read_fields(out, json_object_get(configuration_of(type), "fields"), 3));
  COMP__TRY(read_keys(out, json_object_get(json, "chunk_key_encoding")));
  if (json_array_size(codecs) == 1 && strcmp(name_of(first), "sharding_indexed") == 0)
    COMP__TRY(read_sharding(out, configuration_of(first)));
  else
    COMP__TRY(read_codecs(&out->encoding, out, codecs));
  out->type.number.swap = out->encoding.swap && out->type.number.size > 1 && out->type.kind != COMP__ZARR_RECORDS;
  for (size_t i = 0; i < out->n_fields; i++)
    out->fields[i].type.number.swap = out->encoding.swap && out->fields[i].type.kind != COMP__ZARR_BYTES;
  COMP__TRY(comp__zarr_read_fill(out, json_object_get(json, "fill_value")));
done:
  return status;
}
