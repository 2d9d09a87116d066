/*
 * score.c: from options and a data set to a table of values: which metrics, which embeddings, which samples; and the
 * neighbour searches that metrics share.
 */
#include "metrics/score.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comp/suggest.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/strings.h"

struct comp_score {
  size_t samples;
  size_t n_embeddings, n_metrics;
  comp__strings embeddings;
  size_t *dims;   /* [n_embeddings] */
  size_t *chosen; /* [n_metrics] rows of the table */
  comp_groups conditions, labels;
  comp__score_cell *cells; /* [n_embeddings, n_metrics] */
};

/* ------------------------------------------------------------------------------------------------ lists of names */

/* Appends names, each once. */
static comp_status append_names(comp__strings *out, const char *const *names, size_t n, const char *option) {
  for (size_t k = 0; k < n; k++) {
    bool known = false;
    if (!names[k][0]) return comp__error(COMP_ERR_ARGUMENT, "%s: a name is empty", option);
    for (size_t i = 0; i < out->count; i++) known = known || strcmp(comp__strings_get(out, i), names[k]) == 0;
    comp_status status = known ? COMP_OK : comp__strings_append(out, names[k], strlen(names[k]));
    if (status != COMP_OK) return status;
  }
  return COMP_OK;
}

/* Names that stand for several families. */
static const char *const groups[] = {"scib", "all"};
enum { N_GROUPS = sizeof groups / sizeof *groups };

static bool in_family(const comp__metric *metric, const char *name) {
  const char *family = metric->info.family;
  if (strcmp(name, "all") == 0 || strcmp(name, family) == 0) return true;
  const comp__metric_family *row = comp__metric_family_find(family);
  return strcmp(name, "scib") == 0 && row && row->scib;
}

static bool is_total_of(const comp__metric *total, const comp__metric *metric) {
  return total->total_of && metric->in_total && strstr(total->total_of, metric->info.family);
}

/* The end of a message about an unknown name. */
static comp_hint hint_of(const char *name) {
  comp_suggest search = {.word = name};
  for (size_t i = 0; comp__metric_family_at(i); i++) comp_suggest_offer(&search, comp__metric_family_at(i)->name);
  for (size_t i = 0; i < N_GROUPS; i++) comp_suggest_offer(&search, groups[i]);
  for (size_t i = 0; i < comp__metrics_count(); i++) comp_suggest_offer(&search, comp__metric_at(i)->info.name);
  return comp_suggest_hint(&search);
}

enum { NOT_CHOSEN, CHOSEN_BY_FAMILY, CHOSEN_BY_NAME };

/* The metric of that name; NULL: it is none. */
static const comp__metric *find_metric(const char *name) {
  for (size_t m = 0; m < comp__metrics_count(); m++)
    if (strcmp(comp__metric_at(m)->info.name, name) == 0) return comp__metric_at(m);
  return NULL;
}

/* how [metrics]: whether and how each metric of the table is asked for. A total brings what it is the mean of. */
static comp_status choose(char *how, const comp__score_options *o) {
  static const char *const usual[] = {"paper"};
  const char *const *names = o->n_metrics ? o->metrics : usual;
  const size_t n = o->n_metrics ? o->n_metrics : 1;
  memset(how, NOT_CHOSEN, comp__metrics_count());
  for (size_t i = 0; i < n; i++) {
    const comp__metric *named = find_metric(names[i]);
    bool found = named != NULL;
    if (!names[i][0]) return comp__error(COMP_ERR_ARGUMENT, "metrics: a name is empty");
    for (size_t m = 0; m < comp__metrics_count(); m++) {
      const comp__metric *metric = comp__metric_at(m);
      bool family = in_family(metric, names[i]);
      if (metric == named) how[m] = CHOSEN_BY_NAME;
      if (!how[m] && (family || (named && is_total_of(named, metric)))) how[m] = CHOSEN_BY_FAMILY;
      found = found || family;
    }
    if (found) continue;
    return comp__error(COMP_ERR_ARGUMENT, "metrics: there is no metric '%s'%s", names[i], hint_of(names[i]).text);
  }
  return COMP_OK;
}

