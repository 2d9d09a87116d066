# What comp umap refuses: names that are not there, options that do not go together, values that are not numbers.
cat >cells.csv <<'END'
,group,a,b,c
p,S,3.5,1.5,0
q,S,3.25,0.5,0
r,C,4.5,1.5,0.25
s,C,0,0.5,2
END
"$COMP" umap -q -i cells.csv -o out.h5ad
"$COMP" pca -q -i cells.csv -o cells.h5ad -n 2 >/dev/null
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pcs
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u other
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --min-dist 2
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca -a 1
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca -k 1
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --key a/b
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --reference cells.h5ad
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X --reference cells.h5ad
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --init pca -d 3
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --fast --reference cells.h5ad
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --max-samples 3 --reference cells.h5ad
"$COMP" umap -q -i cells.h5ad -o out.h5ad -u X_pca --max-samples 1
ls -A
