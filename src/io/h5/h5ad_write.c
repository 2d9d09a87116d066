/* h5ad_write.c: writing a data set as .h5ad, and adding results to an .h5ad. */
#include "io/h5/h5ad_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "io/anndata.h"
#include "io/carry.h"
#include "io/format.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad.h"
#include "io/h5/h5ad_update.h"

static comp_status write_matrix(comp_context *context, comp__h5ad_writer *writer, const char *folder, const char *name,
                                const comp_matrix *matrix) {
  char path[512];
  size_t number;
  if (!name[0] || strchr(name, '/') || strcmp(name, ".") == 0 ||
      snprintf(path, sizeof path, "%s%s", folder, name) >= (int)sizeof path)
    return comp__error(COMP_ERR_DATA, "a matrix cannot be called '%s' in an .h5ad file", name);
  comp_status status = comp__h5ad_writer_add(&number, writer, path, matrix->kind, matrix->cols);
  return status == COMP_OK ? comp__h5ad_writer_append(context, writer, number, matrix) : status;
}

static bool is_there(const comp__h5ad_writer *writer, const char *folder, const char *name) {
  char path[512];
  return snprintf(path, sizeof path, "%s%s", folder, name) < (int)sizeof path &&
         comp__h5_find(comp__h5ad_writer_file(writer), path) != COMP__H5_NONE;
}

comp_status comp__h5ad_write_matrices(comp_context *context, comp__h5ad_writer *writer, const comp_dataset *dataset,
                                      bool x, comp__h5ad_which which) {
  static const char *const folders[2] = {"layers/", "obsm/"};
  comp_status status = COMP_OK;
  if (x) COMP__TRY(write_matrix(context, writer, "", "X", dataset->x));
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < dataset->slots[slot].count; i++) {
      const comp__named_matrix *entry = &dataset->slots[slot].entries[i];
      if (which == COMP__H5AD_NEW && entry->from_file) continue;
      if (which == COMP__H5AD_FLOATS && entry->from_file && entry->matrix->narrowed) continue;
      if (which == COMP__H5AD_MISSING && is_there(writer, folders[slot], entry->name)) continue;
      COMP__TRY(write_matrix(context, writer, folders[slot], entry->name, entry->matrix));
    }
done:
  return status;
}

/* raw: all features. One that was carried over is the user's own and stays. */
static comp_status write_raw(comp_context *context, comp__h5ad_writer *writer, const comp_dataset *raw, int level) {
  hid_t file = comp__h5ad_writer_file(writer);
  if (!raw || !raw->x) return COMP_OK;
  if (comp__h5_find(file, "raw") != COMP__H5_NONE || comp__h5_find(file, "raw.X") != COMP__H5_NONE) {
    comp__info(context, "raw of the input is kept as it is");
    return COMP_OK;
  }
  hid_t varm;
  comp_status status = write_matrix(context, writer, "raw/", "X", raw->x);
  if (status == COMP_OK) status = comp__h5ad_write_table(context, file, "raw/var", &raw->var_names, raw->var, level);
  if (status != COMP_OK) return status;
  status = comp__h5_make_group(&varm, file, "raw/varm", "dict", "0.1.0");
  comp__h5_close(&varm);
  return status;
}

comp_status comp__h5ad_write(comp_context *context, const comp_dataset *dataset, const char *path, const char *name,
                             const comp__write_options *options) {
  (void)name;
  comp__h5ad_writer *writer = NULL;
  comp__h5ad_tables tables = {&dataset->obs_names, dataset->obs, &dataset->var_names, dataset->var, dataset->record};
  comp_status status;
  COMP__TRY(comp__h5ad_writer_create(&writer, path, dataset->samples, dataset->features, options->compression));
  const char *from = options->carry_from;
  const comp__format *format = NULL;
  if (from) COMP__TRY(comp__format_of_input(&format, from));
  bool same = format == &comp__format_h5ad; /* HDF5 copies from one file to another */
  bool copies_x = from && comp__anndata_copies_x(dataset, options->unchanged);
  COMP__TRY(comp__h5ad_write_matrices(context, writer, dataset, dataset->x && !copies_x,
                                      same   ? COMP__H5AD_NEW
                                      : from ? COMP__H5AD_FLOATS
                                             : COMP__H5AD_ALL));
  if (from) {
    COMP__TRY(comp__h5ad_carry(context, comp__h5ad_writer_file(writer), from, dataset, options, same));
    /* What could not be copied after all. */
    COMP__TRY(comp__h5ad_write_matrices(context, writer, dataset, false, COMP__H5AD_MISSING));
  }
  COMP__TRY(write_raw(context, writer, dataset->raw, options->compression));
  COMP__TRY(comp__h5ad_writer_finish(context, writer, &tables));
done:
  comp__h5ad_writer_free(writer);
  return status;
}

