# Options of a .zarr with another output are a usage error, before anything is read, and nothing is written.
for output in cells.h5ad cells.csv; do
  "$COMP" convert -i not_there.h5ad -o "$output" --zarr 3 || echo $?
  "$COMP" convert -i not_there.h5ad -o "$output" --shards || echo $?
done
"$COMP" prep -i not_there.h5ad -o out.h5ad --log1p --shards || echo $?
"$COMP" pca -i not_there.h5ad -o out.h5ad --shards || echo $?
"$COMP" simulate -o cells.h5ad --cells 20 --genes 5 --shards || echo $?
ls -A
