/* audit.c: from options and a data set to an audit: samples, what is attacked, attacks, use, certificates. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audit/columns.h"
#include "audit/hold.h"
#include "audit/result.h"
#include "classify/examples.h"
#include "classify/options.h"
#include "cluster/kmeans.h"
#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/table.h"
#include "train/setup.h"
#include "verdict/json.h"

enum { LEAST_SAMPLES = 10, MOST_LEVELS = 64, MOST_FEATURES = 1000, STEP_DRAWS = 4 /* of COMP__RNG_AUDIT */ };

/* What attackers look at. */
typedef struct source {
  const char *kind; /* "means", "draws", "data", "known" */
  const char *of;   /* its name */
  const comp_matrix *z;
  comp_matrix *own; /* when it was made here */
} source;

enum { SOURCES = 4 };

typedef struct audit {
  comp_context *context;
  const comp_dataset *d;
  const comp__audit_options *o;
  const comp__audited *given;  /* NULL: what is audited is in obsm */
  json_t *config;              /* the options of the model; NULL: not known */
  const char *unseen;          /* column of samples that the model did not see; NULL: none */
  comp_groups groups, targets; /* targets: only with a target */
  int32_t *codes;              /* [samples]: of the attribute, -1: left out */
  bool *held;                  /* [samples]: not for training */
  size_t *rows;                /* [samples]: those to train on, then those held out */
  size_t n_train, n_test, favoured;
  const comp_matrix *z, *scale;
  source sources[SOURCES];
  size_t n_sources;
  json_t *root;
} audit;

static void audit_release(audit *a) {
  for (size_t s = 0; s < a->n_sources; s++) comp_matrix_free(a->sources[s].own);
  comp_groups_release(&a->groups);
  comp_groups_release(&a->targets);
  comp__free(a->codes);
  comp__free(a->held);
  comp__free(a->rows);
  json_decref(a->root);
  json_decref(a->config);
}

/* ---- Samples ---- */

static comp_status read_groups(comp_groups *out, const comp_dataset *d, const char *column) {
  size_t c;
  comp_status status = comp_table_require(&c, d->obs, column);
  return status == COMP_OK ? comp_table_groups(out, d->obs, c) : status;
}

/* `what` is what cannot be done with one value only. */
static comp_status check_levels(const comp_groups *g, const char *column, const char *what) {
  if (g->n_levels == 0) return comp__error(COMP_ERR_DATA, "no sample has a value in column '%s'", column);
  if (g->n_levels == 1)
    return comp__error(COMP_ERR_DATA, "all samples have '%s' in column '%s': there is nothing to %s", g->levels[0],
                       column, what);
  if (g->n_levels > MOST_LEVELS)
    return comp__error(COMP_ERR_DATA,
                       "column '%s' has %zu different values, and at most %d can be audited: make groups "
                       "of them",
                       column, g->n_levels, (int)MOST_LEVELS);
  for (size_t l = 0; l < g->n_levels; l++)
    if (g->counts[l] < LEAST_SAMPLES)
      return comp__error(COMP_ERR_DATA,
                         "only %zu sample%s '%s' in column '%s': an audit needs at least %d of each "
                         "value",
                         g->counts[l], g->counts[l] == 1 ? " has" : "s have", g->levels[l], column, (int)LEAST_SAMPLES);
  return COMP_OK;
}

static comp_status read_attribute(audit *a) {
  comp_status status = read_groups(&a->groups, a->d, a->o->condition);
  if (status == COMP_OK) status = check_levels(&a->groups, a->o->condition, "find out");
  if (status == COMP_OK) status = comp__alloc(&a->codes, a->d->samples, sizeof *a->codes);
  if (status != COMP_OK) return status;
  size_t missing = 0;
  for (size_t i = 0; i < a->d->samples; i++) {
    a->codes[i] = a->groups.codes[i];
    missing += a->codes[i] < 0;
  }
  if (missing)
    comp__warn(a->context, "%zu of %zu samples %s no value in column '%s': %s left out", missing, a->d->samples,
               missing == 1 ? "has" : "have", a->o->condition, missing == 1 ? "it is" : "they are");
  return COMP_OK;
}

