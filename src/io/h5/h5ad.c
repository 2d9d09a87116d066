/* h5ad.c: reading .h5ad files (AnnData) of any version. */
#include "io/h5/h5ad.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"
#include "io/format.h"
#include "io/h5/h5ad_write.h"

/* The names of a group's members in one line, for messages. */
static void list_members(char *out, size_t size, hid_t file, const char *path) {
  comp__strings members = {0};
  hid_t group = H5Oopen(file, path, H5P_DEFAULT);
  size_t used = 0;
  snprintf(out, size, "none");
  if (group >= 0 && H5Iget_type(group) == H5I_GROUP && comp__h5_members(&members, group) == COMP_OK)
    for (size_t i = 0; i < members.count && used < size; i++)
      used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", comp__strings_get(&members, i));
  comp__h5_close(&group);
  H5Eclear2(H5E_DEFAULT);
  comp__strings_release(&members);
}

comp_status comp__h5ad_find_paths(comp__h5ad_paths *out, hid_t file, const comp__read_options *options) {
  char list[512];
  snprintf(out->x, sizeof out->x, "X");
  snprintf(out->var, sizeof out->var, "var");
  if (options->raw && options->layer)
    return comp__error(COMP_ERR_ARGUMENT, "raw and a layer cannot both be read as X: choose one");
  if (options->raw) {
    bool old = comp__h5_find(file, "raw") == COMP__H5_NONE; /* "raw.X": before AnnData 0.7 */
    snprintf(out->x, sizeof out->x, old ? "raw.X" : "raw/X");
    snprintf(out->var, sizeof out->var, old ? "raw.var" : "raw/var");
    if (comp__h5_find(file, out->x) == COMP__H5_NONE) return comp__error(COMP_ERR_DATA, "there is no raw/X in it");
  }
  if (options->layer) {
    snprintf(out->x, sizeof out->x, "layers/%s", options->layer);
    list_members(list, sizeof list, file, "layers");
    if (strlen(options->layer) > 200 || comp__h5_find(file, out->x) == COMP__H5_NONE)
      return comp__error(COMP_ERR_DATA, "there is no layer '%s'; there are: %s", options->layer, list);
  }
  return COMP_OK;
}

/* What is missing when a file is HDF5, but not this. */
static comp_status check_is_h5ad(hid_t file) {
  if (comp__h5_find(file, "obs") != COMP__H5_NONE && comp__h5_find(file, "var") != COMP__H5_NONE) return COMP_OK;
  char list[512];
  if (comp__h5_find(file, "matrix") == COMP__H5_GROUP) {
    list_members(list, sizeof list, file, "matrix");
    return comp__error(COMP_ERR_FORMAT,
                       "a 10x .h5 whose matrix lacks barcodes, data, indices, indptr or shape; it has: %s", list);
  }
  list_members(list, sizeof list, file, "/");
  return comp__error(COMP_ERR_FORMAT,
                     "an HDF5 file, but neither an .h5ad (which has obs and var) nor a 10x .h5 (which has matrix); it "
                     "has: %s",
                     list);
}

static comp_status read_x(comp_dataset *dataset, comp_context *context, hid_t file, const comp__h5ad_paths *paths) {
  comp__h5_matrix m = COMP__H5_MATRIX_INIT;
  comp_matrix *matrix;
  char list[512];
  comp_status status;
  if (comp__h5_find(file, paths->x) == COMP__H5_NONE) {
    list_members(list, sizeof list, file, "layers");
    COMP__FAIL(COMP_ERR_DATA, "there is no X in it; a layer can be read in its place (there are: %s)", list);
  }
  COMP__TRY(comp__h5_matrix_open(&m, context, file, paths->x));
  if (m.rows != dataset->samples || m.cols != dataset->features)
    COMP__FAIL(COMP_ERR_FORMAT, "%s is %zu x %zu, but obs has %zu names and %s has %zu", m.where, m.rows, m.cols,
               dataset->samples, paths->var, dataset->features);
  COMP__TRY(comp__h5_matrix_read(&matrix, context, &m, 0, m.rows));
  COMP__TRY(comp_dataset_set_x(dataset, matrix));
done:
  comp__h5_matrix_close(&m);
  return status;
}

