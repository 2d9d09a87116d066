/* look.c: what the data of a run is, and whether its columns serve: before any work. */
#include <stdlib.h>
#include <string.h>

#include "comp/io.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/table.h"
#include "pipeline/job.h"
#include "task/reference.h"
#include "text/stream.h"
#include "verdict/before.h"

enum { MOST_CONDITIONS = COMP__MOST_CONDITIONS, FEWEST_SAMPLES = 10 };

/* Predictions are dense: of many conditions, or of many samples, only some are made unless all are asked for. */
enum { MOST_PREDICTED = 8 };
static const double MOST_BYTES = 2e9;

comp_status comp__error_in_data(const comp__job *job, comp_status status) {
  return status == COMP_ERR_DATA ? comp__error_in_file(status, job->source) : status;
}

/* ---- Columns --------------------------------------------------------------------------------------------------- */

static comp_status find_level(comp__job *job, const char *option, const char *value) {
  const comp_groups *g = &job->conditions;
  for (size_t l = 0; l < g->n_levels; l++)
    if (strcmp(g->levels[l], value) == 0) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "%s: no sample has '%s' in column '%s'%s (%s)", job->source, value,
                     job->o.train.condition, comp__groups_hint(g, value).text, option);
}

/* "COL=A,B", so that samples without a value are left out. */
static comp_status keep_known(comp__job *job, size_t missing) {
  const comp_groups *g = &job->conditions;
  size_t size;
  free(job->keep_known);
  FILE *text = comp__text_stream(&job->keep_known, &size);
  if (!text) return comp__error(COMP_ERR_MEMORY, "out of memory");
  fprintf(text, "%s=", job->o.train.condition);
  bool comma = false;
  for (size_t l = 0; l < g->n_levels; l++) {
    fprintf(text, "%s%s", l ? "," : "", g->levels[l]);
    comma = comma || strchr(g->levels[l], ',');
  }
  if (fclose(text) != 0) return comp__error(COMP_ERR_MEMORY, "out of memory");
  if (comma)
    return comp__error(COMP_ERR_DATA,
                       "%s: %zu samples have no value in column '%s': leave them out first, with comp prep --keep",
                       job->source, missing, job->o.train.condition);
  comp__info(job->context, "%zu samples have no value in '%s' and are left out", missing, job->o.train.condition);
  return COMP_OK;
}

static comp_status check_condition(comp__job *job, const comp_table *obs) {
  const comp__run_options *o = &job->o;
  comp_groups *g = &job->conditions;
  const char *path = job->source;
  size_t column;
  comp_status status = comp_table_require(&column, obs, o->train.condition);
  if (status == COMP_OK) status = comp_table_groups(g, obs, column);
  if (status != COMP_OK) return comp__error_in_data(job, status);
  if (g->rows == 0 && o->prep.filter.n_keep) return comp__error(COMP_ERR_DATA, "%s: --keep leaves no sample", path);
  if (g->n_levels < 2)
    return comp__error(
        COMP_ERR_DATA,
        "%s: column '%s' has %s%s: a condition needs two or more values. Name another column with --condition", path,
        o->train.condition, g->n_levels ? "one value only" : "no values",
        o->prep.filter.n_keep ? " in the samples that --keep leaves" : "");
  if (g->n_levels > MOST_CONDITIONS)
    return comp__error(COMP_ERR_DATA,
                       "%s: column '%s' has %zu different values, and a condition has %d at most. Choose a column of "
                       "groups, such as the batch or the treatment (--condition)",
                       path, o->train.condition, g->n_levels, (int)MOST_CONDITIONS);
  size_t known = 0;
  for (size_t l = 0; l < g->n_levels; l++) {
    known += g->counts[l];
    if (g->counts[l] < FEWEST_SAMPLES)
      return comp__error(COMP_ERR_DATA,
                         "%s: condition '%s' (column '%s') has %zu sample%s, and each condition needs %d or more. "
                         "Leave it out (--keep "
                         "%s=VALUE,...) or merge it with another one",
                         path, g->levels[l], o->train.condition, g->counts[l], g->counts[l] == 1 ? "" : "s",
                         FEWEST_SAMPLES, o->train.condition);
  }
  if (known < g->rows && !job->table) return keep_known(job, g->rows - known);
  return COMP_OK;
}

