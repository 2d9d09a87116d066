/* pipeline.c: a whole run on data in memory: the folder with results and page, and what they mean. C17 and C++17. */
#include <stdio.h>

#include "comp/comp.h"

static void tell(void *user, comp_log_level level, const char *message) {
  (void)user, (void)level;
  fprintf(stderr, "%s\n", message);
}

int main(int argc, char **argv) {
  comp_context *context = NULL;
  comp_options *how = NULL, *simulate = NULL, *run = NULL;
  comp_dataset *cells = NULL;
  comp_run_result *result = NULL;
  int failed = comp_options_new(&how, "context") || comp_options_set(how, "log-level", "info") ||
               comp_context_new(&context, how);
  if (!failed) comp_context_on_log(context, tell, NULL); /* what is done and why */
  failed = failed || comp_options_new(&simulate, "simulate") || comp_options_set_int(simulate, "cells", 200) ||
           comp_options_set_int(simulate, "genes", 50) || comp_simulate(&cells, context, simulate);
  failed = failed || comp_options_new(&run, "run") || comp_options_set(run, "condition", "condition") ||
           comp_options_set(run, "label", "label") || comp_options_set(run, "output", argc > 1 ? argv[1] : "out") ||
           comp_options_set(run, "hidden", "16") || comp_options_set_int(run, "epochs", 5) || /* to be quick */
           comp_run_dataset(&result, context, cells, run);
  if (failed) fprintf(stderr, "%s\n", comp_error_message());
  const comp_verdict *verdict = failed ? NULL : comp_run_result_verdict(result);
  for (size_t i = 0; verdict && i < comp_verdict_finding_count(verdict); i++) {
    const comp_finding *f = comp_verdict_finding_at(verdict, i);
    printf("%s %s: %s %s\n", comp_finding_level_name(f->level), f->id, f->text, f->advice);
  }
  if (!failed) printf("page: %s\n", comp_run_result_page(result));
  comp_run_result_free(result), comp_options_free(run), comp_options_free(simulate), comp_options_free(how);
  comp_dataset_free(cells), comp_context_free(context);
  return failed;
}
