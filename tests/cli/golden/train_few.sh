# Fewer samples than features and than components that the training looks at.
"$COMP" simulate -q -o few.h5ad --cells 12 --genes 20
"$COMP" prep -q -i few.h5ad -o ready.h5ad --log1p
"$COMP" train -q -i ready.h5ad -o model.comp -c condition --epochs 3 2>/dev/null
echo "exit $?"
"$COMP" embed -q -i ready.h5ad -m model.comp -o embedded.h5ad && "$COMP" info embedded.h5ad 2>/dev/null | grep -o "X_comp"
