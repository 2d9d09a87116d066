/* cmd_train.c: `comp train`: fits a model to a data file. What an option leaves open is taken from the preset. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/seeds.h"
#include "comp/comp.h"

typedef struct train_options {
  const char *input, *output, *condition, *metadata, *layer;
  const char *model, *preset, *precision, *hidden, *likelihood, *penalty, *place, *reduction, *schedule, *select, *blur;
  const char *seeds;
  int64_t seed, epochs, batch, latent, patience, checkpoint_epochs;
  double rate, warmup, gamma, beta, scale, mmd_scale, weight_decay, clip, validation, kl_target, max_time,
      checkpoint_minutes;
  uint64_t memory;
  bool learn_scale, leave_self_out, encoder_without_condition, centre, resume;
  const char *log;
} train_options;

static const train_options defaults = {
    .model = "comp",
    .preset = "default",
    .precision = "auto",
    .seed = OPT_UNSET_INT,
    .epochs = OPT_UNSET_INT,
    .batch = OPT_UNSET_INT,
    .latent = OPT_UNSET_INT,
    .patience = OPT_UNSET_INT,
    .checkpoint_epochs = 0,
    .rate = OPT_UNSET_REAL,
    .warmup = OPT_UNSET_REAL,
    .gamma = OPT_UNSET_REAL,
    .beta = OPT_UNSET_REAL,
    .scale = OPT_UNSET_REAL,
    .mmd_scale = OPT_UNSET_REAL,
    .weight_decay = 0,
    .clip = 0,
    .validation = 0.1,
    .kl_target = OPT_UNSET_REAL,
    .max_time = OPT_UNSET_REAL,
    .checkpoint_minutes = 5,
};

static const char *const *model_names(void) {
  static const char *names[16];
  for (size_t i = 0; i < comp_model_count() && i < 15; i++) names[i] = comp_model_name(i);
  return names;
}

static const char *const *preset_names(void) {
  static const char *names[16];
  for (size_t i = 0; i < comp_preset_count() && i < 15; i++) names[i] = comp_preset_name(i);
  return names;
}

static const char *const precisions[] = {"auto", "f32", "bf16", NULL};
static const char *const likelihoods[] = {"gaussian", "nb", NULL};
static const char *const penalties[] = {"none", "comp", "comp-p0", "mmd", NULL};
static const char *const places[] = {"z", "hidden", NULL};
static const char *const reductions[] = {"sum", "mean", NULL};
static const char *const schedules[] = {"constant", "cosine", "plateau", NULL};
static const char *const selections[] = {"best", "last", "average", NULL};

#define FIELD(member) OPT_FIELD(train_options, member)
/* The value that the default preset has, as its own table gives it. */
static const char *preset_default(const opt_spec *spec) {
  static char text[64];
  static const char suffix[] = "; a preset may change it";
  comp_train_options t;
  if (comp_train_options_init(&t, NULL, NULL) != COMP_OK) return "";
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"latent", (double)t.model.latent},
                 {"scale", t.model.scale},
                 {"gamma", t.model.gamma},
                 {"beta", t.model.beta},
                 {"batch", (double)t.batch},
                 {"lr", t.rate},
                 {"warmup", t.warmup},
                 {"patience", (double)t.patience}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (strcmp(spec->name, numbers[i].name) == 0) snprintf(text, sizeof text, "%g%s", numbers[i].value, suffix);
  if (strcmp(spec->name, "schedule") == 0) snprintf(text, sizeof text, "%s%s", schedules[t.schedule], suffix);
  if (strcmp(spec->name, "select") == 0) snprintf(text, sizeof text, "%s%s", selections[t.select], suffix);
  if (strcmp(spec->name, "hidden") == 0) {
    size_t used = 0;
    for (size_t l = 0; l < t.model.n_hidden; l++)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", l ? "," : "", t.model.hidden[l]);
    snprintf(text + used, sizeof text - used, "%s", suffix);
  }
  return text;
}

