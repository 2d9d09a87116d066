/* meta_v2.c: `.zarray`. */
#include <string.h>

#include "core/error.h"
#include "io/zarr/meta.h"

static const char *text(const json_t *json, const char *name) {
  const char *value = json_string_value(json_object_get(json, name));
  return value ? value : "";
}

/* Of the filters, the one that makes text of objects is known. */
static comp_status read_filters(comp__zarr_meta *out, const json_t *filters) {
  for (size_t i = 0; i < json_array_size(filters); i++) {
    const char *id = text(json_array_get(filters, i), "id");
    if (strcmp(id, "vlen-utf8") != 0 || out->type.kind != COMP__ZARR_TEXT || out->encoding.vlen)
      return comp__error(COMP_ERR_UNAVAILABLE, "its filter '%s' is not known here (vlen-utf8 is)", id);
    out->encoding.vlen = true;
  }
  if (out->type.kind == COMP__ZARR_TEXT && !out->encoding.vlen) out->type.kind = COMP__ZARR_OTHER;
  return COMP_OK;
}

static comp_status read_order(comp__zarr_meta *out, const char *order) {
  bool last_first = strcmp(order, "F") == 0;
  if (!last_first && strcmp(order, "C") != 0) return comp__error(COMP_ERR_FORMAT, "its order is neither C nor F");
  for (int i = 0; i < out->rank; i++) out->encoding.order[i] = last_first ? out->rank - 1 - i : i;
  return COMP_OK;
}

comp_status comp__zarr_meta_read_v2(comp__zarr_meta *out, const json_t *json) {
  const json_t *compressor = json_object_get(json, "compressor");
  const char *separator = text(json, "dimension_separator");
  comp_status status;
  COMP__TRY(comp__zarr_read_sizes(out->shape, &out->rank, json_object_get(json, "shape"), "shape", 0));
  COMP__TRY(comp__zarr_read_sizes(out->chunk, &out->rank, json_object_get(json, "chunks"), "chunks", 1));
  comp__zarr_type_v2(&out->type, text(json, "dtype"));
  if (json_is_array(json_object_get(json, "dtype")))
    COMP__TRY(comp__zarr_read_fields(out, json_object_get(json, "dtype"), 2));
  COMP__TRY(read_filters(out, json_object_get(json, "filters")));
  COMP__TRY(read_order(out, text(json, "order")));
  COMP__TRY(comp__zarr_read_fill(out, json_object_get(json, "fill_value")));
  if (compressor && !json_is_null(compressor))
    COMP__TRY(comp__zarr_codecs_add(&out->encoding.codecs, text(compressor, "id")));
  out->separator = separator[0] ? separator[0] : '.';
  if (strlen(separator) > 1 || !strchr("./", out->separator))
    status = comp__error(COMP_ERR_FORMAT, "its dimension_separator is neither . nor /");
done:
  return status;
}
