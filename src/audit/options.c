/* options.c: the table of the kind "audit". */
#include "audit/options.h"

#include <stdlib.h>
#include <string.h>

#include "audit/attack.h"

#define FIELD(member)          COMP__FIELD(comp__audit_options, member)
#define LIST(member, n_member) COMP__LIST(comp__audit_options, member, n_member)
static const comp_option rows[] = {
    {"condition", 'c', COMP_OPTION_TEXT, .required = true, FIELD(condition), .metavar = "COL",
     .help = "the column with the attribute that must be hidden"},
    {"use", 'u', COMP_OPTION_TEXT, FIELD(use), .metavar = "NAME", .value = "X_comp",
     .help = "the representation, by its name in obsm; X is the data itself"},
    {"target", 't', COMP_OPTION_TEXT, FIELD(target), .metavar = "COL", .unset = "nothing is said of its use",
     .help = "the column that the representation is used to predict"},
    {"favoured", .type = COMP_OPTION_TEXT, FIELD(favoured), .metavar = "VALUE", .unset = "its rarest value",
     .help = "the value of the target whose true positive rates are compared (equal opportunity)"},
    {"known", .type = COMP_OPTION_NAMES, LIST(known, n_known), .metavar = "A,B,...",
     .help = "columns that an attacker knows anyway: what they reveal by themselves"},
    {"before", .type = COMP_OPTION_TEXT, FIELD(before), .metavar = "NAME",
     .unset = "X of up to 1000 features, else X_pca",
     .help = "the data that the representation was made from, to compare with: X, or a name in obsm"},
    {"unseen", .type = COMP_OPTION_TEXT, FIELD(unseen), .metavar = "COL",
     .unset =
         "comp_unseen, as comp run --protect makes it, else a random part, which is right only where the model saw "
         "none of the samples",
     .help = "a column that is true (or 1) for samples that the model was not trained on: attackers are tested, and "
             "bounds computed, on these alone"},
    {"attackers", .type = COMP_OPTION_NAMES, LIST(attackers, n_attackers), .metavar = "A,B,...",
     .unset = "all that are there", .group = "Attackers",
     .help = "which attackers: logistic, knn, mlp, forest, boosted"},
    {"test-share", .type = COMP_OPTION_REAL, FIELD(test_share), .metavar = "X", .value = "0.3", .min = 0.01,
     .max = 0.99, .group = "Attackers", .help = "the part of the samples that attackers are tested on"},
    {"release", .type = COMP_OPTION_NAMES, LIST(releases, n_releases), .metavar = "A,B,...", .group = "Certificate",
     .unset = "no bound",
     .help = "what is released, to bound what any attacker can find: draws (one draw from each posterior), or cells:K "
             "(the number of the nearest of K centres)"},
    {"delta", .type = COMP_OPTION_REAL, FIELD(delta), .metavar = "D", .value = "0.05", .min = 1e-12, .max = 0.5,
     .group = "Certificate", .help = "the probability with which the bounds of a release may fail"},
    {"points", .type = COMP_OPTION_INT, FIELD(points), .metavar = "N", .value = "20000", .min = 100, .max = 1e8,
     .group = "Certificate", .help = "draws that the integral of a bound is estimated from"},
    {"gammas", .type = COMP_OPTION_NAMES, LIST(gammas, n_gammas), .metavar = "A,B,...", .group = "Frontier",
     .unset = "no models are trained",
     .help = "train a model with each --gamma on part of the samples, and audit it on the others: the trade-off "
             "between hiding and use"},
    {"preset", .type = COMP_OPTION_TEXT, FIELD(preset), .metavar = "NAME", .value = "protect", .group = "Frontier",
     .help = "their preset (comp train --preset)"},
    {"epochs", .type = COMP_OPTION_INT, FIELD(epochs), .metavar = "N", .min = 1, .max = 1e6, .group = "Frontier",
     .unset = "as the preset has it", .help = "their epochs"},
    {"target-weight", .type = COMP_OPTION_REAL, FIELD(target_weight), .metavar = "W", .max = 1e9, .absent = -1,
     .group = "Frontier", .unset = "as the preset has it",
     .help = "weight of the target in their training (comp train --target-weight); 0: they do not know the target"},
    {"encoder-without-condition", .type = COMP_OPTION_BOOL, FIELD(blind), .group = "Frontier",
     .help = "only their decoders see the condition"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "seed of all random numbers"},
    {0},
};

comp_status comp__release_parse(size_t *cells, const char *text) {
  *cells = 0;
  if (strcmp(text, "draws") == 0) return COMP_OK;
  if (strncmp(text, "cells:", 6) == 0) {
    char *end;
    const long k = strtol(text + 6, &end, 10);
    if (text[6] >= '0' && text[6] <= '9' && !*end && k >= 2 && k <= 4096) {
      *cells = (size_t)k;
      return COMP_OK;
    }
    return comp__error(COMP_ERR_ARGUMENT, "release: '%s': there are 2 to 4096 cells, as in cells:32", text);
  }
  if (strcmp(text, "means") == 0)
    return comp__error(COMP_ERR_ARGUMENT,
                       "release: nothing can be proved of posterior means: they are a fixed function "
                       "of the data, and may hold anything. Release draws, or cells:K");
  return comp__error(COMP_ERR_ARGUMENT, "release: '%s' is neither draws nor cells:K", text);
}

static comp_status check(const void *values) {
  const comp__audit_options *o = values;
  size_t cells;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < o->n_releases && status == COMP_OK; i++) status = comp__release_parse(&cells, o->releases[i]);
  for (size_t i = 0; i < o->n_attackers && status == COMP_OK; i++)
    if (!comp__attacker_find(o->attackers[i]))
      status = comp__error(COMP_ERR_ARGUMENT,
                           "attackers: there is no '%s'; there are logistic, knn, mlp, forest and "
                           "boosted",
                           o->attackers[i]);
  if (status != COMP_OK) return status;
  if (o->target && strcmp(o->target, o->condition) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "target: '%s' is the attribute that must be hidden", o->target);
  if (o->favoured && !o->target) return comp__error(COMP_ERR_ARGUMENT, "favoured: it goes with --target");
  for (size_t i = 0; i < o->n_known; i++)
    if (strcmp(o->known[i], o->condition) == 0)
      return comp__error(COMP_ERR_ARGUMENT, "known: '%s' is the attribute itself", o->known[i]);
  if (o->n_gammas > COMP__GAMMAS)
    return comp__error(COMP_ERR_ARGUMENT, "gammas: there are %zu, and at most %d can be tried", o->n_gammas,
                       (int)COMP__GAMMAS);
  for (size_t i = 0; i < o->n_gammas; i++) {
    char *end;
    const double gamma = strtod(o->gammas[i], &end);
    if (end == o->gammas[i] || *end || !(gamma >= 0 && gamma <= 1e9))
      return comp__error(COMP_ERR_ARGUMENT, "gammas: '%s' is not a number of 0 or more", o->gammas[i]);
  }
  return COMP_OK;
}

const comp__options_kind comp__audit_kind = {.name = "audit",
                                             .summary = "how well a representation hides an attribute",
                                             .size = sizeof(comp__audit_options),
                                             .rows = rows,
                                             .check = check};

comp__audit_options comp__audit_defaults(void) {
  comp__audit_options options;
  comp__options_defaults(&options, &comp__audit_kind);
  return options;
}
