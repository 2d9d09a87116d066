/* prepare.c: the first step of a run: how the data is prepared, and data.h5ad. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comp/io.h"
#include "comp/machine.h"
#include "comp/prep.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/strings.h"
#include "core/table.h"
#include "pipeline/job.h"
#include "prep/plan.h"

enum { VARIABLE_GENES = 2000 };

/* ---- What it depends on ---------------------------------------------------------------------------------------- */

/* Whether genes are chosen by condition and label. */
static bool chooses_by_label(const comp__run_options *o) {
  return !o->no_hvg && (o->prep.hvg.flavor == COMP_HVG_NONE || o->prep.hvg.flavor == COMP_HVG_AUTO);
}

/* Everything that the preparation depends on, as one number. */
static comp_status take_request(comp__job *job) {
  static const char *const groups[] = {"Preparation", "Input", NULL};
  const comp__run_options *o = &job->o;
  char *options = NULL;
  comp_status status = comp__run_options_text(&options, job->options, groups);
  if (status != COMP_OK) return status;
  char held[64] = "";
  if (comp__job_holds(job)) snprintf(held, sizeof held, "%.17g %llu", o->test_share, (unsigned long long)o->train.seed);
  const char *texts[] = {comp__program,
                         job->digest,
                         job->format,
                         job->table ? "table" : "omics",
                         o->train.condition,
                         job->table || chooses_by_label(o) ? o->label : NULL,
                         job->table ? o->target : NULL,
                         job->keep_known,
                         held,
                         options};
  job->request = 1;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) job->request = comp__mix_text(job->request, texts[i]);
  free(options);
  return COMP_OK;
}

/* How the input is read, as words of the command line. A file of metadata does not decide: its bytes are part of the
 * digest. */
static void add_input(comp__plan *plan, const comp__job *job) {
  const comp_option *option;
  comp__words_show(&plan->words, "-i", job->source);
  comp__words_show(&plan->words, "-o", comp__path_in(job->folder, "data.h5ad").text);
  for (size_t i = 0; (option = comp_options_at(job->options, i)); i++) {
    const char *name = comp_option_name(option), *text;
    char words[80], value[1024];
    if (strcmp(comp_option_group(option), "Input") != 0 || !comp_options_given(job->options, name)) continue;
    snprintf(words, sizeof words, "--%s", name);
    text = comp_options_get(job->options, name, value, sizeof value);
    if (comp_option_get_type(option) == COMP_OPTION_FILE)
      comp__words_show(&plan->words, words, text);
    else if (comp_option_get_type(option) != COMP_OPTION_BOOL)
      comp__words_add(&plan->words, words, text);
    else if (strcmp(text, "true") == 0)
      comp__words_add(&plan->words, words, NULL);
  }
}

/* ---- Tables ---------------------------------------------------------------------------------------------------- */

/* Columns of text whose values are nearly all different are names of rows: a feature for each of them says nothing. */
static bool is_identifier(const comp_table *table, size_t column) {
  comp_groups g = {0};
  size_t known = 0;
  comp_column_kind kind = comp_table_column_kind(table, column);
  if (kind != COMP_COLUMN_STRING && kind != COMP_COLUMN_CATEGORICAL) return false;
  if (comp_table_groups(&g, table, column) != COMP_OK) return false;
  for (size_t l = 0; l < g.n_levels; l++) known += g.counts[l];
  bool found = g.n_levels > 20 && (double)g.n_levels > 0.9 * (double)known;
  comp_groups_release(&g);
  return found;
}

