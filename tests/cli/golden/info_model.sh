# comp info of a model file: what it is; as JSON; and what it says of one that was changed, or is no model.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --no-truth || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total 100 --log1p --hvg seurat:10 || exit
"$COMP" train -q -i ready.h5ad -o model.comp --condition condition --hidden 8,6 --latent 2 --epochs 3 --seed 7 --select last || exit
"$COMP" info -q model.comp | grep -v -e epoch, | sed 's/xxh64:[0-9a-f]\{16\}/DIGEST/; s/  last epoch .*/  last epoch/; /^ *(like/d; /penalty [-0-9.e]*)$/d; s/\(products *\)f32 .*/\1KERNEL/; s/features.*/features/; /^ *and /d'
"$COMP" info -q model.comp --json - | grep -e '^  "format"' -e '^  "levels"' -e '^  "features"' -e '^  "epochs"'
"$COMP" info -q model.comp --json info.json | head -n 1
tail -n 1 info.json
"$COMP" train -q -i ready.h5ad -o target.comp --condition condition --scale 0.1 --hidden 8,6 --latent 2 --epochs 3 --kl-target 0.5 || exit
"$COMP" info -q target.comp | grep -A 1 gamma
"$COMP" train -i ready.h5ad -o blur.comp --condition condition --hidden 8,6 --latent 2 --epochs 3 --blur 3,0.2 --centre --encoder-without-condition --select best --log log.jsonl 2>&1 | grep blurs
grep -o '"blur":[0-9.]*' log.jsonl | cut -c 1-13 # of the next step: 3 sqrt(0.2 / 3), then the last
"$COMP" info -q blur.comp | grep -e centred -e encoder -e gamma -e kept
grep -ao '"format_version":"."' model.comp blur.comp # older programs refuse centred models
"$COMP" train -i ready.h5ad -o average.comp --condition condition --hidden 8,6 --latent 2 --epochs 8 --blur 3,0.2 --select average --patience 2 2>&1 | grep -e blurs -e average | sed 's/loss [-0-9.e]*$/loss LOSS/'
# another letter in the name of a feature, one byte more, one less, another program's file
sed 's/gene1/genf1/' model.comp >b.comp
"$COMP" info -q b.comp
{ cat model.comp && printf x; } >b.comp
"$COMP" info -q b.comp
size=$(wc -c <model.comp)
head -c $((size - 1)) model.comp >b.comp
"$COMP" info -q b.comp
printf '\002\000\000\000\000\000\000\000{}' >b.comp
"$COMP" info -q b.comp
"$COMP" info -q model.comp --raw
echo "exit $?"
