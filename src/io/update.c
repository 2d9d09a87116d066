/* update.c: adding results to a data file, whatever its format. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/file.h"
#include "io/format.h"
#include "io/h5/h5ad_update.h"
#include "io/zarr/tree.h"
#include "io/zarr/update.h"

/* Copies a column of a table to another table of as many rows. */
static comp_status copy_column(comp_table *to, const comp_table *from, size_t column) {
  size_t rows = comp_table_row_count(from);
  size_t levels =
      comp_table_column_kind(from, column) == COMP_COLUMN_CATEGORICAL ? comp_table_level_count(from, column) : 0;
  const char *name = comp_table_column_name(from, column), **texts = NULL;
  void *values = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&values, rows, sizeof(double)));
  COMP__TRY(comp__alloc(&texts, levels > rows ? levels : rows, sizeof *texts));
  switch (comp_table_column_kind(from, column)) {
  case COMP_COLUMN_STRING:
    for (size_t i = 0; i < rows; i++) texts[i] = comp_table_string(from, column, i);
    status = comp_table_add_strings(to, name, texts);
    break;
  case COMP_COLUMN_CATEGORICAL:
    for (size_t i = 0; i < rows; i++) ((int32_t *)values)[i] = comp_table_code(from, column, i);
    for (size_t l = 0; l < levels; l++) texts[l] = comp_table_level_name(from, column, (int32_t)l);
    status = comp_table_add_categorical(to, name, values, texts, levels);
    break;
  case COMP_COLUMN_NUMBER:
    for (size_t i = 0; i < rows; i++) ((double *)values)[i] = comp_table_number(from, column, i);
    status = comp_table_add_numbers(to, name, values, comp_table_is_integer(from, column));
    break;
  case COMP_COLUMN_BOOL:
    for (size_t i = 0; i < rows; i++) ((int8_t *)values)[i] = (int8_t)comp_table_bool(from, column, i);
    status = comp_table_add_bools(to, name, values);
    break;
  }
done:
  comp__free(values);
  comp__free(texts);
  return status;
}

/* Adds the results to a data set that was read whole. */
static comp_status merge(comp_context *context, comp_dataset *dataset, const comp_dataset *results) {
  comp_status status = COMP_OK;
  if (dataset->samples != results->samples)
    COMP__FAIL(COMP_ERR_ARGUMENT, "results of %zu samples cannot be added to %zu", results->samples, dataset->samples);
  for (size_t i = 0; i < comp_table_column_count(results->obs); i++)
    COMP__TRY(copy_column(dataset->obs, results->obs, i));
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < results->slots[slot].count; i++) {
      const comp__named_matrix *entry = &results->slots[slot].entries[i];
      comp_matrix *matrix;
      COMP__TRY(comp_matrix_select(&matrix, context, entry->matrix, NULL, 0, NULL, 0));
      COMP__TRY(comp_dataset_set_matrix(dataset, (comp_slot)slot, entry->name, matrix));
    }
  if (results->record) COMP__TRY(comp_dataset_set_record(dataset, results->record));
done:
  return status;
}

/* Reads the input, adds the results, and writes all of it. `carry`: the input is AnnData, of which all goes along. */
static comp_status rewrite(comp_context *context, const comp_dataset *results, const char *in_path,
                           const char *out_path, const comp__read_options *options, bool carry) {
  comp__write_options write = comp__write_defaults();
  const comp__read_options whole = {.copy = true};
  comp_dataset *dataset = NULL;
  comp_status status;
  COMP__TRY(comp__dataset_read(&dataset, context, in_path, carry ? &whole : options));
  COMP__TRY(merge(context, dataset, results));
  if (carry) write.carry_from = in_path;
  write.unchanged = carry;
  COMP__TRY(comp__dataset_write(context, dataset, out_path, &write));
done:
  comp_dataset_free(dataset);
  return status;
}

static comp_status add_to_h5ad(comp_context *context, const comp_dataset *results, const char *in_path,
                               const char *out_path) {
  comp__output output = {0};
  comp_status status;
  COMP__TRY(comp__output_begin(&output, out_path));
  status = comp__h5ad_update(context, results, in_path, output.temporary);
  if (status != COMP_OK) {
    comp__error_context(status, "adding results of %s to %s", in_path, out_path);
    goto done;
  }
  COMP__TRY(comp__output_commit(&output));
done:
  comp__output_abort(&output);
  return status;
}