static comp_status read_target(audit *a) {
  const comp__audit_options *o = a->o;
  if (!o->target) return COMP_OK;
  comp_status status = read_groups(&a->targets, a->d, o->target);
  if (status == COMP_OK) status = check_levels(&a->targets, o->target, "predict: choose another target");
  if (status == COMP_OK) status = comp__target_differs(&a->targets, &a->groups, o->target, o->condition);
  if (status != COMP_OK) return status;
  for (size_t l = 1; l < a->targets.n_levels; l++)
    if (a->targets.counts[l] < a->targets.counts[a->favoured]) a->favoured = l;
  if (!o->favoured) return COMP_OK;
  for (size_t l = 0; l < a->targets.n_levels; l++)
    if (strcmp(a->targets.levels[l], o->favoured) == 0) {
      a->favoured = l;
      return COMP_OK;
    }
  return comp__error(COMP_ERR_DATA, "no sample has '%s' in column '%s'%s", o->favoured, o->target,
                     comp__groups_hint(&a->targets, o->favoured).text);
}

/* The column that says which samples the model did not see: the one that is named, else the model's own, else the one
 * that comp run makes. */
static void find_unseen(audit *a) {
  const char *own = json_string_value(json_object_get(json_object_get(a->config, "training"), "unseen"));
  const char *names[] = {own, COMP__UNSEEN};
  a->unseen = a->o->unseen;
  for (size_t k = 0; k < sizeof names / sizeof *names && !a->unseen; k++)
    if (names[k] && comp_table_find(a->d->obs, names[k]) != COMP_NOT_FOUND) a->unseen = names[k];
  if (a->unseen && !a->o->unseen)
    comp__info(a->context, "attackers are tested on the samples that column '%s' says the model was not trained on",
               a->unseen);
}

/* Marks those that the model did not see. */
static comp_status read_unseen(audit *a) {
  const comp_status status = comp__table_marks(a->held, a->d->obs, a->unseen);
  return status == COMP_OK ? COMP_OK : comp__error_context(status, "unseen");
}

static comp_status hold_out(bool *held, const audit *a, double share, uint64_t seed) {
  return comp__hold_out(held, a->codes, a->d->samples, a->groups.n_levels, share, seed);
}

/* Puts the samples that have a level in order: those to train on first. Each level must have some on both sides. */
static comp_status order_rows(size_t *rows, size_t *n_train, size_t *n_test, const audit *a, const bool *held) {
  size_t counts[2][MOST_LEVELS] = {{0}};
  *n_train = *n_test = 0;
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < a->d->samples; i++)
      if (a->codes[i] >= 0 && held[i] == (side == 1)) {
        rows[*n_train + *n_test] = i;
        counts[side][a->codes[i]]++;
        ++*(side ? n_test : n_train);
      }
  if (*n_train == 0 && a->unseen)
    return comp__error(COMP_ERR_DATA,
                       "unseen: column '%s' marks all %zu samples: none is left for attackers to learn from", a->unseen,
                       *n_test);
  for (int side = 0; side < 2; side++)
    for (size_t l = 0; l < a->groups.n_levels; l++)
      if (counts[side][l] < 3)
        return comp__error(COMP_ERR_DATA,
                           "only %zu of the samples %s %s '%s' in column '%s': an audit needs at least "
                           "3",
                           counts[side][l], side ? "that are held out" : "to learn from",
                           counts[side][l] == 1 ? "has" : "have", a->groups.levels[l], a->o->condition);
  return COMP_OK;
}

static comp_status divide(audit *a) {
  comp_status status = comp__calloc(&a->held, a->d->samples, sizeof *a->held);
  if (status == COMP_OK) status = comp__alloc(&a->rows, a->d->samples, sizeof *a->rows);
  find_unseen(a);
  if (status == COMP_OK) status = a->unseen ? read_unseen(a) : hold_out(a->held, a, a->o->test_share, a->o->seed);
  return status == COMP_OK ? order_rows(a->rows, &a->n_train, &a->n_test, a, a->held) : status;
}

/* ---- What is attacked ---- */

