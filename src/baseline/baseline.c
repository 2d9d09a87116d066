/* baseline.c: the table of methods, and what happens around each: checks before it, results put together after it. */
#include <stdio.h>
#include <string.h>

#include "baseline/baseline.h"
#include "comp/prep.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/table.h"
#include "linalg/linalg.h"

static const comp__baseline *const methods[] = {
    &comp__baseline_pca, &comp__baseline_combat,    &comp__baseline_harmony, &comp__baseline_harmony2,
    &comp__baseline_mnn, &comp__baseline_celligner, &comp__baseline_scgen,   &comp__baseline_seurat_cca,
};

enum { N_METHODS = sizeof methods / sizeof(void *) };

size_t comp_baseline_count(void) {
  return N_METHODS;
}

const comp_baseline_method *comp_baseline_at(size_t index) {
  return &methods[index]->method;
}

static const char *nth_method(const void *user, size_t i) {
  (void)user;
  return methods[i]->method.name;
}

static comp_status find(const comp__baseline **out, const char *name) {
  for (size_t i = 0; i < N_METHODS; i++)
    if (strcmp(methods[i]->method.name, name) == 0) {
      *out = methods[i];
      return COMP_OK;
    }
  return comp__error(COMP_ERR_ARGUMENT, "there is no baseline '%s'%s", name,
                     comp__hint(name, N_METHODS, nth_method, NULL).text);
}

comp_status comp_baseline_find(const comp_baseline_method **out, const char *name) {
  COMP__NEED_OUT(out, name);
  const comp__baseline *baseline = NULL;
  comp_status status = find(&baseline, name);
  if (status == COMP_OK) *out = &baseline->method;
  return status;
}

/* ---- Checks ---- */

