# Every check has its line; what cannot be checked is an error or a line of its own.
make() {
  awk -v n="$1" -v genes="$2" 'BEGIN {
    s = 7
    printf "id,stim,type"; for (g = 0; g < genes; g++) printf ",g%d", g; print ""
    for (i = 0; i < n; i++) {
      printf "c%d,%s,%s", i, i % 2 ? "yes" : "no", int(i / 2) % 3 ? "a" : "b"
      for (g = 0; g < genes; g++) {
        s = (s * 16807) % 2147483647
        printf ",%.3f", s / 2147483647 + (g % 2 == int(i / 2) % 3 ? 1 : 0) + (g == 0 ? i % 2 : 0)
      }
      print ""
    }
  }'
}
make 120 6 >cells.csv
make 120 5 >other.csv
make 10 6 >few.csv
for seed in 0 1; do
  "$COMP" train -q -i cells.csv -c stim -o m$seed.comp --scale 0.1 --hidden 8 --latent 2 --epochs 5 --batch 40 --seed $seed
done
"$COMP" train -q -i cells.csv -c stim -o g0.comp --scale 0.1 --hidden 8 --latent 2 --epochs 5 --batch 40 --gamma 0
"$COMP" train -q -i other.csv -c stim -o other.comp --scale 0.1 --hidden 8 --latent 2 --epochs 5 --batch 40
checks() {
  sed -n 's/^  \(pass\|caution\|fail\|not checked\) *\([a-z-]*\) .*/\2/p'
}
"$COMP" diagnose -q -i cells.csv -m m0.comp | grep -c '^  not checked'
"$COMP" diagnose -q -i cells.csv -m m0.comp -m m1.comp -l type --against g0.comp --json all.json | checks
grep -c '"level"' all.json
"$COMP" diagnose -q -i cells.csv -m m0.comp -m other.comp && exit 9
cp m0.comp copy.comp
"$COMP" diagnose -q -i cells.csv -m m0.comp -m ./m1.comp -m m0.comp && exit 9
"$COMP" diagnose -q -i cells.csv -m m0.comp -m copy.comp && exit 9
"$COMP" diagnose -q -i cells.csv -m m0.comp --against m1.comp && exit 9
"$COMP" diagnose -q -i cells.csv -m m0.comp -l stim && exit 9
head -c 4000 m0.comp >cut.comp
"$COMP" diagnose -q -i cells.csv -m cut.comp && exit 9
"$COMP" diagnose -q -i cells.csv -m m0.comp --json no/such.json && exit 9
"$COMP" diagnose -q -i cells.csv -m m0.comp -l typ && exit 9
"$COMP" diagnose -q -i cells.csv -m cells.csv && exit 9
"$COMP" diagnose -q -i few.csv -m m0.comp
