/* extend.c: see extend.h. */
#include "map/extend.h"

#include <string.h>

#include "core/error.h"
#include "model/moves.h"

/* One flat vector. Where a tensor has rows for conditions they are its last. */
static void copy_layout(float *to, const comp__layout *layout, const float *from, const comp__layout *old,
                        size_t levels) {
  for (size_t t = 0; t < old->count; t++) {
    const comp__tensor *a = &old->tensors[t], *b = &layout->tensors[t];
    const float *source = from + a->offset;
    float *target = to + b->offset;
    memcpy(target, source, a->rows * a->cols * sizeof *to);
    for (size_t row = a->rows; row < b->rows; row++)
      for (size_t c = 0; c < a->cols; c++) {
        double sum = 0.0;
        for (size_t k = a->rows - levels; k < a->rows; k++) sum += source[k * a->cols + c];
        target[row * a->cols + c] = (float)(sum / (double)levels);
      }
  }
}

static comp_status copy_names(comp_model *to, const comp_model *model, const char *const *names, size_t n) {
  comp_status status;
  COMP__TRY(comp__strings_select(&to->features, &model->features, NULL, 0));
  COMP__TRY(comp__strings_select(&to->levels, &model->levels, NULL, 0));
  for (size_t k = 0; k < n; k++) COMP__TRY(comp__strings_append(&to->levels, names[k], strlen(names[k])));
  COMP__TRY(comp__strdup(&to->condition, model->condition));
  COMP__TRY(comp__strings_select(&to->classes, &model->classes, NULL, 0));
  COMP__TRY(comp__strdup(&to->target, model->target));
  COMP__TRY(comp__strdup(&to->record, model->record));
  COMP__TRY(comp__strdup(&to->config, model->config));
  COMP__TRY(comp__strdup(&to->history, model->history));
  COMP__TRY(comp__strdup(&to->trained_on, model->trained_on));
  COMP__TRY(comp__strdup(&to->kernel, model->kernel));
done:
  return status;
}

/* Levels keep their numbers, and anchors the levels. */
static comp_status copy_anchors(comp_model *to, const comp_model *model) {
  const size_t size = model->n_anchors * comp__anchor_size(model);
  if (size == 0) return COMP_OK;
  comp_status status = comp__alloc(&to->anchors, size, sizeof *to->anchors);
  if (status != COMP_OK) return status;
  memcpy(to->anchors, model->anchors, size * sizeof *to->anchors);
  to->n_anchors = model->n_anchors;
  return COMP_OK;
}

comp_status comp__model_extend(comp_model **out, const comp_model *model, const char *const *names, size_t n) {
  const comp__network *network = &model->network;
  comp_model *m = NULL;
  comp_status status;
  *out = NULL;
  COMP__TRY(comp__model_new(&m, &network->options, network->features, network->conditions + n));
  m->network.added = network->added + n;
  copy_layout(m->params, &m->network.params, model->params, &network->params, network->conditions);
  copy_layout(m->buffers, &m->network.buffers, model->buffers, &network->buffers, network->conditions);
  memcpy(m->feature_means, model->feature_means, network->features * sizeof *m->feature_means);
  m->library_target = model->library_target;
  m->finished = model->finished;
  COMP__TRY(copy_anchors(m, model));
  COMP__TRY(copy_names(m, model, names, n));
  *out = m;
  m = NULL;
done:
  comp_model_free(m);
  return status;
}
