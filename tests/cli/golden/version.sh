"$COMP" --version >option || exit
"$COMP" version | cmp - option || exit
sed -E '/^ /d; s/^(comp|compiler|libraries|CPU features|threads)( +).*/\1\2X/' option
