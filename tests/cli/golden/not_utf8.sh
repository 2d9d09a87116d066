# A file name that is not UTF-8: the message shows it.
printf ',batch,a\n1,u,1\n' >"$(printf 'x\377.csv')"
"$COMP" run -q -i "$(printf 'x\377.csv')" --condition batch -o out
