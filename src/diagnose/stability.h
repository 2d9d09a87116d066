/* stability.h: do models trained on the same data with other seeds say the same? */
#ifndef COMP_DIAGNOSE_STABILITY_H
#define COMP_DIAGNOSE_STABILITY_H

#include "diagnose/latent.h"

/* Two sets of points of the same samples, a [n, p] and b [n, q]: the share of b's variance that the best linear map of
 * a explains, and linear centred kernel alignment. */
typedef struct comp__linear_fit {
  double r2, cka;
} comp__linear_fit;
comp_status comp__linear_agreement(comp__linear_fit *out, const float *a, size_t p, const float *b, size_t q, size_t n);

/* The mean change that a condition makes to the samples of a label that do not have it: decoded under it, less decoded
 * under their own. */
typedef struct comp__change {
  size_t label, to; /* `label` is 0 when there are no labels */
  size_t samples;
  double agreement; /* of the change: Pearson's r over the features, smallest over pairs of models */
  double single;    /* of predictions of single samples, each feature less its mean: r over all of them, smallest over
                       pairs */
  size_t odd[2];    /* the pair that has it */
  double spread;    /* of the prediction over models: root mean square over the features of its standard deviation */
  double size;      /* of the change: root mean square over the features, mean over models */
} comp__change;

/* Zero-initialise to start. */
typedef struct comp__stability {
  size_t models;
  double *r2;  /* [models, models]: of row's linear map onto column */
  double *cka; /* [models, models] */
  double least_r2, least_cka;
  size_t n_changes;
  comp__change *changes;
  double *gene_spread; /* [features]: standard deviation over models of the prediction, root mean square over changes */
  double *gene_size;   /* [features]: of the change, the same */
  size_t *gene_order;  /* [features]: least stable first */
} comp__stability;

/* labels [n] are codes below n_labels, -1 where it is not known; NULL: all samples are one label. A change is measured
 * on at most `most` samples. It should be released via comp__stability_release(). */
comp_status comp__stability_run(comp__stability *out, comp_context *context, const comp__latent *latents, size_t models,
                                const int32_t *labels, size_t n_labels, size_t most, uint64_t seed);
void comp__stability_release(comp__stability *stability);

#endif
