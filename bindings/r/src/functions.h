/* functions.h: the functions that R calls by .Call(), and how many arguments they take. init.c registers them. */
#ifndef COMP_R_FUNCTIONS_H
#define COMP_R_FUNCTIONS_H

#ifndef R_NO_REMAP
#define R_NO_REMAP
#endif
#include <Rinternals.h>

/* clang-format off */
#define FUNCTIONS(F) \
  F(r_audit, 4) \
  F(r_bad_value, 1) \
  F(r_context_new, 3) \
  F(r_counterfactual, 4) \
  F(r_dataset_add_column, 3) \
  F(r_dataset_new, 4) \
  F(r_dataset_set_matrix, 5) \
  F(r_dataset_set_record, 2) \
  F(r_diagnose, 5) \
  F(r_embed, 4) \
  F(r_free, 1) \
  F(r_hint, 2) \
  F(r_layer_name, 1) \
  F(r_map, 5) \
  F(r_metric_titles, 1) \
  F(r_model_bytes, 1) \
  F(r_model_from_bytes, 1) \
  F(r_model_info, 1) \
  F(r_model_load, 1) \
  F(r_model_save, 2) \
  F(r_options_describe, 0) \
  F(r_options_new, 3) \
  F(r_prep, 3) \
  F(r_read, 3) \
  F(r_run, 3) \
  F(r_scores, 3) \
  F(r_scores_need_x, 1) \
  F(r_simulate, 2) \
  F(r_train, 3) \
  F(r_version, 0)
/* clang-format on */

#define ARGUMENTS_0      void
#define ARGUMENTS_1      SEXP
#define ARGUMENTS_2      SEXP, SEXP
#define ARGUMENTS_3      SEXP, SEXP, SEXP
#define ARGUMENTS_4      SEXP, SEXP, SEXP, SEXP
#define ARGUMENTS_5      SEXP, SEXP, SEXP, SEXP, SEXP
#define DECLARE(name, n) SEXP name(ARGUMENTS_##n);
FUNCTIONS(DECLARE)

#endif
