/* options.c: the table of the kind "train": the network, the objective, and how it is trained. */
#include "train/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "model/likelihood.h"
#include "model/penalty.h"
#include "model/shards.h"
#include "train/precision.h"
#include "train/schedule.h"

static const char *const align_names[] = {"all", "shared", NULL};
static const char *const select_names[] = {"best", "last", "average", NULL};

#define FIELD(member)             COMP__FIELD(comp__train_options, member)
#define MODEL_FIELD(member)       FIELD(model.member)
#define MODEL_LIST(member, count) COMP__LIST(comp__train_options, model.member, model.count)
#define BY_PRESET                 COMP__BY_PRESET
static const comp_option rows[] = {
    {"memory", .type = COMP_OPTION_BYTES, FIELD(memory), .metavar = "SIZE", .group = "Files",
     .unset = "X is read whole",
     .help = "train from disk: X of an .h5ad or .zarr is read again each epoch, in shuffled blocks that take at most "
             "SIZE (2G)",
     .library_only = "--memory of the program is for all commands"},
    {"stream", .type = COMP_OPTION_FILE, FIELD(stream), .metavar = "FILE", .group = "Files",
     .help = "the .h5ad or .zarr to read X from while training; needs data that was read without X, and memory. With "
             "over-ranks and no memory each process holds its share of X",
     .library_only = "with --memory the program streams its input"},
    {"stream-layer", .type = COMP_OPTION_TEXT, FIELD(stream_layer), .metavar = "NAME", .group = "Files",
     .help = "with stream: the layer to read in place of X", .library_only = "the program takes it from --layer"},
    {"log", .type = COMP_OPTION_FILE, FIELD(log), .metavar = "FILE", .group = "Files",
     .help = "write one line of JSON an epoch"},

    {"condition", 'c', COMP_OPTION_TEXT, .required = true, FIELD(condition), .metavar = "COL", .group = "Model",
     .help = "the column that holds the condition: a batch, a treatment, a group"},
    {"target", .type = COMP_OPTION_TEXT, FIELD(target), .metavar = "COL", .group = "Model",
     .unset = "z keeps what describes samples, whatever it is used for", .record = "training/target",
     .record_later = true,
     .help = "a column that z must predict, such as income: training keeps it while the condition is hidden. Samples "
             "without a value are trained on without it, and new data needs none"},
    {"target-hold", .type = COMP_OPTION_REAL, FIELD(target_hold), .metavar = "SHARE", .group = "Model", .value = "0",
     .max = 0.9, .record = "training/target_hold", .record_later = true,
     .help = "with a target: samples whose target training does not see, drawn by the seed, so that its prediction can "
             "be measured on them"},
    {"unseen", .type = COMP_OPTION_TEXT, FIELD(unseen), .metavar = "COL", .group = "Model",
     .unset = "all samples are trained on", .record = "training/unseen", .record_later = true,
     .help = "a column that is true (or 1) for samples to leave out of training, so that the model can be measured on "
             "them (comp audit --unseen)"},
    {"model", .type = COMP_OPTION_CHOICE, FIELD(model_name), .metavar = "NAME", .group = "Model", .value = "comp",
     .choice_at = comp_model_kind_name, .record = "model", .help = "the model"},
    {"preset", .type = COMP_OPTION_CHOICE, FIELD(preset), .metavar = "NAME", .group = "Model", .value = "default",
     .choice_at = comp_preset_name, .record = "preset", .help = "the recipe that all options start from"},

#include "model/options.def"

    {"align", .type = COMP_OPTION_CHOICE, FIELD(align), .metavar = "WHICH", .group = "Objective",
     .choices = align_names, BY_PRESET, .record = "training/align", .record_later = true,
     .help = "align all samples, or only populations that several conditions share: a cell type that one condition "
             "lacks is then not pulled onto another"},
    {"kl-target", .type = COMP_OPTION_REAL, FIELD(kl_target), .metavar = "L", .group = "Objective", .max = 1e6,
     .unset = "gamma stays as it is", .record = "training/kl_target",
     .help = "adjust gamma so that the penalty stays near L"},
    {"blur", .type = COMP_OPTION_REALS, .offset = offsetof(comp__train_options, blur_from), .size = 2 * sizeof(double),
     .metavar = "FROM,TO", .group = "Objective", .max = 1000, BY_PRESET, .record = "training/blur",
     .help =
         "add noise of this standard deviation to what the penalty compares. From the first step to the last it "
         "decreases, as in 1,0.25, so that cell types align before single cells; one number: at all steps; 0: none"},

    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .group = "Training", .value = "0", .max = 9e15,
     .record = "training/seed", .help = "seed of all random numbers"},
    {"epochs", .type = COMP_OPTION_INT, FIELD(epochs), .metavar = "N", .group = "Training", .min = 1, .max = 1e9,
     .unset = "by preset and data: some 1,400 steps; of large data 15 or 30 epochs, with a bound",
     .record = "training/epochs", .help = "passes over the data"},
    {"batch", .type = COMP_OPTION_INT, FIELD(batch), .metavar = "B", .group = "Training", .min = 2, .max = 1e9,
     BY_PRESET, .record = "training/batch",
     .help = "samples a step. The default recipe of comp takes 2,048 of 100,000 samples and more, with a rate of 6e-3, "
             "unless batch, epochs or a target are given"},
    {"lr", .type = COMP_OPTION_REAL, FIELD(rate), .metavar = "R", .group = "Training", .min = 1e-12, .max = 100,
     BY_PRESET, .record = "training/rate", .help = "learning rate"},
    {"schedule", .type = COMP_OPTION_CHOICE, FIELD(schedule), .metavar = "NAME", .group = "Training",
     .choice_at = comp__schedule_name, .choice_help = comp__schedule_help, BY_PRESET, .record = "training/schedule",
     .help = "how the learning rate changes"},
    {"warmup", .type = COMP_OPTION_REAL, FIELD(warmup), .metavar = "SHARE", .group = "Training", .max = 0.99, BY_PRESET,
     .record = "training/warmup", .help = "share of the steps in which the rate of the cosine schedule rises"},
    {"weight-decay", .type = COMP_OPTION_REAL, FIELD(weight_decay), .metavar = "W", .group = "Training", .value = "0",
     .max = 1, .record = "training/weight_decay", .help = "decoupled weight decay"},
    {"clip", .type = COMP_OPTION_REAL, FIELD(clip), .metavar = "NORM", .group = "Training", .value = "0", .max = 1e30,
     BY_PRESET, .record = "training/clip", .help = "largest norm of the gradient; 0 is no limit"},
    {"patience", .type = COMP_OPTION_INT, FIELD(patience), .metavar = "N", .group = "Training", .max = 1e9, BY_PRESET,
     .record = "training/patience",
     .help = "stop after N epochs without a better validation loss, counted after the warm-up; 0 never stops early"},
    {"max-time", .type = COMP_OPTION_REAL, FIELD(max_seconds), .metavar = "SECONDS", .group = "Training", .min = 0.001,
     .max = 1e9, .unset = "no limit", .help = "stop after this time"},
    {"validation", .type = COMP_OPTION_REAL, FIELD(validation), .metavar = "SHARE", .group = "Training", .value = "0.1",
     .max = 0.5, .record = "training/validation", .help = "share of the samples held out to choose the model"},
    {"select", .type = COMP_OPTION_CHOICE, FIELD(select), .metavar = "WHICH", .group = "Training",
     .choices = select_names, BY_PRESET, .record = "training/select",
     .help = "weights to keep: those of the epoch with the best validation loss after the warm-up, the last, or the "
             "average over the last quarter of the steps"},
    {"precision", .type = COMP_OPTION_CHOICE, FIELD(precision), .metavar = "NAME", .group = "Training", .value = "auto",
     .choice_at = comp__precision_name, .record = "training/precision",
     .help = "how matrices are multiplied; auto takes what is faster here"},

    {"shards", .type = COMP_OPTION_INT, FIELD(shards), .metavar = "S", .group = "Training", .max = COMP__MOST_SHARDS,
     .unset = "8 under mpirun or srun, else a batch is not cut", .record = "training/shards", .record_later = true,
     .help =
         "cut each batch into S shards (1, 2, 4, 8 .. 256), which the processes of mpirun or srun share out. A model "
         "has the same bytes at any number of processes that divides S"},
    {"over-ranks", .type = COMP_OPTION_BOOL, FIELD(over_ranks), .group = "Training",
     .help = "train one model together with the other processes that mpirun or srun started",
     .library_only = "the program does so whenever mpirun or srun started it"},

    {"checkpoint", .type = COMP_OPTION_FILE, FIELD(checkpoint), .metavar = "FILE", .group = "Interruption",
     .unset = "none is kept", .help = "where the state of an unfinished run is kept",
     .library_only = "the program keeps it beside its output"},
    {"resume", .type = COMP_OPTION_BOOL, FIELD(resume), .group = "Interruption",
     .help = "go on from the checkpoint, if it is there, to the same bytes as an unbroken run"},
    {"checkpoint-epochs", .type = COMP_OPTION_INT, FIELD(checkpoint_epochs), .metavar = "N", .group = "Interruption",
     .value = "0", .max = 1e9, .help = "save the state of the run every N epochs; 0: not by epochs"},
    {"checkpoint-minutes", .type = COMP_OPTION_REAL, FIELD(checkpoint_minutes), .metavar = "M", .group = "Interruption",
     .value = "5", .max = 1e6,
     .help = "save it every M minutes, for the first time after 30 seconds at most; 0: not by time"},

    {0},
};