static comp_status find_matrix(const comp_matrix **out, const comp_dataset *d, const char *name) {
  *out = strcmp(name, "X") == 0 ? d->x : comp_dataset_matrix(d, COMP_SLOT_OBSM, name);
  if (*out) return COMP_OK;
  if (strcmp(name, "X") == 0) return comp__dataset_need_x(d);
  return comp__error(COMP_ERR_DATA, "there is no '%s' in obsm%s", name, comp__entry_hint(d, COMP_SLOT_OBSM, name).text);
}

static void add_source(audit *a, const char *kind, const char *of, const comp_matrix *z, comp_matrix *own) {
  a->sources[a->n_sources++] = (source){kind, of, own ? own : z, own};
}

static comp_status add_draws(audit *a) {
  comp_matrix *draws;
  const size_t dims = a->z->cols;
  comp_status status = comp__matrix_new_dense_raw(&draws, a->z->rows, dims);
  if (status != COMP_OK) return status;
  for (size_t i = 0; i < draws->rows; i++) {
    float *row = draws->values + i * dims;
    comp__rng_fill_normal(row, dims, comp__rng_at(a->o->seed, COMP__RNG_AUDIT, STEP_DRAWS, i), 0);
    for (size_t d = 0; d < dims; d++) row[d] = a->z->values[i * dims + d] + a->scale->values[i * dims + d] * row[d];
  }
  add_source(a, "draws", a->o->use, NULL, draws);
  return COMP_OK;
}

/* Numbers as they are, other values as 0/1 columns. A missing number is the mean. */
static comp_status add_known(audit *a) {
  const comp__audit_options *o = a->o;
  const size_t n = a->d->samples;
  size_t width = 0, at = 0;
  comp_groups *groups = NULL;
  size_t *columns = NULL;
  comp_matrix *z = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&groups, o->n_known, sizeof *groups));
  COMP__TRY(comp__alloc(&columns, o->n_known, sizeof *columns));
  for (size_t k = 0; k < o->n_known; k++) {
    COMP__TRY(comp_table_require(&columns[k], a->d->obs, o->known[k]));
    if (comp_table_column_kind(a->d->obs, columns[k]) == COMP_COLUMN_NUMBER) {
      width++;
      continue;
    }
    COMP__TRY(comp_table_groups(&groups[k], a->d->obs, columns[k]));
    width += groups[k].n_levels;
  }
  if (width > MOST_FEATURES)
    COMP__FAIL(COMP_ERR_DATA, "known: the columns have %zu different values, and at most %d can be used", width,
               (int)MOST_FEATURES);
  COMP__TRY(comp_matrix_new_dense(&z, n, width));
  for (size_t k = 0; k < o->n_known; k++) {
    if (groups[k].codes) {
      for (size_t i = 0; i < n; i++)
        if (groups[k].codes[i] >= 0) z->values[i * width + at + (size_t)groups[k].codes[i]] = 1;
      at += groups[k].n_levels;
      continue;
    }
    double sum = 0, used = 0;
    for (size_t i = 0; i < n; i++) {
      const double v = comp_table_number(a->d->obs, columns[k], i);
      if (!isfinite(v)) continue;
      sum += v;
      used++;
    }
    for (size_t i = 0; i < n; i++) {
      const double v = comp_table_number(a->d->obs, columns[k], i);
      z->values[i * width + at] = (float)(isfinite(v) ? v : used > 0 ? sum / used : 0);
    }
    at++;
  }
  add_source(a, "known", "columns", NULL, z);
  z = NULL;
done:
  for (size_t k = 0; groups && k < o->n_known; k++) comp_groups_release(&groups[k]);
  comp__free(groups);
  comp__free(columns);
  comp_matrix_free(z);
  return status;
}

static comp_status add_before(audit *a) {
  const comp__audit_options *o = a->o;
  const char *name = o->before;
  const comp_matrix *z;
  if (!name && a->d->x && a->d->features <= MOST_FEATURES) name = "X";
  if (!name && comp_dataset_matrix(a->d, COMP_SLOT_OBSM, "X_pca")) name = "X_pca";
  if (!name || strcmp(name, o->use) == 0) return COMP_OK;
  comp_status status = find_matrix(&z, a->d, name);
  if (status == COMP_OK) add_source(a, "data", name, z, NULL);
  return status;
}

