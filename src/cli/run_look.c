/* run_look.c: what the data of `comp run` is, whether its columns serve, and how it is prepared. */
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/text.h"

enum { MOST_CONDITIONS = 64, FEWEST_SAMPLES = 10, VARIABLE_GENES = 2000 };

/* ---- Columns --------------------------------------------------------------------------------------------------- */

static int find_level(run_job *job, const char *option, const char *value) {
  const comp_groups *g = &job->conditions;
  comp_suggest search = {.word = value};
  for (size_t l = 0; l < g->n_levels; l++) {
    if (strcmp(g->levels[l], value) == 0) return 0;
    comp_suggest_offer(&search, g->levels[l]);
  }
  return cli_error(job->session, EXIT_FAILED, "%s: no sample has '%s' in column '%s'%s%s%s (%s)",
                   job->options->input.path, value, job->options->condition, search.best ? "; did you mean '" : "",
                   search.best ? search.best : "", search.best ? "'?" : "", option);
}

/* "COL=A,B", so that samples without a value are left out. */
static int keep_known(run_job *job, size_t missing) {
  const comp_groups *g = &job->conditions;
  size_t size;
  FILE *text = open_memstream(&job->keep_known, &size);
  if (!text) return cli_error(job->session, EXIT_FAILED, "out of memory");
  fprintf(text, "%s=", job->options->condition);
  bool comma = false;
  for (size_t l = 0; l < g->n_levels; l++) {
    fprintf(text, "%s%s", l ? "," : "", g->levels[l]);
    comma = comma || strchr(g->levels[l], ',');
  }
  fclose(text);
  if (comma)
    return cli_error(job->session, EXIT_FAILED,
                     "%s: %zu samples have no value in column '%s': leave them out first, with comp prep --keep",
                     job->options->input.path, missing, job->options->condition);
  run_say(job, "%zu samples have no value in '%s' and are left out", missing, job->options->condition);
  return 0;
}

static int check_condition(run_job *job, const comp_table *obs) {
  const run_options *o = job->options;
  comp_groups *g = &job->conditions;
  const char *path = o->input.path;
  size_t column;
  comp_status status = comp_table_require(&column, obs, o->condition);
  if (status == COMP_OK) status = comp_table_groups(g, obs, column);
  if (status != COMP_OK) return cli_fail_in(job->session, status, path);
  if (g->rows == 0 && o->n_keep) return cli_error(job->session, EXIT_FAILED, "%s: --keep leaves no sample", path);
  if (g->n_levels < 2)
    return cli_error(job->session, EXIT_FAILED, "%s: column '%s' has %s%s: a condition needs two values at least", path,
                     o->condition, g->n_levels ? "one value only" : "no values",
                     o->n_keep ? " in the samples that --keep leaves" : "");
  if (g->n_levels > MOST_CONDITIONS)
    return cli_error(job->session, EXIT_FAILED, "%s: column '%s' has %zu different values: that is no condition", path,
                     o->condition, g->n_levels);
  size_t known = 0;
  for (size_t l = 0; l < g->n_levels; l++) {
    known += g->counts[l];
    if (g->counts[l] < FEWEST_SAMPLES)
      return cli_error(
          job->session, EXIT_FAILED,
          "%s: too few samples have '%s' in column '%s': %zu, where %d are needed; leave it out or merge it", path,
          g->levels[l], o->condition, g->counts[l], FEWEST_SAMPLES);
  }
  if (known < g->rows && !job->table) return keep_known(job, g->rows - known);
  return 0;
}

/* A label or a target: some values, each of several samples. */
static int check_groups(run_job *job, const comp_table *obs, const char *option, const char *name) {
  comp_groups g = {0};
  size_t column;
  int code = 0;
  if (!name) return 0;
  if (strcmp(name, job->options->condition) == 0)
    return cli_usage_error(job->session, "%s and --condition are the same column", option);
  comp_status status = comp_table_require(&column, obs, name);
  if (status == COMP_OK) status = comp_table_groups(&g, obs, column);
  if (status != COMP_OK) return cli_fail_in(job->session, status, job->options->input.path);
  if (g.n_levels == 0)
    code = cli_error(job->session, EXIT_FAILED, "%s: column '%s' has no values", job->options->input.path, name);
  else if (g.n_levels > 2 && g.n_levels > g.rows / 4)
    code =
        cli_error(job->session, EXIT_FAILED, "%s: column '%s' has %zu different values in %zu samples: that is no %s",
                  job->options->input.path, name, g.n_levels, g.rows, option + 2);
  comp_groups_release(&g);
  return code;
}