static comp_status base(void *out, const comp_options *options) {
  comp_status status =
      comp__train_options_init(out, comp__options_text(options, "model"), comp__options_text(options, "preset"));
  const char *weight = comp__options_text(options, "target-weight");
  const bool idle_target = weight && strtod(weight, NULL) == 0.0;
  if (status == COMP_OK && comp__options_text(options, "target") && !idle_target) comp__train_options_aim(out);
  return status;
}

static bool is_set(const comp_options *options, const char *name) {
  const char *text = comp__options_text(options, name);
  return text && strcmp(text, "false") != 0;
}

/* An option that was given but has no effect on this model would leave its user in the belief that it had. Says why. */
static comp_status idle(const char *name, const char *why) {
  return comp__error(COMP_ERR_ARGUMENT, "%s: %s", name, why);
}

/* Options that only other penalties have. */
static comp_status check_penalty_options(const comp__model_options *m, const comp_options *o) {
  const char *option;
  for (size_t i = 0; (option = comp__penalty_option(i)); i++) {
    if (!is_set(o, option) || comp__penalty_has_option(comp__penalty_find(m->penalty), option)) continue;
    char why[256] = "this model's penalty is not ";
    const char *name, *between = "";
    for (size_t k = 0; (name = comp__penalty_name(k)); k++) {
      if (!comp__penalty_has_option(comp__penalty_find((comp_penalty_kind)k), option)) continue;
      const size_t used = strlen(why);
      snprintf(why + used, sizeof why - used, "%s%s", between, name);
      between = " or ";
    }
    return idle(option, why);
  }
  return COMP_OK;
}

