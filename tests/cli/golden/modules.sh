# Without modules: what is missing is named with its package, and comp run goes on to the page.
mkdir empty
COMP_MODULES=empty
export COMP_MODULES
awk 'BEGIN {
  print "group,kind,a,b,c"
  for (i = 0; i < 120; i++)
    print (i % 2 ? "u" : "v") "," (i % 3 ? "p" : "q") "," (i % 3) * 4 + i % 7 * 0.5 "," i % 5 + i % 2 "," i % 11 * 0.25
}' >people.csv
"$COMP" version | grep -o "[a-z]*: the module '[a-z]*'.*"
"$COMP" figure umap -q -i people.csv --condition group -o map.svg
"$COMP" run -i people.csv -c group --label kind --hidden 8 --latent 2 --epochs 2 --no-umap -o out >summary 2>messages
echo "exit $?"
grep -c "^comp: warning: the run makes no figure files.*libcomp-figures" messages
grep -c "without boosted trees: .*libcomp-boosted" messages
(cd out && find . | sort)
"$COMP" score -q -i out/data.h5ad --use X_comp --condition group --label kind --metrics nmi_leiden,ari_leiden,nmi_kmeans --no-header 2>&1 | grep -o 'libcomp-leiden' | uniq -c | sed 's/^ *//'
"$COMP" baseline celligner -q -i out/data.h5ad -o other.h5ad --condition group --components 2
"$COMP" baseline celligner -q -i out/data.h5ad -o other.h5ad --condition group --components 2 --clusters 3 && echo "k-means in its place"
