/*
 * celligner_files.c: reads what was published with Celligner.
 *
 * The table of tumours has a row a gene, and many more genes than are wanted. It is read as it is, and turned when the
 * genes have been chosen, so that the largest matrix is in memory once.
 */
#include "experiment/celligner_files.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/strings.h"
#include "io/options.h"
#include "prep/options.h"

/* ---- Files ----------------------------------------------------------------------------------------------------- */

/* The one file of a purpose; "" when there is none. */
static comp_status find_file(char *out, size_t size, const char *folder, const char *const *patterns) {
  char pattern[4096];
  glob_t found = {0};
  comp_status status = COMP_OK;
  out[0] = '\0';
  for (size_t p = 0; patterns[p]; p++)
    for (int gz = 0; gz < 2; gz++) {
      snprintf(pattern, sizeof pattern, "%s/celligner/%s%s", folder, patterns[p], gz ? ".gz" : "");
      int failed = glob(pattern, p + (size_t)gz > 0 ? GLOB_APPEND : 0, NULL, &found);
      if (failed && failed != GLOB_NOMATCH)
        COMP__FAIL(COMP_ERR_IO, "%s/celligner: cannot look for %s", folder, patterns[p]);
    }
  if (found.gl_pathc > 1)
    COMP__FAIL(COMP_ERR_DATA, "'%s' and '%s' are there: leave the one that is to be used", found.gl_pathv[0],
               found.gl_pathv[1]);
  if (found.gl_pathc == 1 && strlen(found.gl_pathv[0]) >= size)
    COMP__FAIL(COMP_ERR_ARGUMENT, "%s: the name is too long", found.gl_pathv[0]);
  if (found.gl_pathc == 1) snprintf(out, size, "%s", found.gl_pathv[0]);
done:
  globfree(&found);
  return status;
}

comp_status comp__celligner_find(bool *found, comp__celligner_files *out, const char *folder) {
  static const char *const tumours[] = {"TCGA_mat.tsv", "TumorCompendium_*.tsv", NULL};
  static const char *const lines[] = {"CCLE_mat.csv", "CCLE_expression*.csv", "OmicsExpression*.csv", NULL};
  static const char *const info[] = {"Celligner_info.csv", NULL};
  static const char *const genes[] = {"hgnc_complete_set*.txt", NULL};
  comp_status status;
  *found = false;
  COMP__TRY(find_file(out->tumours, sizeof out->tumours, folder, tumours));
  COMP__TRY(find_file(out->lines, sizeof out->lines, folder, lines));
  COMP__TRY(find_file(out->info, sizeof out->info, folder, info));
  COMP__TRY(find_file(out->genes, sizeof out->genes, folder, genes));
  if (!out->tumours[0] && !out->lines[0] && !out->info[0]) return COMP_OK;
  const char *lacking = !out->tumours[0] ? "TCGA_mat.tsv" : !out->lines[0] ? "CCLE_mat.csv" : "Celligner_info.csv";
  if (!out->tumours[0] || !out->lines[0] || !out->info[0])
    COMP__FAIL(COMP_ERR_DATA, "%s/celligner: there is no %s; docs/experiments.md says which files are needed", folder,
               lacking);
  *found = true;
done:
  return status;
}

/* ---- Annotation ------------------------------------------------------------------------------------------------ */

typedef struct annotation {
  const char *path;
  comp_table *table;
  comp__strings names;
  comp__string_index index;
  size_t tissue, type; /* columns */
} annotation;

static void release_annotation(annotation *a) {
  comp__string_index_release(&a->index);
  comp__strings_release(&a->names);
  comp_table_free(a->table);
}

/* A column as a list of text; what is missing there is missing. */
static comp_status column_text(comp__strings *out, const comp_table *table, size_t column) {
  char buffer[512];
  comp_status status = COMP_OK;
  for (size_t i = 0; i < comp_table_row_count(table) && status == COMP_OK; i++) {
    const char *text = comp_table_format(table, column, i, buffer, sizeof buffer);
    status = comp__strings_append(out, text[0] ? text : NULL, strlen(text));
  }
  return status;
}

