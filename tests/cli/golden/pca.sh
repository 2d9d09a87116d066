# Points on a line have one component; what cannot be asked for is reported.
cat >line.csv <<'END'
,group,x,y,flat
a,S,1,2,7
b,S,2,4,7
c,C,3,6,7
d,C,4,8,7
END
"$COMP" pca -q -i line.csv -o line.h5ad -n 1
"$COMP" pca -q -i line.csv -o line.h5ad -n 1 --json - --key X_line | grep -E "key|components|features"
"$COMP" info -q line.h5ad --json - | grep X_line
"$COMP" pca -q -i line.csv -o line.h5ad -n 4
"$COMP" pca -q -i line.csv -o line.h5ad -n 1 --clip 3
"$COMP" pca -q -i line.csv -o line.h5ad -n 1 --use counts
