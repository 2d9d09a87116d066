# A method adds its results to the file; wrong options and unfit data are reported.
i=0
echo ",batch,kind,up,same,down" >cells.csv
while [ $i -lt 12 ]; do
  echo "s$i,$([ $i -lt 6 ] && echo a || echo b),$([ $((i % 2)) = 0 ] && echo x || echo y),$((i % 3 + 4)).5,$((i % 4)).25,$((i * 7 % 5)).75"
  i=$((i + 1))
done >>cells.csv
"$COMP" baseline combat -q -i cells.csv -o out.h5ad -c batch --covariates kind --components 2 && "$COMP" info -q out.h5ad | grep -A1 'layers\|obsm'
"$COMP" baseline combat -q -i cells.csv -o out2.h5ad -c batch --theta 3
"$COMP" baseline harmny -q -i cells.csv -o out2.h5ad -c batch
"$COMP" baseline mnn -q -i cells.csv -o out2.h5ad -c batch
"$COMP" baseline combat -q -i cells.csv -o out2.h5ad -c batsch
"$COMP" baseline seurat-cca -q -i cells.csv -o out2.h5ad -c batch
"$COMP" baseline pca -q -i cells.csv -o plain.h5ad --components 2 && "$COMP" info -q plain.h5ad | grep -A1 '^obsm'
"$COMP" baseline mnn -q -i cells.csv -o out2.h5ad
"$COMP" baseline mnn -q -i cells.csv -o out2.csv -c batch
"$COMP" baseline mnn -q -i cells.csv -o out2.h5ad -c batch --components 2 -k 7
"$COMP" baseline mnn -q -i out.h5ad -o out2.h5ad -c batch --rep X_combat --components 2
"$COMP" baseline scgen -q -i cells.csv -o out2.h5ad -c batch -r a --to a
"$COMP" baseline scgen -q -i cells.csv -o out2.h5ad -c batch --to a
[ ! -e out2.h5ad ] && [ ! -e out2.csv ]
