/* format.c: the table of file formats: finding the right one, and what is common to all of them. */
#include "io/format.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/file.h"
#include "core/matrix.h"

/* Asked in this order: a 10x .h5 is HDF5 too, and .csv takes any text. */
static const comp__format *const formats[] = {
    &comp__format_tenx_h5, &comp__format_h5ad, &comp__format_zarr, &comp__format_zarr_zip,
    &comp__format_mex,     &comp__format_npy,  &comp__format_csv,  NULL,
};

enum { HEAD_SIZE = 64 << 10 };

/* Gunzips the beginning of a gzip file; a file cut short gives what there is. */
static comp_status gunzip_head(size_t *size, unsigned char *out, size_t out_size, unsigned char *in, size_t in_size) {
  z_stream stream = {0};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return comp__error(COMP_ERR_MEMORY, "out of memory");
  stream.next_in = in;
  stream.avail_in = (uInt)in_size;
  stream.next_out = out;
  stream.avail_out = (uInt)out_size;
  inflate(&stream, Z_SYNC_FLUSH);
  *size = out_size - stream.avail_out;
  inflateEnd(&stream);
  return COMP_OK;
}

/* `head` has room for 2 x HEAD_SIZE. */
static comp_status look(comp__peek *peek, unsigned char *head, const char *path) {
  struct stat info;
  *peek = (comp__peek){path, false, head, 0, false};
  if (stat(path, &info) != 0) return comp__error_errno("cannot open");
  peek->folder = S_ISDIR(info.st_mode);
  if (peek->folder) return access(path, R_OK | X_OK) == 0 ? COMP_OK : comp__error_errno("cannot open");
  if (!S_ISREG(info.st_mode))
    return comp__error(COMP_ERR_IO, "cannot read a pipe or a device: put the data into a file first");
  FILE *file = fopen(path, "rbe");
  if (!file) return comp__error_errno("cannot open");
  peek->head_size = fread(head, 1, HEAD_SIZE, file);
  bool failed = ferror(file) != 0;
  fclose(file);
  if (failed) return comp__error_errno("cannot read");
  peek->gzip = peek->head_size > 2 && head[0] == 0x1f && head[1] == 0x8b;
  if (!peek->gzip) return COMP_OK;
  peek->head = head + HEAD_SIZE;
  return gunzip_head(&peek->head_size, head + HEAD_SIZE, HEAD_SIZE, head, peek->head_size);
}

static bool ends_with(const char *name, size_t size, const char *extension, size_t length) {
  return size > length && strncasecmp(name + size - length, extension, length) == 0;
}

/* Whether the name, of that length, ends with one of the extensions, a list separated by spaces. */
static bool has_extension(const char *name, size_t size, const char *extensions) {
  while (extensions && *extensions) {
    size_t length = strcspn(extensions, " ");
    if (ends_with(name, size, extensions, length)) return true;
    extensions += length + (extensions[length] == ' ');
  }
  return false;
}

/* Files of R are known by their beginning, and by their name when they are packed by something else than gzip. */
static comp_status refuse_r(const comp__peek *peek) {
  static const char *const beginnings[] = {"X\n\0\0\0\2", "X\n\0\0\0\3", "RDX2\nX\n", "RDX3\nX\n"};
  static const char names[] = ".rds .rda .RData .qs .qs2";
  bool of_r =
      !peek->folder && has_extension(peek->path, strlen(peek->path), names) && memchr(peek->head, 0, peek->head_size);
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    of_r |= peek->head_size > 6 && memcmp(peek->head, beginnings[i], 6) == 0;
  if (!of_r) return COMP_OK;
  return comp__error(
      COMP_ERR_FORMAT,
      "it is a file of R, which only R can read. The R package of comp takes Seurat and SingleCellExperiment objects "
      "as "
      "they are: x <- readRDS(\"cells.rds\") (.RData: load(), .qs: qs::qread()), then comp::RunComp(x). To write a "
      "file "
      "in R: of a SingleCellExperiment zellkonverter::writeH5AD(x, \"cells.h5ad\"); of a Seurat object "
      "DropletUtils::write10xCounts(\"cells\", SeuratObject::LayerData(x, layer = \"counts\"), version = \"3\") "
      "(before "
      "Seurat 5: Seurat::GetAssayData(x, slot = \"counts\")) and write.csv(x[[]], \"cells.csv\"); then read the folder "
      "cells with --metadata cells.csv");
}

