/* effects.c: means by label and condition, of data and of counterfactuals, and how near they are. */
#include "report/effects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "comp/task.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "prep/options.h"

const comp_matrix *comp__counterfactual_layer(const comp_dataset *dataset, const char *target) {
  char name[COMP_LAYER_NAME_SIZE];
  comp_counterfactual_layer_name(name, target);
  return comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, name);
}

/* Adds a row to sums; false when it holds something that is no number, as rows that were not predicted may. */
static bool add_row(double *sums, const comp_matrix *matrix, size_t row) {
  size_t cols = comp_matrix_cols(matrix);
  const float *values = comp_matrix_const_values(matrix);
  if (comp_matrix_get_kind(matrix) == COMP_DENSE) {
    const float *v = values + row * cols;
    for (size_t j = 0; j < cols; j++)
      if (!isfinite(v[j])) return false;
    for (size_t j = 0; j < cols; j++) sums[j] += (double)v[j];
    return true;
  }
  const int64_t *indptr = comp_matrix_const_indptr(matrix);
  const int32_t *indices = comp_matrix_const_indices(matrix);
  for (int64_t k = indptr[row]; k < indptr[row + 1]; k++)
    if (!isfinite(values[k])) return false;
  for (int64_t k = indptr[row]; k < indptr[row + 1]; k++) sums[indices[k]] += (double)values[k];
  return true;
}

/* The mean over the samples of one label and one condition; gives how many there are. */
typedef struct mean_job {
  double *out;
  const comp_matrix *matrix;
  const int32_t *labels; /* NULL: all are 0 */
  const int32_t *conditions;
  const comp_table *obs; /* of predictions: which rows were predicted */
  size_t predicted;      /* its column, or COMP_NOT_FOUND: all were */
  int32_t label, condition;
  size_t rows, genes, count;
} mean_job;

static void run_jobs(void *arg, size_t begin, size_t end, int thread) {
  (void)thread;
  for (size_t k = begin; k < end; k++) {
    mean_job *job = (mean_job *)arg + k;
    memset(job->out, 0, job->genes * sizeof *job->out);
    for (size_t i = 0; i < job->rows; i++)
      if (job->conditions[i] == job->condition && (!job->labels || job->labels[i] == job->label) &&
          (job->predicted == COMP_NOT_FOUND || comp_table_bool(job->obs, job->predicted, i) == 1))
        job->count += add_row(job->out, job->matrix, i);
    for (size_t j = 0; j < job->genes && job->count; j++) job->out[j] /= (double)job->count;
  }
}

/* Pearson's r over the genes of a list (NULL: all), of x - x0 and y - y0 (NULL: 0). */
static double pearson(const double *x, const double *y, const double *minus, const size_t *list, size_t n) {
  double mx = 0, my = 0, sxx = 0, syy = 0, sxy = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t k = 0; k < n; k++) {
      size_t j = list ? list[k] : k;
      double a = x[j] - (minus ? minus[j] : 0), b = y[j] - (minus ? minus[j] : 0);
      if (pass == 0) {
        mx += a / (double)n;
        my += b / (double)n;
      } else {
        sxx += (a - mx) * (a - mx);
        syy += (b - my) * (b - my);
        sxy += (a - mx) * (b - my);
      }
    }
  return n >= 2 && sxx > 0 && syy > 0 ? sxy / sqrt(sxx * syy) : NAN;
}

static double squared_error(const double *x, const double *y, const size_t *list, size_t n) {
  double sum = 0;
  for (size_t k = 0; k < n; k++) sum += pow(x[list ? list[k] : k] - y[list ? list[k] : k], 2);
  return n ? sum / (double)n : NAN;
}

static void judge(comp__effect *e, size_t genes) {
  e->r_all = pearson(e->predicted, e->target, NULL, NULL, genes);
  e->r_de = pearson(e->predicted, e->target, NULL, e->de, e->n_de);
  e->r_change = pearson(e->predicted, e->target, e->source, NULL, genes);
  e->r_change_de = pearson(e->predicted, e->target, e->source, e->de, e->n_de);
  e->mse_all = squared_error(e->predicted, e->target, NULL, genes);
  e->mse_de = squared_error(e->predicted, e->target, e->de, e->n_de);
  e->mse_none = squared_error(e->source, e->target, e->de, e->n_de);
}

static comp_status keep_values(double **out, const double *values, size_t n) {
  comp_status status = comp__alloc(out, n, sizeof **out);
  if (status == COMP_OK) memcpy(*out, values, n * sizeof **out);
  return status;
}

