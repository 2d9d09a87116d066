/* borrow.c: changes for samples whose like was never seen under the other condition. */
#include "task/borrow.h"

#include <math.h>
#include <string.h>

#include "cluster/kmeans.h"
#include "core/alloc.h"
#include "core/context.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/rng.h"
#include "core/sort.h"
#include "dist/comm.h"
#include "neighbors/overlap.h"
#include "task/coder.h"
#include "task/match.h"
#include "task/own.h"
#include "task/response.h"

enum { LEAST_SAMPLES = 50, MAX_DRAWN = 4096 };

/* What the decoder says of a population that was not seen is a guess that was made in another way: a mean of both errs
 * less from seed to seed than what is borrowed alone. */
static const float OWN_SHARE = 0.25f;

/* Samples of one condition, and their populations. */
typedef struct side {
  int32_t code;
  size_t *drawn; /* [n_drawn]: samples that stand for all */
  size_t n_drawn;
  int32_t *assignment; /* [n_drawn]: their population */
  double *centres;     /* [populations, latent] */
  comp__populations populations;
} side;

typedef struct loan {
  const comp__aligned *aligned;
  comp_prediction *prediction;
  size_t latent, features;
  const float *z; /* [samples, latent] */
  side from, to;
  bool unseen[COMP__MATCH_MOST]; /* populations of `from` */
  comp__populations seen;        /* the others */
  comp__matching matching;       /* of these */
  int8_t *takers;                /* [samples]: 1 where the change is borrowed */
  size_t n_changing, n_takers, n_unseen;
  comp__response response;
  double *nearest; /* [samples]: squared distance to the nearest population, of takers */
  double *rooms;   /* [threads, COMP__RESPONSE_TERMS + 1, features] */
  float *changes;  /* [threads, features] */
  float *rows;     /* [threads, features] */
} loan;

/* ---- Populations ---- */

/* All samples of the condition, while there are few; of many, those with the smallest random numbers. */
static comp_status draw_samples(side *s, const comp__aligned *f, const int8_t *only, uint64_t seed) {
  size_t able = 0;
  comp_status status = comp__alloc(&s->drawn, MAX_DRAWN, sizeof *s->drawn);
  for (size_t i = 0; i < f->samples; i++) able += f->codes[i] == s->code && (!only || only[i]);
  for (size_t i = 0; status == COMP_OK && i < f->samples; i++) {
    if (f->codes[i] != s->code || (only && !only[i]) || s->n_drawn == MAX_DRAWN) continue;
    comp__rng rng = comp__rng_at(seed, COMP__RNG_POSTERIOR, COMP_MAX_DRAWS, i);
    if (able <= MAX_DRAWN || comp__rng_uniform(rng, 0) < (double)MAX_DRAWN / (double)able) s->drawn[s->n_drawn++] = i;
  }
  return status;
}

/* Adds up the expressions of the populations, as they were measured. */
static comp_status find_means(side *s, const loan *l) {
  const int32_t *assignment = s->assignment;
  comp__populations *p = &s->populations;
  float *row = NULL;
  comp_status status;
  p->features = l->features;
  COMP__TRY(comp__calloc(&p->mean, p->count, l->features * sizeof *p->mean));
  COMP__TRY(comp__alloc(&row, l->features, sizeof *row));
  for (size_t j = 0; j < s->n_drawn; j++) p->sizes[assignment[j]]++;
  for (size_t j = 0; j < s->n_drawn; j++) {
    double *mean = p->mean + (size_t)assignment[j] * l->features, size = (double)p->sizes[assignment[j]];
    comp__aligned_row(row, l->aligned, s->drawn[j]);
    for (size_t g = 0; g < l->features; g++) mean[g] += (double)row[g] / size;
  }
done:
  comp__free(row);
  return status;
}

/* Equal points can leave populations empty: they go. */
static void drop_empty(side *s, size_t latent) {
  comp__populations *p = &s->populations;
  int32_t now[COMP__MATCH_MOST] = {0};
  size_t kept = 0;
  for (size_t u = 0; u < p->count; u++) {
    if (p->sizes[u] == 0) continue;
    memmove(p->mean + kept * p->features, p->mean + u * p->features, p->features * sizeof *p->mean);
    memmove(s->centres + kept * latent, s->centres + u * latent, latent * sizeof *s->centres);
    now[u] = (int32_t)kept;
    p->sizes[kept++] = p->sizes[u];
  }
  p->count = kept;
  for (size_t j = 0; j < s->n_drawn; j++) s->assignment[j] = now[s->assignment[j]];
}

