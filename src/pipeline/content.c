/* content.c: fingerprints, and what data.h5ad of a run holds as numbers. A step that is repeated alone writes the same
 * values into a file of other bytes and another time: the values decide whether later steps are still good. */
#include <stdio.h>
#include <string.h>

#include "comp/version.h"
#include "core/sha256.h"
#include "pipeline/job.h"
#include "pipeline/sources.h"

const char comp__program[] = COMP_VERSION " " COMP__SOURCES;
const char comp__program_sources[] = COMP__SOURCES;

static const char *const slots[] = {[COMP_SLOT_OBSM] = "obsm", [COMP_SLOT_LAYERS] = "layers"};
enum { SLOTS = sizeof slots / sizeof *slots };

uint64_t comp__mix_text(uint64_t seed, const char *text) {
  return text ? comp__mix(seed, text, strlen(text) + 1) : comp__mix(seed, "\1", 2);
}

comp__hex comp__hex_of(uint64_t value) {
  comp__hex out;
  snprintf(out.text, sizeof out.text, "%016llx", (unsigned long long)value);
  return out;
}

bool comp__is_digest(json_t *object, const char *name, uint64_t value) {
  const char *text = json_string_value(json_object_get(object, name));
  return text && strcmp(text, comp__hex_of(value).text) == 0;
}

/* ---- parts of a data set ---- */

/* What takes the bytes: a fingerprint or a digest. */
typedef void taker(void *arg, const void *data, size_t size);

static void take_mix(void *arg, const void *data, size_t size) {
  uint64_t *seed = arg;
  *seed = comp__mix(*seed, data, size);
}

static void take_text(taker *take, void *arg, const char *text) {
  take(arg, text ? text : "\1", text ? strlen(text) + 1 : 2);
}

static void take_matrix(taker *take, void *arg, const comp_matrix *m) {
  size_t shape[] = {comp_matrix_rows(m), comp_matrix_cols(m), comp_matrix_nnz(m), (size_t)comp_matrix_get_kind(m)};
  take(arg, shape, sizeof shape);
  take(arg, comp_matrix_const_values(m), shape[2] * sizeof(float));
  if (comp_matrix_get_kind(m) != COMP_CSR) return;
  take(arg, comp_matrix_const_indptr(m), (shape[0] + 1) * sizeof(int64_t));
  take(arg, comp_matrix_const_indices(m), shape[2] * sizeof(int32_t));
}

static void take_table(taker *take, void *arg, const comp_table *table) {
  char buffer[64];
  for (size_t c = 0; c < comp_table_column_count(table); c++) {
    take_text(take, arg, comp_table_column_name(table, c));
    for (size_t i = 0; i < comp_table_row_count(table); i++)
      take_text(take, arg, comp_table_format(table, c, i, buffer, sizeof buffer));
  }
}

static void take_prepared(taker *take, void *arg, const comp_dataset *dataset) {
  take_matrix(take, arg, comp_dataset_x(dataset));
  for (size_t i = 0; i < comp_dataset_sample_count(dataset); i++)
    take_text(take, arg, comp_dataset_obs_name(dataset, i));
  for (size_t j = 0; j < comp_dataset_feature_count(dataset); j++)
    take_text(take, arg, comp_dataset_var_name(dataset, j));
  take_table(take, arg, comp_dataset_obs(dataset));
  take_table(take, arg, comp_dataset_var(dataset));
  take_text(take, arg, comp_dataset_record(dataset));
}

uint64_t comp__content_prepared(const comp_dataset *dataset) {
  uint64_t id = 1;
  take_prepared(take_mix, &id, dataset);
  return id;
}

uint64_t comp__content_matrix(const comp_matrix *matrix) {
  uint64_t id = 2;
  take_matrix(take_mix, &id, matrix);
  return id;
}

json_t *comp__content_list(const comp_dataset *dataset) {
  char name[512];
  json_t *list = json_pack("{s:s}", "prepared", comp__hex_of(comp__content_prepared(dataset)).text);
  for (size_t s = 0; s < SLOTS; s++)
    for (size_t i = 0; i < comp_dataset_matrix_count(dataset, (comp_slot)s); i++) {
      const char *entry = comp_dataset_matrix_name(dataset, (comp_slot)s, i);
      uint64_t id = comp__content_matrix(comp_dataset_matrix(dataset, (comp_slot)s, entry));
      snprintf(name, sizeof name, "%s/%s", slots[s], entry);
      if (list) json_object_set_new(list, name, json_string(comp__hex_of(id).text));
    }
  return list;
}

static void take_sha256(void *arg, const void *data, size_t size) {
  comp__sha256_add(arg, data, size);
}

void comp__content_sha256(char out[65], const comp_dataset *dataset) {
  comp__sha256 digest;
  comp__sha256_init(&digest);
  take_prepared(take_sha256, &digest, dataset);
  for (size_t s = 0; s < SLOTS; s++)
    for (size_t i = 0; i < comp_dataset_matrix_count(dataset, (comp_slot)s); i++) {
      const char *entry = comp_dataset_matrix_name(dataset, (comp_slot)s, i);
      take_text(take_sha256, &digest, slots[s]);
      take_text(take_sha256, &digest, entry);
      take_matrix(take_sha256, &digest, comp_dataset_matrix(dataset, (comp_slot)s, entry));
    }
  comp__sha256_end(&digest, out);
}