static comp_status check_idle(const comp__train_options *t, const comp_options *o) {
  static const char no_penalty[] = "this model has no penalty", blind[] = "no part of this model sees the condition";
  const comp__model_options *m = &t->model;
  const bool none = m->penalty == COMP_PENALTY_NONE;
  if (none && is_set(o, "gamma")) return idle("gamma", no_penalty);
  if (none && is_set(o, "kl-target")) return idle("kl-target", no_penalty);
  if (none && is_set(o, "place")) return idle("place", no_penalty);
  comp_status status = check_penalty_options(m, o);
  if (status != COMP_OK) return status;
  if (m->learn_scale && is_set(o, "scale") && is_set(o, "learn-scale"))
    return idle("scale", "with learn-scale the encoder gives it");
  if (!m->decoder_sees_condition && is_set(o, "encoder-without-condition"))
    return idle("encoder-without-condition", blind);
  if (!m->decoder_sees_condition && is_set(o, "centre")) return idle("centre", blind);
  if (m->gamma == 0 && t->blur_from > 0 && is_set(o, "blur"))
    return idle("blur", "gamma is 0: there is no penalty to blur");
  static const char no_target[] = "no target is given";
  if (is_set(o, "target-weight") && !is_set(o, "target")) return idle("target-weight", no_target);
  if (is_set(o, "target-hold") && !is_set(o, "target")) return idle("target-hold", no_target);
  if (is_set(o, "centre") && is_set(o, "no-centre")) return idle("no-centre", "centre is given, too");
  if (!comp__schedule_find(t->schedule)->warms_up && is_set(o, "warmup"))
    return idle("warmup", "the schedule is not cosine");
  return COMP_OK;
}

