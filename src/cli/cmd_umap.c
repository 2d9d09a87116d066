/* cmd_umap.c: `comp umap`: a layout of the samples in two dimensions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/streams.h"

/* With `--use X`, more features than this are reduced to as many principal components first. */
enum { COMPONENTS = 50 };

typedef struct umap_options {
  cli_input input;
  const char *output, *use, *key, *reference;
  comp_options *umap;
} umap_options;

static const umap_options defaults = {.use = "X_comp", .key = "X_umap"};

static const opt_spec options[] = {
    CLI_INPUT_FILE(umap_options, input),
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(umap_options, output), .metavar = "OUT",
     .help = "the .h5ad or .zarr to write: the input with the layout added; it may be the input"},
    {"use", 'u', OPT_STRING, OPT_FIELD(umap_options, use), .metavar = "NAME",
     .help = "the matrix in obsm that is laid out; X: the data itself, by its first 50 principal components if it has "
             "more features"},
    {"key", .kind = OPT_STRING, OPT_FIELD(umap_options, key), .metavar = "NAME",
     .help = "the name of the layout in obsm"},
    {"reference", .kind = OPT_FILE, OPT_FIELD(umap_options, reference), .metavar = "FILE",
     .help = "place the samples among those of this .h5ad, which has both matrices and stays as it is",
     .unset = "a layout of their own"},
    {.rows = "umap", OPT_FIELD(umap_options, umap)},
    CLI_INPUT_ROWS(umap_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp umap -i cells.h5ad -o cells.h5ad", "the layout of obsm/X_comp, added to the file as obsm/X_umap"},
    {"comp umap -i people.h5ad -o people.h5ad -k 100 -a 0.1 -b 2", "another curve and number of neighbours"},
    {"comp umap -i new.h5ad -o new.h5ad --reference cells.h5ad", "new samples among those that are laid out already"},
    {NULL, NULL},
};

/* The matrix of that name in obsm; NULL after a message that names a near one or says which there are. */
static const comp_matrix *find_matrix(cli_session *session, const comp_dataset *dataset, const char *path,
                                      const char *name, const char *option) {
  const comp_matrix *matrix = comp_dataset_matrix(dataset, COMP_SLOT_OBSM, name);
  if (matrix) return matrix;
  comp_suggest search = {.word = name};
  const size_t count = comp_dataset_matrix_count(dataset, COMP_SLOT_OBSM);
  for (size_t i = 0; i < count; i++) comp_suggest_offer(&search, comp_dataset_matrix_name(dataset, COMP_SLOT_OBSM, i));
  if (search.best)
    cli_error(session, EXIT_FAILED, "%s: there is no '%s' in obsm; did you mean %s %s?", path, name, option,
              search.best);
  else if (count == 0)
    cli_error(session, EXIT_FAILED,
              "%s: there is nothing in obsm; make an embedding first (comp embed, comp pca), or take %s X", path,
              option);
  else
    cli_error(session, EXIT_FAILED, "%s: there is no '%s' in obsm; '%s' is there: choose with %s", path, name,
              comp_dataset_matrix_name(dataset, COMP_SLOT_OBSM, 0), option);
  return NULL;
}

/* Names the first value that is not finite by its sample; NULL after the message, else the matrix. */
static const comp_matrix *check_points(cli_session *session, const comp_dataset *dataset, const char *path,
                                       const char *name, const comp_matrix *matrix) {
  if (!matrix || comp_matrix_get_kind(matrix) != COMP_DENSE) return matrix;
  const float *values = comp_matrix_const_values(matrix);
  const size_t rows = comp_matrix_rows(matrix), cols = comp_matrix_cols(matrix);
  for (size_t i = 0; i < rows * cols; i++) {
    if (isfinite(values[i])) continue;
    cli_error(session, EXIT_FAILED,
              "%s: '%s' of obsm has a value that is not a finite number: sample '%s' (row %zu), column %zu", path, name,
              comp_dataset_obs_name(dataset, i / cols), i / cols + 1, i % cols + 1);
    return NULL;
  }
  return matrix;
}

/* What is laid out; NULL after a message. `*made` is a matrix to be freed, or NULL. */
static const comp_matrix *choose_points(cli_session *session, comp_dataset *dataset, const umap_options *o,
                                        comp_matrix **made) {
  *made = NULL;
  if (strcmp(o->use, "X") != 0)
    return check_points(session, dataset, o->input.path, o->use,
                        find_matrix(session, dataset, o->input.path, o->use, "--use"));
  const size_t features = comp_dataset_feature_count(dataset), samples = comp_dataset_sample_count(dataset);
  comp_status status;
  if (features > COMPONENTS && samples > COMPONENTS) {
    comp_options *how = NULL;
    comp_pca pca;
    status = comp_options_new(&how, "pca");
    if (status == COMP_OK) status = comp_options_set_int(how, "components", COMPONENTS);
    if (status == COMP_OK) status = comp_pca_run(&pca, session->context, dataset, how);
    comp_options_free(how);
    if (status == COMP_OK) {
      comp_pca_release(&pca);
      return comp_dataset_matrix(dataset, COMP_SLOT_OBSM, "X_pca");
    }
  } else {
    status = comp_matrix_to_dense(made, session->context, comp_dataset_x(dataset));
    if (status == COMP_OK) return *made;
  }
  cli_fail_in(session, status, o->input.path);
  return NULL;
}