/* Text under the name of a binary format: a download that failed, say. */
static comp_status refuse_name(const char *path) {
  size_t size = strlen(path);
  if (has_extension(path, size, ".h5ad .h5 .hdf5")) return comp__error(COMP_ERR_FORMAT, "it is not an HDF5 file");
  if (has_extension(path, size, ".zip")) return comp__error(COMP_ERR_FORMAT, "it is not a zip file");
  return COMP_OK;
}

comp_status comp__format_of_input(const comp__format **out, const char *path) {
  unsigned char *head = NULL;
  comp__peek peek;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__alloc(&head, 2, HEAD_SIZE));
  COMP__TRY(look(&peek, head, path));
  if (!peek.folder && peek.head_size == 0 && !peek.gzip) COMP__FAIL(COMP_ERR_FORMAT, "the file is empty");
  COMP__TRY(refuse_r(&peek));
  for (size_t i = 0; formats[i] && !*out; i++) {
    bool is = false;
    if (formats[i]->probe) COMP__TRY(formats[i]->probe(&is, &peek));
    if (is) *out = formats[i];
  }
  if (!*out)
    COMP__FAIL(COMP_ERR_FORMAT, "%s",
               peek.folder ? "a folder that is neither a zarr store nor holds the files of a 10x matrix (matrix.mtx, "
                             "barcodes.tsv, ...)"
               : memchr(peek.head, 0, peek.head_size)
                   ? "it is not text (it has bytes of value 0), nor any other of the known formats (.h5ad, .zarr, 10x "
                     ".h5, MEX)"
                   : "it is none of the known formats (.h5ad, .zarr, 10x .h5, MEX, .csv, .tsv)");
  if (*out == &comp__format_csv) status = refuse_name(path);
done:
  comp__free(head);
  return status;
}

comp_status comp__format_of_output(const comp__format **out, const char *name) {
  char list[256] = "";
  size_t used = 0, whole = strlen(name), trimmed = whole;
  *out = NULL;
  while (trimmed > 0 && name[trimmed - 1] == '/') trimmed--; /* as a shell completes the name of a folder */
  for (size_t i = 0; formats[i]; i++) {
    if (!formats[i]->write) continue;
    if (has_extension(name, formats[i]->folder ? trimmed : whole, formats[i]->extensions)) {
      *out = formats[i];
      return COMP_OK;
    }
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? " " : "", formats[i]->extensions);
  }
  return comp__error(COMP_ERR_ARGUMENT,
                     "the format of %s is not known from its name; give a name that ends in one of: %s", name, list);
}

comp_status comp_file_format(const char **out, const char *path) {
  COMP__NEED_OUT(out, path);
  const comp__format *format;
  *out = NULL;
  comp_status status = comp__format_of_input(&format, path);
  if (status != COMP_OK) return comp__error_in_file(status, path);
  *out = format->name;
  return COMP_OK;
}

comp_status comp__format_bad_value(const comp_dataset *names, const comp__read_options *options, size_t row,
                                   size_t col) {
  const char *layer = options->layer, *matrix = options->raw ? "raw/X" : "X";
  return comp__error(COMP_ERR_DATA,
                     "%s%s holds a value that is not a finite 32-bit number, in sample '%s' (row %zu), feature '%s' "
                     "(column %zu); replace or remove it first",
                     layer ? "layers/" : "", layer ? layer : matrix, comp_dataset_obs_name(names, row), row + 1,
                     comp_dataset_var_name(names, col), col + 1);
}

static comp_status check_matrix(comp_context *context, const comp_dataset *dataset, const comp__read_options *options) {
  size_t row, col;
  if (dataset->samples == 0 || dataset->features == 0)
    return comp__error(COMP_ERR_DATA, "there is nothing in it: %zu samples x %zu features", dataset->samples,
                       dataset->features);
  if (dataset->x && comp__matrix_find_nonfinite(&row, &col, context, dataset->x))
    return comp__format_bad_value(dataset, options, row, col);
  return COMP_OK;
}

/* How many of the names repeat an earlier one, with the first of them for a message. */
static size_t count_repeats(const comp__strings *names, const comp__string_index *index, const char **first) {
  size_t count = 0;
  for (size_t i = 0; i < names->count; i++) {
    const char *name = comp__strings_get(names, i);
    if (!name || comp__string_index_find(index, name) == i) continue;
    if (count++ == 0) *first = name;
  }
  return count;
}