static comp_status find_de(comp__effects *out, comp_context *context, const comp__effects_options *options) {
  comp__de_options de_options = comp__de_defaults();
  de_options.groupby = options->condition;
  de_options.label = options->label;
  de_options.target = out->target;
  de_options.reference = out->source;
  de_options.min_samples = options->min_samples;
  comp_de *de = NULL;
  comp_status status = comp__de_run(&de, context, out->dataset, &de_options);
  for (size_t l = 0; status == COMP_OK && l < comp_de_label_count(de); l++)
    for (size_t k = 0; status == COMP_OK && k < out->n_labels; k++) {
      comp__effect *e = &out->labels[k];
      if (options->label && strcmp(e->label, comp_de_label_name(de, l)) != 0) continue;
      e->n_de = options->n_de < out->genes ? options->n_de : out->genes;
      status = comp__alloc(&e->de, e->n_de, sizeof *e->de);
      if (status == COMP_OK) memcpy(e->de, comp_de_order(de, l), e->n_de * sizeof *e->de);
      if (status == COMP_OK) status = keep_values(&e->z, comp_de_scores(de, l), out->genes);
      if (status == COMP_OK) status = keep_values(&e->p, comp_de_pvals_adj(de, l), out->genes);
    }
  comp_de_free(de);
  return status;
}

static int32_t level_of(const comp_groups *groups, const char *name) {
  for (size_t i = 0; i < groups->n_levels; i++)
    if (strcmp(groups->levels[i], name) == 0) return (int32_t)i;
  return -1;
}

/* Which conditions: what was asked for, or the first that can be. */
static comp_status choose_pair(comp__effects *out, int32_t *source, int32_t *target, const comp_groups *conditions,
                               const comp__effects_options *options) {
  *source = *target = -1;
  const char *asked[] = {options->source, options->target};
  int32_t *found[] = {source, target};
  for (int i = 0; i < 2; i++)
    if (asked[i] && (*found[i] = level_of(conditions, asked[i])) < 0)
      return comp__error(COMP_ERR_ARGUMENT, "no sample has the value '%s' in obs column '%s'", asked[i],
                         options->condition);
  /* The last level is taken first: controls tend to come first. */
  for (size_t i = conditions->n_levels; i-- > 0 && *target < 0;)
    if ((int32_t)i != *source && comp__counterfactual_layer(out->dataset, conditions->levels[i])) *target = (int32_t)i;
  if (*target < 0)
    return comp__error(
        COMP_ERR_DATA,
        "no layer is named counterfactual_VALUE with a VALUE of obs column '%s': run comp counterfactual first",
        options->condition);
  char layer[COMP_LAYER_NAME_SIZE];
  comp_counterfactual_layer_name(layer, conditions->levels[*target]);
  if (!comp__counterfactual_layer(out->dataset, conditions->levels[*target]))
    return comp__error(COMP_ERR_DATA, "there is no layer '%s': run comp counterfactual --to '%s' first", layer,
                       conditions->levels[*target]);
  for (size_t i = 0; i < conditions->n_levels && *source < 0; i++)
    if ((int32_t)i != *target) *source = (int32_t)i;
  if (*source < 0 || *source == *target)
    return comp__error(COMP_ERR_ARGUMENT, "two conditions are needed, from and to; obs column '%s' gives only '%s'",
                       options->condition, conditions->levels[*target]);
  return COMP_OK;
}

/* The obs column by which comp counterfactual --from marks the samples that were predicted. */
static size_t predicted_column(const comp_table *obs, const char *layer) {
  char name[512];
  if ((size_t)snprintf(name, sizeof name, "%s_predicted", layer) >= sizeof name) return COMP_NOT_FOUND;
  size_t column = comp_table_find(obs, name);
  return column != COMP_NOT_FOUND && comp_table_column_kind(obs, column) == COMP_COLUMN_BOOL ? column : COMP_NOT_FOUND;
}

