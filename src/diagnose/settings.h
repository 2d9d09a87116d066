/* settings.h: models that are compared should differ in their seeds alone. */
#ifndef COMP_DIAGNOSE_SETTINGS_H
#define COMP_DIAGNOSE_SETTINGS_H

#include <stddef.h>

#include "comp/train.h"

enum { COMP__SETTINGS_TEXT = 600 };

typedef struct comp__settings {
  size_t models;                  /* that have other settings than the first */
  size_t differences;             /* settings that differ, over these models */
  char text[COMP__SETTINGS_TEXT]; /* "gamma 1000 in place of 10 in 'b.comp'": as many as there is room for */
} comp__settings;

/* Adds to `out` (zero-initialised) what model b, of this name, was trained with and a was not; the seed and the name of
 * the preset do not count. Models without a record of their settings have no differences. */
void comp__settings_compare(comp__settings *out, const comp_model *a, const comp_model *b, const char *name);

#endif
