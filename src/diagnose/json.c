/* json.c: all numbers of a diagnosis as JSON, with its findings. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "core/error.h"
#include "diagnose/results.h"

enum { GENES = 50 }; /* least stable ones that are listed */

/* JSON has no NaN. */
static json_t *number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static json_t *test(comp__test t) {
  return json_pack("{s:o, s:o}", "statistic", number(t.statistic), "p", number(t.p));
}

static json_t *estimate(comp__estimate e) {
  return json_pack("{s:o, s:o}", "value", number(e.value), "standard_error", number(e.error));
}

static json_t *numbers(const double *values, size_t n) {
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) json_array_append_new(list, number(values[i]));
  return list;
}

static json_t *integer(size_t value) {
  return json_integer((json_int_t)value);
}

static json_t *components(const comp__components *c) {
  const comp__symmetries *m = &c->symmetries;
  json_t *root =
      json_pack("{s:o, s:o, s:b, s:o, s:o}", "count", integer(c->count), "may_be_normal", integer(c->normal),
                "converged", (int)c->converged, "found_again", number(c->found_again), "p", numbers(c->p, c->count));
  json_object_set_new(root, "largest_correlation_of_squares", number(c->dependence));
  json_object_set_new(root, "may_be_mirrored", integer(m->mirrored));
  json_object_set_new(root, "may_be_mirrored_at_once", integer(m->together));
  json_object_set_new(root, "pairs_may_be_alike", integer(m->alike));
  json_object_set_new(root, "mirrored_alone", integer(m->mirrored_alone));
  json_object_set_new(root, "pairs_alike_alone", integer(m->alike_alone));
  json_object_set_new(root, "maps_tested", integer(m->tests));
  json_object_set_new(root, "maps_not_tested", integer(m->untested));
  return root;
}

static json_t *identify(const comp__identify *i) {
  json_t *root =
      json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "dimensions", integer(i->dims), "active", integer(i->active),
                "samples", integer(i->rows), "smallest_p", number(i->least_p), "largest_skewness",
                number(i->largest_skewness), "largest_excess_kurtosis", number(i->largest_kurtosis));
  if (i->active == 0) return root;
  if (i->joint)
    json_object_set_new(root, "joint",
                        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "mardia_b1", number(i->all.b1), "mardia_b2",
                                  number(i->all.b2), "mardia_skewness", test(i->all.skewness), "mardia_kurtosis",
                                  test(i->all.kurtosis), "henze_zirkler", test(i->henze_zirkler),
                                  "henze_zirkler_dimensions", integer(i->hz_dims)));
  json_object_set_new(root, "one_by_one",
                      json_pack("{s:o, s:o, s:o, s:o, s:o}", "coordinates", integer(i->coordinates), "projections",
                                integer(i->projections), "rejected_anderson_darling", integer(i->rejected[0]),
                                "rejected_lilliefors", integer(i->rejected[1]), "rejected_shapiro_wilk",
                                integer(i->rejected[2])));
  if (i->has_components) json_object_set_new(root, "components", components(&i->components));
  json_object_set_new(root, "symmetry",
                      json_pack("{s:o, s:o, s:o, s:o}", "samples", integer(i->symmetry_rows), "permutations",
                                integer(i->symmetry_permutations), "mirror", test(i->mirror), "rotation",
                                test(i->rotation)));
  return root;
}

static json_t *prediction(const comp__prediction_check *p) {
  if (!p->done) return json_null();
  json_t *root =
      json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", integer(p->samples), "groups", integer(p->n_levels),
                "majority", number(p->majority), "gain", number(p->gain), "gain_deviation", number(p->deviation), "p",
                number(p->p), "smallest_possible_p", number(p->least_p));
  for (size_t k = 0; k < COMP_CLASSIFIER_KINDS; k++)
    if (p->scores[k].done)
      json_object_set_new(root, comp_classifier_kind_name((comp_classifier_kind)k),
                          json_pack("{s:o, s:o, s:o}", "accuracy", number(p->scores[k].accuracy), "balanced_accuracy",
                                    number(p->scores[k].balanced), "p", number(p->scores[k].p)));
  return root;
}

static json_t *shuffled(const comp__null *n) {
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", integer(n->rows), "shuffles", integer(n->shuffles),
                   "kl", number(n->kl), "mean", number(n->mean), "deviation", number(n->deviation), "excess",
                   number(n->excess), "p", number(n->p));
}

static json_t *independence(const comp__results *r) {
  const comp__independence *i = &r->independence;
  json_t *by = json_object();
  for (size_t k = 0; k < r->conditions; k++)
    json_object_set_new(by, comp_model_level_name(r->model, k), number(i->kl_by_condition[k]));
  json_t *root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", integer(i->rows), "draws",
                           integer(i->draws), "kl", estimate(i->kl), "kl_without_self", estimate(i->kl_apart),
                           "kl_without_self_by_condition", by, "information_at_most", estimate(i->information),
                           "information_at_least", estimate(r->information), "entropy", number(i->entropy));
  json_object_set_new(root, "shuffled", shuffled(&r->null));
  json_object_set_new(root, "shuffled_shared", r->null_shared.rows ? shuffled(&r->null_shared) : json_null());
  json_t *bound = estimate(r->bound);
  json_object_set_new(bound, "batch", integer(r->batch));
  json_object_set_new(root, "training_bound", bound);
  json_object_set_new(root, "condition_from_means", prediction(&r->condition_means));
  json_object_set_new(root, "condition_from_draws", prediction(&r->condition_draws));
  return root;
}