static void print_info(const comp_umap_info *info, size_t samples, const umap_options *o) {
  char neighbors[32];
  printf("samples\t%zu\nneighbors\t%s\nrecall\t%.4f\nedges\t%zu\n", samples,
         comp_options_get(o->umap, "neighbors", neighbors, sizeof neighbors), info->recall, info->edges);
  if (!o->reference) printf("components\t%zu\n", info->components);
  printf("a\t%.6g\nb\t%.6g\nepochs\t%zu\n", info->a, info->b, info->epochs);
}

/* Writes the input with the layout, which is taken over. */
static comp_status write_result(cli_session *session, const comp_dataset *dataset, comp_matrix *layout,
                                const umap_options *o) {
  const size_t n = comp_matrix_rows(layout);
  comp_dataset *results = NULL;
  comp_matrix *empty = NULL;
  const char **names = calloc(n + 1, sizeof *names);
  comp_status status = names ? comp_matrix_new_dense(&empty, n, 0) : COMP_ERR_MEMORY;
  if (status == COMP_OK) {
    for (size_t i = 0; i < n; i++) names[i] = comp_dataset_obs_name(dataset, i);
    status = comp_dataset_new(&results, empty, names, NULL);
  }
  if (status == COMP_OK)
    status = comp_dataset_set_matrix(results, COMP_SLOT_OBSM, o->key, layout);
  else
    comp_matrix_free(layout);
  if (status == COMP_OK) status = cli_input_skip(o->input.read, false, false);
  if (status == COMP_OK)
    status = comp_dataset_update(session->context, results, o->input.path, o->output, o->input.read);
  comp_dataset_free(results);
  free(names);
  return status;
}

/* The layout among the samples of another file. */
static int lay_among(cli_session *session, comp_matrix **out, comp_umap_info *info, const comp_matrix *points,
                     const umap_options *o) {
  comp_options *read = NULL;
  comp_dataset *reference = NULL;
  if (strcmp(o->use, "X") == 0)
    return cli_usage_error(session, "--reference needs a matrix of obsm that both files have, not --use X");
  comp_status status = comp_options_new(&read, "read");
  if (status == COMP_OK) status = cli_input_skip(read, true, false);
  if (status == COMP_OK) status = comp_dataset_read(&reference, session->context, o->reference, read);
  comp_options_free(read);
  if (status != COMP_OK) return cli_fail_in(session, status, o->reference);
  int code = EXIT_FAILED;
  const comp_matrix *old = find_matrix(session, reference, o->reference, o->use, "--use");
  old = check_points(session, reference, o->reference, o->use, old);
  const comp_matrix *layout = old ? find_matrix(session, reference, o->reference, o->key, "--key") : NULL;
  if (check_points(session, reference, o->reference, o->key, layout)) {
    status = comp_umap_transform(out, info, session->context, old, layout, points, o->umap);
    code = status == COMP_OK ? 0 : cli_fail_in(session, status, o->input.path);
  }
  comp_dataset_free(reference);
  return code;
}

static int lay_out(cli_session *session, comp_dataset *dataset, const umap_options *o) {
  comp_umap_info info = {0};
  comp_matrix *made, *layout = NULL;
  const comp_matrix *points = choose_points(session, dataset, o, &made);
  if (!points) return EXIT_FAILED;
  int code = 0;
  comp_status status = COMP_OK;
  if (o->reference) {
    code = lay_among(session, &layout, &info, points, o);
  } else {
    status = comp_umap_run(&layout, &info, session->context, points, o->umap);
    if (status != COMP_OK) code = cli_fail_in(session, status, o->input.path);
  }
  if (code == 0) {
    print_info(&info, comp_matrix_rows(points), o);
    if (cli_stdout_flush()) {
      status = write_result(session, dataset, layout, o);
      layout = NULL;
      if (status != COMP_OK) code = cli_fail_in(session, status, o->input.path);
    } else {
      code = EXIT_FAILED; /* the closing check says why; nothing is created */
    }
  }
  comp_matrix_free(layout);
  comp_matrix_free(made);
  return code;
}

static int run(cli_session *session, const void *values) {
  const umap_options *o = values;
  if (comp_options_given(o->umap, "fast") && o->reference)
    return cli_usage_error(session, "--fast: with --reference samples do not wait for each other anyway");
  if (comp_options_given(o->umap, "max-samples") && o->reference)
    return cli_usage_error(session, "--max-samples: with --reference all samples are placed, and none is laid out");
  if (!o->key[0] || strchr(o->key, '/')) return cli_usage_error(session, "--key: '%s' is not a name", o->key);
  comp_status status = comp_options_check(o->umap);
  if (status != COMP_OK) return cli_option_error(session, status);
  status = comp_dataset_check_update(o->output);
  if (status == COMP_OK && !comp_file_same(o->input.path, o->output)) status = comp_file_check_writable(o->output);
  if (status != COMP_OK) return cli_fail(session, status);
  comp_dataset *dataset = NULL;
  const bool from_x = strcmp(o->use, "X") == 0;
  status = cli_input_skip(o->input.read, !from_x, from_x);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status != COMP_OK) return cli_fail_in(session, status, o->input.path);
  int code = lay_out(session, dataset, o);
  comp_dataset_free(dataset);
  return code;
}

const cli_command cli_umap = {
    .name = "umap",
    .group = "Data",
    .summary = "lay the samples out in two dimensions",
    .description =
        "UMAP of an embedding, as umap-learn computes it, the same at any number of threads (unless --fast). The "
        "layout "
        "is added to "
        "obsm of the file; everything else stays as it is. Prints what was done; recall is the share of the true "
        "neighbours that were found, 1 when the search was exact.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
