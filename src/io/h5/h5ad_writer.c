/* h5ad_writer.c: matrices of an .h5ad, written block by block. */
#include "io/h5/h5ad_writer.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/file.h"
#include "core/matrix.h"
#include "io/h5/h5ad_write.h"
#include "io/h5/sink.h"

/* A matrix that is being written. */
typedef struct entry {
  char *name;
  comp_matrix_kind kind;
  size_t cols;
  size_t done; /* rows so far */
  hid_t group; /* CSR only */
  comp__h5_sink values;
  comp__h5_sink indices; /* CSR only */
  int64_t *indptr;       /* CSR only: [rows + 1] */
  bool ended;
} entry;

struct comp__h5ad_writer {
  comp__output output; /* when the writer gives the file its name */
  char *path;          /* for messages */
  comp__h5_file file;
  size_t rows;
  size_t cols;
  int level;
  bool edit;
  entry *entries;
  size_t count;
  size_t capacity;
};

static comp_status new_writer(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols, int level) {
  comp__h5ad_writer *writer;
  *out = NULL;
  if (level < 0 || level > 9)
    return comp__error(COMP_ERR_ARGUMENT, "compression: %d is not a gzip level, 0 .. 9", level);
  comp_status status = comp__calloc(&writer, 1, sizeof *writer);
  if (status != COMP_OK) return status;
  writer->file = (comp__h5_file)COMP__H5_FILE_INIT;
  writer->rows = rows;
  writer->cols = cols;
  writer->level = level;
  status = comp__strdup(&writer->path, path);
  if (status != COMP_OK)
    comp__h5ad_writer_free(writer);
  else
    *out = writer;
  return status;
}

static comp_status create_file(comp__h5ad_writer *writer, const char *path) {
  comp_status status = comp__h5_create(&writer->file, path);
  return status == COMP_OK ? comp__h5_put_encoding(writer->file.id, "anndata", "0.1.0") : status;
}

comp_status comp__h5ad_writer_create(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols,
                                     int compression) {
  comp_status status = new_writer(out, path, rows, cols, compression);
  return status == COMP_OK ? create_file(*out, path) : status;
}

comp_status comp__h5ad_writer_edit(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols,
                                   int compression) {
  comp_status status = new_writer(out, path, rows, cols, compression);
  if (status != COMP_OK) return status;
  (*out)->edit = true;
  return comp__h5_open(&(*out)->file, path, true);
}

comp_status comp__h5ad_writer_open(comp__h5ad_writer **out, const char *path, size_t rows, size_t cols,
                                   int compression) {
  comp__h5ad_writer *writer;
  *out = NULL;
  comp_status status = new_writer(&writer, path, rows, cols, compression);
  if (status != COMP_OK) return status;
  COMP__TRY(comp__output_begin(&writer->output, path));
  COMP__TRY(create_file(writer, writer->output.temporary));
  *out = writer;
done:
  if (status != COMP_OK) comp__h5ad_writer_free(writer);
  return status;
}

hid_t comp__h5ad_writer_file(const comp__h5ad_writer *writer) {
  return writer->file.id;
}

static comp_status check_name(const comp__h5ad_writer *writer, const char *name, comp_matrix_kind kind, size_t cols) {
  bool x = strcmp(name, "X") == 0, layer = strncmp(name, "layers/", 7) == 0 && name[7];
  bool obsm = strncmp(name, "obsm/", 5) == 0 && name[5];
  if (strcmp(name, "raw/X") == 0) return COMP_OK; /* of any features */
  if (!x && !layer && !obsm)
    return comp__error(COMP_ERR_ARGUMENT, "a matrix cannot be called '%s': X, layers/NAME or obsm/NAME", name);
  if (obsm ? kind != COMP_DENSE : cols != writer->cols)
    return comp__error(COMP_ERR_ARGUMENT, "a %s matrix of %zu columns cannot be %s of %zu x %zu",
                       kind == COMP_DENSE ? "dense" : "sparse", cols, name, writer->rows, writer->cols);
  return COMP_OK;
}

/* layers and obsm have an encoding of their own, so they are made before their members. */
static comp_status make_parent(hid_t file, const char *name) {
  char parent[16];
  const char *slash = strchr(name, '/');
  if (!slash) return COMP_OK;
  snprintf(parent, sizeof parent, "%.*s", (int)(slash - name), name);
  if (comp__h5_find(file, parent) != COMP__H5_NONE) return COMP_OK;
  hid_t group;
  comp_status status = comp__h5_make_group(&group, file, parent, strcmp(parent, "raw") == 0 ? "raw" : "dict", "0.1.0");
  comp__h5_close(&group);
  return status;
}

