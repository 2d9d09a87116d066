# Outputs that are, or are in, a zarr store: an older store is not overwritten, nothing is written into the input, a slash at the end is no part of the name.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --no-truth
"$COMP" convert -q -i cells.h5ad -o cells.zarr/ && ls -A cells.zarr
"$COMP" pca -q -i cells.zarr -o cells.zarr -n 2 --threads 1 >/dev/null
"$COMP" info cells.zarr 2>/dev/null | grep X_
"$COMP" pca -q -i cells.zarr -o cells.zarr --raw >/dev/null || echo $?
"$COMP" pca -q -i cells.zarr -o cells.zarr --shards >/dev/null || echo $?
"$COMP" convert -q -i cells.zarr -o other.zarr
for command in convert "prep --log1p" "pca -n 2"; do
  # shellcheck disable=SC2086  # a list of words
  "$COMP" $command -q -i cells.zarr -o other.zarr || echo $?
done
"$COMP" umap -q -i cells.zarr -o other.zarr/ || echo $?
for output in new.zarr new.h5ad obs/new.zarr; do
  "$COMP" convert -q -i cells.zarr -o cells.zarr/$output || echo $?
done
"$COMP" prep -q -i cells.zarr -o cells.zarr/new.zarr --log1p || echo $?
"$COMP" umap -q -i cells.zarr -o cells.zarr/new.zarr --use X_pca --epochs 3 --threads 1 >/dev/null || echo $?
"$COMP" convert -q -i cells.zarr -o cells.h5ad/ || echo $?
ls
ls -A cells.zarr | grep new
rm -r cells.zarr other.zarr