static comp_status find_populations(side *s, const loan *l, comp_context *context, uint64_t seed) {
  comp__kmeans_options options = COMP__KMEANS_OPTIONS_INIT;
  float *z = NULL;
  comp_status status;
  options.clusters = 1 + s->n_drawn / LEAST_SAMPLES;
  if (options.clusters > COMP__MATCH_MOST) options.clusters = COMP__MATCH_MOST;
  options.starts = 3;
  options.seed = seed;
  s->populations.count = options.clusters;
  COMP__TRY(comp__alloc(&s->assignment, s->n_drawn, sizeof *s->assignment));
  COMP__TRY(comp__alloc(&s->centres, options.clusters, l->latent * sizeof *s->centres));
  COMP__TRY(comp__alloc(&z, s->n_drawn, l->latent * sizeof *z));
  for (size_t j = 0; j < s->n_drawn; j++)
    memcpy(z + j * l->latent, l->z + s->drawn[j] * l->latent, l->latent * sizeof *z);
  COMP__TRY(comp__kmeans(s->assignment, s->centres, NULL, context, z, s->n_drawn, l->latent, &options));
  COMP__TRY(find_means(s, l));
  drop_empty(s, l->latent);
done:
  comp__free(z);
  return status;
}

/* The nearest of the centres. */
static int32_t nearest_centre(const side *s, const float *z, size_t latent) {
  double least = INFINITY;
  int32_t best = 0;
  for (size_t u = 0; u < s->populations.count; u++) {
    double sum = 0;
    for (size_t d = 0; d < latent; d++) {
      double apart = (double)z[d] - s->centres[u * latent + d];
      sum += apart * apart;
    }
    if (sum < least) least = sum, best = (int32_t)u;
  }
  return best;
}

static void release_side(side *s) {
  comp__free(s->drawn);
  comp__free(s->assignment);
  comp__free(s->centres);
  comp__free(s->populations.mean);
}

/* ---- Who borrows, and from whom ---- */

/* Populations of `from` that are much rarer under `to`, by where samples lie in z. */
static comp_status judge(loan *l, comp_context *context, double rarer) {
  const size_t n = l->aligned->samples;
  double sums[COMP__MATCH_MOST] = {0};
  size_t counts[2] = {0};
  int32_t *codes = NULL;
  float *ratios = NULL;
  comp_status status;
  COMP__TRY(comp__alloc(&codes, n, sizeof *codes));
  COMP__TRY(comp__alloc(&ratios, n, sizeof *ratios));
  for (size_t i = 0; i < n; i++) {
    codes[i] = l->aligned->codes[i] == l->from.code ? 0 : l->aligned->codes[i] == l->to.code ? 1 : -1;
    if (codes[i] >= 0) counts[codes[i]]++;
  }
  const comp__crowd crowd = {.n = n, .conditions = 2, .codes = codes, .counts = counts};
  COMP__TRY(comp__overlap_all(ratios, context, &crowd, l->z, l->latent));
  for (size_t j = 0; j < l->from.n_drawn; j++) sums[l->from.assignment[j]] += (double)ratios[l->from.drawn[j]];
  for (size_t u = 0; u < l->from.populations.count; u++)
    l->unseen[u] = sums[u] >= log(rarer) * (double)l->from.populations.sizes[u];
done:
  comp__free(codes);
  comp__free(ratios);
  return status;
}

/* Those that were seen, and their change. */
static comp_status match_seen(loan *l) {
  const comp__populations *p = &l->from.populations;
  comp_status status;
  l->seen.features = l->features;
  COMP__TRY(comp__alloc(&l->seen.mean, p->count, l->features * sizeof *p->mean));
  for (size_t u = 0; u < p->count; u++) {
    if (l->unseen[u]) continue;
    memcpy(l->seen.mean + l->seen.count * l->features, p->mean + u * l->features, l->features * sizeof *p->mean);
    l->seen.sizes[l->seen.count++] = p->sizes[u];
  }
  if (l->seen.count > 0) COMP__TRY(comp__match(&l->matching, &l->seen, &l->to.populations));
done:
  return status;
}

