/* run_content.c: what data.h5ad of `comp run` holds, as numbers. A step that is repeated alone writes the same values
 * into a file of other bytes and another time: the values decide whether later steps are still good. */
#include <stdio.h>

#include "cli/run.h"

static uint64_t mix_matrix(uint64_t seed, const comp_matrix *m) {
  size_t shape[] = {comp_matrix_rows(m), comp_matrix_cols(m), comp_matrix_nnz(m), (size_t)comp_matrix_get_kind(m)};
  seed = run_mix(seed, shape, sizeof shape);
  seed = run_mix(seed, comp_matrix_const_values(m), shape[2] * sizeof(float));
  if (comp_matrix_get_kind(m) != COMP_CSR) return seed;
  seed = run_mix(seed, comp_matrix_const_indptr(m), (shape[0] + 1) * sizeof(int64_t));
  return run_mix(seed, comp_matrix_const_indices(m), shape[2] * sizeof(int32_t));
}

static uint64_t mix_table(uint64_t seed, const comp_table *table) {
  char buffer[64];
  for (size_t c = 0; c < comp_table_column_count(table); c++) {
    seed = run_mix_text(seed, comp_table_column_name(table, c));
    for (size_t i = 0; i < comp_table_row_count(table); i++)
      seed = run_mix_text(seed, comp_table_format(table, c, i, buffer, sizeof buffer));
  }
  return seed;
}

uint64_t run_content_prepared(const comp_dataset *dataset) {
  uint64_t id = mix_matrix(1, comp_dataset_x(dataset));
  for (size_t i = 0; i < comp_dataset_sample_count(dataset); i++)
    id = run_mix_text(id, comp_dataset_obs_name(dataset, i));
  for (size_t j = 0; j < comp_dataset_feature_count(dataset); j++)
    id = run_mix_text(id, comp_dataset_var_name(dataset, j));
  id = mix_table(mix_table(id, comp_dataset_obs(dataset)), comp_dataset_var(dataset));
  return run_mix_text(id, comp_dataset_record(dataset));
}

uint64_t run_content_matrix(const comp_matrix *matrix) {
  return mix_matrix(2, matrix);
}

json_t *run_content_list(const comp_dataset *dataset) {
  static const char *const slots[] = {[COMP_SLOT_OBSM] = "obsm", [COMP_SLOT_LAYERS] = "layers"};
  char name[512], text[20];
  run_hex(text, run_content_prepared(dataset));
  json_t *list = json_pack("{s:s}", "prepared", text);
  for (size_t s = 0; s < sizeof slots / sizeof *slots; s++)
    for (size_t i = 0; i < comp_dataset_matrix_count(dataset, (comp_slot)s); i++) {
      const char *entry = comp_dataset_matrix_name(dataset, (comp_slot)s, i);
      snprintf(name, sizeof name, "%s/%s", slots[s], entry);
      run_hex(text, run_content_matrix(comp_dataset_matrix(dataset, (comp_slot)s, entry)));
      if (list) json_object_set_new(list, name, json_string(text));
    }
  return list;
}
