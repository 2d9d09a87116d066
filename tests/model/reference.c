/* reference.c: see reference.h. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(size_t n) {
  return calloc(n ? n : 1, sizeof(double));
}

double reference_log_sum(const double *terms, size_t n) {
  double high = -INFINITY, sum = 0;
  for (size_t i = 0; i < n; i++) high = fmax(high, terms[i]);
  for (size_t i = 0; i < n; i++) sum += exp(terms[i] - high);
  return high + log(sum);
}

static size_t condition_of(const size_t *start, size_t row) {
  size_t k = 0;
  while (row >= start[k + 1]) k++;
  return k;
}

static double mixtures(const comp__model_options *options, size_t rows, size_t dims, size_t conditions,
                       const size_t *start, const float *weight, const double *z, const double *mean,
                       const double *scale, int p0, double power) {
  (void)conditions;
  double total = 0, *own = numbers(rows), *other = numbers(rows);
  for (size_t i = 0; i < rows; i++) {
    size_t n_own = 0, n_other = 0;
    double all_own = 0, all_other = 0;
    for (size_t j = 0; j < rows; j++) {
      double l = 0;
      for (size_t d = 0; d < dims; d++) {
        double s = scale ? scale[j * dims + d] : options->scale, t = (z[i * dims + d] - mean[j * dims + d]) / s;
        l += -0.5 * t * t - log(s) - 0.5 * log(2 * M_PI);
      }
      const double w = weight ? pow((double)weight[j], power) : 1;
      if (condition_of(start, i) != condition_of(start, j))
        other[n_other++] = l + log(w), all_other += w;
      else if (i != j || options->include_self)
        own[n_own++] = l + log(w), all_own += w;
    }
    if (n_other == 0 || (n_own == 0 && !p0)) continue;
    const double w = weight ? (double)weight[i] : 1;
    total -= w * (reference_log_sum(other, n_other) - log(all_other));
    if (!p0) total += w * (reference_log_sum(own, n_own) - log(all_own));
  }
  free(own), free(other);
  return total / (double)rows;
}

/* What the weights leave of condition k: every second such row against the others. */
static double rest(const comp__model_options *options, size_t rows, size_t dims, size_t begin, size_t end,
                   const float *weight, const double *z, const double *mean, const double *scale, int p0) {
  double *part = numbers(3 * rows * dims), *zs = part, *means = part + rows * dims, *scales = part + 2 * rows * dims;
  float *weights = malloc(rows * sizeof *weights);
  size_t start[3] = {0}, n = 0;
  for (size_t half = 0; half < 2; half++, start[half] = n)
    for (size_t i = begin, seen = 0; i < end; i++) {
      if (1 - (double)weight[i] < 1e-3 || seen++ % 2 != half) continue;
      for (size_t d = 0; d < dims; d++) {
        zs[n * dims + d] = z[i * dims + d];
        means[n * dims + d] = mean[i * dims + d];
        if (scale) scales[n * dims + d] = scale[i * dims + d];
      }
      weights[n++] = 1 - weight[i];
    }
  double value = mixtures(options, n, dims, 2, start, weights, zs, means, scale ? scales : NULL, p0, 1);
  free(part), free(weights);
  return n > 0 ? value * (double)n / (double)rows : 0;
}

double reference_comp(const comp__model_options *options, size_t rows, size_t dims, size_t conditions,
                      const size_t *start, const float *weight, const double *z, const double *mean,
                      const double *scale, int p0) {
  double total = mixtures(options, rows, dims, conditions, start, weight, z, mean, scale, p0, 0.2);
  for (size_t k = 0; weight && k < conditions; k++)
    total += rest(options, rows, dims, start[k], start[k + 1], weight, z, mean, scale, p0);
  return total;
}

static double kernel(const comp__model_options *options, double d2) {
  static const double scales[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1,   5,   10, 15,
                                  20,   25,   30,   35,   100,  1e3,  1e4, 1e5, 1e6};
  if (!options->multi_scale) return exp(-d2 / (2 * options->mmd_scale * options->mmd_scale));
  double sum = 0;
  for (int s = 0; s < 19; s++) sum += exp(-d2 / scales[s]) / 19;
  return sum;
}

