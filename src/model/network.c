/* network.c: the layout of the network. What it computes is in forward.c and backward.c. */
#include "model/network.h"

#include <stdio.h>
#include <string.h>

static comp_status add_dense(comp__network *n, comp__dense *dense, const char *name, size_t in, size_t out,
                             bool condition, bool bias) {
  *dense = (comp__dense){.in = in, .out = out, .conditions = condition ? n->conditions : 0, .has_bias = bias};
  size_t rows = in + dense->conditions;
  comp_status status =
      comp__layout_add(&n->params, &dense->weight, COMP__INIT_UNIFORM, rows, rows, out, "%s.weight", name);
  if (status == COMP_OK && bias)
    status = comp__layout_add(&n->params, &dense->bias, COMP__INIT_UNIFORM, rows, 1, out, "%s.bias", name);
  return status;
}

static comp_status add_hidden(comp__network *n, comp__hidden *hidden, const char *part, size_t index, size_t in,
                              size_t out, bool condition) {
  char name[32];
  snprintf(name, sizeof name, "%s.%zu", part, index);
  comp_status status = add_dense(n, &hidden->dense, name, in, out, condition, false);
  if (status == COMP_OK)
    status = comp__layout_add(&n->params, &hidden->gamma, COMP__INIT_ONE, in, 1, out, "%s.norm.weight", name);
  if (status == COMP_OK)
    status = comp__layout_add(&n->params, &hidden->beta, COMP__INIT_ZERO, in, 1, out, "%s.norm.bias", name);
  if (status == COMP_OK)
    status =
        comp__layout_add(&n->buffers, &hidden->running_mean, COMP__INIT_ZERO, in, 1, out, "%s.norm.running_mean", name);
  if (status == COMP_OK)
    status =
        comp__layout_add(&n->buffers, &hidden->running_var, COMP__INIT_ONE, in, 1, out, "%s.norm.running_var", name);
  return status;
}

static comp_status add_encoder(comp__network *n) {
  const comp__model_options *o = &n->options;
  size_t width = n->features;
  comp_status status = COMP_OK;
  if (o->centred)
    status = comp__layout_add(&n->buffers, &n->centre, COMP__INIT_ZERO, 1, n->conditions, n->features, "centre");
  for (size_t l = 0; status == COMP_OK && l < o->n_hidden; l++) {
    status = add_hidden(n, &n->encoder[l], "encoder", l, width, o->hidden[l], l == 0 && o->encoder_sees_condition);
    width = o->hidden[l];
  }
  if (status == COMP_OK) status = add_dense(n, &n->mean, "mean", width, o->latent, false, true);
  if (status == COMP_OK && o->learn_scale) status = add_dense(n, &n->scale, "scale", width, o->latent, false, true);
  return status;
}

static comp_status add_decoder(comp__network *n) {
  const comp__model_options *o = &n->options;
  size_t width = o->latent;
  comp_status status = COMP_OK;
  for (size_t l = 0; status == COMP_OK && l < o->n_hidden; l++) {
    size_t out = o->hidden[o->n_hidden - 1 - l];
    status = add_hidden(n, &n->decoder[l], "decoder", l, width, out, l == 0 && o->decoder_sees_condition);
    width = out;
  }
  if (status == COMP_OK) status = add_dense(n, &n->output, "output", width, n->features, false, true);
  if (status != COMP_OK) return status;
  const comp__likelihood *likelihood = n->likelihood;
  if (likelihood->sample_layer)
    status = add_dense(n, &n->sample_layer, likelihood->sample_layer, width, 1, false, true);
  if (status == COMP_OK && likelihood->feature_vector)
    status = comp__layout_add(&n->params, &n->feature_vector, COMP__INIT_ZERO, 1, 1, n->features, "%s",
                              likelihood->feature_vector);
  return status;
}

comp_status comp__network_init(comp__network *network, const comp__model_options *options, size_t features,
                               size_t conditions) {
  memset(network, 0, sizeof *network);
  network->options = *options;
  network->likelihood = comp__likelihood_find(options->likelihood);
  network->features = features;
  network->conditions = conditions;
  comp_status status = add_encoder(network);
  if (status == COMP_OK) status = add_decoder(network);
  if (status == COMP_OK && options->classes > 0) /* the last, so that others start the same with and without it */
    status = add_dense(network, &network->target, "target", options->latent, options->classes, false, true);
  if (status != COMP_OK) comp__network_release(network);
  return status;
}

void comp__network_release(comp__network *network) {
  comp__layout_release(&network->params);
  comp__layout_release(&network->buffers);
}