comp_status comp__score_check(const comp__score_options *o) {
  comp_status status;
  char *how = NULL;
  comp__strings names = {0};
  COMP__TRY(comp__alloc(&how, comp__metrics_count(), 1));
  if (!o->condition || !o->condition[0]) COMP__FAIL(COMP_ERR_ARGUMENT, "condition: a column of obs is needed");
  if (o->label && strcmp(o->label, o->condition) == 0)
    COMP__FAIL(COMP_ERR_ARGUMENT, "label: '%s' is the condition", o->label);
  if (!o->before[0]) COMP__FAIL(COMP_ERR_ARGUMENT, "before: a name is needed");
  COMP__TRY(append_names(&names, o->embeddings, o->n_embeddings, "use"));
  COMP__TRY(choose(how, o));
  for (size_t m = 0; m < comp__metrics_count(); m++)
    if (how[m] == CHOSEN_BY_NAME && comp__metric_at(m)->info.needs_label && !o->label)
      COMP__FAIL(COMP_ERR_ARGUMENT, "metrics: %s needs a label", comp__metric_at(m)->info.name);
done:
  comp__strings_release(&names);
  comp__free(how);
  return status;
}

comp_status comp__score_needs_x(bool *out, const comp__score_options *o) {
  char *how = NULL;
  comp_status status;
  *out = false;
  for (size_t i = 0; i < o->n_embeddings; i++) *out = *out || strcmp(o->embeddings[i], "X") == 0;
  COMP__TRY(comp__alloc(&how, comp__metrics_count(), 1));
  COMP__TRY(choose(how, o));
  for (size_t m = 0; m < comp__metrics_count(); m++)
    *out = *out || (strcmp(o->before, "X") == 0 && how[m] && comp__metric_at(m)->before);
done:
  comp__free(how);
  return status;
}

/* --------------------------------------------------------------------------------------------------------- views */

static void release_view(comp__view *view) {
  comp_matrix_free(view->owned);
  comp_neighbors_free(view->neighbors);
  comp__free(view->condition);
  comp__free(view->label);
  comp__free(view->rows);
  comp__free(view->condition_counts);
  comp__free(view->by_label);
  comp__free(view->label_starts);
  *view = (comp__view){0};
}

/* A view of the given rows of a dense matrix; takes `rows` over, also when it fails. */
static comp_status make_view(comp__view *out, comp__scoring *s, const comp_matrix *matrix, size_t *rows, size_t n,
                             const int32_t *condition, const int32_t *label) {
  comp_status status;
  *out = (comp__view){.n = n, .dims = matrix->cols, .matrix = matrix, .rows = rows};
  if (n < matrix->rows) {
    COMP__TRY(comp_matrix_select(&out->owned, s->context, matrix, rows, n, NULL, 0));
    out->matrix = out->owned;
  }
  COMP__TRY(comp__alloc(&out->condition, n, sizeof *out->condition));
  COMP__TRY(comp__calloc(&out->condition_counts, s->n_conditions, sizeof *out->condition_counts));
  if (label) COMP__TRY(comp__alloc(&out->label, n, sizeof *out->label));
  for (size_t i = 0; i < n; i++) {
    out->condition[i] = condition[rows[i]];
    out->condition_counts[condition[rows[i]]]++;
    if (label) out->label[i] = label[rows[i]];
  }
  for (size_t c = 0; c < s->n_conditions; c++) out->present += out->condition_counts[c] > 0;
done:
  return status;
}

comp_status comp__view_neighbors(const comp_neighbors **out, comp__scoring *s, comp__view *view, size_t k) {
  comp__neighbors_options options = comp__neighbors_defaults();
  if (k > view->n - 1) k = view->n - 1;
  if (view->neighbors && comp_neighbors_k(view->neighbors) >= k) {
    *out = view->neighbors;
    return COMP_OK;
  }
  size_t wanted = view == &s->all ? s->wanted_k[0] : view == &s->some ? s->wanted_k[1] : 0;
  options.k = wanted > k ? wanted : k;
  if (options.k > view->n - 1) options.k = view->n - 1;
  options.search = s->options->search;
  comp_neighbors_free(view->neighbors);
  view->neighbors = NULL;
  comp_status status = comp__neighbors_find(&view->neighbors, s->context, view->matrix, &options);
  *out = view->neighbors;
  return status;
}