static const opt_spec options[] = {
    {"input", 'i', OPT_FILE, .required = true, FIELD(input), .metavar = "IN", .group = "Files",
     .help = "data, prepared: .h5ad or any other format that comp reads"},
    {"output", 'o', OPT_FILE, .required = true, FIELD(output), .metavar = "MODEL", .group = "Files",
     .help = "the model file to write"},
    {"metadata", .kind = OPT_FILE, FIELD(metadata), .metavar = "FILE", .group = "Files",
     .help = "a table whose columns are joined to the samples by name"},
    {"layer", .kind = OPT_STRING, FIELD(layer), .metavar = "NAME", .group = "Files",
     .help = "train on this layer instead of X"},
    {"memory", .kind = OPT_SIZE, FIELD(memory), .metavar = "SIZE", .group = "Files", .unset = "X is read whole",
     .help = "train from disk: X of an .h5ad is read again each epoch, in shuffled blocks that take at most SIZE (2G)"},
    {"log", .kind = OPT_FILE, FIELD(log), .metavar = "FILE", .group = "Files",
     .help = "write one line of JSON an epoch"},

    {"condition", 'c', OPT_STRING, .required = true, FIELD(condition), .metavar = "COL", .group = "Model",
     .help = "the column that holds the condition"},
    {"model", .kind = OPT_CHOICE, FIELD(model), .metavar = "NAME", .group = "Model", .choices_from = model_names,
     .help = "the model"},
    {"preset", .kind = OPT_CHOICE, FIELD(preset), .metavar = "NAME", .group = "Model", .choices_from = preset_names,
     .help = "the recipe that all options start from"},
    {"latent", .kind = OPT_INT, FIELD(latent), .metavar = "D", .group = "Model", .min = 1, .max = COMP_MAX_LATENT,
     .unset_from = preset_default, .help = "dimensions of the representation"},
    {"hidden", .kind = OPT_STRING, FIELD(hidden), .metavar = "LIST", .group = "Model", .unset_from = preset_default,
     .help = "widths of the encoder's layers, as in 512,512,512; the decoder has them in reverse"},
    {"scale", .kind = OPT_REAL, FIELD(scale), .metavar = "S", .group = "Model", .min = 0.001, .max = 100,
     .unset_from = preset_default, .help = "standard deviation of every posterior"},
    {"learn-scale", .kind = OPT_FLAG, FIELD(learn_scale), .group = "Model",
     .help = "let the encoder give it for each sample instead"},
    {"likelihood", .kind = OPT_CHOICE, FIELD(likelihood), .metavar = "NAME", .group = "Model", .choices = likelihoods,
     .unset = "gaussian",
     .help =
         "how data is distributed: gaussian for logged or standardised values, nb (negative binomial) for raw counts"},
    {"encoder-without-condition", .kind = OPT_FLAG, FIELD(encoder_without_condition), .group = "Model",
     .help = "only the decoder sees the condition"},
    {"centre", .kind = OPT_FLAG, FIELD(centre), .group = "Model",
     .help = "model what a sample is beside the mean of its condition"},

    {"gamma", .kind = OPT_REAL, FIELD(gamma), .metavar = "G", .group = "Objective", .min = 0, .max = 1e9,
     .unset_from = preset_default, .help = "weight of the penalty: more aligns more"},
    {"beta", .kind = OPT_REAL, FIELD(beta), .metavar = "B", .group = "Objective", .min = 0, .max = 1e9,
     .unset_from = preset_default, .help = "weight of the KL divergence from the prior"},
    {"kl-target", .kind = OPT_REAL, FIELD(kl_target), .metavar = "L", .group = "Objective", .min = 0, .max = 1e6,
     .unset = "gamma stays as it is", .help = "adjust gamma so that the penalty stays near L"},
    {"penalty", .kind = OPT_CHOICE, FIELD(penalty), .metavar = "NAME", .group = "Objective", .choices = penalties,
     .unset = "as the model has it", .help = "the penalty"},
    {"place", .kind = OPT_CHOICE, FIELD(place), .metavar = "WHERE", .group = "Objective", .choices = places,
     .unset = "as the model has it",
     .help = "where an mmd penalty attaches: at z, or at the decoder's first hidden layer"},
    {"leave-self-out", .kind = OPT_FLAG, FIELD(leave_self_out), .group = "Objective",
     .help =
         "a sample's own posterior is not part of its own mixture (needs wide posteriors, as of --scale 1, or a tiny "
         "learning rate)"},
    {"blur", .kind = OPT_STRING, FIELD(blur), .metavar = "FROM,TO", .group = "Objective", .unset = "none",
     .help =
         "add noise of this standard deviation to what the penalty compares, from the first step to the last, as in "
         "1,0.25: conditions of many kinds of samples meet kind by kind; one number: at all steps"},
    {"mmd-scale", .kind = OPT_REAL, FIELD(mmd_scale), .metavar = "L", .group = "Objective", .min = 1e-6, .max = 1e6,
     .unset = "the model's scale, or 19 scales at once", .help = "a single kernel scale for mmd"},
    {"elbo-reduction", .kind = OPT_CHOICE, FIELD(reduction), .metavar = "HOW", .group = "Objective",
     .choices = reductions, .unset = "sum", .help = "over features; gamma and beta are on this scale"},

    {"seed", .kind = OPT_INT, FIELD(seed), .metavar = "N", .group = "Training", .min = 0, .max = 9e15, .unset = "0",
     .help = "seed of all random numbers"},
    {"seeds", .kind = OPT_STRING, FIELD(seeds), .metavar = "LIST", .group = "Training", .unset = "one model",
     .help = "train a model for each of these seeds, as in 0-4 or 1,5,9; with -o model.comp they are written to "
             "model-0.comp, model-1.comp and so on"},
    {"epochs", .kind = OPT_INT, FIELD(epochs), .metavar = "N", .group = "Training", .min = 1, .max = 1e9,
     .unset = "by preset and data: some 1,400 steps", .help = "passes over the data"},
    {"batch", .kind = OPT_INT, FIELD(batch), .metavar = "B", .group = "Training", .min = 2, .max = 1e9,
     .unset_from = preset_default, .help = "samples a step"},
    {"lr", .kind = OPT_REAL, FIELD(rate), .metavar = "R", .group = "Training", .min = 1e-12, .max = 100,
     .unset_from = preset_default, .help = "learning rate"},
    {"schedule", .kind = OPT_CHOICE, FIELD(schedule), .metavar = "NAME", .group = "Training", .choices = schedules,
     .unset_from = preset_default, .help = "how the learning rate changes"},
    {"warmup", .kind = OPT_REAL, FIELD(warmup), .metavar = "SHARE", .group = "Training", .min = 0, .max = 0.99,
     .unset_from = preset_default, .help = "share of the steps in which the rate of the cosine schedule rises"},
    {"weight-decay", .kind = OPT_REAL, FIELD(weight_decay), .metavar = "W", .group = "Training", .min = 0, .max = 1,
     .help = "decoupled weight decay"},
    {"clip", .kind = OPT_REAL, FIELD(clip), .metavar = "NORM", .group = "Training", .min = 0, .max = 1e30,
     .help = "largest norm of the gradient; 0 is no limit"},
    {"patience", .kind = OPT_INT, FIELD(patience), .metavar = "N", .group = "Training", .min = 0, .max = 1e9,
     .unset_from = preset_default, .help = "stop after N epochs without a better validation loss; 0 never stops early"},
    {"max-time", .kind = OPT_REAL, FIELD(max_time), .metavar = "SECONDS", .group = "Training", .min = 0.001, .max = 1e9,
     .unset = "no limit", .help = "stop after this time"},
    {"validation", .kind = OPT_REAL, FIELD(validation), .metavar = "SHARE", .group = "Training", .min = 0, .max = 0.5,
     .help = "share of the samples held out to choose the model"},
    {"select", .kind = OPT_CHOICE, FIELD(select), .metavar = "WHICH", .group = "Training", .choices = selections,
     .unset_from = preset_default,
     .help = "weights to keep: those of the epoch with the best validation loss, the last, or the average over the "
             "last quarter of the steps"},
    {"precision", .kind = OPT_CHOICE, FIELD(precision), .metavar = "NAME", .group = "Training", .choices = precisions,
     .help = "how matrices are multiplied: f32, bf16, or auto: what is faster on this CPU"},

    {"resume", .kind = OPT_FLAG, FIELD(resume), .group = "Interruption",
     .help = "go on from MODEL.checkpoint, if it is there, to the same bytes as an unbroken run"},
    {"checkpoint-epochs", .kind = OPT_INT, FIELD(checkpoint_epochs), .metavar = "N", .group = "Interruption", .min = 0,
     .max = 1e9, .help = "save the state of the run every N epochs; 0: not by epochs"},
    {"checkpoint-minutes", .kind = OPT_REAL, FIELD(checkpoint_minutes), .metavar = "M", .group = "Interruption",
     .min = 0, .max = 1e6, .help = "save it every M minutes; 0: not by time"},
    {0},
};

