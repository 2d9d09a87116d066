# The model that docs/formats.md opens.
comp simulate -q -o cells.h5ad
comp train -q -i cells.h5ad -o model.comp --condition condition --likelihood nb
