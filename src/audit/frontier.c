/* frontier.c: the trade-off between hiding and use: a model for each gamma, trained on part of the samples and audited
 * on the others. */
#include <stdlib.h>
#include <string.h>

#include "audit/columns.h"
#include "audit/hold.h"
#include "audit/result.h"
#include "comp/task.h"
#include "comp/train.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "train/options.h"
#include "verdict/json.h"

typedef struct frontier {
  comp_context *context;
  const comp__audit_options *o;
  comp_dataset *all;  /* samples whose attribute is known, with the column of those that models do not see */
  comp_dataset *seen; /* what models are trained on */
  json_t *points;
} frontier;

static comp_status select_known(frontier *f, const comp_dataset *d) {
  comp_groups g = {0};
  size_t column, n = 0, *rows = NULL;
  comp_status status;
  COMP__TRY(comp_table_require(&column, d->obs, f->o->condition));
  COMP__TRY(comp_table_groups(&g, d->obs, column));
  COMP__TRY(comp__alloc(&rows, d->samples, sizeof *rows));
  for (size_t i = 0; i < d->samples; i++)
    if (g.codes[i] >= 0) rows[n++] = i;
  if (n == 0) COMP__FAIL(COMP_ERR_DATA, "no sample has a value in column '%s'", f->o->condition);
  COMP__TRY(comp_dataset_select(&f->all, f->context, d, rows, n, NULL, 0));
done:
  comp_groups_release(&g);
  comp__free(rows);
  return status;
}

/* Divides the samples, with the same mix of the attribute. */
static comp_status divide(frontier *f) {
  comp_groups g = {0};
  size_t column, n = 0, *rows = NULL;
  bool *test = NULL;
  int8_t *unseen = NULL;
  comp_status status;
  const size_t samples = f->all->samples;
  COMP__TRY(comp_table_require(&column, f->all->obs, f->o->condition));
  COMP__TRY(comp_table_groups(&g, f->all->obs, column));
  COMP__TRY(comp__alloc(&rows, samples, sizeof *rows));
  COMP__TRY(comp__alloc(&test, samples, sizeof *test));
  COMP__TRY(comp__alloc(&unseen, samples, sizeof *unseen));
  COMP__TRY(comp__hold_out(test, g.codes, samples, g.n_levels, f->o->test_share, f->o->seed));
  for (size_t i = 0; i < samples; i++) {
    unseen[i] = test[i];
    if (!test[i]) rows[n++] = i;
  }
  COMP__TRY(comp_dataset_select(&f->seen, f->context, f->all, rows, n, NULL, 0));
  COMP__TRY(comp_table_add_bools(f->all->obs, COMP__UNSEEN, unseen));
done:
  comp_groups_release(&g);
  comp__free(rows);
  comp__free(test);
  comp__free(unseen);
  return status;
}

static comp_status train(comp_model **out, const frontier *f, const char *gamma) {
  comp_options *t = NULL;
  comp_status status = comp__options_new(&t, &comp__train_kind);
  if (status == COMP_OK) status = comp_options_set(t, "condition", f->o->condition);
  if (status == COMP_OK) status = comp_options_set(t, "preset", f->o->preset);
  if (status == COMP_OK) status = comp_options_set(t, "target", f->o->target);
  if (status == COMP_OK && f->o->target_weight >= 0)
    status = comp_options_set_real(t, "target-weight", f->o->target_weight);
  if (status == COMP_OK) status = comp_options_set(t, "gamma", gamma);
  if (status == COMP_OK) status = comp_options_set_int(t, "seed", (int64_t)f->o->seed);
  if (status == COMP_OK && f->o->epochs) status = comp_options_set_int(t, "epochs", (int64_t)f->o->epochs);
  if (status == COMP_OK && f->o->blind) status = comp_options_set_bool(t, "encoder-without-condition", true);
  int64_t batch = 0;
  const int64_t quarter = (int64_t)f->seen->samples / 4;
  if (status == COMP_OK) status = comp_options_get_int(&batch, t, "batch");
  if (status == COMP_OK && batch > quarter) status = comp_options_set_int(t, "batch", quarter < 32 ? 32 : quarter);
  if (status == COMP_OK) status = comp_train(out, f->context, f->seen, t);
  comp_options_free(t);
  return status;
}

static comp_status run_point(frontier *f, const char *gamma) {
  comp_model *model = NULL;
  comp_matrix *z = NULL, *scale = NULL;
  comp_audit *audit = NULL;
  comp__audit_options o = *f->o;
  comp_status status;
  COMP__TRY(train(&model, f, gamma));
  COMP__TRY(comp_embed(&z, &scale, f->context, model, f->all, NULL));
  const comp__audited given = {z, scale, comp_model_config(model)};
  o.use = "X_comp";
  o.unseen = COMP__UNSEEN;
  o.n_gammas = 0;
  COMP__TRY(comp__audit_run(&audit, f->context, f->all, &o, &given));
  COMP__TRY(comp__append(
      f->points, json_pack("{s:o, s:O}", "gamma", comp__json_number(strtod(gamma, NULL)), "audit", audit->root)));
done:
  comp_audit_free(audit);
  comp_matrix_free(z);
  comp_matrix_free(scale);
  comp_model_free(model);
  return status;
}

comp_status comp_audit_frontier(comp_audit **out, comp_context *context, const comp_dataset *dataset,
                                const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset, options);
  comp__audit_options o;
  *out = NULL;
  comp_status status = comp__options_resolve(&o, &comp__audit_kind, options);
  if (status != COMP_OK) return status;
  if (o.n_gammas == 0) return comp__error(COMP_ERR_ARGUMENT, "gammas: a frontier needs some");
  if (!o.target) return comp__error(COMP_ERR_ARGUMENT, "gammas: a frontier needs a target (--target)");
  if (o.unseen) return comp__error(COMP_ERR_ARGUMENT, "unseen: a frontier holds samples out itself");
  frontier f = {.context = context, .o = &o, .points = json_array()};
  comp_dataset *own = NULL;
  COMP__TRY(comp__dataset_need_x(dataset));
  COMP__TRY(comp__audit_columns(&own, context, dataset, &o));
  COMP__TRY(select_known(&f, own ? own : dataset));
  COMP__TRY(divide(&f));
  for (size_t i = 0; i < o.n_gammas; i++) COMP__TRY(run_point(&f, o.gammas[i]));
  json_t *first = json_object_get(json_array_get(f.points, 0), "audit");
  json_t *root = json_pack("{s:O, s:O, s:O, s:s, s:O, s:O, s:O}", "condition", json_object_get(first, "condition"),
                           "use", json_object_get(first, "use"), "target", json_object_get(first, "target"), "preset",
                           o.preset, "majority", json_object_get(first, "majority"), "levels",
                           json_object_get(first, "levels"), "points", f.points);
  if (!root) COMP__FAIL(COMP_ERR_MEMORY, "out of memory");
  COMP__TRY(comp__audit_finish(out, root));
done:
  comp_dataset_free(own);
  json_decref(f.points);
  comp_dataset_free(f.all);
  comp_dataset_free(f.seen);
  return status;
}
