# A page is made of whatever there is; what cannot be done is refused in one sentence and leaves the earlier page.
cat >cells.csv <<'END'
,group,up,same
a,S,3.5,1.5
b,S,3.25,0.5
c,C,0,0.5
d,C,0.5,1.5
END
SOURCE_DATE_EPOCH=0 "$COMP" report -q -i cells.csv --condition group --title '<b>"T"</b>' -o report.html || exit
grep -o '<title>.*</title>' report.html
grep -o '"created":"[^"]*"' report.html
cp report.html earlier.html
"$COMP" report -q -i cells.csv --condition grup -o report.html
"$COMP" report -q -i cells.csv --after X_umap -o report.html
"$COMP" report -q -i cells.csv --scores none.json -o report.html
"$COMP" report -q -i cells.csv -o cells.csv
cmp report.html earlier.html && echo the earlier page is there
SOURCE_DATE_EPOCH=0 "$COMP" report -q --threads 1 -i cells.csv --condition group --title '<b>"T"</b>' -o report.html
cmp report.html earlier.html && echo the same bytes again
