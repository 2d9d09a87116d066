# Conditions with a '/': their layers have a '_' in its place, and everything that looks for a layer finds it. Two values that
# would give one layer are refused before any work, as is --keep when it leaves too little.
"$COMP" version | grep -q 'figures (cairo' || { echo "there is no module 'figures'"; exit 77; }
table() {
  awk -v first="$1" -v second="$2" 'BEGIN {
    print ",dose,kind,a,b,c"
    for (i = 0; i < 120; i++)
      print "c" i "," (i % 2 ? first : second) "," (i % 3 ? "p" : "q") "," (i % 3) * 4 + i % 7 * 0.5 "," i % 5 + i % 2 "," i % 11 * 0.25
  }'
}
table 'IFN U/ml' none >cells.csv
"$COMP" run -i cells.csv -c dose --label kind --to 'IFN U/ml' --hidden 16 --latent 2 --epochs 3 --no-diagnose --no-umap -o out >summary 2>messages
echo "exit $?"
grep warning messages
(cd out && find . -type f | sort)
"$COMP" info -q out/data.h5ad | grep -o 'counterfactual_[A-Za-z]* [A-Za-z_/]*'
for kind in counterfactual strip; do
  "$COMP" figure -q $kind -i out/data.h5ad -c dose --label kind --to 'IFN U/ml' -o $kind.svg && echo "$kind.svg"
done
"$COMP" report -q -i out/data.h5ad -c dose --label kind -o report.html && grep -o "Predicted effect of none [^ ]* IFN U/ml" report.html
"$COMP" score -q -i out/data.h5ad -c dose --label kind --use X_comp -k 10 --counterfactual 'counterfactual_IFN U_ml' --from none --to 'IFN U/ml' >/dev/null && echo "scored"
try() {
  "$COMP" run -q "$@" -o other
  echo "exit $?"
}
table a/b a_b >same.csv
try -i same.csv -c dose
try -i same.csv -c dose --to a/b
try -i cells.csv --as omics -c dose --keep kind=zzz
try -i cells.csv --as omics -c dose --keep dose=none
ls
