# A file that is read is never replaced by the JSON of the result, by whatever name.
"$COMP" simulate -q -o cells.h5ad --cells 40 --genes 20
cp cells.h5ad before
ln -s cells.h5ad link.h5ad
"$COMP" info cells.h5ad --json ./cells.h5ad
"$COMP" de -i cells.h5ad -g condition -t treated --json link.h5ad
cmp cells.h5ad before && echo unchanged