static bool is_in(const char *const *names, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* Leaves out columns that name rows, besides those of the user. */
static comp_status drop_identifiers(comp_options *t, comp__job *job, const comp_table *table) {
  comp_status status = COMP_OK;
  for (size_t c = 0; c < comp_table_column_count(table) && status == COMP_OK; c++) {
    const char *name = comp_table_column_name(table, c);
    size_t n_obs, n_drop;
    const char *const *obs = comp_options_get_list(&n_obs, t, "obs");
    const char *const *drop = comp_options_get_list(&n_drop, t, "drop");
    if (is_in(obs, n_obs, name) || is_in(drop, n_drop, name) || !is_identifier(table, c)) continue;
    status = comp_options_add(t, "drop", name);
    comp__info(job->context, "column '%s' is left out: nearly every row has a value of its own, as names of rows have",
               name);
  }
  return status;
}

/* The options for the table. *out should be freed via comp_options_free(). */
static comp_status tabular_options(comp_options **out, comp__job *job, const comp_table *table) {
  const comp__run_options *o = &job->o;
  comp_status status = comp__options_part(out, job->options, &comp__tabular_kind);
  if (status == COMP_OK) status = comp_options_add(*out, "obs", o->train.condition);
  if (status == COMP_OK && o->label) status = comp_options_add(*out, "obs", o->label);
  if (status == COMP_OK && o->target && (!o->label || strcmp(o->label, o->target) != 0))
    status = comp_options_add(*out, "obs", o->target);
  return status == COMP_OK ? drop_identifiers(*out, job, table) : status;
}

static comp_status plan_table(comp__plan *plan, comp__job *job) {
  comp_status status = comp__table_read(&job->columns, job->context, job->o.input, &job->o.read);
  if (status == COMP_OK) status = tabular_options(&plan->options, job, job->columns);
  if (status != COMP_OK) return comp__error_in_data(job, status);
  comp__info(job->context,
             "a table: each category becomes a 0/1 column (one-hot), and all features get mean 0 and variance 1");
  return COMP_OK;
}

static comp_status encode_table(comp__job *job, const comp_options *options) {
  comp_status status = comp_tabular_encode(&job->dataset, job->context, job->columns, options);
  comp_table_free(job->columns);
  job->columns = NULL;
  return comp__error_in_data(job, status);
}

/* ---- Measurements ---------------------------------------------------------------------------------------------- */

/* What the values are, by condition, in the samples that --keep leaves. */
static comp_status look_at_data(comp_data_look *out, comp__job *job) {
  comp_status status;
  comp_groups groups = {0};
  const comp_dataset *d = job->dataset;
  bool *kept = NULL;
  size_t column;
  COMP__TRY(comp__alloc(&kept, comp_dataset_sample_count(d), sizeof *kept));
  COMP__TRY(comp__filter_kept(kept, d, &job->o.prep.filter));
  COMP__TRY(comp_table_require(&column, comp_dataset_obs(d), job->o.train.condition));
  COMP__TRY(comp_table_groups(&groups, comp_dataset_obs(d), column));
  for (size_t i = 0; i < groups.rows; i++)
    if (!kept[i]) groups.codes[i] = -1;
  COMP__TRY(comp_data_look_by(out, NULL, job->context, comp_dataset_x(d), &groups));
done:
  comp__free(kept);
  comp_groups_release(&groups);
  return status;
}

/* The user knows better than a look does (--values). */
static comp_status override_look(comp_options *p, comp_data_look *look, const char *values) {
  comp_status status;
  if (strcmp(values, "auto") == 0) return COMP_OK;
  COMP__TRY(comp_data_kind_parse(&look->kind, values));
  if (look->negatives > 0 && look->kind != COMP_DATA_CENTERED)
    COMP__FAIL(COMP_ERR_DATA, "--values %s: some values are negative (%zu, the lowest %g)", values, look->negatives,
               look->min);
  look->common_total = 0.0;
  look->binary = false;
  snprintf(look->reason, sizeof look->reason, "values from %g to %g, which --values %s says are so", look->min,
           look->max, values);
  COMP__TRY(comp_options_set_bool(p, "force", true));
done:
  return status;
}

/* Genes: those of the user, or the default of many features; all of them stay in raw. */
static comp_status choose_genes(comp_options *p, comp__job *job, const comp_data_look *look) {
  const comp__run_options *o = &job->o;
  size_t features = comp_dataset_feature_count(job->dataset);
  bool given = o->prep.hvg.flavor != COMP_HVG_NONE;
  bool automatic = given ? o->prep.hvg.flavor == COMP_HVG_AUTO
                         : !o->no_hvg && look->kind != COMP_DATA_CENTERED && features > VARIABLE_GENES;
  comp_status status = COMP_OK;
  char text[32];
  snprintf(text, sizeof text, "auto:%d", VARIABLE_GENES);
  if (!given && automatic) COMP__TRY(comp_options_set(p, "hvg", text));
  if (automatic) COMP__TRY(comp_options_set(p, "condition", o->train.condition));
  if (automatic && o->label) COMP__TRY(comp_options_set(p, "label", o->label));
  if (given || automatic) COMP__TRY(comp_options_set_bool(p, "keep-raw", true));
  if (!given && automatic)
    comp__info(job->context,
               "%zu features: the %d most variable ones within conditions are kept, and the top DE features between "
               "conditions; "
               "raw holds all features (--no-hvg keeps all)",
               features, VARIABLE_GENES);
done:
  return status;
}

/* What to do with values that look like this, and why. */
static comp_status prep_options(comp_options *p, comp__job *job, comp_data_look *look) {
  comp_status status;
  const char *why = "";
  COMP__TRY(override_look(p, look, job->o.values));
  COMP__TRY(comp__prep_plan(p, &why, look, job->o.train.condition));
  comp__info(job->context, "%s: %s", look->reason, why);
  COMP__TRY(choose_genes(p, job, look));
  if (job->keep_known) COMP__TRY(comp_options_add(p, "keep", job->keep_known));
  COMP__TRY(comp_options_check(p));
done:
  return status;
}

/* Where no option does anything, the command that does the same only converts. */
static void choose_command(comp__plan *plan) {
  static const char *const names[] = {"to-counts", "normalize-total", "log1p", "hvg", "keep"};
  bool nothing = true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    nothing = nothing && !comp_options_given(plan->options, names[i]);
  if (nothing) snprintf(plan->command, sizeof plan->command, "convert");
}

/* Whether this run makes a matrix of that name. */
static bool is_made(comp__job *job, comp_slot slot, const char *name) {
  char output[512];
  snprintf(output, sizeof output, "%s/%s", comp_slot_name(slot), name);
  return comp__steps_make(job, output);
}

/* Results whose names something of the user's has: an embedding is overwritten, which is said; a layer is kept under
 * another name. Layers that are set aside move to the end of the list. */
static comp_status tell_replaced(comp__job *job) {
  comp_dataset *d = job->dataset;
  comp_status status = COMP_OK;
  for (size_t i = 0; i < comp_dataset_matrix_count(d, COMP_SLOT_OBSM); i++) {
    const char *name = comp_dataset_matrix_name(d, COMP_SLOT_OBSM, i);
    if (is_made(job, COMP_SLOT_OBSM, name))
      comp__info(job->context, "obsm/%s of the input is overwritten in %s/data.h5ad; the input itself stays as it is",
                 name, job->folder);
  }
  for (size_t i = 0; i < comp_dataset_matrix_count(d, COMP_SLOT_LAYERS) && status == COMP_OK;) {
    char name[512];
    snprintf(name, sizeof name, "%s", comp_dataset_matrix_name(d, COMP_SLOT_LAYERS, i));
    if (is_made(job, COMP_SLOT_LAYERS, name))
      status = comp__set_layer_aside(job->context, d, name, NULL);
    else
      i++;
  }
  return status;
}

static comp_status read_measurements(comp__job *job) {
  comp__digits samples, features;
  comp_status status = job->given ? comp_dataset_select(&job->dataset, job->context, job->given, NULL, 0, NULL, 0)
                                  : comp__dataset_read(&job->dataset, job->context, job->o.input, &job->o.read);
  if (status != COMP_OK) return status;
  comp__info(job->context, "%s: %s samples x %s features, %s", job->source,
             comp__digits_of(&samples, comp_dataset_sample_count(job->dataset)),
             comp__digits_of(&features, comp_dataset_feature_count(job->dataset)),
             comp_matrix_get_kind(comp_dataset_x(job->dataset)) == COMP_CSR ? "sparse" : "dense");
  return COMP_OK;
}

static comp_status plan_measurements(comp__plan *plan, comp__job *job) {
  comp_data_look look;
  comp_status status = read_measurements(job);
  if (status == COMP_OK) status = look_at_data(&look, job);
  if (status == COMP_OK) status = comp__options_part(&plan->options, job->options, &comp__prep_kind);
  if (status == COMP_OK) status = prep_options(plan->options, job, &look);
  if (status == COMP_OK) status = tell_replaced(job);
  if (status != COMP_OK) return comp__error_in_data(job, status);
  choose_command(plan);
  return COMP_OK;
}

/* ---- The step -------------------------------------------------------------------------------------------------- */

comp_status comp__prepare_plan(comp__plan *plan, comp__job *job) {
  add_input(plan, job);
  return job->table ? plan_table(plan, job) : plan_measurements(plan, job);
}

/* The data goes to the folder at once: a run that is stopped need not prepare it again. What data.h5ad holds of steps
 * that may not have to be done again is kept in memory before. */
comp_status comp__prepare(comp__job *job, const comp__plan *plan) {
  comp_status status = job->table ? encode_table(job, plan->options)
                                  : comp__error_in_data(job, comp_prep(&job->dataset, job->context, plan->options));
  if (status != COMP_OK) return status;
  status = comp__hold_samples(job);
  if (status != COMP_OK) return status;
  comp__old_data(job);
  status = comp__save_data(job);
  if (status != COMP_OK) return status;
  comp_dataset_free(job->dataset->raw); /* the file has it now, and later steps carry it on */
  job->dataset->raw = NULL;
  /* The tables are what the file holds: later steps copy them from there, as a run does that goes on after a stop. So
   * both write the same bytes. */
  comp__table_mark_file(comp_dataset_obs(job->dataset));
  comp__table_mark_file(comp_dataset_var(job->dataset));
  job->saved = true;
  return COMP_OK;
}

/* Whether all matrices that steps of the earlier run made are made by this one, too. */
static bool makes_all(comp__job *job) {
  size_t i, k;
  json_t *step, *output;
  bool all = true;
  json_array_foreach(json_object_get(job->old, "steps"), i, step) {
    json_array_foreach(json_object_get(step, "outputs"), k, output) {
      comp_slot slot;
      const char *name;
      if (comp__output_is_matrix(json_string_value(output), &slot, &name))
        all = all && comp__steps_make(job, json_string_value(output));
    }
  }
  return all;
}

/* Reads data.h5ad of the earlier run, if it still holds what was prepared there. */
static bool read_prepared(comp__job *job) {
  bool untouched = comp__file_is_untouched(job->work, job->old, "data.h5ad");
  comp__path path = comp__path_at_work(job, "data.h5ad");
  if (comp_dataset_read(&job->dataset, job->context, path.text, NULL) != COMP_OK) return false;
  json_t *content = json_object_get(job->old, "content");
  if (untouched || comp__is_digest(content, "prepared", comp__content_prepared(job->dataset))) return true;
  comp_dataset_free(job->dataset);
  job->dataset = NULL;
  return false;
}

/* As an earlier run with the same request did it: the step is shown and recorded as it was, and the data is read from
 * data.h5ad. Not when data.h5ad holds results that this run does not make: nobody could distinguish them from the
 * user's own.
 */
comp_status comp__prepare_take(bool *out, comp__job *job) {
  json_t *step = json_array_get(json_object_get(job->old, "steps"), 0);
  comp_status status = take_request(job);
  *out = status == COMP_OK && !job->o.fresh && comp__is_digest(step, "request", job->request) && makes_all(job) &&
         read_prepared(job);
  if (!*out) return status;
  const char *command = json_string_value(json_object_get(step, "command"));
  const char *fingerprint = json_string_value(json_object_get(step, "fingerprint"));
  job->reused = true;
  comp__tell_stopped(job);
  comp__info(job->context, "$ %s    # as before", command ? command : "");
  job->fingerprint = strtoull(fingerprint ? fingerprint : "", NULL, 16);
  job->all = comp__mix(job->all, &job->fingerprint, sizeof job->fingerprint);
  json_array_append(json_object_get(job->record, "steps"), step);
  return COMP_OK;
}

/* Whether the record of a data set says that it was a table. */
static bool was_table(const comp_dataset *dataset) {
  json_t *record = json_loads(comp_dataset_record(dataset) ? comp_dataset_record(dataset) : "", 0, NULL), *step;
  size_t i;
  bool found = false;
  json_array_foreach(json_object_get(json_object_get(record, "prep"), "steps"), i, step) {
    const char *name = json_string_value(json_object_get(step, "step"));
    found = found || (name && strcmp(name, "tabular") == 0);
  }
  json_decref(record);
  return found;
}

/* Filters may have taken samples away: what is there now counts. */
static comp_status check_again(comp__job *job) {
  comp_groups before = job->conditions;
  job->conditions = (comp_groups){0};
  comp_status status = comp__check_obs(job, comp_dataset_obs(job->dataset));
  comp_groups_release(&before);
  return status;
}

comp_status comp__prepare_finish(comp__job *job) {
  size_t n = comp_dataset_sample_count(job->dataset);
  comp_status status = job->reused ? COMP_OK : comp__folder_save(job, false);
  if (status != COMP_OK) return status;
  job->encoded = was_table(job->dataset);
  json_object_set_new(json_object_get(job->record, "input"), "kind", json_string(job->encoded ? "table" : "omics"));
  status = check_again(job);
  job->k = job->o.k ? job->o.k : n >= 1000 ? 100 : n / 10 < 5 ? 5 : n / 10;
  if (status == COMP_OK && job->k < 100 && !job->o.k)
    comp__info(job->context, "%zu samples: metrics look at %zu neighbours in place of 100", n, job->k);
  return status;
}

/* ---- data.h5ad ------------------------------------------------------------------------------------------------- */

comp_status comp__save_data(comp__job *job) {
  comp__write_options write = comp__write_defaults();
  comp__path path = comp__path_at_work(job, "data.h5ad");
  if (job->reused || job->saved)
    write.carry_from = path.text;
  else if ((strcmp(job->format, "h5ad") == 0 || strcmp(job->format, "zarr") == 0) && !job->o.read.raw)
    write.carry_from = job->o.input;
  job->data_changed++;
  return comp__dataset_write(job->context, job->dataset, path.text, &write);
}

comp_dataset *comp__old_data(comp__job *job) {
  comp__path path = comp__path_at_work(job, "data.h5ad");
  if (job->old_data_read) return job->old_data;
  job->old_data_read = true;
  if (!job->old || access(path.text, F_OK) != 0) return NULL;
  const comp__read_options read = {.skip_x = true};
  if (comp__dataset_read(&job->old_data, job->context, path.text, &read) != COMP_OK) return NULL;
  if (comp_dataset_sample_count(job->old_data) != comp_dataset_sample_count(job->dataset) ||
      comp_dataset_feature_count(job->old_data) != comp_dataset_feature_count(job->dataset)) {
    comp_dataset_free(job->old_data);
    job->old_data = NULL;
  }
  return job->old_data;
}
