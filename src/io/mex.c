/*
 * mex.c: folders of a Matrix Market file beside lists of barcodes and features, as Cell Ranger 2 and 3 and STARsolo
 * write them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/strings.h"
#include "core/unique.h"
#include "io/format.h"
#include "io/mex.h"
#include "io/mtx.h"
#include "io/text.h"

static const char *const MATRIX_NAMES[] = {"matrix.mtx.gz", "matrix.mtx", NULL};
static const char *const BARCODE_NAMES[] = {"barcodes.tsv.gz", "barcodes.tsv", NULL};
static const char *const FEATURE_NAMES[] = {"features.tsv.gz", "features.tsv", "genes.tsv.gz", "genes.tsv", NULL};

/* ---------------------------------------------------------------------------------------------------------- paths */

/* If `name` ends with one of the suffixes: true, and how long it is before. */
static bool ends_with(const char *name, const char *const *suffixes, size_t *before) {
  size_t length = strlen(name);
  for (; *suffixes; suffixes++) {
    size_t n = strlen(*suffixes);
    if (length < n || strcmp(name + length - n, *suffixes) != 0) continue;
    *before = length - n;
    return true;
  }
  return false;
}

static comp_status add_prefix(comp__strings *prefixes, const char *name, size_t length) {
  for (size_t i = 0; i < prefixes->count; i++) {
    const char *known = comp__strings_get(prefixes, i);
    if (strlen(known) == length && memcmp(known, name, length) == 0) return COMP_OK;
  }
  return comp__strings_append(prefixes, name, length);
}

/* The different PREFIXes of PREFIXmatrix.mtx[.gz] in a folder. */
static comp_status list_prefixes(comp__strings *out, const char *folder) {
  comp_status status = COMP_OK;
  DIR *dir = opendir(folder);
  if (!dir) return comp__error_errno("cannot open folder %s", folder);
  errno = 0;
  for (struct dirent *item; (item = readdir(dir)); errno = 0) {
    size_t length;
    if (ends_with(item->d_name, MATRIX_NAMES, &length)) COMP__TRY(add_prefix(out, item->d_name, length));
  }
  if (errno != 0) status = comp__error_errno("cannot read folder %s", folder);
done:
  closedir(dir);
  return status;
}

static comp_status fail_prefixes(const char *folder, const comp__strings *prefixes) {
  char text[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < prefixes->count && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%smatrix.mtx", i ? ", " : "",
                             comp__strings_get(prefixes, i));
  return comp__error(COMP_ERR_DATA, "%s holds %zu matrices: %s; name one of them instead of the folder", folder,
                     prefixes->count, text);
}

/* A text of the two parts. */
static comp_status join(char **out, const char *a, const char *b) {
  size_t size = strlen(a) + strlen(b) + 1;
  comp_status status = comp__alloc(out, size, 1);
  if (status == COMP_OK) snprintf(*out, size, "%s%s", a, b);
  return status;
}

/* "folder/prefix" for a folder, checked to be the only one in it. */
static comp_status folder_stem(char **out, const char *folder) {
  comp_status status;
  comp__strings prefixes = {0};
  char *with_slash = NULL;
  COMP__TRY(list_prefixes(&prefixes, folder));
  if (prefixes.count == 0)
    COMP__FAIL(COMP_ERR_DATA, "folder %s holds no matrix.mtx or matrix.mtx.gz: is it a 10x MEX folder?", folder);
  if (prefixes.count > 1) {
    status = fail_prefixes(folder, &prefixes);
    goto done;
  }
  COMP__TRY(join(&with_slash, folder, folder[0] && folder[strlen(folder) - 1] == '/' ? "" : "/"));
  const char *prefix = comp__strings_get(&prefixes, 0);
  COMP__TRY(join(out, with_slash, prefix ? prefix : ""));
done:
  comp__free(with_slash);
  comp__strings_release(&prefixes);
  return status;
}

/* "folder/prefix" of a matrix file. A file of another name is taken to lie beside names without a prefix. */
static comp_status file_stem(char **out, const char *path) {
  size_t length;
  if (!ends_with(path, MATRIX_NAMES, &length)) {
    const char *slash = strrchr(path, '/');
    length = slash ? (size_t)(slash - path) + 1 : 0;
  }
  comp_status status = comp__strdup(out, path);
  if (status == COMP_OK) (*out)[length] = '\0';
  return status;
}

/* The first of the names that exists behind the stem. */
static comp_status find_file(char **out, const char *stem, const char *const *names, const char *what) {
  for (size_t i = 0; names[i]; i++) {
    comp_status status = join(out, stem, names[i]);
    if (status != COMP_OK) return status;
    if (access(*out, F_OK) == 0) return COMP_OK;
    if (errno != ENOENT) status = comp__error_errno("cannot open %s", *out);
    comp__free(*out);
    *out = NULL;
    if (status != COMP_OK) return status;
  }
  return comp__error(COMP_ERR_DATA, "the %s of the matrix are missing: there is no %s%s (or %s)", what, stem, names[0],
                     names[1]);
}

