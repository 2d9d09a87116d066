/* metadata_missing.c: stands in until the text formats are merged; delete it then (the strong definition wins anyway).
 */
#include "comp/io.h"
#include "core/error.h"

__attribute__((weak)) comp_status comp_dataset_join_metadata(comp_dataset *dataset, comp_context *context,
                                                             const char *path) {
  (void)dataset, (void)context;
  return comp__error(COMP_ERR_UNAVAILABLE, "%s: this build cannot join metadata", path);
}
