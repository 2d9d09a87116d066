# Results are added to a zarr store in place; another store that is there is not overwritten, before anything is computed.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --no-truth
"$COMP" prep -q -i cells.h5ad -o cells.zarr --normalize-total 100 --log1p
"$COMP" train -q -i cells.zarr -o model.comp --condition condition --hidden 8 --latent 2 --epochs 1 --threads 1
"$COMP" embed -q -i cells.zarr -m model.comp -o cells.zarr --threads 1
"$COMP" umap -q -i cells.zarr -o cells.zarr --epochs 3 --threads 1 >/dev/null
"$COMP" info cells.zarr 2>/dev/null | grep X_
"$COMP" convert -q -i cells.zarr -o other.zarr
for command in "embed -m model.comp" "counterfactual -m model.comp --to treated" "umap" "baseline combat -c condition"; do
  # shellcheck disable=SC2086  # a list of words
  "$COMP" $command -q -i cells.zarr -o other.zarr
done
"$COMP" convert -q -i cells.zarr -o cells.zarr.zip
"$COMP" embed -q -i cells.zarr.zip -m model.comp -o cells.zarr.zip
ls
