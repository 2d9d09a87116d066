# Filters, normalisation, genes: what is recorded, and that a second time is refused.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 40 --labels 2 --no-truth
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --keep condition=control --normalize-total 1000 --log1p --hvg vst:10
"$COMP" info -q ready.h5ad --json - | grep -o -e '"samples": [0-9]*' -e '"features": [0-9]*' -e '"looks_like": "[a-z]*"'
"$COMP" convert -q -i ready.h5ad -o ready.csv
head -n 1 ready.csv | tr , '\n' | grep -c '^gene\|^g'
"$COMP" prep -q -i ready.h5ad -o again.h5ad --log1p
ls again.h5ad 2>/dev/null
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --keep conditoin=control
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --keep condition=contrl