typedef struct mex_paths {
  char *matrix;
  char *barcodes;
  char *features;
} mex_paths;

static void release_paths(mex_paths *paths) {
  comp__free(paths->matrix);
  comp__free(paths->barcodes);
  comp__free(paths->features);
}

static comp_status find_paths(mex_paths *out, const char *path) {
  comp_status status;
  struct stat info;
  char *stem = NULL;
  if (stat(path, &info) != 0) return comp__error_errno("cannot open %s", path);
  if (S_ISDIR(info.st_mode)) {
    COMP__TRY(folder_stem(&stem, path));
    COMP__TRY(find_file(&out->matrix, stem, MATRIX_NAMES, "entries"));
  } else {
    COMP__TRY(file_stem(&stem, path));
    COMP__TRY(comp__strdup(&out->matrix, path));
  }
  COMP__TRY(find_file(&out->barcodes, stem, BARCODE_NAMES, "barcodes"));
  COMP__TRY(find_file(&out->features, stem, FEATURE_NAMES, "features"));
done:
  comp__free(stem);
  return status;
}

/* ---------------------------------------------------------------------------------------------------------- lists */

enum { MOST_COLUMNS = 3 };

/* The first columns of a list: lines of fields between tabs, no header, no quotes. */
typedef struct list {
  comp__strings columns[MOST_COLUMNS];
  size_t used; /* columns that every line has */
} list;

static void release_list(list *l) {
  for (size_t c = 0; c < MOST_COLUMNS; c++) comp__strings_release(&l->columns[c]);
}

