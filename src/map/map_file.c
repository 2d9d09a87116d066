/* map_file.c: a mapping from file to file. */
#include <string.h>

#include "comp/file.h"
#include "comp/io.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/json.h"
#include "io/options.h"
#include "map/options.h"
#include "task/aligned.h"

static comp_status check_output(const char *path) {
  const size_t length = strlen(path);
  if (length < 6 || strcmp(path + length - 5, ".h5ad") != 0)
    return comp__error(COMP_ERR_ARGUMENT,
                       "results are written as .h5ad: give an output whose name ends in .h5ad, not %s", path);
  return comp_file_check_writable(path);
}

typedef struct named_path {
  const char *name, *path; /* NULL: none */
} named_path;

/* Results may replace the query in its own file. Nothing else that is read may be lost, and no result by another. */
static comp_status check_paths(const named_path *written, size_t n, const char *reference, const char *query) {
  for (size_t k = 0; k < n; k++) {
    const named_path w = written[k];
    if (!w.path) continue;
    if (comp_file_same(w.path, reference))
      return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is the reference, which stays as it is", w.name, w.path);
    if (k > 0 && comp_file_same(w.path, query))
      return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is the file of the new samples: they would be lost", w.name,
                         w.path);
    for (size_t l = 0; l < k; l++)
      if (written[l].path && comp_file_same(w.path, written[l].path))
        return comp__error(COMP_ERR_ARGUMENT, "%s: '%s' is the file of '%s', too: one of them would be lost", w.name,
                           w.path, written[l].name);
  }
  return COMP_OK;
}

/* A text table is encoded as the model's was. */
static comp_status read_file(comp_dataset **out, bool *encoded, comp_context *context, const comp_model *model,
                             const char *path, const comp__read_options *read) {
  comp__read_options plain = *read;
  plain.skip_slots = true;
  return comp__dataset_read_for(out, encoded, context, model, path, &plain);
}

/* Adds the embedding and the columns to the query's file; `in` NULL: to the query as it was encoded. */
static comp_status write(comp_context *context, comp_mapping *mapping, const comp_dataset *query, const char *in,
                         const char *out, const comp__read_options *read) {
  const comp__read_options plain = {0};
  comp__strings names = {0}, features = {0};
  comp_dataset *results = NULL;
  comp_status status;
  COMP__TRY(comp__strings_select(&names, &query->obs_names, NULL, 0));
  COMP__TRY(comp__strings_select(&features, &query->var_names, NULL, 0));
  COMP__TRY(comp__dataset_new(&results, &names, &features));
  comp_table_free(results->obs);
  results->obs = mapping->obs;
  mapping->obs = NULL;
  comp_matrix *z = mapping->z;
  mapping->z = NULL;
  COMP__TRY(comp_dataset_set_matrix(results, COMP_SLOT_OBSM, "X_comp", z));
  if (!in) COMP__TRY(comp_dataset_write(context, query, out, NULL));
  COMP__TRY(comp__dataset_update(context, results, in ? in : out, out, in ? read : &plain));
done:
  comp__strings_release(&names);
  comp__strings_release(&features);
  comp_dataset_free(results);
  return status;
}

comp_status comp_map_file(char **report, comp_context *context, const comp_model *model, const char *reference_path,
                          const char *query_path, const char *out_path, const char *model_path,
                          const comp_options *read, const comp_options *options) {
  COMP__NEED(context, model, reference_path, query_path, out_path);
  comp__read_options how;
  comp__map_options plain;
  comp_dataset *reference = NULL, *query = NULL;
  comp_mapping mapping = {0};
  bool encoded;
  comp_status status;
  if (report) *report = NULL;
  comp__json_start();
  COMP__TRY(comp__options_resolve(&how, &comp__read_kind, read));
  COMP__TRY(comp__options_resolve(&plain, &comp__map_kind, options));
  const named_path written[] = {{"output", out_path}, {"save-model", model_path}, {"together", plain.together}};
  COMP__TRY(check_paths(written, sizeof written / sizeof *written, reference_path, query_path));
  COMP__TRY(check_output(out_path));
  if (model_path) COMP__TRY(comp_file_check_writable(model_path));
  COMP__TRY(read_file(&reference, &encoded, context, model, reference_path, &how));
  COMP__TRY(read_file(&query, &encoded, context, model, query_path, &how));
  COMP__TRY(comp__map(&mapping, context, model, reference, query, &plain));
  COMP__TRY(write(context, &mapping, query, encoded ? NULL : query_path, out_path, &how));
  if (model_path) COMP__TRY(comp_model_save(mapping.model, model_path));
  if (report) {
    *report = mapping.report;
    mapping.report = NULL;
  }
done:
  comp_mapping_release(&mapping);
  comp_dataset_free(reference);
  comp_dataset_free(query);
  return status;
}