/* Appends -1, -2, ... to repeated names, as AnnData's var_names_make_unique() does: numbers that would make a name
 * that is there already are left out. */
static comp_status make_unique(comp__strings *names, const comp__string_index *index) {
  comp__strings made = {0};
  size_t *counters = NULL;
  char *name = NULL;
  size_t capacity = 0;
  comp_status status;
  COMP__TRY(comp__calloc(&counters, names->count, sizeof *counters));
  for (size_t i = 0; i < names->count; i++) {
    const char *old = comp__strings_get(names, i);
    size_t first = old ? comp__string_index_find(index, old) : i, length = old ? strlen(old) : 0;
    if (first == i) {
      COMP__TRY(comp__strings_append(&made, old, length));
      continue;
    }
    COMP__TRY(comp__grow(&name, &capacity, 0, length + 24, 1));
    do snprintf(name, capacity, "%s-%zu", old, ++counters[first]);
    while (comp__string_index_find(index, name) != SIZE_MAX);
    COMP__TRY(comp__strings_append(&made, name, strlen(name)));
  }
  comp__strings_release(names);
  *names = made;
  made = (comp__strings){0};
done:
  comp__strings_release(&made);
  comp__free(counters);
  comp__free(name);
  return status;
}

static comp_status check_names(comp_context *context, comp__strings *names, const char *path, bool features) {
  comp__string_index index = {0};
  size_t duplicate;
  const char *first = "";
  comp_status status;
  COMP__TRY(comp__string_index_init(&index, names, &duplicate));
  if (duplicate == SIZE_MAX) goto done;
  size_t count = count_repeats(names, &index, &first);
  if (!features) {
    comp__warn(context, "%s: %zu of the sample names repeat an earlier one (the first is '%s')", path, count, first);
    goto done;
  }
  comp__warn(context, "%s: %zu of the feature names repeat an earlier one (the first is '%s'); -1, -2, ... is appended",
             path, count, first);
  COMP__TRY(make_unique(names, &index));
done:
  comp__string_index_release(&index);
  return status;
}

comp_status comp__format_check_unchanged(const char *path, const struct stat *before) {
  struct stat now;
  const bool folder = S_ISDIR(before->st_mode);
  if ((!folder && !S_ISREG(before->st_mode)) || stat(path, &now) != 0) return COMP_OK;
  const bool replaced = now.st_ino != before->st_ino || now.st_dev != before->st_dev;
  /* A file that is open stays what it was. A folder that was replaced loses its files, which would count as empty. */
  if (replaced && folder)
    return comp__error(COMP_ERR_IO, "another process has changed it while it was being read; start again");
  if (replaced || folder) return COMP_OK;
  if (now.st_size == before->st_size && now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
      now.st_mtim.tv_nsec == before->st_mtim.tv_nsec)
    return COMP_OK;
  return comp__error(COMP_ERR_IO, "the file was changed while it was being read; start again when it is complete");
}

comp_status comp__dataset_read(comp_dataset **out, comp_context *context, const char *path,
                               const comp__read_options *options) {
  static const comp__read_options defaults = {0};
  const comp__format *format;
  comp_dataset *dataset = NULL;
  struct stat before = {0};
  comp_status status;
  *out = NULL;
  if (!options) options = &defaults;
  (void)stat(path, &before); /* what is wrong with it is found next */
  COMP__TRY(comp__format_of_input(&format, path));
  status = format->read(&dataset, context, path, options);
  if (status != COMP_ERR_INTERRUPTED && comp__format_check_unchanged(path, &before) != COMP_OK)
    status = COMP_ERR_IO; /* the better reason */
  if (status != COMP_OK) goto done;
  COMP__TRY(check_matrix(context, dataset, options));
  COMP__TRY(check_names(context, &dataset->obs_names, path, false));
  COMP__TRY(check_names(context, &dataset->var_names, path, true));
done:
  if (status != COMP_OK) comp__error_in_file(status, path);
  /* Its errors name the table's file. */
  if (status == COMP_OK && options->metadata) status = comp_dataset_join_metadata(context, dataset, options->metadata);
  if (status != COMP_OK) {
    comp_dataset_free(dataset);
    return status;
  }
  *out = dataset;
  return COMP_OK;
}

