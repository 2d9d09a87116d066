/* map_page.c: see map_page.h. */
#include "cli/map_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not .h5ad alone: out.html may stand beside out.h5ad, which has other data. */
static const char END[] = ".html", TOGETHER[] = "_together.h5ad";

bool cli_map_page_file(const char *page) {
  const size_t length = strlen(page);
  return length > sizeof END - 1 && strcmp(page + length - (sizeof END - 1), END) == 0;
}

comp_status cli_map_page_start(const char *page, comp_options *map) {
  const size_t length = strlen(page) - (sizeof END - 1), size = length + sizeof TOGETHER;
  char *path = malloc(size);
  if (!path) return COMP_ERR_MEMORY;
  snprintf(path, size, "%.*s%s", (int)length, page, TOGETHER);
  comp_status status = comp_options_given(map, "together") ? COMP_OK : comp_options_set(map, "together", path);
  free(path);
  return status == COMP_OK ? comp_file_check_writable(page) : status;
}

/* Adds obsm/X_umap to the data set and to its file. */
static comp_status lay_out(comp_context *context, comp_dataset *both, const char *path) {
  comp_matrix *layout = NULL;
  comp_status status = comp_umap_run(&layout, NULL, context, comp_dataset_matrix(both, COMP_SLOT_OBSM, "X_comp"), NULL);
  if (status == COMP_OK) status = comp_dataset_set_matrix(both, COMP_SLOT_OBSM, "X_umap", layout);
  return status == COMP_OK ? comp_dataset_update(context, both, path, path, NULL) : status;
}

/* Copies a text option of the mapping to the report. */
static comp_status pass_on(comp_options *report, const comp_options *map, const char *name) {
  char text[1024];
  const char *value = comp_options_given(map, name) ? comp_options_get(map, name, text, sizeof text) : NULL;
  return value ? comp_options_set(report, name, value) : COMP_OK;
}

comp_status cli_map_page_write(comp_context *context, const char *page, const comp_model *model, const char *source,
                               const comp_options *map) {
  char buffer[4096];
  const char *path = comp_options_get(map, "together", buffer, sizeof buffer);
  comp_options *report = NULL;
  comp_dataset *both = NULL;
  comp_status status = comp_options_new(&report, "report");
  if (status == COMP_OK) status = pass_on(report, map, "label");
  if (status == COMP_OK) status = comp_options_set(report, "source", source);
  if (status == COMP_OK) status = comp_options_set(report, "title", "New samples in the reference");
  if (status == COMP_OK) status = path ? comp_dataset_read(&both, context, path, NULL) : COMP_ERR_ARGUMENT;
  if (status == COMP_OK) status = lay_out(context, both, path);
  if (status == COMP_OK) status = comp_report_write(context, both, model, page, report);
  comp_dataset_free(both);
  comp_options_free(report);
  return status;
}