comp_status comp__view_neighborhoods(comp__neighborhoods *out, comp__scoring *s, comp__view *view, size_t k) {
  const comp_neighbors *neighbors;
  if (k >= view->n)
    return comp__error(COMP_ERR_DATA, "k: %zu neighbours are asked for, but there are %zu samples; give a smaller k", k,
                       view->n);
  comp_status status = comp__view_neighbors(&neighbors, s, view, k);
  if (status != COMP_OK) return status;
  *out = (comp__neighborhoods){.n = view->n,
                               .k = k,
                               .stride = comp_neighbors_k(neighbors),
                               .indices = comp_neighbors_indices(neighbors),
                               .distances = comp_neighbors_distances(neighbors),
                               .group = view->condition,
                               .groups = s->n_conditions,
                               .counts = view->condition_counts,
                               .n_rows = view->n};
  return COMP_OK;
}

/* Sorts the samples by label, once: a pass over all of them for each label would be too much for thousands. */
static comp_status sort_by_label(comp__view *view, size_t labels) {
  comp_status status;
  size_t *starts = NULL, *order = NULL;
  COMP__TRY(comp__calloc(&starts, labels + 2, sizeof *starts));
  COMP__TRY(comp__alloc(&order, view->n, sizeof *order));
  for (size_t i = 0; i < view->n; i++)
    if (view->label[i] >= 0) starts[view->label[i] + 2]++;
  for (size_t l = 0; l < labels; l++) starts[l + 2] += starts[l + 1];
  for (size_t i = 0; i < view->n; i++)
    if (view->label[i] >= 0) order[starts[view->label[i] + 1]++] = i;
  view->by_label = order;
  view->label_starts = starts;
  order = starts = NULL;
done:
  comp__free(starts);
  comp__free(order);
  return status;
}

comp_status comp__view_members(const size_t **out, size_t *n, comp__view *view, size_t labels, size_t label) {
  comp_status status = view->by_label ? COMP_OK : sort_by_label(view, labels);
  if (status != COMP_OK) return status;
  *out = view->by_label + view->label_starts[label];
  *n = view->label_starts[label + 1] - view->label_starts[label];
  return COMP_OK;
}

static comp_status make_label_view(comp__scoring *s, size_t label) {
  comp__view *from = s->labelled;
  const size_t *members;
  size_t n, *rows;
  comp_status status = comp__view_members(&members, &n, from, s->n_labels, label);
  if (status == COMP_OK) status = comp__alloc(&rows, n, sizeof *rows);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < n; i++) rows[i] = members[i];
  return make_view(&s->by_label[label], s, from->matrix, rows, n, from->condition, NULL);
}

comp_status comp__scoring_label(comp__view **out, comp__scoring *s, size_t label) {
  comp_status status = comp__check_interrupt(s->context);
  if (status != COMP_OK) return status;
  if (!s->has_by_label) {
    status = comp__calloc(&s->by_label, s->n_labels, sizeof *s->by_label);
    if (status != COMP_OK) return status;
    s->has_by_label = true;
  }
  *out = &s->by_label[label];
  if (!(*out)->rows) status = make_label_view(s, label);
  return status;
}

/* --------------------------------------------------------------------------------------------------------- cells */

comp_status comp__cell_add(comp__score_cell *cell, const comp__scoring *s, size_t label, size_t condition,
                           size_t samples, size_t k, double value, const char *left_out) {
  comp_status status = comp__grow(&cell->parts, &cell->capacity, cell->n_parts, cell->n_parts + 1, sizeof *cell->parts);
  if (status != COMP_OK) return status;
  cell->parts[cell->n_parts++] =
      (comp_score_part){.label = label == COMP_NOT_FOUND ? NULL : s->label_names[label],
                        .condition = condition == COMP_NOT_FOUND ? NULL : s->condition_names[condition],
                        .samples = samples,
                        .k = k,
                        .value = value,
                        .left_out = left_out};
  return COMP_OK;
}

comp_status comp__cell_fail(comp__score_cell *cell, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  comp__free(cell->note);
  cell->value = NAN;
  cell->interval = (comp__interval){NAN, NAN};
  cell->chance = NAN;
  return comp__strdup(&cell->note, text);
}

