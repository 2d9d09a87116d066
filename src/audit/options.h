/* options.h: what is audited, and how (kind "audit"). */
#ifndef COMP_AUDIT_OPTIONS_H
#define COMP_AUDIT_OPTIONS_H

#include "comp/audit.h"
#include "core/options.h"

enum { COMP__GAMMAS = 16 };

typedef struct comp__audit_options {
  const char *condition, *use, *before, *target, *favoured, *unseen;
  const char *const *known, *const *attackers, *const *releases;
  size_t n_known, n_attackers, n_releases;
  double delta, test_share;
  double target_weight; /* of the models of a frontier; below 0: as their preset has it */
  size_t points;
  const char *const *gammas; /* of the frontier, as text */
  size_t n_gammas, epochs;
  const char *preset;
  bool blind; /* the encoder does not see the condition */
  uint64_t seed;
} comp__audit_options;

extern const comp__options_kind comp__audit_kind;
comp__audit_options comp__audit_defaults(void);

/* A release: "draws", or "cells:K" with K of 2 .. 4096; *cells is 0 for draws. */
comp_status comp__release_parse(size_t *cells, const char *text);

/* What a model makes of the data. */
typedef struct comp__audited {
  const comp_matrix *z, *scale;
  const char *config; /* its options, as JSON */
} comp__audited;

/* As the public functions, with plain options. `given` NULL: what is audited is in obsm. */
comp_status comp__audit_run(comp_audit **out, comp_context *context, const comp_dataset *dataset,
                            const comp__audit_options *options, const comp__audited *given);

#endif