/* A label or a target: some values, each of several samples. */
static comp_status check_groups(comp__job *job, const comp_table *obs, const char *option, const char *name) {
  comp_groups g = {0};
  size_t column;
  if (!name) return COMP_OK;
  if (strcmp(name, job->o.train.condition) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "%s and --condition are the same column", option);
  comp_status status = comp_table_require(&column, obs, name);
  if (status == COMP_OK) status = comp_table_groups(&g, obs, column);
  if (status != COMP_OK) return comp__error_in_data(job, status);
  if (g.n_levels == 0)
    status = comp__error(COMP_ERR_DATA, "%s: column '%s' has no values", job->source, name);
  else if (g.n_levels > 2 && g.n_levels > g.rows / 4)
    status = comp__error(COMP_ERR_DATA,
                         "%s: column '%s' has %zu different values in %zu samples, too many for a %s. Choose a column "
                         "whose values many samples share (%s)",
                         job->source, name, g.n_levels, g.rows, option + 2, option);
  comp_groups_release(&g);
  return status;
}

/* Predictions of two conditions may not go by the same name. */
static comp_status check_layers(comp__job *job) {
  const comp_groups *g = &job->conditions;
  char first[COMP_LAYER_NAME_SIZE], second[COMP_LAYER_NAME_SIZE];
  for (size_t a = 0; a < g->n_levels; a++) {
    comp_counterfactual_layer_name(first, g->levels[a]);
    for (size_t b = a + 1; b < g->n_levels; b++) {
      comp_counterfactual_layer_name(second, g->levels[b]);
      if (strcmp(first, second) == 0)
        return comp__error(
            COMP_ERR_DATA,
            "%s: the predictions for '%s' and '%s' of column '%s' would both be the layer '%s': rename one "
            "of the two values",
            job->source, g->levels[a], g->levels[b], job->o.train.condition, first);
    }
  }
  return COMP_OK;
}

/* The condition that others are compared with: the user's, a control by its name, else the first. */
static comp_status choose_reference(comp__job *job) {
  const comp_groups *g = &job->conditions;
  size_t control = comp__reference_by_name(g);
  job->reference = job->o.reference ? job->o.reference : g->levels[control == COMP_NOT_FOUND ? 0 : control];
  job->reference_named = !job->o.reference && control != COMP_NOT_FOUND;
  return job->o.reference ? find_level(job, "--reference", job->o.reference) : COMP_OK;
}

bool comp__layer_is_large(const comp__job *job) {
  return job->layer_bytes > MOST_BYTES && !job->o.all_counterfactuals;
}

bool comp__is_predicted(const comp__job *job, const char *condition) {
  for (size_t i = 0; i < job->n_predicted; i++)
    if (strcmp(job->predicted[i], condition) == 0) return true;
  return false;
}

/* The conditions that samples are predicted under: that of `to`, the reference, and as many others, from the first on,
 * as the limits allow. */
static void choose_predicted(comp__job *job) {
  const comp_groups *g = &job->conditions;
  size_t most = job->o.to ? 1 : g->n_levels, left, n = 0;
  if (!job->o.to && !job->o.all_counterfactuals) {
    if (most > MOST_PREDICTED) most = MOST_PREDICTED;
    while (most > 1 && (double)most * job->layer_bytes > MOST_BYTES) most--;
  }
  const bool both = most > 1 && strcmp(job->to, job->reference) != 0;
  left = most - 1 - both; /* for others than these two */
  for (size_t l = 0; l < g->n_levels; l++) {
    bool wanted = strcmp(g->levels[l], job->to) == 0 || (both && strcmp(g->levels[l], job->reference) == 0);
    if (!wanted && left == 0) continue;
    left -= !wanted;
    job->predicted[n++] = g->levels[l];
  }
  job->n_predicted = n;
}

