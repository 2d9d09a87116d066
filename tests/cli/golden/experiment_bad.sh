# What comp experiment refuses before it begins: names, lists and folders.
mkdir empty
"$COMP" experiment kong -d empty -o out
"$COMP" experiment kang -d empty -o out --seeds 3-1
"$COMP" experiment kang -d empty -o out --tables gama
"$COMP" experiment kang -d empty -o out --models cmop
"$COMP" experiment pbmc -d empty -o out --embedding harmony
"$COMP" experiment kang -q -d empty -o out
"$COMP" experiment adult -q -d nowhere -o no/such/folder
ls -A
