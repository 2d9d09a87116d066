# Two conditions that are mixed in one label and apart in the other; a label that is too small; JSON; a metric that needs no label.
awk 'BEGIN {
  print ",batch,type,d1,d2"
  for (i = 0; i < 64; i++) {
    type = i < 32 ? "mixed" : "apart"; batch = i % 2 ? "u" : "v"
    print "c" i "," batch "," type "," (type == "apart" ? 100 + (i % 2) * 50 : 0) + (i * 7) % 32 * 0.25 "," (i * 5) % 16 * 0.5
  }
  print "last,u,rare,300,0.5"
}' >cells.csv
"$COMP" score -q -i cells.csv -u X -c batch -l type -k 8 --per-label
"$COMP" score -q -i cells.csv -u X -c batch -m s -k 4 --json - | sed -E 's,([0-9]\.[0-9]{5})[0-9]+,\1,g'
