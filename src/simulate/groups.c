/* groups.c: the names of conditions and labels, and how many cells each pair of them gets. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "simulate/world.h"

static comp_status append_numbered(comp__strings *out, const char *word, size_t number) {
  char name[48];
  int length = snprintf(name, sizeof name, "%s%zu", word, number);
  return comp__strings_append(out, name, (size_t)length);
}

comp_status comp__sim_condition_names(comp__strings *out, size_t conditions) {
  comp_status status = comp__strings_append(out, "control", strlen("control"));
  if (status == COMP_OK && conditions == 2) return comp__strings_append(out, "treated", strlen("treated"));
  for (size_t k = 1; k < conditions && status == COMP_OK; k++) status = append_numbered(out, "treated", k);
  return status;
}

comp_status comp__sim_label_names(comp__strings *out, size_t labels) {
  comp_status status = COMP_OK;
  for (size_t l = 0; l < labels && status == COMP_OK; l++) status = append_numbered(out, "type", l + 1);
  return status;
}

/* The index of the name of `length` bytes, or SIZE_MAX. */
static size_t find_name(const comp__strings *names, const char *text, size_t length) {
  for (size_t i = 0; i < names->count; i++) {
    const char *name = comp__strings_get(names, i);
    if (strlen(name) == length && memcmp(name, text, length) == 0) return i;
  }
  return SIZE_MAX;
}

comp_status comp__sim_absent_group(size_t *out, const comp__simulate_options *options) {
  *out = SIZE_MAX;
  if (!options->absent) return COMP_OK;
  comp_status status;
  comp__strings conditions = {0}, labels = {0};
  COMP__TRY(comp__sim_condition_names(&conditions, options->conditions));
  COMP__TRY(comp__sim_label_names(&labels, options->labels));
  const char *absent = options->absent, *colon = strchr(absent, ':');
  if (!colon)
    COMP__FAIL(COMP_ERR_ARGUMENT, "absent must be LABEL:CONDITION, such as type1:%s, not '%s'",
               comp__strings_get(&conditions, 1), absent);
  size_t label = find_name(&labels, absent, (size_t)(colon - absent));
  if (label == SIZE_MAX)
    COMP__FAIL(COMP_ERR_ARGUMENT, "absent '%s': there is no label '%.*s'; the labels are type1 .. type%zu", absent,
               (int)(colon - absent), absent, options->labels);
  size_t condition = find_name(&conditions, colon + 1, strlen(colon + 1));
  if (condition == SIZE_MAX)
    COMP__FAIL(COMP_ERR_ARGUMENT, "absent '%s': there is no condition '%s'; the conditions are %s .. %s", absent,
               colon + 1, comp__strings_get(&conditions, 0), comp__strings_get(&conditions, options->conditions - 1));
  if (options->labels < 2)
    COMP__FAIL(COMP_ERR_ARGUMENT, "absent '%s' would leave condition '%s' without cells: there is one label only",
               absent, colon + 1);
  *out = condition * options->labels + label;
done:
  comp__strings_release(&conditions);
  comp__strings_release(&labels);
  return status;
}

/* The share of every group in all cells, up to a factor that is the same within a condition: label shares first. */
static void label_shares(double *weights, const comp__simulate_options *options, size_t condition, size_t absent) {
  comp__rng rng = comp__rng_at(options->seed, COMP__RNG_SIMULATE, SIM_COMPOSITION, condition);
  double sum = 0;
  for (size_t l = 0; l < options->labels; l++) {
    bool present = condition * options->labels + l != absent;
    weights[l] = present ? exp(options->composition * comp__rng_normal(rng, l)) : 0;
    sum += weights[l];
  }
  for (size_t l = 0; l < options->labels; l++) weights[l] /= sum;
}

/* Rounds cumulative shares, so that the sizes sum to `cells` exactly. */
static void round_shares(size_t *out, const double *weights, size_t groups, size_t cells) {
  double total = 0, before = 0;
  for (size_t i = 0; i < groups; i++) total += weights[i];
  size_t used = 0;
  for (size_t i = 0; i < groups; i++) {
    before += weights[i];
    size_t end = i + 1 == groups ? cells : (size_t)llround(before / total * (double)cells);
    if (end > cells) end = cells;
    if (weights[i] <= 0) end = used; /* also when it is the last */
    out[i] = end - used;
    used = end;
  }
  for (size_t i = groups; used < cells; i--)
    if (weights[i - 1] > 0) {
      out[i - 1] += cells - used;
      used = cells;
    }
}

/* No group that should have cells stays empty: it takes one from the largest. */
static void fill_empty(size_t *sizes, const double *weights, size_t groups) {
  for (size_t i = 0; i < groups; i++) {
    if (sizes[i] > 0 || weights[i] <= 0) continue;
    size_t largest = 0;
    for (size_t j = 1; j < groups; j++)
      if (sizes[j] > sizes[largest]) largest = j;
    sizes[largest]--;
    sizes[i]++;
  }
}

comp_status comp__sim_group_sizes(size_t *out, const comp__simulate_options *options, size_t absent) {
  size_t groups = options->conditions * options->labels;
  double *weights;
  comp_status status = comp__alloc(&weights, groups, sizeof *weights);
  if (status != COMP_OK) return status;
  for (size_t k = 0; k < options->conditions; k++) {
    double share = pow(1.0 - options->imbalance, (double)k), *of_labels = weights + k * options->labels;
    label_shares(of_labels, options, k, absent);
    for (size_t l = 0; l < options->labels; l++)
      if (of_labels[l] > 0) of_labels[l] = fmax(of_labels[l] * share, 1e-300); /* tiny, but not absent */
  }
  round_shares(out, weights, groups, options->cells);
  fill_empty(out, weights, groups);
  comp__free(weights);
  return COMP_OK;
}