comp_status comp__cell_mean_labels(comp__score_cell *cell) {
  double sum = 0.0;
  size_t n = 0;
  for (size_t p = 0; p < cell->n_parts; p++) {
    const comp_score_part *part = &cell->parts[p];
    if (!part->label || part->condition || part->left_out) continue;
    sum += part->value;
    n++;
  }
  if (n == 0) return comp__cell_fail(cell, "every label was left out");
  cell->value = sum / (double)n;
  return COMP_OK;
}

/* ----------------------------------------------------------------------------------------------------------- run */

const comp_matrix *comp__score_matrix(const comp_dataset *d, const char *name) {
  const comp_matrix *matrix = comp_dataset_matrix(d, COMP_SLOT_OBSM, name);
  return matrix || strcmp(name, "X") != 0 ? matrix : d->x;
}

static comp_status find_matrix(const comp_matrix **out, const comp_dataset *d, const char *name) {
  *out = comp__score_matrix(d, name);
  if (*out) return COMP_OK;
  if (strcmp(name, "X") == 0) return comp__error(COMP_ERR_ARGUMENT, "X was not read");
  const comp_hint hint = comp__entry_hint(d, COMP_SLOT_OBSM, name);
  if (hint.text[0]) return comp__error(COMP_ERR_DATA, "there is no embedding '%s' in obsm%s", name, hint.text);
  return comp__error(COMP_ERR_DATA, "there is no embedding '%s' in obsm%s", name,
                     comp_dataset_matrix_count(d, COMP_SLOT_OBSM) ? " (what is sparse or a table there is not read)"
                                                                  : ", which is empty; 'X' means the data itself");
}

static comp_status list_embeddings(comp__strings *out, const comp_dataset *d, const comp__score_options *o) {
  if (o->n_embeddings) return append_names(out, o->embeddings, o->n_embeddings, "use");
  if (comp_dataset_matrix(d, COMP_SLOT_OBSM, "X_comp")) return comp__strings_append(out, "X_comp", 6);
  for (size_t i = 0; i < comp_dataset_matrix_count(d, COMP_SLOT_OBSM); i++) {
    const char *name = comp_dataset_matrix_name(d, COMP_SLOT_OBSM, i);
    comp_status status = comp__strings_append(out, name, strlen(name));
    if (status != COMP_OK) return status;
  }
  if (out->count == 0)
    return comp__error(COMP_ERR_DATA,
                       "obsm holds no embedding; make one with comp embed, or score 'X', the data itself");
  return COMP_OK;
}

static comp_status read_groups(comp_groups *out, const comp_dataset *d, const char *column) {
  size_t c;
  comp_status status = comp_table_require(&c, d->obs, column);
  return status == COMP_OK ? comp_table_groups(out, d->obs, c) : status;
}

static comp_status choose_metrics(comp_score *score, comp_context *context, const comp__score_options *o) {
  comp_status status;
  char *how = NULL;
  size_t skipped = 0, count = comp__metrics_count();
  COMP__TRY(comp__alloc(&how, count, 1));
  COMP__TRY(choose(how, o));
  COMP__TRY(comp__alloc(&score->chosen, count, sizeof *score->chosen));
  for (size_t m = 0; m < count; m++) {
    if (!how[m]) continue;
    if (comp__metric_at(m)->info.needs_label && !o->label)
      skipped++;
    else
      score->chosen[score->n_metrics++] = m;
  }
  if (score->n_metrics == 0) COMP__FAIL(COMP_ERR_ARGUMENT, "metrics: all of them need a label");
  if (skipped) comp__info(context, "%zu metrics are left out, because they need a label", skipped);
done:
  comp__free(how);
  return status;
}

static size_t count_known(const comp_groups *g) {
  size_t known = 0;
  for (size_t l = 0; l < g->n_levels; l++) known += g->counts[l];
  return known;
}

/* A name for each sample is no condition and no label: every group would have one sample or two. */
static comp_status check_groups(const comp_groups *g, const char *column, const char *what) {
  const size_t known = count_known(g);
  if (g->n_levels <= 2 || g->n_levels <= known / 2) return COMP_OK;
  return comp__error(COMP_ERR_DATA,
                     "column '%s' has %zu different values in %zu samples: too many for a %s; "
                     "name a column whose values many samples share",
                     column, g->n_levels, known, what);
}

