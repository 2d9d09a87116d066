/* pca.c: principal components of a data set: the public door to principal.c. */
#include "comp/pca.h"

#include <string.h>

#include "core/alloc.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "core/options.h"
#include "linalg/linalg.h"

typedef struct pca_options {
  size_t components; /* at most the number of samples, and of features */
  bool scale;        /* divide every feature by its standard deviation (n - 1); constant ones become 0 */
  double clip;       /* with scale: the largest magnitude of a scaled value, before it is centred again; 0: no limit */
  const char *layer; /* take this layer; NULL: X */
  const char *key;   /* the name in obsm under which the scores are kept */
  uint64_t seed;     /* of the start of the iteration */
} pca_options;

#define FIELD(member) COMP__FIELD(pca_options, member)
static const comp_option rows[] = {
    {"components", 'n', COMP_OPTION_INT, FIELD(components), .metavar = "N", .value = "50", .min = 1, .max = 30000,
     .help = "how many; at most the number of samples, and of features"},
    {"scale", .type = COMP_OPTION_BOOL, FIELD(scale), .help = "divide every feature by its standard deviation"},
    {"clip", .type = COMP_OPTION_REAL, FIELD(clip), .metavar = "X", .value = "0", .max = 1e30,
     .help = "with scale: the largest magnitude of a scaled value, such as 10; 0: no limit"},
    {"use", .type = COMP_OPTION_TEXT, FIELD(layer), .metavar = "LAYER", .unset = "X",
     .help = "compute on this layer; X and the layers stay as they are"},
    {"key", .type = COMP_OPTION_TEXT, FIELD(key), .metavar = "NAME", .value = "X_pca",
     .help = "the name of the scores in obsm"},
    {"seed", .type = COMP_OPTION_INT, FIELD(seed), .metavar = "N", .value = "0", .max = 9e15,
     .help = "of the random start of the iteration, with more than 512 samples and features"},
    {0},
};

static comp_status check(const void *values) {
  const pca_options *o = values;
  if (o->clip > 0.0 && !o->scale) return comp__error(COMP_ERR_ARGUMENT, "a limit of scaled values needs scaling");
  if (!o->key || !*o->key) return comp__error(COMP_ERR_ARGUMENT, "the scores need a name in obsm");
  return COMP_OK;
}

const comp__options_kind comp__pca_kind = {
    .name = "pca", .summary = "principal components", .size = sizeof(pca_options), .rows = rows, .check = check};

static comp_status find_matrix(const comp_matrix **out, const comp_dataset *dataset, const char *layer) {
  *out = layer ? comp_dataset_matrix(dataset, COMP_SLOT_LAYERS, layer) : comp_dataset_x(dataset);
  if (*out) return COMP_OK;
  if (!layer) return comp__error(COMP_ERR_DATA, "there is no X");
  const size_t count = comp_dataset_matrix_count(dataset, COMP_SLOT_LAYERS);
  return comp__error(COMP_ERR_ARGUMENT, "there is no layer '%s'%s%s%s", layer, count ? "; there is '" : "",
                     count ? comp_dataset_matrix_name(dataset, COMP_SLOT_LAYERS, 0) : "", count ? "'" : "");
}

comp_status comp_pca_run(comp_pca *out, comp_context *context, comp_dataset *dataset, const comp_options *options) {
  COMP__NEED_OUT(out, context, dataset);
  pca_options o;
  *out = (comp_pca){0};
  comp__pca pca = {0};
  const comp_matrix *x;
  comp_matrix *scores = NULL;
  comp_status status = comp__options_resolve(&o, &comp__pca_kind, options);
  if (status != COMP_OK) return status;
  COMP__TRY(find_matrix(&x, dataset, o.layer));
  const comp__pca_options inner = {o.components, o.scale, o.clip, o.seed};
  COMP__TRY(comp__pca_fit(&pca, context, x, &inner));
  COMP__TRY(comp__alloc(&out->ratios, pca.components, sizeof *out->ratios));
  for (size_t i = 0; i < pca.components; i++)
    out->ratios[i] = pca.total_variance > 0.0 ? pca.variances[i] / pca.total_variance : 0.0;
  COMP__TRY(comp__matrix_new_dense_raw(&scores, pca.rows, pca.components));
  memcpy(scores->values, pca.scores, pca.rows * pca.components * sizeof *pca.scores);
  COMP__TRY(comp_dataset_set_matrix(dataset, COMP_SLOT_OBSM, o.key, scores));
  out->components = pca.components;
  out->features = pca.features;
  out->total_variance = pca.total_variance;
  out->variances = pca.variances;
  out->loadings = pca.loadings;
  pca.variances = NULL;
  pca.loadings = NULL;
done:
  comp__pca_release(&pca);
  if (status != COMP_OK) comp_pca_release(out);
  return status;
}

void comp_pca_release(comp_pca *pca) {
  if (!pca) return;
  comp__free(pca->variances);
  comp__free(pca->ratios);
  comp__free(pca->loadings);
  *pca = (comp_pca){0};
}
