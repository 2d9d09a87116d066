"$COMP" --version >option || exit
"$COMP" version | cmp - option || exit
sed -E '/^ /d; s/^(comp|compiler|libraries|modules|CPU features|CPU kind|bf16 kernel|threads)( +).*/\1\2X/' option