static comp_status check_scale(const comp_matrix *scale, const char *name) {
  for (size_t i = 0; i < scale->rows * scale->cols; i++)
    if (!isfinite(scale->values[i]) || scale->values[i] < 0.0f)
      return comp__error(COMP_ERR_DATA,
                         "'%s' holds %g (sample %zu, column %zu), which is no standard deviation. Write it again with "
                         "comp embed --scales",
                         name, (double)scale->values[i], i / scale->cols + 1, i % scale->cols + 1);
  return COMP_OK;
}

static comp_status find_sources(audit *a) {
  char name[512];
  comp_status status = COMP_OK;
  snprintf(name, sizeof name, "%s_scale", a->o->use);
  if (a->given) {
    a->z = a->given->z;
    a->scale = a->given->scale;
  } else {
    status = find_matrix(&a->z, a->d, a->o->use);
    if (status != COMP_OK) return status;
    a->scale = comp_dataset_matrix(a->d, COMP_SLOT_OBSM, name);
  }
  if (a->scale && (a->scale->cols != a->z->cols || a->z->kind != COMP_DENSE || a->scale->kind != COMP_DENSE))
    return comp__error(COMP_ERR_DATA, "'%s' and '%s' are not of one shape", a->o->use, name);
  if (a->scale) status = check_scale(a->scale, name);
  if (status != COMP_OK) return status;
  for (size_t r = 0; r < a->o->n_releases; r++)
    if (strcmp(a->o->releases[r], "draws") == 0 && !a->scale)
      return comp__error(COMP_ERR_DATA,
                         "draws need the standard deviations of the posteriors, '%s' in obsm: name the "
                         "model, or write them with comp embed --scales",
                         name);
  add_source(a, "means", a->o->use, a->z, NULL);
  if (a->scale) status = add_draws(a);
  if (status == COMP_OK) status = add_before(a);
  return status == COMP_OK && a->o->n_known ? add_known(a) : status;
}

/* ---- Attacks ---- */

static bool is_constant(const audit *a) {
  if (a->z->kind != COMP_DENSE) return false;
  for (size_t k = 1; k < a->n_train + a->n_test; k++)
    for (size_t j = 0; j < a->z->cols; j++)
      if (a->z->values[a->rows[k] * a->z->cols + j] != a->z->values[a->rows[0] * a->z->cols + j]) return false;
  return true;
}

static comp_status run_attacker(json_t *list, const audit *a, const comp__labelled *data, const comp__learner *attacker,
                                size_t among) {
  comp__examples train = data->all, test = data->all;
  comp__attack attack;
  train.rows = a->rows;
  train.n = a->n_train;
  test.rows = a->rows + a->n_train;
  test.n = a->n_test;
  comp_status status = comp__attack_run(&attack, a->context, attacker, &train, &test, among, a->o->seed);
  if (status == COMP_ERR_UNAVAILABLE && !a->o->n_attackers) {
    comp__warn(a->context, "the attacker '%s' is left out: %s", attacker->name, comp_error_message());
    return COMP_OK;
  }
  return status == COMP_OK ? comp__append(list, comp__attack_json(&attack)) : status;
}

