/* design.c: how many samples each condition has of each label: as a document, and what follows from it. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "verdict/evidence.h"
#include "verdict/json.h"

/* ---- The document ---------------------------------------------------------------------------------------------- */

static size_t missing(const comp_groups *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->rows; i++) n += g->codes[i] < 0;
  return n;
}

static comp_status read_groups(comp_groups *out, const comp_table *obs, const char *column) {
  size_t c;
  comp_status status = comp_table_require(&c, obs, column);
  return status == COMP_OK ? comp_table_groups(out, obs, c) : status;
}

/* counts [conditions]: the samples of one value of the column. */
static comp_status put_value(json_t *list, const char *value, const size_t *counts, size_t conditions) {
  comp_status status = COMP_OK;
  json_t *object = json_object(), *samples = json_array();
  COMP__TRY(comp__append(list, json_incref(object)));
  COMP__TRY(comp__put(object, "value", comp__json_text(value)));
  COMP__TRY(comp__put(object, "samples", json_incref(samples)));
  for (size_t c = 0; c < conditions; c++) COMP__TRY(comp__append(samples, json_integer((json_int_t)counts[c])));
done:
  json_decref(object);
  json_decref(samples);
  return status;
}

static comp_status put_column(json_t *list, const comp_table *obs, const comp_groups *conditions, const char *column,
                              const char *role) {
  comp_groups g = {0};
  size_t *counts = NULL, k = conditions->n_levels;
  json_t *object = json_object(), *values = json_array();
  comp_status status;
  COMP__TRY(read_groups(&g, obs, column));
  COMP__TRY(comp__calloc(&counts, g.n_levels * k + 1, sizeof *counts));
  for (size_t i = 0; i < g.rows; i++)
    if (g.codes[i] >= 0 && conditions->codes[i] >= 0) counts[(size_t)g.codes[i] * k + (size_t)conditions->codes[i]]++;
  COMP__TRY(comp__put(object, "column", comp__json_text(column)));
  COMP__TRY(comp__put(object, "role", json_string(role)));
  COMP__TRY(comp__put(object, "missing", json_integer((json_int_t)missing(&g))));
  COMP__TRY(comp__put(object, "values", json_incref(values)));
  for (size_t v = 0; v < g.n_levels; v++) COMP__TRY(put_value(values, g.levels[v], counts + v * k, k));
  COMP__TRY(comp__append(list, json_incref(object)));
done:
  comp_groups_release(&g);
  comp__free(counts);
  json_decref(object);
  json_decref(values);
  return status;
}

static comp_status put_conditions(json_t *root, const comp_groups *g, const char *condition) {
  json_t *list = json_array();
  comp_status status;
  COMP__TRY(comp__put(root, "condition", comp__json_text(condition)));
  COMP__TRY(comp__put(root, "missing", json_integer((json_int_t)missing(g))));
  for (size_t c = 0; c < g->n_levels; c++) {
    json_t *object = json_object();
    COMP__TRY(comp__append(list, object));
    COMP__TRY(comp__put(object, "value", comp__json_text(g->levels[c])));
    COMP__TRY(comp__put(object, "samples", json_integer((json_int_t)g->counts[c])));
  }
  COMP__TRY(comp__put(root, "conditions", json_incref(list)));
done:
  json_decref(list);
  return status;
}

comp_status comp__design_json(char **out, const comp_table *obs, const char *condition, const char *label,
                              const char *const *targets, size_t n_targets) {
  comp_groups conditions = {0};
  json_t *root = json_object(), *columns = json_array();
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__put(root, "samples", json_integer((json_int_t)comp_table_row_count(obs))));
  if (condition) {
    COMP__TRY(read_groups(&conditions, obs, condition));
    COMP__TRY(put_conditions(root, &conditions, condition));
    if (label) COMP__TRY(put_column(columns, obs, &conditions, label, "label"));
    for (size_t t = 0; t < n_targets; t++) COMP__TRY(put_column(columns, obs, &conditions, targets[t], "target"));
    COMP__TRY(comp__put(root, "columns", json_incref(columns)));
  }
  COMP__TRY(comp__json_dump(out, json_incref(root)));
done:
  comp_groups_release(&conditions);
  json_decref(root);
  json_decref(columns);
  return status;
}

comp_status comp_design_json(char **out, const comp_dataset *dataset, const char *condition, const char *label,
                             const char *const *targets, size_t n_targets) {
  COMP__NEED_OUT(out, dataset, targets || !n_targets);
  return comp__design_json(out, comp_dataset_obs(dataset), condition, label, targets, n_targets);
}

/* ---- What follows from it -------------------------------------------------------------------------------------- */

const char *comp__design_condition(const comp__evidence *e) {
  const char *name = json_string_value(json_object_get(e->design, "condition"));
  return name ? name : "condition";
}

/* `column` NULL: any. */
static json_t *find_column(const comp__evidence *e, const char *role, const char *column) {
  size_t i;
  json_t *entry;
  json_array_foreach(json_object_get(e->design, "columns"), i, entry) {
    bool same = !column || strcmp(comp__member_text(entry, "column"), column) == 0;
    if (same && strcmp(comp__member_text(entry, "role"), role) == 0) return entry;
  }
  return NULL;
}

