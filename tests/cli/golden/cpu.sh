# COMP_CPU lowers the kind of CPU; what the CPU has not, or is no kind, is refused. Records name what multiplied.
COMP_CPU=baseline "$COMP" version | grep -e '^CPU kind' -e '^bf16'
COMP_CPU=sse "$COMP" version
echo "exit $?"
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --labels 2 --no-truth
COMP_CPU=baseline "$COMP" train -q -i cells.h5ad -o model.comp --condition condition --epochs 2 --hidden 8 --precision bf16
echo "exit $?"
COMP_CPU=baseline "$COMP" run -q -i cells.h5ad -o results --condition condition --epochs 2 --hidden 8 --precision bf16
echo "exit $?"
COMP_CPU=baseline "$COMP" train -q -i cells.h5ad -o model.comp --condition condition --epochs 2 --hidden 8 || exit
"$COMP" info -q model.comp | grep products
COMP_CPU=baseline "$COMP" embed -q -i cells.h5ad -m model.comp -o out.h5ad --precision bf16
echo "exit $?"
ls
