# A model used on its own data, in place: what each command adds, and nothing else.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --no-truth || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total 100 --log1p || exit
"$COMP" train -q -i ready.h5ad -o model.comp --condition condition --hidden 8 --latent 2 --epochs 1 || exit
"$COMP" embed -q -i ready.h5ad -m model.comp -o ready.h5ad --scales || exit
"$COMP" embed -q -i ready.h5ad -m model.comp -o ready.h5ad --key draw --sample --seed 4 || exit
"$COMP" counterfactual -q -i ready.h5ad -m model.comp -o ready.h5ad --to treated --from control || exit
"$COMP" counterfactual -q -i ready.h5ad -m model.comp -o ready.h5ad --to control --samples 5 --interval 0.9 --key other || exit
"$COMP" correct -q -i ready.h5ad -m model.comp -o ready.h5ad --to control --clip || exit
"$COMP" info -q ready.h5ad | sed -n '/^obs/,/^record/p' | grep -v library_size
# Raw counts of more genes are prepared as the model's were.
"$COMP" prep -q -i ready.h5ad -o some.h5ad --hvg variance:12 || exit
"$COMP" train -q -i some.h5ad -o some.comp --condition condition --hidden 8 --latent 2 --epochs 1 || exit
"$COMP" correct -i cells.h5ad -m some.comp -o corrected.h5ad --to control --residual || exit
"$COMP" info -q corrected.h5ad | sed -n '2,4p;/^layers/,/^record/p'
