/* tables.c: what stands beside the matrices of a simulated data set. */
#include "simulate/tables.h"

#include <stdio.h>
#include <string.h>

#include "comp/version.h"
#include "core/alloc.h"
#include "core/error.h"
#include "simulate/cell.h"

comp_status comp__sim_names(comp__strings *out, const char *word, size_t n) {
  char name[48];
  comp_status status = COMP_OK;
  for (size_t i = 0; i < n && status == COMP_OK; i++) {
    int length = snprintf(name, sizeof name, "%s%zu", word, i + 1);
    status = comp__strings_append(out, name, (size_t)length);
  }
  return status;
}

static comp_status add_codes(comp_table *table, const char *column, const int32_t *codes, const comp__strings *names) {
  const char **levels;
  comp_status status = comp__alloc(&levels, names->count, sizeof *levels);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < names->count; i++) levels[i] = comp__strings_get(names, i);
  status = comp_table_add_categorical(table, column, codes, levels, names->count);
  comp__free(levels);
  return status;
}

comp_status comp__sim_fill_obs(comp_table *obs, const comp__sim_world *world) {
  size_t cells = world->options.cells;
  double *library = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&library, cells, sizeof *library));
  for (size_t i = 0; i < cells; i++) library[i] = comp__sim_library(world, i);
  COMP__TRY(add_codes(obs, "condition", world->conditions, &world->condition_names));
  COMP__TRY(add_codes(obs, "label", world->labels, &world->label_names));
  COMP__TRY(comp_table_add_numbers(obs, "library_size", library, false));
done:
  comp__free(library);
  return status;
}

comp_status comp__sim_fill_var(comp_table *var, const comp__sim_world *world) {
  const comp__simulate_options *o = &world->options;
  int8_t *answers = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&answers, o->genes, sizeof *answers));
  for (size_t k = 1; k < o->conditions; k++) {
    char name[96];
    snprintf(name, sizeof name, "response_%s", comp__strings_get(&world->condition_names, k));
    memset(answers, 0, o->genes);
    for (size_t l = 0; l < o->labels; l++)
      for (size_t g = 0; g < o->genes; g++) answers[g] |= comp__sim_response(world, k, l)[g] != 0.0f;
    COMP__TRY(comp_table_add_bools(var, name, answers));
  }
done:
  comp__free(answers);
  return status;
}

/* `absent` was checked to be made of known names, so nothing needs escaping. */
comp_status comp__sim_record(char out[SIM_RECORD_SIZE], const comp__simulate_options *o) {
  char absent[128] = "null";
  if (o->absent) snprintf(absent, sizeof absent, "\"%s\"", o->absent);
  return comp__print(
      out, SIM_RECORD_SIZE,
      "{\"simulate\": {\"version\": \"%s\", \"cells\": %zu, \"genes\": %zu, \"conditions\": %zu, \"labels\": %zu, "
      "\"seed\": %llu, \"programs\": %zu, \"separation\": %.15g, \"effect\": %.15g, \"effect_genes\": %.15g, "
      "\"specific\": %.15g, \"heterogeneity\": %.15g, \"library\": %.15g, \"library_sd\": %.15g, "
      "\"dispersion\": %.15g, \"imbalance\": %.15g, \"composition\": %.15g, \"absent\": %s, \"truth\": %s}}",
      COMP_VERSION, o->cells, o->genes, o->conditions, o->labels, (unsigned long long)o->seed, o->programs,
      o->separation, o->effect, o->effect_genes, o->specific, o->heterogeneity, o->library, o->library_sd,
      o->dispersion, o->imbalance, o->composition, absent, o->truth == COMP_TRUTH_ON ? "true" : "false");
}

void comp__sim_truth_name(char *out, size_t size, const char *before, const comp__sim_world *world, size_t condition) {
  snprintf(out, size, "%struth_%s", before, comp__strings_get(&world->condition_names, condition));
}
