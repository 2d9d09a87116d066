/* cmd_audit.c: `comp audit`: how well does a representation hide an attribute? The library measures. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/streams.h"
#include "cli/text.h"
#include "comp/audit.h"
#include "comp/figure.h"
#include "comp/task.h"

typedef struct audit_options {
  cli_input input;
  const char *model, *json, *figure;
  comp_options *audit;
} audit_options;

static const audit_options defaults = {.json = NULL};

#define FIELD(member) OPT_FIELD(audit_options, member)
static const opt_spec options[] = {
    CLI_INPUT_FILE(audit_options, input),
    {"model", 'm', OPT_FILE, FIELD(model), .metavar = "MODEL",
     .help = "embed the data with this model first: posterior means, and their standard deviations for draws",
     .unset = "what obsm holds (--use)"},
    {.rows = "audit", FIELD(audit)},
    {"figure", .kind = OPT_FILE, FIELD(figure), .metavar = "FILE",
     .help = "with --gammas: draw the trade-off, as .svg, .pdf or .png"},
    {"json", .kind = OPT_FILE, FIELD(json), .metavar = "FILE",
     .help = "also write the result to this file, as JSON; '-' writes it to stdout in place of the table"},
    CLI_INPUT_ROWS(audit_options, input),
    {0},
};

static const cli_example examples[] = {
    {"comp audit -i out/data.h5ad -m out/model.safetensors -c sex --target income",
     "attackers on means and draws of a model, and what is left of the target"},
    {"comp audit -i out.h5ad -c sex --use X_comp --known age,zip --unseen test",
     "a representation that is in the file"},
    {"comp audit -i out.h5ad -m m.comp -c sex --release draws,cells:64 --unseen test",
     "also a bound on what any attacker finds"},
    {"comp audit -i ready.h5ad -c sex -t income --gammas 0,1,3,10 --release draws --figure f.svg",
     "the trade-off between hiding and use"},
    {NULL, NULL},
};

/* ---- Tables ---- */

