# A run that diverges says whether there is still a model, of which epoch, and where; an earlier file stays.
"$COMP" simulate -q -o cells.h5ad --cells 300 --genes 30 --no-truth || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total 100 --log1p || exit
set -- train -q -i ready.h5ad -o model.comp --condition condition --model vae --hidden 16,16 --latent 2 --epochs 100 --schedule constant --batch 32
"$COMP" "$@" --lr 100
echo "exit $?"
ls
"$COMP" "$@" --lr 3
echo "exit $?"
ls
cp model.comp first.comp
"$COMP" "$@" --lr 3 --seed 1
cmp first.comp model.comp
"$COMP" info -q model.comp | head -n 1