/* Whether an entry of layers or obsm is a matrix that can be held; *why says what it is otherwise. */
static bool can_hold(const char **why, hid_t group, const char *name, comp_slot slot) {
  comp__h5_kind kind = comp__h5_find(group, name);
  hid_t object = kind == COMP__H5_NONE ? H5I_INVALID_HID : H5Oopen(group, name, H5P_DEFAULT);
  hid_t type = H5I_INVALID_HID, space = H5I_INVALID_HID;
  bool good = false;
  if (object < 0 && kind != COMP__H5_NONE) comp__h5_doubt(group, 0);
  *why = "it is not a matrix of numbers";
  if (object >= 0 && H5Iget_type(object) == H5I_DATASET) {
    type = H5Dget_type(object);
    space = H5Dget_space(object);
    H5T_class_t class = H5Tget_class(type);
    int rank = H5Sget_simple_extent_ndims(space);
    good = (class == H5T_INTEGER || class == H5T_FLOAT || comp__h5_is_bool(type)) && rank >= 1 && rank <= 2;
  } else if (object >= 0 && slot == COMP_SLOT_LAYERS) {
    good = comp__h5_text_is(object, "encoding-type", "csr_matrix") ||
           comp__h5_text_is(object, "encoding-type", "csc_matrix") || comp__h5_has_attr(object, "h5sparse_format");
  } else if (object >= 0) {
    bool sparse = comp__h5_text_is(object, "encoding-type", "csr_matrix") ||
                  comp__h5_text_is(object, "encoding-type", "csc_matrix");
    *why = sparse ? "it is sparse, and only dense matrices of obsm are; .toarray() in Python makes it dense"
                  : "it is not a matrix (a table, say), and only dense matrices of obsm are";
  }
  comp__h5_close(&space);
  comp__h5_close(&type);
  comp__h5_close(&object);
  H5Eclear2(H5E_DEFAULT);
  return good;
}

static comp_status read_entry(comp_dataset *dataset, comp_context *context, hid_t group, const char *name,
                              comp_slot slot) {
  comp__h5_matrix m = COMP__H5_MATRIX_INIT;
  comp_matrix *matrix;
  comp_status status;
  COMP__TRY(comp__h5_matrix_open(&m, context, group, name));
  if (m.rows != dataset->samples || (slot == COMP_SLOT_LAYERS && m.cols != dataset->features))
    COMP__FAIL(COMP_ERR_FORMAT, "%s is %zu x %zu, which does not fit data of %zu x %zu", m.where, m.rows, m.cols,
               dataset->samples, dataset->features);
  COMP__TRY(comp__h5_matrix_read(&matrix, context, &m, 0, m.rows));
  COMP__TRY(comp_dataset_set_matrix(dataset, slot, name, matrix));
done:
  comp__h5_matrix_close(&m);
  return status;
}

static comp_status read_slot(comp_dataset *dataset, comp_context *context, hid_t file, comp_slot slot,
                             const char *skipped) {
  const char *path = comp_slot_name(slot), *why;
  comp__strings members = {0};
  hid_t group = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  comp__h5_kind kind = comp__h5_find(file, path);
  if (kind == COMP__H5_DATASET && slot == COMP_SLOT_OBSM) return comp__h5ad_legacy_obsm(dataset, context, file);
  if (kind != COMP__H5_GROUP) return COMP_OK;
  COMP__TRY(comp__h5_open_group(&group, file, path));
  COMP__TRY(comp__h5_members(&members, group));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (skipped && strcmp(name, skipped) == 0) continue;
    if (can_hold(&why, group, name, slot))
      COMP__TRY(read_entry(dataset, context, group, name, slot));
    else
      comp__info(context, "%s/%s is not read: %s", path, name, why);
  }
done:
  comp__h5_close(&group);
  comp__strings_release(&members);
  return status;
}