static comp_status read_annotation(annotation *a, comp_context *context, const char *path) {
  comp__read_options read = {0};
  comp_status status;
  *a = (annotation){.path = path};
  COMP__TRY(comp__table_read(&a->table, context, path, &read));
  size_t names = comp_table_find(a->table, "sampleID");
  if (names == COMP_NOT_FOUND) names = 0; /* the first column, when it has another name or none */
  a->tissue = comp_table_find(a->table, "lineage");
  if (a->tissue == COMP_NOT_FOUND) a->tissue = comp_table_find(a->table, "disease");
  if (a->tissue == COMP_NOT_FOUND)
    COMP__FAIL(COMP_ERR_DATA, "%s: there is neither a column 'lineage' nor 'disease'", path);
  status = comp_table_require(&a->type, a->table, "type");
  if (status != COMP_OK) {
    status = comp__error_in_file(status, path);
    goto done;
  }
  COMP__TRY(column_text(&a->names, a->table, names));
  COMP__TRY(comp__string_index_init(&a->index, &a->names, NULL));
done:
  return status;
}

/* The samples of one file that are annotated: their places, names, conditions and tissues. */
typedef struct samples {
  size_t *places, count;
  comp__strings names, conditions, tissues;
} samples;

static void release_samples(samples *s) {
  comp__free(s->places);
  comp__strings_release(&s->names);
  comp__strings_release(&s->conditions);
  comp__strings_release(&s->tissues);
}

/* Adds what is annotated of the n samples that name(data, i) names. */
static comp_status add_samples(samples *s, comp_context *context, const annotation *a, const comp_dataset *data,
                               size_t n, const char *(*name)(const comp_dataset *data, size_t i), const char *condition,
                               const char *path) {
  comp_status status;
  char buffer[512];
  comp__free(s->places);
  s->count = 0;
  COMP__TRY(comp__alloc(&s->places, n, sizeof *s->places));
  for (size_t i = 0; i < n; i++) {
    const char *sample = name(data, i);
    size_t row = comp__string_index_find(&a->index, sample);
    if (row == SIZE_MAX) continue;
    const char *text = comp_table_format(a->table, a->type, row, buffer, sizeof buffer);
    if (strcmp(text, condition) != 0)
      COMP__FAIL(COMP_ERR_DATA, "%s: sample '%s' is of type '%s', and stands in %s, which is for '%s'", a->path, sample,
                 text, path, condition);
    s->places[s->count++] = i;
    COMP__TRY(comp__strings_append(&s->names, sample, strlen(sample)));
    COMP__TRY(comp__strings_append(&s->conditions, condition, strlen(condition)));
    text = comp_table_format(a->table, a->tissue, row, buffer, sizeof buffer);
    COMP__TRY(comp__strings_append(&s->tissues, text[0] ? text : NULL, strlen(text)));
  }
  if (s->count == 0)
    COMP__FAIL(COMP_ERR_DATA, "%s: none of its samples ('%s', ...) is in %s", path, name(data, 0), a->path);
  if (s->count < n)
    comp__warn(context, "%s: %zu of %zu samples are not in %s and are left out", path, n - s->count, n, a->path);
done:
  return status;
}

/* ---- Genes ----------------------------------------------------------------------------------------------------- */

/* The genes of both: rows of the tumours' table, columns of the cell lines', and names. */
typedef struct common {
  size_t *rows, *columns, count;
  comp__strings names;
} common;

static void release_common(common *c) {
  comp__free(c->rows);
  comp__free(c->columns);
  comp__strings_release(&c->names);
}

/* "TSPAN6 (ENSG00000000003)" and "TSPAN6 (7105)" are TSPAN6. */
static size_t symbol_length(const char *name) {
  const char *end = strstr(name, " (");
  return end ? (size_t)(end - name) : strlen(name);
}

/* In a column "Gene", when the rows have numbers or nothing before it; else the names of the rows. */
static comp_status tumour_genes(comp__strings *out, const comp_dataset *tumours) {
  const comp_table *obs = comp_dataset_obs(tumours);
  size_t column = comp_table_find(obs, "Gene");
  if (column != COMP_NOT_FOUND) return column_text(out, obs, column);
  comp_status status = COMP_OK;
  for (size_t i = 0; i < comp_dataset_sample_count(tumours) && status == COMP_OK; i++) {
    const char *name = comp_dataset_obs_name(tumours, i);
    status = comp__strings_append(out, name, strlen(name));
  }
  return status;
}