static comp_status finish(void *out, const comp_options *options) {
  comp__train_options *t = out;
  if (!options) return COMP_OK;
  if (is_set(options, "mmd-scale")) t->model.multi_scale = false;
  t->self_out_asked = is_set(options, "leave-self-out");
  t->batch_asked = is_set(options, "batch");
  t->rate_asked = is_set(options, "lr");
  if (!t->model.encoder_sees_condition && !is_set(options, "centre"))
    t->model.centred = false; /* such a model embeds samples whose condition is not known */
  return check_idle(t, options);
}

static comp_status check(const void *values) {
  const comp__train_options *o = values;
  const comp__penalty *penalty = comp__penalty_find(o->model.penalty);
  const comp__precision *precision = comp__precision_find(o->precision);
  comp_status status = comp__model_options_check(&o->model);
  if (status != COMP_OK) return status;
  if (!o->condition || !o->condition[0]) return comp__error(COMP_ERR_ARGUMENT, "condition: no column is named");
  if (o->unseen && !o->unseen[0]) return comp__error(COMP_ERR_ARGUMENT, "unseen: no column is named");
  if (o->target && !o->target[0]) return comp__error(COMP_ERR_ARGUMENT, "target: no column is named");
  if (o->target && strcmp(o->target, o->condition) == 0)
    return comp__error(COMP_ERR_ARGUMENT,
                       "target: '%s' is the condition: what z must not tell cannot be what z must predict", o->target);
  if (o->kl_target > 0 && !penalty)
    return comp__error(COMP_ERR_ARGUMENT, "kl-target: the model %s has no penalty to adjust", o->model_name);
  if ((o->blur_from > 0) != (o->blur_to > 0))
    return comp__error(COMP_ERR_ARGUMENT, "blur: %g and %g; both are above 0, or both are 0", o->blur_from, o->blur_to);
  if (o->stream && o->memory == 0 && !o->over_ranks)
    return comp__error(COMP_ERR_ARGUMENT, "stream: memory says how much of the file is held at once, and is not given");
  if (o->stream && o->memory > 0 && o->memory < ((size_t)16 << 20))
    return comp__error(COMP_ERR_ARGUMENT, "memory: %zu bytes is too little to stream with: at least 16M", o->memory);
  if (o->resume && !o->checkpoint) return comp__error(COMP_ERR_ARGUMENT, "resume: no checkpoint file is named");
  if (o->shards & (o->shards - 1))
    return comp__error(COMP_ERR_ARGUMENT, "shards: %zu is not a power of two (1, 2, 4, 8 .. %d)", o->shards,
                       COMP__MOST_SHARDS);
  return precision->check ? precision->check() : COMP_OK;
}

const comp__options_kind comp__train_kind = {
    .name = "train",
    .summary = "the network, the objective, and how it is trained",
    .size = sizeof(comp__train_options),
    .rows = rows,
    .base = base,
    .finish = finish,
    .check = check,
};
