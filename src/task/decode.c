/* decode.c: from embeddings to expected features. */
#include "comp/task.h"

#include "core/error.h"
#include "core/matrix.h"
#include "model/trained.h"
#include "task/coder.h"

comp_status comp_decode(comp_matrix **out, comp_context *context, const comp_model *model, const comp_matrix *z,
                        const char *condition) {
  COMP__NEED_OUT(out, context, model, z);
  *out = NULL;
  comp_status status;
  comp__coder *coder = NULL;
  comp_matrix *x = NULL;
  const comp__model_options *o = comp__model_get_options(model);
  int32_t code = 0;
  if (z->kind != COMP_DENSE || z->cols != o->latent)
    COMP__FAIL(COMP_ERR_ARGUMENT, "z: a dense matrix of %zu columns is needed", o->latent);
  if (model->network.likelihood->counts)
    COMP__FAIL(COMP_ERR_ARGUMENT,
               "z: a model of counts also needs the library size of each sample to decode, and an embedding has none");
  if (o->decoder_sees_condition && !condition)
    COMP__FAIL(COMP_ERR_ARGUMENT, "condition: the decoder of this model needs one");
  if (condition) COMP__TRY(comp__model_find_level(&code, model, condition, COMP_ERR_ARGUMENT, "condition:"));
  COMP__TRY(comp__coder_new(&coder, context, model, COMP_PRECISION_F32));
  COMP__TRY(comp__matrix_new_dense_in(&x, context, z->rows, comp_model_feature_count(model)));
  COMP__TRY(comp__decode(context, coder, x->values, z->values, NULL, code, NULL, z->rows));
  *out = x;
  x = NULL;
done:
  comp_matrix_free(x);
  comp__coder_free(coder);
  return status;
}