static comp_status check_conditions(const comp_score *score, const comp__score_options *o) {
  const comp_groups *g = &score->conditions;
  if (g->n_levels >= 2) return check_groups(g, o->condition, "condition");
  return comp__error(COMP_ERR_DATA, "column '%s' has %s; mixing needs at least two conditions", o->condition,
                     g->n_levels ? "the same value in all samples" : "no value at all");
}

/* Samples without a label take part in what needs none. */
static comp_status check_labels(const comp_score *score, comp_context *context, const comp__score_options *o,
                                size_t samples) {
  const comp_groups *g = &score->labels;
  const size_t known = count_known(g);
  if (known < samples && known > 0)
    comp__warn(context, "column '%s' is empty in %zu of %zu samples: they have no part in what needs a label", o->label,
               samples - known, samples);
  return check_groups(g, o->label, "label");
}

static comp_status prepare(comp_score *score, comp_context *context, const comp_dataset *d,
                           const comp__score_options *o) {
  comp_status status;
  COMP__TRY(comp__score_check(o));
  COMP__TRY(choose_metrics(score, context, o));
  COMP__TRY(read_groups(&score->conditions, d, o->condition));
  COMP__TRY(check_conditions(score, o));
  if (o->label) {
    COMP__TRY(read_groups(&score->labels, d, o->label));
    COMP__TRY(check_labels(score, context, o, comp_dataset_sample_count(d)));
  }
  COMP__TRY(list_embeddings(&score->embeddings, d, o));
  score->n_embeddings = score->embeddings.count;
  for (size_t e = 0; e < score->n_embeddings; e++) {
    const comp_matrix *matrix;
    COMP__TRY(find_matrix(&matrix, d, comp__strings_get(&score->embeddings, e)));
  }
  COMP__TRY(comp__calloc(&score->dims, score->n_embeddings, sizeof *score->dims));
  COMP__TRY(comp__calloc(&score->cells, score->n_embeddings * score->n_metrics, sizeof *score->cells));
  for (size_t i = 0; i < d->samples; i++) score->samples += score->conditions.codes[i] >= 0;
  if (score->samples < d->samples)
    comp__warn(context, "%zu samples have no '%s' and take no part", d->samples - score->samples, o->condition);
done:
  return status;
}

/* The samples of an embedding that have a condition, and with `labelled` a label too. */
static comp_status make_selection(comp__view *out, comp__scoring *s, const comp_score *score, const comp_matrix *matrix,
                                  bool labelled) {
  const int32_t *condition = score->conditions.codes, *label = score->labels.codes;
  size_t n = 0, *rows;
  comp_status status = comp__alloc(&rows, matrix->rows, sizeof *rows);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < matrix->rows; i++)
    if (condition[i] >= 0 && (!labelled || label[i] >= 0)) rows[n++] = i;
  return make_view(out, s, matrix, rows, n, condition, label);
}

static comp_status make_views(comp__scoring *s, const comp_score *score, const comp_matrix *matrix) {
  comp_status status = make_selection(&s->all, s, score, matrix, false);
  if (status != COMP_OK || !score->labels.codes) return status;
  s->labelled = &s->all;
  for (size_t i = 0; i < s->all.n; i++)
    if (s->all.label[i] < 0) s->labelled = &s->some;
  return s->labelled == &s->some ? make_selection(&s->some, s, score, matrix, true) : COMP_OK;
}

static void find_wanted(comp__scoring *s) {
  for (size_t m = 0; m < s->n_chosen; m++) {
    const comp__metric *metric = comp__metric_at(s->chosen[m]);
    size_t k = metric->k == COMP__K_OPTION ? s->options->k : metric->k;
    size_t *wanted = &s->wanted_k[metric->info.needs_label && s->labelled == &s->some];
    if (k > *wanted) *wanted = k;
  }
}

static void release_scoring(comp__scoring *s) {
  release_view(&s->all);
  release_view(&s->some);
  for (size_t l = 0; s->has_by_label && l < s->n_labels; l++) release_view(&s->by_label[l]);
  comp__free(s->by_label);
  comp__free(s->label_widths);
  comp__free(s->clusters);
  comp__free(s->leiden);
}

