# Three conditions: the command that comp run shows for its scores makes the same file, with all changes of condition.
awk 'BEGIN {
  print "group,kind,a,b,c"
  for (i = 0; i < 120; i++)
    print substr("uvw", i % 3 + 1, 1) "," (i % 2 ? "p" : "q") "," (i % 2) * 4 + i % 7 * 0.5 "," i % 5 + i % 3 "," i % 11 * 0.25
}' >people.csv
"$COMP" run -i people.csv -c group --label kind --hidden 8 --latent 2 --epochs 2 --no-diagnose --no-umap -o out 2>messages >/dev/null || exit
line=$(sed -n 's/^\$ comp score //p' messages)
printf '%s\n' "$line" | grep -o -e '--counterfactual [^ ]*' -e '--from [^ ]*' -e '--to [^ ]*' | paste -d ' ' - - -
mkdir again && cp out/data.h5ad again
# shellcheck disable=SC2086  # a list of words
(cd again && eval "\"\$COMP\" score -q $(printf '%s' "$line" | sed 's#out/##g; s#\.unfinished/##g')" >/dev/null)
cmp again/scores.json out/scores.json && grep -o -e '"counterfactual"' -e '"more_counterfactuals"' out/scores.json
grep -c '"from"' out/scores.json
"$COMP" run -i people.csv -c group --label kind --hidden 8 --latent 2 --epochs 2 --no-diagnose --no-umap --from v --to u -o out 2>messages >/dev/null || exit
grep -o -e '--counterfactual.*--to [^ ]*' messages
# --protect has a recipe of its own, however many features there are
awk -F , '{ printf "%s", $0; for (j = 1; j <= 20; j++) printf ",%s", NR == 1 ? "x" j : (NR * j) % 13; print "" }' people.csv >wide.csv
"$COMP" run -i people.csv -c kind --protect --hidden 8 --latent 2 --epochs 2 --no-diagnose --no-umap -o hidden 2>messages >/dev/null || exit
grep -o -e '^--protect: .*gamma 10' -e 'comp train.*' messages
"$COMP" run -i wide.csv -c kind --protect --hidden 8 --epochs 2 --no-diagnose --no-umap -o hidden 2>messages >/dev/null || exit
grep -o -e '^--protect: .*gamma 10' -e 'comp train.*' messages
"$COMP" run -i wide.csv -c kind --protect --preset default --batch 16 --hidden 8 --epochs 2 --no-diagnose --no-umap -o hidden 2>messages >/dev/null || exit
grep -o -e '^--protect: .*' -e 'comp train.*' messages
