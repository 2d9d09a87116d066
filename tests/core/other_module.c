/* other_module.c: a module of another version, for test_module.c. */
#include "core/module.h"

#undef COMP_VERSION
#define COMP_VERSION "0.0.0-other"
static const int table = 0;
COMP__MODULE_EXPORT(table, "nothing");
