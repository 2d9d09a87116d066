/* init.c: tells R which functions there are. */
#include <R_ext/Rdynload.h>

#include "functions.h"

#define ROW(name, n) {#name, (DL_FUNC)&name, n},

static const R_CallMethodDef rows[] = {FUNCTIONS(ROW){NULL, NULL, 0}};

void R_init_comp(DllInfo *library) {
  R_registerRoutines(library, NULL, rows, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
