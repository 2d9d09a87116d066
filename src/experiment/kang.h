/* kang.h: cell types that were never seen stimulated: one part of the experiment on Kang's cells. */
#ifndef COMP_EXPERIMENT_KANG_H
#define COMP_EXPERIMENT_KANG_H

#include "experiment/lab.h"

/* Each type in turn is trained on without its stimulated cells, which are predicted. Columns MEASURE/TYPE, and MEASURE
 * for the mean over types: change, top, mse, e, wasserstein, common. Rows: ways to predict from the model, no change,
 * mean shift, scGen (if the model vae is wanted), the noise ceiling. */
comp_status comp__kang_holdout(comp__figures *out, comp__lab *lab, const comp__trial *trial);

#endif
