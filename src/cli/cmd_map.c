/* cmd_map.c: `comp map`: new samples in the embedding of a trained model, and labels for them. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/map_page.h"
#include "cli/output.h"
#include "cli/streams.h"

typedef struct map_options {
  cli_input input;
  const char *model, *reference, *output, *save_model, *json, *report;
  comp_options *map;
} map_options;

static const map_options defaults = {.model = NULL};

static const opt_spec options[] = {
    CLI_INPUT_FILE(map_options, input),
    {"model", 'm', OPT_FILE, .required = true, OPT_FIELD(map_options, model), .metavar = "MODEL",
     .help = "the model file, from comp train; it stays as it is"},
    {"reference", 'r', OPT_FILE, .required = true, OPT_FIELD(map_options, reference), .metavar = "REF",
     .help = "data that the model was trained on, with labels; it stays as it is"},
    {"output", 'o', OPT_FILE, .required = true, OPT_FIELD(map_options, output), .metavar = "OUT",
     .help = "the .h5ad to write: the new samples with the results added; it may be the input"},
    {"save-model", .kind = OPT_FILE, OPT_FIELD(map_options, save_model), .metavar = "FILE", .unset = "it is not kept",
     .help = "write the model that knows the new conditions, too, to this file"},
    {"json", .kind = OPT_FILE, OPT_FIELD(map_options, json), .metavar = "FILE",
     .help = "also write a report to this file, as JSON: conditions, features that are missing, labels; '-' writes it "
             "to stdout in place of the summary"},
    {"report", .kind = OPT_FILE, OPT_FIELD(map_options, report), .metavar = "PAGE.html",
     .help = "also write a page: reference and query on one map, unknown samples, true against predicted labels; what "
             "it shows is kept beside it as PAGE_together.h5ad, unless --together names the file"},
    {.rows = "map", OPT_FIELD(map_options, map)},
    CLI_INPUT_ROWS(map_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp map -i new.h5ad -m model.comp -r cells.h5ad -o new.h5ad --label cell_type",
     "a new batch: its embedding, cell types, and cells that the reference lacks"},
    {"comp map -i new.h5ad -m model.comp -r cells.h5ad -o out.h5ad --as donor7 --save-model larger.comp",
     "all cells of one new donor; the larger model embeds further cells of that donor"},
    {"comp map -i new.h5ad -m model.comp -r cells.h5ad -o out.h5ad -l cell_type --report new.html",
     "the same with a page that shows old and new cells on one map"},
    {NULL, NULL},
};

static long whole(const json_t *object, const char *name) {
  return (long)json_integer_value(json_object_get(object, name));
}

static void print_labels(const json_t *labels) {
  const char *name;
  json_t *count;
  if (!labels) return;
  printf("\n%s\n", json_string_value(json_object_get(labels, "column")));
  json_object_foreach(json_object_get(labels, "predicted"), name, count) {
    if (json_integer_value(count)) printf("  %-24s %8ld\n", name, (long)json_integer_value(count));
  }
}

static void print_summary(const char *text) {
  json_t *report = json_loads(text, 0, NULL);
  const json_t *features = json_object_get(report, "features"), *conditions = json_object_get(report, "conditions");
  for (size_t i = 0; i < json_array_size(conditions); i++) {
    const json_t *one = json_array_get(conditions, i);
    printf("%s: %ld sample%s, ", json_string_value(json_object_get(one, "name")), whole(one, "samples"),
           whole(one, "samples") == 1 ? "" : "s");
    if (json_is_true(json_object_get(one, "new")))
      printf("a new condition (%s)\n", json_string_value(json_object_get(one, "method")));
    else
      puts("a known condition");
  }
  printf("%ld of %ld features found\n", whole(features, "found"), whole(features, "model"));
  printf("%ld of %ld samples seem not to be in the reference\n", whole(report, "unknown"), whole(report, "samples"));
  print_labels(json_object_get(report, "labels"));
  json_decref(report);
}

static int show(cli_session *session, const char *report, const char *json) {
  if (!json || !cli_output_is_stdout(json)) print_summary(report);
  if (!json) return 0;
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  cli_output output;
  if (!cli_output_open(&output, json)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  fprintf(output.file, "%s\n", report);
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static int run(cli_session *session, const void *values) {
  const map_options *o = values;
  if (o->report && !cli_map_page_file(o->report))
    return cli_usage_error(session, "--report: the name of a page ends in .html");
  comp_status status = o->report ? cli_map_page_start(o->report, o->map) : COMP_OK;
  if (status != COMP_OK) return cli_fail(session, status);
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_model *model;
  char *report = NULL;
  status = comp_model_load(&model, o->model);
  if (status != COMP_OK) return cli_fail(session, status);
  status = comp_map_file(&report, session->context, model, o->reference, o->input.path, o->output, o->save_model,
                         o->input.read, o->map);
  if (status == COMP_OK && o->report)
    status = cli_map_page_write(session->context, o->report, model, o->input.path, o->map);
  comp_model_free(model);
  const int code = status == COMP_OK ? show(session, report, o->json) : cli_fail(session, status);
  comp_free(report);
  return code;
}

const cli_command cli_map = {
    .name = "map",
    .group = "Models",
    .summary = "place new samples in a trained model, and transfer labels",
    .description =
        "For samples of a condition that the model does not know, such as a new batch, donor or technology. The "
        "weights "
        "of the model do not change: only what belongs to the new condition is fitted, so that its samples come to lie "
        "where the reference has the same populations. A population that the reference lacks is not pulled onto "
        "another one. Results are added to the file of the new samples: obsm/X_comp; the obs columns comp_distance "
        "(distance to the reference, 1 is usual), comp_novelty (0 to 1) and comp_unknown; and with --label the columns "
        "LABEL_predicted, LABEL_probability and LABEL_unknown. Samples of conditions that the model knows are embedded "
        "as such.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
