/* finding.h: a list of findings in the making, and their JSON. */
#ifndef COMP_VERDICT_FINDING_H
#define COMP_VERDICT_FINDING_H

#include <jansson.h>

#include "comp/verdict.h"

/* Zero-initialise to start. Every text in it is a copy. */
typedef struct comp__findings {
  comp_finding *items;
  size_t count, capacity;
} comp__findings;

/* Adds a finding without numbers and labels. */
comp_status comp__findings_add(comp__findings *list, const char *id, comp_finding_level level, const char *question,
                               const char *text, const char *advice);

/* Adds a number or a label to the last finding. */
comp_status comp__findings_number(comp__findings *list, const char *name, double value);
comp_status comp__findings_label(comp__findings *list, const char *name);

/* Adds a copy of a finding, under another id (NULL: its own). */
comp_status comp__findings_copy(comp__findings *list, const comp_finding *finding, const char *id);

/* Replaces the advice of a finding. */
comp_status comp__findings_advise(comp__findings *list, size_t index, const char *advice);

/* The highest level, notes aside. */
comp_finding_level comp__findings_worst(const comp__findings *list);

/* The findings as a list, and back. The list that is read may also hold plain texts. The caller owns *out. */
comp_status comp__findings_write(json_t **out, const comp__findings *list);
comp_status comp__findings_read(comp__findings *list, json_t *findings);

void comp__findings_release(comp__findings *list);

#endif
