/*
 * tables.h: what stands beside the matrices of a simulated data set: names, tables, the record.
 */
#ifndef COMP_SIMULATE_TABLES_H
#define COMP_SIMULATE_TABLES_H

#include "simulate/options.h"
#include "simulate/world.h"

/* Appends WORD1 .. WORDn. */
comp_status comp__sim_names(comp__strings *out, const char *word, size_t n);

/* Adds condition, label, library_size. */
comp_status comp__sim_fill_obs(comp_table *obs, const comp__sim_world *world);

/* Adds response_<condition> for every condition but the first: does the gene answer in some label? */
comp_status comp__sim_fill_var(comp_table *var, const comp__sim_world *world);

/* The parameters as JSON, under "simulate". */
enum { SIM_RECORD_SIZE = 2048 };
comp_status comp__sim_record(char out[SIM_RECORD_SIZE], const comp__simulate_options *o);

/* `before`truth_<condition>. */
void comp__sim_truth_name(char *out, size_t size, const char *before, const comp__sim_world *world, size_t condition);

#endif