static double mean_kernel(const comp__model_options *options, size_t dims, const size_t *start, const double *x,
                          size_t a, size_t b) {
  double sum = 0;
  for (size_t i = start[a]; i < start[a + 1]; i++)
    for (size_t j = start[b]; j < start[b + 1]; j++) {
      double d2 = 0;
      for (size_t d = 0; d < dims; d++) d2 += pow(x[i * dims + d] - x[j * dims + d], 2);
      sum += kernel(options, d2);
    }
  return sum / (double)(start[a + 1] - start[a]) / (double)(start[b + 1] - start[b]);
}

double reference_mmd(const comp__model_options *options, size_t rows, size_t dims, size_t conditions,
                     const size_t *start, const double *x) {
  (void)rows;
  double sum = 0, pairs = 0;
  for (size_t a = 0; a < conditions; a++)
    for (size_t b = a + 1; b < conditions; b++) {
      if (start[a + 1] == start[a] || start[b + 1] == start[b]) continue;
      sum += mean_kernel(options, dims, start, x, a, a) + mean_kernel(options, dims, start, x, b, b) -
             2 * mean_kernel(options, dims, start, x, a, b);
      pairs++;
    }
  return pairs > 0 ? sum / pairs : 0;
}

double reference_penalty_comp(const comp__model_options *options, const comp__penalty_input *in, const double *values,
                              const double *mean, const double *scale) {
  return reference_comp(options, in->rows, in->dims, in->conditions, in->start, in->weight, values, mean, scale, 0);
}

double reference_penalty_comp_p0(const comp__model_options *options, const comp__penalty_input *in,
                                 const double *values, const double *mean, const double *scale) {
  return reference_comp(options, in->rows, in->dims, in->conditions, in->start, in->weight, values, mean, scale, 1);
}

double reference_penalty_mmd(const comp__model_options *options, const comp__penalty_input *in, const double *values,
                             const double *mean, const double *scale) {
  (void)mean, (void)scale;
  return reference_mmd(options, in->rows, in->dims, in->conditions, in->start, values);
}

static double softplus(double x) {
  return x > 30 ? x : log1p(exp(x));
}

/* y [rows, out] = x w + condition row + bias. */
static double *dense(const comp__dense *d, const double *params, const comp__batch *batch, const double *x) {
  double *y = numbers(batch->rows * d->out);
  for (size_t i = 0; i < batch->rows; i++)
    for (size_t o = 0; o < d->out; o++) {
      double sum = d->has_bias ? params[d->bias + o] : 0;
      if (d->conditions) sum += params[d->weight + (d->in + condition_of(batch->start, i)) * d->out + o];
      for (size_t k = 0; k < d->in; k++) sum += x[i * d->in + k] * params[d->weight + k * d->out + o];
      y[i * d->out + o] = sum;
    }
  return y;
}

static double *hidden(const comp__hidden *h, const double *params, const comp__batch *batch, const double *x) {
  size_t n = batch->rows, out = h->dense.out;
  double *y = dense(&h->dense, params, batch, x);
  for (size_t o = 0; o < out; o++) {
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; i++) mean += y[i * out + o] / (double)n;
    for (size_t i = 0; i < n; i++) var += pow(y[i * out + o] - mean, 2) / (double)n;
    for (size_t i = 0; i < n; i++) {
      double v = (y[i * out + o] - mean) / sqrt(var + 1e-5) * params[h->gamma + o] + params[h->beta + o];
      y[i * out + o] = v > 0 ? v : 0.01 * v;
    }
  }
  return y;
}

static double *through(const comp__hidden *layers, size_t count, const double *params, const comp__batch *batch,
                       double *x, double **first) {
  for (size_t l = 0; l < count; l++) {
    double *y = hidden(&layers[l], params, batch, x);
    if (l == 0 && first) {
      *first = numbers(batch->rows * layers[0].dense.out);
      memcpy(*first, y, batch->rows * layers[0].dense.out * sizeof(double));
    }
    free(x);
    x = y;
  }
  return x;
}

