# Several models in one run: each has the bytes of a run of its own, and a resumed run makes those that are missing.
"$COMP" simulate -q -o cells.h5ad --cells 300 --genes 40 --labels 3 || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total median --log1p || exit
set -- train -q -i ready.h5ad --condition condition --hidden 16,16 --latent 4 --batch 64 --epochs 3
"$COMP" "$@" -o m.comp --seeds 0-1,7 --log m.jsonl || exit
ls m*
"$COMP" "$@" -o single.comp --seed 7 || exit
cmp single.comp m-7.comp && echo "the same bytes"
cmp -s m-0.comp m-1.comp || echo "different models"
rm m-1.comp
touch -d 2001-01-01 m-0.comp
"$COMP" "$@" -o m.comp --seeds 0-1,7 --resume || exit
ls m*.comp
[ m-0.comp -ot ready.h5ad ] && echo "kept"
"$COMP" "$@" -o .hidden --seeds 3 --select average || exit
ls -A .hidden*
