/* cmd_train.c: `comp train`: fits a model to a data file. What an option leaves open is taken from the preset. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/ranks.h"
#include "cli/seeds.h"
#include "comp/comp.h"

typedef struct train_options {
  const char *input, *output, *seeds;
  comp_options *read, *train;
  int ranks;
} train_options;

static const train_options defaults = {.ranks = OPT_UNSET_INT};

#define FIELD(member) OPT_FIELD(train_options, member)
static const opt_spec options[] = {
    {"input", 'i', OPT_FILE, .required = true, FIELD(input), .metavar = "IN", .group = "Files",
     .help = "data, prepared: .h5ad or any other format that comp reads"},
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "MODEL", .group = "Files",
     .help = "the model file to write; the state of an unfinished run is kept in MODEL.checkpoint"},
    {.rows = "read", .only = "metadata layer", FIELD(read), .group = "Files"},
    {.rows = "train", FIELD(train)},
    {"seeds", .kind = OPT_STRING, FIELD(seeds), .metavar = "LIST", .group = "Training", .unset = "one model",
     .help = "train a model for each of these seeds, as in 0-4 or 1,5,9; with -o model.comp they are written to "
             "model-0.comp, model-1.comp and so on"},
    {"ranks", .kind = OPT_INT, FIELD(ranks), .metavar = "N", .group = "Training", .min = 1, .max = 256,
     .unset = "one, or as many as mpirun or srun started",
     .help = "train with N processes on this machine, by running mpirun; see --shards, and docs/cluster.md for several "
             "machines"},
    {0},
};

static const cli_example examples[] = {
    {"comp train -i prepared.h5ad -o model.comp --condition stim", "the default recipe"},
    {"comp train -i prepared.h5ad -o vae.comp --condition batch --model vae --seed 3", "another model, another seed"},
    {"comp train -i prepared.h5ad -o model.comp --condition stim --seeds 0-4",
     "five models, model-0.comp to model-4.comp"},
    {"comp train -i prepared.h5ad -o model.comp --condition stim --resume", "go on after an interruption"},
    {"mpirun -n 4 comp train -i prepared.h5ad -o model.comp --condition stim", "four processes train one model"},
    {NULL, NULL},
};

/* The files of one model. */
typedef struct train_files {
  char output[4096], checkpoint[4096], log[4096];
} train_files;

/* One training after the other: the files and seeds of each. */
typedef struct train_job {
  const train_options *options;
  char log[4096]; /* --log; "": none */
  bool resume;
  uint64_t seeds[CLI_MOST_SEEDS];
  size_t count; /* 0: one model, with the seed of the options */
} train_job;

/* "model.comp" and seed 3: "model-3.comp"; seed NULL: as it is. False: too long. */
static bool numbered(char *out, size_t size, const char *name, const uint64_t *seed, const char *ending) {
  const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
  if (!dot || dot == base) dot = base + strlen(base);
  char number[32] = "";
  if (seed) snprintf(number, sizeof number, "-%llu", (unsigned long long)*seed);
  return (size_t)snprintf(out, size, "%.*s%s%s%s", (int)(dot - name), name, number, dot, ending) < size;
}

