# Text and back: the same numbers. A layer in place of X.
"$COMP" simulate -q -o cells.h5ad --cells 40 --genes 20 --labels 2
"$COMP" convert -q -i cells.h5ad -o one.csv
"$COMP" convert -q -i one.csv -o cells2.h5ad
"$COMP" convert -q -i cells2.h5ad -o two.csv
cmp one.csv two.csv && head -n 1 one.csv
"$COMP" convert -q -i cells.h5ad --layer truth_control -o truth.tsv.gz
"$COMP" info -q truth.tsv.gz | head -n 2
"$COMP" convert -q -i cells.h5ad -o x.npy
ls -A