/* Beyond this, squares of distances are no numbers any more. */
static const float LARGEST = 1e15f;

static comp_status check_values(comp_context *context, const comp_matrix *matrix, const char *name,
                                const comp_dataset *d) {
  size_t row, col;
  if (comp__matrix_find_nonfinite(&row, &col, context, matrix))
    return comp__error(COMP_ERR_DATA,
                       "embedding '%s' has a value that is not a finite number: sample '%s' (row %zu), column %zu",
                       name, comp_dataset_obs_name(d, row), row + 1, col + 1);
  for (size_t i = 0; i < comp_matrix_nnz(matrix); i++)
    if (fabsf(matrix->values[i]) > LARGEST)
      return comp__error(COMP_ERR_DATA, "embedding '%s' has the value %g, which is too large to take distances from",
                         name, (double)matrix->values[i]);
  return COMP_OK;
}

static comp_status score_embedding(comp_score *score, comp_context *context, const comp_dataset *d,
                                   const comp__score_options *o, size_t e) {
  comp_status status;
  const char *name = comp__strings_get(&score->embeddings, e);
  const comp_matrix *matrix;
  comp_matrix *dense = NULL;
  comp__score_cell *cells = score->cells + e * score->n_metrics;
  comp__scoring s = {.context = context,
                     .options = o,
                     .embedding = name,
                     .n_conditions = score->conditions.n_levels,
                     .n_labels = score->labels.n_levels,
                     .condition_names = score->conditions.levels,
                     .label_names = score->labels.levels,
                     .done = cells,
                     .chosen = score->chosen};
  COMP__TRY(find_matrix(&matrix, d, name));
  if (matrix->kind == COMP_CSR) {
    COMP__TRY(comp_matrix_to_dense(&dense, context, matrix));
    matrix = dense;
  }
  score->dims[e] = matrix->cols;
  if (matrix->cols == 0) COMP__FAIL(COMP_ERR_DATA, "embedding '%s' has no dimensions", name);
  COMP__TRY(check_values(context, matrix, name, d));
  s.points = matrix;
  COMP__TRY(make_views(&s, score, matrix));
  s.n_chosen = score->n_metrics;
  find_wanted(&s);
  for (size_t m = 0; m < score->n_metrics; m++) {
    const comp__metric *metric = comp__metric_at(score->chosen[m]);
    if (metric->before && !s.before) {
      if (strcmp(o->before, "X") != 0 || d->x) COMP__TRY(find_matrix(&s.before, d, o->before));
      if (s.before) COMP__TRY(check_values(context, s.before, o->before, d));
    }
    s.n_chosen = m; /* what totals may look at */
    cells[m].value = NAN;
    cells[m].interval = (comp__interval){NAN, NAN};
    cells[m].chance = NAN;
    if (metric->info.needs_label && s.labelled->n < 2)
      COMP__TRY(comp__cell_fail(&cells[m], "fewer than two samples have a label"));
    else
      COMP__TRY(metric->run(&cells[m], &s));
    COMP__TRY(comp__check_interrupt(context));
  }
done:
  if (status != COMP_OK && status != COMP_ERR_INTERRUPTED && status != COMP_ERR_MEMORY &&
      !strstr(comp_error_message(), name))
    comp__error_context(status, "embedding '%s'", name);
  release_scoring(&s);
  comp_matrix_free(dense);
  return status;
}

/* What was left out of a metric, as "B (12 samples: why), C (...)", the first of many; "" when nothing was. */
static void describe_left_out(char *text, size_t size, const comp__score_cell *cell) {
  enum { MOST_NAMED = 20 };
  size_t used = 0, count = 0;
  text[0] = '\0';
  for (size_t p = 0; p < cell->n_parts && used < size; p++) {
    const comp_score_part *part = &cell->parts[p];
    if (!part->left_out || ++count > MOST_NAMED) continue;
    used += (size_t)snprintf(text + used, size - used, "%s%s (%zu samples: %s)", used ? ", " : "",
                             part->label ? part->label : part->condition, part->samples, part->left_out);
  }
  if (count > MOST_NAMED && used < size) snprintf(text + used, size - used, " and %zu more", count - MOST_NAMED);
}

