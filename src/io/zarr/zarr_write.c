/* zarr_write.c: writing a data set as AnnData in a zarr store. */
#include "io/zarr/zarr_write.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/file.h"
#include "core/matrix.h"
#include "io/carry.h"
#include "io/tree.h"
#include "io/zarr/sink.h"

comp_status comp__zarr_write_group(comp__zarr_sink *s, const char *path, const char *type, const char *version) {
  json_t *attributes = json_pack("{s:s, s:s}", "encoding-type", type, "encoding-version", version);
  comp_status status = s->sink.ops->group(&s->sink, path, attributes);
  json_decref(attributes);
  return status;
}

/* Pointers in the narrower type where they fit, as AnnData has them. */
static comp_status put_indptr(comp__zarr_sink *s, const char *path, const comp_matrix *m) {
  int32_t *narrow = NULL;
  comp_status status;
  if (m->indptr[m->rows] > INT32_MAX)
    return comp__zarr_sink_array(s, path, COMP__STORED_I64, m->indptr, m->rows + 1, 0, false);
  COMP__TRY(comp__alloc(&narrow, m->rows + 1, sizeof *narrow));
  for (size_t i = 0; i <= m->rows; i++) narrow[i] = (int32_t)m->indptr[i];
  COMP__TRY(comp__zarr_sink_array(s, path, COMP__STORED_I32, narrow, m->rows + 1, 0, false));
done:
  comp__free(narrow);
  return status;
}

static comp_status put_sparse(comp__zarr_sink *s, const char *path, const comp_matrix *m) {
  size_t nnz = (size_t)m->indptr[m->rows];
  comp__tree_path part;
  json_t *attributes = json_pack("{s:s, s:s, s:[I, I]}", "encoding-type", "csr_matrix", "encoding-version", "0.1.0",
                                 "shape", (json_int_t)m->rows, (json_int_t)m->cols);
  comp_status status;
  COMP__TRY(s->sink.ops->group(&s->sink, path, attributes));
  COMP__TRY(comp__tree_join(&part, path, "data"));
  COMP__TRY(comp__zarr_sink_array(s, part.text, COMP__STORED_F32, m->values, nnz, 0, false));
  COMP__TRY(comp__tree_join(&part, path, "indices"));
  COMP__TRY(comp__zarr_sink_array(s, part.text, COMP__STORED_I32, m->indices, nnz, 0, false));
  COMP__TRY(comp__tree_join(&part, path, "indptr"));
  COMP__TRY(put_indptr(s, part.text, m));
done:
  json_decref(attributes);
  return status;
}

comp_status comp__zarr_check_matrix_name(const char *name) {
  if (!strchr(name, '/') && comp__zarr_key_is_good(name) && !comp__zarr_key_is_metadata(name)) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "a matrix cannot be called '%s' in a zarr store", name);
}

comp_status comp__zarr_write_matrix(comp__zarr_sink *s, const char *folder, const char *name, const comp_matrix *m) {
  comp__tree_path path;
  comp_status status = comp__zarr_check_matrix_name(name);
  if (status == COMP_OK) status = comp__tree_join(&path, folder, name);
  if (status != COMP_OK) return status;
  if (m->kind == COMP_CSR) return put_sparse(s, path.text, m);
  if (m->cols == 0) return comp__error(COMP_ERR_DATA, "%s has no columns", path.text);
  return comp__zarr_sink_array(s, path.text, COMP__STORED_F32, m->values, m->rows, m->cols, true);
}

static comp_status put_groups(comp__zarr_sink *s) {
  static const char *const groups[] = {"layers", "obsm", "obsp", "varm", "varp", "uns"};
  comp_status status = COMP_OK;
  for (size_t i = 0; i < sizeof groups / sizeof *groups && status == COMP_OK; i++)
    status = comp__zarr_write_group(s, groups[i], "dict", "0.1.0");
  return status;
}

/* Layers and obsm; with `carrying`, not those that will be copied with the type of their values. */
static comp_status put_slots(comp__zarr_sink *s, const comp_dataset *dataset, bool carrying) {
  comp__tree_path path;
  comp_status status = COMP_OK;
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < dataset->slots[slot].count; i++) {
      const char *folder = comp_slot_name((comp_slot)slot);
      const comp__named_matrix *entry = &dataset->slots[slot].entries[i];
      COMP__TRY(comp__zarr_check_matrix_name(entry->name));
      COMP__TRY(comp__tree_join(&path, folder, entry->name));
      if ((carrying && entry->from_file && entry->matrix->narrowed) || s->sink.ops->has(&s->sink, path.text)) continue;
      COMP__TRY(comp__zarr_write_matrix(s, folder, entry->name, entry->matrix));
    }
done:
  return status;
}

static comp_status put_raw(comp__zarr_sink *s, const comp_dataset *raw) {
  comp_status status = COMP_OK;
  if (!raw || !raw->x) return COMP_OK;
  if (s->sink.ops->has(&s->sink, "raw")) { /* one that was carried over is the user's own */
    comp__info(s->sink.context, "raw of the input is kept as it is");
    return COMP_OK;
  }
  COMP__TRY(comp__zarr_write_group(s, "raw", "raw", "0.1.0"));
  COMP__TRY(comp__zarr_write_matrix(s, "raw", "X", raw->x));
  COMP__TRY(comp__anndata_write_table(&s->sink, "raw/var", &raw->var_names, raw->var));
  COMP__TRY(comp__zarr_write_group(s, "raw/varm", "dict", "0.1.0"));
done:
  return status;
}

comp_status comp__zarr_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                             const comp__write_options *options) {
  comp__zarr_sink s;
  comp_status status;
  (void)name;
  COMP__TRY(comp__zarr_sink_open(&s, context, path, options->shards ? 3 : options->zarr, options->shards,
                                 options->compression));
  COMP__TRY(comp__zarr_write_group(&s, "", "anndata", "0.1.0"));
  bool copies_x = options->carry_from && comp__anndata_copies_x(dataset, options->unchanged);
  if (dataset->x && !copies_x) COMP__TRY(comp__zarr_write_matrix(&s, "", "X", dataset->x));
  COMP__TRY(put_groups(&s));
  COMP__TRY(put_slots(&s, dataset, options->carry_from != NULL));
  if (options->carry_from) {
    COMP__TRY(comp__anndata_carry(&s.sink, options->carry_from, dataset, options->unchanged));
    COMP__TRY(put_slots(&s, dataset, false)); /* what could not be copied after all */
  }
  if (!s.sink.ops->has(&s.sink, "obs"))
    COMP__TRY(comp__anndata_write_table(&s.sink, "obs", &dataset->obs_names, dataset->obs));
  if (!s.sink.ops->has(&s.sink, "var"))
    COMP__TRY(comp__anndata_write_table(&s.sink, "var", &dataset->var_names, dataset->var));
  COMP__TRY(put_raw(&s, dataset->raw));
  if (dataset->record) {
    COMP__TRY(comp__zarr_write_group(&s, "uns/comp", "dict", "0.1.0"));
    COMP__TRY(comp__zarr_sink_text(&s, "uns/comp/record", dataset->record));
  }
done:
  comp__zarr_sink_close(&s);
  return status;
}

comp_status comp__zarr_write_zip(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                                 const comp__write_options *options) {
  comp__folder_output folder = {0};
  comp_status status;
  COMP__TRY(comp__folder_output_begin_scratch(&folder, name));
  COMP__TRY(comp__zarr_write(context, dataset, folder.temporary, name, options));
  COMP__TRY(comp__zarr_pack(path, folder.temporary, name));
done:
  comp__folder_output_abort(&folder);
  return status;
}