/* The classifier of the target that is right more often of a linear one and a forest. */
static comp_status run_target(json_t *list, const audit *a, const comp__labelled *data, const char *kind) {
  static const comp_classifier_kind kinds[] = {COMP_CLASSIFIER_LOGISTIC, COMP_CLASSIFIER_FOREST};
  const size_t n = a->n_train + a->n_test;
  size_t *rows = NULL, n_train = 0, n_test = 0;
  int32_t *predicted = NULL, *truth = NULL, *groups = NULL;
  comp__utility best = {.accuracy = -1};
  comp_status status;
  COMP__TRY(comp__alloc(&rows, n, sizeof *rows));
  COMP__TRY(comp__alloc(&predicted, n, sizeof *predicted));
  COMP__TRY(comp__alloc(&truth, n, sizeof *truth));
  COMP__TRY(comp__alloc(&groups, n, sizeof *groups));
  for (size_t k = 0; k < n; k++) {
    const size_t row = a->rows[k];
    if (a->targets.codes[row] < 0) continue;
    rows[n_train + n_test] = row;
    if (k < a->n_train)
      n_train++;
    else {
      truth[n_test] = a->targets.codes[row];
      groups[n_test++] = a->codes[row];
    }
  }
  size_t first = 0;
  while (first < n_train && a->targets.codes[rows[first]] == a->targets.codes[rows[0]]) first++;
  if (first == n_train || n_test == 0)
    COMP__FAIL(COMP_ERR_DATA, "the samples to learn from have one value in column '%s', or none to test has any",
               a->o->target);
  comp__examples train = data->all, test = data->all;
  train.codes = test.codes = a->targets.codes;
  train.n_levels = test.n_levels = a->targets.n_levels;
  train.rows = rows;
  train.n = n_train;
  test.rows = rows + n_train;
  test.n = n_test;
  const comp__judged judged = {predicted, truth, groups, n_test, a->targets.n_levels, a->groups.n_levels, a->favoured};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    comp__utility one = {.classifier = comp_classifier_kind_title(kinds[k])};
    COMP__TRY(comp__fit_predict(predicted, a->context, kinds[k], &train, &test, a->o->seed));
    COMP__TRY(comp__utility_measure(&one, &judged));
    if (one.accuracy > best.accuracy) best = one;
  }
  COMP__TRY(comp__append(list, comp__utility_json(&best, kind)));
done:
  comp__free(rows);
  comp__free(predicted);
  comp__free(truth);
  comp__free(groups);
  return status;
}

static comp_status run_source(json_t *attacks, json_t *use, const audit *a, const source *s) {
  comp__labelled data = {0};
  json_t *list = json_array();
  const size_t among = a->o->n_attackers ? a->o->n_attackers : COMP__ATTACKERS;
  comp_status status = comp__labelled_init(&data, a->context, s->z, a->codes, a->groups.n_levels);
  if (status != COMP_OK) {
    json_decref(list);
    return comp__error_context(status, "%s", s->of);
  }
  for (size_t i = 0; i < among; i++)
    COMP__TRY(run_attacker(list, a, &data,
                           a->o->n_attackers ? comp__attacker_find(a->o->attackers[i]) : comp__attacker_at(i), among));
  COMP__TRY(comp__append(
      attacks, json_pack("{s:s, s:o, s:O}", "source", s->kind, "of", comp__json_text(s->of), "attackers", list)));
  if (a->o->target && strcmp(s->kind, "known") != 0) COMP__TRY(run_target(use, a, &data, s->kind));
done:
  json_decref(list);
  comp__labelled_release(&data);
  return status;
}

static comp_status run_attacks(audit *a) {
  json_t *attacks = json_array(), *use = json_array();
  comp_status status = comp__put(a->root, "attacks", attacks);
  if (status == COMP_OK)
    status = comp__put(a->root, "utility", use);
  else
    json_decref(use);
  comp__progress_begin(a->context, "attack", "sources", a->n_sources);
  for (size_t s = 0; s < a->n_sources && status == COMP_OK; s++) {
    status = run_source(attacks, use, a, &a->sources[s]);
    comp__progress_update(a->context, s + 1, NULL);
  }
  comp__progress_end(a->context);
  return status;
}

/* ---- Certificates ---- */

/* Fewer samples than this leave nothing to be said: then the slack alone is one half. */
static comp_status check_enough(const audit *a, const size_t *rows, size_t n) {
  size_t counts[MOST_LEVELS] = {0};
  const size_t needed = comp__certify_needed(a->groups.n_levels, a->o->delta, 0.5);
  for (size_t k = 0; k < n; k++) counts[a->codes[rows[k]]]++;
  for (size_t l = 0; l < a->groups.n_levels; l++)
    if (counts[l] < needed)
      return comp__error(COMP_ERR_DATA,
                         "a bound with delta %g needs at least %zu held-out samples of each value, and %zu "
                         "for one that says much; '%s' has %zu",
                         a->o->delta, needed, comp__certify_needed(a->groups.n_levels, a->o->delta, 0.05),
                         a->groups.levels[l], counts[l]);
  return COMP_OK;
}