/* What the encoder reads: x, or x less the mean of its condition. */
static double *encoder_input(const comp__network *n, const float *buffers, const comp__batch *batch, const double *x) {
  double *input = numbers(batch->rows * n->features);
  for (size_t i = 0; i < batch->rows; i++)
    for (size_t g = 0; g < n->features; g++) {
      input[i * n->features + g] = x[i * n->features + g];
      if (!n->options.centred) continue;
      input[i * n->features + g] -= buffers[n->centre + condition_of(batch->start, i) * n->features + g];
    }
  return input;
}

static double *input_of(const comp__network *n, const comp__batch *batch) {
  double *x = numbers(batch->rows * n->features);
  const float *values = comp_matrix_const_values(batch->x);
  const int64_t *indptr = comp_matrix_const_indptr(batch->x);
  for (size_t i = 0; i < batch->rows; i++) {
    if (!indptr)
      for (size_t g = 0; g < n->features; g++) x[i * n->features + g] = values[i * n->features + g];
    else
      for (int64_t k = indptr[i]; k < indptr[i + 1]; k++)
        x[i * n->features + (size_t)comp_matrix_const_indices(batch->x)[k]] = values[k];
  }
  return x;
}

/* The output: of a centred model with the mean of the condition. */
static double *output_of(const comp__network *n, const double *params, const float *buffers, const comp__batch *batch,
                         const double *h) {
  double *out = dense(&n->output, params, batch, h);
  for (size_t i = 0; n->options.centred && i < batch->rows; i++)
    for (size_t g = 0; g < n->features; g++)
      out[i * n->features + g] += buffers[n->centre + condition_of(batch->start, i) * n->features + g];
  return out;
}

double reference_likelihood_gaussian(const double *x, const double *output, size_t n, double library, double sample,
                                     const double *vector) {
  (void)library, (void)vector;
  double loss = 0, sd = 0.01 + softplus(sample);
  for (size_t g = 0; g < n; g++) loss += 0.5 * pow((x[g] - output[g]) / sd, 2) + log(sd) + 0.5 * log(2 * M_PI);
  return loss;
}

double reference_likelihood_nb(const double *x, const double *output, size_t n, double library, double sample,
                               const double *vector) {
  (void)sample;
  double loss = 0, norm = reference_log_sum(output, n);
  for (size_t g = 0; g < n; g++) {
    double m = library * exp(output[g] - norm), t = exp(vector[g]);
    loss -= lgamma(x[g] + t) - lgamma(t) - lgamma(x[g] + 1) + t * log(t / (t + m)) + x[g] * log(m / (t + m));
  }
  return loss;
}

/* By kind: a likelihood or penalty that is not restated does not link. */
#define LIKELIHOOD(KIND, name) reference_likelihood_##name,
static double (*const likelihoods[])(const double *x, const double *output, size_t n, double library, double sample,
                                     const double *vector) = {
#include "model/likelihoods.def"
};
#undef LIKELIHOOD

#define PENALTY(KIND, name) reference_penalty_##name,
static double (*const penalties[])(const comp__model_options *options, const comp__penalty_input *input,
                                   const double *values, const double *mean, const double *scale) = {
    NULL,
#include "model/penalties.def"
};
#undef PENALTY

static double likelihood(const comp__network *n, const double *params, const float *buffers, const comp__batch *batch,
                         const double *x, const double *h) {
  double *output = output_of(n, params, buffers, batch, h), loss = 0;
  double *sample = n->likelihood->sample_layer ? dense(&n->sample_layer, params, batch, h) : NULL;
  for (size_t i = 0; i < batch->rows; i++)
    loss += likelihoods[n->options.likelihood](x + i * n->features, output + i * n->features, n->features,
                                               (double)batch->library[i], sample ? sample[i] : 0,
                                               params + n->feature_vector);
  free(output), free(sample);
  return loss;
}