static const cli_example examples[] = {
    {"comp train -i prepared.h5ad -o model.comp --condition stim", "the default recipe"},
    {"comp train -i prepared.h5ad -o vae.comp --condition batch --model vae --seed 3", "another model, another seed"},
    {"comp train -i prepared.h5ad -o model.comp --condition stim --seeds 0-4",
     "five models, model-0.comp to model-4.comp"},
    {"comp train -i prepared.h5ad -o model.comp --condition stim --resume", "go on after an interruption"},
    {NULL, NULL},
};

/* Where a name stands in a list that has it. */
static int place_of(const char *const *names, const char *name) {
  int i = 0;
  while (names[i] && strcmp(names[i], name) != 0) i++;
  return i;
}

/* "512,512,512". */
static bool parse_hidden(comp_model_options *out, const char *list) {
  out->n_hidden = 0;
  for (;;) {
    char *end;
    errno = 0;
    long width = strtol(list, &end, 10);
    if (end == list || errno || width < 1 || width > COMP_MAX_WIDTH || out->n_hidden == COMP_MAX_HIDDEN) return false;
    out->hidden[out->n_hidden++] = (size_t)width;
    if (*end == '\0') return true;
    if (*end != ',') return false;
    list = end + 1;
  }
}

/* "1,0.25", or one number for both. */
static bool parse_blur(comp_train_options *out, const char *text) {
  char *end;
  out->blur_from = out->blur_to = strtod(text, &end);
  if (end != text && *end == ',') {
    text = end + 1;
    out->blur_to = strtod(text, &end);
  }
  return end != text && *end == '\0' && out->blur_from > 0 && out->blur_from <= 1000 && out->blur_to > 0 &&
         out->blur_to <= 1000;
}