/* Copies a file's bytes: nothing that is in it can get lost or changed by that. */
static comp_status copy_bytes(int to, int from, const char *from_path) {
  enum { BLOCK = 1 << 20 };
  char *block;
  comp_status status = comp__alloc(&block, BLOCK, 1);
  if (status != COMP_OK) return status;
  for (;;) {
    ssize_t n = read(from, block, BLOCK);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) status = comp__error_errno("cannot read %s", from_path);
    if (n <= 0) break;
    for (ssize_t done = 0, wrote; done < n && status == COMP_OK; done += wrote) {
      wrote = write(to, block + done, (size_t)(n - done));
      if (wrote < 0 && errno == EINTR) wrote = 0;
      if (wrote < 0) status = comp__error_errno("cannot write");
    }
    if (status != COMP_OK) break;
  }
  comp__free(block);
  return status;
}

static comp_status copy_file(const char *to_path, const char *from_path) {
  int from = open(from_path, O_RDONLY | O_CLOEXEC), to = -1;
  comp_status status = COMP_OK;
  if (from < 0) return comp__error_errno("cannot open %s", from_path);
  to = open(to_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (to < 0)
    status = comp__error_errno("cannot write %s", to_path);
  else
    status = copy_bytes(to, from, from_path);
  close(from);
  if (to >= 0 && close(to) != 0 && status == COMP_OK) status = comp__error_errno("cannot write %s", to_path);
  return status;
}

comp_status comp__h5ad_needs_rewrite(bool *out, const char *path) {
  comp__h5_file file = COMP__H5_FILE_INIT;
  comp_status status = comp__h5_open(&file, path, false);
  *out = false;
  if (status == COMP_OK)
    *out = comp__h5ad_is_legacy(file.id, "obs") || comp__h5_find(file.id, "obsm") == COMP__H5_DATASET;
  if (status == COMP_OK) status = comp__h5_certain(file.id);
  comp__h5_close_file(&file);
  return status;
}

/* As comp__anndata_check_fit() of a file; also says which layers are overwritten. */
static comp_status check_fit(size_t *features, comp_context *context, const comp_dataset *results, const char *path) {
  comp__tree *tree;
  comp_status status = comp__h5_tree_open(&tree, path);
  if (status == COMP_OK) status = comp__anndata_check_fit(features, context, results, tree);
  if (status == COMP_OK) comp__anndata_tell_overwritten(context, results, tree, path);
  comp__tree_free(tree);
  return status;
}

comp_status comp__h5ad_update(comp_context *context, const comp_dataset *results, const char *in_path,
                              const char *out_path) {
  const comp__write_options defaults = comp__write_defaults();
  comp__h5ad_writer *writer = NULL;
  size_t features;
  comp_status status;
  COMP__TRY(check_fit(&features, context, results, in_path));
  COMP__TRY(copy_file(out_path, in_path));
  COMP__TRY(comp__h5ad_writer_edit(&writer, out_path, results->samples, features, defaults.compression));
  hid_t file = comp__h5ad_writer_file(writer);
  COMP__TRY(comp__h5ad_write_matrices(context, writer, results, false, COMP__H5AD_ALL));
  COMP__TRY(comp__h5ad_add_columns(context, file, "obs", results->obs, defaults.compression));
  COMP__TRY(comp__h5ad_write_record(file, results->record));
  COMP__TRY(comp__h5ad_writer_end(context, writer));
done:
  comp__h5ad_writer_free(writer);
  return status;
}
