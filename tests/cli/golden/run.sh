# comp run: what it makes; that it does not do things twice; that a run that fails leaves the earlier one as it was.
"$COMP" version | grep -q 'figures (cairo' || { echo "there is no module 'figures'"; exit 77; }
awk 'BEGIN {
  print "group,kind,a,b,c,word"
  for (i = 0; i < 120; i++)
    print (i % 2 ? "u" : "v") "," (i % 3 ? "p" : "q") "," (i % 3) * 4 + i % 7 * 0.5 "," i % 5 + i % 2 "," i % 11 * 0.25 "," (i % 4 ? "x" : "y")
}' >people.csv
run() { "$COMP" run -i people.csv -c group --label kind --scale 0.1 --hidden 16 --latent 2 --no-diagnose --no-umap "$@" 2>messages; }
digests() { (cd out && find . -type f | sort | xargs cksum); }
steps() { sed -n 's/^\$ comp \([a-z]*\).*# as before$/\1, as before/p; t; s/^\$ comp \([a-z]*\).*/\1/p' messages | uniq -c | sed 's/^ *//'; }
run -o out --epochs 3 >summary && echo done
(cd out && find . | sort)
grep -o 'report: .*' summary
steps
echo "the same once more"
digests >before
run -o out --epochs 3 | cmp - summary && digests | cmp - before && grep -o '^nothing to do.*' messages
echo "another number of neighbours"
run -o out --epochs 3 -k 7 >/dev/null && steps
echo "a failure: the scores cannot be written"
digests >before
mkdir -p out/.unfinished/scores.json
run -o out --epochs 4 --compare harmony
echo "exit $?"
tail -n 1 messages
rmdir out/.unfinished/scores.json
(cd out && find . -type f -not -path './.unfinished/*' | sort | xargs cksum) | cmp - before && echo "as it was"
echo "and on from there"
run -o out --epochs 4 --compare harmony >/dev/null && steps
find out -name .unfinished
