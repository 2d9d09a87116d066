# Without arguments comp gives the overview, as 'comp help' and 'comp --help' do; every command is in it.
"$COMP" >none || exit
"$COMP" help >help || exit
"$COMP" --help >option || exit
"$COMP" -h >letter || exit
cmp none help && cmp none option && cmp none letter || exit
sed -n 's/^comp [0-9][0-9.]*: /comp VERSION: /p; /^Usage/p' none
for command in $("$COMP" help --list); do grep -q "^  $command " none || echo "$command is missing"; done
awk 'length > 80 { print "too long: " $0 }' none
