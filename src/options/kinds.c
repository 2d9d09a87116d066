/* kinds.c: the kinds of options by name. A new kind is a table in its room and a row here. */
#include <stdlib.h>
#include <string.h>

#include "audit/options.h"
#include "baseline/options.h"
#include "classify/options.h"
#include "comp/machine.h"
#include "comp/suggest.h"
#include "core/context.h"
#include "core/error.h"
#include "core/json.h"
#include "core/options.h"
#include "diagnose/options.h"
#include "io/options.h"
#include "linalg/linalg.h"
#include "map/options.h"
#include "neighbors/options.h"
#include "pipeline/options.h"
#include "prep/options.h"
#include "report/options.h"
#include "score/options.h"
#include "simulate/options.h"
#include "task/options.h"
#include "train/options.h"
#include "umap/options.h"

/* clang-format off */
static const comp__options_kind *const kinds[] = {
    &comp__run_kind,
    &comp__context_kind,
    &comp__read_kind,
    &comp__write_kind,
    &comp__simulate_kind,
    &comp__prep_kind,
    &comp__tabular_kind,
    &comp__de_kind,
    &comp__train_kind,
    &comp__embed_kind,
    &comp__counterfactual_kind,
    &comp__map_kind,
    &comp__scores_kind,
    &comp__classify_kind,
    &comp__diagnose_kind,
    &comp__audit_kind,
    &comp__baseline_kind,
    &comp__neighbors_kind,
    &comp__umap_kind,
    &comp__pca_kind,
    &comp__figure_kind,
    &comp__report_kind,
};
/* clang-format on */
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *comp_options_kind_at(size_t index) {
  return index < KINDS ? kinds[index]->name : NULL;
}

comp_status comp_options_new(comp_options **out, const char *kind) {
  COMP__NEED_OUT(out, kind);
  comp_suggest search = {.word = kind};
  *out = NULL;
  comp__json_start();
  for (size_t i = 0; i < KINDS; i++) {
    if (strcmp(kinds[i]->name, kind) == 0) return comp__options_new(out, kinds[i]);
    comp_suggest_offer(&search, kinds[i]->name);
  }
  return comp__error(COMP_ERR_ARGUMENT, "there are no options of kind '%s'%s", kind, comp_suggest_hint(&search).text);
}

comp_status comp_options_describe(char **out) {
  COMP__NEED(out);
  json_t *list = json_array();
  bool good = list != NULL;
  for (size_t i = 0; i < KINDS && good; i++) good = json_array_append_new(list, comp__options_describe(kinds[i])) == 0;
  json_t *root = json_pack("{s:s, s:o}", "version", comp_version(), "kinds", list);
  *out = good && root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
  json_decref(root);
  return *out ? COMP_OK : comp__error(COMP_ERR_MEMORY, "out of memory");
}