static comp_status match_genes(common *out, const comp_dataset *tumours, const comp_dataset *lines,
                               const comp__celligner_files *files) {
  comp__strings theirs = {0}, ours = {0};
  comp__string_index index = {0}, first = {0};
  size_t n = comp_dataset_feature_count(lines);
  comp_status status;
  COMP__TRY(tumour_genes(&theirs, tumours));
  COMP__TRY(comp__string_index_init(&index, &theirs, NULL));
  for (size_t j = 0; j < n; j++) {
    const char *name = comp_dataset_var_name(lines, j);
    COMP__TRY(comp__strings_append(&ours, name, symbol_length(name)));
  }
  COMP__TRY(comp__string_index_init(&first, &ours, NULL));
  COMP__TRY(comp__alloc(&out->rows, n, sizeof *out->rows));
  COMP__TRY(comp__alloc(&out->columns, n, sizeof *out->columns));
  for (size_t j = 0; j < n; j++) {
    const char *name = comp__strings_get(&ours, j);
    size_t row = comp__string_index_find(&index, name);
    if (row == SIZE_MAX || comp__string_index_find(&first, name) != j) continue;
    out->rows[out->count] = row;
    out->columns[out->count++] = j;
    COMP__TRY(comp__strings_append(&out->names, name, strlen(name)));
  }
  if (out->count == 0)
    COMP__FAIL(COMP_ERR_DATA, "no gene of %s ('%s', ...) is in %s ('%s', ...)", files->lines,
               comp__strings_get(&ours, 0), files->tumours, comp__strings_get(&theirs, 0));
done:
  comp__string_index_release(&first);
  comp__string_index_release(&index);
  comp__strings_release(&ours);
  comp__strings_release(&theirs);
  return status;
}

/* Leaves out what HGNC calls non-coding RNA or pseudogene, and what it does not know: what the paper's authors do. */
static comp_status keep_functional(comp_dataset **dataset, comp_context *context, const char *path) {
  comp_table *table = NULL;
  comp_dataset *kept = NULL;
  comp__strings symbols = {0}, groups = {0};
  comp__string_index index = {0};
  size_t symbol, group, *columns = NULL, n = 0;
  comp__read_options read = {0};
  comp_status status;
  COMP__TRY(comp__table_read(&table, context, path, &read));
  COMP__TRY(comp_table_require(&symbol, table, "symbol"));
  COMP__TRY(comp_table_require(&group, table, "locus_group"));
  COMP__TRY(column_text(&symbols, table, symbol));
  COMP__TRY(column_text(&groups, table, group));
  COMP__TRY(comp__string_index_init(&index, &symbols, NULL));
  COMP__TRY(comp__alloc(&columns, comp_dataset_feature_count(*dataset), sizeof *columns));
  for (size_t j = 0; j < comp_dataset_feature_count(*dataset); j++) {
    size_t row = comp__string_index_find(&index, comp_dataset_var_name(*dataset, j));
    const char *kind = row == SIZE_MAX ? "pseudogene" : comp__strings_get(&groups, row);
    if (!kind || (strcmp(kind, "non-coding RNA") != 0 && strcmp(kind, "pseudogene") != 0)) columns[n++] = j;
  }
  if (n == 0) COMP__FAIL(COMP_ERR_DATA, "it knows none of the genes ('%s', ...)", comp_dataset_var_name(*dataset, 0));
  COMP__TRY(comp_dataset_select(&kept, context, *dataset, NULL, 0, columns, n));
  comp_dataset_free(*dataset);
  *dataset = kept;
done:
  comp__free(columns);
  comp__string_index_release(&index);
  comp__strings_release(&groups);
  comp__strings_release(&symbols);
  comp_table_free(table);
  return status == COMP_OK ? status : comp__error_in_file(status, path);
}

/* ---- All of it ------------------------------------------------------------------------------------------------- */

