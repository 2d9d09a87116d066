/* precision.c: the table of precisions, and which one a run takes by itself. */
#include "train/precision.h"

#include "core/context.h"
#include "core/cpu.h"
#include "nn/matmul.h"

static bool wide_layers(const comp__model_options *o) {
  for (size_t l = 0; l < o->n_hidden; l++)
    if (o->hidden[l] < 128) return false;
  return true;
}

/* bf16 where this kind of CPU is faster with it and the products are large. */
static comp_precision choose_faster(comp_context *context, const comp__train_options *o) {
  const bool faster = comp__cpu_prefers_bf16(), bf16 = faster && wide_layers(&o->model);
  comp__info(context, "precision %s (%s)", bf16 ? "bf16" : "f32",
             bf16     ? comp__matmul_bf16_kernel()
             : faster ? "the layers are too narrow for bf16 to be faster"
                      : "bf16 is not faster with this kind of CPU");
  return bf16 ? COMP_PRECISION_BF16 : COMP_PRECISION_F32;
}

static const comp__precision precisions[] = {
    [COMP_PRECISION_AUTO] = {"auto", .choose = choose_faster},
    [COMP_PRECISION_F32] = {"f32"},
    [COMP_PRECISION_BF16] = {"bf16", .bf16 = true, .check = comp__matmul_bf16_check},
};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };

const comp__precision *comp__precision_find(comp_precision precision) {
  return (size_t)precision < PRECISIONS ? &precisions[precision] : NULL;
}

const char *comp__precision_name(size_t index) {
  return index < PRECISIONS ? precisions[index].name : NULL;
}
