# The three ways to ask are one.
"$COMP" bench --help >option || exit
"$COMP" bench -h | cmp - option || exit
"$COMP" bench --seconds abc --help | cmp - option || exit
"$COMP" --help bench | cmp - option || exit
"$COMP" help bench