static bool make_cross(comp__cross *out, const comp__evidence *e, json_t *column) {
  json_t *values = json_object_get(column, "values");
  *out = (comp__cross){values, json_array_size(values), json_array_size(json_object_get(e->design, "conditions"))};
  return column != NULL;
}

bool comp__design_label(comp__cross *out, const char **column, const comp__evidence *e) {
  json_t *found = find_column(e, "label", NULL);
  if (column) *column = found ? comp__member_text(found, "column") : NULL;
  return make_cross(out, e, found);
}

bool comp__design_target(comp__cross *out, const comp__evidence *e, const char *column) {
  return make_cross(out, e, find_column(e, "target", column));
}

size_t comp__cross_count(const comp__cross *cross, size_t value, size_t condition) {
  json_t *samples = json_object_get(json_array_get(cross->values, value), "samples");
  json_int_t n = json_integer_value(json_array_get(samples, condition));
  return n > 0 ? (size_t)n : 0;
}

const char *comp__cross_value(const comp__cross *cross, size_t value) {
  return comp__member_text(json_array_get(cross->values, value), "value");
}

static size_t condition_total(const comp__cross *cross, size_t condition) {
  size_t total = 0;
  for (size_t v = 0; v < cross->n_values; v++) total += comp__cross_count(cross, v, condition);
  return total;
}

/* A few samples of a label in another condition, wrong labels perhaps, are nothing to learn from: what counts is the
 * share of a label in a condition, against its largest share in any. */
static const double NEGLIGIBLE = 0.01;

static double share_in(const comp__cross *cross, const comp__overlap *o, size_t value, size_t condition) {
  return o->totals[condition] > 0 ? (double)comp__cross_count(cross, value, condition) / o->totals[condition] : 0;
}

/* Whether each condition has the label. */
static void find_label(bool *has, const comp__cross *cross, const comp__overlap *o, size_t value) {
  double largest = 0;
  for (size_t c = 0; c < cross->n_conditions; c++) largest = fmax(largest, share_in(cross, o, value, c));
  for (size_t c = 0; c < cross->n_conditions; c++)
    has[c] = largest > 0 && share_in(cross, o, value, c) > NEGLIGIBLE * largest;
}

size_t comp__overlap_label(size_t *where, const comp__overlap *o, const comp__cross *cross, size_t value) {
  bool has[COMP__MOST_CONDITIONS];
  size_t n = 0;
  find_label(has, cross, o, value);
  for (size_t c = 0; c < cross->n_conditions; c++)
    if (has[c]) {
      n++;
      *where = c;
    }
  return n;
}

comp__overlap comp__cross_overlap(const comp__cross *cross) {
  comp__overlap o = {0};
  bool has[COMP__MOST_CONDITIONS];
  if (cross->n_conditions > COMP__MOST_CONDITIONS) return o;
  for (size_t c = 0; c < cross->n_conditions; c++) {
    o.totals[c] = (double)condition_total(cross, c);
    o.conditions += o.totals[c] > 0;
  }
  for (size_t v = 0; v < cross->n_values; v++) {
    size_t n = 0;
    find_label(has, cross, &o, v);
    for (size_t c = 0; c < cross->n_conditions; c++) n += has[c];
    for (size_t c = 0; c < cross->n_conditions && n > 0; c++) o.strays += has[c] ? 0 : comp__cross_count(cross, v, c);
    o.labels += n > 0;
    o.alone += n == 1;
    for (size_t c = 0; c < cross->n_conditions && n > 1; c++) o.shares[c] = o.shares[c] || has[c];
  }
  for (size_t c = 0; c < cross->n_conditions; c++) o.cut_off += o.totals[c] > 0 && !o.shares[c];
  o.none = o.conditions > 1 && o.labels > 0 && o.alone == o.labels;
  return o;
}

bool comp__design_is_confounded(const comp__evidence *e) {
  comp__cross labels;
  return comp__design_label(&labels, NULL, e) && comp__cross_overlap(&labels).none;
}

comp__guess comp__cross_guess(const comp__cross *cross) {
  comp__guess g = {0};
  size_t totals[COMP__MOST_CONDITIONS], known = 0, used = 0;
  double right = 0;
  if (cross->n_conditions > COMP__MOST_CONDITIONS) return (comp__guess){NAN, NAN, NAN};
  for (size_t c = 0; c < cross->n_conditions; c++) {
    totals[c] = condition_total(cross, c);
    known += totals[c];
    used += totals[c] > 0;
  }
  if (!known) return (comp__guess){NAN, NAN, NAN};
  for (size_t v = 0; v < cross->n_values; v++) {
    size_t most = 0;
    double largest = 0, smallest = 1;
    for (size_t c = 0; c < cross->n_conditions; c++) {
      size_t n = comp__cross_count(cross, v, c);
      if (totals[c] == 0) continue;
      double share = (double)n / (double)totals[c];
      if (n > most) most = n;
      largest = fmax(largest, share);
      smallest = fmin(smallest, share);
    }
    right += (double)most;
    g.balanced += largest / (double)used;
    g.gap = fmax(g.gap, largest - smallest);
  }
  g.accuracy = right / (double)known;
  return g;
}