/* Predictions of two conditions may not go by the same name. */
static int check_layers(run_job *job) {
  const comp_groups *g = &job->conditions;
  char first[COMP_LAYER_NAME_SIZE], second[COMP_LAYER_NAME_SIZE];
  for (size_t a = 0; a < g->n_levels; a++) {
    comp_counterfactual_layer_name(first, g->levels[a]);
    for (size_t b = a + 1; b < g->n_levels; b++) {
      comp_counterfactual_layer_name(second, g->levels[b]);
      if (strcmp(first, second) == 0)
        return cli_error(
            job->session, EXIT_FAILED,
            "%s: the predictions for '%s' and '%s' of column '%s' would both be the layer '%s': rename one "
            "of the two values",
            job->options->input.path, g->levels[a], g->levels[b], job->options->condition, first);
    }
  }
  return 0;
}

/* From which condition to which predictions are shown first. */
static int choose_change(run_job *job) {
  const run_options *o = job->options;
  const comp_groups *g = &job->conditions;
  int code = 0;
  if (o->to) code = find_level(job, "--to", o->to);
  if (!code && o->from) code = find_level(job, "--from", o->from);
  if (code) return code;
  if (o->from && o->to && strcmp(o->from, o->to) == 0)
    return cli_usage_error(job->session, "--from and --to are the same condition");
  if (o->protect && !o->to) return 0;
  job->goal = o->to;
  for (size_t l = g->n_levels; l > 0 && !job->goal; l--)
    if (!o->from || strcmp(g->levels[l - 1], o->from) != 0) job->goal = g->levels[l - 1];
  job->source = o->from;
  for (size_t l = 0; l < g->n_levels && !job->source; l++)
    if (strcmp(g->levels[l], job->goal) != 0) job->source = g->levels[l];
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

/* The rows that --keep leaves. *out should be freed via comp_table_free(). */
static comp_status keep_rows(comp_table **out, const run_job *job, const comp_table *obs) {
  const char *const *keep = job->options->keep;
  size_t n = 0, column, *rows = malloc((comp_table_row_count(obs) + 1) * sizeof *rows);
  comp_status status = rows ? COMP_OK : COMP_ERR_MEMORY;
  for (size_t i = 0; rows && i < comp_table_row_count(obs); i++) rows[n++] = i;
  for (size_t k = 0; k < job->options->n_keep && status == COMP_OK; k++) {
    const char *equals = strchr(keep[k], '=');
    if (!equals) continue; /* comp_prep_options_check() says so */
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(equals - keep[k]), keep[k]);
    status = comp_table_require(&column, obs, name);
    size_t left = 0;
    for (size_t i = 0; i < n && status == COMP_OK; i++)
      if (is_kept(obs, column, equals + 1, rows[i])) rows[left++] = rows[i];
    n = left;
  }
  if (status == COMP_OK) status = comp_table_select(out, obs, rows, n);
  free(rows);
  return status;
}

static int check_obs(run_job *job, const comp_table *obs) {
  const run_options *o = job->options;
  int code = check_condition(job, obs);
  if (!code) code = check_groups(job, obs, "--label", o->label);
  if (!code) code = check_groups(job, obs, "--target", o->target);
  if (!code && o->k != OPT_UNSET_INT && (size_t)o->k >= job->conditions.rows)
    code = cli_error(job->session, EXIT_FAILED, "%s: %lld neighbours (--k) cannot be had of %zu samples", o->input.path,
                     (long long)o->k, job->conditions.rows);
  return code ? code : choose_change(job);
}

