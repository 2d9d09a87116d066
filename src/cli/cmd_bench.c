/* cmd_bench.c: `comp bench`: how fast this machine is at what comp spends its time on. The library measures. */
#include <stdio.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/streams.h"

typedef struct bench_options {
  double seconds;
  const char *json;
} bench_options;

static const bench_options defaults = {.seconds = 1};

static const opt_spec options[] = {
    {"seconds", 's', OPT_REAL, OPT_FIELD(bench_options, seconds), .metavar = "S", .min = 0.01, .max = 3600,
     .help = "time for each of the five measurements, in seconds"},
    {"json", .kind = OPT_FILE, OPT_FIELD(bench_options, json), .metavar = "FILE",
     .help = "also write the rates to this file, as JSON; '-' writes them to stdout in place of the table"},
    {0},
};

static const cli_example examples[] = {
    {"comp bench", "measures for some five seconds and prints a table"},
    {"comp bench --threads 1 --seconds 5 --json one.json",
     "measures one thread, longer, and keeps the rates for a script"},
    {NULL, NULL},
};

/* One measurement: how it is named for people and in JSON. */
typedef struct rate {
  const char *name, *unit, *key;
  double value; /* 0: not available */
} rate;

enum { RATES = 5 };

static void name_rates(rate out[RATES], const comp_machine_rates *rates) {
  const rate table[RATES] = {
      {"matrix product, f32", "GFLOP/s", "f32_flops", rates->f32_flops},
      {"matrix product, bf16", "GFLOP/s", "bf16_flops", rates->bf16_flops},
      {"memory, read", "GB/s", "read_bytes", rates->read_bytes},
      {"memory, copy (read + written)", "GB/s", "copy_bytes", rates->copy_bytes},
      {"vector exp", "G elements/s", "exp_elements", rates->exp_elements},
  };
  for (int i = 0; i < RATES; i++) out[i] = table[i];
}

static void print_table(const rate rates[RATES]) {
  for (int i = 0; i < RATES; i++) {
    if (rates[i].value > 0)
      printf("%-30s  %8.1f %s\n", rates[i].name, rates[i].value / 1e9, rates[i].unit);
    else
      printf("%-30s  not available on this CPU\n", rates[i].name);
  }
}

static void print_json(FILE *out, const rate rates[RATES], int threads) {
  fprintf(out, "{\n  \"version\": \"%s\",\n  \"threads\": %d", comp_version(), threads);
  for (int i = 0; i < RATES; i++) {
    if (rates[i].value > 0)
      fprintf(out, ",\n  \"%s\": %.6g", rates[i].key, rates[i].value);
    else
      fprintf(out, ",\n  \"%s\": null", rates[i].key);
  }
  fputs("\n}\n", out);
}

static int write_json(cli_session *session, const char *path, const rate rates[RATES]) {
  cli_output output;
  if (!cli_output_open(&output, path)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  print_json(output.file, rates, comp_context_thread_count(session->context));
  if (!cli_output_commit(&output)) return cli_error(session, EXIT_FAILED, "--json: %s", cli_output_error());
  return 0;
}

static int run(cli_session *session, const void *values) {
  const bench_options *o = values;
  if (o->json && !cli_output_check(o->json)) return cli_error(session, EXIT_FAILED, "--json: %s", comp_error_message());
  comp_machine_rates measured;
  comp_status status = comp_machine_measure(&measured, session->context, o->seconds);
  if (status != COMP_OK) return cli_fail(session, status);
  rate rates[RATES];
  name_rates(rates, &measured);
  if (!o->json || !cli_output_is_stdout(o->json)) print_table(rates);
  if (!o->json) return 0;
  if (!cli_stdout_flush()) return EXIT_FAILED; /* the closing check says why; nothing is created */
  return write_json(session, o->json, rates);
}

const cli_command cli_bench = {
    .name = "bench",
    .group = "This program and this machine",
    .summary = "measure this machine's speed",
    .description =
        "Measures how fast this machine multiplies matrices (in f32, and in bf16 where the CPU can), reads and copies "
        "memory, and computes exp: the work that training consists of. Of several repeats the best counts. A training "
        "run can be set against these rates to see how near the limit it is.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
