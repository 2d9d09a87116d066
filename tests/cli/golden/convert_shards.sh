# Shards are of version 3: version 2 with shards is an error, before anything is read.
"$COMP" convert -q -i not_there.h5ad -o cells.zarr --zarr 2 --shards
"$COMP" simulate -q -o cells.h5ad --cells 20 --genes 5 --no-truth
"$COMP" convert -q -i cells.h5ad -o cells.zarr --shards && ls cells.zarr/zarr.json
"$COMP" convert -q -i cells.h5ad -o other.zarr --zarr 3 --shards && ls other.zarr/zarr.json
