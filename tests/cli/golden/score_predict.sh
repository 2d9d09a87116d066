# One column can be predicted from the points, the other cannot; a label learnt in one condition is known in the other.
awk 'BEGIN {
  print ",batch,type,d1,d2"
  for (i = 0; i < 200; i++) {
    type = i % 2 ? "p" : "q"; batch = int(i / 2) % 2 ? "u" : "v"
    print "c" i "," batch "," type "," (type == "p" ? 50 : 0) + (int(i / 4) * 7) % 32 * 0.25 "," (int(i / 4) * 5) % 16 * 0.5
  }
}' >cells.csv
"$COMP" score -q -i cells.csv -u X -c batch -l type -m s -k 10 --predict type --fairness --train-on u --test-on v
