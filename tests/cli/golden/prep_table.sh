# A table with names, numbers and a missing value.
cat >one.csv <<'END'
age,role,sex
20,Wife,f
30,Own,m
40,Husband,m
50,?,f
END
cat >two.csv <<'END'
age,role,sex
60,Own,f
END
"$COMP" prep -q -i one.csv -i two.csv -o out.csv --missing '?' --obs sex
"$COMP" prep -q -i one.csv -i two.csv -o out.csv --missing '?' --obs sex --drop-missing --merge role=Wife,Husband:spouse --no-standardize
cat out.csv
"$COMP" prep -q -i one.csv -o out.csv --missing '?' --obs sex --drop-missing --drop-feature role_Husbnd