int run_check_data(run_job *job) {
  const run_options *o = job->options;
  comp_status status = comp_file_format(&job->format, o->input.path);
  if (status != COMP_OK) return cli_fail(job->session, status);
  bool text = strcmp(job->format, "csv") == 0;
  job->table = strcmp(o->as, "table") == 0 ||
               (strcmp(o->as, "auto") == 0 && text && !comp_options_given(job->read, "metadata") &&
                !comp_options_given(job->read, "transpose"));
  if (job->table && !text)
    return cli_error(job->session, EXIT_FAILED, "%s: not a text table: --as table is for .csv and .tsv", o->input.path);
  const char *counts = o->hvg ? "--hvg" : o->no_hvg ? "--no-hvg" : o->n_keep ? "--keep" : NULL;
  const char *tables = comp_options_given(o->tabular, "drop")           ? "--drop"
                       : comp_options_given(o->tabular, "drop-missing") ? "--drop-missing"
                                                                        : NULL;
  if (job->table && counts) return cli_usage_error(job->session, "%s is not for tables", counts);
  if (!job->table && tables) return cli_usage_error(job->session, "%s is for tables only", tables);
  int code;
  if (job->table) {
    comp_table *table = NULL;
    status = comp_table_read(&table, job->context, o->input.path, job->read);
    code = status == COMP_OK ? check_obs(job, table) : cli_fail_in(job->session, status, o->input.path);
    comp_table_free(table);
    return code;
  }
  comp_options *read = NULL;
  comp_dataset *names = NULL;
  status = comp_options_copy(&read, job->read);
  if (status == COMP_OK) status = cli_input_skip(read, !text, true); /* a text table is told apart by its values */
  if (status == COMP_OK) status = comp_options_set(read, "layer", NULL);
  if (status == COMP_OK) status = comp_dataset_read(&names, job->context, o->input.path, read);
  comp_options_free(read);
  comp_table *kept = NULL;
  if (status == COMP_OK) status = keep_rows(&kept, job, comp_dataset_obs(names));
  code = status == COMP_OK ? check_obs(job, kept) : cli_fail_in(job->session, status, o->input.path);
  comp_table_free(kept);
  comp_dataset_free(names);
  return code;
}

/* ---- Preparation ----------------------------------------------------------------------------------------------- */

static void add_input(run_job *job) {
  const comp_options *r = job->read;
  run_line_own(job, "-i", job->options->input.path);
  run_line_path(job, "-o", "data.h5ad");
  run_line_own(job, "--metadata", comp_options_get(r, "metadata", NULL, 0)); /* its bytes are part of the digest */
  run_line_text(job, "--layer", comp_options_get(r, "layer", NULL, 0));
  if (comp_options_given(r, "raw")) run_line_flag(job, "--raw");
  if (comp_options_given(r, "transpose")) run_line_flag(job, "--transpose");
  if (comp_options_given(r, "no-header") || comp_options_given(r, "names")) run_line_flag(job, "--no-header");
  run_line_text(job, "--names", comp_options_get(r, "names", NULL, 0));
  run_line_text(job, "--missing", comp_options_get(r, "missing", NULL, 0));
  run_line_text(job, "--comment", comp_options_get(r, "comment", NULL, 0));
}

/* Everything that the preparation depends on, as one number. */
static uint64_t request(const run_job *job) {
  static const char *const groups[] = {"Preparation", "Input", NULL};
  const run_options *o = job->options;
  char *options = run_options_text(job, groups);
  const char *texts[] = {comp_version(),
                         job->digest,
                         job->format,
                         job->table ? "table" : "omics",
                         o->condition,
                         job->table ? o->label : NULL,
                         job->table ? o->target : NULL,
                         job->keep_known,
                         options};
  uint64_t id = 1;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) id = run_mix_text(id, texts[i]);
  free(options);
  return id;
}

