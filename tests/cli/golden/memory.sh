# Little memory: matrices are in scratch files, and every result is the same bytes.
"$COMP" simulate -q -o cells.h5ad --cells 400 --genes 100 --labels 3 || exit
"$COMP" prep -q -i cells.h5ad -o ready.h5ad --normalize-total median --log1p --keep-counts || exit
"$COMP" train -q -i ready.h5ad -o model.comp --condition condition --hidden 8 --latent 2 --epochs 1 || exit

# both NAME FILE COMMAND...: runs a command twice; FILE is what it writes.
both() {
  name=$1 file=$2
  shift 2
  "$COMP" "$@" -q >plain.out || { echo "$name failed"; return; }
  mv "$file" plain
  "$COMP" "$@" -v --memory 64K >little.out 2>messages || { cat messages; return; }
  grep -q "is in a scratch file" messages || echo "$name: nothing was in a file"
  [ "$name" = score ] && cp plain.out little.out # --verbose adds what each metric means
  cmp plain "$file" && cmp plain.out little.out && echo "$name: the same"
}

for genes in seurat:40 vst:40 variance:40; do
  both "prep $genes" out.h5ad prep -i cells.h5ad -o out.h5ad --normalize-total median --log1p --hvg $genes --min-gene-cells 3 --min-cell-genes 2 --keep-raw
done
both 'prep auto' out.h5ad prep -i cells.h5ad -o out.h5ad --normalize-total 1000 --log1p --hvg auto:40 --condition condition --label label --keep-counts
both 'prep to counts' out.h5ad prep -i ready.h5ad -o out.h5ad --to-counts --force --drop-genes '1$'
both embed out.h5ad embed -i ready.h5ad -m model.comp -o out.h5ad --scales
both 'embed counts' out.h5ad embed -i cells.h5ad -m model.comp -o out.h5ad
both counterfactual out.h5ad counterfactual -i ready.h5ad -m model.comp -o out.h5ad --to treated --samples 3
both 'counterfactual, cells' out.h5ad counterfactual -i ready.h5ad -m model.comp -o out.h5ad --to treated --cells --from control
both correct out.h5ad correct -i ready.h5ad -m model.comp -o out.h5ad --to control --residual
both de out.json de -i ready.h5ad -g condition -t treated -l label --json out.json
both score out.json score -i ready.h5ad -c condition -l label --counterfactual truth_treated --from control --to treated --json out.json
both umap out.h5ad umap -i ready.h5ad -o out.h5ad --use X --epochs 5
both pca out.h5ad pca -i ready.h5ad -o out.h5ad -n 3
both combat out.h5ad baseline combat -i ready.h5ad -o out.h5ad -c condition
both harmony out.h5ad baseline harmony -i ready.h5ad -o out.h5ad -c condition --components 5
both convert out.csv convert -i ready.h5ad -o out.csv
both csv out.h5ad convert -i out.csv -o out.h5ad

# Disks without room, and sizes that are none.
TMPDIR=/nowhere "$COMP" prep -q -i cells.h5ad -o other.h5ad --log1p --memory 64K
test ! -e other.h5ad && echo 'nothing was written'
COMP_MEMORY=lots "$COMP" info -q cells.h5ad
COMP_MEMORY=64M "$COMP" info -v cells.h5ad 2>&1 | grep '^memory'
"$COMP" info -v cells.h5ad --memory 2G 2>&1 | grep '^memory'
env -u COMP_MEMORY "$COMP" info -v cells.h5ad 2>&1 | grep '^memory' | sed 's/: .* (/: (/'
