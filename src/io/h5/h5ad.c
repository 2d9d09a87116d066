/* h5ad.c: .h5ad files as a format: AnnData in HDF5. */
#include "io/h5/h5ad.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "io/anndata.h"
#include "io/format.h"
#include "io/h5/h5_tree.h"
#include "io/h5/h5ad_write.h"

bool comp__h5ad_is_legacy(hid_t file, const char *table) {
  return comp__h5_find(file, table) == COMP__H5_DATASET;
}

/* Other formats that are HDF5, by what they have at the root, and what makes an .h5ad of them. */
static const struct {
  const char *has[2];
  const char *what;
} others[] = {
    {{"row_attrs", "col_attrs"},
     "a .loom file, which is not read. In Python: anndata.read_loom(\"cells.loom\").write_h5ad(\"cells.h5ad\"); in R: "
     "zellkonverter::writeH5AD(LoomExperiment::import(\"cells.loom\", type = \"SingleCellLoomExperiment\"), "
     "\"cells.h5ad\")"},
    {{"assays", "cell.names"},
     "an .h5Seurat file, which is not read. In R: SeuratDisk::Convert(\"cells.h5Seurat\", dest = \"h5ad\"); or "
     "x <- SeuratDisk::LoadH5Seurat(\"cells.h5Seurat\") and comp::RunComp(x)"},
};

/* What is missing when a file is HDF5, but not this. */
static comp_status check_is_h5ad(const comp__tree *tree) {
  hid_t file = comp__h5_tree_file(tree);
  comp_status status = comp__anndata_refuse_many(tree);
  if (status != COMP_OK) return status;
  if (comp__h5_find(file, "obs") != COMP__H5_NONE && comp__h5_find(file, "var") != COMP__H5_NONE) return COMP_OK;
  char list[512];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (comp__h5_find(file, others[i].has[0]) != COMP__H5_NONE &&
        comp__h5_find(file, others[i].has[1]) != COMP__H5_NONE)
      return comp__error(COMP_ERR_FORMAT, "%s", others[i].what);
  if (comp__h5_find(file, "matrix") == COMP__H5_GROUP) {
    comp__anndata_list_members(list, sizeof list, tree, "matrix");
    return comp__error(COMP_ERR_FORMAT,
                       "a 10x .h5 whose matrix lacks barcodes, data, indices, indptr or shape; it has: %s", list);
  }
  comp__anndata_list_members(list, sizeof list, tree, "");
  return comp__error(COMP_ERR_FORMAT,
                     "an HDF5 file, but neither an .h5ad (which has obs and var) nor a 10x .h5 (which has matrix); it "
                     "has: %s",
                     list);
}

static comp_status read_h5ad(comp_dataset **out, comp_context *context, const char *path,
                             const comp__read_options *options) {
  comp__tree *tree;
  *out = NULL;
  comp_status status;
  COMP__TRY(comp__h5_tree_open(&tree, path));
  COMP__TRY(check_is_h5ad(tree));
  COMP__TRY(comp__anndata_read(out, context, tree, options));
done:
  comp__tree_free(tree);
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

const comp__format comp__format_h5ad = {
    "h5ad", "AnnData", ".h5ad", probe_h5ad, read_h5ad, comp__h5ad_write, .open_tree = comp__h5_tree_open};
