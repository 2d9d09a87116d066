/* carry.h: copying what a data set does not hold itself from one tree to another, of any format. */
#ifndef COMP_IO_CARRY_H
#define COMP_IO_CARRY_H

#include "io/tree_sink.h"

/* Copies from the file `path`, a tree, what it holds beyond the data set and what still fits it: uns, obsp, varm, varp,
 * raw, other entries of layers and obsm, and whatever else is there; also obs and var where they are still what the
 * file holds, with new columns added. Values keep their type. To be called when the matrices of the data set have been
 * written, but not its tables; a matrix that has not been written is copied. `unchanged`: samples and features are
 * those of the file, whatever their names, and X is, too: see comp__anndata_copies_x(). Messages name what does not fit
 * any more, and what no tree but its own can hold: records of records, references, awkward arrays. What is damaged, or
 * what AnnData could not read, is an error that names it: links that lead round in circles, categories that repeat,
 * tables of other row names. X by columns (csc_matrix) becomes X by rows. */
comp_status comp__anndata_carry(comp__tree_sink *sink, const char *path, const comp_dataset *dataset, bool unchanged);

/* Whether X is copied from the file: it is unchanged, and its values were of another type there. */
bool comp__anndata_copies_x(const comp_dataset *dataset, bool unchanged);

#endif
