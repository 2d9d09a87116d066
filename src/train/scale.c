/* scale.c: see scale.h. */
#include "train/scale.h"

#include <string.h>

#include "model/penalty.h"

/* Most of the epochs that are chosen by the size of the data; it is for 1,400 steps. */
enum { MOST_EPOCHS = 400, MOST_EPOCHS_STEPS = 1400 };

/* For large data, from half A of the study in docs/experiments.md ("Mixing in large data"). CoMP's penalty compares a
 * sample with those of its batch: a large batch shows differences between conditions that a small one cannot, and
 * counts more than the number of steps. It needs a higher rate, and more epochs, or predictions of single cells get
 * worse: these depend on the number of steps. So many steps have 15 million samples in all, as 30,000 of 512. */
static const double LARGE_RATE = 6e-3;
enum { LARGE_BATCH = 2048, LARGE_EPOCHS = 30, LARGE_STEPS = 7500 };

static size_t round_up(size_t n, size_t size) {
  return (n + size - 1) / size;
}

bool comp__scale_is_open(const comp__train_options *o) {
  const comp__penalty *penalty = comp__penalty_find(o->model.penalty);
  return strcmp(o->preset, "default") == 0 && penalty && penalty->needs_posteriors && o->model.gamma > 0 &&
         !o->target && !o->batch_asked && o->epochs == 0;
}

void comp__scale_follow(comp__train_options *o, size_t samples) {
  if (samples < COMP__LARGE || !comp__scale_is_open(o)) return;
  o->batch = LARGE_BATCH;
  o->least_epochs = LARGE_EPOCHS;
  o->most_steps = LARGE_STEPS;
  if (!o->rate_asked) o->rate = LARGE_RATE;
}

size_t comp__scale_steps(const comp__train_options *o, size_t batches) {
  if (o->epochs > 0) return o->epochs * batches;
  size_t epochs = round_up(o->steps, batches), most = o->steps * MOST_EPOCHS / MOST_EPOCHS_STEPS;
  if (epochs > most) epochs = most;
  if (epochs < o->least_epochs) epochs = o->least_epochs;
  const bool large = epochs == o->least_epochs && o->most_steps > 0 && epochs * batches > o->most_steps;
  return large ? o->most_steps : epochs * batches;
}
