# --names says that a text table has no line of column names: its first line is data.
printf '1,a\n2,b\n3,a\n' >t.csv
"$COMP" convert -q -i t.csv --names x,g -o o.csv && cat o.csv
