# A gene that differs comes first; without a label there is no column for it.
cat >cells.csv <<'END'
,group,type,up,same,down
a,S,x,3.5,1.5,0
b,S,x,3.25,0.5,0
c,S,y,4.5,1.5,0.25
d,C,x,0,0.5,2
e,C,x,0.5,1.5,3
f,C,y,0,0.5,2.5
END
"$COMP" de -q -i cells.csv -g group -t S -r C
"$COMP" de -q -i cells.csv -g group -t S --label type -n 1
"$COMP" de -q -i cells.csv -g group -t S -n 1 --json -
"$COMP" de -q -i cells.csv -g grp -t S
