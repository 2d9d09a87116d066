# A name with control characters and one that turns the direction of text: not to a terminal; to a pipe as they are.
command -v script >/dev/null || { echo "there is no script(1)"; exit 77; }
bad=$(printf 'a\033[31mb\302\205c\342\200\256d')
awk -v bad="$bad" 'BEGIN {
  print "group,kind," bad ",b,c"
  for (i = 0; i < 120; i++)
    print (i % 2 ? bad : "v") "," (i % 3 ? "p" : "q") "," (i % 2) * 4 + i % 7 * 0.5 "," i % 5 + i % 2 "," i % 11 * 0.25
}' >people.csv
"$COMP" convert -q -i people.csv -o people.h5ad 2>/dev/null || echo "no convert"
for command in "score -i people.h5ad -u X -c group -k 5 --per-label" "de -i people.h5ad --groupby group --target v"; do
  script -qec "'$COMP' $command" /dev/null </dev/null >shown 2>&1
  grep -c "$(printf '\033\\[31m')" shown
  grep -c "$(printf '\302\205')" shown
  grep -c "$(printf '\342\200\256')" shown
  grep -o -m 1 'a?\[31mb?c?d' shown | head -n 1
done
"$COMP" score -q -i people.h5ad -u X -c group -k 5 --json - | grep -c 'a.u001B' | sed 's/^[1-9].*/some/'
