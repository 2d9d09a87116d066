# Wrong use of embed, counterfactual and correct: one line that names what is wrong, nothing created, the input as it was.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --no-truth || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total 100 --log1p --hvg seurat:10 || exit
"$COMP" train -q -i ready.h5ad -o model.comp --condition condition --hidden 8 --latent 2 --epochs 1 || exit
cp ready.h5ad copy.h5ad
bad() {
  what=$1
  shift
  "$COMP" "$what" -q -i ready.h5ad -m model.comp "$@" || echo "exit $?"
}
bad embed -o out.csv
bad embed -o no/such/out.h5ad
bad embed -o out.h5ad --key a/b
bad counterfactual -o out.h5ad --to traeted
bad counterfactual -o out.h5ad --to treated --from nobody
bad counterfactual -o out.h5ad --to treated --from treated
bad counterfactual -o out.h5ad --to treated --samples 1
bad counterfactual -o out.h5ad
bad correct -o out.h5ad --to treated --layer nothing
"$COMP" embed -q -i ready.h5ad -m cells.h5ad -o out.h5ad || echo "exit $?"
"$COMP" embed -q -i ready.h5ad -m nothing.comp -o out.h5ad || echo "exit $?"
"$COMP" correct -q -i cells.h5ad -m model.comp -o cells.h5ad --to treated || echo "exit $?"
cmp ready.h5ad copy.h5ad
ls