/* The command line is complete: shows it, and takes the fingerprint. */
static void prepared(run_job *job) {
  static const char *const outputs[] = {"data.h5ad", NULL};
  run_step_begin(job, run_mix_text(run_mix_text(0, comp_version()), job->digest), outputs);
}

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
static comp_status drop_identifiers(comp_options *t, run_job *job, const comp_table *table) {
  comp_status status = COMP_OK;
  for (size_t c = 0; c < comp_table_column_count(table) && status == COMP_OK; c++) {
    const char *name = comp_table_column_name(table, c);
    size_t n_obs, n_drop;
    const char *const *obs = comp_options_get_list(&n_obs, t, "obs");
    const char *const *drop = comp_options_get_list(&n_drop, t, "drop");
    if (is_in(obs, n_obs, name) || is_in(drop, n_drop, name) || !is_identifier(table, c)) continue;
    status = comp_options_add(t, "drop", name);
    run_say(job, "column '%s' is left out: nearly every row has a value of its own, as names of rows have", name);
  }
  return status;
}

/* The options for the table. *out should be freed via comp_options_free(). */
static comp_status tabular_options(comp_options **out, run_job *job, const comp_table *table) {
  const run_options *o = job->options;
  comp_status status = comp_options_copy(out, o->tabular);
  if (status == COMP_OK) status = comp_options_add(*out, "obs", o->condition);
  if (status == COMP_OK && o->label) status = comp_options_add(*out, "obs", o->label);
  if (status == COMP_OK && o->target && (!o->label || strcmp(o->label, o->target) != 0))
    status = comp_options_add(*out, "obs", o->target);
  return status == COMP_OK ? drop_identifiers(*out, job, table) : status;
}

/* Whether a column that is not left out has a missing value, where such rows are not left out. */
static bool has_missing(const comp_table *table, const comp_options *t) {
  char buffer[256];
  bool leaves_out = false;
  size_t n;
  const char *const *drop = comp_options_get_list(&n, t, "drop");
  if (comp_options_get_bool(&leaves_out, t, "drop-missing") != COMP_OK || leaves_out) return false;
  for (size_t c = 0; c < comp_table_column_count(table); c++)
    for (size_t i = 0; i < comp_table_row_count(table) && !is_in(drop, n, comp_table_column_name(table, c)); i++)
      if (comp_table_format(table, c, i, buffer, sizeof buffer)[0] == '\0') return true;
  return false;
}

static int encode_table(run_job *job) {
  const run_options *o = job->options;
  comp_options *t = NULL;
  comp_table *table = NULL;
  comp_status status = comp_table_read(&table, job->context, o->input.path, job->read);
  if (status == COMP_OK) status = tabular_options(&t, job, table);
  if (status == COMP_OK) {
    run_line_start(job, "prep", "prep");
    add_input(job);
    run_line_options(job, t);
    run_say(job, "a table: names become one feature each, and all features get mean 0 and variance 1");
    prepared(job);
    status = comp_tabular_encode(&job->dataset, job->context, table, t);
  }
  bool lacking = status == COMP_ERR_DATA && has_missing(table, t);
  comp_options_free(t);
  comp_table_free(table);
  int code = status == COMP_OK ? 0 : cli_fail_in(job->session, status, o->input.path);
  if (lacking) run_say(job, "--drop-missing leaves such rows out, --drop COL a column");
  return code;
}

/* What to do with values that look like this, and why. */
static comp_status plan(comp_options *p, run_job *job, const comp_data_look *look) {
  const run_options *o = job->options;
  size_t features = comp_dataset_feature_count(job->dataset);
  comp_status status = COMP_OK;
  const char *why = NULL;
  switch (look->kind) {
  case COMP_DATA_COUNTS:
    status = comp_options_set(p, "normalize-total", "median");
    if (status == COMP_OK) status = comp_options_set_bool(p, "log1p", true);
    if (status == COMP_OK) status = comp_options_set_bool(p, "keep-counts", true);
    why = "samples are scaled to the same total, and logarithms taken";
    break;
  case COMP_DATA_NORMALIZED:
    status = comp_options_set_bool(p, "log1p", true);
    why = "logarithms are taken";
    break;
  case COMP_DATA_LOG:
    why = "taken as they are";
    break;
  case COMP_DATA_CENTERED:
    why = "taken as they are, with all features";
    break;
  }
  run_say(job, "%s: %s", look->reason, why);
  if (!o->hvg && !o->no_hvg && look->kind != COMP_DATA_CENTERED && features > VARIABLE_GENES) {
    char text[32];
    snprintf(text, sizeof text, "seurat:%d", VARIABLE_GENES);
    if (status == COMP_OK) status = comp_options_set(p, "hvg", text);
    run_say(job, "%zu features: the %d most variable ones are kept (--no-hvg keeps all)", features, VARIABLE_GENES);
  }
  if (status == COMP_OK && job->keep_known) status = comp_options_add(p, "keep", job->keep_known);
  return status;
}

