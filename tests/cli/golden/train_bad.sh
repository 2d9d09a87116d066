# Wrong use of train: one line that names what is wrong, and nothing created.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 10 --no-truth || exit
bad() { "$COMP" train -q -i cells.h5ad -o model.comp "$@" || echo "exit $?"; }
bad --condition conditoin
bad --condition condition --latent 0
bad --condition condition --hidden 12,x
bad --condition condition --kl-target 1 --model vae
bad --condition condition --model cmop
bad --condition condition --model vae --gamma 3
bad --condition condition --mmd-scale 2
bad --condition condition --model vfae --leave-self-out
bad --condition condition --model vfae --blur 4,0.3
bad --condition condition --blur 4,
bad --condition condition --blur 4,0
bad --condition condition --blur nan
bad --condition condition --gamma 0 --blur 2,0.5
bad --condition condition --learn-scale --scale 0.2
bad --condition condition --model vae --encoder-without-condition
bad --condition condition --model vae --centre
bad --condition condition --schedule constant --warmup 0.2
bad --condition condition --seeds 4-2
bad --condition condition --seeds 1,2,1
bad --condition condition --seeds 0-4 --seed 1
bad --condition condition --memory 5
"$COMP" train -q -i cells.csv -o model.comp --condition condition --memory 1G || echo "exit $?"
"$COMP" train -q -i cells.h5ad -o cells.h5ad --condition condition || echo "exit $?"
"$COMP" train -q -i cells.h5ad -o no/such/folder.comp --condition condition || echo "exit $?"
bad --condition condition --epochs 1 --log /dev/full
ls
