/* glance.c: a look at a data file that reads little of it: names and tables, and the values of some samples. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "io/anndata.h"
#include "io/format.h"
#include "io/rows.h"

/* Blocks of neighbouring samples, spread evenly: a file is read chunk by chunk, and single samples cost a chunk each.
 */
enum { BLOCKS = 16, BLOCK_ROWS = 256 };

/* X of at most this size is read whole. */
enum { SMALL_BYTES = 64 << 20 };

/* The blocks of n samples: `begin` [count], each of BLOCK_ROWS samples. */
typedef struct blocks {
  size_t begin[BLOCKS], count;
} blocks;

static blocks spread(size_t n) {
  blocks b = {.count = BLOCKS};
  for (size_t i = 0; i < BLOCKS; i++) b.begin[i] = (size_t)((double)(n - BLOCK_ROWS) * (double)i / (BLOCKS - 1));
  return b;
}

/* The numbers of their samples. */
static void list_rows(size_t rows[BLOCKS * BLOCK_ROWS], const blocks *b) {
  for (size_t i = 0; i < b->count * BLOCK_ROWS; i++) rows[i] = b->begin[i / BLOCK_ROWS] + i % BLOCK_ROWS;
}

/* One matrix of a tree, of these samples. */
static comp_status read_blocks(comp_matrix **out, comp_context *context, const comp__tree_matrix *m, const blocks *b) {
  comp_matrix *parts[BLOCKS] = {0}, *whole = NULL;
  size_t rows[BLOCKS * BLOCK_ROWS];
  comp_status status = COMP_OK;
  if (m->by_column) { /* it cannot be read in parts */
    list_rows(rows, b);
    COMP__TRY(comp__tree_matrix_read(&whole, context, m, 0, m->rows));
    COMP__TRY(comp_matrix_select(out, context, whole, rows, b->count * BLOCK_ROWS, NULL, 0));
    goto done;
  }
  for (size_t i = 0; i < b->count; i++)
    COMP__TRY(comp__tree_matrix_read(&parts[i], context, m, b->begin[i], b->begin[i] + BLOCK_ROWS));
  COMP__TRY(comp__matrix_stack(out, parts, b->count));
done:
  comp_matrix_free(whole);
  for (size_t i = 0; i < b->count; i++) comp_matrix_free(parts[i]);
  return status;
}

/* The same of X, as comp__dataset_read() checks it. */
static comp_status read_x(comp_dataset *some, comp_context *context, comp__rows *rows, const blocks *b) {
  comp_matrix *parts[BLOCKS] = {0}, *x;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < b->count; i++)
    COMP__TRY(comp__rows_read(&parts[i], context, rows, b->begin[i], b->begin[i] + BLOCK_ROWS));
  COMP__TRY(comp__matrix_stack(&x, parts, b->count));
  COMP__TRY(comp_dataset_set_x(some, x));
done:
  for (size_t i = 0; i < b->count; i++) comp_matrix_free(parts[i]);
  return status;
}

/* obsm from before AnnData 0.7 is one array, which goes through the whole data set. */
static comp_status read_legacy_obsm(comp_dataset *some, comp_context *context, const comp__tree *tree,
                                    comp_dataset *all, const blocks *b) {
  size_t rows[BLOCKS * BLOCK_ROWS];
  comp_status status;
  list_rows(rows, b);
  COMP__TRY(tree->ops->legacy_obsm(all, context, tree));
  for (size_t i = 0; i < all->slots[COMP_SLOT_OBSM].count; i++) {
    const comp__named_matrix *entry = &all->slots[COMP_SLOT_OBSM].entries[i];
    comp_matrix *matrix;
    COMP__TRY(comp_matrix_select(&matrix, context, entry->matrix, rows, b->count * BLOCK_ROWS, NULL, 0));
    COMP__TRY(comp_dataset_set_matrix(some, COMP_SLOT_OBSM, entry->name, matrix));
  }
done:
  return status;
}

/* One entry of layers or obsm. */
static comp_status read_entry(comp_dataset *some, comp_context *context, const comp__tree *tree, const char *path,
                              const char *name, comp_slot slot, const blocks *b, size_t samples) {
  comp__tree_matrix m = {0};
  comp_matrix *matrix;
  comp_status status;
  COMP__TRY(comp__tree_matrix_open(&m, context, tree, path));
  if (m.rows != samples || (slot == COMP_SLOT_LAYERS && m.cols != some->features))
    COMP__FAIL(COMP_ERR_FORMAT, "%s is %zu x %zu, which does not fit data of %zu x %zu", m.where, m.rows, m.cols,
               samples, some->features);
  COMP__TRY(read_blocks(&matrix, context, &m, b));
  COMP__TRY(comp_dataset_set_matrix(some, slot, name, matrix));
done:
  comp__tree_matrix_close(&m);
  return status;
}