static void override_model(comp_model_options *m, const train_options *o) {
  if (o->latent != OPT_UNSET_INT) m->latent = (size_t)o->latent;
  if (!isnan(o->scale)) m->scale = o->scale;
  if (o->learn_scale) m->learn_scale = true;
  if (o->likelihood) m->likelihood = (comp_likelihood)place_of(likelihoods, o->likelihood);
  if (o->encoder_without_condition) m->encoder_sees_condition = false;
  if (o->centre) m->centred = true;
  if (!isnan(o->gamma)) m->gamma = o->gamma;
  if (!isnan(o->beta)) m->beta = o->beta;
  if (o->penalty) m->penalty = (comp_penalty_kind)place_of(penalties, o->penalty);
  if (o->place) m->place = (comp_penalty_place)place_of(places, o->place);
  if (o->leave_self_out) m->include_self = false;
  if (!isnan(o->mmd_scale)) {
    m->mmd_scale = o->mmd_scale;
    m->multi_scale = false;
  }
  if (o->reduction) m->reduction = (comp_reduction)place_of(reductions, o->reduction);
}

static void override_training(comp_train_options *t, const train_options *o) {
  t->condition = o->condition;
  t->seed = o->seed == OPT_UNSET_INT ? 0 : (uint64_t)o->seed;
  if (o->epochs != OPT_UNSET_INT) t->epochs = (size_t)o->epochs;
  if (o->batch != OPT_UNSET_INT) t->batch = (size_t)o->batch;
  if (!isnan(o->rate)) t->rate = o->rate;
  if (o->schedule) t->schedule = (comp_schedule)place_of(schedules, o->schedule);
  if (!isnan(o->warmup)) t->warmup = o->warmup;
  t->weight_decay = o->weight_decay;
  t->clip = o->clip;
  if (o->patience != OPT_UNSET_INT) t->patience = (size_t)o->patience;
  if (!isnan(o->max_time)) t->max_seconds = o->max_time;
  t->validation = o->validation;
  if (o->select) t->select = (comp_select)place_of(selections, o->select);
  t->precision = (comp_precision)place_of(precisions, o->precision);
  if (!isnan(o->kl_target)) t->kl_target = o->kl_target;
  t->checkpoint_epochs = (size_t)o->checkpoint_epochs;
  t->checkpoint_minutes = o->checkpoint_minutes;
  t->resume = o->resume;
  t->log = o->log;
}