/* From which condition to which predictions are shown first: away from the reference. */
static comp_status choose_change(comp__job *job) {
  const comp__run_options *o = &job->o;
  const comp_groups *g = &job->conditions;
  comp_status status = COMP_OK;
  if (o->to) status = find_level(job, "--to", o->to);
  if (status == COMP_OK && o->from) status = find_level(job, "--from", o->from);
  if (status == COMP_OK) status = choose_reference(job);
  if (status != COMP_OK) return status;
  if (o->from && o->to && strcmp(o->from, o->to) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "--from and --to are the same condition");
  if ((o->protect && !o->to) || o->no_counterfactual) return COMP_OK;
  const char *away = o->from ? o->from : job->reference;
  job->to = o->to;
  for (size_t l = g->n_levels; l > 0 && !job->to; l--)
    if (strcmp(g->levels[l - 1], away) != 0) job->to = g->levels[l - 1];
  if (!job->to) return comp__error(COMP_ERR_DATA, "all samples have the same condition: there is nothing to predict");
  job->from = o->from ? o->from : strcmp(job->reference, job->to) != 0 ? job->reference : NULL;
  for (size_t l = 0; l < g->n_levels && !job->from; l++)
    if (strcmp(g->levels[l], job->to) != 0) job->from = g->levels[l];
  choose_predicted(job);
  return check_layers(job);
}

/* Whether row i has one of the values of "COL=A,B". */
static bool is_kept(const comp_table *obs, size_t column, const char *values, size_t i) {
  char buffer[256];
  const char *text = comp_table_format(obs, column, i, buffer, sizeof buffer);
  size_t length = strlen(text);
  for (const char *at = values;; at += strcspn(at, ",") + 1) {
    if (strcspn(at, ",") == length && strncmp(at, text, length) == 0) return true;
    if (!at[strcspn(at, ",")]) return false;
  }
}

/* The rows that the option `keep` leaves. *out should be freed via comp_table_free(). */
static comp_status keep_rows(comp_table **out, const comp__job *job, const comp_table *obs) {
  const char *const *keep = job->o.prep.filter.keep;
  size_t n = 0, column, *rows = NULL;
  comp_status status = comp__alloc(&rows, comp_table_row_count(obs) + 1, sizeof *rows);
  for (size_t i = 0; rows && i < comp_table_row_count(obs); i++) rows[n++] = i;
  for (size_t k = 0; k < job->o.prep.filter.n_keep && status == COMP_OK; k++) {
    const char *equals = strchr(keep[k], '='); /* there is one: the options were checked */
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(equals - keep[k]), keep[k]);
    status = comp_table_require(&column, obs, name);
    size_t left = 0;
    for (size_t i = 0; i < n && status == COMP_OK; i++)
      if (is_kept(obs, column, equals + 1, rows[i])) rows[left++] = rows[i];
    n = left;
  }
  if (status == COMP_OK) status = comp_table_select(out, obs, rows, n);
  comp__free(rows);
  return status;
}

/* Whether anything can be learned of labels by conditions: asked before any work, and again of what filters leave. */
static comp_status check_design(comp__job *job, const comp_table *obs) {
  comp__findings list = {0};
  const bool again = job->findings != NULL;
  bool hopeless;
  comp_status status;
  json_decref(job->findings);
  job->findings = NULL;
  COMP__TRY(comp__judge_design(&list, &hopeless, obs, job->o.train.condition, job->o.label));
  COMP__TRY(comp__findings_write(&job->findings, &list));
  if (again && job->record) json_object_set(job->record, "findings", job->findings);
  if (hopeless && !job->o.force)
    COMP__FAIL(COMP_ERR_DATA, "%s: %s %s --force runs it anyway.", job->source, list.items[0].text,
               list.items[0].advice);
  for (size_t i = 0; i < list.count && !again; i++)
    comp__warn(job->context, "%s: %s %s", comp_finding_level_name(list.items[i].level), list.items[i].text,
               list.items[i].advice);
done:
  comp__findings_release(&list);
  return status;
}