/* The chosen rows and columns as a dense matrix; `turned`: of the transpose. Rows and columns are those of `x`. */
static comp_status take(comp_matrix **out, comp_context *context, const comp_matrix *x, const size_t *rows,
                        size_t n_rows, const size_t *cols, size_t n_cols, bool turned) {
  comp_matrix *picked = NULL, *dense = NULL;
  comp_status status;
  COMP__TRY(comp_matrix_select(&picked, context, x, rows, n_rows, cols, n_cols));
  COMP__TRY(comp_matrix_to_dense(&dense, context, picked));
  if (turned) {
    COMP__TRY(comp_matrix_transpose(out, context, dense));
  } else {
    *out = dense;
    dense = NULL;
  }
done:
  comp_matrix_free(dense);
  comp_matrix_free(picked);
  return status;
}

/* The texts of a list as an array, which should be freed via comp__free(). */
static comp_status text_array(const char ***out, const comp__strings *strings) {
  comp_status status = comp__alloc(out, strings->count, sizeof(char *));
  for (size_t i = 0; status == COMP_OK && i < strings->count; i++) (*out)[i] = comp__strings_get(strings, i);
  return status;
}

static comp_status assemble(comp_dataset **out, comp_matrix *x, const samples *s, const comp__strings *genes) {
  const char **names = NULL, **features = NULL, **conditions = NULL, **tissues = NULL;
  comp_status status;
  COMP__TRY(text_array(&names, &s->names));
  COMP__TRY(text_array(&features, genes));
  COMP__TRY(text_array(&conditions, &s->conditions));
  COMP__TRY(text_array(&tissues, &s->tissues));
  comp_matrix *given = x;
  x = NULL;
  COMP__TRY(comp_dataset_new(out, given, names, features));
  COMP__TRY(comp_table_add_strings(comp_dataset_obs(*out), "condition", conditions));
  COMP__TRY(comp_table_add_strings(comp_dataset_obs(*out), "tissue", tissues));
done:
  comp_matrix_free(x);
  comp__free(tissues);
  comp__free(conditions);
  comp__free(features);
  comp__free(names);
  return status;
}

static comp_status read_both(comp_dataset **out, comp_context *context, const comp__celligner_files *files) {
  comp_dataset *tumours = NULL, *lines = NULL;
  comp_matrix *parts[2] = {NULL, NULL}, *x = NULL;
  annotation a = {0};
  common genes = {0};
  samples s = {0};
  comp__read_options read = {0};
  comp_status status;
  COMP__TRY(read_annotation(&a, context, files->info));
  COMP__TRY(comp__dataset_read(&lines, context, files->lines, &read));
  COMP__TRY(comp__dataset_read(&tumours, context, files->tumours, &read));
  COMP__TRY(match_genes(&genes, tumours, lines, files));
  COMP__TRY(add_samples(&s, context, &a, tumours, comp_dataset_feature_count(tumours), comp_dataset_var_name, "tumor",
                        files->tumours));
  COMP__TRY(take(&parts[0], context, comp_dataset_x(tumours), genes.rows, genes.count, s.places, s.count, true));
  comp_dataset_free(tumours);
  tumours = NULL;
  COMP__TRY(
      add_samples(&s, context, &a, lines, comp_dataset_sample_count(lines), comp_dataset_obs_name, "CL", files->lines));
  COMP__TRY(take(&parts[1], context, comp_dataset_x(lines), s.places, s.count, genes.columns, genes.count, false));
  COMP__TRY(comp__matrix_stack(&x, parts, 2));
  status = assemble(out, x, &s, &genes.names);
done:
  release_samples(&s);
  release_common(&genes);
  release_annotation(&a);
  comp_matrix_free(parts[0]);
  comp_matrix_free(parts[1]);
  comp_dataset_free(lines);
  comp_dataset_free(tumours);
  return status;
}

comp_status comp__celligner_read(comp_dataset **out, comp_context *context, const comp__celligner_files *files,
                                 size_t n_genes) {
  comp__prep_options prep = comp__prep_defaults();
  comp_status status;
  *out = NULL;
  COMP__TRY(read_both(out, context, files));
  prep.hvg.flavor = COMP_HVG_VARIANCE;
  prep.hvg.n = n_genes;
  prep.hvg.batch = "condition";
  COMP__TRY(comp__prep(out, context, &prep));
  if (files->genes[0]) COMP__TRY(keep_functional(out, context, files->genes));
done:
  if (status != COMP_OK) {
    comp_dataset_free(*out);
    *out = NULL;
  }
  return status;
}