static json_t *label_of(const comp__results *r, size_t label) {
  return r->labels.n_levels ? json_string(r->labels.levels[label]) : json_null();
}

static json_t *stability(const comp__results *r) {
  const comp__stability *s = &r->stability;
  if (!r->stable) return json_null();
  json_t *r2 = json_array(), *cka = json_array(), *changes = json_array(), *genes = json_array();
  for (size_t m = 0; m < s->models; m++) {
    json_array_append_new(r2, numbers(s->r2 + m * s->models, s->models));
    json_array_append_new(cka, numbers(s->cka + m * s->models, s->models));
  }
  for (size_t k = 0; k < s->n_changes; k++) {
    const comp__change *c = &s->changes[k];
    json_array_append_new(changes, json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "label", label_of(r, c->label),
                                             "to", comp_model_level_name(r->model, c->to), "samples",
                                             integer(c->samples), "agreement", number(c->agreement), "single_samples",
                                             number(c->single), "spread", number(c->spread), "size", number(c->size)));
  }
  for (size_t g = 0; g < GENES && g < comp_model_feature_count(r->model); g++) {
    size_t gene = s->gene_order[g];
    json_array_append_new(genes, json_pack("{s:s, s:o, s:o}", "name", comp_model_feature_name(r->model, gene), "spread",
                                           number(s->gene_spread[gene]), "size", number(s->gene_size[gene])));
  }
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "models", integer(s->models), "settings_that_differ",
                   integer(r->settings.differences), "r2", r2, "cka", cka, "changes", changes, "least_stable_features",
                   genes);
}

/* By condition: samples without counterpart, and their labels. */
static json_t *unshared(const comp__results *r) {
  json_t *list = json_array();
  for (size_t k = 0; k < r->conditions; k++) {
    json_t *labels = json_object();
    for (size_t d = 0; r->unshared.by_label && d < r->labels.n_levels; d++)
      if (r->unshared.by_label[d * r->conditions + k])
        json_object_set_new(labels, r->labels.levels[d], integer(r->unshared.by_label[d * r->conditions + k]));
    json_array_append_new(list,
                          json_pack("{s:s, s:o, s:o, s:o}", "condition", comp_model_level_name(r->model, k), "samples",
                                    integer(r->unshared.alone[k]), "of", integer(r->counts[k]), "labels", labels));
  }
  return list;
}

static json_t *kept(const comp__results *r) {
  json_t *labels = json_array();
  for (size_t d = 0; d < r->fates.n_labels; d++) {
    const comp__label_fate *f = &r->fates.labels[d];
    json_t *counts = json_object();
    for (size_t k = 0; k < r->conditions; k++)
      json_object_set_new(counts, comp_model_level_name(r->model, k), integer(f->counts[k]));
    json_array_append_new(labels,
                          json_pack("{s:s, s:o, s:o, s:o, s:s, s:o}", "label", r->labels.levels[d], "samples", counts,
                                    "mixing", number(f->mixing), "same_label", number(f->same), "mostly",
                                    r->labels.levels[f->mostly], "mostly_share", number(f->mostly_share)));
  }
  json_t *strays = json_array();
  for (size_t i = 0; i < r->strays.count; i++) {
    const comp__stray *s = &r->strays.items[i];
    json_array_append_new(strays, json_pack("{s:s, s:I, s:o, s:o}", "sample", s->name, "row", (json_int_t)s->row,
                                            "distance", number(s->distance), "error", number(s->error)));
  }
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "unshared", unshared(r), "stray_samples", strays, "labels",
                   labels, "label_before", prediction(&r->label_before), "label_after", prediction(&r->label_after),
                   "explained_variance", number(r->reconstruction), "explained_variance_without_penalty",
                   number(r->reconstruction_against));
}

comp_status comp__results_json(char **out, const comp__results *r, json_t *findings, const char *worst) {
  *out = NULL;
  json_t *root =
      json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "samples", integer(r->n), "features",
                integer(r->features), "features_missing", integer(r->missing), "dimensions", integer(r->dims), "models",
                integer(r->models), "worst", worst, "findings", findings, "identifiable", identify(&r->identify),
                "independent", independence(r), "stable", stability(r), "kept", kept(r));
  char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : NULL;
  comp_status status =
      text ? comp__strdup(out, text) : comp__error(COMP_ERR_MEMORY, "the diagnosis cannot be written as JSON");
  free(text);
  json_decref(root);
  return status;
}