/* The rows of a dense matrix, one after the other: [n, cols]. It should be freed via comp__free(). */
static comp_status gather(float **out, const comp_matrix *m, const size_t *rows, size_t n) {
  comp_status status = comp__alloc(out, n * m->cols, sizeof **out);
  for (size_t k = 0; k < n && status == COMP_OK; k++)
    memcpy(*out + k * m->cols, m->values + rows[k] * m->cols, m->cols * sizeof **out);
  return status;
}

static comp_status gather_codes(int32_t **out, const int32_t *codes, const size_t *rows, size_t n) {
  comp_status status = comp__alloc(out, n, sizeof **out);
  for (size_t k = 0; k < n && status == COMP_OK; k++) (*out)[k] = codes[rows[k]];
  return status;
}

static comp_status certify_draws(json_t *list, const audit *a) {
  /* Nothing is fitted here: all samples count, unless some were named. */
  const size_t *rows = a->unseen ? a->rows + a->n_train : a->rows;
  const size_t n = a->unseen ? a->n_test : a->n_train + a->n_test;
  float *mean = NULL, *scale = NULL;
  int32_t *codes = NULL;
  comp__certificate c;
  comp_status status;
  COMP__TRY(check_enough(a, rows, n));
  COMP__TRY(gather(&mean, a->z, rows, n));
  COMP__TRY(gather(&scale, a->scale, rows, n));
  COMP__TRY(gather_codes(&codes, a->codes, rows, n));
  COMP__TRY(comp__certify_draws(&c, a->context, mean, scale, codes, n, a->z->cols, a->groups.n_levels, a->o->delta,
                                a->o->points, a->o->seed));
  COMP__TRY(comp__append(list, comp__certificate_json(&c, "draws", a->o->delta, a->groups.n_levels)));
done:
  comp__free(mean);
  comp__free(scale);
  comp__free(codes);
  return status;
}

/* The nearest of k centres. */
static int32_t nearest(const double *centres, size_t k, const float *x, size_t dims) {
  double best = INFINITY;
  int32_t found = 0;
  for (size_t c = 0; c < k; c++) {
    double sum = 0;
    for (size_t d = 0; d < dims; d++) {
      const double t = (double)x[d] - centres[c * dims + d];
      sum += t * t;
    }
    if (sum < best) {
      best = sum;
      found = (int32_t)c;
    }
  }
  return found;
}

/* What a cell says of the target: its commonest value among the samples that the cells were fitted on. */
static comp_status cells_utility(json_t *use, const audit *a, const int32_t *fit_cells, const size_t *rows,
                                 size_t n_fit, const int32_t *cells, size_t n, size_t k, const char *release) {
  const size_t levels = a->targets.n_levels;
  size_t *counts = NULL, *totals = NULL, used = 0;
  int32_t *predicted = NULL, *truth = NULL, *groups = NULL;
  comp__utility u = {.classifier = "the most common value of a cell"};
  comp_status status;
  COMP__TRY(comp__calloc(&counts, k * levels, sizeof *counts));
  COMP__TRY(comp__calloc(&totals, levels, sizeof *totals));
  COMP__TRY(comp__alloc(&predicted, n, sizeof *predicted));
  COMP__TRY(comp__alloc(&truth, n, sizeof *truth));
  COMP__TRY(comp__alloc(&groups, n, sizeof *groups));
  for (size_t i = 0; i < n_fit; i++) {
    if (a->targets.codes[rows[i]] < 0) continue;
    counts[(size_t)fit_cells[i] * levels + (size_t)a->targets.codes[rows[i]]]++;
    totals[a->targets.codes[rows[i]]]++;
  }
  for (size_t i = 0; i < n; i++) {
    const int32_t target = a->targets.codes[rows[n_fit + i]];
    if (target < 0) continue;
    const size_t *row = counts + (size_t)cells[i] * levels;
    size_t best = 0, sum = 0;
    for (size_t l = 0; l < levels; l++) sum += row[l];
    const size_t *by = sum ? row : totals;
    for (size_t l = 1; l < levels; l++)
      if (by[l] > by[best]) best = l;
    predicted[used] = (int32_t)best;
    truth[used] = target;
    groups[used++] = a->codes[rows[n_fit + i]];
  }
  const comp__judged judged = {predicted, truth, groups, used, levels, a->groups.n_levels, a->favoured};
  if (used == 0) goto done;
  COMP__TRY(comp__utility_measure(&u, &judged));
  COMP__TRY(comp__append(use, comp__utility_json(&u, release)));
done:
  comp__free(counts);
  comp__free(totals);
  comp__free(predicted);
  comp__free(truth);
  comp__free(groups);
  return status;
}

