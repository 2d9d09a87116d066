# comp run --compare: methods take the seed, and as many components as few samples give.
"$COMP" version | grep -q 'leiden (igraph' || { echo "there is no module 'leiden'"; exit 77; }
awk 'BEGIN {
  for (i = 0; i <= 20; i++) {
    line = i ? "c" i "," (i % 2 ? "u" : "v") : ",batch"
    for (j = 1; j <= 40; j++) line = line "," (i ? (i * i * j + 3 * i * j * j) % 101 / 25 : "g" j)
    print line
  }
}' >cells.csv
"$COMP" run -i cells.csv --as omics -c batch -o out --compare harmony,combat,celligner --seed 5 --epochs 1 --hidden 8 --latent 2 --no-diagnose --no-umap >/dev/null 2>messages
echo "exit $?"
grep -o '^\$ comp pca.*\|^\$ comp baseline.*' messages
