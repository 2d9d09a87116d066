code=0
"$COMP" simulate -q -o cells.h5ad --cells 40 --genes 20 --labels 2
"$COMP" convert -i cells.h5ad -o cells.xyz || code=$?
ls -A
exit "$code"
