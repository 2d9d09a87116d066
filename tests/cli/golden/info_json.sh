# JSON on stdout takes the place of the text; to a file it comes besides.
"$COMP" simulate -q -o cells.h5ad --cells 40 --genes 20 --labels 2 --no-truth
"$COMP" info -q cells.h5ad --json - | grep -e samples -e features -e layers -e '"condition", '
"$COMP" info -q cells.h5ad --json info.json | head -n 2
tail -n 1 info.json