static comp_status add_line(list *out, const char *p, const char *end) {
  size_t fields = 0;
  while (fields < MOST_COLUMNS) {
    const char *tab = memchr(p, '\t', (size_t)(end - p)), *stop = tab ? tab : end;
    comp_status status = comp__strings_append(&out->columns[fields++], p, (size_t)(stop - p));
    if (status != COMP_OK) return status;
    if (!tab) break;
    p = tab + 1;
  }
  if (fields < out->used) out->used = fields;
  for (size_t c = fields; c < MOST_COLUMNS; c++) {
    comp_status status = comp__strings_append(&out->columns[c], NULL, 0);
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

static comp_status parse_list(list *out, comp_context *context, const comp__text *text) {
  comp_status status;
  out->used = MOST_COLUMNS;
  COMP__TRY(comp__text_check(context, text));
  for (const char *next, *p = text->data; p < text->data + text->size; p = next) {
    const char *end = comp__line_end(p, &next);
    if (end == p) {
      if (next >= text->data + text->size) break; /* an empty line at the end means nothing */
      COMP__FAIL(COMP_ERR_FORMAT, "%s, line %zu is empty", text->name, comp__text_line(text, p));
    }
    COMP__TRY(add_line(out, p, end));
  }
  if (out->columns[0].count == 0) COMP__FAIL(COMP_ERR_DATA, "%s is empty", text->name);
done:
  return status;
}

static comp_status read_list(list *out, comp_context *context, comp__source *source) {
  comp__text text = {0};
  comp_status status = comp__text_load(&text, source);
  if (status == COMP_OK) status = parse_list(out, context, &text);
  comp__text_release(&text);
  return status;
}

/* ------------------------------------------------------------------------------------------------------- data set */

typedef struct expected_size {
  const comp__mex_sources *sources;
  size_t features;
  size_t barcodes;
} expected_size;

static comp_status check_size(const void *user, const comp__mtx_header *header) {
  const expected_size *e = user;
  if (header->rows == e->features && header->cols == e->barcodes) return COMP_OK;
  bool turned = header->rows == e->barcodes && header->cols == e->features;
  return comp__error(COMP_ERR_DATA, "%s is %zu x %zu, but %s lists %zu features and %s %zu barcodes%s",
                     comp__source_name(e->sources->matrix), header->rows, header->cols,
                     comp__source_name(e->sources->features), e->features, comp__source_name(e->sources->barcodes),
                     e->barcodes, turned ? ": the matrix is transposed (features must be its rows)" : "");
}

static comp_status warn_barcodes(comp_context *context, const comp__strings *barcodes, const char *name) {
  comp__string_index index = {0};
  size_t duplicate, repeats = 0;
  comp_status status = comp__string_index_init(&index, barcodes, &duplicate);
  if (status == COMP_OK && duplicate != SIZE_MAX) {
    for (size_t i = duplicate; i < barcodes->count; i++)
      repeats += comp__string_index_find(&index, comp__strings_get(barcodes, i)) != i;
    comp__warn(context, "%s: %zu barcodes repeat an earlier one, such as '%s'; they are kept as they are", name,
               repeats, comp__strings_get(barcodes, duplicate));
  }
  comp__string_index_release(&index);
  return status;
}

static comp_status add_column(comp_table *table, const char *name, const comp__strings *values) {
  const char **texts;
  comp_status status = comp__alloc(&texts, values->count, sizeof *texts);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < values->count; i++) texts[i] = comp__strings_get(values, i);
  status = comp_table_add_strings(table, name, texts);
  comp__free(texts);
  return status;
}

/* Turns a string column into levels. */
static comp_status make_levels(comp_table *table, const char *name) {
  comp_groups groups;
  comp_status status = comp_table_groups(&groups, table, comp_table_find(table, name));
  if (status != COMP_OK) return status;
  status = comp_table_add_categorical(table, name, groups.codes, (const char *const *)groups.levels, groups.n_levels);
  comp_groups_release(&groups);
  return status;
}

/* Names by symbol where there is one, as scanpy does; the identifiers and types become columns of var. */
static comp_status make_dataset(comp_dataset **out, comp_context *context, list *barcodes, list *features,
                                const char *features_name) {
  comp_status status;
  comp__strings names = {0};
  comp_dataset *dataset = NULL;
  size_t changed;
  COMP__TRY(comp__strings_select(&names, &features->columns[features->used > 1], NULL, 0));
  COMP__TRY(comp__strings_make_unique(&names, &changed));
  if (changed > 0)
    comp__warn(context, "%s: %zu feature names repeat an earlier one and got a number (-1, -2, ...)", features_name,
               changed);
  COMP__TRY(comp__dataset_new(&dataset, &barcodes->columns[0], &names));
  COMP__TRY(add_column(dataset->var, "gene_ids", &features->columns[0]));
  if (features->used > 2) {
    COMP__TRY(add_column(dataset->var, "feature_types", &features->columns[2]));
    COMP__TRY(make_levels(dataset->var, "feature_types"));
  }
  *out = dataset;
  dataset = NULL;
done:
  comp__strings_release(&names);
  comp_dataset_free(dataset);
  return status;
}

comp_status comp__mex_read(comp_dataset **out, comp_context *context, const comp__mex_sources *sources, bool skip_x) {
  comp_status status;
  list barcodes = {0}, features = {0};
  comp_matrix *x = NULL;
  *out = NULL;
  COMP__TRY(read_list(&barcodes, context, sources->barcodes));
  COMP__TRY(read_list(&features, context, sources->features));
  expected_size expected = {sources, features.columns[0].count, barcodes.columns[0].count};
  COMP__TRY(comp__mtx_read(skip_x ? NULL : &x, context, sources->matrix, check_size, &expected));
  COMP__TRY(warn_barcodes(context, &barcodes.columns[0], comp__source_name(sources->barcodes)));
  COMP__TRY(make_dataset(out, context, &barcodes, &features, comp__source_name(sources->features)));
  (*out)->x = x;
  x = NULL;
done:
  comp_matrix_free(x);
  release_list(&barcodes);
  release_list(&features);
  return status;
}

static comp_status read_mex(comp_dataset **out, comp_context *context, const char *path,
                            const comp__read_options *options) {
  comp_status status;
  mex_paths paths = {0};
  comp__mex_sources sources = {0};
  *out = NULL;
  COMP__TRY(comp__text_check_options(path, options));
  COMP__TRY(find_paths(&paths, path));
  COMP__TRY(comp__source_open(&sources.matrix, paths.matrix));
  COMP__TRY(comp__source_open(&sources.barcodes, paths.barcodes));
  COMP__TRY(comp__source_open(&sources.features, paths.features));
  COMP__TRY(comp__mex_read(out, context, &sources, options->skip_x));
done:
  comp__source_close(sources.matrix);
  comp__source_close(sources.barcodes);
  comp__source_close(sources.features);
  release_paths(&paths);
  return status;
}

static comp_status probe_mex(bool *is, const comp__peek *peek) {
  static const char banner[] = "%%MatrixMarket";
  *is = !peek->folder && peek->head_size >= sizeof banner - 1 &&
        strncasecmp((const char *)peek->head, banner, sizeof banner - 1) == 0;
  if (!peek->folder) return COMP_OK;
  comp__strings prefixes = {0};
  comp_status status = list_prefixes(&prefixes, peek->path);
  *is = prefixes.count > 0;
  comp__strings_release(&prefixes);
  return status;
}

const comp__format comp__format_mex = {
    .name = "mex",
    .description = "10x MEX folder (Matrix Market)",
    .probe = probe_mex,
    .read = read_mex,
};
