/*
 * module.h: parts of the library that need a large foreign library. Each is a shared object of its own, which is
 * loaded when it is first used, so that libcomp and its users do without that library.
 *
 * A module is a table of functions. The room that uses it defines the table's type in a header (report/pen.h,
 * metrics/boosting.h, cluster/leiden.h, dist/transport.h); src/modules fills it, and dist/comm_mpi.c. A module calls
 * nothing of libcomp: so it works with the shared library and with programs that contain the static one.
 */
#ifndef COMP_CORE_MODULE_H
#define COMP_CORE_MODULE_H

#include <stddef.h>

#include "comp/machine.h"
#include "comp/version.h"

/* The rows of the table in module.c. */
typedef enum comp__module_id {
  COMP__MODULE_FIGURES, /* comp__pen */
  COMP__MODULE_BOOSTED, /* comp__boosting */
  COMP__MODULE_LEIDEN,  /* comp__leiden_table */
  COMP__MODULE_MPI,     /* comp__transport */
  COMP__MODULES
} comp__module_id;

/* What the shared object of a module exports. A module works only with the library of the same version and the same
 * size of the table. */
typedef struct comp__module {
  const char *version; /* of comp */
  const char *library; /* what it is built with, such as "cairo 1.16.0" */
  size_t table_size;
  const void *table;
} comp__module;

/* The name under which it is exported, as a word and as text. */
#define COMP__MODULE_SYMBOL comp_module
#define COMP__MODULE_NAME   "comp_module"

/* The last line of a module's file: exports its table. */
#define COMP__MODULE_EXPORT(functions, with_library)                                                                   \
  __attribute__((visibility("default"))) extern const comp__module COMP__MODULE_SYMBOL;                                \
  const comp__module COMP__MODULE_SYMBOL = {COMP_VERSION, with_library, sizeof(functions), &(functions)}

/* Gives a module's table of `table_size` bytes, and loads the module at the first call. It stays loaded. May be called
 * from any thread. COMP_ERR_UNAVAILABLE, with a message that names the package, when it is missing or does not fit. */
comp_status comp__module_table(const void **out, comp__module_id id, size_t table_size);

#endif
