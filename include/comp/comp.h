/*
 * comp.h: Contrastive Mixture of Posteriors.
 *
 * Includes the whole public interface. In the order in which a program needs it:
 *
 *   status.h    how a function reports failure
 *   options.h   options of every kind, set by name
 *   context.h   threads, messages, progress, interruption
 *   matrix.h    dense and sparse matrices
 *   table.h     columns of what is known of each sample or feature
 *   dataset.h   samples x features with both tables
 *   suggest.h   the nearest name to a misspelt one
 *   file.h      complete files or none
 *   io.h        data files
 *   simulate.h  data whose truth is known
 *   prep.h      filters, normalisation, variable genes, tables of mixed columns, differential expression
 *   model.h     the five models and their options
 *   train.h     fitting a model, presets, model files
 *   task.h      using a model: embeddings, counterfactuals, correction
 *   map.h       new samples in a trained model, and labels for them
 *   dist.h      several processes that train one model
 *   counterfactual_score.h  how good predictions of another condition are
 *   neighbors.h nearest neighbours
 *   umap.h      layouts in two dimensions
 *   pca.h       principal components
 *   metrics.h   how well embeddings mix conditions and keep labels apart
 *   score.h     all scores of a data set: metrics, classifiers, counterfactuals
 *   baseline.h  the methods that CoMP is set against
 *   classify.h  how well a column can be predicted from an embedding; fairness
 *   diagnose.h  whether a model can be trusted
 *   audit.h     how well an attribute is hidden
 *   verdict.h   what the numbers mean: findings and advice
 *   figure.h    figures for print
 *   pipeline.h  a whole run: from data to a folder with everything in it
 *   report.h    one page that shows what came out
 *   version.h   the version of these headers
 *   machine.h   the version of the library, and what this machine can do
 *
 * export.h, which they all include, marks what the library exports.
 *
 * Rules that hold everywhere:
 *
 *   order      out-parameters come first and are named `out`, then the context
 *   options    are a comp_options of the kind that the function names; NULL: the defaults
 *   memory     a function that allocates says who frees. A comp_X is freed via comp_X_free(), a struct that you own is
 *              emptied via its release function, and everything else that the library hands out (`char **out`,
 *              `void **out`) is freed via comp_free()
 *   text       is UTF-8. A `const char *` that a function returns is owned by what it was asked of; text that is passed
 *              in is copied
 *   names      _count is how many there are, _name the name of one, _at one of them by its index; _parse is the value
 *              of an enum by its name. Sizes and indices are size_t. An index must be below the count, a row or column
 *              below their number: functions that only read one thing need not check it
 *   NULL       is allowed where the header says so: for options, in every ..._free() and ..._release(), for an array of
 *              which there are 0, and where a comment names it. Anywhere else a function that returns a comp_status
 *              refuses NULL (COMP_ERR_ARGUMENT, with a message that names the argument, and an empty `*out`), and the
 *              others, which only read or set one thing, must not be given it: they do not check
 *   state      nothing is global
 */
#ifndef COMP_H
#define COMP_H

#include "comp/audit.h"
#include "comp/baseline.h"
#include "comp/classify.h"
#include "comp/context.h"
#include "comp/counterfactual_score.h"
#include "comp/dataset.h"
#include "comp/diagnose.h"
#include "comp/dist.h"
#include "comp/figure.h"
#include "comp/file.h"
#include "comp/io.h"
#include "comp/machine.h"
#include "comp/map.h"
#include "comp/matrix.h"
#include "comp/metrics.h"
#include "comp/model.h"
#include "comp/neighbors.h"
#include "comp/options.h"
#include "comp/pca.h"
#include "comp/pipeline.h"
#include "comp/prep.h"
#include "comp/report.h"
#include "comp/score.h"
#include "comp/simulate.h"
#include "comp/status.h"
#include "comp/suggest.h"
#include "comp/table.h"
#include "comp/task.h"
#include "comp/train.h"
#include "comp/umap.h"
#include "comp/verdict.h"
#include "comp/version.h"

#endif