static comp_status compute(comp__effects *out, comp_context *context, const comp_groups *conditions,
                           const comp_groups *labels, int32_t source, int32_t target, size_t min_samples) {
  const comp_matrix *layer = comp__counterfactual_layer(out->dataset, conditions->levels[target]);
  const comp_matrix *x = comp_dataset_x(out->dataset);
  const comp_table *obs = comp_dataset_obs(out->dataset);
  size_t n = labels->codes ? labels->n_levels : 1, column = predicted_column(obs, out->layer);
  mean_job *jobs = NULL;
  comp_status status;
  COMP__TRY(comp__calloc(&jobs, 3 * n, sizeof *jobs));
  COMP__TRY(comp__calloc(&out->labels, n, sizeof *out->labels));
  out->n_labels = n;
  for (size_t l = 0; l < n; l++) {
    comp__effect *e = &out->labels[l];
    e->label = out->label_names ? out->label_names[l] : "";
    double **places[] = {&e->source, &e->target, &e->predicted};
    for (int k = 0; k < 3; k++) {
      COMP__TRY(comp__alloc(places[k], out->genes, sizeof(double)));
      jobs[3 * l + (size_t)k] = (mean_job){.out = *places[k],
                                           .matrix = k == 2 ? layer : x,
                                           .labels = labels->codes,
                                           .conditions = conditions->codes,
                                           .obs = obs,
                                           .predicted = k == 2 ? column : COMP_NOT_FOUND,
                                           .label = (int32_t)l,
                                           .condition = k == 1 ? target : source,
                                           .rows = comp_dataset_sample_count(out->dataset),
                                           .genes = out->genes};
    }
  }
  comp__parallel_for(context, 3 * n, 1, run_jobs, jobs);
  size_t kept = 0;
  for (size_t l = 0; l < n; l++) {
    comp__effect *e = &out->labels[l];
    e->n_source = jobs[3 * l].count;
    e->n_target = jobs[3 * l + 1].count;
    if (e->n_source >= min_samples && e->n_target >= min_samples && jobs[3 * l + 2].count > 0) {
      comp__effect good = *e;
      *e = out->labels[kept];
      out->labels[kept++] = good;
    } else if (e->n_source + e->n_target > 0) {
      out->left_out++;
    }
  }
  for (size_t l = kept; l < n; l++) {
    comp__free(out->labels[l].source);
    comp__free(out->labels[l].target);
    comp__free(out->labels[l].predicted);
  }
  out->n_labels = kept;
  if (kept == 0)
    COMP__FAIL(COMP_ERR_DATA, "no label has %zu samples or more both of '%s' and of '%s' with predictions", min_samples,
               out->source, out->target);
done:
  comp__free(jobs);
  return status;
}

comp_status comp__effects_init(comp__effects *out, comp_context *context, const comp_dataset *dataset,
                               const comp__effects_options *options) {
  *out = (comp__effects){.dataset = dataset, .genes = comp_dataset_feature_count(dataset)};
  comp_groups conditions = {0}, labels = {0};
  comp_status status;
  size_t column;
  int32_t source, target;
  COMP__TRY(comp_table_require(&column, comp_dataset_obs(dataset), options->condition));
  COMP__TRY(comp_table_groups(&conditions, comp_dataset_obs(dataset), column));
  if (options->label) {
    COMP__TRY(comp_table_require(&column, comp_dataset_obs(dataset), options->label));
    COMP__TRY(comp_table_groups(&labels, comp_dataset_obs(dataset), column));
    if (labels.n_levels == 0) COMP__FAIL(COMP_ERR_DATA, "obs column '%s' has no values", options->label);
    COMP__TRY(comp__calloc(&out->label_names, labels.n_levels, sizeof *out->label_names));
    out->n_names = labels.n_levels;
    for (size_t l = 0; l < labels.n_levels; l++) COMP__TRY(comp__strdup(&out->label_names[l], labels.levels[l]));
  }
  COMP__TRY(choose_pair(out, &source, &target, &conditions, options));
  COMP__TRY(comp__strdup(&out->source, conditions.levels[source]));
  COMP__TRY(comp__strdup(&out->target, conditions.levels[target]));
  char layer[COMP_LAYER_NAME_SIZE];
  comp_counterfactual_layer_name(layer, out->target);
  COMP__TRY(comp__strdup(&out->layer, layer));
  COMP__TRY(compute(out, context, &conditions, &labels, source, target, options->min_samples));
  COMP__TRY(find_de(out, context, options));
  for (size_t l = 0; l < out->n_labels; l++) judge(&out->labels[l], out->genes);
done:
  comp_groups_release(&conditions);
  comp_groups_release(&labels);
  return status;
}

void comp__effects_release(comp__effects *effects) {
  for (size_t l = 0; l < effects->n_labels; l++) {
    comp__effect *e = &effects->labels[l];
    comp__free(e->source);
    comp__free(e->target);
    comp__free(e->predicted);
    comp__free(e->de);
    comp__free(e->z);
    comp__free(e->p);
  }
  for (size_t l = 0; l < effects->n_names; l++) comp__free(effects->label_names[l]);
  comp__free(effects->label_names);
  comp__free(effects->labels);
  comp__free(effects->source);
  comp__free(effects->target);
  comp__free(effects->layer);
  *effects = (comp__effects){0};
}
