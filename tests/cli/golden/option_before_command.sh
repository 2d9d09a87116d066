"$COMP" -q bench
