# comp run --protect measures on rows that it did not train on, and says what comp audit says; also after a stop.
awk 'BEGIN {
  srand(3); print "age,hours,skill,sex,income"
  for (i = 0; i < 400; i++) {
    man = rand() < 0.6; skill = rand() - 0.5
    print 20 + int(45 * rand()) "," 34 + 4 * man + 6 * skill + 3 * rand() "," skill "," (man ? "man" : "woman") "," (skill + 0.35 * man > 0.1 ? "high" : "low")
  }
}' >people.csv
export SOURCE_DATE_EPOCH=0
run() { "$COMP" run -i people.csv -c sex --protect --target income --hidden 8 --epochs 6 --no-diagnose --no-umap "$@"; }
run -o out 2>messages >summary || exit
grep -o -e '^--protect: [0-9]* of [0-9]* samples are kept out of training' -e '^[0-9]* samples are marked.*' messages
sed -n 's/^\$ comp \([a-z]*\) .*\(--unseen [a-z_]*\).*/\1 \2/p' messages
# the same numbers and findings by the command alone, without a word of the rows
"$COMP" audit -q -i out/data.h5ad -m out/model.safetensors -c sex --target income --json alone.json >/dev/null && cmp alone.json out/audit.json && echo "the same audit"
# the same findings on the terminal, in scores.json and in audit.json, under the names that a run has for them
first() { sed 's/.*"findings":\[//; s/},{"id"/}\n{"id"/g' "$1" | grep "^{\?\"id\":\"$2\"" | head -n 1 | sed 's/^{\?"id":"[^"]*",//; s/"numbers".*//'; }
grep -o '"findings": \[.*' out/scores.json | sed 's/"findings": /"findings":/' >scores.json
for pair in attack/hidden attack-draws/hidden-draws target/target gaps/gaps; do
  a=$(first out/audit.json "${pair%/*}") b=$(first scores.json "${pair#*/}")
  [ -n "$a" ] && [ "$a" = "$b" ] && echo "${pair#*/} is the same"
  level=$(printf '%s' "$b" | sed 's/.*"level":"\([a-z]*\)".*/\1/')
  grep -q "^$level *${pair#*/} " summary || echo "${pair#*/} is not $level in the summary"
done
"$COMP" train -q -i out/data.h5ad -c sex --unseen age -o m.comp 2>&1 | head -n 1
# a run that stops after its preparation goes on with the same rows, to the same bytes
mkdir -p stopped/.unfinished/model.safetensors
run -o stopped 2>/dev/null >again
echo "exit $?"
rmdir stopped/.unfinished/model.safetensors
run -o stopped 2>messages >again && grep -c '# as before' messages
(cd out && find . -type f ! -name run.json) | sort | while read -r file; do cmp "out/$file" "stopped/$file" || echo "$file is another"; done
# no rows to measure on
run -o none --test-share 0 2>messages >summary && grep -c -e '--unseen' -e '^\$ comp audit' messages
"$COMP" run -q -i people.csv -c sex --test-share 0.2 -o bad 2>&1 | sed 's/ (see .*//'