/* Names the files and sees that none is needed for something else. 0, or an exit code. */
static int name_files(train_files *out, cli_session *session, const train_job *job, size_t i) {
  const train_options *o = job->options;
  const uint64_t *seed = job->count ? &job->seeds[i] : NULL;
  if (!numbered(out->output, sizeof out->output, o->output, seed, "") ||
      !numbered(out->checkpoint, sizeof out->checkpoint, o->output, seed, ".checkpoint"))
    return cli_error(session, EXIT_USAGE, "--output: the name is too long");
  if (!numbered(out->log, sizeof out->log, job->log, job->log[0] ? seed : NULL, ""))
    return cli_error(session, EXIT_USAGE, "--log: the name is too long");
  if (comp_file_same(out->output, o->input)) return cli_usage_error(session, "--output: it is the input file");
  if (job->log[0] && (comp_file_same(out->log, out->output) || comp_file_same(out->log, o->input) ||
                      comp_file_same(out->log, out->checkpoint)))
    return cli_usage_error(session, "--log: it is a file that is used for something else");
  if (!cli_ranks_first()) return 0;
  comp_status status = comp_file_check_writable(out->output);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

/* Surely so: a file that cannot be looked at is not missing. */
static bool is_missing(const char *path) {
  return access(path, F_OK) != 0 && errno == ENOENT;
}

/* Trains and saves. A model that a stopped or diverged run left is saved too, unless an earlier one would be lost by
 * it; the failure is still reported. */
static int train_and_save(cli_session *session, const train_options *o, const comp_dataset *dataset,
                          const train_files *files) {
  const char *output = files->output;
  comp_model *model = NULL;
  comp_status status = comp_train(&model, session->context, dataset, o->train);
  const bool save = model && cli_ranks_first() && (status == COMP_OK || is_missing(output));
  int code = 0;
  if (status == COMP_ERR_NUMERIC && model)
    code = cli_error(session, EXIT_FAILED,
                     save ? "%s; it is saved as %s" : "%s; it is not saved, because %s is there already",
                     comp_error_message(), output);
  else if (status != COMP_OK)
    code = cli_fail_in(session, status, o->input);
  if (status == COMP_ERR_INTERRUPTED && !session->common.quiet)
    fputs("the same command with --resume goes on from there\n", stderr);
  if (save) {
    comp_status saved = comp_model_save(model, output);
    if (saved != COMP_OK) code = cli_fail(session, saved);
    if (saved == COMP_OK && comp_model_finished(model)) unlink(files->checkpoint);
  }
  comp_model_free(model);
  return code;
}

/* Puts the files and the seed of one model into the options. */
static comp_status set_files(comp_options *train, const train_job *job, size_t i, const train_files *files) {
  comp_status status = comp_options_set(train, "checkpoint", files->checkpoint);
  if (status == COMP_OK && files->log[0]) status = comp_options_set(train, "log", files->log);
  if (status == COMP_OK && job->count) status = comp_options_set_int(train, "seed", (int64_t)job->seeds[i]);
  return status;
}

/* Checks all models before the data is read: nothing is trained in vain. 0, or an exit code. */
static int check_all(cli_session *session, const train_job *job) {
  for (size_t i = 0; i < (job->count ? job->count : 1); i++) {
    train_files files;
    int code = name_files(&files, session, job, i);
    if (code != 0) return code;
    comp_status status = set_files(job->options->train, job, i, &files);
    if (status != COMP_OK) return cli_fail(session, status);
    status = comp_options_check(job->options->train);
    if (status != COMP_OK) return cli_option_error(session, status);
  }
  return 0;
}

/* One model after the other, the data read once. A failed one ends it. With --resume those that are there already are
 * kept: a finished model has no checkpoint beside it. */
static int train_all(cli_session *session, const train_job *job, const comp_dataset *dataset) {
  int code = 0;
  for (size_t i = 0; i < (job->count ? job->count : 1) && code == 0; i++) {
    train_files files;
    code = name_files(&files, session, job, i);
    if (code != 0) break;
    if (job->count && job->resume && access(files.output, F_OK) == 0 && is_missing(files.checkpoint)) continue;
    comp_status status = set_files(job->options->train, job, i, &files);
    code = status == COMP_OK ? train_and_save(session, job->options, dataset, &files) : cli_fail(session, status);
  }
  return code;
}

/* Whether a file can be read block by block, by its name. A zarr store may be a folder, with a slash behind its name.
 */
static bool can_stream(const char *path) {
  static const char *const endings[] = {".h5ad", ".zarr", ".zarr/", ".zarr.zip"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t length = strlen(path), n = strlen(endings[i]);
    if (length > n && strcmp(path + length - n, endings[i]) == 0) return true;
  }
  return false;
}

/* With --memory X is read from the file while training; and over ranks, where each reads its part. 0, or an exit code.
 */
static int stream_input(cli_session *session, const train_options *o, bool windows) {
  if (!can_stream(o->input))
    return cli_usage_error(
        session, "--memory trains from a file whose name ends in .h5ad or .zarr, not %s; make one with comp convert",
        o->input);
  int64_t memory;
  comp_status status = COMP_OK;
  if (windows) status = comp_options_get_int(&memory, session->common.context, "memory");
  if (windows && status == COMP_OK) status = comp_options_set_int(o->train, "memory", memory);
  if (status == COMP_OK) status = comp_options_set(o->train, "stream", o->input);
  if (status == COMP_OK)
    status = comp_options_set(o->train, "stream-layer", comp_options_get(o->read, "layer", NULL, 0));
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

/* 0, or an exit code. */
static int read_job(train_job *job, cli_session *session, const train_options *o) {
  const char *log = comp_options_get(o->train, "log", NULL, 0);
  *job = (train_job){.options = o};
  comp_status status = comp_options_get_bool(&job->resume, o->train, "resume");
  if (status != COMP_OK) return cli_fail(session, status);
  if (log && strlen(log) >= sizeof job->log) return cli_error(session, EXIT_USAGE, "--log: the name is too long");
  if (log) snprintf(job->log, sizeof job->log, "%s", log);
  if (o->seeds && comp_options_given(o->train, "seed")) return cli_usage_error(session, "--seeds: --seed is given too");
  if (o->seeds && !cli_seeds_parse(job->seeds, &job->count, o->seeds))
    return cli_error(session, EXIT_USAGE, CLI_SEEDS_WRONG, o->seeds, CLI_MOST_SEEDS);
  return 0;
}

/* Starts the ranks that are asked for, or joins those that were started. 0, or an exit code. */
static int read_ranks(cli_session *session, const train_options *o) {
  const int code = cli_ranks_start(session, o->ranks);
  if (code != 0 || comp_rank_count() == 1) return code;
  comp_status status = comp_options_set(o->train, "over-ranks", "true");
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

static int run(cli_session *session, const void *values) {
  const train_options *o = values;
  train_job job;
  const bool windows = comp_options_given(session->common.context, "memory");
  const bool parts = comp_rank_count() > 1 && can_stream(o->input) && !comp_options_given(o->read, "raw");
  const bool stream = windows || parts;
  int code = read_ranks(session, o);
  if (code == 0) code = read_job(&job, session, o);
  if (code == 0 && stream) code = stream_input(session, o, windows);
  if (code == 0) code = check_all(session, &job);
  if (code != 0) return code;
  comp_dataset *dataset;
  comp_status status = cli_input_skip(o->read, stream, true);
  if (status == COMP_OK) status = comp_dataset_read(&dataset, session->context, o->input, o->read);
  if (status != COMP_OK) return cli_fail(session, status);
  code = train_all(session, &job, dataset);
  comp_dataset_free(dataset);
  return code;
}

const cli_command cli_train = {
    .name = "train",
    .group = "Models",
    .summary = "fit a model to data",
    .description =
        "Fits one of the five models: an encoder and a decoder, and a penalty that makes the embedding independent of "
        "the condition. The same data, options and seed give the same bytes at any number of threads. Ctrl-C saves the "
        "state "
        "of the run beside the model; --resume goes on from there.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .over_ranks = true,
    .compares_ranks = true,
    .run = run,
};
