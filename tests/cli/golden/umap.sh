# A layout of an embedding, and of the data itself; the same at any number of threads; new samples among old ones.
"$COMP" simulate -q -o cells.h5ad --cells 120 --genes 60 --labels 2
"$COMP" pca -q -i cells.h5ad -o cells.h5ad -n 5 >/dev/null
"$COMP" umap -q -i cells.h5ad -o one.h5ad -u X_pca --epochs 20 | grep -v -e edges -e components
"$COMP" umap -q -i cells.h5ad -o two.h5ad -u X_pca --epochs 20 --threads 2 >/dev/null
cmp one.h5ad two.h5ad
"$COMP" umap -q -i cells.h5ad -o x.h5ad -u X --key X_other --epochs 20 >/dev/null
"$COMP" info -q x.h5ad | grep X_other
"$COMP" umap -q -i cells.h5ad -o new.h5ad -u X_pca --reference one.h5ad | grep -e recall -e epochs
"$COMP" umap -q -i cells.h5ad -o fast.h5ad -u X_pca --epochs 20 --fast | grep -e samples -e epochs
ls -A