/* An option that was given but has no effect on this model would leave its user in the belief that it had. Says which
 * and why; NULL when there is none. */
static const char *idle_option(const train_options *o, const comp_train_options *t) {
  const comp_model_options *m = &t->model;
  const bool none = m->penalty == COMP_PENALTY_NONE, mmd = m->penalty == COMP_PENALTY_MMD;
  if (none && !isnan(o->gamma)) return "--gamma: this model has no penalty";
  if (none && !isnan(o->kl_target)) return "--kl-target: this model has no penalty";
  if (none && o->place) return "--place: this model has no penalty";
  if (!mmd && !isnan(o->mmd_scale)) return "--mmd-scale: this model's penalty is not mmd";
  if (o->blur && m->penalty != COMP_PENALTY_COMP && m->penalty != COMP_PENALTY_COMP_P0)
    return "--blur: this model's penalty is not comp or comp-p0";
  if (m->penalty != COMP_PENALTY_COMP && o->leave_self_out) return "--leave-self-out: this model's penalty is not comp";
  if (o->learn_scale && !isnan(o->scale)) return "--scale: with --learn-scale the encoder gives it";
  if (o->encoder_without_condition && !m->decoder_sees_condition)
    return "--encoder-without-condition: no part of this model sees the condition";
  if (o->centre && !m->decoder_sees_condition) return "--centre: no part of this model sees the condition";
  if (t->schedule != COMP_SCHEDULE_COSINE && !isnan(o->warmup)) return "--warmup: the schedule is not cosine";
  return NULL;
}

/* The files of one model. */
typedef struct train_files {
  char output[4096], checkpoint[4096], log[4096];
} train_files;

/* "model.comp" and seed 3: "model-3.comp"; seed NULL: as it is. False: too long. */
static bool numbered(char *out, size_t size, const char *name, const uint64_t *seed, const char *ending) {
  const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
  if (!dot || dot == base) dot = base + strlen(base);
  char number[32] = "";
  if (seed) snprintf(number, sizeof number, "-%llu", (unsigned long long)*seed);
  return (size_t)snprintf(out, size, "%.*s%s%s%s", (int)(dot - name), name, number, dot, ending) < size;
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Names the files and sees that none is needed for something else. 0, or an exit code. */
static int name_files(train_files *out, cli_session *session, const train_options *o, const uint64_t *seed) {
  if (!numbered(out->output, sizeof out->output, o->output, seed, "") ||
      !numbered(out->checkpoint, sizeof out->checkpoint, o->output, seed, ".checkpoint"))
    return cli_error(session, EXIT_USAGE, "--output: the name is too long");
  if (o->log && !numbered(out->log, sizeof out->log, o->log, seed, ""))
    return cli_error(session, EXIT_USAGE, "--log: the name is too long");
  if (same_file(out->output, o->input)) return cli_usage_error(session, "--output: it is the input file");
  if (o->log &&
      (same_file(out->log, out->output) || same_file(out->log, o->input) || same_file(out->log, out->checkpoint)))
    return cli_usage_error(session, "--log: it is a file that is used for something else");
  comp_status status = comp_file_check_writable(out->output);
  return status == COMP_OK ? 0 : cli_fail(session, status);
}

/* Trains and saves. A model that a stopped or diverged run left is saved too, unless an earlier one would be lost by
 * it, and the failure told all the same. */
static int train_and_save(cli_session *session, const train_options *o, const comp_train_options *t,
                          const comp_dataset *dataset, const char *output) {
  comp_model *model = NULL;
  comp_status status = comp_train(&model, session->context, dataset, t);
  const bool save = model && (status == COMP_OK || access(output, F_OK) != 0);
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
    if (saved == COMP_OK && comp_model_finished(model)) unlink(t->checkpoint);
  }
  comp_model_free(model);
  return code;
}

