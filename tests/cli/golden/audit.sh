# comp audit: of a table without a model: what is attacked, bounds, use, findings; then what it refuses.
awk 'BEGIN {
  print "sex,income,one,a,b"
  for (i = 0; i < 600; i++)
    print (i % 2 ? "man" : "woman") "," (i % 7 > 3 ? "high" : "low") ",same," i % 2 * 3 + i % 5 "," i % 7 + i % 3 * 0.1
}' >people.csv
"$COMP" audit -q -i people.csv -c sex --use X --target income --known income --attackers logistic,knn --release cells:4 --json out.json >table || exit
grep -o -e '^Can .*found' -e '^  [a-z]* ([A-Za-z]*)' -e '^Is .*kept' -e '^What can any attacker find' table
grep -o -e '^problem  attack ' -e '^caution  unseen' -e '^ok       target' table
grep -o -e '"release":"cells:4"' -e '"worst":"problem"' out.json
head -n 81 people.csv >few.csv
for wrong in "people.csv -c one --use X" "people.csv -c sex" "people.csv -c sex --use X --release means" "people.csv -c sex --use X --release draws" "people.csv -c sex --use X --figure f.svg" \
  "people.csv -c sex --use X --attackers svm" "people.csv -c b --use X" "few.csv -c sex --use X --attackers logistic --release cells:2 --delta 0.001" "people.csv -c sex --gammas 1" "people.csv -c sex --use X --target one" "people.csv -c sex --use X --unseen one"; do
  # shellcheck disable=SC2086  # a list of words
  "$COMP" audit -q -i $wrong 2>&1 | sed 's/ (see .*//'
done
# 0 and 1 of a text table are groups where they are named; the column is no feature then.
awk -F , 'BEGIN { OFS = "," } { print NR == 1 ? "female,poor" : ($1 == "woman") "," ($2 == "low"), $4, $5 }' people.csv >codes.csv
"$COMP" audit -i codes.csv -c female --use X --target poor --attackers logistic --json codes.json 2>&1 >table | grep '^column'
"$COMP" audit -q -i people.csv -c sex --use X --target income --attackers logistic --json words.json >/dev/null
for file in codes words; do grep -o '"attackers":.*' $file.json | sed 's/,"findings".*//' >$file; done
cmp codes words && echo "as with words"
# A model makes what is audited: --use does not go with it.
"$COMP" audit -q -i people.csv -c sex --use nosuch -m none.comp 2>&1 | sed 's/ (see .*//'
"$COMP" audit -q -i people.csv -c sex --use nosuch -m none.comp 2>/dev/null
echo "code $?"
# A target that repeats the attribute; samples that are all unseen.
awk -F , 'BEGIN { OFS = "," } { print $0, NR == 1 ? "copy,all" : ($1 == "man" ? "m" : "f") ",yes" }' people.csv >copy.csv
"$COMP" audit -q -i copy.csv -c sex --use X --target copy 2>&1
"$COMP" audit -q -i copy.csv -c sex --use X --target copy 2>/dev/null
echo "code $?"
"$COMP" audit -q -i copy.csv -c sex --use X --unseen all 2>&1
# Of a frontier, the data is printed once; its rows are those of each audit.
"$COMP" audit -q -i people.csv -c sex --target income --gammas 0,1 --epochs 1 --attackers logistic >table || exit
grep '^gamma' table; grep -c '^  data (X)' table; grep -c '^  data  ' table; grep -c '^  means (X_comp)' table
