/* utility.c: accuracy and gaps, from predictions alone. */
#include "audit/utility.h"

#include <math.h>

#include "core/alloc.h"
#include "core/error.h"

/* The largest difference between groups of a rate, part over whole [groups], where whole is not 0. */
static comp__gap spread(const size_t *part, const size_t *whole, size_t groups, size_t step) {
  double least = INFINITY, most = -INFINITY, variance[2] = {0};
  for (size_t g = 0; g < groups; g++) {
    const double n = (double)whole[g * step], rate = (double)part[g * step] / n;
    if (!whole[g * step]) continue;
    /* Of a rate with one success and one failure more: that of no success is not known exactly either. */
    const double p = ((double)part[g * step] + 1) / (n + 2), v = p * (1 - p) / (n + 2);
    if (rate < least) variance[0] = v;
    if (rate > most) variance[1] = v;
    least = fmin(least, rate);
    most = fmax(most, rate);
  }
  return most > least ? (comp__gap){most - least, 2 * sqrt(variance[0] + variance[1])} : (comp__gap){0, 0};
}

static comp__gap larger(comp__gap a, comp__gap b) {
  return b.value > a.value ? b : a;
}

comp_status comp__utility_measure(comp__utility *out, const comp__judged *j) {
  const size_t levels = j->n_levels, groups = j->n_groups, cells = groups * levels;
  /* By group and level: true, predicted, both; predicted but not true, and not true. By group: all and right ones. */
  size_t *is = NULL, *said = NULL, *both = NULL, *wrong = NULL, *is_not = NULL, *all = NULL, *right = NULL;
  size_t hits = 0, most = 0;
  double found = 0, used = 0;
  comp_status status;
  COMP__TRY(comp__calloc(&is, cells, sizeof *is));
  COMP__TRY(comp__calloc(&said, cells, sizeof *said));
  COMP__TRY(comp__calloc(&both, cells, sizeof *both));
  COMP__TRY(comp__calloc(&wrong, cells, sizeof *wrong));
  COMP__TRY(comp__calloc(&is_not, cells, sizeof *is_not));
  COMP__TRY(comp__calloc(&all, cells, sizeof *all));
  COMP__TRY(comp__calloc(&right, cells, sizeof *right));
  for (size_t i = 0; i < j->n; i++) {
    const size_t g = (size_t)j->groups[i], t = (size_t)j->truth[i], p = (size_t)j->predicted[i];
    is[g * levels + t]++;
    said[g * levels + p]++;
    both[g * levels + t] += t == p;
    hits += t == p;
    for (size_t l = 0; l < levels; l++) {
      all[g * levels + l]++;
      right[g * levels + l] += t == p;
      is_not[g * levels + l] += t != l;
      wrong[g * levels + l] += t != l && p == l;
    }
  }
  out->parity = out->odds = (comp__gap){0, 0};
  for (size_t l = 0; l < levels; l++) {
    size_t total = 0, recalled = 0;
    out->parity = larger(out->parity, spread(said + l, all + l, groups, levels));
    out->odds = larger(out->odds, spread(both + l, is + l, groups, levels));
    out->odds = larger(out->odds, spread(wrong + l, is_not + l, groups, levels));
    for (size_t g = 0; g < groups; g++) {
      total += is[g * levels + l];
      recalled += both[g * levels + l];
    }
    most = total > most ? total : most;
    if (!total) continue;
    found += (double)recalled / (double)total;
    used++;
  }
  out->opportunity = spread(both + j->favoured, is + j->favoured, groups, levels);
  out->accuracy_gap = spread(right, all, groups, levels).value;
  out->samples = j->n;
  const double n = (double)j->n, z = 1.959964;
  const double share = (double)hits / n, scale = 1 / (1 + z * z / n), centre = scale * (share + z * z / (2 * n)),
               half = scale * z * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  out->accuracy = share;
  out->low = fmin(centre - half, share);
  out->high = fmax(centre + half, share);
  out->majority = (double)most / n;
  out->balanced = found / used;
done:
  comp__free(is);
  comp__free(said);
  comp__free(both);
  comp__free(wrong);
  comp__free(is_not);
  comp__free(all);
  comp__free(right);
  return status;
}