/* Of a folder; to itself, or to a new one. */
static comp_status add_to_zarr(comp_context *context, const comp_dataset *results, const char *in_path,
                               const char *out_path) {
  comp__folder_output output = {0};
  bool same = comp_file_same(in_path, out_path);
  comp_status status;
  COMP__TRY(same ? comp__folder_output_begin_over(&output, out_path) : comp__folder_output_begin(&output, out_path));
  status = comp__zarr_update(context, results, in_path, output.temporary, same);
  if (status != COMP_OK) {
    comp__error_context(status, "adding results of %s to %s", in_path, out_path);
    goto done;
  }
  COMP__TRY(same ? comp__folder_output_exchange(&output) : comp__folder_output_commit(&output));
  if (same) comp__zarr_tell_outer(context, out_path);
done:
  comp__folder_output_abort(&output);
  return status;
}

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Whether results can be written to a file of that name; `*place`: to a store that is there. */
static comp_status check_name(bool *place, const char *out_path) {
  const comp__format *output;
  *place = false;
  if (is_folder(out_path)) {
    comp_status status = comp__zarr_is(place, out_path);
    if (status != COMP_OK) return comp__error_in_file(status, out_path);
    if (*place) return COMP_OK;
  }
  if (comp__format_of_output(&output, out_path) == COMP_OK && output->open_tree) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT,
                     "results are written as .h5ad or .zarr: give an output whose name ends in one of these, not %s",
                     out_path);
}

/* Of a zip file everything would be written again, also what comp does not hold. */
static comp_status refuse_zip(const char *path) {
  return comp__error(COMP_ERR_ARGUMENT,
                     "results cannot be added to a zip file in place: name another output than %s, such as a .zarr",
                     path);
}

comp_status comp__dataset_check_update(const char *in_path, const char *out_path) {
  bool place;
  comp_status status = check_name(&place, out_path);
  if (status != COMP_OK) return status;
  if (place && in_path && !comp_file_same(in_path, out_path))
    return comp__error(COMP_ERR_IO, "cannot write '%s': it exists already; remove it first, or choose another name",
                       out_path);
  const comp__format *output;
  if (!place && in_path && comp__format_of_output(&output, out_path) == COMP_OK && output == &comp__format_zarr_zip &&
      comp_file_same(in_path, out_path))
    return refuse_zip(out_path);
  return place ? comp__folder_check_replaceable(out_path) : comp_file_check_writable(out_path);
}

comp_status comp_dataset_check_update(const char *out_path) {
  COMP__NEED(out_path);
  return comp__dataset_check_update(NULL, out_path);
}

static comp_status update(comp_context *context, const comp_dataset *results, const char *in_path, const char *out_path,
                          const comp__read_options *options) {
  const comp__format *input, *output;
  bool old = false, place;
  comp_status status = check_name(&place, out_path);
  if (status == COMP_OK && place)
    output = &comp__format_zarr;
  else if (status == COMP_OK)
    status = comp__format_of_output(&output, out_path);
  if (status != COMP_OK) return status;
  status = comp__format_of_input(&input, in_path);
  if (status == COMP_OK && input == &comp__format_h5ad) status = comp__h5ad_needs_rewrite(&old, in_path);
  if (status != COMP_OK) return comp__error_context(status, "%s", in_path);
  if (input == output && input == &comp__format_h5ad && !old) return add_to_h5ad(context, results, in_path, out_path);
  if (input == output && input == &comp__format_zarr && is_folder(in_path))
    return add_to_zarr(context, results, in_path, out_path);
  if (output == &comp__format_zarr_zip && comp_file_same(in_path, out_path)) return refuse_zip(out_path);
  return rewrite(context, results, in_path, out_path, options, input->open_tree != NULL);
}

comp_status comp__dataset_update(comp_context *context, const comp_dataset *results, const char *in_path,
                                 const char *out_path, const comp__read_options *options) {
  int held = -1;
  comp_status status = COMP_OK;
  if (comp_file_same(in_path, out_path)) status = comp__file_hold(&held, context, out_path);
  if (status == COMP_OK) status = update(context, results, in_path, out_path, options);
  if (held >= 0) close(held);
  return status;
}

comp_status comp_dataset_update(comp_context *context, const comp_dataset *results, const char *in_path,
                                const char *out_path, const comp_options *options) {
  COMP__NEED(context, results, in_path, out_path);
  comp__read_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__read_kind, options);
  return status == COMP_OK ? comp__dataset_update(context, results, in_path, out_path, &plain) : status;
}
