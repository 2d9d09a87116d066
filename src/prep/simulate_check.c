/* simulate_check.c: which options of a simulation can be used. */
#include <stdint.h>

#include "core/error.h"
#include "prep/simulate_world.h"

typedef struct range {
  const char *name;
  double value, lowest, highest;
} range;

static comp_status check_count(const char *name, size_t value, size_t lowest, size_t highest) {
  if (value >= lowest && value <= highest) return COMP_OK;
  return comp__error(COMP_ERR_ARGUMENT, "%s must be from %zu to %zu, not %zu", name, lowest, highest, value);
}

static comp_status check_sizes(const comp_simulate_options *o) {
  comp_status status;
  COMP__TRY(check_count("cells", o->cells, 1, (size_t)1 << 40));
  COMP__TRY(check_count("genes", o->genes, 2, 10000000));
  COMP__TRY(check_count("conditions", o->conditions, 2, 100000));
  COMP__TRY(check_count("labels", o->labels, 1, 100000));
  COMP__TRY(check_count("programs", o->programs, 1, 200));
  if (o->cells < o->conditions * o->labels)
    COMP__FAIL(COMP_ERR_ARGUMENT, "cells must be at least conditions x labels = %zu, not %zu",
               o->conditions * o->labels, o->cells);
done:
  return status;
}

comp_status comp_simulate_check(const comp_simulate_options *o) {
  const range ranges[] = {
      {"separation", o->separation, 0, 5},       {"effect", o->effect, 0, 5},
      {"effect_genes", o->effect_genes, 0, 1},   {"specific", o->specific, 0, 1},
      {"heterogeneity", o->heterogeneity, 0, 1}, {"library", o->library, 0, 1e8},
      {"library_sd", o->library_sd, 0, 3},       {"dispersion", o->dispersion, 0, 100},
      {"imbalance", o->imbalance, 0, 0.99},      {"composition", o->composition, 0, 5},
  };
  comp_status status = check_sizes(o);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    const range *r = &ranges[i];
    if (!(r->value >= r->lowest && r->value <= r->highest)) /* NaN too */
      return comp__error(COMP_ERR_ARGUMENT, "%s must be from %g to %g, not %g", r->name, r->lowest, r->highest,
                         r->value);
  }
  if ((unsigned)o->truth > COMP_TRUTH_OFF)
    return comp__error(COMP_ERR_ARGUMENT, "truth must be one of the values of comp_simulate_truth, not %d",
                       (int)o->truth);
  size_t absent;
  return comp__sim_absent_group(&absent, o);
}