/* The penalty, at z or at the decoder's first hidden layer; z and scale become the blurred ones. */
static double penalty(const comp__network *n, const comp__batch *batch, const float *eps, double blur,
                      const double *mean, double *scale, double *z, const double *first) {
  comp__model_options wide = n->options;
  const bool at_z = wide.place == COMP_PLACE_Z;
  const comp__penalty_input input = {.rows = batch->rows,
                                     .dims = at_z ? wide.latent : n->decoder[0].dense.out,
                                     .conditions = n->conditions,
                                     .start = batch->start,
                                     .weight = batch->weight};
  if (comp__penalty_find(wide.penalty)->needs_posteriors) {
    wide.scale = hypot(wide.scale, blur);
    for (size_t i = 0; i < batch->rows * wide.latent; i++) {
      if (scale) scale[i] = hypot(scale[i], blur);
      z[i] = mean[i] + (scale ? scale[i] : wide.scale) * eps[i];
    }
  }
  return penalties[wide.penalty](&wide, &input, at_z ? z : first, mean, scale);
}

double reference_last_limit, reference_fixed_limit = -1;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* What lengths of means beyond so many times their 95 % quantile cost. */
static double bound(const comp__model_options *o, size_t rows, const double *mean) {
  double *lengths = numbers(rows), *sorted = numbers(rows), loss = 0;
  for (size_t i = 0; i < rows; i++)
    for (size_t d = 0; d < o->latent; d++) lengths[i] = hypot(d ? lengths[i] : 0, mean[i * o->latent + d]);
  memcpy(sorted, lengths, rows * sizeof *sorted);
  qsort(sorted, rows, sizeof *sorted, compare);
  reference_last_limit = reference_fixed_limit >= 0 ? reference_fixed_limit : o->bound * sorted[rows * 95 / 100];
  for (size_t i = 0; i < rows; i++) loss += 50 * pow(fmax(0, lengths[i] - reference_last_limit), 2) / (double)rows;
  free(lengths), free(sorted);
  return loss;
}

/* Cross-entropy of the target, summed over the samples that have one. */
static double target_loss(const comp__network *n, const double *params, const comp__batch *batch, const double *z) {
  double *logits = dense(&n->target, params, batch, z), sum = 0;
  const size_t classes = n->options.classes;
  for (size_t i = 0; i < batch->rows; i++)
    if (batch->target[i] >= 0)
      sum += reference_log_sum(logits + i * classes, classes) - logits[i * classes + (size_t)batch->target[i]];
  free(logits);
  return sum;
}

double reference_loss(const comp__network *n, const double *params, const float *buffers, const comp__batch *batch,
                      const float *eps, comp__pull pull) {
  const comp__model_options *o = &n->options;
  size_t rows = batch->rows, count = rows * o->latent;
  double *x = input_of(n, batch), *input = encoder_input(n, buffers, batch, x), *first = NULL;
  double *h = through(n->encoder, o->n_hidden, params, batch, input, NULL);
  double *mean = dense(&n->mean, params, batch, h), *scale = NULL, *z = numbers(count), *z2 = numbers(count), kl = 0;
  if (o->learn_scale) {
    scale = dense(&n->scale, params, batch, h);
    for (size_t i = 0; i < count; i++) scale[i] = 1e-3 + softplus(scale[i]);
  }
  for (size_t i = 0; i < count; i++) {
    double s = scale ? scale[i] : o->scale;
    z[i] = z2[i] = mean[i] + s * eps[i];
    kl += 0.5 * (mean[i] * mean[i] + s * s - 1) - log(s);
  }
  free(h);
  h = through(n->decoder, o->n_hidden, params, batch, z2, &first);
  double loss = likelihood(n, params, buffers, batch, x, h);
  if (o->reduction == COMP_REDUCTION_MEAN) loss /= (double)n->features;
  loss = (loss + o->beta * kl) / (double)rows;
  if (o->penalty != COMP_PENALTY_NONE) loss += pull.gamma * penalty(n, batch, eps, pull.blur, mean, scale, z, first);
  if (o->bound > 0) loss += bound(o, rows, mean);
  if (o->classes > 0) loss += o->target_weight * target_loss(n, params, batch, z) / (double)rows;
  free(x), free(h), free(mean), free(scale), free(z), free(first);
  return loss;
}
