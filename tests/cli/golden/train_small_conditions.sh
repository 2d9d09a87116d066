# Conditions with few samples: one warning, which names some; a column of numbers is probably no condition.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --conditions 8 --labels 2 --no-truth || exit
for column in condition library_size; do
  "$COMP" train -i cells.h5ad -o model.comp --condition "$column" --epochs 1 --hidden 8 --align all 2>&1 | grep -e 'fewer than'
done