static comp_status read_record(comp_dataset *dataset, comp_context *context, hid_t file) {
  hid_t record = H5I_INVALID_HID;
  char *text = NULL;
  comp_status status = COMP_OK;
  if (comp__h5_find(file, "uns/comp/record") != COMP__H5_DATASET) return COMP_OK;
  COMP__TRY(comp__h5_open_dataset(&record, file, "uns/comp/record"));
  COMP__TRY(comp__h5_read_text(&text, context, record));
  COMP__TRY(comp_dataset_set_record(dataset, text));
done:
  comp__free(text);
  comp__h5_close(&record);
  return status;
}

static comp_status read_tables(comp_dataset **out, comp_context *context, hid_t file, const char *var_path) {
  comp__strings obs = {0}, var = {0};
  comp_status status;
  COMP__TRY(comp__h5ad_read_names(&obs, context, file, "obs"));
  COMP__TRY(comp__h5ad_read_names(&var, context, file, var_path));
  COMP__TRY(comp__dataset_new(out, &obs, &var));
  COMP__TRY(comp__h5ad_read_table((*out)->obs, context, file, "obs"));
  COMP__TRY(comp__h5ad_read_table((*out)->var, context, file, var_path));
done:
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

/* What a writer may copy as it is: tables in the layout of AnnData 0.8, and matrices. */
static void mark_from_file(comp_dataset *dataset, hid_t file, const comp__read_options *options) {
  if (!comp__h5ad_is_legacy(file, "obs") && comp__h5_find(file, "obs/__categories") == COMP__H5_NONE)
    comp__table_mark_file(dataset->obs);
  if (!options->raw && !comp__h5ad_is_legacy(file, "var") && comp__h5_find(file, "var/__categories") == COMP__H5_NONE)
    comp__table_mark_file(dataset->var);
  if (comp__h5ad_is_legacy(file, "obs")) return;
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < dataset->slots[slot].count; i++) dataset->slots[slot].entries[i].from_file = true;
}

/* `*out` may be there also after a failure. */
static comp_status read_parts(comp_dataset **out, comp_context *context, hid_t file, const comp__h5ad_paths *paths,
                              const comp__read_options *options) {
  comp_status status;
  COMP__TRY(read_tables(out, context, file, paths->var));
  if (!options->skip_x) COMP__TRY(read_x(*out, context, file, paths));
  if (!options->skip_slots) {
    /* The layers have the columns of X, not of raw. */
    if (!options->raw) COMP__TRY(read_slot(*out, context, file, COMP_SLOT_LAYERS, options->layer));
    COMP__TRY(read_slot(*out, context, file, COMP_SLOT_OBSM, NULL));
  }
  COMP__TRY(read_record(*out, context, file));
done:
  return status == COMP_ERR_ARGUMENT ? COMP_ERR_FORMAT : status; /* a name that is not UTF-8 is the file's fault */
}

static comp_status read_h5ad(comp_dataset **out, comp_context *context, const char *path,
                             const comp__read_options *options) {
  comp__h5_file file = COMP__H5_FILE_INIT;
  comp__h5ad_paths paths;
  comp_dataset *dataset = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__h5_open(&file, path, false));
  COMP__TRY(check_is_h5ad(file.id));
  COMP__TRY(comp__h5ad_find_paths(&paths, file.id, options));
  COMP__TRY(read_parts(&dataset, context, file.id, &paths, options));
  mark_from_file(dataset, file.id, options);
  COMP__TRY(comp__h5_certain(file.id));
  *out = dataset;
done:
  if (status != COMP_OK) comp_dataset_free(dataset);
  comp__h5_close_file(&file);
  return status;
}

/* Any HDF5 file that is not a 10x one (asked before): the reader says what is missing. The signature is at 0 or, behind
 * a block of the user's, at 512, 1024, ... */
static comp_status probe_h5ad(bool *is, const comp__peek *peek) {
  static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  *is = false;
  for (size_t at = 0; !peek->gzip && !*is && at + 8 <= peek->head_size; at = at == 0 ? 512 : at * 2)
    *is = memcmp(peek->head + at, signature, 8) == 0;
  return COMP_OK;
}

const comp__format comp__format_h5ad = {"h5ad", "AnnData", ".h5ad", probe_h5ad, read_h5ad, comp__h5ad_write};
