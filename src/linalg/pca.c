/* pca.c: principal components of a data set: the public door to principal.c. */
#include "comp/pca.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/dataset.h"
#include "core/error.h"
#include "core/matrix.h"
#include "linalg/linalg.h"

comp_status comp_pca_options_check(const comp_pca_options *o) {
  if (o->components == 0) return comp__error(COMP_ERR_ARGUMENT, "the number of components must be at least 1");
  if (!(o->clip >= 0.0) || !isfinite(o->clip))
    return comp__error(COMP_ERR_ARGUMENT, "the limit of scaled values must be 0 (none) or a positive number");
  if (o->clip > 0.0 && !o->scale) return comp__error(COMP_ERR_ARGUMENT, "a limit of scaled values needs scaling");
  if (!o->key || !*o->key) return comp__error(COMP_ERR_ARGUMENT, "the scores need a name in obsm");
  return COMP_OK;
}

static comp_status find_matrix(const comp_matrix **out, const comp_dataset *dataset, const char *layer) {
  *out = layer ? comp_dataset_get(dataset, COMP_SLOT_LAYERS, layer) : comp_dataset_x(dataset);
  if (*out) return COMP_OK;
  if (!layer) return comp__error(COMP_ERR_DATA, "there is no X");
  const size_t count = comp_dataset_count(dataset, COMP_SLOT_LAYERS);
  return comp__error(COMP_ERR_ARGUMENT, "there is no layer '%s'%s%s%s", layer, count ? "; there is '" : "",
                     count ? comp_dataset_entry_name(dataset, COMP_SLOT_LAYERS, 0) : "", count ? "'" : "");
}

comp_status comp_pca_run(comp_pca *out, comp_context *context, comp_dataset *dataset, const comp_pca_options *options) {
  *out = (comp_pca){0};
  comp__pca pca = {0};
  const comp_matrix *x;
  comp_matrix *scores = NULL;
  comp_status status = comp_pca_options_check(options);
  if (status != COMP_OK) return status;
  COMP__TRY(find_matrix(&x, dataset, options->layer));
  const comp__pca_options inner = {options->components, options->scale, options->clip, options->seed};
  COMP__TRY(comp__pca_fit(&pca, context, x, &inner));
  COMP__TRY(comp__alloc(&out->ratios, pca.components, sizeof *out->ratios));
  for (size_t i = 0; i < pca.components; i++)
    out->ratios[i] = pca.total_variance > 0.0 ? pca.variances[i] / pca.total_variance : 0.0;
  COMP__TRY(comp__matrix_new_dense_raw(&scores, pca.rows, pca.components));
  memcpy(scores->values, pca.scores, pca.rows * pca.components * sizeof *pca.scores);
  COMP__TRY(comp_dataset_set(dataset, COMP_SLOT_OBSM, options->key, scores));
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
  comp__free(pca->variances);
  comp__free(pca->ratios);
  comp__free(pca->loadings);
  *pca = (comp_pca){0};
}