static comp_status read_slot(comp_dataset *some, comp_context *context, const comp__tree *tree, comp_slot slot,
                             const blocks *b, const comp__read_options *options, comp_dataset *all) {
  const char *folder = comp_slot_name(slot), *why;
  comp__strings members = {0};
  comp__tree_path path;
  comp_status status = COMP_OK;
  if (tree->ops->find(tree, folder) == COMP__NODE_ARRAY && slot == COMP_SLOT_OBSM && tree->ops->legacy_obsm)
    return read_legacy_obsm(some, context, tree, all, b);
  if (tree->ops->find(tree, folder) != COMP__NODE_GROUP) return COMP_OK;
  COMP__TRY(comp__anndata_tell_lost(context, tree, folder));
  COMP__TRY(tree->ops->members(&members, tree, folder));
  for (size_t i = 0; i < members.count; i++) {
    const char *name = comp__strings_get(&members, i);
    if (slot == COMP_SLOT_LAYERS && options->layer && strcmp(name, options->layer) == 0) continue;
    COMP__TRY(comp__tree_join(&path, folder, name));
    if (!comp__anndata_can_hold(&why, tree, path.text, slot)) {
      comp__anndata_tell_not_used(context, tree, path.text, why);
      continue;
    }
    status = read_entry(some, context, tree, path.text, name, slot, b, all->samples);
    if (options->skip_damaged) status = comp__anndata_pass_over(context, path.text, status);
    if (status != COMP_OK) goto done;
  }
done:
  comp__strings_release(&members);
  return status;
}

static comp_status read_slots(comp_dataset *some, comp_context *context, const char *path, const blocks *b,
                              const comp__read_options *options, comp_dataset *all) {
  const comp__format *format;
  comp__tree *tree = NULL;
  comp_status status;
  COMP__TRY(comp__format_of_input(&format, path));
  if (!format->open_tree) return COMP_OK;
  COMP__TRY(format->open_tree(&tree, path));
  COMP__TRY(comp__anndata_tell_lost(context, tree, ""));
  if (!options->raw) COMP__TRY(read_slot(some, context, tree, COMP_SLOT_LAYERS, b, options, all));
  COMP__TRY(read_slot(some, context, tree, COMP_SLOT_OBSM, b, options, all));
  status = tree->ops->certain(tree);
  if (options->skip_damaged) status = comp__anndata_pass_over(context, NULL, status);
done:
  comp__tree_free(tree);
  return status;
}

/* X, open, when it is large and can be read in parts; NULL: it is read whole, which also says what is wrong with it. */
static comp__rows *open_large(comp_context *context, const char *path, const comp__read_options *options,
                              size_t small) {
  comp__rows *rows;
  if (comp__rows_open(&rows, context, path, options) != COMP_OK) return NULL;
  if (comp__rows_bytes(rows) > small && comp__rows_count(rows) > (size_t)BLOCKS * BLOCK_ROWS) return rows;
  comp__rows_close(rows);
  return NULL;
}

static comp_status take_some(comp_dataset **out, comp_context *context, const comp_dataset *all, const blocks *b) {
  size_t rows[BLOCKS * BLOCK_ROWS];
  list_rows(rows, b);
  return comp_dataset_select(out, context, all, rows, b->count * BLOCK_ROWS, NULL, 0);
}

comp_status comp__dataset_glance(comp_dataset **out, comp_dataset **some, comp_context *context, const char *path,
                                 const comp__read_options *options, size_t small) {
  comp__read_options names = *options;
  comp__rows *rows = open_large(context, path, options, small);
  comp_dataset *all = NULL, *part = NULL;
  comp_status status;
  *out = *some = NULL;
  if (!rows) {
    status = comp__dataset_read(out, context, path, options);
    goto done;
  }
  names.skip_x = names.skip_slots = true;
  COMP__TRY(comp__dataset_read(&all, context, path, &names));
  if (comp__rows_count(rows) != all->samples || comp__rows_cols(rows) != all->features)
    COMP__FAIL(COMP_ERR_FORMAT, "%s: X is %zu x %zu, but there are names of %zu samples and %zu features", path,
               comp__rows_count(rows), comp__rows_cols(rows), all->samples, all->features);
  const blocks b = spread(all->samples);
  COMP__TRY(take_some(&part, context, all, &b));
  COMP__TRY(read_x(part, context, rows, &b));
  status = read_slots(part, context, path, &b, options, all);
  if (status != COMP_OK) {
    comp__error_in_file(status, path);
    goto done;
  }
  *out = all;
  *some = part;
  all = part = NULL;
done:
  comp__rows_close(rows);
  comp_dataset_free(all);
  comp_dataset_free(part);
  return status;
}

comp_status comp_dataset_glance(comp_dataset **out, comp_dataset **some, comp_context *context, const char *path,
                                const comp_options *options) {
  COMP__NEED_OUT(out, some, context, path);
  comp__read_options plain;
  *out = *some = NULL;
  comp_status status = comp__options_resolve(&plain, &comp__read_kind, options);
  return status == COMP_OK ? comp__dataset_glance(out, some, context, path, &plain, SMALL_BYTES) : status;
}