comp_status comp_dataset_read(comp_dataset **out, comp_context *context, const char *path,
                              const comp_options *options) {
  COMP__NEED_OUT(out, context, path);
  comp__read_options plain;
  *out = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__read_kind, options);
  return status == COMP_OK ? comp__dataset_read(out, context, path, &plain) : status;
}

comp_status comp__format_check_outside(const char *in_path, const char *out_path) {
  if (!comp__file_is_inside(out_path, in_path)) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT,
                     "cannot write '%s': the output is inside of the input store %s; choose another "
                     "folder for it",
                     out_path, in_path);
}

/* What is carried over goes from one tree to another. */
static comp_status check_carry(comp__write_options *options, const comp__format *to, const char *path) {
  const comp__format *from;
  if (!options->carry_from) return COMP_OK;
  comp_status outside = comp__format_check_outside(options->carry_from, path);
  if (outside != COMP_OK || !to->open_tree) return outside;
  comp_status status = comp__format_of_input(&from, options->carry_from);
  if (status != COMP_OK) return comp__error_in_file(status, options->carry_from);
  if (!from->open_tree) options->carry_from = NULL;
  return COMP_OK;
}

/* As comp__dataset_write() for a format that is a folder. */
static comp_status write_folder(comp_context *context, const comp_dataset *dataset, const char *path,
                                const comp__format *format, const comp__write_options *options) {
  comp__folder_output output = {0};
  comp_status status;
  COMP__TRY(comp__folder_output_begin(&output, path));
  status = format->write(context, dataset, output.temporary, path, options);
  if (status != COMP_OK) {
    comp__error_in_file(status, path);
    goto done;
  }
  COMP__TRY(comp__folder_output_commit(&output));
done:
  comp__folder_output_abort(&output);
  return status;
}

comp_status comp__dataset_write(comp_context *context, const comp_dataset *dataset, const char *path,
                                const comp__write_options *options) {
  comp__write_options chosen = options ? *options : comp__write_defaults();
  const comp__format *format;
  comp__output output = {0};
  comp_status status;
  COMP__TRY(comp__format_of_output(&format, path));
  COMP__TRY(check_carry(&chosen, format, path));
  if (format->folder) return write_folder(context, dataset, path, format, &chosen);
  COMP__TRY(comp__output_begin(&output, path));
  status = format->write(context, dataset, output.temporary, path, &chosen);
  if (status != COMP_OK) {
    comp__error_in_file(status, path);
    goto done;
  }
  COMP__TRY(comp__output_commit(&output));
done:
  comp__output_abort(&output);
  return status;
}

/* An option that the format of the output does not have is not ignored. */
static comp_status check_options(const comp__format *format, const char *path, const comp_options *options) {
  static const char *const of_zarr[] = {"zarr", "shards"};
  if (format == &comp__format_zarr || format == &comp__format_zarr_zip) return COMP_OK;
  for (size_t i = 0; options && i < sizeof of_zarr / sizeof *of_zarr; i++)
    if (comp_options_given(options, of_zarr[i]))
      return comp__error(
          COMP_ERR_ARGUMENT,
          "%s: it is for a .zarr, which %s is not: leave it out, or give an output whose name ends in %s "
          "or %s",
          of_zarr[i], path, comp__format_zarr.extensions, comp__format_zarr_zip.extensions);
  return COMP_OK;
}

comp_status comp_dataset_check_write(const char **format, const char *path, const comp_options *options) {
  COMP__NEED(path);
  const comp__format *found;
  comp__write_options plain;
  comp_status status;
  if (format) *format = NULL;
  COMP__TRY(comp__options_resolve(&plain, &comp__write_kind, options));
  COMP__TRY(comp__format_of_output(&found, path));
  COMP__TRY(check_options(found, path, options));
  COMP__TRY(found->folder ? comp__folder_check_new(path) : comp_file_check_writable(path));
  if (format) *format = found->name;
done:
  return status;
}

comp_status comp_dataset_write(comp_context *context, const comp_dataset *dataset, const char *path,
                               const comp_options *options) {
  COMP__NEED(context, dataset, path);
  const comp__format *format;
  comp__write_options plain;
  comp_status status = comp__options_resolve(&plain, &comp__write_kind, options);
  if (status == COMP_OK) status = comp__format_of_output(&format, path);
  if (status == COMP_OK) status = check_options(format, path, options);
  return status == COMP_OK ? comp__dataset_write(context, dataset, path, &plain) : status;
}
