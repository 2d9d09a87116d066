/* map_page.h: the page of `comp map --report`. */
#ifndef CLI_MAP_PAGE_H
#define CLI_MAP_PAGE_H

#include <stdbool.h>

#include "comp/comp.h"

/* Whether a page can have this name: it ends in .html. */
bool cli_map_page_file(const char *page);

/* Before the mapping: sets the option "together" of `map` to the page's name with _together.h5ad in place of .html,
 * unless it is set, and sees whether the page can be written. */
comp_status cli_map_page_start(const char *page, comp_options *map);

/* After it: lays out the file of "together" (obsm/X_umap, which is added to it) and writes the page. */
comp_status cli_map_page_write(comp_context *context, const char *page, const comp_model *model, const char *source,
                               const comp_options *map);

#endif