/* One warning for all metrics that leave out the same labels. The labels are the same in every embedding. */
static void warn_left_out(comp_context *context, const comp_score *score) {
  enum { SIZE = 1600 };
  char text[SIZE], other[SIZE], names[256];
  for (size_t m = 0; m < score->n_metrics; m++) {
    bool said = false;
    describe_left_out(text, SIZE, &score->cells[m]);
    if (!text[0]) continue;
    size_t used = (size_t)snprintf(names, sizeof names, "%s", comp_score_metric_at(score, m)->name);
    for (size_t other_m = 0; other_m < score->n_metrics; other_m++) {
      if (other_m == m) continue;
      describe_left_out(other, SIZE, &score->cells[other_m]);
      if (strcmp(text, other) != 0) continue;
      said = said || other_m < m;
      if (used < sizeof names)
        used += (size_t)snprintf(names + used, sizeof names - used, ", %s", comp_score_metric_at(score, other_m)->name);
    }
    if (!said) comp__warn(context, "left out of %s: %s", names, text);
  }
}

comp_status comp__score_run(comp_score **out, comp_context *context, const comp_dataset *dataset,
                            const comp__score_options *options) {
  *out = NULL;
  comp_score *score = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&score, 1, sizeof *score));
  COMP__TRY(prepare(score, context, dataset, options));
  for (size_t e = 0; status == COMP_OK && e < score->n_embeddings; e++)
    status = score_embedding(score, context, dataset, options, e);
  if (status != COMP_OK) goto done;
  warn_left_out(context, score);
  *out = score;
done:
  if (status != COMP_OK) comp__score_free(score);
  return status;
}

void comp__score_free(comp_score *score) {
  if (!score) return;
  for (size_t i = 0; score->cells && i < score->n_embeddings * score->n_metrics; i++) {
    comp__free(score->cells[i].parts);
    comp__free(score->cells[i].note);
  }
  comp__free(score->cells);
  comp__free(score->dims);
  comp__free(score->chosen);
  comp__strings_release(&score->embeddings);
  comp_groups_release(&score->conditions);
  comp_groups_release(&score->labels);
  comp__free(score);
}

size_t comp_score_metric_count(const comp_score *score) {
  return score->n_metrics;
}

size_t comp_score_embedding_count(const comp_score *score) {
  return score->n_embeddings;
}

const comp_score_metric *comp_score_metric_at(const comp_score *score, size_t metric) {
  return &comp__metric_at(score->chosen[metric])->info;
}

const char *comp_score_embedding_name(const comp_score *score, size_t embedding) {
  return comp__strings_get(&score->embeddings, embedding);
}

size_t comp_score_dims(const comp_score *score, size_t embedding) {
  return score->dims[embedding];
}

size_t comp_score_sample_count(const comp_score *score) {
  return score->samples;
}

static const comp__score_cell *cell_at(const comp_score *score, size_t metric, size_t embedding) {
  return &score->cells[embedding * score->n_metrics + metric];
}

double comp_score_value(const comp_score *score, size_t metric, size_t embedding) {
  return cell_at(score, metric, embedding)->value;
}

void comp_score_interval(double *low, double *high, const comp_score *score, size_t metric, size_t embedding) {
  const comp__score_cell *cell = cell_at(score, metric, embedding);
  *low = isnan(cell->value) ? NAN : cell->interval.low;
  *high = isnan(cell->value) ? NAN : cell->interval.high;
}

double comp_score_chance(const comp_score *score, size_t metric, size_t embedding) {
  const comp__score_cell *cell = cell_at(score, metric, embedding);
  return isnan(cell->value) ? NAN : cell->chance;
}

const char *comp_score_note(const comp_score *score, size_t metric, size_t embedding) {
  return cell_at(score, metric, embedding)->note;
}

size_t comp_score_part_count(const comp_score *score, size_t metric, size_t embedding) {
  return cell_at(score, metric, embedding)->n_parts;
}

const comp_score_part *comp_score_part_at(const comp_score *score, size_t metric, size_t embedding, size_t part) {
  return &cell_at(score, metric, embedding)->parts[part];
}