comp_status comp__check_obs(comp__job *job, const comp_table *obs) {
  const comp__run_options *o = &job->o;
  comp_status status = check_condition(job, obs);
  if (status == COMP_OK) status = check_groups(job, obs, "--label", o->label);
  if (status == COMP_OK) status = check_groups(job, obs, "--target", o->target);
  if (status == COMP_OK && o->k >= job->conditions.rows)
    status = comp__error(COMP_ERR_DATA, "%s: %zu neighbours (--k) are too many for %zu samples: give a smaller --k",
                         job->source, o->k, job->conditions.rows);
  if (status == COMP_OK) status = check_design(job, obs);
  return status == COMP_OK ? choose_change(job) : status;
}

/* Whether the data is a table of numbers and names; options that are for the other kind are an error. */
static comp_status choose_kind(comp__job *job) {
  static const char *const for_tables[] = {"drop", "drop-missing"}, *const for_genes[] = {"hvg", "no-hvg", "keep",
                                                                                          "values"};
  const comp__run_options *o = &job->o;
  bool text = strcmp(job->format, "csv") == 0;
  job->table = o->as == COMP__AS_TABLE || (o->as == COMP__AS_AUTO && text && !o->read.metadata && !o->read.transpose);
  if (job->table && !text)
    return comp__error(COMP_ERR_DATA, "%s: not a text table: --as table is for .csv and .tsv", job->source);
  for (size_t i = 0; i < 4 && job->table; i++)
    if (comp_options_given(job->options, for_genes[i]))
      return comp__error(COMP_ERR_ARGUMENT, "--%s is not for tables", for_genes[i]);
  for (size_t i = 0; i < 2 && !job->table; i++)
    if (comp_options_given(job->options, for_tables[i]))
      return comp__error(COMP_ERR_ARGUMENT, "--%s is for tables only", for_tables[i]);
  return COMP_OK;
}

/* Before the preparation it is not known how many features it leaves: about so many. */
static void estimate_layer(comp__job *job, double samples, double features) {
  const comp__run_options *o = &job->o;
  double most = o->prep.hvg.flavor != COMP_HVG_NONE && o->prep.hvg.n ? (double)o->prep.hvg.n : 2000;
  job->layer_bytes = samples * (o->no_hvg || job->table || features < most ? features : most) * (double)sizeof(float);
}

static comp_status check_table(comp__job *job) {
  comp_table *table = NULL;
  comp_status status = comp__table_read(&table, job->context, job->o.input, &job->o.read);
  if (status == COMP_OK)
    estimate_layer(job, (double)comp_table_row_count(table), (double)comp_table_column_count(table));
  status = status == COMP_OK ? comp__check_obs(job, table) : comp__error_in_data(job, status);
  comp_table_free(table);
  return status;
}

/* The tables of a data set, in which the samples are. */
static comp_status check_samples(comp__job *job, const comp_dataset *dataset) {
  comp_table *kept = NULL;
  comp_status status = keep_rows(&kept, job, comp_dataset_obs(dataset));
  if (status == COMP_OK)
    estimate_layer(job, (double)comp_table_row_count(kept), (double)comp_dataset_feature_count(dataset));
  status = status == COMP_OK ? comp__check_obs(job, kept) : comp__error_in_data(job, status);
  comp_table_free(kept);
  return status;
}

static comp_status check_file(comp__job *job) {
  comp__read_options read = job->o.read;
  comp_dataset *names = NULL;
  read.skip_slots = true;
  read.skip_x = strcmp(job->format, "csv") != 0; /* a text table is recognised by its values */
  read.layer = NULL;
  comp_status status = comp__dataset_read(&names, job->context, job->o.input, &read);
  status = status == COMP_OK ? check_samples(job, names) : comp__error_in_data(job, status);
  comp_dataset_free(names);
  return status;
}

comp_status comp__check_data(comp__job *job) {
  comp_status status = job->given ? COMP_OK : comp_file_format(&job->format, job->o.input);
  if (status == COMP_OK) status = choose_kind(job);
  if (status != COMP_OK) return status;
  return job->given ? check_samples(job, job->given) : job->table ? check_table(job) : check_file(job);
}