static double number(json_t *object, const char *name) {
  json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *text(json_t *object, const char *name) {
  const char *value = json_string_value(json_object_get(object, name));
  return value ? value : "";
}

static void put_measured(json_t *measured) {
  printf("  %.3f (%.3f-%.3f)", number(measured, "value"), number(measured, "low"), number(measured, "high"));
}

/* Of a frontier, what does not depend on the model is the same for every gamma, and printed once. */
typedef enum { ALL, MODEL, DATA } shown_part;

static bool is_shown(json_t *entry, shown_part part) {
  const bool data = strcmp(text(entry, "source"), "data") == 0 || strcmp(text(entry, "source"), "known") == 0;
  return part == ALL || data == (part == DATA);
}

static void put_attacks(json_t *root, shown_part part) {
  size_t i, k, shown = 0;
  json_t *entry, *attack;
  json_array_foreach(json_object_get(root, "attacks"), i, entry) {
    shown += is_shown(entry, part);
  }
  if (shown == 0) return;
  printf("Can '%s' be found? (most common value %.3f, balanced chance %.3f; tested on %lld of %lld samples)\n",
         text(root, "condition"), number(root, "majority"),
         1 / (double)json_array_size(json_object_get(root, "levels")),
         (long long)json_integer_value(json_object_get(root, "test_samples")),
         (long long)json_integer_value(json_object_get(root, "samples")));
  json_array_foreach(json_object_get(root, "attacks"), i, entry) {
    if (!is_shown(entry, part)) continue;
    printf("  %s (%s)%*s  accuracy             balanced accuracy    AUROC\n", text(entry, "source"), text(entry, "of"),
           (int)(24 - text_length(text(entry, "source")) - text_length(text(entry, "of"))), "");
    json_array_foreach(json_object_get(entry, "attackers"), k, attack) {
      printf("    %-24s", text(attack, "title"));
      put_measured(json_object_get(attack, "accuracy"));
      put_measured(json_object_get(attack, "balanced_accuracy"));
      put_measured(json_object_get(attack, "auroc"));
      printf("  %s\n", text(attack, "setting"));
    }
  }
}

static void put_certificates(json_t *root) {
  size_t i;
  json_t *c;
  if (json_array_size(json_object_get(root, "certificates")) == 0) return;
  puts("What can any attacker find, at most?  balanced accuracy  accuracy  parity gap  delta  samples");
  json_array_foreach(json_object_get(root, "certificates"), i, c) {
    printf("  %-34s  %17.3f  %8.3f  %10.3f  %5.3g  %7lld\n", text(c, "release"),
           number(json_object_get(c, "balanced_accuracy"), "upper"), number(json_object_get(c, "accuracy"), "upper"),
           number(json_object_get(c, "parity_gap"), "upper"), number(c, "delta"),
           (long long)json_integer_value(json_object_get(c, "samples")));
  }
}

static void put_utility(json_t *root, shown_part part) {
  size_t i, shown = 0;
  json_t *u;
  json_array_foreach(json_object_get(root, "utility"), i, u) {
    shown += is_shown(u, part);
  }
  if (shown == 0) return;
  printf("Is '%s' kept?%*s  accuracy  most common  parity    odds  opportunity\n", text(root, "target"),
         (int)(20 - text_length(text(root, "target"))), "");
  json_array_foreach(json_object_get(root, "utility"), i, u) {
    if (!is_shown(u, part)) continue;
    printf("  %-30s  %8.3f  %11.3f  %6.3f  %6.3f  %11.3f\n", text(u, "source"), number(u, "accuracy"),
           number(u, "majority"), number(u, "parity_gap"), number(u, "odds_gap"), number(u, "opportunity_gap"));
  }
}

static void put_finding(const comp_finding *f) {
  enum { INDENT = 32 };
  int width = text_columns(STDOUT_FILENO, 120);
  if (width < 80) width = 80;
  const int column = printf("%-8s %-18s ", comp_finding_level_name(f->level), f->id);
  text_flow flow = text_flow_start(stdout, column, INDENT, width);
  text_flow_add(&flow, f->text);
  if (f->advice[0]) text_flow_add(&flow, " -> ");
  text_flow_add(&flow, f->advice);
  text_flow_end(&flow);
}

static void print(const comp_audit *audit) {
  json_t *root = json_loads(comp_audit_json(audit), 0, NULL), *point;
  size_t i;
  if (json_object_get(root, "attacks")) {
    put_attacks(root, ALL);
    put_utility(root, ALL);
    put_certificates(root);
    putchar('\n');
  }
  json_array_foreach(json_object_get(root, "points"), i, point) {
    if (i == 0) {
      puts("The data itself, for every gamma");
      put_attacks(json_object_get(point, "audit"), DATA);
      put_utility(json_object_get(point, "audit"), DATA);
      putchar('\n');
    }
    printf("gamma %g\n", number(point, "gamma"));
    put_attacks(json_object_get(point, "audit"), MODEL);
    put_utility(json_object_get(point, "audit"), MODEL);
    put_certificates(json_object_get(point, "audit"));
    putchar('\n');
  }
  for (i = 0; i < comp_audit_finding_count(audit); i++) put_finding(comp_audit_finding_at(audit, i));
  json_decref(root);
}

/* ---- The command ---- */

static int show(cli_session *session, const comp_audit *audit, const audit_options *o) {
  if (!o->json || !cli_output_is_stdout(o->json)) print(audit);
  if (!o->figure && !o->json) return 0;
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  if (o->figure) {
    const comp_status status = comp_figure_frontier(comp_audit_json(audit), o->figure, NULL);
    if (status != COMP_OK) return cli_fail(session, status);
  }
  if (!o->json) return 0;
  cli_output output;
  if (!cli_output_open(&output, o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  fprintf(output.file, "%s\n", comp_audit_json(audit));
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

/* A text table is encoded as the model's was. */
static comp_status audit_model(comp_audit **out, cli_session *session, const audit_options *o) {
  comp_model *model = NULL;
  comp_dataset *dataset = NULL;
  comp_status status = comp_model_load(&model, o->model);
  if (status == COMP_OK)
    status = comp_dataset_read_for(&dataset, session->context, model, o->input.path, o->input.read);
  if (status == COMP_OK) status = comp_audit_model(out, session->context, model, dataset, o->audit);
  comp_dataset_free(dataset);
  comp_model_free(model);
  return status;
}

static comp_status audit_data(comp_audit **out, cli_session *session, const audit_options *o, bool frontier) {
  comp_dataset *dataset = NULL;
  comp_status status = comp_dataset_read(&dataset, session->context, o->input.path, o->input.read);
  if (status == COMP_OK)
    status = frontier ? comp_audit_frontier(out, session->context, dataset, o->audit)
                      : comp_audit_run(out, session->context, dataset, o->audit);
  comp_dataset_free(dataset);
  return status;
}

static int run(cli_session *session, const void *values) {
  const audit_options *o = values;
  const bool frontier = comp_options_given(o->audit, "gammas");
  comp_status status = comp_options_check(o->audit);
  if (status != COMP_OK) return cli_option_error(session, status);
  if (o->figure && !frontier) return cli_usage_error(session, "--figure goes with --gammas");
  if (o->model && frontier)
    return cli_usage_error(session, "--gammas trains models itself: --model does not go with it");
  if (o->model && comp_options_given(o->audit, "use"))
    return cli_usage_error(session,
                           "--use and --model exclude each other: --model makes the representation that is audited");
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  if (o->figure) status = comp_figure_check(o->figure);
  if (status != COMP_OK) return cli_fail(session, status);
  comp_audit *audit = NULL;
  status = o->model ? audit_model(&audit, session, o) : audit_data(&audit, session, o, frontier);
  const int code = status == COMP_OK ? show(session, audit, o) : cli_fail_in(session, status, o->input.path);
  comp_audit_free(audit);
  return code;
}

const cli_command cli_audit = {
    .name = "audit",
    .group = "Models",
    .summary = "measure how well an attribute is hidden, and bound what anyone can find",
    .description =
        "Several attackers, each tuned by cross-validation, look for an attribute in a representation: in posterior "
        "means, "
        "in draws from posteriors, in the data itself and in other columns. They are tested on samples that they did "
        "not "
        "learn from; intervals hold for all attackers together (95 %). With --release, an upper bound holds for any "
        "classifier, tried or not, with the stated probability: for one draw a sample, or for the number of a cell. It "
        "holds for samples that the model was not trained on: name them with --unseen. With --target, what is left of "
        "its "
        "use, and gaps between groups. With --gammas, models are trained and audited on samples that they did not see, "
        "which shows the trade-off. The exit code is 0 whatever was found; scripts read \"worst\" in the file of "
        "--json.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
