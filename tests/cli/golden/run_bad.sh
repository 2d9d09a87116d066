# What comp run says about mistakes, before any work; no folder is made.
awk 'BEGIN {
  print ",batch,type,same,id,d1,d2"
  for (i = 0; i < 60; i++) print "c" i "," (i % 2 ? "u" : "v") "," (i % 3 ? "p" : "q") ",k,n" i "," i % 7 "," i % 5
}' >cells.csv
awk 'BEGIN { print ",batch,d1,d2"; for (i = 0; i < 60; i++) print "c" i "," (i < 55 ? "u" : "v") "," i % 7 "," i % 5 }' >few.csv
: >file
try() {
  "$COMP" run -q "$@"
  echo "exit $?"
}
for arguments in '-c bach -o out' '-c same -o out' '-c id -o out' '-c batch -l tipe -o out' '-c batch -l id -o out' '-c batch -l batch -o out' \
  '-c batch --to w -o out' '-c batch --from u --to u -o out' '-c batch --target type -o out' '-c batch --compare harmonie -o out' '-c batch --compare mnn,pca,mnn -o out' \
  '-c batch --hvg seurat:10 -o out' '-c batch --as omics --drop same -o out' '-c batch -k 60 -o out' '-c batch --hidden 5,x -o out' '-c batch --hvg x --as omics -o out' \
  '-c batch -o file' '-c batch -o no/such/folder' '-c batch'; do
  # shellcheck disable=SC2086  # a list of words
  try -i cells.csv $arguments
done
try -i few.csv -c batch -o out
try -i no.csv -c batch -o out
try -i cells.csv --as omics -c batch --keep batch=u -o out
try -i cells.csv -c batch --model vae --gamma 2 -o out
sed 's/^c7,u,p/c7,u,/' cells.csv >lacking.csv
try -i lacking.csv -c batch -o out
# every label in one condition only: refused before any work, and done with --force
awk 'BEGIN { print ",batch,type,d1,d2,d3"; for (i = 0; i < 60; i++) print "c" i "," (i % 2 ? "u" : "v") "," (i % 2 ? "p" : "q") "," i % 7 "," i % 5 "," i % 2 }' >apart.csv
try -i apart.csv -c batch -l type -o out
"$COMP" run -q -i apart.csv -c batch -l type --as omics --values log --force --epochs 2 --hidden 8 --latent 2 --no-umap --no-diagnose -o forced | head -n 2
grep -o '"findings":' forced/run.json
rm -r forced
ls
mkdir theirs
: >theirs/data.h5ad
try -i cells.csv -c batch -o theirs
try -i theirs/data.h5ad -c batch -o theirs