/* Samples of populations that were not seen; none, where no other was. */
static void mark_takers(loan *l) {
  for (size_t u = 0; u < l->from.populations.count; u++) l->n_unseen += l->unseen[u];
  for (size_t i = 0; i < l->aligned->samples; i++) {
    l->takers[i] = 0;
    if (!l->prediction->predicted[i] || l->aligned->codes[i] != l->from.code) continue;
    l->n_changing++;
    l->takers[i] = l->seen.count > 0 && l->unseen[nearest_centre(&l->from, l->z + i * l->latent, l->latent)];
    l->n_takers += (size_t)l->takers[i];
  }
}

/* Populations whose change is known, for others to learn from. */
static comp_status list_known(loan *l) {
  const comp__populations *p = &l->seen;
  size_t n = 0;
  for (size_t u = 0; u < p->count; u++) n += l->matching.matched[u];
  comp_status status = comp__response_init(&l->response, n, l->features);
  for (size_t u = 0, at = 0; status == COMP_OK && u < p->count; u++) {
    if (!l->matching.matched[u]) continue;
    memcpy(l->response.expression + at * l->features, p->mean + u * l->features, l->features * sizeof *p->mean);
    memcpy(l->response.change + at * l->features, l->matching.change + u * l->features, l->features * sizeof *p->mean);
    at++;
  }
  if (status == COMP_OK) comp__response_measure(&l->response);
  return status;
}

/* comp__own_fn: how far a sample is from the nearest population. */
static void measure_sample(void *arg, size_t sample, const float *own, int thread) {
  loan *l = arg;
  (void)thread;
  l->nearest[sample] = comp__response_nearest(&l->response, own);
}

/* comp__own_fn: x + the mean of the decoder's change and the one that is borrowed, by OWN_SHARE. */
static void lend_sample(void *arg, size_t sample, const float *own, int thread) {
  loan *l = arg;
  double *room = l->rooms + (size_t)thread * (COMP__RESPONSE_TERMS + 1) * l->features;
  float *change = l->changes + (size_t)thread * l->features;
  float *out = l->prediction->values->values + sample * l->features;
  comp__response_predict(&l->response, change, own, room);
  float *x = l->rows + (size_t)thread * l->features;
  comp__aligned_row(x, l->aligned, sample);
  for (size_t g = 0; g < l->features; g++) out[g] = OWN_SHARE * out[g] + (1.0f - OWN_SHARE) * (x[g] + change[g]);
}

/* Ranks have measured their rows. */
static comp_status collect_distances(const loan *l, comp_context *context) {
  comp__comm *comm = comp__comm_of(context);
  size_t begin[COMP__MOST_RANKS + 1];
  comp__comm_share(begin, comm, l->aligned->samples, COMP__BLOCK_ROWS);
  return comp__comm_collect(comm, context, l->nearest, begin, sizeof *l->nearest, COMP__TO_ALL);
}

/* The distance at which samples that borrow are from what is known: its median. */
static comp_status find_radius(double *out, const loan *l) {
  double *sorted = NULL;
  size_t n = 0;
  comp_status status = comp__alloc(&sorted, l->n_takers, sizeof *sorted);
  for (size_t i = 0; status == COMP_OK && i < l->aligned->samples; i++)
    if (l->takers[i]) sorted[n++] = l->nearest[i];
  if (status == COMP_OK) comp__sort_doubles(sorted, n);
  if (status == COMP_OK) *out = sorted[n / 2];
  comp__free(sorted);
  return status;
}

static comp_status lend(loan *l, comp_context *context, comp_precision precision) {
  const size_t threads = (size_t)comp_context_thread_count(context);
  double radius;
  comp_status status;
  COMP__TRY(list_known(l));
  COMP__TRY(comp__alloc(&l->nearest, l->aligned->samples, sizeof *l->nearest));
  COMP__TRY(comp__alloc(&l->rooms, threads * (COMP__RESPONSE_TERMS + 1), l->features * sizeof *l->rooms));
  COMP__TRY(comp__alloc(&l->changes, threads, l->features * sizeof *l->changes));
  COMP__TRY(comp__alloc(&l->rows, threads, l->features * sizeof *l->rows));
  COMP__TRY(comp__decode_own(context, l->aligned, precision, l->takers, measure_sample, l, "measuring distances"));
  COMP__TRY(collect_distances(l, context));
  COMP__TRY(find_radius(&radius, l));
  COMP__TRY(comp__response_fit(&l->response, radius));
  COMP__TRY(comp__decode_own(context, l->aligned, precision, l->takers, lend_sample, l, "borrowing changes"));
done:
  return status;
}

