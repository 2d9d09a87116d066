# What cannot be drawn is refused in one sentence, and no file is left.
"$COMP" version | grep -q 'figures (cairo' || { echo "there is no module 'figures'"; exit 77; }
cat >cells.csv <<'END'
,group,up,same
a,S,3.5,1.5
b,C,0,0.5
END
"$COMP" figure umap -q -i cells.csv --condition group -o map.gif
"$COMP" figure umap -q -i cells.csv --condition group -o map.svg
"$COMP" figure umap -q -i cells.csv --condition group -o none/map.svg
"$COMP" figure history -q -o training.svg
"$COMP" figure strip -q -i cells.csv --condition group -o strip.svg
echo '[{"name": "kBET"}]' >scores.json
"$COMP" figure metrics -q --scores scores.json -o bars.svg
ls
