/* cells.h: predictions that look like measured cells. */
#ifndef COMP_TASK_CELLS_H
#define COMP_TASK_CELLS_H

#include "comp/task.h"
#include "task/aligned.h"
#include "task/options.h"

/*
 * `prediction` holds x + change for the samples that are predicted. Added to every cell alike, a small change turns all
 * zeros of a gene into the same small number, which no measured cell has: a rank test then finds every such gene, and
 * no real one. Here a value that is less than one count stays a chance of one count. With
 *
 *   least  the smallest value above 0 in the sample's own row (one count, on the scale of the data)
 *   e      x + change where the change is positive, else x (own + change) / own, at least 0; own: decoded under the
 *          sample's own condition
 *
 * the value becomes e where e >= least, else `least` with probability e / least, and 0 otherwise. The mean over samples
 * stays what was predicted, and the sample's own deviations are kept. Chance is by the seed, and in strata: among 64
 * samples that are neighbours in z every 64th part of (0, 1) is drawn once for each feature, so that means over few
 * samples have little noise. Rows without zeros, or with values below 0, keep x + change: there is no such limit.
 */
comp_status comp__as_cells(comp_prediction *prediction, comp_context *context, const comp__aligned *aligned,
                           const comp__counterfactual_options *options, int32_t to);

#endif