static comp_status certify_cells(json_t *list, json_t *use, const audit *a, size_t k, const char *release) {
  const size_t dims = a->z->cols;
  size_t *rows = NULL, n_fit = a->n_train, n = a->n_test;
  bool *held = NULL;
  float *points = NULL;
  double *centres = NULL;
  int32_t *fit_cells = NULL, *cells = NULL, *codes = NULL;
  comp__certificate c;
  comp_status status;
  if (a->z->kind != COMP_DENSE) return comp__error(COMP_ERR_DATA, "cells need a dense representation");
  COMP__TRY(comp__alloc(&rows, a->d->samples, sizeof *rows));
  COMP__TRY(comp__alloc(&held, a->d->samples, sizeof *held));
  if (a->unseen)
    memcpy(rows, a->rows, (n_fit + n) * sizeof *rows);
  else { /* one half fits the cells, the other bounds what they reveal */
    COMP__TRY(hold_out(held, a, 0.5, a->o->seed + 1));
    COMP__TRY(order_rows(rows, &n_fit, &n, a, held));
  }
  if (k > n_fit)
    COMP__FAIL(COMP_ERR_DATA, "%s: there %s only %zu sample%s to fit cells on", release, n_fit == 1 ? "is" : "are",
               n_fit, n_fit == 1 ? "" : "s");
  COMP__TRY(check_enough(a, rows + n_fit, n));
  COMP__TRY(gather(&points, a->z, rows, n_fit));
  COMP__TRY(comp__alloc(&centres, k * dims, sizeof *centres));
  COMP__TRY(comp__alloc(&fit_cells, n_fit, sizeof *fit_cells));
  COMP__TRY(comp__alloc(&cells, n, sizeof *cells));
  comp__kmeans_options how = COMP__KMEANS_OPTIONS_INIT;
  how.clusters = k;
  how.starts = 3;
  how.iterations = 50;
  how.seed = a->o->seed;
  COMP__TRY(comp__kmeans(fit_cells, centres, NULL, a->context, points, n_fit, dims, &how));
  for (size_t i = 0; i < n_fit; i++) fit_cells[i] = nearest(centres, k, points + i * dims, dims);
  for (size_t i = 0; i < n; i++) cells[i] = nearest(centres, k, a->z->values + rows[n_fit + i] * dims, dims);
  COMP__TRY(gather_codes(&codes, a->codes, rows + n_fit, n));
  COMP__TRY(comp__certify_cells(&c, cells, codes, n, k, a->groups.n_levels, a->o->delta));
  COMP__TRY(comp__append(list, comp__certificate_json(&c, release, a->o->delta, a->groups.n_levels)));
  if (a->o->target) COMP__TRY(cells_utility(use, a, fit_cells, rows, n_fit, cells, n, k, release));
done:
  comp__free(rows);
  comp__free(held);
  comp__free(points);
  comp__free(centres);
  comp__free(fit_cells);
  comp__free(cells);
  comp__free(codes);
  return status;
}

static comp_status run_certificates(audit *a) {
  json_t *list = json_array(), *use = json_object_get(a->root, "utility");
  comp_status status = comp__put(a->root, "certificates", list);
  for (size_t r = 0; r < a->o->n_releases && status == COMP_OK; r++) {
    size_t k;
    status = comp__release_parse(&k, a->o->releases[r]);
    if (status == COMP_OK) status = k ? certify_cells(list, use, a, k, a->o->releases[r]) : certify_draws(list, a);
  }
  return status;
}