static void show_plan(run_job *job, const comp_options *p) {
  static const char *const names[] = {"normalize-total", "log1p", "hvg", "keep"};
  bool nothing = true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) nothing = nothing && !comp_options_given(p, names[i]);
  run_line_start(job, "prep", nothing ? "convert" : "prep");
  add_input(job);
  run_line_options(job, p);
  prepared(job);
}

/* Results that would replace something of the user's. */
static void tell_replaced(run_job *job) {
  static const char *const names[] = {"X_comp", "X_umap", "X_umap_before", "X_pca"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (comp_dataset_matrix(job->dataset, COMP_SLOT_OBSM, names[i]))
      run_say(job, "obsm/%s of the input gets a new value in %s/data.h5ad; the input itself stays as it is", names[i],
              job->folder);
}

static int prepare_counts(run_job *job) {
  const run_options *o = job->options;
  comp_options *p = NULL;
  comp_data_look look;
  comp_status status = comp_dataset_read(&job->dataset, job->context, o->input.path, job->read);
  if (status == COMP_OK) status = comp_data_look_at(&look, job->context, comp_dataset_x(job->dataset));
  if (status != COMP_OK) return cli_fail_in(job->session, status, o->input.path);
  char samples[32], features[32];
  run_say(job, "%s: %s samples x %s features, %s", o->input.path,
          text_count(samples, sizeof samples, comp_dataset_sample_count(job->dataset)),
          text_count(features, sizeof features, comp_dataset_feature_count(job->dataset)),
          comp_matrix_get_kind(comp_dataset_x(job->dataset)) == COMP_CSR ? "sparse" : "dense");
  int code = 0;
  status = comp_options_copy(&p, o->prep);
  if (status == COMP_OK) status = plan(p, job, &look);
  if (status == COMP_OK && comp_options_check(p) != COMP_OK) code = cli_option_error(job->session);
  tell_replaced(job);
  if (status == COMP_OK && !code) show_plan(job, p);
  if (status == COMP_OK && !code) status = comp_prep(&job->dataset, job->context, p);
  comp_options_free(p);
  return status == COMP_OK ? code : cli_fail_in(job->session, status, o->input.path);
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

/* The data goes to the folder at once: a run that is stopped need not prepare it again. */
static int prepare_and_save(run_job *job) {
  int code = job->table ? encode_table(job) : prepare_counts(job);
  if (code) return code;
  run_keep_old_data(job);
  code = run_save_data(job);
  if (!code) code = run_step_done(job);
  return code ? code : run_folder_save(job, false);
}

int run_prepare(run_job *job) {
  int code = run_take_prepared(job, request(job)) ? 0 : prepare_and_save(job);
  if (code) return code;
  job->encoded = was_table(job->dataset);
  json_object_set_new(json_object_get(job->record, "input"), "kind", json_string(job->encoded ? "table" : "omics"));
  job->prepared = job->fingerprint;
  /* Filters may have taken samples away: what is there now counts. */
  comp_groups before = job->conditions;
  job->conditions = (comp_groups){0};
  if (!code) code = check_obs(job, comp_dataset_obs(job->dataset));
  comp_groups_release(&before);
  size_t n = comp_dataset_sample_count(job->dataset);
  job->k = job->options->k != OPT_UNSET_INT ? (size_t)job->options->k : n >= 1000 ? 100 : n / 10 < 5 ? 5 : n / 10;
  if (!code && job->k < 100 && job->options->k == OPT_UNSET_INT)
    run_say(job, "%zu samples: metrics look at %zu neighbours in place of 100", n, job->k);
  return code;
}