/* ---- One condition to another ---- */

static void tell(comp_context *context, const loan *l) {
  const char *from = comp_model_level_name(l->aligned->model, (size_t)l->from.code);
  const char *to = comp_model_level_name(l->aligned->model, (size_t)l->to.code);
  const double *b = l->response.terms;
  if (l->seen.count == 0) {
    comp__warn(context,
               "no population of '%s' was seen under '%s': there is nothing to borrow from, and all changes are the "
               "decoder's own",
               from, to);
    return;
  }
  if (l->n_takers == 0) return;
  comp__info(
      context,
      "%zu of %zu samples of '%s' have few or no counterparts under '%s' (populations: %zu of %zu): their change "
      "is predicted from that of %zu populations which both have",
      l->n_takers, l->n_changing, from, to, l->n_unseen, l->from.populations.count, l->response.populations);
  comp__debug(context, "terms of the predicted change: %.2f %.2f %.2f %.2f", b[0], b[1], b[2], b[3]);
}

static void release(loan *l) {
  comp__response_release(&l->response);
  comp__matching_release(&l->matching);
  release_side(&l->from);
  release_side(&l->to);
  comp__free(l->rooms);
  comp__free(l->changes);
  comp__free(l->rows);
  comp__free(l->seen.mean);
  comp__free(l->nearest);
  comp__free(l->takers);
}

/* The samples of condition `from` that are predicted. */
static comp_status borrow_from(loan *l, comp_context *context, const comp__counterfactual_options *options) {
  comp_status status;
  COMP__TRY(draw_samples(&l->from, l->aligned, l->prediction->predicted, options->seed));
  if (l->from.n_drawn == 0) goto done; /* nothing is predicted for it */
  COMP__TRY(draw_samples(&l->to, l->aligned, NULL, options->seed));
  if (l->to.n_drawn == 0)
    COMP__FAIL(COMP_ERR_DATA, "changes can only be borrowed from data that holds samples of '%s' too: there are none",
               comp_model_level_name(l->aligned->model, (size_t)l->to.code));
  COMP__TRY(find_populations(&l->from, l, context, options->seed));
  COMP__TRY(find_populations(&l->to, l, context, options->seed));
  COMP__TRY(judge(l, context, options->rarer));
  COMP__TRY(match_seen(l));
  COMP__TRY(comp__alloc(&l->takers, l->aligned->samples, sizeof *l->takers));
  mark_takers(l);
  if (l->n_takers > 0) COMP__TRY(lend(l, context, options->precision));
  tell(context, l);
done:
  release(l);
  return status;
}

static comp_status encode(comp_matrix **z, comp_context *context, const comp__aligned *f, comp_precision precision) {
  comp__coder *coder = NULL;
  comp_status status;
  COMP__TRY(comp__coder_new(&coder, context, f->model, precision));
  COMP__TRY(comp__matrix_new_dense_raw(z, f->samples, f->model->network.options.latent));
  COMP__TRY(comp__encode(context, coder, f, (*z)->values, NULL));
done:
  comp__coder_free(coder);
  return status;
}

comp_status comp__borrow(comp_prediction *prediction, comp_context *context, const comp__aligned *aligned,
                         const comp__counterfactual_options *options, int32_t to) {
  comp_matrix *z = NULL;
  size_t n_unseen = 0;
  comp_status status = encode(&z, context, aligned, options->precision);
  for (int32_t code = 0; status == COMP_OK && code < (int32_t)aligned->model->network.conditions; code++) {
    if (code == to) continue;
    loan l = {.aligned = aligned,
              .prediction = prediction,
              .latent = aligned->model->network.options.latent,
              .features = aligned->model->network.features,
              .z = z->values,
              .from.code = code,
              .to.code = to};
    status = borrow_from(&l, context, options);
    n_unseen += l.n_unseen;
  }
  if (status == COMP_OK && n_unseen == 0)
    comp__info(context, "no change is borrowed: no population is %g times rarer under '%s'", options->rarer,
               comp_model_level_name(aligned->model, (size_t)to));
  comp_matrix_free(z);
  return status;
}
