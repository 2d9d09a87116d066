/* predictions.c: classifiers on embeddings. */
#include "score/predictions.h"

#include <string.h>

#include "core/alloc.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/table.h"

bool comp__predictions_wanted(const comp__scores_options *o) {
  return o->n_columns > 0 || o->train_on;
}

static comp_status read_groups(comp_groups *out, const comp_dataset *d, const char *column) {
  size_t c;
  comp_status status = comp_table_require(&c, d->obs, column);
  return status == COMP_OK ? comp_table_groups(out, d->obs, c) : status;
}

/* The number of a level; -1 when there is none of that name. */
static int32_t level_of(const comp_groups *groups, const char *name) {
  for (size_t l = 0; l < groups->n_levels; l++)
    if (strcmp(groups->levels[l], name) == 0) return (int32_t)l;
  return -1;
}

comp_status comp__predictions_look(const comp_dataset *d, const comp__scores_options *o) {
  const char *wanted[] = {o->train_on, o->test_on};
  comp_groups groups = {0};
  size_t column;
  comp_status status = COMP_OK;
  for (size_t c = 0; c < o->n_columns; c++) COMP__TRY(comp_table_require(&column, d->obs, o->columns[c]));
  if (o->unseen) COMP__TRY(comp_table_require(&column, d->obs, o->unseen));
  if (!o->train_on) return COMP_OK;
  COMP__TRY(read_groups(&groups, d, o->score.condition));
  for (int i = 0; i < 2; i++) {
    if (level_of(&groups, wanted[i]) >= 0) continue;
    COMP__FAIL(COMP_ERR_DATA, "no sample has '%s' in column '%s'%s", wanted[i], o->score.condition,
               comp__groups_hint(&groups, wanted[i]).text);
  }
done:
  comp_groups_release(&groups);
  return status;
}

static comp_status predict(comp__predicted *out, comp_context *context, const comp_matrix *z, const comp_groups *groups,
                           const comp_groups *conditions, const comp__scores_options *o) {
  comp_status status = comp__predictability(&out->result, context, z, groups->codes, groups->n_levels, &o->classify);
  if (status != COMP_OK || !o->fairness || strcmp(out->shown.column, o->score.condition) == 0) return status;
  status = comp__fairness(&out->fairness, context, z, groups->codes, groups->n_levels, conditions->codes,
                          conditions->n_levels, &o->classify);
  if (status == COMP_OK) out->shown.fairness = &out->fairness;
  return status;
}

/* The matrix of embedding number e, which was scored: so it is there. */
static const comp_matrix *embedding(const comp_dataset *d, const comp_score *score, size_t e) {
  return comp__score_matrix(d, comp_score_embedding_name(score, e));
}

/* Leaves the values of those samples alone that are marked in a column. */
static comp_status leave_unseen(comp_groups *groups, const comp_dataset *d, const char *column) {
  bool *marked;
  comp_status status = comp__alloc(&marked, d->samples, sizeof *marked);
  if (status != COMP_OK) return status;
  status = comp__table_marks(marked, d->obs, column);
  for (size_t i = 0; status == COMP_OK && i < d->samples; i++)
    if (!marked[i]) groups->codes[i] = -1;
  comp__free(marked);
  return status == COMP_OK ? COMP_OK : comp__error_context(status, "unseen");
}

static comp_status run_column(comp__predictions *out, comp_context *context, const comp_dataset *d,
                              const comp_score *score, const comp__scores_options *o, const char *column) {
  comp_groups groups = {0};
  comp_status status = read_groups(&groups, d, column);
  if (status == COMP_OK && o->unseen) status = leave_unseen(&groups, d, o->unseen);
  for (size_t e = 0; status == COMP_OK && e < comp_score_embedding_count(score); e++) {
    comp__predicted *item = &out->predicted[out->n_predicted++];
    status = comp__strdup(&item->column, column);
    item->shown = (comp_score_prediction){.column = item->column, .embedding = e, .result = &item->result};
    if (status == COMP_OK) status = predict(item, context, embedding(d, score, e), &groups, &out->conditions, o);
  }
  comp_groups_release(&groups);
  return status;
}

static comp_status run_transfer(comp__predictions *out, comp_context *context, const comp_dataset *d,
                                const comp_score *score, const comp__scores_options *o) {
  const int32_t from = level_of(&out->conditions, o->train_on), to = level_of(&out->conditions, o->test_on);
  comp_status status;
  COMP__TRY(read_groups(&out->labels, d, o->score.label));
  COMP__TRY(comp__calloc(&out->transfer, comp_score_embedding_count(score), sizeof *out->transfer));
  for (size_t e = 0; e < comp_score_embedding_count(score); e++) {
    COMP__TRY(comp__transfer(&out->transfer[e], context, embedding(d, score, e), out->conditions.codes, from, to,
                             out->labels.codes, out->labels.n_levels, &o->classify));
    out->n_transfer++;
  }
done:
  return status;
}

comp_status comp__predictions_run(comp__predictions *out, comp_context *context, const comp_dataset *d,
                                  const comp_score *score, const comp__scores_options *o) {
  comp_status status;
  COMP__TRY(read_groups(&out->conditions, d, o->score.condition));
  COMP__TRY(comp__calloc(&out->predicted, o->n_columns * comp_score_embedding_count(score), sizeof *out->predicted));
  for (size_t c = 0; c < o->n_columns; c++) COMP__TRY(run_column(out, context, d, score, o, o->columns[c]));
  if (o->train_on) COMP__TRY(run_transfer(out, context, d, score, o));
done:
  return status;
}

void comp__predictions_release(comp__predictions *p) {
  for (size_t i = 0; i < p->n_predicted; i++) {
    comp_predictability_release(&p->predicted[i].result);
    comp_fairness_release(&p->predicted[i].fairness);
    comp__free(p->predicted[i].column);
  }
  for (size_t e = 0; e < p->n_transfer; e++) comp_accuracy_release(&p->transfer[e]);
  comp__free(p->predicted);
  comp__free(p->transfer);
  comp_groups_release(&p->conditions);
  comp_groups_release(&p->labels);
  *p = (comp__predictions){0};
}
