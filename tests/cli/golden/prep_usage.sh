# Wrong usage: options that exclude each other, or that nothing follows from.
touch in.csv
"$COMP" prep -i in.csv -o out.h5ad --log1p --obs sex
"$COMP" simulate -q -o cells.h5ad --cells 20 --genes 10 --no-truth
"$COMP" prep -i cells.h5ad -o out.h5ad
"$COMP" prep -i cells.h5ad -o out.h5ad --normalize-total mean
"$COMP" prep -i cells.h5ad -o out.h5ad --hvg seurat:none
"$COMP" prep -i cells.h5ad -o out.h5ad --log1p --hvg-batch x
