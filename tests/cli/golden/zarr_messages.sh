# What is wrong with a store or a file is named: what it is not, the type, the member of the metadata, the store that lacks chunks.
echo hello >cells.zarr.zip
printf 'abc' >short.h5ad
for input in cells.zarr.zip short.h5ad; do "$COMP" info -q $input || echo $?; done
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --no-truth
"$COMP" convert -q -i cells.h5ad -o three.zarr --zarr 3
"$COMP" convert -q -i cells.h5ad -o two.zarr
sed -i 's/"data_type": "float32"/"data_type": "bfloat16"/' three.zarr/X/data/zarr.json
"$COMP" info -q three.zarr || echo $?
sed -i 's/"data_type": "bfloat16"/"data_type": "float32", "extra": {"must_understand": true}/' three.zarr/X/data/zarr.json
"$COMP" info -q three.zarr || echo $?
rm two.zarr/X/data/0
"$COMP" info --all two.zarr >/dev/null
sed -i '/"chunks": \[/,/\]/ s/[0-9][0-9]*/0/' two.zarr/X/data/.zarray
"$COMP" info -q two.zarr || echo $?
