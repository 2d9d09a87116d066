/* dataset.h: the inner side of comp/dataset.h. */
#ifndef COMP_CORE_DATASET_H
#define COMP_CORE_DATASET_H

#include "comp/dataset.h"
#include "core/strings.h"

typedef struct comp__named_matrix {
  char *name;
  comp_matrix *matrix;
  bool from_file; /* still what a file holds: a writer may copy it from there */
} comp__named_matrix;

typedef struct comp__slot {
  comp__named_matrix *entries;
  size_t count;
  size_t capacity;
} comp__slot;

struct comp_dataset {
  comp_matrix *x; /* may be NULL where a reader was asked not to load it */
  size_t samples;
  size_t features;
  comp__strings obs_names;
  comp__strings var_names;
  comp_table *obs;
  comp_table *var;
  comp__slot slots[2]; /* by comp_slot */
  char *record;        /* JSON text or NULL */
  comp_dataset *raw;   /* the same samples with all features: X, var; NULL: none */
};

/* An error where the data was read without X. */
comp_status comp__dataset_need_x(const comp_dataset *dataset);

/* A data set without X and with empty tables; names are taken over (moved out of the lists) also when it fails. */
comp_status comp__dataset_new(comp_dataset **out, comp__strings *obs_names, comp__strings *var_names);

/* For a message: the entry of a slot whose name is most like `name`, as comp__hint() has it. */
comp_hint comp__entry_hint(const comp_dataset *dataset, comp_slot slot, const char *name);

#endif