/* ---- The document ---- */

/* What advice depends on. */
static json_t *model_facts(json_t *config) {
  static const char *const names[] = {"model", "preset", "gamma", "scale", "encoder_sees_condition"};
  json_t *facts = json_object();
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (json_object_get(config, names[k])) json_object_set(facts, names[k], json_object_get(config, names[k]));
  return facts;
}

static comp_status begin(audit *a) {
  const comp__audit_options *o = a->o;
  size_t largest = 0, n = a->n_train + a->n_test;
  json_t *levels = json_array();
  comp_status status = COMP_OK;
  for (size_t l = 0; l < a->groups.n_levels && status == COMP_OK; l++) {
    largest = a->groups.counts[l] > largest ? a->groups.counts[l] : largest;
    status = comp__append(levels, json_pack("{s:o, s:I}", "value", comp__json_text(a->groups.levels[l]), "samples",
                                            (json_int_t)a->groups.counts[l]));
  }
  a->root = json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:b, s:b, s:o, s:o}", "condition", comp__json_text(o->condition),
                      "use", comp__json_text(o->use), "target", comp__json_text(o->target), "samples", (json_int_t)n,
                      "train_samples", (json_int_t)a->n_train, "test_samples", (json_int_t)a->n_test, "unseen",
                      a->unseen != NULL, "constant", is_constant(a), "majority",
                      comp__json_number((double)largest / (double)n), "levels", levels);
  if (status == COMP_OK && !a->root) status = comp__error(COMP_ERR_MEMORY, "out of memory");
  return status == COMP_OK && a->config ? comp__put(a->root, "model", model_facts(a->config)) : status;
}

comp_status comp__audit_run(comp_audit **out, comp_context *context, const comp_dataset *d,
                            const comp__audit_options *o, const comp__audited *given) {
  audit a = {.context = context, .d = d, .o = o, .given = given};
  comp_status status;
  *out = NULL;
  if (given && given->config) a.config = json_loads(given->config, 0, NULL);
  COMP__TRY(read_attribute(&a));
  COMP__TRY(read_target(&a));
  COMP__TRY(divide(&a));
  COMP__TRY(find_sources(&a));
  COMP__TRY(begin(&a));
  COMP__TRY(run_attacks(&a));
  COMP__TRY(run_certificates(&a));
  json_t *root = a.root;
  a.root = NULL;
  COMP__TRY(comp__audit_finish(out, root));
done:
  audit_release(&a);
  return status;
}

comp_status comp_audit_run(comp_audit **out, comp_context *context, const comp_dataset *dataset,
                           const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset, options);
  comp__audit_options resolved;
  comp_dataset *own = NULL;
  *out = NULL;
  comp_status status = comp__options_resolve(&resolved, &comp__audit_kind, options);
  if (status == COMP_OK) status = comp__audit_columns(&own, context, dataset, &resolved);
  if (status == COMP_OK) status = comp__audit_run(out, context, own ? own : dataset, &resolved, NULL);
  comp_dataset_free(own);
  return status;
}

comp_status comp_audit_model(comp_audit **out, comp_context *context, const comp_model *model,
                             const comp_dataset *dataset, const comp_options *options) {
  COMP__NEED_OUT(out, context, model, dataset, options);
  comp__audit_options resolved;
  comp_matrix *z = NULL, *scale = NULL;
  comp_dataset *own = NULL;
  *out = NULL;
  comp_status status;
  COMP__TRY(comp__options_resolve(&resolved, &comp__audit_kind, options));
  if (strcmp(resolved.use, "X") == 0)
    COMP__FAIL(COMP_ERR_ARGUMENT, "use: X is the data itself: a model does not go with it");
  COMP__TRY(comp__audit_columns(&own, context, dataset, &resolved));
  COMP__TRY(comp_embed(&z, &scale, context, model, dataset, NULL));
  const comp__audited given = {z, scale, comp_model_config(model)};
  COMP__TRY(comp__audit_run(out, context, own ? own : dataset, &resolved, &given));
done:
  comp_dataset_free(own);
  comp_matrix_free(z);
  comp_matrix_free(scale);
  return status;
}
