/* schedule.c: the table of schedules of the learning rate. */
#include "train/schedule.h"

#include <assert.h>
#include <math.h>

static double cosine(const comp__train_options *o, uint64_t step, uint64_t total) {
  double rising = o->warmup * (double)total, at = (double)step;
  if (at < rising) return 0.04 + 0.96 * at / rising;
  double share = (at - rising) / fmax(1.0, (double)total - rising);
  return 0.001 + 0.999 * 0.5 * (1.0 + cos(M_PI * fmin(share, 1.0)));
}

static const comp__schedule schedules[] = {
    [COMP_SCHEDULE_CONSTANT] = {"constant"},
    [COMP_SCHEDULE_COSINE] = {"cosine", "(it rises linearly, then falls as half a cosine to nearly 0)", cosine,
                              .warms_up = true},
    [COMP_SCHEDULE_PLATEAU] = {"plateau", "(it is halved after 10 epochs without a lower validation loss)",
                               .cut_after = 10},
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

const comp__schedule *comp__schedule_find(comp_schedule schedule) {
  assert((size_t)schedule < SCHEDULES);
  return &schedules[schedule];
}

const char *comp__schedule_name(size_t index) {
  return index < SCHEDULES ? schedules[index].name : NULL;
}

const char *comp__schedule_help(size_t index) {
  return index < SCHEDULES ? schedules[index].help : NULL;
}

uint64_t comp__schedule_warmup(const comp__train_options *o, uint64_t total) {
  return comp__schedule_find(o->schedule)->warms_up ? (uint64_t)ceil(o->warmup * (double)total) : 0;
}

double comp__schedule_rate(const comp__train_options *o, uint64_t step, uint64_t total) {
  const comp__schedule *schedule = comp__schedule_find(o->schedule);
  return schedule->share ? o->rate * schedule->share(o, step, total) : o->rate;
}