/* Whether a word is in a list with spaces between. */
static bool takes(const comp_baseline_method *method, const char *word) {
  size_t length = strlen(word);
  for (const char *at = method->takes; (at = strstr(at, word)); at += length)
    if ((at == method->takes || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ')) return true;
  return false;
}

/* A method's own rules; ranges are in the table of options. */
static comp_status check(const comp_baseline_method *m, const comp__baseline_options *o) {
  if (!m->no_condition && (!o->condition || !o->condition[0]))
    return comp__error(COMP_ERR_ARGUMENT, "condition: a column of obs is needed");
  for (size_t i = 0; takes(m, "covariates") && i < o->n_covariates; i++) {
    if (strcmp(o->covariates[i], o->condition) == 0)
      return comp__error(COMP_ERR_ARGUMENT, "covariates: '%s' is the condition itself", o->condition);
    for (size_t j = 0; j < i; j++)
      if (strcmp(o->covariates[i], o->covariates[j]) == 0)
        return comp__error(COMP_ERR_ARGUMENT, "covariates: '%s' is named twice", o->covariates[i]);
  }
  if (takes(m, "rep") && o->rep && o->components)
    return comp__error(COMP_ERR_ARGUMENT, "components: it has no effect with --rep, of which all columns are taken");
  if (takes(m, "to") && o->to && o->reference && strcmp(o->to, o->reference) == 0)
    return comp__error(COMP_ERR_ARGUMENT, "to: '%s' is the reference: there is nothing to predict", o->to);
  return comp__options_check(&comp__baseline_kind, o);
}

/* The struct of a method's options. An option that it does not take is an error. */
static comp_status resolve(comp__baseline_options *out, const comp_baseline_method *m, const comp_options *options) {
  comp_status status = comp__options_resolve(out, &comp__baseline_kind, options);
  const comp_option *option;
  for (size_t i = 0; status == COMP_OK && options && (option = comp_options_at(options, i)); i++) {
    const char *name = comp_option_name(option);
    if (comp_options_given(options, name) && strcmp(name, "condition") != 0 && !takes(m, name))
      status = comp__error(COMP_ERR_ARGUMENT, "%s: %s does not take it", name, m->name);
  }
  return status;
}

comp_status comp_baseline_check(const comp_baseline_method *method, const comp_options *options) {
  COMP__NEED(method);
  comp__baseline_options plain;
  comp_status status = resolve(&plain, method, options);
  return status == COMP_OK ? check(method, &plain) : status;
}

comp_status comp__baseline_groups(comp_groups *out, const comp_dataset *dataset, const char *column) {
  comp_status status;
  size_t c, missing = 0;
  *out = (comp_groups){0};
  COMP__TRY(comp_table_require(&c, dataset->obs, column));
  COMP__TRY(comp_table_groups(out, dataset->obs, c));
  for (size_t i = 0; i < out->rows; i++) missing += out->codes[i] < 0;
  if (missing)
    COMP__FAIL(COMP_ERR_DATA,
               "obs column '%s' has no value for %zu of %zu samples; leave them out first (comp prep --keep)", column,
               missing, out->rows);
done:
  if (status != COMP_OK) comp_groups_release(out);
  return status;
}

comp_status comp__baseline_level(size_t *out, const comp_groups *groups, const char *value, const char *column) {
  for (size_t l = 0; l < groups->n_levels; l++)
    if (strcmp(groups->levels[l], value) == 0) {
      *out = l;
      return COMP_OK;
    }
  return comp__error(COMP_ERR_DATA, "no sample has '%s' in column '%s'%s", value, column,
                     comp__groups_hint(groups, value).text);
}

/* Levels may come from a categorical column that a selection left without samples. */
static comp_status check_batches(const comp_groups *batch, const char *column) {
  if (batch->n_levels >= 2) return COMP_OK;
  return comp__error(COMP_ERR_DATA, "column '%s' has one value only, '%s': there is nothing to correct for", column,
                     batch->n_levels ? batch->levels[0] : "");
}

/* How many features have more than one value. */
static comp_status count_varying(size_t *out, const comp_matrix *x) {
  comp_status status;
  float *first = NULL;
  size_t *seen = NULL;
  bool *varies = NULL;
  const bool dense = x->kind == COMP_DENSE;
  *out = 0;
  COMP__TRY(comp__calloc(&first, x->cols, sizeof *first));
  COMP__TRY(comp__calloc(&seen, x->cols, sizeof *seen));
  COMP__TRY(comp__calloc(&varies, x->cols, sizeof *varies));
  for (size_t i = 0; i < x->rows; i++) {
    const size_t begin = dense ? i * x->cols : (size_t)x->indptr[i];
    const size_t end = dense ? begin + x->cols : (size_t)x->indptr[i + 1];
    for (size_t k = begin; k < end; k++) {
      const size_t j = dense ? k - begin : (size_t)x->indices[k];
      if (seen[j]++ == 0) first[j] = x->values[k];
      if (x->values[k] != first[j]) varies[j] = true;
    }
  }
  for (size_t j = 0; j < x->cols; j++) /* what is not stored is 0 */
    *out += varies[j] || (seen[j] > 0 && seen[j] < x->rows && first[j] != 0.0f);
done:
  comp__free(first);
  comp__free(seen);
  comp__free(varies);
  return status;
}

static comp_status check_data(comp_context *context, const comp_matrix *x) {
  comp_data_look look;
  comp_status status = comp_matrix_check(context, x);
  if (status != COMP_OK) return comp__error_context(status, "X");
  status = comp_data_look_at(&look, context, x);
  if (status == COMP_OK && look.kind != COMP_DATA_LOG && look.negatives == 0)
    comp__warn(context, "X does not look logged (%s): comp prep --normalize-total median --log1p makes it so",
               look.reason);
  return status;
}

/* Without differences there is nothing to correct, and all that a method gives would be 0. */
static comp_status check_varies(const comp_matrix *x) {
  size_t varying;
  comp_status status = count_varying(&varying, x);
  if (status == COMP_OK && varying == 0) return comp__error(COMP_ERR_DATA, "no feature of X varies");
  return status;
}

/* ---- What methods share ---- */

comp_status comp_baseline_most_components(size_t *out, const comp_matrix *x) {
  COMP__NEED(out, x);
  comp_status status = count_varying(out, x);
  if (status == COMP_OK && x->rows > 0 && x->rows - 1 < *out) *out = x->rows - 1;
  return status;
}

comp_status comp__baseline_check_components(const comp__baseline_run *run, const comp_matrix *x) {
  size_t varying;
  comp_status status = count_varying(&varying, x);
  if (status != COMP_OK) return status;
  const size_t most = x->rows - 1 < varying ? x->rows - 1 : varying;
  if (varying == 0) return comp__error(COMP_ERR_DATA, "no feature of X varies");
  if (run->components <= most) return COMP_OK;
  char note[64] = "";
  if (varying < x->cols) snprintf(note, sizeof note, ", of which %zu var%s", varying, varying == 1 ? "ies" : "y");
  return comp__error(
      COMP_ERR_DATA,
      "%zu principal component%s cannot be computed from %zu sample%s x %zu feature%s%s: ask for %zu or fewer "
      "(--components)",
      run->components, run->components == 1 ? "" : "s", x->rows, x->rows == 1 ? "" : "s", x->cols,
      x->cols == 1 ? "" : "s", note, most);
}

comp_status comp__baseline_scores(comp_matrix **out, comp__baseline_run *run, const comp_matrix *x) {
  *out = NULL;
  comp_status status;
  comp__pca pca = {0};
  comp__pca_options options = {.components = run->components, .seed = run->options->seed};
  COMP__TRY(comp__baseline_check_components(run, x));
  COMP__TRY(comp__pca_fit(&pca, run->context, x, &options));
  COMP__TRY(comp__matrix_new_dense_raw(out, x->rows, run->components));
  memcpy((*out)->values, pca.scores, x->rows * run->components * sizeof(float));
done:
  comp__pca_release(&pca);
  return status;
}

comp_status comp__baseline_start(comp_matrix **out, comp__baseline_run *run) {
  *out = NULL;
  const char *name = run->options->rep;
  if (!name) return comp__baseline_scores(out, run, run->dataset->x);
  const comp_matrix *entry = comp_dataset_matrix(run->dataset, COMP_SLOT_OBSM, name);
  if (!entry)
    return comp__error(COMP_ERR_DATA, "there is no '%s' in obsm (--rep)%s", name,
                       comp__entry_hint(run->dataset, COMP_SLOT_OBSM, name).text);
  comp_status status = comp_matrix_check(run->context, entry);
  size_t varying;
  if (status == COMP_OK) status = count_varying(&varying, entry);
  if (status == COMP_OK && varying == 0) status = comp__error(COMP_ERR_DATA, "no column of it varies");
  if (status != COMP_OK) return comp__error_context(status, "obsm/%s", name);
  return comp_matrix_to_dense(out, run->context, entry);
}

comp_status comp__baseline_rows(size_t **rows, size_t **start, const comp_groups *groups) {
  comp_status status;
  size_t *at = NULL;
  *rows = *start = NULL;
  COMP__TRY(comp__alloc(rows, groups->rows, sizeof **rows));
  COMP__TRY(comp__calloc(start, groups->n_levels + 1, sizeof **start));
  COMP__TRY(comp__alloc(&at, groups->n_levels + 1, sizeof *at));
  for (size_t b = 0; b < groups->n_levels; b++) (*start)[b + 1] = (*start)[b] + groups->counts[b];
  memcpy(at, *start, (groups->n_levels + 1) * sizeof *at);
  for (size_t i = 0; i < groups->rows; i++) (*rows)[at[groups->codes[i]]++] = i;
done:
  comp__free(at);
  return status;
}

/* ---- Running ---- */

/* A data set of the same names, without X. */
static comp_status make_results(comp_dataset **out, const comp_dataset *dataset) {
  comp_status status;
  comp__strings obs = {0}, var = {0};
  COMP__TRY(comp__strings_select(&obs, &dataset->obs_names, NULL, 0));
  COMP__TRY(comp__strings_select(&var, &dataset->var_names, NULL, 0));
  COMP__TRY(comp__dataset_new(out, &obs, &var));
done:
  comp__strings_release(&obs);
  comp__strings_release(&var);
  return status;
}

static comp_status keep(comp_dataset *results, comp_context *context, comp_slot slot, const char *name,
                        comp_matrix **matrix) {
  size_t row, col;
  if (comp__matrix_find_nonfinite(&row, &col, context, *matrix))
    return comp__error(COMP_ERR_NUMERIC, "%s: the value of sample %zu in column %zu is not finite", name, row + 1,
                       col + 1);
  comp_matrix *taken = *matrix;
  *matrix = NULL;
  return comp_dataset_set_matrix(results, slot, name, taken);
}

comp_status comp__baseline_method(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                                  const char *name, const comp__baseline_options *options) {
  *out = NULL;
  comp_status status;
  const comp__baseline *baseline = NULL;
  comp_dataset *results = NULL;
  size_t column;
  comp__baseline_run run = {.context = context, .dataset = dataset, .options = options};
  COMP__TRY(find(&baseline, name));
  COMP__TRY(check(&baseline->method, options));
  run.components = options->components ? options->components : baseline->method.components;
  if (!options->rep || !takes(&baseline->method, "rep")) { /* else X is not used, and may be missing */
    COMP__TRY(comp__dataset_need_x(dataset));
    COMP__TRY(check_data(context, dataset->x));
    COMP__TRY(check_varies(dataset->x));
  }
  if (!baseline->method.no_condition) {
    COMP__TRY(comp__baseline_groups(&run.batch, dataset, options->condition));
    COMP__TRY(check_batches(&run.batch, options->condition));
  } else if (options->condition) {
    COMP__TRY(comp_table_require(&column, dataset->obs, options->condition));
  }
  COMP__TRY(make_results(&results, dataset));
  COMP__TRY(baseline->run(&run));
  COMP__TRY(keep(results, context, COMP_SLOT_OBSM, baseline->method.embedding, &run.embedding));
  if (run.layer) COMP__TRY(keep(results, context, COMP_SLOT_LAYERS, baseline->method.layer, &run.layer));
  if (run.counterfactual)
    COMP__TRY(keep(results, context, COMP_SLOT_LAYERS, baseline->method.counterfactual, &run.counterfactual));
  *out = results;
  results = NULL;
done:
  comp_groups_release(&run.batch);
  comp_matrix_free(run.embedding);
  comp_matrix_free(run.layer);
  comp_matrix_free(run.counterfactual);
  comp_dataset_free(results);
  return status;
}

comp_status comp_baseline_run(comp_dataset **out, comp_context *context, const comp_dataset *dataset,
                              const char *method, const comp_model *model, const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset, method);
  const comp_baseline_method *row;
  comp__baseline_options plain;
  *out = NULL;
  comp_status status = comp_baseline_find(&row, method);
  if (status == COMP_OK) status = resolve(&plain, row, options);
  plain.model = model;
  return status == COMP_OK ? comp__baseline_method(out, context, dataset, method, &plain) : status;
}

/* ---- No integration ---- */

static comp_status run_pca(comp__baseline_run *run) {
  return comp__baseline_scores(&run->embedding, run, run->dataset->x);
}

const comp__baseline comp__baseline_pca = {
    .method = {.name = "pca",
               .summary = "principal components, no integration",
               .takes = "components seed",
               .embedding = "X_pca",
               .components = 50,
               .no_condition = true},
    .run = run_pca,
};
