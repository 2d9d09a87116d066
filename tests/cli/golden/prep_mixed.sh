# Conditions on different scales: what comp info says, what comp prep makes of them, and what comp run refuses.
awk -v OFS=, 'function row(i, b, how,   j, x, t, line) {
    t = 0; for (j = 0; j < 40; j++) { x = (i * 7 + j * j * 3 + i * j) % 11 - 5; c[j] = x > 0 ? x : 0; t += c[j] }
    line = "s" i OFS b
    for (j = 0; j < 40; j++) {
      x = c[j]
      if (how == "log") x = log(1 + x * 10000 / t) / log(2)
      if (how == "centred") x -= 1.5
      if (how == "negative") x -= 1
      line = line OFS sprintf("%.9g", x)
    }
    return line
  }
  BEGIN {
    n = split("counts log centred negative", kinds, " ")
    for (k = 1; k <= n; k++) {
      file = kinds[k] ".csv"
      head = "name,batch"; for (j = 0; j < 40; j++) head = head OFS "g" j
      print head > file
      for (i = 1; i <= 60; i++) print row(i, i % 2 ? "u" : "v", i % 2 || kinds[k] == "counts" ? "counts" : kinds[k]) > file
    }
  }'
for kind in counts log centred negative; do "$COMP" info -q $kind.csv --condition batch | sed -n '/looks like/,/^obs/p' | grep -v '^obs'; done
"$COMP" prep -q -i counts.csv -o a.csv --normalize-total 100 --log1p || exit
"$COMP" prep -q -i log.csv -o b.csv --to-counts --condition batch --normalize-total 100 --log1p || exit
paste -d, a.csv b.csv | awk -F, 'NR > 1 { for (j = 4; j <= 43; j++) { d = $j - $(j + NF / 2); if (d > 1e-4 || d < -1e-4) bad++ } }
  END { print NR - 1 " samples, " bad + 0 " values that differ" }'
"$COMP" run -i centred.csv --as omics -c batch -o out
"$COMP" run -i negative.csv --as omics -c batch -o out
"$COMP" prep -i centred.csv -o c.csv --to-counts --condition batch
"$COMP" prep -i counts.csv -o c.csv --log1p --condition batch
"$COMP" prep -i counts.csv -o c.csv --hvg vst --label batch
ls out 2>/dev/null
exit 0
