# Wrong use of train: one line that names what is wrong, and nothing created.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 10 --no-truth || exit
bad() { "$COMP" train -q -i cells.h5ad -o model.comp "$@" || echo "exit $?"; }
bad --condition conditoin
bad --condition condition --latent 0
bad --condition condition --hidden 12,x
bad --condition condition --kl-target 1 --model vae
bad --condition condition --model cmop
bad --condition condition --memory 5
"$COMP" train -q -i cells.h5ad -o cells.h5ad --condition condition || echo "exit $?"
"$COMP" train -q -i cells.h5ad -o no/such/folder.comp --condition condition || echo "exit $?"
bad --condition condition --epochs 1 --log /dev/full
ls