static comp_status open_sparse(comp__h5ad_writer *writer, entry *e) {
  size_t shape[2] = {writer->rows, e->cols}, pointers;
  comp_status status;
  if (!comp__size_add(&pointers, writer->rows, 1)) pointers = SIZE_MAX;
  COMP__TRY(comp__h5_make_group(&e->group, writer->file.id, e->name, "csr_matrix", "0.1.0"));
  COMP__TRY(comp__h5_put_pair(e->group, "shape", shape));
  COMP__TRY(
      comp__h5_sink_open(&e->values, e->group, "data", H5T_NATIVE_FLOAT, COMP__H5_GROWING, 0, true, writer->level));
  COMP__TRY(
      comp__h5_sink_open(&e->indices, e->group, "indices", H5T_NATIVE_INT32, COMP__H5_GROWING, 0, true, writer->level));
  COMP__TRY(comp__calloc(&e->indptr, pointers, sizeof *e->indptr));
done:
  return status;
}

static comp_status open_dense(comp__h5ad_writer *writer, entry *e) {
  comp_status status = comp__h5_sink_open(&e->values, writer->file.id, e->name, H5T_NATIVE_FLOAT, writer->rows, e->cols,
                                          false, writer->level);
  return status == COMP_OK ? comp__h5_put_encoding(e->values.dataset, "array", "0.2.0") : status;
}

comp_status comp__h5ad_writer_add(size_t *out, comp__h5ad_writer *writer, const char *name, comp_matrix_kind kind,
                                  size_t cols) {
  comp_status status;
  *out = writer->count;
  COMP__TRY(check_name(writer, name, kind, cols));
  COMP__TRY(comp__grow(&writer->entries, &writer->capacity, writer->count, writer->count + 1, sizeof *writer->entries));
  entry *e = &writer->entries[writer->count++];
  *e = (entry){.kind = kind, .cols = cols, .group = H5I_INVALID_HID};
  e->values = e->indices = (comp__h5_sink)COMP__H5_SINK_INIT;
  COMP__TRY(comp__strdup(&e->name, name));
  COMP__TRY(make_parent(writer->file.id, name));
  if (writer->edit) COMP__TRY(comp__h5_unlink(writer->file.id, name));
  COMP__TRY(kind == COMP_CSR ? open_sparse(writer, e) : open_dense(writer, e));
done:
  return status;
}

static comp_status append_sparse(comp_context *context, entry *e, const comp_matrix *block) {
  size_t nnz = comp_matrix_nnz(block);
  int64_t before = e->indptr[e->done];
  for (size_t row = 0; row < block->rows; row++) e->indptr[e->done + row + 1] = before + block->indptr[row + 1];
  comp_status status = comp__h5_sink_append(context, &e->indices, block->indices, nnz);
  return status == COMP_OK ? comp__h5_sink_append(context, &e->values, block->values, nnz) : status;
}

comp_status comp__h5ad_writer_append(comp_context *context, comp__h5ad_writer *writer, size_t matrix,
                                     const comp_matrix *block) {
  if (matrix >= writer->count) return comp__error(COMP_ERR_ARGUMENT, "there is no matrix %zu", matrix);
  entry *e = &writer->entries[matrix];
  if (block->kind != e->kind || block->cols != e->cols || block->rows > writer->rows - e->done)
    return comp__error(COMP_ERR_ARGUMENT,
                       "a %s block of %zu x %zu does not fit %s, of which %zu of %zu x %zu are written",
                       block->kind == COMP_DENSE ? "dense" : "sparse", block->rows, block->cols, e->name, e->done,
                       writer->rows, e->cols);
  comp_status status = e->kind == COMP_CSR ? append_sparse(context, e, block)
                                           : comp__h5_sink_append(context, &e->values, block->values, block->rows);
  if (status != COMP_OK) return comp__error_context(status, "%s, %s", writer->path, e->name);
  e->done += block->rows;
  return COMP_OK;
}

/* SciPy likes indices and pointers of one type: 32 bits, unless there are too many entries for it. */
static comp_status write_indptr(comp_context *context, const comp__h5ad_writer *writer, entry *e) {
  size_t n = writer->rows + 1;
  int32_t *narrow = NULL;
  comp_status status;
  if (e->indptr[writer->rows] > INT32_MAX)
    return comp__h5_write_list(context, e->group, "indptr", H5T_NATIVE_INT64, e->indptr, n, writer->level, false);
  COMP__TRY(comp__alloc(&narrow, n, sizeof *narrow));
  for (size_t i = 0; i < n; i++) narrow[i] = (int32_t)e->indptr[i];
  COMP__TRY(comp__h5_write_list(context, e->group, "indptr", H5T_NATIVE_INT32, narrow, n, writer->level, false));
done:
  comp__free(narrow);
  return status;
}

static void release_entry(entry *e) {
  comp__h5_sink_release(&e->values);
  comp__h5_sink_release(&e->indices);
  comp__h5_close(&e->group);
  comp__free(e->indptr);
  e->indptr = NULL;
}

