# What comp experiment refuses before it begins: names, lists and folders.
mkdir empty
"$COMP" experiment kong -d empty -o out
"$COMP" experiment kang -d empty -o out --seeds 3-1
"$COMP" experiment kang -d empty -o out --tables gama
"$COMP" experiment kang -d empty -o out --models cmop
"$COMP" experiment pbmc -d empty -o out --embedding harmony
touch x.h5ad y.h5ad
"$COMP" experiment pbmc -d empty -o out --embedding a=x.h5ad --embedding a=y.h5ad
"$COMP" experiment pbmc -d empty -o out --embedding b=z.h5ad:X_pca
"$COMP" experiment pbmc -d empty -o out --embedding b=empty
"$COMP" experiment pbmc -d empty -o out --embedding vae=x.h5ad
"$COMP" experiment pbmc -d empty -o out --baselines pca,harmny
"$COMP" experiment pbmc -d empty -o out --jobs -2
"$COMP" experiment kang -q -d empty -o out
mkdir -p half/celligner && touch half/celligner/CCLE_mat.csv
"$COMP" experiment tumour -q -d half -o out
rm -r half
"$COMP" experiment adult -q -d nowhere -o out
"$COMP" experiment adult -q -d nowhere -o no/such/folder
touch file
"$COMP" experiment adult -q -d nowhere -o file
ls -A
