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
  "people.csv -c sex --use X --attackers svm" "people.csv -c a --use X" "few.csv -c sex --use X --attackers logistic --release cells:2 --delta 0.001" "people.csv -c sex --gammas 1" "people.csv -c sex --use X --target one" "people.csv -c sex --use X --unseen one"; do
  # shellcheck disable=SC2086  # a list of words
  "$COMP" audit -q -i $wrong 2>&1 | sed 's/ (see .*//'
done