static comp_status end_entry(comp_context *context, const comp__h5ad_writer *writer, entry *e) {
  comp_status status = COMP_OK;
  if (e->ended) return COMP_OK;
  if (e->done != writer->rows)
    return comp__error(COMP_ERR_ARGUMENT, "%s got %zu of its %zu rows", e->name, e->done, writer->rows);
  COMP__TRY(comp__h5_sink_finish(context, &e->values));
  if (e->kind == COMP_CSR) {
    COMP__TRY(comp__h5_sink_finish(context, &e->indices));
    COMP__TRY(write_indptr(context, writer, e));
  }
  e->ended = true;
  release_entry(e);
done:
  return status;
}

static comp_status end_entries(comp_context *context, comp__h5ad_writer *writer) {
  comp_status status = COMP_OK;
  for (size_t i = 0; i < writer->count && status == COMP_OK; i++)
    status = end_entry(context, writer, &writer->entries[i]);
  return status;
}

comp_status comp__h5ad_writer_end(comp_context *context, comp__h5ad_writer *writer) {
  comp_status status = end_entries(context, writer);
  return status == COMP_OK ? comp__h5_finish_file(&writer->file) : status;
}

static comp_status write_tables(comp_context *context, comp__h5ad_writer *writer, const comp__h5ad_tables *tables) {
  hid_t file = writer->file.id;
  comp__strings numbers[2] = {{0}, {0}};
  const comp__strings *names[2] = {tables->obs_names, tables->var_names};
  size_t counts[2] = {writer->rows, writer->cols};
  char text[32];
  comp_status status;
  for (int t = 0; t < 2; t++) {
    for (size_t i = 0; !names[t] && i < counts[t]; i++)
      COMP__TRY(comp__strings_append(&numbers[t], text, (size_t)snprintf(text, sizeof text, "%zu", i)));
    if (!names[t]) names[t] = &numbers[t];
    if (names[t]->count != counts[t])
      COMP__FAIL(COMP_ERR_ARGUMENT, "%zu names for %zu %s", names[t]->count, counts[t], t ? "features" : "samples");
  }
  const comp_table *contents[2] = {tables->obs, tables->var};
  static const char *const paths[2] = {"obs", "var"};
  for (int t = 0; t < 2; t++) {
    if (comp__h5_find(file, paths[t]) == COMP__H5_NONE)
      COMP__TRY(comp__h5ad_write_table(context, file, paths[t], names[t], contents[t], writer->level));
    else /* carried over from another file: what is new is added */
      COMP__TRY(comp__h5ad_add_columns(context, file, paths[t], contents[t], writer->level));
  }
  COMP__TRY(comp__h5ad_make_groups(file));
  COMP__TRY(comp__h5ad_write_record(file, tables->record));
done:
  comp__strings_release(&numbers[0]);
  comp__strings_release(&numbers[1]);
  return status;
}

comp_status comp__h5ad_writer_finish(comp_context *context, comp__h5ad_writer *writer,
                                     const comp__h5ad_tables *tables) {
  comp_status status;
  bool named = writer->output.temporary != NULL;
  COMP__TRY(end_entries(context, writer));
  COMP__TRY(write_tables(context, writer, tables));
  COMP__TRY(comp__h5_finish_file(&writer->file));
  if (named) return comp__output_commit(&writer->output);
done:
  if (status != COMP_OK && named) comp__error_context(status, "%s", writer->path);
  return status;
}

void comp__h5ad_writer_free(comp__h5ad_writer *writer) {
  if (!writer) return;
  for (size_t i = 0; i < writer->count; i++) {
    release_entry(&writer->entries[i]);
    comp__free(writer->entries[i].name);
  }
  comp__h5_close_file(&writer->file);
  comp__output_abort(&writer->output);
  comp__free(writer->entries);
  comp__free(writer->path);
  comp__free(writer);
}

comp_status comp__h5ad_make_groups(hid_t file) {
  static const char *const groups[] = {"layers", "obsm", "obsp", "uns", "varm", "varp"};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    if (comp__h5_find(file, groups[i]) != COMP__H5_NONE) continue;
    hid_t group;
    comp_status status = comp__h5_make_group(&group, file, groups[i], "dict", "0.1.0");
    comp__h5_close(&group);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

comp_status comp__h5ad_write_record(hid_t file, const char *record) {
  hid_t group = H5I_INVALID_HID;
  comp_status status = COMP_OK;
  if (!record) return COMP_OK;
  if (comp__h5_find(file, "uns") == COMP__H5_NONE) {
    COMP__TRY(comp__h5_make_group(&group, file, "uns", "dict", "0.1.0"));
    comp__h5_close(&group);
  }
  if (comp__h5_find(file, "uns/comp") == COMP__H5_GROUP)
    COMP__TRY(comp__h5_unlink(file, "uns/comp/record"));
  else {
    COMP__TRY(comp__h5_certain(file));
    COMP__TRY(comp__h5_unlink(file, "uns/comp"));
    COMP__TRY(comp__h5_make_group(&group, file, "uns/comp", "dict", "0.1.0"));
  }
  COMP__TRY(comp__h5_write_text(file, "uns/comp/record", record));
done:
  comp__h5_close(&group);
  return status;
}
