/* zarr.c: zarr stores as a format: AnnData in a folder or zip file. */
#include <string.h>

#include "core/error.h"
#include "io/anndata.h"
#include "io/format.h"
#include "io/zarr/tree.h"
#include "io/zarr/zarr_write.h"

static comp_status check_is_anndata(const comp__tree *tree) {
  char list[512];
  (void)tree->ops->find(tree, ""); /* its attributes are not needed, but damaged ones are a sign of more */
  bool whole = tree->ops->find(tree, "obs") != COMP__NODE_NONE && tree->ops->find(tree, "var") != COMP__NODE_NONE;
  comp_status status = tree->ops->certain(tree);
  if (status == COMP_OK) status = comp__anndata_refuse_many(tree);
  if (whole || status != COMP_OK) return status;
  comp__anndata_list_members(list, sizeof list, tree, "");
  return comp__error(COMP_ERR_FORMAT,
                     "a zarr store, but not of AnnData (which has obs and var); it has: %s. When AnnData is in one of "
                     "these, name that folder",
                     list);
}

static comp_status read_zarr(comp_dataset **out, comp_context *context, const char *path,
                             const comp__read_options *options) {
  comp__tree *tree;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__zarr_tree_open(&tree, path));
  COMP__TRY(check_is_anndata(tree));
  COMP__TRY(comp__anndata_read(out, context, tree, options));
done:
  comp__tree_free(tree);
  return status;
}

static comp_status probe_zarr(bool *is, const comp__peek *peek) {
  bool zip = peek->head_size > 4 && !peek->gzip && memcmp(peek->head, "PK\3\4", 4) == 0;
  *is = false;
  return peek->folder || zip ? comp__zarr_is(is, peek->path) : COMP_OK;
}

const comp__format comp__format_zarr = {
    "zarr",    "AnnData in zarr", ".zarr",        probe_zarr,
    read_zarr, comp__zarr_write,  .folder = true, .open_tree = comp__zarr_tree_open};

/* The same packed. It is found by what is in it: the other row reads it. */
const comp__format comp__format_zarr_zip = {"zarr",
                                            "AnnData in zarr, as a zip file",
                                            ".zarr.zip",
                                            NULL,
                                            read_zarr,
                                            comp__zarr_write_zip,
                                            .open_tree = comp__zarr_tree_open};