/* One model after the other, the data read once. A failed one ends it. With --resume those that are there already are
 * kept: a finished model has no checkpoint beside it. */
static int train_all(cli_session *session, const train_options *o, comp_train_options *t, const comp_dataset *dataset,
                     const uint64_t *seeds, size_t count) {
  int code = 0;
  for (size_t i = 0; i < (count ? count : 1) && code == 0; i++) {
    train_files files;
    code = name_files(&files, session, o, count ? &seeds[i] : NULL);
    if (code != 0) break;
    if (count && o->resume && access(files.output, F_OK) == 0 && access(files.checkpoint, F_OK) != 0) continue;
    if (count) t->seed = seeds[i];
    t->checkpoint = files.checkpoint;
    t->log = o->log ? files.log : NULL;
    code = train_and_save(session, o, t, dataset, files.output);
    t->checkpoint = t->log = NULL; /* names in `files` */
  }
  return code;
}

static int run(cli_session *session, const void *values) {
  const train_options *o = values;
  comp_train_options t;
  train_files files;
  uint64_t seeds[CLI_MOST_SEEDS];
  size_t count = 0;
  comp_status status = comp_train_options_init(&t, o->model, o->preset);
  if (status != COMP_OK) return cli_fail(session, status);
  if (o->hidden && !parse_hidden(&t.model, o->hidden))
    return cli_error(session, EXIT_USAGE, "--hidden: '%s' is not a list of 1 to %d widths such as 512,512", o->hidden,
                     COMP_MAX_HIDDEN);
  if (o->blur && !parse_blur(&t, o->blur))
    return cli_error(session, EXIT_USAGE,
                     "--blur: '%s' is not one or two numbers above 0, at most 1000, such as 1,0.25", o->blur);
  if (o->seeds && o->seed != OPT_UNSET_INT) return cli_usage_error(session, "--seeds: --seed is given too");
  if (o->seeds && !cli_seeds_parse(seeds, &count, o->seeds))
    return cli_error(session, EXIT_USAGE, CLI_SEEDS_WRONG, o->seeds, CLI_MOST_SEEDS);
  override_model(&t.model, o);
  override_training(&t, o);
  const char *idle = idle_option(o, &t);
  if (idle) return cli_usage_error(session, "%s", idle);
  comp_read_options read = COMP_READ_OPTIONS_INIT;
  read.metadata = o->metadata;
  read.layer = o->layer;
  read.skip_slots = true;
  if (o->memory > 0) {
    const char *ending = strrchr(o->input, '.');
    if (!ending || strcmp(ending, ".h5ad") != 0)
      return cli_usage_error(
          session, "--memory trains from an .h5ad, which %s is not by its name; comp convert makes one", o->input);
    read.skip_x = true;
    t.stream = o->input;
    t.stream_read = &read;
    t.memory = o->memory;
  }
  for (size_t i = 0; i < (count ? count : 1); i++) { /* before the data is read: nothing is trained in vain */
    int code = name_files(&files, session, o, count ? &seeds[i] : NULL);
    if (code != 0) return code;
    t.checkpoint = files.checkpoint;
    status = comp_train_options_check(&t);
    if (status != COMP_OK) return cli_fail(session, status);
  }
  comp_dataset *dataset;
  status = comp_dataset_read(&dataset, session->context, o->input, &read);
  if (status != COMP_OK) return cli_fail(session, status);
  int code = train_all(session, o, &t, dataset, seeds, count);
  comp_dataset_free(dataset);
  return code;
}

const cli_command cli_train = {
    .name = "train",
    .group = "Models",
    .summary = "fit a model to data",
    .description =
        "Fits one of the five models: an encoder and a decoder, and a penalty that makes the representation forget the "
        "condition. The same data, options and seed give the same bytes at any number of threads. Ctrl-C saves the "
        "state "
        "of the run beside the model; --resume goes on from there.",
    .examples = examples,
    .options = options,
    .defaults = &defaults,
    .options_size = sizeof defaults,
    .computes = true,
    .run = run,
};
