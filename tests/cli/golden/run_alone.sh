# Every command that comp run shows gives the same bytes when it is run alone, and comp run takes what it finds then. A
# changed option does not repeat the preparation; a column of names is no feature.
"$COMP" version | grep -q 'figures (cairo' || { echo "there is no module 'figures'"; exit 77; }
awk 'BEGIN {
  print "id,group,kind,a,b,c,word"
  for (i = 0; i < 120; i++)
    print "n" i "," (i % 2 ? "u" : "v") "," (i % 3 ? "p" : "q") "," (i % 3) * 4 + i % 7 * 0.5 "," i % 5 + i % 2 "," i % 11 * 0.25 "," (i % 4 ? "x" : "y")
}' >people.csv
export SOURCE_DATE_EPOCH=1700000000
run() { "$COMP" run -i people.csv -c group --label kind --hidden 16 --latent 2 --epochs 3 -o out "$@" 2>messages >/dev/null; }
repeated() { grep '^\$' messages | grep -v '# as before$' | sed 's/^\$ comp \([a-z]*\).*/\1/' | uniq | paste -s -d ' ' -; }
run || cat messages
grep -o "^column 'id' is left out" messages
cp -r out first
sed -n 's/^\$ comp //p' messages >lines
while read -r line; do
  eval "\"\$COMP\" $line" >/dev/null 2>errors </dev/null || cat errors
done <lines
for file in first/*.* first/figures/*; do
  [ "$file" = first/data.h5ad ] || cmp "$file" "out/${file#first/}" && echo "${file#first/}"
done
echo "all of them again"
run && grep -o '^nothing to do' messages
echo "a wrong one"
"$COMP" pca -q -i out/data.h5ad -o out/data.h5ad --components 2 >/dev/null && run && repeated
echo "another gamma"
run --gamma 2 && repeated
